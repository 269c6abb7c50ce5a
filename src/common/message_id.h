/*
 * message_id.h - what tells one message of ours from another in the stream
 *
 * "<prefix>-<sequence>-<16 hex digits>[-r<replay>]": the number of the outbox
 * row, a hash of its event, and how often it was sent again on purpose.  A
 * database that goes back (a failover, a restored backup) gives numbers
 * again, so the number alone says nothing: whoever asks whether a message is
 * in the stream compares all three.
 */
#ifndef OUTBOX_MESSAGE_ID_H
#define OUTBOX_MESSAGE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

#define MESSAGE_ID_HEADER	"Nats-Msg-Id"

struct msg;

struct message_id {
	uint64_t	sequence;	/* of the outbox row */
	uint64_t	hash;
	unsigned	replay;
	bool		hashed;		/* false: the hash is not known */
};

/*
 * XXH3-64 of stream id, stream sequence, type, occurred_at and payload, in
 * this order.  Each is preceded by its length, 8 bytes, little endian; NULL
 * has a length of 2^64 - 1 and no bytes.  occurred_at is 8 bytes: microseconds
 * since 1970 in UTC, little endian.  The same for every resend, takeover and
 * restore of one event.  The event has to be there, with its payload.
 */
uint64_t message_hash(const struct msg *);

/* Append it to a text; an id that is not hashed cannot be sent. */
void	message_id_put(struct buf *, const char *prefix,
	    const struct message_id *);

/*
 * Read an id; false: it is not one of ours.  Ids of before the hash had 16
 * digits are read without their hash.
 */
bool	message_id_read(struct message_id *, const char *prefix,
	    const char *text);

/*
 * Is this the message that is wanted?  Where the wanted hash is not known,
 * number and replay decide.
 */
bool	message_id_is(const struct message_id *wanted,
	    const struct message_id *found);

#endif
