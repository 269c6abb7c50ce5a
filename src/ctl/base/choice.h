/*
 * choice.h - the rows that a command changes: named ones, or all that pass the
 * filters
 */
#ifndef OUTBOXCTL_CHOICE_H
#define OUTBOXCTL_CHOICE_H

#include "ctl/base/ctl.h"
#include "ctl/base/walk.h"

struct choice {
	/* Begin the statement, up to "WHERE <sequence> IN ("... */
	void		(*select)(struct ctl *);
	/* ... and what follows the ")": conditions. */
	void		(*finish)(struct ctl *);
	enum walk_by	 by;		/* if no rows are named */
	const char	*missing;	/* "no such message" */

	uint64_t	*named;		/* by args_sequences */
	uint64_t	*list;		/* sorted, without duplicates */
	size_t		 n;
	bool		 all_there;	/* all named rows exist */
};

/* Fill the list; prints which named rows do not exist.  -1: see err. */
int	choice_make(struct ctl *, struct choice *, struct err *);
void	choice_free(struct choice *);

/* Were --key, --type, --partition, --since or --until given? */
bool	choice_is_filtered(const struct args *);

#endif
