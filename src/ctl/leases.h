/* leases.h - lease rows that nobody needs */
#ifndef OUTBOXCTL_LEASES_H
#define OUTBOXCTL_LEASES_H

#include "ctl.h"

/* How many blocked keys stand under a label. */
int	leases_blocked(struct ctl *, const char *label, json_int_t *n,
	    struct err *);

/*
 * Remove those of the labels under which nothing waits, that have no blocked
 * key and are not paused; none while a change of the count is under way.  The
 * array becomes what was removed.
 */
int	leases_remove(struct ctl *, json_t *labels, struct err *);

#endif
