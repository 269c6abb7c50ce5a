/*
 * bus_answer.c - answers: to which message, and with which verdict
 *
 * Answers come to one synchronous subscription on an inbox of ours.  The end
 * of the reply subject names the message.
 */

#include "nats/bus_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "util/fault.h"
#include "util/log.h"

void
bus_begin(void *arg, int64_t until)
{
	struct bus	*b = arg;
	natsMsg		*m = NULL;
	natsStatus	 s = NATS_OK;
	size_t		 open = b->sent - b->answered;

	b->generation++;
	b->until = until;
	/*
	 * So many messages of the last batch may still be refused without an
	 * index.  Those sent before an answered one are not counted: a server
	 * reads in order and refuses at once.  Each refusal that came takes off
	 * one.
	 */
	b->stale = open > b->refused ? open - b->refused : 0;
	b->sent = b->answered = b->refused = 0;
	/* Drop late answers, above all refusals without an index. */
	while (b->sub != NULL && (s == NATS_OK || s == NATS_NO_RESPONDERS)) {
		s = natsSubscription_NextMsg(&m, b->sub, 0);
		if (s == NATS_OK)
			natsMsg_Destroy(m);
		if (b->stale > 0 && (s == NATS_OK || s == NATS_NO_RESPONDERS))
			b->stale--;
	}
}

static void
not_a_puback(struct pub_answer *a)
{
	a->verdict = VERDICT_ELSEWHERE;
	snprintf(a->text, sizeof(a->text), "the answer is not a PubAck: "
	    "another client replies on this subject");
}

/*
 * A stream, and its domain of JetStream: NULL: any, "": none.  api: where that
 * has its API; "": as the domain says.
 */
struct place {
	const char	*stream, *domain, *api;
};

/* Only an answer from where the message was meant to go is one. */
static bool
is_elsewhere(const struct place *meant, const struct place *from,
    struct pub_answer *a)
{
	bool	other = meant->stream[0] != '\0' &&
		    strcmp(meant->stream, from->stream) != 0;

	if (!other && (meant->domain == NULL ||
	    strcmp(meant->domain, from->domain) == 0))
		return false;
	a->verdict = VERDICT_ELSEWHERE;
	a->class = CLASS_WRONG_STREAM;
	if (other)
		snprintf(a->text, sizeof(a->text), "stored in stream %.100s, "
		    "but nats.stream is %.100s", from->stream, meant->stream);
	else
		snprintf(a->text, sizeof(a->text), "stored in stream %.50s of "
		    "the JetStream domain \"%.50s\", but nats.stream is in "
		    "domain \"%.50s\"", from->stream, from->domain,
		    meant->domain);
	return true;
}

/* An error names a stream, but no domain. */
static void
read_error(json_t *ack, json_t *error, const struct place *meant,
    struct pub_answer *a)
{
	const char	*text = json_string_value(json_object_get(error,
			    "description"));
	const char	*from = json_string_value(json_object_get(ack,
			    "stream"));
	int		 code = (int)json_integer_value(json_object_get(error,
			    "err_code"));

	if (text == NULL)
		text = "error without a description";
	a->in_doubt = meant->domain != NULL && meant->domain[0] != '\0';
	if (meant->stream[0] == '\0' || from == NULL ||
	    strcmp(meant->stream, from) == 0) {
		a->verdict = nats_verdict_of_error(code, text);
		a->class = nats_verdict_class(code, text);
		snprintf(a->text, sizeof(a->text), "%s (%d)", text, code);
		return;
	}
	a->verdict = VERDICT_ELSEWHERE;
	a->class = CLASS_WRONG_STREAM;
	snprintf(a->text, sizeof(a->text), "%.120s (%d), says stream %.60s, "
	    "which takes this subject", text, code, from);
}

