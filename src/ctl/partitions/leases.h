/* leases.h - lease rows that nobody needs */
#ifndef OUTBOXCTL_LEASES_H
#define OUTBOXCTL_LEASES_H

#include "ctl/base/ctl.h"

/* How many blocked keys stand under a label. */
int	leases_blocked(struct ctl *, const char *label, json_int_t *n,
	    struct err *);

/* An obsolete lease under which nothing is: sync --prune removes it. */
bool	leases_is_empty(const json_t *obsolete);

/*
 * Remove those of the labels that no declared count makes, under which nothing
 * waits, that have no blocked key and are not paused.  The array becomes what
 * was removed.
 */
int	leases_remove(struct ctl *, json_t *labels, struct err *);

/* The same in a transaction that has locked these counts; without the audit. */
int	leases_remove_under(struct ctl *, const struct counts *,
	    json_t *labels, struct err *);

#endif
