/* msg.h - outbox rows as plain data */
#ifndef OUTBOX_MSG_H
#define OUTBOX_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/message_id.h"

#define MSG_LABEL	257	/* 64 characters of a label, and a NUL */

/* Borrowed memory; data NULL: SQL NULL. */
struct bytes {
	const char	*data;
	size_t		 len;
};

/* FNV-1a: the same for equal bytes, hardly ever for others. */
uint64_t	bytes_hash(struct bytes);
uint64_t	text_hash(const char *);

/* Microseconds since 1970 of a msg.time; false: it is none. */
bool		message_time_read(struct bytes time, int64_t *us);

/*
 * Where Kafka has a message, beside the sequences of a stream, which are lower:
 * partition and offset, each plus one.  0: it does not fit.
 */
#define MSG_PLACES		(UINT64_C(1) << 48)
uint64_t	msg_place(int64_t partition, int64_t offset);
int32_t		msg_place_partition(uint64_t place);
int64_t		msg_place_offset(uint64_t place);

/* A delivered row and its sequence in the stream; ack 0: unknown. */
struct acked {
	struct message_id	id;
	uint64_t		ack;
};

/*
 * Longer metadata, in bytes, is refused before it is fetched: parsed it takes
 * up to eighty times as much memory.
 */
#define MSG_METADATA_MAX	(1024 * 1024)

/* Parts of a message that its id is made of. */
enum {
	MSG_KEY = 1, MSG_STREAM_SEQUENCE = 2, MSG_TYPE = 4, MSG_TIME = 8,
	MSG_PAYLOAD = 16
};

/* The outcome of a message in this batch. */
enum outcome {
	OUT_UNSENT,	/* not sent: give it back, attempts unchanged */
	OUT_DELIVERED,	/* a PubAck came */
	OUT_RETRY,	/* this message failed: attempts + 1, and a delay */
	OUT_DEFER,	/* not its fault: a delay, attempts unchanged */
	OUT_DEAD,	/* can never be delivered: to the dead letters */
	OUT_KEEP_CLAIM	/* nothing is written, and it waits until its claim
			   expires: it is in doubt with no time to ask, or the
			   database rejects the write */
};

/* One row.  The batch owns the texts. */
struct msg {
	uint64_t	 sequence;
	struct bytes	 partition;	/* label; data NULL: SQL NULL */
	struct bytes	 key;		/* order key: the stream id */
	struct bytes	 type;
	struct bytes	 payload;
	struct bytes	 metadata;
	struct bytes	 correlation;
	struct bytes	 version;
	struct bytes	 stream_sequence;
	struct bytes	 id;		/* of mode inline: the author's own */
	bool		 renamed;	/* it goes under our id, because another's
					   message in the stream has this one */
	struct bytes	 content_type;	/* data NULL or "": unknown */
	struct bytes	 time;		/* "2026-01-31 12:00:00.123456", UTC */
	unsigned	 attempts;	/* failed ones so far */
	unsigned	 replay;	/* times it was sent again on purpose */
	uint64_t	 hash;		/* of its event, for the message id */
	bool		 hashed;	/* the hash is known */
	unsigned	 left_out;	/* parts that the hash leaves out: their
					   columns change by themselves */
	uint32_t	 label_hash;	/* its label is computed of it, unless
					   the label is the key's */
	bool		 has_label_hash;
	unsigned	 range;		/* its index in batch.labels */
	unsigned	 destination;	/* set while it is published: a number,
					   see route.h */
	int64_t		 in_doubt_ms;	/* in doubt for so many ms; -1: not in
					   doubt; INT64_MAX: unknown */
	int64_t		 age_us;	/* since created_at, when it was read;
					   -1: unknown */
	bool		 in_doubt;	/* sent, and its outcome is unknown */
	bool		 unsolved;	/* OUT_DEFER: it cannot be told whether it
					   is stored already */
	bool		 has_event;	/* false: its event does not exist */
	bool		 away;		/* payload and metadata were not
					   fetched: data is NULL, len is set;
					   or only the metadata, as too long */
	bool		 left;	/* until there is memory; see memory_budget.h */
	bool		 held;		/* not to be sent: lane is blocked */
	enum outcome	 outcome;
	bool		 written;	/* the outcome is in the database */
	int64_t		 delay_ms;	/* ms until the next try; with
					   OUT_KEEP_CLAIM 0 is possible; with
					   OUT_UNSENT by this worker, 0: now */
	int64_t		 hold_ms;	/* OUT_DEFER: if > 0, this worker tries
					   it again after that, or when its type
					   is taken; others after delay_ms */
	const char	*reason;	/* OUT_DEAD: "message", "attempts" or
					   "poison", for outbox_dead_letters */
	uint64_t	 ack_sequence;	/* OUT_DELIVERED: JetStream's number, or
					   its place in Kafka; 0: in neither, or
					   not as its own */
	char		*error;		/* why it failed; NULL: it did not */
};

