/*
 * candidates.h - the rows that the next tick tries to claim
 *
 * A scan reads waiting rows of some partitions in sequence order.  Picks are
 * its first rows and the heads of blocked lanes that are due.  Rows that do not
 * fit are cut off at the end, so no row is picked before an earlier one that
 * the scan did not reach.
 */
#ifndef OUTBOX_CANDIDATES_H
#define OUTBOX_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "worker/lanes.h"
#include "store/store.h"

/* Rows to be claimed, sorted, and the partitions they are from. */
struct picks {
	struct pick		*items;
	size_t			 n;
	uint64_t		*sequences;	/* of the items */
	const struct range	*ranges;	/* valid until the next pick */
	size_t			 nranges;
	struct batch		 ahead;		/* messages read by the scan */
};

/*
 * The rows that one statement found.  Rows that do not fit into a batch are
 * kept for the next batches: a scan costs time for each partition and, while
 * an old snapshot is open, for each row delivered since.
 */
struct scan {
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][MSG_LABEL];
	struct part		*parts[STORE_RANGES];	/* of each range; the
						   ranges of a partition
						   follow each other */
	size_t			 nranges;
	struct candidate	*rows;
	size_t			 n, next;	/* rows before next are taken */
	struct batch		 ahead;		/* messages of some rows */
	bool			 calm;		/* no lane was blocked */
	bool			 clean;		/* taken rows are delivered */

	size_t			 depth;		/* batches to ask for */
	int64_t			 began_at;	/* clock_us() */
	int64_t			 took_us;
	bool			 rich;		/* a range used up its limit */
};

struct candidates {
	const struct conf	*conf;
	struct store		*store;
	struct parts		*parts;
	struct lanes		*lanes;
	struct scan		 scan;

	size_t			 rotate;	/* first partition of a scan */
	size_t			 npicks;	/* odd: heads get the odd row */
	size_t			 nvain;		/* partitions without work in
						   a row */
	int64_t			 crowded_until;	/* clock_ms(); no glance before */
	bool			 slow;		/* the last glance was */
	bool			 foreign;	/* the last glance saw more rows
						   of others than of ours */
	bool			 cut;		/* partitions were left out */
	int64_t			 heads_at;	/* clock_ms(); due heads wait
						   until then; the owner sets
						   it */
};

void	candidates_init(struct candidates *, const struct conf *,
	    struct store *, struct parts *, struct lanes *);
void	candidates_free(struct candidates *);

/* Pick at most limit rows.  The caller calls picks_free(), also after -1. */
int	candidates_pick(struct candidates *, struct picks *, size_t limit,
	    struct err *);
void	picks_free(struct picks *);

/* The partition of a picked row; NULL for other rows. */
struct part *picks_part(const struct picks *, uint64_t sequence);

/*
 * All ranges of the partitions of picked rows; returns how many, at most
 * STORE_RANGES.
 */
size_t	picks_ranges(const struct picks *, struct range *);

/*
 * The tick of the last pick is over; claimed: it claimed rows.  Returns whether
 * partitions are left that no scan has read since work was found.  If there are
 * none, or if rows were claimed, the next scan begins the round anew.
 */
bool	candidates_end_tick(struct candidates *, bool claimed);

/* Has the last scan more rows, or may there be more in its partitions? */
bool	candidates_left_some(const struct candidates *);

/*
 * All picked rows are delivered: the scan's next rows may be picked without a
 * new scan.  Otherwise the next pick scans again, because rows may come back.
 */
void	candidates_all_done(struct candidates *);

/* Something failed: forget the scan's rows. */
void	candidates_drop(struct candidates *);

/* When the next head is due, clock_ms(); INT64_MAX: no lane is blocked. */
int64_t	candidates_next_due(struct candidates *);

#endif
