/*
 * advisory.h - a word to whoever listens when a message has died
 *
 * A plain NATS message on nats.advisory, if that is set: not acknowledged,
 * not repeated, lost when the connection is away.  The truth is in the table
 * of the dead letters.
 */
#ifndef OUTBOX_ADVISORY_H
#define OUTBOX_ADVISORY_H

#include <stdint.h>

#include "common/msg.h"
#include "publish/relay.h"

/*
 * Tell of the batch's dead, of whom so many were buried.  Never blocks; if
 * some were somebody else's by then, nobody knows which, and nothing is told.
 */
void	advisory_tell(struct relay *, const struct batch *, uint64_t buried);

/* What is told of one; yours to free.  now is Unix time in ms. */
char	*advisory_text(const struct msg *, const char *outbox, int64_t now);

#endif