/*
 * The rows of one tick, in sequence order.  rows owns the memory of all texts;
 * batch_free frees everything.
 */
struct batch {
	struct msg	*msgs;
	size_t		 n;
	size_t		 naway;		/* of n: not fetched with their rows */
	char		 token[48];	/* claim token: nonce, a serial number
					   and claim_ttl in ms, with dashes */
	int64_t		 claimed_at;	/* clock_ms() before the claim was sent */
	int64_t		 read_at;	/* clock_us() before the messages were
					   asked for */
	char		(*labels)[MSG_LABEL];	/* of leases, by msg.range */
	uint64_t	*refused;	/* sequences that cannot be claimed */
	size_t		 nrefused;
	void		*rows;
	void		*more_rows;	/* of payloads fetched later; or NULL */
	void		(*free_rows)(void *);
};

void	batch_free(struct batch *);

/* Sort by sequence, as batch_msg needs it. */
void	batch_sort(struct batch *);

/* Move the messages and the memory of their texts into an empty batch. */
void	batch_take(struct batch *to, struct batch *from);

/*
 * Keep only the messages of these sequences, which are sorted.  False: one of
 * them is missing, and the batch is empty now.
 */
bool	batch_keep(struct batch *, const uint64_t *sequences, size_t n);

/* Note a row that cannot be claimed; true if it was noted. */
void	batch_refuse(struct batch *, uint64_t sequence);
bool	batch_is_refused(const struct batch *, uint64_t sequence);

/* The message with this sequence; NULL: not in the batch. */
struct msg *batch_msg(const struct batch *, uint64_t sequence);

/*
 * The message's id in the stream.  The first call computes the hash, for which
 * it needs the event with its payload; without them the id is not hashed.
 */
struct message_id msg_id(struct msg *);

/*
 * Is the stored message with this id, and this time of its event, the message?
 * It may have an id that leaves no part out, of an earlier version: then that
 * is the message's id from now on, for the audit to find it.
 */
bool	msg_is_stored(struct msg *, const struct message_id *,
	    const char *time);

/* The same of the hash alone. */
bool	msg_has_hash(struct msg *, uint64_t hash, const char *time);

/*
 * Has its author named it?  Append the id that consumers see: that, unless it
 * is renamed, or ours.
 */
bool	msg_has_own_id(const struct msg *);
void	msg_put_id(struct buf *, const char *prefix, struct msg *);

/* Append its author's id, which it has. */
void	msg_put_author_id(struct buf *, const struct msg *);

/* Messages of one type and destination, which are refused together: a hash. */
uint64_t	msg_group(const struct msg *);

/* Bytes of payload and metadata, which only the author of a message limits. */
size_t	msg_size(const struct msg *);

/* Set the outcome of a failed message; the text is copied. */
void	msg_fail(struct msg *, enum outcome, const char *error);

#endif
