/* dead.h - what the files about dead letters share */
#ifndef OUTBOXCTL_DEAD_H
#define OUTBOXCTL_DEAD_H

#include "ctl/base/ctl.h"

/* Dead letters, and their events, if they are still there. */
#define DEAD_ROWS	"FROM {dead} AS d LEFT JOIN {events} AS e " \
			"ON e.sequence = d.global_sequence "
#define DEAD_KEY	STORE_KEY_OF("e.stream_id", "d.order_key")

/* Append " AND ..." for each filter that was given. */
void	dead_put_filter(struct ctl *);

/*
 * Add what is known of a dead letter to *o, which is made if it is NULL and
 * there is one.
 */
int	dead_add(struct ctl *, uint64_t sequence, json_t **o, struct err *);

#endif