static void
read_stored(json_t *ack, const struct place *meant, struct pub_answer *a)
{
	struct place	from = {
			    json_string_value(json_object_get(ack, "stream")),
			    json_string_value(json_object_get(ack, "domain")),
			    meant->api };
	json_int_t	sequence = json_integer_value(json_object_get(ack,
			    "seq"));
	int		n;

	if (from.domain == NULL)
		from.domain = "";
	if (from.stream == NULL || from.stream[0] == '\0') {
		not_a_puback(a);
		return;
	}
	a->ack_sequence = sequence > 0 ? (uint64_t)sequence : 0;
	if (strcmp(meant->stream, from.stream) != 0)
		a->stream = text_hash(from.stream);
	if (is_elsewhere(meant, &from, a))
		return;
	a->verdict = VERDICT_STORED;
	if (a->ack_sequence == 0) {
		/* A duplicate of one that a cluster has not stored yet. */
		a->verdict = json_is_true(json_object_get(ack, "duplicate")) ?
		    VERDICT_PENDING : VERDICT_TRANSIENT;
		snprintf(a->text, sizeof(a->text),
		    "no stored message: the answer has no sequence");
	} else if (json_is_true(json_object_get(ack, "duplicate"))) {
		a->verdict = VERDICT_DUPLICATE;
		if (meant->stream[0] != '\0')
			return;
		/* The request that reads the other message. */
		n = from.api[0] != '\0' ? snprintf(a->where,
		    sizeof(a->where), "%s.STREAM.MSG.GET.%s", from.api,
		    from.stream) : snprintf(a->where, sizeof(a->where),
		    "$JS%s%s.API.STREAM.MSG.GET.%s",
		    from.domain[0] == '\0' ? "" : ".", from.domain,
		    from.stream);
		if (n < 0 || (size_t)n >= sizeof(a->where))
			a->where[0] = '\0';
	}
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
 * {"stream":"NAME", "seq":1}, the form of almost all answers, in a tenth of
 * the time of a JSON parser.  false: another form, for the parser.
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
	a->ack_sequence = sequence;
	return true;
}

void
bus_read_ack(const char *body, int len, const char *stream,
    const char *domain, const char *api, struct pub_answer *a)
{
	const struct place	 meant = { stream, domain, api };
	json_t			*ack, *error;

	a->text[0] = a->where[0] = '\0';
	a->class = CLASS_OTHER;
	a->in_doubt = false;
	a->ack_sequence = a->stream = 0;
	a->retry_after_ms = 0;
	if (stream[0] != '\0' && (domain == NULL || domain[0] == '\0') &&
	    read_plain(body, body + len, stream, a))
		return;
	ack = json_loadb(body, (size_t)len, 0, NULL);
	if (!json_is_object(ack))
		not_a_puback(a);
	else if ((error = json_object_get(ack, "error")) != NULL)
		read_error(ack, error, &meant, a);	/* "seq":0 is there */
	else
		read_stored(ack, &meant, a);
	json_decref(ack);
}

/*
 * "<inbox><generation>_<index>"; older generations were given up on.  A broker
 * can deliver a message of any subject to a subscription.
 */
bool
bus_read_index(const struct bus *b, const char *subject, uint32_t *index)
{
	char	*end;

	if (strncmp(subject, b->inbox, b->inbox_len) != 0)
		return false;
	subject += b->inbox_len;
	if (strtoul(subject, &end, 16) != b->generation || *end != '_')
		return false;
	*index = (uint32_t)strtoul(end + 1, NULL, 16);
	return true;
}

/*
 * True if the answer is for this batch.  A refusal without an index counts for
 * an older batch while one may still come for that; if it was for this batch,
 * its message times out.
 */
static bool
is_current(struct bus *b, natsStatus s, natsMsg *m, struct pub_answer *a)
{
	if (s == NATS_OK && bus_read_index(b, natsMsg_GetSubject(m),
	    &a->index)) {
		/* Refusals of what was sent before it, in any batch, came. */
		if (a->index < b->nordinals &&
		    b->ordinals[a->index] < b->sent &&
		    b->ordinals[a->index] >= b->answered)
			b->answered = b->ordinals[a->index] + 1;
		b->stale = 0;
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
		if (s == NATS_NO_RESPONDERS) {
			/* The library tells of no message, so of no index. */
			a->index = PUB_SOME_INDEX;
			a->verdict = nats_verdict_of_status(s);
			a->class = CLASS_NO_STREAM;
			snprintf(a->text, sizeof(a->text), "no stream takes "
			    "this subject (no responders): add it to a stream, "
			    "or enable JetStream");
			return true;
		}
		fault_point("answer", "before", b->fd);
		bus_read_ack(natsMsg_GetData(m), natsMsg_GetDataLength(m),
		    b->conf->nats.stream, b->domain,
		    b->conf->nats.api_prefix, a);
		bus_spend(b, m);
		fault_point("answer", "after", b->fd);
		if (a->verdict == VERDICT_ELSEWHERE && !b->told_elsewhere) {
			log_warn("somebody else answers to the same messages, "
			    "which does not count: %s", a->text);
			b->told_elsewhere = true;
		}
		return true;
	}
	return false;
}
