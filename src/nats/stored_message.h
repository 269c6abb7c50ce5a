/* stored_message.h - reads a message of the stream from JetStream's answer */
#ifndef OUTBOX_STORED_MESSAGE_H
#define OUTBOX_STORED_MESSAGE_H

#include <stddef.h>

#include "driver/stored.h"
#include "util/err.h"

/*
 * Read the answer to STREAM.MSG.GET for its sequence.  A message whose
 * id has this prefix is ours.  -1 with an error: it is unchanged.
 */
int	stored_message_read(struct stored_message *, const char *prefix,
	    const char *body, size_t len, struct err *);

#endif
