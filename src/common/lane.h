/* lane.h - the lane of a message, within which order is kept */
#ifndef OUTBOX_LANE_H
#define OUTBOX_LANE_H

#include <stdint.h>

#include "conf/conf.h"
#include "common/msg.h"

/*
 * Returns the bytes that name a row's lane: its order key, its partition (its
 * class while several labels form one) or its own sequence.  They point into
 * the arguments, which must outlive them.  Compare as bytes.
 */
struct bytes	lane_of(enum conf_ordering, struct bytes key,
		    struct bytes partition, const uint64_t *sequence);

/* The same for a message; the labels of the batch name its partition. */
struct bytes	lane_of_msg(enum conf_ordering, const struct batch *,
		    const struct msg *);

#endif
