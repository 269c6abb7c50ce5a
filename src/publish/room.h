/*
 * room.h - how much of a batch is held in memory
 *
 * worker.batch_bytes bounds the payloads that a worker holds.  Short ones are
 * fetched with their rows, none longer than its share of the room; of those
 * that stay away the first is always taken, so that every batch moves, and
 * the others as far as there is room.  What is left is given back, and what
 * is behind it in its lane with it.  Pure bookkeeping: no I/O, no clock.
 */
#ifndef OUTBOX_ROOM_H
#define OUTBOX_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "common/msg.h"

struct room {
	const struct conf	*conf;
	size_t			 rows;	/* that fit, by what was seen lately */
};

void	room_init(struct room *, const struct conf *);

/* How many rows to claim, of limit that could be. */
size_t	room_rows(const struct room *, size_t limit);

/* How long a payload may be to be fetched with all the n rows. */
size_t	room_share(const struct room *, size_t n);

/* These were claimed; those away count as well. */
void	room_learn(struct room *, const struct batch *);

/* The fetch of n rows failed, perhaps because they are too large. */
void	room_failed(struct room *, size_t n);

/*
 * Which of those away to fetch, in sequence order; returns how many.  Rows
 * that are held stay away.  Sets left for those without room and for
 * all that is behind them in their lanes.  What is longer than max_payload
 * will not be sent and stays away without being left.
 */
size_t	room_choose(const struct room *, struct batch *, int64_t max_payload,
	    uint64_t *sequences);

#endif
