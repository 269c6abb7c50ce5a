/*
 * retention.h - what outboxctl prune deletes, for ever, in small steps
 *
 * A pass looks from the oldest delivered row on, a slice at a time: first the
 * horizon rises above the slice, then its rows go, then the dead letters.
 * Two at once do no harm: a row goes once, and the horizon only rises.
 */
#ifndef OUTBOX_RETENTION_H
#define OUTBOX_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "store/store.h"

struct retention;

/* Both are borrowed. */
struct retention *retention_new(const struct conf *, struct store *);
void	retention_free(struct retention *);

/*
 * One short statement, or a few that belong together.  *delay_ms is how long
 * there is nothing to do, 0 if there is more.  Logs what it does: once, and
 * from time to time how much it was.
 */
int	retention_step(struct retention *, int64_t *delay_ms, struct err *);

/* The connection is gone: the next step is the first of a pass. */
void	retention_reset(struct retention *);

#endif
