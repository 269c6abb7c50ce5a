/* dead.h - SQL and functions for dead letters */
#ifndef OUTBOXCTL_DEAD_H
#define OUTBOXCTL_DEAD_H

#include "ctl/base/ctl.h"

/* Dead letters d with their events e, if these still exist. */
#define DEAD_ROWS	"FROM {dead} AS d LEFT JOIN {events} AS e " \
			"ON {e.sequence} = d.global_sequence "
#define DEAD_KEY	STORE_KEY_OF("{e.stream_id}", "d.order_key")

/* Append " AND ..." for each filter that was given. */
void	dead_put_filter(struct ctl *);

/*
 * Add the dead letter, if there is one, to *o; makes *o if it is NULL.  -1: see
 * err.
 */
int	dead_add(struct ctl *, uint64_t sequence, json_t **o, struct err *);

#endif
