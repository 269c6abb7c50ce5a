/* lane.h - what must stay in order, as one comparable key */
#ifndef OUTBOX_LANE_H
#define OUTBOX_LANE_H

#include <stdint.h>

#include "conf/conf.h"
#include "common/msg.h"

/*
 * The bytes that name the lane of a row: its order key, its partition (the name
 * of the class while several labels are one) or its own sequence, which must
 * outlive the result.  Compared as bytes.
 */
struct bytes	lane_of(enum conf_ordering, struct bytes key,
		    struct bytes partition, const uint64_t *sequence);

/* The same for a message of a batch, whose labels name its partition. */
struct bytes	lane_of_msg(enum conf_ordering, const struct batch *,
		    const struct msg *);

#endif
