/*
 * mend.h - changes of many rows, a chunk in a transaction
 */
#ifndef OUTBOXCTL_MEND_H
#define OUTBOXCTL_MEND_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

#define MEND_CHUNK	500	/* rows in one transaction */

/*
 * Change the n rows as far as they are still as they must be, inside a
 * transaction that is open; *changed is how many.  May be called again for the
 * same rows after a deadlock.
 */
typedef int mend_fn(struct ctl *, const uint64_t *, size_t n,
    uint64_t *changed, struct err *);

/* Lock those of the rows that are as they must be; *locked is the caller's. */
typedef int mend_lock_fn(struct ctl *, const uint64_t *, size_t n,
    uint64_t **locked, size_t *nlocked, struct err *);

/* A mend_fn's work: change what can be locked, if that is anything. */
int	mend_locked(struct ctl *, const uint64_t *list, size_t n,
	    mend_lock_fn *lock, mend_fn *fn, uint64_t *changed, struct err *);

/*
 * Change these rows, with a line for the audit.  After -1 the chunks before
 * the one that failed are done; *changed has them.
 */
int	mend(struct ctl *, const uint64_t *list, size_t n, mend_fn *fn,
	    uint64_t *changed, struct err *);

/* Halted keys that have these records go on; *changed may be NULL. */
int	mend_release(struct ctl *, const uint64_t *, size_t n,
	    uint64_t *changed, struct err *);

/* The statement that was begun selects sequences; *list is the caller's. */
int	mend_select(struct ctl *, uint64_t **list, size_t *n, struct err *);

/* As ctl_fail, and where a right is missing how to get it. */
int	mend_fail(struct ctl *, struct err *);

#endif
