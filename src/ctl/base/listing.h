/* listing.h - lists of rows that read a bounded number of rows */
#ifndef OUTBOXCTL_LISTING_H
#define OUTBOXCTL_LISTING_H

#include "ctl/base/ctl.h"
#include "ctl/base/cursor.h"

/* How a page of rows is read and shown. */
struct listing {
	const struct rows_column *columns;	/* the first is the sequence */
	size_t			 ncolumns;
	const char *const	*shown;		/* in the table */
	/* A SELECT of those of n rows that pass the filters, in this order. */
	void			(*select)(struct ctl *, const uint64_t *,
				    size_t n, struct sql order);
	/* Is this row, which passed them, to be listed?  NULL: yes. */
	bool			(*passes)(const struct ctl *, const json_t *);
};

/*
 * Print the rows that pass the filters: at most --limit rows, out of at most
 * CURSOR_BUDGET that are read.  If there may be more, prints where to continue.
 * Frees the cursor; NULL: it failed with this error.  Returns an exit status.
 */
int	listing_print(struct ctl *, struct cursor *, const struct listing *,
	    struct err *);

#endif
