/* place.h - what stands at a place of the stream */
#ifndef OUTBOX_PLACE_H
#define OUTBOX_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum place_what {
	PLACE_UNKNOWN,
	PLACE_EMPTY,		/* removed, lost, or not given away yet */
	PLACE_OURS,
	PLACE_OTHER		/* somebody else's message */
};

struct place {
	uint64_t	sequence;	/* of the stream; 0: nowhere, empty */
	enum place_what	what;
	uint64_t	row;		/* PLACE_OURS: the outbox row's sequence */
	unsigned	replay;		/* and which time it was sent on purpose */
};

/*
 * Read the answer to $JS.API.STREAM.MSG.GET for this place.  Ours is what
 * has a message id "<prefix>-<row>-<crc>", or that and "-r<replay>".  -1: the
 * answer tells nothing.
 */
int	place_read(struct place *, const char *prefix, const char *body,
	    size_t len, struct err *);

#endif
