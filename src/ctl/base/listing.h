/* listing.h - lists of rows that read no more than they may */
#ifndef OUTBOXCTL_LISTING_H
#define OUTBOXCTL_LISTING_H

#include "ctl/base/ctl.h"
#include "ctl/base/walk.h"

/* How a page of rows is read and shown. */
struct listing {
	const struct rows_column *columns;	/* the first is the sequence */
	size_t			 ncolumns;
	const char *const	*shown;		/* to people */
	/* Begin the statement, up to "WHERE <sequence> IN ("... */
	void			(*select)(struct ctl *);
	/* ... and what follows the ")": conditions and ORDER BY. */
	void			(*finish)(struct ctl *);
};

/*
 * Print the rows that a walk meets and the filters let pass: --limit of them
 * at most, and of no more than WALK_BUDGET that were looked at.  If there may
 * be more it says where to go on.  Takes the walk; NULL: it failed with this
 * error.  Returns an exit status.
 */
int	listing_print(struct ctl *, struct walk *, const struct listing *,
	    struct err *);

#endif
