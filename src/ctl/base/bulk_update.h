/* bulk_update.h - change many rows, in chunks of one transaction each */
#ifndef OUTBOXCTL_BULK_UPDATE_H
#define OUTBOXCTL_BULK_UPDATE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

#define BULK_UPDATE_CHUNK	500	/* rows in one transaction */

/*
 * Change those of the n rows whose state still allows it, inside the open
 * transaction; *changed is their number.  May be called again for the same rows
 * after a deadlock.
 */
typedef int bulk_update_fn(struct ctl *, const uint64_t *, size_t n,
    uint64_t *changed, struct err *);

/* Lock the rows whose state allows the change; the caller frees *locked. */
typedef int bulk_update_lock_fn(struct ctl *, const uint64_t *, size_t n,
    uint64_t **locked, size_t *nlocked, struct err *);

/* A kind of change: lock the rows, and change those that were locked. */
struct bulk_change {
	bulk_update_lock_fn	*lock;		/* NULL: fn gets all rows */
	bulk_update_fn		*fn;
};

/*
 * Change these rows and note it in the audit.  -1: the chunks before the failed
 * one are committed, or all rows but those that the database refuses; *changed
 * counts them.
 */
int	bulk_update(struct ctl *, const uint64_t *list, size_t n,
	    const struct bulk_change *, uint64_t *changed, struct err *);

/* Release the halted keys with these records; *changed may be NULL. */
int	bulk_update_release(struct ctl *, const uint64_t *, size_t n,
	    uint64_t *changed, struct err *);

/* Send the prepared SELECT of sequences; the caller frees *list. */
int	bulk_update_select(struct ctl *, uint64_t **list, size_t *n,
	    struct err *);

#endif
