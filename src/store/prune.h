/*
 * prune.h - delete old delivered rows, a little at a time
 *
 * Short statements, for outboxctl and the janitor.  Their caller counts a
 * slice, raises the watermark to its highest sequence, and only then deletes
 * its rows: a deleted row looks like one that was never made.
 */
#ifndef OUTBOX_PRUNE_H
#define OUTBOX_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "store/store.h"

#define PRUNE_BEGINNING	"1970-01-01 00:00:01.000000"	/* where to start */
#define PRUNE_SLICE	50000	/* index entries counted by a statement */
#define PRUNE_HISTORY	1000000	/* longer: the server is behind with purge */

struct prune_limits {
	char	until[STORE_TIME];	/* rows delivered up to it may go */
	bool	needed;			/* checks need the later rows */
	char	dead_until[STORE_TIME];	/* dead letters up to it may go */
};

/*
 * Compute the limits.  cutoff is a time as SQL.  Rows that a check of the
 * stream may need are kept in any case.
 */
int	prune_limits(struct store *, const char *cutoff, int64_t dead_days,
	    struct prune_limits *, struct err *);

/*
 * Count the first PRUNE_SLICE rows delivered in the period; *highest is their
 * highest sequence, 0 if there is none.  from advances to the end of the slice,
 * which is until after the last one.
 */
int	prune_slice(struct store *, struct store_period *, uint64_t *n,
	    uint64_t *highest, struct err *);

/* Rows that the database has refused to delete. */
struct prune_skip {
	const uint64_t	*list;
	size_t		 n;
};

/*
 * List the first max of those rows, without the skipped; from advances to just
 * before the last one.
 */
int	prune_find(struct store *, struct store_period *,
	    const struct prune_skip *, size_t max, uint64_t *list, size_t *n,
	    struct err *);

/* Delete those that are still delivered; others may wait again by now. */
int	prune_delete(struct store *, const uint64_t *list, size_t n,
	    const char *until, uint64_t *deleted, struct err *);

/* Dead letters in sequence order, a page at a time. */
struct prune_page {
	uint64_t	 after;		/* the last one read; advances */
	size_t		 max;		/* how many to read */
	size_t		 nread;		/* how many there were */
	uint64_t	*list;		/* to be deleted; space for max */
	size_t		 n;
	uint64_t	*marks;		/* the same; NULL: they are in list */
	size_t		 nmarks;
};

/*
 * Read the next page.  Lists those that died up to until (NULL: none), and
 * marks up to watermark, the watermark as it will be.
 */
int	prune_find_dead(struct store *, uint64_t watermark, const char *until,
	    struct prune_page *, struct err *);

/*
 * How many old row versions the server still keeps.  If the account may not see
 * it, this sets *no_history and returns 0.
 */
uint64_t prune_history(struct store *, bool *no_history);

#endif
