/*
 * parked.h - blocked lanes in the database: records and parked rows
 *
 * A blocked lane gets a record in the table of blocked keys when its head
 * failed and is not due soon, or when its rows are parked.  The next owner of
 * the partition and the operator read it there.
 *
 * When more rows wait than a tick should skip one by one, the rows of the
 * fullest lanes are parked: they get a label of their own, which no scan reads.
 * When the head of the lane is gone, they come back in sequence order, a batch
 * in each tick.  Until the last one is back, later rows of the lane wait.
 */
#ifndef OUTBOX_PARKED_H
#define OUTBOX_PARKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "worker/lanes.h"
#include "store/store.h"

struct parked {
	const struct conf	*conf;
	struct store		*store;
	struct parts		*parts;
	struct lanes		*lanes;
	bool			 moved;		/* the last round moved rows;
						   there may be more */
	bool			 reread;	/* a lease differs from ours */
};

/*
 * Called before candidates are picked.  Reads the records of unread partitions,
 * and moves about limit rows each way.  A partition of which not all records
 * are read stays unread, and none of its rows may be claimed.  -1: the database
 * failed, and the tick must end.
 */
int	parked_round(struct parked *, size_t limit, int64_t now, struct err *);

#endif
