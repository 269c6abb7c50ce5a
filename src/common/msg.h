/* msg.h - outbox rows as plain data */
#ifndef OUTBOX_MSG_H
#define OUTBOX_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/message_id.h"

#define MSG_LABEL	257	/* 64 characters of a label, and a NUL */

/* A piece of somebody else's memory; data NULL: SQL NULL. */
struct bytes {
	const char	*data;
	size_t		 len;
};

/* A delivered row and where the stream has it; ack 0: nobody knows. */
struct acked {
	struct message_id	id;
	uint64_t		ack;
};

/* What became of a message in this batch. */
enum outcome {
	OUT_UNSENT,	/* never left: give it back, attempts unchanged */
	OUT_DELIVERED,	/* a PubAck says so */
	OUT_RETRY,	/* this message failed: attempts + 1 and a delay */
	OUT_DEFER,	/* not its fault: a delay, attempts unchanged */
	OUT_DEAD,	/* will never work as it is: to the dead letters */
	OUT_UNKNOWN	/* nobody can tell and no time to ask, or the database
			   refuses whatever is written: left to its claim */
};

/* One row.  The texts belong to the batch. */
struct msg {
	uint64_t	 sequence;
	struct bytes	 partition;	/* label; NULL column: data is NULL */
	struct bytes	 key;		/* order key: the stream id */
	struct bytes	 type;
	struct bytes	 payload;
	struct bytes	 metadata;
	struct bytes	 correlation;
	struct bytes	 version;
	struct bytes	 stream_sequence;
	struct bytes	 time;		/* "2026-01-31 12:00:00.123456", UTC */
	unsigned	 attempts;	/* failed ones so far */
	unsigned	 replay;	/* so many times it was sent again on purpose */
	uint64_t	 hash;		/* of its event, for the message id */
	bool		 hashed;	/* the hash is known */
	unsigned	 range;		/* of the tick it came from */
	int64_t		 unsure_ms;	/* so long it may be stored; -1: it is not;
					   INT64_MAX: for nobody knows how long */
	bool		 unsure;	/* sent, and nobody knows what became of it */
	bool		 has_event;	/* false: the row points at nothing */
	bool		 away;		/* payload and metadata were not fetched: their
					   len is known, their data NULL */
	bool		 left;		/* it waits until there is room; see room.h */
	bool		 held;		/* must not be sent: its lane waits */
	enum outcome	 outcome;
	bool		 written;	/* the outcome is in the database */
	int64_t		 delay_ms;	/* OUT_RETRY, OUT_DEFER: until the next
					   try; OUT_UNKNOWN: the same, or 0 */
	const char	*reason;	/* OUT_DEAD: class, static */
	uint64_t	 ack_sequence;	/* OUT_DELIVERED: its place in the stream */
	char		*error;		/* why it failed; NULL: it did not */
};

/*
 * What one tick works on: rows in sequence order.  rows keeps the memory of
 * all texts; batch_free gives everything back.
 */
struct batch {
	struct msg	*msgs;
	size_t		 n;
	size_t		 naway;		/* of them, as fetched first */
	char		 token[48];	/* claim token: our nonce, a number of its
					   own and claim_ttl in ms, by dashes */
	int64_t		 claimed_at;	/* clock_ms() before the claim was sent */
	char		(*labels)[MSG_LABEL];	/* of the leases, by msg.range */
	bool		 early;		/* it may be sent while its claim is
					   committed; to be set before that */
	uint64_t	*refused;	/* the database does not let these be claimed */
	size_t		 nrefused;
	void		*rows;
	void		*more_rows;	/* of those that were away; or NULL */
	void		(*free_rows)(void *);
};

void	batch_free(struct batch *);

/* In sequence order, which batch_msg needs. */
void	batch_sort(struct batch *);

/* Move the messages, and the memory of their texts, into an empty batch. */
void	batch_take(struct batch *to, struct batch *from);

/*
 * Keep the messages of these sequences, sorted, and no others.  False: not all
 * of them are there, and none is kept.
 */
bool	batch_keep(struct batch *, const uint64_t *sequences, size_t n);

/* Note a row that cannot be claimed; ask whether one was noted. */
void	batch_refuse(struct batch *, uint64_t sequence);
bool	batch_is_refused(const struct batch *, uint64_t sequence);

/* The message of that sequence; NULL: it is not in the batch. */
struct msg *batch_msg(const struct batch *, uint64_t sequence);

/*
 * Its id in the stream.  The first call computes the hash, and needs the
 * event with its payload; without them the id is not hashed.
 */
struct message_id msg_id(struct msg *);

/* Bytes that only the message's author limits: payload and metadata. */
size_t	msg_size(const struct msg *);

/* Set the outcome of a message that failed; the text is copied. */
void	msg_fail(struct msg *, enum outcome, const char *error);

#endif
