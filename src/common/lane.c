/* lane.c - see lane.h */

#include "common/lane.h"

#include <stddef.h>
#include <string.h>

struct bytes
lane_of(enum conf_ordering ordering, struct bytes key, struct bytes partition,
    const uint64_t *sequence)
{
	struct bytes	own = { (const char *)sequence, sizeof(*sequence) };
	struct bytes	none = { "", 0 };

	switch (ordering) {
	case ORDER_KEY:
		/* A row without its event has no key: its lane is its own. */
		return key.data == NULL ? own : key;
	case ORDER_PARTITION:
		return partition.data == NULL ? none : partition;
	default:
		return own;
	}
}

struct bytes
lane_of_msg(enum conf_ordering ordering, const struct batch *b,
    const struct msg *m)
{
	struct bytes	partition = m->partition;

	if (ordering == ORDER_PARTITION && b->labels != NULL)
		partition = (struct bytes){ b->labels[m->range],
		    strlen(b->labels[m->range]) };
	return lane_of(ordering, m->key, partition, &m->sequence);
}
