/*
 * choice.h - which rows a command changes: those it names, or all that a
 * filter lets pass
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
	enum walk_by	 by;		/* where nothing is named */
	const char	*missing;	/* "no such message" */

	uint64_t	*named;		/* args_sequences; freed with the rest */
	uint64_t	*list;		/* sorted, each of them once */
	size_t		 n;
	bool		 all_there;	/* of those that were named */
};

/* Fill the list; what was named and is not there is told.  -1: see err. */
int	choice_make(struct ctl *, struct choice *, struct err *);
void	choice_free(struct choice *);

/* Were --key, --type, --partition, --since or --until given? */
bool	choice_is_filtered(const struct args *);

#endif
