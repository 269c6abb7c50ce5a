/*
 * streams.h - which stream takes which subject, where several may
 *
 * Without nats.stream any stream may answer.  Each answers in the order in
 * which it stores, but about another stream its answers say nothing.  PubAcks
 * name their stream, and from that is learned where a subject goes.
 *
 * Two small tables in which a newer entry replaces the one in its place, so
 * that they are bounded.  What was learned in an earlier batch may be wrong by
 * now (streams change their subjects): it may tell how long to wait, and is
 * never held against a message.  Texts are known by their hashes only.  Pure
 * bookkeeping: no I/O, no clock.
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
		unsigned	batch;		/* that stored is about */
		size_t		stored;		/* places up to the last */
		bool		silent;
	} seen[STREAMS_MAX];
};

/* Of a subject or the name of a stream; never 0. */
uint64_t	streams_hash(const char *);

/* A new batch. */
void		streams_begin(struct streams *);

/* That stream acknowledged a message with that subject. */
void		streams_took(struct streams *, uint64_t subject,
		    uint64_t stream);

/* It stored the message that was sent at this place, counted from 0. */
void		streams_stored(struct streams *, uint64_t stream, size_t place);

/*
 * Did the stream of this subject, as far as is known, store something in this
 * batch that was sent later than at this place?
 */
bool		streams_overtook(const struct streams *, uint64_t subject,
		    size_t place);

/* Is the stream of this subject known from a PubAck of this batch? */
bool		streams_is_sure(const struct streams *, uint64_t subject);

/* Its stream did not answer in time, until it acknowledges something. */
void		streams_note_silent(struct streams *, uint64_t subject);
bool		streams_is_silent(const struct streams *, uint64_t subject);

#endif
