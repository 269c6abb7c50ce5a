/*
 * advisory.h - tells subscribers that a message became a dead letter
 *
 * A core NATS message on nats.advisory, if that is set: not acknowledged, not
 * repeated, lost if the connection is.  The table of dead letters is complete.
 */
#ifndef OUTBOX_ADVISORY_H
#define OUTBOX_ADVISORY_H

#include <stdint.h>

#include "common/msg.h"
#include "publish/relay.h"

/*
 * Tell of the batch's dead messages if all of them were buried.  Otherwise
 * another worker had some, it is unknown which, and nothing is told.  Never
 * blocks.
 */
void	advisory_tell(struct relay *, const struct batch *, uint64_t buried);

/* The text of one advisory; the caller frees it.  now: Unix time in ms. */
char	*advisory_text(const struct msg *, const char *outbox, int64_t now);

#endif
