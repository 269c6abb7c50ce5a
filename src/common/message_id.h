/*
 * message_id.h - the id by which a message is found in the stream
 *
 * "<prefix>-<sequence>-<16 hex digits>[-r<replay>]": the sequence of the
 * outbox row, a hash of its event, and how often it was sent again on purpose.
 * To find out whether a message is in the stream, compare all three: a
 * database that was set back (failover, restored backup) uses sequences again.
 */
#ifndef OUTBOX_MESSAGE_ID_H
#define OUTBOX_MESSAGE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

#define MESSAGE_ID_HEADER	"Nats-Msg-Id"

/* Where it is as well, if its author has named the message. */
#define MESSAGE_ID_OWN_HEADER	"Outbox-Id"

/* Where its author's id is, if the first has ours all the same. */
#define MESSAGE_ID_AUTHOR_HEADER	"Outbox-Message-Id"

/*
 * "<server>/<since>": the database server that the sender used, and the
 * stream's last sequence when that server came into use; NATS only.
 */
#define MESSAGE_ORIGIN_HEADER	"Outbox-Source"
#define MESSAGE_ORIGIN		160

/* The time of the event, which is part of the hash. */
#define MESSAGE_TIME_HEADER	"Outbox-Time"

struct msg;

struct message_id {
	uint64_t	sequence;	/* of the outbox row */
	uint64_t	hash;
	unsigned	replay;
	bool		hashed;		/* false: the hash is unknown */
};

/*
 * XXH3-64 of stream id, stream sequence, type, occurred_at and payload, in
 * this order.  Each is preceded by its length, 8 bytes, little endian; NULL
 * has the length 2^64 - 1 and no bytes.  occurred_at is 8 bytes: microseconds
 * since 1970 in UTC, little endian.  What msg.left_out names counts as NULL:
 * columns of an application's own table that change by themselves.  The hash
 * stays the same for every resend, takeover and restore of an event.  Needs
 * the event with its payload.
 */
uint64_t message_hash(const struct msg *);

/* Append the id to a text.  It must be hashed to be sent. */
void	message_id_put(struct buf *, const char *prefix,
	    const struct message_id *);

/*
 * Read an id; false: the text is not one of ours.  An older form of ids has 8
 * digits; it is read without its hash.
 */
bool	message_id_read(struct message_id *, const char *prefix,
	    const char *text);

/*
 * True if found is the wanted message.  If the wanted hash is unknown, only
 * sequence and replay are compared.
 */
bool	message_id_is(const struct message_id *wanted,
	    const struct message_id *found);

#endif
