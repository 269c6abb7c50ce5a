/*
 * retention.h - delete old rows and dead letters, as outboxctl prune does
 *
 * A pass takes slices of rows, the oldest first: it raises the reconcile
 * watermark above the slice, then deletes its rows; at the end, dead letters.
 * Two passes at once are safe: the watermark only rises.
 */
#ifndef OUTBOX_RETENTION_H
#define OUTBOX_RETENTION_H

#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "store/store.h"

struct retention;

/* Both are borrowed. */
struct retention *retention_new(const struct conf *, struct store *);

/*
 * Run one short transaction; blocks for its statements.  *delay_ms: when to
 * call again, 0 if there is more to do.  Logs a summary each hour.  -1: see
 * err; a new pass begins.
 */
int	retention_step(struct retention *, int64_t *delay_ms, struct err *);

/* The connection is closed: the next step begins a new pass. */
void	retention_reset(struct retention *);

#endif
