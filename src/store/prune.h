/*
 * prune.h - what was delivered long ago goes, a little at a time
 *
 * The statements, for outboxctl and the janitor; each is a short one.  Their
 * caller counts a slice, raises the horizon to the highest of it, and only
 * then lets its rows go: from then on nobody can tell a row that went from
 * one that was never made.
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
	bool	needed;			/* by checks: what is later */
	char	dead_until[STORE_TIME];	/* who died up to it */
};

/*
 * cutoff is a moment, as SQL.  Rows that a check of the stream may need stay,
 * whatever it says.
 */
int	prune_limits(struct store *, const char *cutoff, int64_t dead_days,
	    struct prune_limits *, struct err *);

/*
 * Of the first rows delivered later than from, and not later than until: how
 * many they are, and the highest of them, 0 if there is none.  from moves on
 * to the end of the slice; it is until at the end.
 */
int	prune_slice(struct store *, char from[STORE_TIME], const char *until,
	    uint64_t *n, uint64_t *highest, struct err *);

/*
 * The first max of those rows or fewer; from moves on to just before the last
 * of them.
 */
int	prune_find(struct store *, char from[STORE_TIME], const char *until,
	    size_t max, uint64_t *list, size_t *n, struct err *);

/* One that is to be sent again since we looked is not delivered any more. */
int	prune_delete(struct store *, const uint64_t *list, size_t n,
	    const char *until, uint64_t *deleted, struct err *);

/*
 * Those that may go of the next max dead letters behind *after, which moves
 * on: who died up to until, NULL for nobody, and marks up to the horizon as
 * it will be.  *looked is how many there were.
 */
int	prune_find_dead(struct store *, uint64_t horizon, const char *until,
	    size_t max, uint64_t *after, uint64_t *list, size_t *n,
	    size_t *looked, struct err *);

/*
 * How many old versions of rows the server still keeps.  0: it is not ours to
 * see, and *blind is set.
 */
uint64_t prune_history(struct store *, bool *blind);

#endif
