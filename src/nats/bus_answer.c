/*
 * bus_answer.c - answers: to which message, and what they say
 *
 * They come to one synchronous subscription on an inbox of ours, matched by
 * the end of the reply subject.
 */

#include "nats/bus_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "nats/streams.h"
#include "util/fault.h"

/*
 * So many of the batch may still be refused.  Not those that were sent before
 * one that is answered, for a server takes what we write in turn and refuses
 * at once; and each was refused already that a refusal was counted for, be it
 * for another.  What is older than this batch has had its time.
 */
static size_t
unrefused(const struct bus *b)
{
	size_t	open = b->sent - b->answered;

	return open > b->refused ? open - b->refused : 0;
}

void
bus_begin(void *arg, int64_t until)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s = NATS_OK;

	b->generation++;
	b->until = until;
	b->stale = unrefused(b);
	b->sent = b->answered = b->refused = 0;
	/* What came too late, above all a refusal that names nobody. */
	while (b->sub != NULL && (s == NATS_OK || s == NATS_NO_RESPONDERS)) {
		s = natsSubscription_NextMsg(&m, b->sub, 0);
		if (s == NATS_OK)
			natsMsg_Destroy(m);
		if (b->stale > 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS))
			b->stale--;
	}
}

static void
read_error(json_t *error, struct pub_answer *a)
{
	int		 code = (int)json_integer_value(
			    json_object_get(error, "err_code"));
	const char	*text = json_string_value(
			    json_object_get(error, "description"));

	if (text == NULL)
		text = "error without a description";
	a->verdict = verdict_of_error(code, text);
	snprintf(a->text, sizeof(a->text), "%s (%d)", text, code);
}

static void
read_stored(json_t *ack, const char *stream, struct pub_answer *a)
{
	const char	*from;

	from = json_string_value(json_object_get(ack, "stream"));
	a->stream_sequence = (uint64_t)json_integer_value(
	    json_object_get(ack, "seq"));
	if (from != NULL && stream[0] == '\0')
		a->stream = streams_hash(from);
	if (from == NULL || a->stream_sequence == 0) {
		/* A duplicate of what was never stored, or no PubAck at all. */
		a->verdict = VERDICT_TRANSIENT;
		snprintf(a->text, sizeof(a->text),
		    "the answer names no stored message");
	} else if (stream[0] != '\0' && strcmp(stream, from) != 0) {
		a->verdict = VERDICT_DESTINATION;
		snprintf(a->text, sizeof(a->text), "stored in stream %.100s, "
		    "but nats.stream is %.100s", from, stream);
	} else if (json_is_true(json_object_get(ack, "duplicate")))
		a->verdict = VERDICT_DUPLICATE;
	else
		a->verdict = VERDICT_STORED;
}

static bool
skip(const char **at, const char *end, const char *text)
{
	size_t	n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/*
 * {"stream":"NAME", "seq":1}, which all but a few are: a tenth of the time of
 * a JSON parser, and whatever looks otherwise goes there.
 */
static bool
read_plain(const char *at, const char *end, const char *stream,
    struct pub_answer *a)
{
	uint64_t	sequence = 0;

	if (!skip(&at, end, "{\"stream\":\"") || !skip(&at, end, stream) ||
	    !skip(&at, end, "\","))
		return false;
	skip(&at, end, " ");		/* as servers write it */
	if (!skip(&at, end, "\"seq\":") || end - at > 18 || at == end ||
	    *at == '0')
		return false;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		sequence = sequence * 10 + (uint64_t)(*at - '0');
	if (sequence == 0 || !skip(&at, end, "}") || at != end)
		return false;
	a->verdict = VERDICT_STORED;
	a->stream_sequence = sequence;
	return true;
}

void
bus_read_ack(const char *body, int len, const char *stream,
    struct pub_answer *a)
{
	json_t	*ack, *error;

	a->text[0] = '\0';
	a->stream_sequence = a->stream = 0;
	if (stream[0] != '\0' && read_plain(body, body + len, stream, a))
		return;
	ack = json_loadb(body, (size_t)len, 0, NULL);
	if (!json_is_object(ack)) {
		a->verdict = VERDICT_DESTINATION;
		snprintf(a->text, sizeof(a->text), "the answer is not a "
		    "PubAck: somebody else answers on the subject");
	} else if ((error = json_object_get(ack, "error")) != NULL)
		read_error(error, a);	/* "seq":0 comes with it */
	else
		read_stored(ack, stream, a);
	json_decref(ack);
}

/* "<inbox><generation>_<slot>"; an older generation was given up on. */
bool
bus_read_slot(const struct bus *b, const char *subject, uint32_t *slot)
{
	char	*end;

	subject += b->inbox_len;
	if (strtoul(subject, &end, 16) != b->generation || *end != '_')
		return false;
	*slot = (uint32_t)strtoul(end + 1, NULL, 16);
	return true;
}

/*
 * The library keeps the "no responders" message to itself and returns only
 * the status, so which message it answers is lost.
 */
static bool
no_responders(struct pub_answer *a)
{
	a->slot = PUB_SOME_SLOT;
	a->verdict = verdict_of_status(NATS_NO_RESPONDERS);
	snprintf(a->text, sizeof(a->text), "no stream takes this subject (no "
	    "responders): create the stream, or JetStream is off");
	return true;
}

/* All that was sent before it, also in older generations, has its refusal. */
static void
note_answered(struct bus *b, uint32_t slot)
{
	if (slot < b->nplaces && b->places[slot] < b->sent &&
	    b->places[slot] >= b->answered)
		b->answered = b->places[slot] + 1;
	b->stale = 0;
}

/*
 * One more answer: to the messages that are out, or to those that were given
 * up on.  A refusal that names nobody belongs to the latter while there are
 * any; should that be wrong, its message times out.
 */
static bool
is_current(struct bus *b, natsStatus s, natsMsg *m, struct pub_answer *a)
{
	if (s == NATS_OK && bus_read_slot(b, natsMsg_GetSubject(m), &a->slot)) {
		note_answered(b, a->slot);
		return true;
	}
	if (s != NATS_OK) {
		b->refused++;
		if (b->stale == 0)
			return true;
	}
	if (b->stale > 0)
		b->stale--;
	return false;
}

bool
bus_answer(void *arg, struct pub_answer *a)
{
	struct bus	*b = arg;

	while (b->sub != NULL) {
		natsMsg *m = NULL;
		natsStatus s = natsSubscription_NextMsg(&m, b->sub, 0);

		if (s != NATS_OK && s != NATS_NO_RESPONDERS)
			return false;
		if (!is_current(b, s, m, a)) {
			bus_spend(b, m);
			continue;
		}
		if (s == NATS_NO_RESPONDERS)
			return no_responders(a);
		fault_point("answer", "before", b->fd);
		bus_read_ack(natsMsg_GetData(m), natsMsg_GetDataLength(m),
		    b->conf->nats.stream, a);
		bus_spend(b, m);
		fault_point("answer", "after", b->fd);
		return true;
	}
	return false;
}
