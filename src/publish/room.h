/*
 * room.h - the memory budget of a batch
 *
 * worker.batch_bytes limits the payloads in memory.  A payload up to its share
 * is fetched with its row, a longer one stays away.  Of those away the first
 * is always fetched, so that each batch makes progress, and others within the
 * budget.  The rest is left: given back, with all that follow in their lanes.
 * Pure bookkeeping: no I/O, no clock.
 */
#ifndef OUTBOX_ROOM_H
#define OUTBOX_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "common/msg.h"

struct room {
	const struct conf	*conf;
	size_t			 rows;	/* that fit, by the last batches */
};

void	room_init(struct room *, const struct conf *);

/* How many rows to claim, limit at most. */
size_t	room_rows(const struct room *, size_t limit);

/* The longest payload, in bytes, to be fetched with its row, for n rows. */
size_t	room_share(const struct room *, size_t n);

/* Learn from the sizes of a claimed batch, those away included. */
void	room_learn(struct room *, const struct batch *);

/* The fetch of n rows failed, perhaps for their size: claim fewer. */
void	room_failed(struct room *, size_t n);

/*
 * Choose the rows away that are to be fetched.  Sets sequences, with room for
 * naway, in order, and returns how many.  Held rows stay away.  Sets left for
 * rows beyond the budget and for all that follow in their lanes.  A row longer
 * than max_payload bytes is not sent: it stays away and is not left.
 */
size_t	room_choose(const struct room *, struct batch *, int64_t max_payload,
	    uint64_t *sequences);

#endif
