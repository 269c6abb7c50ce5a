/*
 * fuzz_answer.c - what a broker may answer: PubAcks, the stream's settings and
 * state, stored messages, and errors
 */

#include "fuzz/fuzz.h"

#include "conf/conf.h"
#include "nats/bus.h"
#include "nats/new_stream.h"
#include "nats/nats_verdict.h"
#include "nats/stored_message.h"
#include "nats/stream.h"

static struct conf *
some_conf(void)
{
	static struct conf	 conf;
	static char		 stream[] = "EVENTS";
	static char		 subject[] = "events.{event_type}.x";
	static char		 empty[] = "";

	conf.nats.stream = stream;
	conf.nats.subject = subject;
	conf.nats.advisory = conf.wake.subject = empty;
	conf.worker.claim_ttl = 30000;
	conf.publish.timeout_ms = 5000;
	return &conf;
}

static void
read_ack(const char *body, size_t len)
{
	struct pub_answer	a;

	for (int any = 0; any < 2; any++) {
		memset(&a, 0, sizeof(a));
		bus_read_ack(body, (int)len, any ? "" : "EVENTS", NULL, "",
		    &a);
		MUST(memchr(a.text, '\0', sizeof(a.text)) != NULL);
		/* What counts as stored has a sequence. */
		MUST((a.verdict != VERDICT_STORED &&
		    a.verdict != VERDICT_DUPLICATE) || a.ack_sequence != 0);
	}
}

static void
read_stream(const char *body, size_t len)
{
	struct stream_report	r;
	struct stream_state	state;
	struct new_stream	wanted = { 600000, 1, "events.>" };
	struct err		e;

	stream_judge(&r, some_conf(), body, len);
	MUST(r.warnings.n <= STREAM_FINDINGS &&
	    r.advice.n <= STREAM_FINDINGS);
	memset(&state, 'x', sizeof(state));
	if (stream_read_state(&state, body, len, &e) == 0)
		MUST(state.answer != STREAM_UNKNOWN);
	else
		MUST(state.answer == STREAM_UNKNOWN);
	MUST(memchr(state.created, '\0', sizeof(state.created)) != NULL);
	new_stream_compare(&wanted, body, len, &e);
}

static void
read_message(const char *body, size_t len)
{
	struct stored_message	m = { .sequence = 7 };
	struct err		e;

	stored_message_read(&m, "0123456789abcdef", body, len, &e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input	 in = { data, size };
	unsigned	 kind = take_byte(&in);
	size_t		 len;
	char		*body = take_field(&in, &len);

	switch (kind % 4) {
	case 0:
		read_ack(body, len);
		break;
	case 1:
		read_stream(body, len);
		break;
	case 2:
		read_message(body, len);
		break;
	default:
		body[len == 0 ? 0 : len - 1] = '\0';
		nats_verdict_class_of_complaint(body);
		nats_verdict_class((int)kind, body);
		nats_verdict_of_error((int)kind, body);
	}
	free(body);
	return 0;
}
