/*
 * streams.h - learns which stream takes which subject
 *
 * Without nats.stream several streams may take the messages.  A stream answers
 * in the order in which it stores, but its answers tell nothing about others.
 * PubAcks name their stream, and so show where a subject goes.
 *
 * Two tables of fixed size, in which a new entry replaces an old one at the
 * same index.  Entries of earlier batches may be wrong by now (streams change
 * their subjects): they may shorten a wait, but never use an attempt of a
 * message.  Texts are kept
 * as hashes, see text_hash().  Pure bookkeeping: no I/O, no clock.
 */
#ifndef OUTBOX_STREAMS_H
#define OUTBOX_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAMS_SUBJECTS	1024	/* powers of two */
#define STREAMS_MAX		64

struct streams {
	unsigned	 batch;
	struct {
		uint64_t	subject, stream;	/* stream 0: several */
		unsigned	batch;		/* of the last PubAck */
	} takes[STREAMS_SUBJECTS];
	struct {
		uint64_t	stream;
		unsigned	batch;		/* of stored */
		size_t		stored;		/* highest ordinal, plus 1 */
		bool		silent;
	} seen[STREAMS_MAX];
};

/* Begin a new batch. */
void		streams_begin(struct streams *);

/* The stream acknowledged a message with this subject. */
void		streams_took(struct streams *, uint64_t subject,
		    uint64_t stream);

/* The stream stored the message with this ordinal, counted from 0. */
void		streams_stored(struct streams *, uint64_t stream,
		    size_t ordinal);

/*
 * True if the stream of this subject, as far as known, stored a message of
 * this batch with a higher ordinal.
 */
bool		streams_overtook(const struct streams *, uint64_t subject,
		    size_t ordinal);

/* True if a PubAck of this batch named the stream of this subject. */
bool		streams_is_sure(const struct streams *, uint64_t subject);

/* Mark the subject's stream as silent until it acknowledges a message. */
void		streams_note_silent(struct streams *, uint64_t subject);
bool		streams_is_silent(const struct streams *, uint64_t subject);

#endif
