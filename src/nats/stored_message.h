/* stored_message.h - the message at one sequence of the stream */
#ifndef OUTBOX_STORED_MESSAGE_H
#define OUTBOX_STORED_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "common/message_id.h"

enum stored_what {
	STORED_UNKNOWN,
	STORED_EMPTY,		/* removed, lost, or not used yet */
	STORED_OURS,
	STORED_OTHER		/* another publisher's message */
};

struct stored_message {
	uint64_t		sequence;	/* in the stream; 0: empty */
	enum stored_what	what;
	struct message_id	id;		/* STORED_OURS: its id */
};

/*
 * Read the answer to $JS.API.STREAM.MSG.GET for its sequence.  A message whose
 * id has this prefix is ours.  -1 with an error: it is unchanged.
 */
int	stored_message_read(struct stored_message *, const char *prefix,
	    const char *body, size_t len, struct err *);

#endif
