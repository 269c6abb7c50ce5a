/* place.h - the message at one sequence of the stream */
#ifndef OUTBOX_PLACE_H
#define OUTBOX_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "common/message_id.h"

enum place_what {
	PLACE_UNKNOWN,
	PLACE_EMPTY,		/* removed, lost, or not used yet */
	PLACE_OURS,
	PLACE_OTHER		/* another publisher's message */
};

struct place {
	uint64_t	sequence;	/* in the stream; 0: empty */
	enum place_what	what;
	struct message_id id;		/* PLACE_OURS: its message id */
};

/*
 * Read the answer to $JS.API.STREAM.MSG.GET for this place.  A message whose
 * id has this prefix is ours.  -1 with an error: the place is unchanged.
 */
int	place_read(struct place *, const char *prefix, const char *body,
	    size_t len, struct err *);

#endif
