/*
 * audit_fallback.h - when to publish although the stream cannot be checked
 *
 * A broker may take messages and yet refuse requests about the stream: a
 * permission is missing, or nothing answers JetStream requests in this
 * account.  Then publishing matters more.  A silent broker takes nothing: wait
 * for it.
 *
 * That is about new messages.  One that may be stored is never sent again
 * without an answer, see in_doubt.h.
 */
#ifndef OUTBOX_AUDIT_FALLBACK_H
#define OUTBOX_AUDIT_FALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/pub.h"

/* Zeroed: no request has failed. */
struct audit_fallback {
	unsigned	forbidden;	/* refusals so far */
	int64_t		since;		/* first one unanswered; 0: none */
};

/* Note a failed request; now is clock_ms().  True: go on without checks. */
bool	audit_fallback_is_due(struct audit_fallback *, const struct pub *,
	    int64_t now);

#endif
