/* leases.h - remove lease rows that are not needed */
#ifndef OUTBOXCTL_LEASES_H
#define OUTBOXCTL_LEASES_H

#include "ctl/base/ctl.h"

/* Count the blocked keys of a label. */
int	leases_blocked(struct ctl *, const char *label, uint64_t *n,
	    struct err *);

/* Has the lease no waiting rows, no blocked keys, and is it not paused? */
bool	leases_is_empty(const json_t *obsolete);

/*
 * Remove the leases that no declared count makes, that have neither waiting
 * rows nor blocked keys, and are not paused.  On return the array has the
 * removed labels.
 */
int	leases_remove(struct ctl *, json_t *labels, struct err *);

/* The same inside a transaction that has locked the counts; without audit. */
int	leases_remove_under(struct ctl *, const struct counts *,
	    json_t *labels, struct err *);

#endif
