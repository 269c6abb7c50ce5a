/*
 * candidates.h - which rows the next tick tries: what a scan saw, and due heads
 *
 * Rows come in sequence order, and what is not taken is cut off at the end:
 * a row that was not looked at may belong before one that was.
 */
#ifndef OUTBOX_CANDIDATES_H
#define OUTBOX_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "worker/lanes.h"
#include "common/label_set.h"
#include "store/store.h"

/* Rows to be claimed, sorted, and the partitions they are from. */
struct picks {
	struct pick		*items;
	size_t			 n;
	uint64_t		*sequences;	/* of the items */
	const struct range	*ranges;	/* until the next look */
	size_t			 nranges;
	struct batch		 ahead;		/* what is read of them already */
};

/*
 * What one statement saw of the partitions.  The rows that a batch has no
 * room for are for the next ones: reading costs time for each partition and,
 * while somebody holds an old snapshot, for each row delivered since.
 */
struct scan {
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][MSG_LABEL];
	struct part		*parts[STORE_RANGES];	/* if still ours; the
						   ranges of one follow each
						   other */
	size_t			 nranges;
	struct candidate	*rows;
	size_t			 n, next;	/* not taken: from next on */
	struct batch		 ahead;		/* of the rows; may be less */
	bool			 calm;		/* no lane waited then */
	bool			 clean;		/* all before it are delivered */

	size_t			 depth;		/* batches to ask for */
	int64_t			 began_at;	/* clock_us() */
	int64_t			 took_us;
	bool			 narrow;	/* it did not go everywhere */
	bool			 many;		/* it found STORE_FEW at least */
	bool			 rich;		/* and there may be more */
};

struct candidates {
	const struct conf	*conf;
	struct store		*store;
	struct parts		*parts;
	struct lanes		*lanes;
	struct scan		 scan;

	size_t			 rotate;	/* which partitions come first */
	size_t			 turn;		/* whose the odd row is */
	size_t			 looked_at;	/* partitions, since work was found */
	bool			 idle;		/* the last one found nothing */
	bool			 narrow;	/* look only where somebody has
						   rung, and where rows were left */
	bool			 saw_all;	/* there was one that was not */
	bool			 empty;		/* no row waits, it was said */
	bool			 cut;		/* the last had not room for all */
	int64_t			 heads_at;	/* no head is tried before */
};

void	candidates_init(struct candidates *, const struct conf *,
	    struct store *, struct parts *, struct lanes *);
void	candidates_free(struct candidates *);

/*
 * At most limit rows, without those of open, a batch that is delivered and not
 * yet written back (NULL: none).  picks_free() gives back what is in picks, also
 * after -1.
 */
int	candidates_pick(struct candidates *, struct picks *, const struct batch *open,
	    size_t limit, struct err *);
void	picks_free(struct picks *);

/* The partition of a row that was picked, NULL for others. */
struct part *picks_part(const struct picks *, uint64_t sequence);

/*
 * All ranges of the partitions that something was picked from; at most
 * STORE_RANGES.
 */
size_t	picks_ranges(const struct picks *, struct range *);

/* Of the next scans: do they look only where something is known to be? */
void	candidates_go_narrow(struct candidates *, bool narrow);

/* Has a scan since the last call gone everywhere? */
bool	candidates_saw_all(struct candidates *);

/*
 * Somebody else has just seen that no row waits, or has not: what was said
 * before is old.
 */
void	candidates_are_none(struct candidates *, bool none);

/* What came of it: was anything claimed?  Are there partitions left? */
bool	candidates_round_is_over(struct candidates *, bool claimed);

/* Did the last scan see more rows than it gave out, or may there be more? */
bool	candidates_left_some(const struct candidates *);

/*
 * All that was picked is delivered: what the scan saw behind it may be next.
 * Otherwise the next look scans again, for nobody knows what comes back.
 */
void	candidates_all_done(struct candidates *);

/*
 * Somebody has rung for these.  A row may be heard of before it can be read, so
 * narrow looks go there for some milliseconds, and one after that if none has
 * found a new row.  Returns whether any of them is ours.
 */
bool	candidates_wake(struct candidates *, const struct label_set *, int64_t now);

/* Is there a ring that no new row was found for yet? */
bool	candidates_are_woken(const struct candidates *);

/* Something failed: what the scan has left may not be the next any more. */
void	candidates_drop(struct candidates *);

/* Would the next look first ask whether there are rows at all? */
bool	candidates_would_ask(const struct candidates *);

/* No head of a lane is tried before this; clock_ms(). */
void	candidates_delay_heads(struct candidates *, int64_t until);

/* When a head that waits can be tried; INT64_MAX: nothing waits. */
int64_t	candidates_next_due(struct candidates *);

#endif
