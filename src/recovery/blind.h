/*
 * blind.h - when to go on without a look at the stream
 *
 * A broker that refuses to be asked, for lack of a permission or because
 * nobody answers for JetStream's questions in this account, may take messages
 * all the same, and messages matter more than the look. One that is silent
 * takes nothing, and is waited for.
 */
#ifndef OUTBOX_BLIND_H
#define OUTBOX_BLIND_H

#include <stdbool.h>
#include <stdint.h>

#include "nats/pub.h"

/* Zeroed nothing has failed. */
struct blind {
	unsigned	forbidden;	/* so often */
	int64_t		since;		/* nobody answers, clock_ms(); 0: not so */
};

/* A look has failed; now is clock_ms().  true: go on without. */
bool	blind_failed(struct blind *, const struct pub *, int64_t now);

#endif
