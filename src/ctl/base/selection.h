/*
 * selection.h - the rows that a command changes: named ones, or all that pass
 * the filters
 */
#ifndef OUTBOXCTL_SELECTION_H
#define OUTBOXCTL_SELECTION_H

#include "ctl/base/ctl.h"
#include "ctl/base/cursor.h"

struct selection {
	/* Begin the statement, up to "WHERE <sequence>"; " IN (...)" follows */
	void		(*select)(struct ctl *);
	/* ... and then these conditions. */
	void		(*finish)(struct ctl *);
	/* Leave those rows in the list that are to be changed; or NULL. */
	int		(*keep)(struct ctl *, uint64_t *list, size_t *n,
			    struct err *);
	enum cursor_by	 by;		/* if no rows are named */
	const char	*missing;	/* "no such message" */

	uint64_t	*named;		/* by args_sequences */
	uint64_t	*list;		/* sorted, without duplicates */
	size_t		 n;
	bool		 all_there;	/* all named rows exist */
};

/*
 * For a command that takes SEQUENCE..., or filters or --all: read the named
 * ones.  CTL_DONE, or CTL_USAGE after it said what is wrong.
 */
int	selection_check(const struct ctl *, struct selection *);

/* Fill the list; prints which named rows do not exist.  -1: see err. */
int	selection_make(struct ctl *, struct selection *, struct err *);
void	selection_free(struct selection *);

/* Were --key, --type, --partition, --group, --since or --until given? */
bool	selection_is_filtered(const struct args *);

#endif
