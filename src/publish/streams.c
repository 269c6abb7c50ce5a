/* streams.c - see streams.h; every step is O(1) but for the text's length */

#include "publish/streams.h"

/* The tables use the lowest bits. */
static uint64_t
fold(uint64_t hash)
{
	return hash ^ hash >> 32;
}

static size_t
entry_of_subject(uint64_t subject)
{
	return fold(subject) % STREAMS_SUBJECTS;
}

static size_t
entry_of_stream(uint64_t stream)
{
	return fold(stream) % STREAMS_MAX;
}

/* Where the subject goes; 0: not known, or to several streams. */
static uint64_t
stream_of_subject(const struct streams *s, uint64_t subject)
{
	size_t	at = entry_of_subject(subject);

	return s->takes[at].subject == subject ? s->takes[at].stream : 0;
}

void
streams_begin(struct streams *s)
{
	s->batch++;
}

/*
 * If another stream took the subject before, the subject has moved, or the
 * server maps it to several streams by weight.  The stream of the next message
 * is unknown then.
 */
void
streams_took(struct streams *s, uint64_t subject, uint64_t stream)
{
	size_t	at = entry_of_subject(subject);
	size_t	to = entry_of_stream(stream);

	if (s->takes[at].subject != subject) {
		s->takes[at].subject = subject;
		s->takes[at].stream = stream;
	} else if (s->takes[at].stream != stream)
		s->takes[at].stream = 0;
	s->takes[at].batch = s->batch;
	if (s->seen[to].stream == stream)
		s->seen[to].silent = false;
}

/* The entry of a stream, for this batch. */
static size_t
renew_entry(struct streams *s, uint64_t stream)
{
	size_t	at = entry_of_stream(stream);

	if (s->seen[at].stream != stream)
		s->seen[at].silent = false;
	if (s->seen[at].stream != stream || s->seen[at].batch != s->batch)
		s->seen[at].stored = 0;
	s->seen[at].stream = stream;
	s->seen[at].batch = s->batch;
	return at;
}

void
streams_stored(struct streams *s, uint64_t stream, size_t ordinal)
{
	size_t	at = renew_entry(s, stream);

	if (ordinal >= s->seen[at].stored)
		s->seen[at].stored = ordinal + 1;
}

bool
streams_overtook(const struct streams *s, uint64_t subject, size_t ordinal)
{
	uint64_t	stream = stream_of_subject(s, subject);
	size_t		at = entry_of_stream(stream);

	/* Ordinals are counted from 0 in each batch. */
	return stream != 0 && s->seen[at].stream == stream &&
	    s->seen[at].batch == s->batch && s->seen[at].stored > ordinal;
}

bool
streams_is_sure(const struct streams *s, uint64_t subject)
{
	return stream_of_subject(s, subject) != 0 &&
	    s->takes[entry_of_subject(subject)].batch == s->batch;
}

void
streams_note_silent(struct streams *s, uint64_t subject)
{
	uint64_t	stream = stream_of_subject(s, subject);

	if (stream != 0)
		s->seen[renew_entry(s, stream)].silent = true;
}

bool
streams_is_silent(const struct streams *s, uint64_t subject)
{
	uint64_t	stream = stream_of_subject(s, subject);
	size_t		at = entry_of_stream(stream);

	return stream != 0 && s->seen[at].stream == stream &&
	    s->seen[at].silent;
}
