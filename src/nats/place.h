/* place.h - what stands at a place of the stream */
#ifndef OUTBOX_PLACE_H
#define OUTBOX_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "common/message_id.h"

enum place_what {
	PLACE_UNKNOWN,
	PLACE_EMPTY,		/* removed, lost, or not given away yet */
	PLACE_OURS,
	PLACE_OTHER		/* somebody else's message */
};

struct place {
	uint64_t	sequence;	/* of the stream; 0: nowhere, empty */
	enum place_what	what;
	struct message_id id;		/* PLACE_OURS: what it is */
};

/*
 * Read the answer to $JS.API.STREAM.MSG.GET for this place.  Ours is what has
 * a message id with this prefix.  -1: the answer tells nothing.
 */
int	place_read(struct place *, const char *prefix, const char *body,
	    size_t len, struct err *);

#endif
