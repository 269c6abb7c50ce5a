/*
 * parked.h - keys that wait, in the database: for the next owner, for the
 * operator, and so that no tick meets their rows again and again
 *
 * A lane that waits gets a record in the table of blocked keys when its head
 * failed and is not due soon, or when it must be parked. When more rows wait
 * than a tick should pass one by one, those of the fullest lanes are parked:
 * they get a label of their own, and the scan does not meet them. What stood
 * behind a head that is gone comes back in sequence order, a batch a tick;
 * until the last one is back, later rows of the lane wait behind them.
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
	bool			 moved;		/* the last round has: there may
						   be more to move */
	bool			 reread;	/* a lease is not as it was known */
	int64_t			 alone_until;	/* one lane in a statement: of
						   several one was refused */
};

/*
 * To be called before a tick looks for candidates: reads the records of
 * partitions that are new here, and moves about limit rows each way.  Those
 * that stay fresh are not read to the end, and nothing of them may be claimed.
 * -1: the database is in trouble, and the tick must not go on.
 */
int	parked_round(struct parked *, size_t limit, int64_t now, struct err *);

#endif
