/*
 * check_bus.c - the publisher against a real nats-server
 *
 * What the bus did is looked up with the library's own JetStream calls, on a
 * connection of the test's own.  Each test opens its bus itself, because the
 * library's threads do not survive the fork before a test.
 */
#include <check.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>
#include <nats/nats.h>

#include "ipc/bell.h"
#include "nats/bus.h"
#include "util/clock.h"
#include "nats/envelope.h"
#include "publish/relay.h"
#include "lib/servers.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define SECRET		"hunter2-s3cret"

#define ck_nats(call)	do {						\
	natsStatus s_ = (call);						\
	ck_assert_msg(s_ == NATS_OK, #call ": %s", natsStatus_GetText(s_)); \
} while (0)
#define ck_has(text, part)	\
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", \
	    part, text)
#define ck_has_not(text, part)	\
	ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in \"%s\"", \
	    part, text)
#define ck_near(value, low, high)	do {	\
	ck_assert_int_ge(value, low);		\
	ck_assert_int_le(value, high);		\
} while (0)

static const char	*server;	/* name of the one that is used */
static struct conf	*conf;
static struct pub	 bus;
static struct err	 e;
static struct envelope	 letter;
static natsConnection	*admin;
static jsCtx		*js;

/*
 * The frame
 */

static int64_t
ms_since(int64_t start)
{
	return clock_ms() - start;
}

/* A configuration with these keys in its section nats. */
static struct conf *
conf_with(const char *keys)
{
	return servers_conf("mysql: {database: app}\nnats: {%s}\n", keys);
}

static struct conf *
conf_of_server(const char *more)
{
	char	keys[1024];

	snprintf(keys, sizeof(keys), "servers: [\"%s\"]%s%s",
	    servers_get(server, "URL"), more[0] == '\0' ? "" : ", ", more);
	return conf_with(keys);
}

static int
open_bus(struct pub *p)
{
	e.text[0] = '\0';
	return p->ops->open(p->arg, &e);
}

static bool
is_open(void)
{
	return bus.ops->is_open(bus.arg);
}

static void
add_stream(jsStreamConfig *cfg, const char *name, const char *subject)
{
	const char	*subjects[] = { subject };
	jsErrCode	 code;

	cfg->Name = name;
	cfg->Subjects = subjects;
	cfg->SubjectsLen = 1;
	ck_nats(js_AddStream(NULL, js, cfg, NULL, &code));
}

static void
plain_stream(const char *name, const char *subject)
{
	jsStreamConfig	cfg;

	jsStreamConfig_Init(&cfg);
	add_stream(&cfg, name, subject);
}

static uint64_t
stored(const char *stream)
{
	jsStreamInfo	*si;
	jsErrCode	 code;
	uint64_t	 n;

	ck_nats(js_GetStreamInfo(&si, js, stream, NULL, &code));
	n = si->State.Msgs;
	jsStreamInfo_Destroy(si);
	return n;
}

static void
admin_open(const char *url)
{
	jsErrCode	code;

	ck_nats(natsConnection_ConnectTo(&admin, url));
	ck_nats(natsConnection_JetStream(&js, admin, NULL));
	js_DeleteStream(js, "EVENTS", NULL, &code);
	js_DeleteStream(js, "OTHER", NULL, &code);
}

static void
admin_close(void)
{
	jsCtx_Destroy(js);
	natsConnection_Destroy(admin);
	js = NULL;
	admin = NULL;
}

/* A bus that is connected, and the stream EVENTS for events.>. */
static void
begin(void)
{
	conf = conf_of_server("");
	bus = bus_new(conf, "check");
	admin_open(conf->nats.servers.items[0]);
	plain_stream("EVENTS", "events.>");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
}

static void
end(void)
{
	admin_close();
	bus_free(&bus);
	envelope_free(&letter);
	conf_free(conf);
}

static void
start_nats(void)
{
	server = "nats";
	servers_start("nats", "nats", NULL);
}

static struct bytes
bytes(const char *text)
{
	return (struct bytes){ text, text == NULL ? 0 : strlen(text) };
}

/* The letter of a row with this sequence, type and payload. */
static void
write_letter(uint64_t sequence, const char *type, struct bytes payload)
{
	struct envelope_form	form = { "events.{event_type}", "abc", "" };
	struct msg		m = { .sequence = sequence };

	m.partition = bytes("p00");
	m.key = bytes("key");
	m.type = bytes(type);
	m.payload = payload;
	ck_assert_msg(envelope_fill(&letter, &form, &m, &e) == 0, "%s",
	    e.text);
}

static enum pub_sent
send_letter(uint32_t slot)
{
	e.text[0] = '\0';
	return bus.ops->send(bus.arg, &letter, slot, &e);
}

static void
send_row(uint64_t sequence, uint32_t slot)
{
	write_letter(sequence, "t", bytes("{}"));
	ck_assert_int_eq(send_letter(slot), PUB_SENT);
}

/* The next answer, if one comes in this time. */
static bool
answers(struct pub_answer *a, int64_t ms)
{
	int64_t	until = clock_ms() + ms, left;

	memset(a, 0xff, sizeof(*a));
	while (!bus.ops->answer(bus.arg, a)) {
		if ((left = until - clock_ms()) <= 0 || !is_open())
			return false;
		bus.ops->wait(bus.arg, left);
	}
	return true;
}

static void
ck_answer(uint32_t slot, enum verdict verdict, const char *text)
{
	struct pub_answer	a;

	ck_assert_msg(answers(&a, 5000), "no answer");
	ck_assert_msg(a.slot == slot && a.verdict == verdict,
	    "slot %u, verdict %d: %s", a.slot, (int)a.verdict, a.text);
	if (text == NULL)
		ck_assert_str_eq(a.text, "");
	else
		ck_has(a.text, text);
}

static void
ck_no_answer(int64_t ms)
{
	struct pub_answer	a;

	ck_assert_msg(!answers(&a, ms), "slot %u, verdict %d: %s", a.slot,
	    (int)a.verdict, a.text);
}

static void
ck_stored(uint32_t slot, uint64_t sequence)
{
	struct pub_answer	a;

	ck_assert_msg(answers(&a, 5000), "no answer");
	ck_assert_msg(a.verdict == VERDICT_STORED, "%d: %s", (int)a.verdict,
	    a.text);
	ck_assert_uint_eq(a.slot, slot);
	ck_assert_uint_eq(a.stream_sequence, sequence);
	ck_assert_str_eq(a.text, "");
}

/*
 * Publishing
 */

START_TEST(message_is_stored)
{
	for (uint32_t i = 1; i <= 3; i++) {
		send_row(i, i + 100);
		ck_stored(i + 100, i);
	}
	ck_assert_uint_eq(stored("EVENTS"), 3);
	ck_no_answer(0);
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
}
END_TEST

START_TEST(second_copy_is_a_duplicate)
{
	struct pub_answer	a;

	send_row(7, 0);
	ck_stored(0, 1);
	send_row(8, 1);
	ck_stored(1, 2);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(7, 5);
	ck_assert(answers(&a, 5000));
	ck_assert_int_eq(a.verdict, VERDICT_DUPLICATE);
	ck_assert_uint_eq(a.slot, 5);
	ck_assert_uint_eq(a.stream_sequence, 1);
	ck_assert_uint_eq(stored("EVENTS"), 2);
}
END_TEST

/* What arrives is what was sent, byte for byte. */
static const struct {
	const char	*payload;
	size_t		 len;
} payloads[] = {
	{ "", 0 },
	{ "{}", 2 },
	{ "a\0b\0", 4 },
	{ "\0", 1 },
	{ "\r\nMSG x 1 1\r\n\r\n", 16 },
	{ "\xff\xfe\x80", 3 },
	{ NULL, 700000 },
};

static natsMsg *
first_stored(void)
{
	natsMsg		*m;
	jsErrCode	 code;

	ck_nats(js_GetMsg(&m, js, "EVENTS", 1, NULL, &code));
	return m;
}

START_TEST(payload_arrives_intact)
{
	struct bytes	 payload = { payloads[_i].payload, payloads[_i].len };
	char		*big = xcalloc(1, payloads[_i].len + 1);
	natsMsg		*m;

	for (size_t i = 0; i < payload.len; i++)
		big[i] = (char)(i * 7 + i / 256);
	if (payload.data == NULL)
		payload.data = big;
	write_letter(1, "t", payload);
	ck_assert_int_eq(send_letter(3), PUB_SENT);
	ck_stored(3, 1);
	m = first_stored();
	ck_assert_uint_eq((size_t)natsMsg_GetDataLength(m), payload.len);
	ck_assert_mem_eq(natsMsg_GetData(m), payload.data, payload.len);
	natsMsg_Destroy(m);
	free(big);
}
END_TEST

static size_t
decode(const char *from, char *to)
{
	static const char	digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned		bits = 0, nbits = 0;
	size_t			n = 0;

	for (; *from != '\0' && *from != '='; from++) {
		bits = bits << 6 | (unsigned)(strchr(digits, *from) - digits);
		if ((nbits += 6) >= 8)
			to[n++] = (char)(bits >> (nbits -= 8));
	}
	return n;
}

/* The header block of the first message, as the stream has it. */
static size_t
raw_headers(char *block, size_t size)
{
	natsMsg		*reply;
	json_t		*root;
	const char	*text;
	size_t		 n;

	ck_nats(natsConnection_RequestString(&reply, admin,
	    "$JS.API.STREAM.MSG.GET.EVENTS", "{\"seq\": 1}", 5000));
	root = json_loadb(natsMsg_GetData(reply),
	    (size_t)natsMsg_GetDataLength(reply), 0, NULL);
	text = json_string_value(json_object_get(json_object_get(root,
	    "message"), "hdrs"));
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_lt(strlen(text), size);
	n = decode(text, block);
	block[n] = '\0';
	json_decref(root);
	natsMsg_Destroy(reply);
	return n;
}

START_TEST(headers_arrive_intact)
{
	struct envelope_form	 form = { "events.{event_type}.{stream_id}",
				    "pre", "EVENTS" };
	struct msg		 m = { .sequence = 18446744073709551615u };
	char			 block[4096], line[512];
	natsMsg			*got;

	m.partition = bytes("p07");
	m.key = bytes("k\xc3\xa4\xf0\x9f\x90\x98:1");
	m.type = bytes("order.paid");
	m.payload = bytes("x");
	m.version = bytes("3");
	m.correlation = bytes(" spaces, kept ");
	m.stream_sequence = bytes("42");
	m.time = bytes("2026-01-31 12:00:00.000120");
	m.metadata = bytes("{\"traceparent\": \"00-ab-cd-01\", "
	    "\"empty\": \"\", \"n\": 5, \"lower\": \"a\", \"UPPER\": \"b\", "
	    "\"colon\": \"a: b:c\", \"utf\": \"\xc3\xa4\"}");
	ck_assert_msg(envelope_fill(&letter, &form, &m, &e) == 0, "%s",
	    e.text);
	ck_assert_int_eq(send_letter(0), PUB_SENT);
	ck_stored(0, 1);
	got = first_stored();
	ck_assert_str_eq(natsMsg_GetSubject(got),
	    "events.order.paid.k\xc3\xa4\xf0\x9f\x90\x98:1");
	/* The empty one is left out: see envelope.c. */
	ck_assert_uint_eq(letter.nheaders, 16);
	/* The size to the byte: it decides what is too big. */
	ck_assert_uint_eq(raw_headers(block, sizeof(block)),
	    letter.size - m.payload.len);
	for (size_t i = 0; i < letter.nheaders; i++) {
		snprintf(line, sizeof(line), "\r\n%s: %s\r\n",
		    envelope_name(&letter, i), envelope_value(&letter, i));
		ck_has(block, line);
	}
	natsMsg_Destroy(got);
}
END_TEST

START_TEST(many_messages_through_a_window)
{
	enum { NMSGS = 10000, WINDOW = 512 };
	static bool		answered[NMSGS];
	struct pub_answer	a;
	uint32_t		next = 0, done = 0;
	int64_t			start = clock_ms();

	while (done < NMSGS) {
		for (; next < NMSGS && next - done < WINDOW; next++)
			send_row(next + 1, next);
		bus.ops->wait(bus.arg, 1000);
		while (bus.ops->answer(bus.arg, &a)) {
			ck_assert_int_eq(a.verdict, VERDICT_STORED);
			ck_assert_uint_lt(a.slot, NMSGS);
			ck_assert(!answered[a.slot]);
			answered[a.slot] = true;
			done++;
		}
		ck_assert(is_open());
		ck_assert_int_lt(ms_since(start), 20000);
	}
	ck_assert_uint_eq(stored("EVENTS"), NMSGS);
}
END_TEST

/* Whoever listens hears it; that nobody does is no answer to a message. */
START_TEST(what_is_told_is_heard)
{
	natsSubscription	*sub;
	natsMsg			*m;

	ck_nats(natsConnection_SubscribeSync(&sub, admin, "ops.dead"));
	ck_nats(natsConnection_Flush(admin));
	bus.ops->tell(bus.arg, "ops.dead", "{\"a\":1}");
	bus.ops->close(bus.arg);	/* it is on its way all the same */
	ck_nats(natsSubscription_NextMsg(&m, sub, 5000));
	ck_assert_str_eq(natsMsg_GetData(m), "{\"a\":1}");
	natsMsg_Destroy(m);
	natsSubscription_Destroy(sub);
	bus.ops->tell(bus.arg, "ops.dead", "lost");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(50);
}
END_TEST

/* Two workers of one process group must not read each other's answers. */
START_TEST(answers_find_their_bus)
{
	struct pub	first = bus, second = bus_new(conf, "second");

	ck_assert_int_eq(open_bus(&second), 0);
	second.ops->begin(second.arg, INT64_MAX);
	send_row(1, 1);
	bus = second;
	send_row(2, 2);
	ck_answer(2, VERDICT_STORED, NULL);
	ck_no_answer(50);
	bus = first;
	ck_answer(1, VERDICT_STORED, NULL);
	ck_no_answer(50);
	admin_close();
	bus.ops->close(bus.arg);
	bus_free(&second);	/* and the library: nothing may be open */
}
END_TEST

START_TEST(older_generation_is_silent)
{
	send_row(1, 1);
	send_row(2, 2);
	bus.ops->wait(bus.arg, 0);	/* it is written */
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(3, 1);
	ck_stored(1, 3);
	ck_no_answer(50);
	ck_assert_uint_eq(stored("EVENTS"), 3);
}
END_TEST

/*
 * Refusals
 */

START_TEST(nobody_listens)
{
	struct pub_answer	a;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	send_row(1, 4);
	ck_assert(answers(&a, 2000));
	ck_assert_uint_eq(a.slot, PUB_SOME_SLOT);
	ck_assert_int_eq(a.verdict, VERDICT_ABSENT);
	ck_has(a.text, "no responders");
	ck_assert(is_open());
	plain_stream("EVENTS", "events.>");
	send_row(2, 5);
	ck_stored(5, 1);
}
END_TEST

static void
ck_absent(uint64_t sequence)
{
	struct pub_answer	a;

	write_letter(sequence, "nobody", bytes("x"));
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_assert(answers(&a, 2000));
	ck_assert_int_eq(a.verdict, VERDICT_ABSENT);
}

/*
 * A refusal is first taken for one of a message that had no answer.  If it was
 * not, the next one is not taken so again.
 */
START_TEST(silence_does_not_swallow_refusals)
{
	natsSubscription	*quiet;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_nats(natsConnection_SubscribeSync(&quiet, admin, "events.t"));
	ck_nats(natsConnection_Flush(admin));
	send_row(1, 0);
	ck_no_answer(50);
	bus.ops->begin(bus.arg, INT64_MAX);
	write_letter(2, "nobody", bytes("x"));
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_no_answer(50);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_absent(2);
	natsSubscription_Destroy(quiet);
}
END_TEST

/*
 * Who was sent before one that is answered is not refused any more, whether
 * they are of one batch or not.
 */
START_TEST(answers_end_the_wait_for_refusals)
{
	natsSubscription	*quiet;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	plain_stream("EVENTS", "events.good");
	ck_nats(natsConnection_SubscribeSync(&quiet, admin, "events.t"));
	ck_nats(natsConnection_Flush(admin));
	send_row(1, 0);
	if (_i > 0)
		bus.ops->begin(bus.arg, INT64_MAX);
	write_letter(2, "good", bytes("x"));
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_stored(1, 1);
	if (_i == 0)
		bus.ops->begin(bus.arg, INT64_MAX);
	ck_absent(3);
	natsSubscription_Destroy(quiet);
}
END_TEST

START_TEST(some_listen_and_some_do_not)
{
	struct pub_answer	a;
	unsigned		refused = 0, good = 0;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	plain_stream("EVENTS", "events.good");
	for (uint32_t i = 0; i < 6; i++) {
		write_letter(i + 1, i % 2 ? "good" : "bad", bytes("x"));
		ck_assert_int_eq(send_letter(i), PUB_SENT);
	}
	for (int i = 0; i < 6; i++) {
		ck_assert(answers(&a, 2000));
		if (a.slot == PUB_SOME_SLOT)
			refused++;
		else {
			ck_assert_uint_eq(a.slot % 2, 1);
			ck_assert_int_eq(a.verdict, VERDICT_STORED);
			good++;
		}
	}
	ck_assert_uint_eq(refused, 3);
	ck_assert_uint_eq(good, 3);
}
END_TEST

/* A stream that will not have it, in several ways. */
static void
full(jsStreamConfig *cfg)
{
	cfg->MaxMsgs = 2;
	cfg->Discard = js_DiscardNew;
}

static void
full_of_bytes(jsStreamConfig *cfg)
{
	cfg->MaxBytes = 400;
	cfg->Discard = js_DiscardNew;
}

static void
small_messages(jsStreamConfig *cfg)
{
	cfg->MaxMsgSize = 300;
}

static void
sealed(jsStreamConfig *cfg)
{
	cfg->Sealed = true;
}

static const struct {
	void		(*how)(jsStreamConfig *);
	bool		 later;		/* by an update of the stream */
	enum verdict	 verdict;
	const char	*text;
} streams[] = {
	{ full, false, VERDICT_DESTINATION, "10077" },
	{ full_of_bytes, false, VERDICT_DESTINATION, "10077" },
	{ small_messages, false, VERDICT_MESSAGE, "10054" },
	{ sealed, true, VERDICT_DESTINATION, "10109" },
};

START_TEST(stream_refuses)
{
	static char	 big[400];
	const char	*subjects[] = { "events.>" };
	jsStreamConfig	 cfg;
	jsErrCode	 code;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	jsStreamConfig_Init(&cfg);
	if (!streams[_i].later)
		streams[_i].how(&cfg);
	add_stream(&cfg, "EVENTS", "events.>");
	send_row(1, 1);
	ck_stored(1, 1);
	send_row(2, 2);
	ck_stored(2, 2);
	if (streams[_i].later) {
		streams[_i].how(&cfg);
		cfg.Subjects = subjects;
		ck_nats(js_UpdateStream(NULL, js, &cfg, NULL, &code));
	}
	write_letter(3, "t", (struct bytes){ big, sizeof(big) });
	ck_assert_int_eq(send_letter(9), PUB_SENT);
	ck_answer(9, streams[_i].verdict, streams[_i].text);
	ck_assert(is_open());
	ck_assert_uint_eq(stored("EVENTS"), 2);
}
END_TEST

START_TEST(other_stream_is_refused)
{
	struct envelope_form	form = { "events.t", "abc", "OTHER" };
	struct msg		m = { .sequence = 1 };

	m.key = m.type = m.payload = bytes("x");
	ck_assert_int_eq(envelope_fill(&letter, &form, &m, &e), 0);
	ck_assert_int_eq(send_letter(2), PUB_SENT);
	ck_answer(2, VERDICT_DESTINATION, "10060");
	ck_assert_uint_eq(stored("EVENTS"), 0);
}
END_TEST

/* Stored, but where nobody looks for it. */
START_TEST(other_stream_is_noticed)
{
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	plain_stream("OTHER", "events.>");
	send_row(1, 2);
	ck_answer(2, VERDICT_DESTINATION, "OTHER");
	free(conf->nats.stream);
	conf->nats.stream = xstrdup("");	/* any will do */
	send_row(2, 3);
	ck_stored(3, 2);
}
END_TEST

/* The header block and the payload together, to the byte. */
START_TEST(too_big_is_refused_here)
{
	enum { MAX = 1048576 };
	static char	big[MAX];
	size_t		rest;

	write_letter(1, "t", (struct bytes){ big, 0 });
	rest = MAX - letter.size;
	write_letter(1, "t", (struct bytes){ big, rest + 1 });
	ck_assert_uint_eq(letter.size, MAX + 1);
	ck_assert_int_eq(send_letter(0), PUB_REFUSED);
	ck_has(e.text, "max_payload");
	write_letter(2, "t", (struct bytes){ big, rest });
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_stored(1, 1);
	ck_assert(is_open());
}
END_TEST

/* Somebody who is no stream listens on the subject. */
static const struct {
	const char	*body;		/* NULL: says nothing */
	enum verdict	 verdict;
} others[] = {
	{ "", VERDICT_DESTINATION },
	{ "hello", VERDICT_DESTINATION },
	{ "[]", VERDICT_DESTINATION },
	{ "\"x\"", VERDICT_DESTINATION },
	{ "+OK", VERDICT_DESTINATION },
	{ "{", VERDICT_DESTINATION },
	{ "{}", VERDICT_TRANSIENT },
	{ "{\"stream\": \"EVENTS\"}", VERDICT_TRANSIENT },
	{ "{\"seq\": 5}", VERDICT_TRANSIENT },
	{ NULL, VERDICT_STORED },
};

static void
on_request(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
	(void)sub;
	if (arg != NULL)
		natsConnection_PublishString(nc, natsMsg_GetReply(m), arg);
	natsMsg_Destroy(m);
}

START_TEST(somebody_else_answers)
{
	natsSubscription	*sub;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_nats(natsConnection_Subscribe(&sub, admin, "events.t", on_request,
	    (void *)(uintptr_t)others[_i].body));
	ck_nats(natsConnection_Flush(admin));
	send_row(1, 6);
	if (others[_i].body == NULL)
		ck_no_answer(200);
	else
		ck_answer(6, others[_i].verdict, "answer");
	natsSubscription_Destroy(sub);
}
END_TEST

/* To the inbox itself: no slot of ours, or none that is out. */
START_TEST(junk_in_the_inbox_is_dropped)
{
	static const char *const	tails[] =
	    { "x", "_", "1", "0_6", "2_6", "ffffffffffffffffff_6" };
	natsSubscription		*sub;
	natsMsg				*m;
	char				 inbox[128], to[160], *tail;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_nats(natsConnection_SubscribeSync(&sub, admin, "events.t"));
	ck_nats(natsConnection_Flush(admin));
	send_row(1, 6);
	bus.ops->wait(bus.arg, 0);
	ck_nats(natsSubscription_NextMsg(&m, sub, 5000));
	snprintf(inbox, sizeof(inbox), "%s", natsMsg_GetReply(m));
	natsMsg_Destroy(m);
	tail = strrchr(inbox, '.');
	ck_assert_ptr_nonnull(tail);
	ck_assert_str_eq(tail, ".00000001_00000006");
	*tail = '\0';
	for (int i = 0; i < NROWS(tails); i++) {
		snprintf(to, sizeof(to), "%s.%s", inbox, tails[i]);
		ck_nats(natsConnection_PublishString(admin, to, "{}"));
	}
	*tail = '.';
	ck_nats(natsConnection_PublishString(admin, inbox,
	    "{\"stream\":\"EVENTS\",\"seq\":9}"));
	ck_stored(6, 9);
	ck_no_answer(50);
	natsSubscription_Destroy(sub);
}
END_TEST

/* What an answer says, as the server words it and as it might. */
static const struct {
	const char	*body;
	enum verdict	 verdict;
	uint64_t	 sequence;
	const char	*text;
} acks[] = {
	{ "{\"stream\":\"EVENTS\",\"seq\":5}", VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"EVENTS\", \"seq\":5}", VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"EVENTS\",\"domain\":\"d\",\"seq\":5}",
	  VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"EVENTS\",\"seq\":5,\"duplicate\": true}",
	  VERDICT_DUPLICATE, 5, "" },
	{ "{\"stream\":\"EVENTS\",\"seq\":5,\"duplicate\": false}",
	  VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"EVENTS\",\"seq\":0,\"duplicate\": true}",
	  VERDICT_TRANSIENT, 0, "stored" },
	{ "{\"stream\":\"OTHER\",\"seq\":5}", VERDICT_DESTINATION, 5,
	  "OTHER" },
	{ "{\"error\":{\"code\":400,\"err_code\":10060,\"description\":"
	  "\"expected stream does not match\"},\"stream\":\"EVENTS\","
	  "\"seq\":0}", VERDICT_DESTINATION, 0, "10060" },
	{ "{\"error\":{\"code\":503,\"err_code\":10023,\"description\":"
	  "\"insufficient resources\"},\"stream\":\"EVENTS\",\"seq\":0}",
	  VERDICT_DESTINATION, 0, "insufficient" },
	{ "{\"error\":{\"code\":400,\"err_code\":10054}}", VERDICT_MESSAGE, 0,
	  "10054" },
	{ "{\"error\":{\"code\":409,\"err_code\":10158,\"description\":\"x\"},"
	  "\"stream\":\"EVENTS\",\"seq\":3}", VERDICT_TRANSIENT, 0, "10158" },
	{ "{\"error\":{}}", VERDICT_DESTINATION, 0, "" },
	{ "{\"error\":\"x\"}", VERDICT_DESTINATION, 0, "" },
	{ "{\"stream\":5,\"seq\":\"5\"}", VERDICT_TRANSIENT, 0, "" },
	{ "not json", VERDICT_DESTINATION, 0, "PubAck" },
	{ "", VERDICT_DESTINATION, 0, "PubAck" },
	{ "null", VERDICT_DESTINATION, 0, "PubAck" },
};

START_TEST(answer_is_read)
{
	struct pub_answer	a;

	memset(&a, 0xff, sizeof(a));
	bus_read_ack(acks[_i].body, (int)strlen(acks[_i].body), "EVENTS", &a);
	ck_assert_int_eq(a.verdict, acks[_i].verdict);
	ck_assert_uint_eq(a.stream_sequence, acks[_i].sequence);
	if (acks[_i].text[0] == '\0' && acks[_i].sequence > 0)
		ck_assert_str_eq(a.text, "");
	else
		ck_has(a.text, acks[_i].text);
}
END_TEST

/* A long description is cut, and not inside a character. */
START_TEST(long_answer_is_cut)
{
	char			body[2000] = "", text[1200] = "";
	struct pub_answer	a;

	for (int i = 0; i < _i; i++)
		strcat(text, "x");
	while (strlen(text) < 1000)
		strcat(text, "\xe2\x82\xac");
	snprintf(body, sizeof(body), "{\"error\":{\"err_code\":10054,"
	    "\"description\":\"%s\"}}", text);
	bus_read_ack(body, (int)strlen(body), "", &a);
	ck_assert_int_eq(a.verdict, VERDICT_MESSAGE);
	ck_near((int64_t)strlen(a.text), 200, sizeof(a.text) - 1);
}
END_TEST

/*
 * A batch whose stream is away when it is sent, as when a leader is elected,
 * and there again so many milliseconds later; 0: it stays away.
 */
struct gap {
	int64_t	start, ms;
	bool	over;
};

static enum keep
keep_gap(void *arg)
{
	struct gap	*g = arg;

	if (!g->over && g->ms > 0 && ms_since(g->start) >= g->ms) {
		plain_stream("EVENTS", "events.>");
		g->over = true;
	}
	return KEEP_ON;
}

#define NGAP	300

static struct msg	gap_msgs[NGAP];

static void
publish_into(struct gap *g, struct relay_result *res)
{
	static char	keys[NGAP][8];
	struct batch	batch = { .msgs = gap_msgs, .n = NGAP,
			    .claimed_at = clock_ms() };
	struct relay	relay = { .conf = conf, .pub = bus,
			    .form = { "events.{event_type}", "abc", "" },
			    .keep = keep_gap, .keep_arg = g };

	for (size_t i = 0; i < NGAP; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%zu", i % 100);
		gap_msgs[i].sequence = i + 1;
		gap_msgs[i].has_event = true;
		gap_msgs[i].key = bytes(keys[i]);
		gap_msgs[i].type = gap_msgs[i].payload = bytes("x");
	}
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	g->start = clock_ms();
	relay_publish(&relay, &batch, res);
	envelope_free(&relay.envelope);
}

static void
ck_same_key_in_order(void)
{
	char		 last[100][32] = { "" };
	natsMsg		*m;
	const char	*key, *sequence;
	jsErrCode	 code;

	for (uint64_t seq = 1; seq <= NGAP; seq++) {
		ck_nats(js_GetMsg(&m, js, "EVENTS", seq, NULL, &code));
		ck_nats(natsMsgHeader_Get(m, "Outbox-Key", &key));
		ck_nats(natsMsgHeader_Get(m, "Outbox-Sequence", &sequence));
		ck_assert_int_lt(atoi(last[atoi(key)]), atoi(sequence));
		snprintf(last[atoi(key)], sizeof(last[0]), "%s", sequence);
		natsMsg_Destroy(m);
	}
}

START_TEST(stream_is_away_for_a_moment)
{
	static const int64_t	gaps[] = { 30, 120, 200 };
	struct gap		g = { .ms = gaps[_i] };
	struct relay_result	res;

	publish_into(&g, &res);
	ck_assert_msg(!res.down, "%s", res.why.text);
	ck_assert_uint_eq(res.failed, 0);
	ck_assert_uint_eq(res.delivered, NGAP);
	ck_assert_uint_eq(stored("EVENTS"), NGAP);
	ck_same_key_in_order();
}
END_TEST

START_TEST(stream_stays_away)
{
	struct gap		g = { 0 };
	struct relay_result	res;

	publish_into(&g, &res);
	ck_assert(res.down);
	ck_assert(!res.silent);
	ck_has(res.why.text, "no responders");
	ck_near(ms_since(g.start), 350, 1500);
	for (size_t i = 0; i < NGAP; i++)
		free(gap_msgs[i].error);
}
END_TEST

/*
 * Looking at the stream
 */

static bool
check(struct stream_report *r)
{
	e.text[0] = '\0';
	return bus.ops->check(bus.arg, r, &e);
}

START_TEST(stream_is_looked_at)
{
	struct stream_report	r;

	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert_msg(!r.unfit, "%s", r.why.text);
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(r.unfit);
	ck_has(r.why.text, "10059");
	plain_stream("EVENTS", "other.>");
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(r.unfit);
	ck_has(r.why.text, "events.");
	free(conf->nats.stream);
	conf->nats.stream = xstrdup("");	/* nothing to look at */
	ck_assert(check(&r));
	ck_assert(!r.unfit);
}
END_TEST

/* It takes nothing from the batches before and after. */
START_TEST(looking_disturbs_no_batch)
{
	struct stream_report	r;

	send_row(1, 12);
	bus.ops->wait(bus.arg, 0);
	ck_assert_msg(check(&r), "%s", e.text);
	ck_assert(!r.unfit);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(50);
	send_row(2, 12);
	ck_stored(12, 2);
}
END_TEST

START_TEST(closed_bus_cannot_look)
{
	struct stream_report	r;

	bus.ops->close(bus.arg);
	ck_assert(!check(&r));
	ck_assert_str_ne(e.text, "");
}
END_TEST

/*
 * What the stream holds
 */

static unsigned	asked;		/* how often whether to go on */
static unsigned	enough;		/* so often; 0: always */

static bool
go_on(void *arg)
{
	(void)arg;
	return ++asked != enough;
}

static int
look_up(struct place *places, size_t n)
{
	e.text[0] = '\0';
	return bus.ops->look_up(bus.arg, "abc", places, n, go_on, NULL, &e);
}

START_TEST(state_is_told)
{
	struct stream_state	st;
	char			server_id[64];

	send_row(1, 0);
	send_row(2, 1);
	ck_stored(0, 1);
	ck_stored(1, 2);
	ck_nats(js_DeleteMsg(js, "EVENTS", 1, NULL, NULL));
	ck_assert_msg(bus.ops->state(bus.arg, &st, &e), "%s", e.text);
	ck_assert_uint_eq(st.first, 2);
	ck_assert_uint_eq(st.last, 2);
	ck_assert_uint_eq(st.messages, 1);
	ck_assert_int_eq(st.window_ms, 120000);
	ck_assert(!st.forgets && !st.expires);
	ck_assert_str_ne(st.created, "");
	ck_nats(natsConnection_GetConnectedServerId(admin, server_id,
	    sizeof(server_id)));
	ck_assert_str_eq(st.server, server_id);
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_assert_msg(bus.ops->state(bus.arg, &st, &e), "%s", e.text);
	ck_assert_str_eq(st.created, "");
	bus.ops->close(bus.arg);
	ck_assert(!bus.ops->state(bus.arg, &st, &e));
}
END_TEST

START_TEST(places_are_looked_up)
{
	struct place	p[] = { { .sequence = 4 }, { .sequence = 2 },
			    { .sequence = 0 }, { .sequence = 9 },
			    { .sequence = 1 }, { .sequence = 3 } };

	send_row(17, 0);
	ck_stored(0, 1);
	ck_nats(js_Publish(NULL, js, "events.x", "{}", 2, NULL, NULL));
	send_row(18, 1);
	ck_stored(1, 3);
	send_row(19, 2);
	ck_stored(2, 4);
	ck_nats(js_DeleteMsg(js, "EVENTS", 3, NULL, NULL));
	ck_assert_msg(look_up(p, 6) == 0, "%s", e.text);
	ck_assert(p[0].what == PLACE_OURS && p[0].id.sequence == 19);
	ck_assert(p[1].what == PLACE_OTHER);
	ck_assert(p[2].what == PLACE_EMPTY);
	ck_assert(p[3].what == PLACE_EMPTY);
	ck_assert(p[4].what == PLACE_OURS && p[4].id.sequence == 17);
	ck_assert(p[5].what == PLACE_EMPTY);
	ck_assert_int_eq(look_up(p, 0), 0);
	/* It takes nothing from the next batch. */
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(20, 12);
	ck_stored(12, 5);
}
END_TEST

/* Small ones, and some so large that few may be out at a time. */
START_TEST(many_places_are_looked_up)
{
	static char	 big[700000];
	struct place	 p[2000];
	const size_t	 n = _i == 0 ? 2000 : 60;

	memset(big, 'x', sizeof(big));
	for (uint32_t i = 0; i < n; i++) {
		write_letter(1000 + i, "t", (struct bytes){ big,
		    _i == 0 ? 100 : sizeof(big) });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
		if (i % 50 == 49)
			bus.ops->wait(bus.arg, 50);
		p[i].sequence = n - i;
	}
	for (int64_t until = patience(); stored("EVENTS") < n; )
		bus.ops->wait(bus.arg, (wait_more(&until, "messages"), 10));
	ck_assert_msg(look_up(p, n) == 0, "%s", e.text);
	for (size_t i = 0; i < n; i++)
		ck_assert(p[i].what == PLACE_OURS &&
		    p[i].id.sequence == 1000 + n - i - 1);
}
END_TEST

START_TEST(looking_up_is_broken_off)
{
	struct place	p[300];

	for (size_t i = 0; i < 300; i++)
		p[i].sequence = i + 1;
	asked = 0;
	enough = 2;
	ck_assert_int_eq(look_up(p, 300), -1);
	ck_assert_uint_eq(asked, 2);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(50);	/* the late ones are nobody's */
	send_row(1, 12);
	ck_stored(12, 1);
}
END_TEST

/*
 * Rings through the broker
 */

/* Anew, and the library with it; only a server with users looks at ours. */
static void
listen_to(const char *subject, const char *login)
{
	char	url[128];

	snprintf(url, sizeof(url), "nats://admin:admin@127.0.0.1:%s",
	    servers_get(server, "PORT"));
	admin_close();
	bus_free(&bus);
	conf_free(conf);
	conf = servers_conf("mysql: {database: app}\n"
	    "nats: {servers: [\"%s\"]%s}\nwake: {subject: %s}\n",
	    servers_get(server, "URL"), login, subject);
	bus = bus_new(conf, "check");
	admin_open(url);
	plain_stream("EVENTS", "events.>");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
}

/* The subscription has arrived once something later was answered. */
static void
is_subscribed(void)
{
	struct pub_answer	a;

	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 1);
	ck_assert(answers(&a, 5000));
}

static bool
is_woken(int64_t ms)
{
	int64_t	until = clock_ms() + ms;

	do {
		bus.ops->idle(bus.arg, -1, 20);
		if (bus.ops->woken(bus.arg))
			return true;
	} while (clock_ms() < until);
	return false;
}

static void
ring(const char *subject, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		ck_nats(natsConnection_PublishString(admin, subject, "x"));
	ck_nats(natsConnection_FlushTimeout(admin, 10000));
}

START_TEST(ring_is_heard_once)
{
	listen_to("wake.up", "");
	is_subscribed();
	ck_assert(!is_woken(50));
	ring("wake.other", 1);
	ring("wake.up.there", 1);
	ck_assert(!is_woken(100));
	ring("wake.up", 3);
	ck_assert(is_woken(5000));
	ck_assert(!is_woken(50));
	/* With every connection anew. */
	bus.ops->close(bus.arg);
	ck_assert(!is_woken(0));
	ck_assert_int_eq(open_bus(&bus), 0);
	is_subscribed();
	ring("wake.up", 1);
	ck_assert(is_woken(5000));
}
END_TEST

/* One that comes while a batch is out is not an answer, and not forgotten. */
START_TEST(ring_disturbs_no_batch)
{
	listen_to("wake.up", "");
	is_subscribed();
	for (uint32_t i = 2; i < 10; i++) {
		ring("wake.up", 1);
		send_row(i, i);
		ck_stored(i, i);
	}
	ck_no_answer(50);
	ck_assert(bus.ops->woken(bus.arg));
	ck_assert(!is_woken(50));
}
END_TEST

START_TEST(flood_of_rings_is_read)
{
	listen_to("wake.up", "");
	is_subscribed();
	ring("wake.up", 200000);
	ck_assert(is_woken(5000));
	for (int64_t until = patience(); is_woken(100); )
		wait_more(&until, "the end of the rings");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

START_TEST(nobody_rings_without_the_key)
{
	ring("wake.up", 3);
	is_subscribed();
	ck_assert(!is_woken(50));
}
END_TEST

/*
 * Permissions: a server with users
 */

#define USERS	"authorization: { users: [ " \
		"{ user: admin, password: admin }, " \
		"{ user: relay, password: \"" SECRET "\", permissions: { " \
		"publish: [\"events.>\"], subscribe: [\"_INBOX.>\"] } }, " \
		"{ user: mute, password: \"" SECRET "\", permissions: { " \
		"publish: { deny: \"events.secret\" } } }, " \
		"{ user: deaf, password: \"" SECRET "\", permissions: { " \
		"publish: \">\", subscribe: { deny: \"_INBOX.>\" } } } ] }"

static void
start_users(void)
{
	static const char *const	lines[] = { USERS, NULL };

	server = "users";
	servers_start("users", "nats", lines);
	setenv("SECRET", SECRET, 1);
	setenv("WRONG", "wr0ng-" SECRET, 1);
}

static void
users_begin(void)
{
	char	url[128];

	snprintf(url, sizeof(url), "nats://admin:admin@127.0.0.1:%s",
	    servers_get(server, "PORT"));
	conf = conf_of_server("user: relay, password_env: SECRET");
	bus = bus_new(conf, "check");
	admin_open(url);
	plain_stream("EVENTS", "events.>");
}

/* Log in anew as somebody else. */
static int
log_in_as(const char *keys)
{
	conf_free(conf);
	admin_close();
	bus_free(&bus);
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	return open_bus(&bus);
}

START_TEST(user_logs_in)
{
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 1);
	ck_stored(1, 1);
}
END_TEST

static const char *const	logins[] = {
	"user: relay, password_env: WRONG",
	"user: nobody, password_env: SECRET",
	"user: relay", "token_env: SECRET", "stream: EVENTS",
};

START_TEST(wrong_login_is_refused)
{
	int64_t	start = clock_ms();

	ck_assert_int_eq(log_in_as(logins[_i]), -1);
	ck_assert_int_lt(ms_since(start), 1000);
	ck_assert(!is_open());
	ck_has(e.text, conf->nats.servers.items[0]);
	ck_has(e.text, "uthorization");
	ck_has_not(e.text, SECRET);
}
END_TEST

static const char *const	missing[][2] = {
	{ "user: relay, password_env: NO_SUCH", "NO_SUCH" },
	{ "user: relay, password_file: /no/such", "/no/such" },
	{ "token_env: NO_SUCH", "NO_SUCH" },
	{ "token_file: /no/such", "/no/such" },
	{ "credentials_file: /no/such", "/no/such" },
	{ "tls: {ca: /no/such}", "/no/such" },
};

START_TEST(missing_secret_is_named)
{
	ck_assert_int_eq(log_in_as(missing[_i][0]), -1);
	ck_assert(!is_open());
	ck_has(e.text, missing[_i][1]);
}
END_TEST

/* Read anew for each connection. */
START_TEST(changed_password_is_read)
{
	char	keys[300];

	snprintf(keys, sizeof(keys), "user: relay, password_file: %s",
	    servers_write("password", "wrong\n"));
	ck_assert_int_eq(log_in_as(keys), -1);
	servers_write("password", SECRET "\nsecond line\n");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
}
END_TEST

static bool
complains(int64_t ms)
{
	int64_t	until = clock_ms() + ms;

	do {
		bus.ops->wait(bus.arg, 20);
		if (bus.ops->complaint(bus.arg, PUB_MESSAGES, &e))
			return true;
	} while (clock_ms() < until);
	return false;
}

START_TEST(forbidden_look_is_told)
{
	struct stream_report	r;
	int64_t			start;

	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	start = clock_ms();
	ck_assert(!check(&r));
	ck_assert_int_lt(ms_since(start), 1400);
	ck_has(e.text, "permission");
}
END_TEST

START_TEST(forbidden_look_up_is_told)
{
	struct place	p = { .sequence = 1 };
	int64_t		start;

	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	start = clock_ms();
	asked = 0;
	ck_assert_int_eq(look_up(&p, 1), -1);
	ck_near(ms_since(start), 2800, 3800);
	ck_assert_uint_gt(asked, 6);
	ck_has(e.text, "permission");
	ck_assert(is_open());
	ck_assert(bus.ops->complaint(bus.arg, PUB_FORBIDDEN, &e));
	ck_has(e.text, "MSG.GET");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	ck_assert(!bus.ops->complaint(bus.arg, PUB_NOBODY, &e));
}
END_TEST

START_TEST(forbidden_subject_is_complained_of)
{
	ck_assert_int_eq(log_in_as("user: mute, password_env: SECRET"), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	write_letter(1, "secret", bytes("x"));
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_assert(complains(5000));
	ck_has(e.text, "events.secret");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));	/* said once */
	ck_no_answer(50);
	ck_assert(is_open());
	send_row(2, 2);
	ck_answer(2, VERDICT_STORED, NULL);
}
END_TEST

/* What may not be told says nothing about the messages. */
START_TEST(forbidden_advisory_is_told_apart)
{
	ck_assert_int_eq(log_in_as("user: mute, password_env: SECRET, "
	    "advisory: events.secret"), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	bus.ops->tell(bus.arg, conf->nats.advisory, "{}");
	for (int64_t until = patience();
	    !bus.ops->complaint(bus.arg, PUB_TOLD, &e); ) {
		bus.ops->wait(bus.arg, 20);
		ck_assert_int_lt(clock_ms(), until);
	}
	ck_has(e.text, "events.secret");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	send_row(1, 1);
	ck_answer(1, VERDICT_STORED, NULL);
	/* One that only begins like it. */
	write_letter(2, "secret.t", bytes("x"));
	ck_assert_int_eq(send_letter(2), PUB_SENT);
	ck_answer(2, VERDICT_STORED, NULL);
}
END_TEST

/* Who may not listen for rings sends messages all the same. */
START_TEST(forbidden_wake_is_told_apart)
{
	listen_to("wake.up", ", user: relay, password_env: SECRET");
	is_subscribed();
	for (int64_t until = patience();
	    !bus.ops->complaint(bus.arg, PUB_WAKE, &e); )
		wait_more(&until, "the complaint"), bus.ops->wait(bus.arg, 20);
	ck_has(e.text, "wake.up");
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	ring("wake.up", 1);
	ck_assert(!is_woken(50));
	ck_assert(is_open());
}
END_TEST

START_TEST(forbidden_inbox_is_complained_of)
{
	int	rc = log_in_as("user: deaf, password_env: SECRET");

	if (rc == 0)
		ck_assert(complains(5000));
	ck_has(e.text, "_INBOX");
}
END_TEST

/*
 * Tokens, certificates, credentials
 */

static void
start_token(void)
{
	static const char *const	lines[] = {
		"authorization: { token: \"" SECRET "\" }", NULL
	};

	server = "token";
	servers_start("token", "nats", lines);
	setenv("SECRET", SECRET, 1);
	setenv("WRONG", "wr0ng-" SECRET, 1);
}

START_TEST(token_logs_in)
{
	conf = conf_of_server(_i == 0 ? "token_env: SECRET" :
	    "token_env: WRONG");
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), _i == 0 ? 0 : -1);
	ck_assert(is_open() == (_i == 0));
	ck_has_not(e.text, SECRET);
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

static void
start_tls(void)
{
	char		 plain[600], strict[620];
	const char	*lines[] = { plain, NULL };

	servers_certificates();
	snprintf(plain, sizeof(plain), "tls: { cert_file: \"%s\", "
	    "key_file: \"%s\", ca_file: \"%s\" }", servers_path("server.pem"),
	    servers_path("server.key"), servers_path("ca.pem"));
	snprintf(strict, sizeof(strict), "%.*s, verify: true }",
	    (int)strlen(plain) - 2, plain);
	servers_start("tls", "nats", lines);
	lines[0] = strict;
	servers_start("mtls", "nats", lines);
}

static const struct {
	const char	*server, *scheme, *host, *ca, *cert;
	bool		 works;
} modes[] = {
	{ "tls", "nats", "127.0.0.1", "ca", "", true },
	{ "tls", "tls", "127.0.0.1", "ca", "", true },
	{ "tls", "nats", "localhost", "ca", "", true },
	{ "tls", "nats", "127.0.0.1", "other", "", false },
	{ "tls", "nats", "0.0.0.0", "ca", "", false },	/* another name */
	{ "tls", "nats", "127.0.0.1", "", "", false },	/* a private CA */
	{ "tls", "tls", "127.0.0.1", "", "", false },
	{ "tls", "nats", "127.0.0.1", "ca", "client", true },
	{ "mtls", "nats", "127.0.0.1", "ca", "", false },
	{ "mtls", "nats", "127.0.0.1", "ca", "client", true },
	{ "nats", "nats", "127.0.0.1", "", "", true },	/* offers no TLS */
	{ "nats", "nats", "127.0.0.1", "ca", "", false },
	{ "nats", "tls", "127.0.0.1", "", "", false },
};

START_TEST(tls_is_as_asked)
{
	char	ca[200] = "", cert[400] = "", keys[900];

	if (modes[_i].ca[0] != '\0')
		snprintf(ca, sizeof(ca), "%s/%s.pem", servers_path(""),
		    modes[_i].ca);
	if (modes[_i].cert[0] != '\0')
		snprintf(cert, sizeof(cert), ", cert: %s, key: %s",
		    servers_path("client.pem"), servers_path("client.key"));
	snprintf(keys, sizeof(keys), "servers: [\"%s://%s:%s\"], "
	    "tls: {ca: \"%s\"%s}", modes[_i].scheme, modes[_i].host,
	    servers_get(modes[_i].server, "PORT"), ca, cert);
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == (modes[_i].works ? 0 : -1), "%s",
	    e.text);
	ck_assert(is_open() == modes[_i].works);
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

START_TEST(tls_carries_messages)
{
	char	keys[300];

	server = "tls";
	snprintf(keys, sizeof(keys), "tls: {ca: \"%s\"}",
	    servers_path("ca.pem"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	for (uint32_t i = 0; i < 1000; i++)
		send_row(i + 1, i);
	/* There is no stream, but everything goes to and fro. */
	for (uint32_t i = 0; i < 1000; i++)
		ck_answer(PUB_SOME_SLOT, VERDICT_ABSENT, "responders");
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

/* Made for this test, without an end; they open nothing else. */
#define OPERATOR_JWT \
	"eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3M" \
	"DAwMDAwMDAsImlzcyI6Ik9BQ1VSWkxHWkpXVExESUdZRFRLSzJYQlVJSkNKW" \
	"ExPRlpGUlBKWVlPR0dCRDM3Q1UyWFlLTFRNIiwibmFtZSI6Im9wIiwic3ViI" \
	"joiT0FDVVJaTEdaSldUTERJR1lEVEtLMlhCVUlKQ0pYTE9GWkZSUEpZWU9HR" \
	"0JEMzdDVTJYWUtMVE0iLCJuYXRzIjp7InR5cGUiOiJvcGVyYXRvciIsInZlc" \
	"nNpb24iOjJ9LCJqdGkiOiJHQ0dGTlEzRldHU1Y3TlJSVlU2V1hFVFFUWTRYQ" \
	"UtZWlA1UDVPMlJHQTdYQU9FR0Q0VVFBIn0.cRFD6An2RLhHhdWBM2GHH1Cg4" \
	"xxU9vha6N7PbIfPf1V1jhBqwKzESqcoYbmwbmBlO_Kfdo0z2F9brTSlKuf2D" \
	"A"
#define ACCOUNT_KEY \
	"AAZWKBNYA7TE5PBEYJ6MDQNWIYSV7RQSMX6E4NGDUSZSDF5WAXRZDNOD"
#define ACCOUNT_JWT \
	"eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3M" \
	"DAwMDAwMDAsImlzcyI6Ik9BQ1VSWkxHWkpXVExESUdZRFRLSzJYQlVJSkNKW" \
	"ExPRlpGUlBKWVlPR0dCRDM3Q1UyWFlLTFRNIiwibmFtZSI6ImFjYyIsInN1Y" \
	"iI6IkFBWldLQk5ZQTdURTVQQkVZSjZNRFFOV0lZU1Y3UlFTTVg2RTROR0RVU" \
	"1pTREY1V0FYUlpETk9EIiwibmF0cyI6eyJsaW1pdHMiOnsic3VicyI6LTEsI" \
	"mRhdGEiOi0xLCJwYXlsb2FkIjotMSwiaW1wb3J0cyI6LTEsImV4cG9ydHMiO" \
	"i0xLCJ3aWxkY2FyZHMiOnRydWUsImNvbm4iOi0xLCJsZWFmIjotMX0sImRlZ" \
	"mF1bHRfcGVybWlzc2lvbnMiOnsicHViIjp7fSwic3ViIjp7fX0sInR5cGUiO" \
	"iJhY2NvdW50IiwidmVyc2lvbiI6Mn0sImp0aSI6IkZXNVRSQ1BPV0FSSDI0T" \
	"UNMRzZXNU1ZUURINjMyVFBDVFhISllZTFNNMjdQUUs0N0xGMkEifQ.RulCjy" \
	"Qs5gWPW0LoxTDv0pL-kTRrgDJTUy4JMsc_KpWmZkPKKwYsFtwMumntAnIdHV" \
	"IQJ8Fo37EFJJeFsayRDA"
#define USER_JWT \
	"eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOjE3M" \
	"DAwMDAwMDAsImlzcyI6IkFBWldLQk5ZQTdURTVQQkVZSjZNRFFOV0lZU1Y3U" \
	"lFTTVg2RTROR0RVU1pTREY1V0FYUlpETk9EIiwibmFtZSI6InVzZXIiLCJzd" \
	"WIiOiJVQUdTM1JZT1o2NldRM0lRUVE3UkJLVTJBNUVXM0YyQlFSVllEWENaV" \
	"UlDS1hWTVVQT1hMT0tHVyIsIm5hdHMiOnsicHViIjp7fSwic3ViIjp7fSwic" \
	"3VicyI6LTEsImRhdGEiOi0xLCJwYXlsb2FkIjotMSwidHlwZSI6InVzZXIiL" \
	"CJ2ZXJzaW9uIjoyfSwianRpIjoiSEhWNkk3TTI2QkVKUUxUSEVBREo3Mk0zS" \
	"1VUSEpSUDNaQUo2WFFMTUdDNkVDR01WNDdTUSJ9.pVKaYUJUDz-O2eBoR3mS" \
	"gb-JgB5tKl-UOEL1KjrZQLgoTa2fpwQNUyf_BKfDTGI0qPv9M3CcGqx-OUZD" \
	"Z8gyDQ"
#define USER_SEED \
	"SUAHJMJBDXGJGKPQWX74QTGYP4NOYXQCQEBU4BFSIMQMHVQAQAOWEF23KA"
#define STRANGERS_SEED \
	"SUAMEMCHUZFPMFQ5PEXNWSXBCXZVHOHL7VEAOFX72F7V3NJ5PROMKSOZEI"

/* JetStream is off, too: it would want a second account. */
static void
start_creds(void)
{
	static const char *const	lines[] = {
		"jetstream: disabled", "operator: \"" OPERATOR_JWT "\"",
		"resolver: MEMORY", "resolver_preload: { " ACCOUNT_KEY ": \""
		ACCOUNT_JWT "\" }", NULL
	};

	server = "creds";
	servers_start("creds", "nats", lines);
}

START_TEST(credentials_log_in)
{
	struct stream_report	r;
	char			keys[200], text[2000];

	snprintf(text, sizeof(text), "-----BEGIN NATS USER JWT-----\n%s\n"
	    "------END NATS USER JWT------\n\n"
	    "-----BEGIN USER NKEY SEED-----\n%s\n"
	    "------END USER NKEY SEED------\n", USER_JWT,
	    _i == 0 ? USER_SEED : STRANGERS_SEED);
	snprintf(keys, sizeof(keys), "credentials_file: %s",
	    servers_write("creds.creds", text));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == (_i == 0 ? 0 : -1), "%s", e.text);
	ck_has_not(e.text, USER_SEED);
	ck_has_not(e.text, STRANGERS_SEED);
	if (_i == 0) {
		bus.ops->begin(bus.arg, INT64_MAX);
		send_row(1, 1);
		ck_answer(PUB_SOME_SLOT, VERDICT_ABSENT, "JetStream");
		ck_assert(!check(&r));
		ck_has(e.text, "JetStream");
		ck_assert(bus.ops->complaint(bus.arg, PUB_NOBODY, &e));
		ck_assert(!bus.ops->complaint(bus.arg, PUB_FORBIDDEN, &e));
	}
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

/*
 * Away
 */

/* A port that nobody listens on, or one that takes and says nothing. */
static int
dumb_port(bool listens)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET };
	socklen_t		len = sizeof(sa);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

START_TEST(server_that_is_away)
{
	char	keys[200];
	int64_t	start;

	snprintf(keys, sizeof(keys), "servers: [\"nats://127.0.0.1:%d\"]",
	    dumb_port(_i == 1));
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	start = clock_ms();
	ck_assert_int_eq(open_bus(&bus), -1);
	ck_assert_int_lt(ms_since(start), _i == 0 ? 500 : 2500);
	ck_has(e.text, conf->nats.servers.items[0]);
	ck_assert(!is_open());
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

/* One server a call, round and round, wherever it starts. */
START_TEST(next_server_is_tried)
{
	char	keys[300];
	int	good = 0;

	snprintf(keys, sizeof(keys), "servers: [\"nats://127.0.0.1:%d\", "
	    "\"%s\", \"nats://127.0.0.1:%d\"]", dumb_port(false),
	    servers_get(server, "URL"), dumb_port(false));
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	for (int i = 0; i < 6; i++)
		good += open_bus(&bus) == 0;
	ck_assert_int_eq(good, 2);
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

static size_t
threads_of_policy(int policy)
{
	DIR		*d = opendir("/proc/self/task");
	struct dirent	*entry;
	size_t		 n = 0;

	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d)) != NULL)
		n += entry->d_name[0] != '.' &&
		    sched_getscheduler(atoi(entry->d_name)) == policy;
	closedir(d);
	return n;
}

/* Or the one that frees messages takes our processor twice for each. */
START_TEST(threads_of_the_library_wait)
{
	struct pub	p;

	conf = conf_of_server("");
	p = bus_new(conf, "patient");
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	ck_assert_uint_eq(threads_of_policy(SCHED_OTHER), 1);
	ck_assert_uint_gt(threads_of_policy(SCHED_BATCH), 0);
	bus_free(&p);
	conf_free(conf);
}
END_TEST

/* Where all of us is to be patient or in a hurry, nothing is changed. */
START_TEST(other_policy_is_kept)
{
	struct sched_param	param = { 0 };
	struct pub		p;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_IDLE, &param), 0);
	conf = conf_of_server("");
	p = bus_new(conf, "idle");
	ck_assert_int_eq(sched_getscheduler(0), SCHED_IDLE);
	ck_assert_uint_eq(threads_of_policy(SCHED_BATCH), 0);
	bus_free(&p);
	conf_free(conf);
}
END_TEST

START_TEST(closed_bus_is_harmless)
{
	struct pub_answer	a;
	int64_t			start;

	conf = conf_of_server("");
	bus = bus_new(conf, "check");
	for (int i = 0; i < 2; i++) {
		bus.ops->close(bus.arg);
		bus.ops->close(bus.arg);
		bus.ops->begin(bus.arg, INT64_MAX);
		ck_assert(!is_open());
		write_letter(1, "t", bytes("x"));
		ck_assert_int_eq(send_letter(0), PUB_LOST);
		ck_assert_str_ne(e.text, "");
		ck_assert(!bus.ops->answer(bus.arg, &a));
		ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
		/* A worker waits here for its next try: no spinning. */
		start = clock_ms();
		bus.ops->wait(bus.arg, 60);
		ck_near(ms_since(start), 59, 1000);
		ck_assert_int_eq(open_bus(&bus), 0);
	}
	bus_free(&bus);
	conf_free(conf);
}
END_TEST

START_TEST(waiting_takes_its_time)
{
	int64_t	start = clock_ms();

	bus.ops->wait(bus.arg, 0);
	ck_assert_int_lt(ms_since(start), 200);
	ck_no_answer(0);
	/* The server's first PING may end one wait early. */
	bus.ops->wait(bus.arg, 100);
	bus.ops->wait(bus.arg, 100);
	ck_near(ms_since(start), 99, 1000);
	ck_assert(is_open());
}
END_TEST

START_TEST(signal_ends_the_wait)
{
	int64_t	start;

	sig_init();
	raise(SIGTERM);		/* blocked until we wait */
	start = clock_ms();
	/* Newer servers have something to say first, which ends one as well. */
	for (int i = 0; i < 3 && !got_term; i++)
		bus.ops->wait(bus.arg, 5000);
	ck_assert_int_lt(ms_since(start), 1000);
	ck_assert(got_term);
}
END_TEST

/* With a connection and without, and the ring is left for its owner. */
START_TEST(ring_ends_the_idling)
{
	struct label_set	which = { { 0 } };
	struct bell		bell;
	int64_t			start = clock_ms();

	ck_assert_int_eq(bell_open(&bell, &e), 0);
	if (_i == 1)
		bus.ops->close(bus.arg);
	bell_ring(&bell, 3, &which);
	/* The server's first PING may end one of them early. */
	for (int i = 0; i < 2; i++)
		bus.ops->idle(bus.arg, bell_fd(&bell, 3), 60000);
	ck_assert_int_lt(ms_since(start), 5000);
	ck_assert(bell_heard(&bell, 3, &which));
	start = clock_ms();
	for (int i = 0; i < 2; i++)
		bus.ops->idle(bus.arg, bell_fd(&bell, 3), 100);
	ck_near(ms_since(start), 99, 1000);
	bell_close(&bell);
}
END_TEST

START_TEST(closing_is_fast)
{
	int64_t	start;

	for (uint32_t i = 0; i < 100; i++)
		send_row(i + 1, i);
	if (_i >= 1)
		bus.ops->wait(bus.arg, 0);
	/* With answers that nobody has read yet. */
	for (int64_t until = patience(); _i == 2 && stored("EVENTS") < 100; )
		wait_more(&until, "the messages to be stored");
	start = clock_ms();
	bus.ops->close(bus.arg);
	ck_assert_int_lt(ms_since(start), 100);
	ck_assert(!is_open());
	ck_assert_int_eq(open_bus(&bus), 0);
	admin_close();
	start = clock_ms();
	bus_free(&bus);
	ck_assert_int_lt(ms_since(start), 100);
	bus = bus_new(conf, "check");
}
END_TEST

/*
 * Loss: a server of its own, because it is stopped and killed
 */

static void
start_loss(void)
{
	server = "loss";
	servers_start("loss", "nats", NULL);
}

static void
loss_begin(void)
{
	if (!servers_runs("loss"))
		servers_restart("loss");
	servers_signal("loss", SIGCONT);
	begin();
}

/* In flight when the server dies: nobody may wait for these answers. */
START_TEST(killed_server_is_noticed)
{
	int64_t	start;

	send_row(1, 1);
	ck_stored(1, 1);
	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 2; i < 100; i++)
		send_row(i, i);
	bus.ops->wait(bus.arg, 0);
	servers_kill("loss");
	start = clock_ms();
	while (is_open()) {
		bus.ops->wait(bus.arg, 5000);
		ck_assert_int_lt(ms_since(start), 1000);
	}
	ck_no_answer(50);
	ck_assert_int_eq(send_letter(3), PUB_LOST);
	start = clock_ms();
	bus.ops->close(bus.arg);
	ck_assert_int_lt(ms_since(start), 100);
	ck_assert_int_eq(open_bus(&bus), -1);
}
END_TEST

/* The loss shows when the collected writes go out: that is no time to wait. */
START_TEST(loss_while_writing_ends_the_wait)
{
	int64_t	start;

	/* What it has not read makes it hang up with a reset. */
	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	bus.ops->wait(bus.arg, 0);
	servers_kill("loss");
	send_row(2, 2);
	start = clock_ms();
	bus.ops->wait(bus.arg, 2000);
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

START_TEST(restarted_server_is_used_again)
{
	send_row(1, 1);
	ck_stored(1, 1);
	servers_kill("loss");
	for (int64_t until = patience(); is_open(); )
		wait_more(&until, "the loss"), bus.ops->wait(bus.arg, 20);
	ck_assert_int_eq(open_bus(&bus), -1);
	servers_restart("loss");
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 7);
	ck_answer(7, VERDICT_DUPLICATE, NULL);
	send_row(2, 8);
	ck_stored(8, 2);
}
END_TEST

/* Also without having been told of the loss. */
START_TEST(open_makes_a_new_connection)
{
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1, 1);
	ck_stored(1, 1);
	servers_restart("loss");
	ck_assert_int_eq(open_bus(&bus), 0);
	ck_assert(is_open());
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

/* What was given up on is not sent behind our back. */
START_TEST(nothing_is_sent_later)
{
	servers_kill("loss");
	for (uint32_t i = 0; i < 50; i++) {
		write_letter(i + 1, "t", bytes("x"));
		send_letter(i);
	}
	bus.ops->wait(bus.arg, 20);
	servers_restart("loss");
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(1000, 1);
	ck_answer(1, VERDICT_STORED, NULL);
	ck_no_answer(50);
	admin_close();
	ck_nats(natsConnection_ConnectTo(&admin, conf->nats.servers.items[0]));
	ck_nats(natsConnection_JetStream(&js, admin, NULL));
	ck_assert_uint_eq(stored("EVENTS"), 1);
}
END_TEST

START_TEST(silent_server_answers_later)
{
	int64_t	start;

	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	start = clock_ms();
	ck_no_answer(300);
	ck_near(ms_since(start), 299, 1000);
	ck_assert(is_open());
	servers_signal("loss", SIGCONT);
	ck_stored(1, 1);
}
END_TEST

/* More than the socket takes: sending never blocks, and all of it arrives. */
START_TEST(slow_server_blocks_nobody)
{
	enum { NMSGS = 40, SIZE = 900 * 1024 };
	static char	big[SIZE];
	int64_t		start;

	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		start = clock_ms();
		ck_assert_int_eq(send_letter(i), PUB_SENT);
		ck_assert_int_lt(ms_since(start), 300);
		start = clock_ms();
		bus.ops->wait(bus.arg, 1);
		ck_assert_int_lt(ms_since(start), 300);
	}
	servers_signal("loss", SIGCONT);
	for (uint32_t i = 0; i < NMSGS; i++)
		ck_stored(i, i + 1);
	ck_assert(is_open());
}
END_TEST

static void
on_count(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
	(void)nc;
	(void)sub;
	natsMsg_Destroy(m);
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

/* Also when nobody answers in between. */
START_TEST(the_rest_is_written_while_waiting)
{
	enum { NMSGS = 20, SIZE = 900 * 1024 };
	static char		big[SIZE];
	natsSubscription	*sub;
	int64_t			start;
	int			got = 0, idle = 0;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	ck_nats(natsConnection_Subscribe(&sub, admin, "events.t", on_count,
	    &got));
	ck_nats(natsConnection_Flush(admin));
	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
	}
	bus.ops->wait(bus.arg, 1);
	servers_signal("loss", SIGCONT);
	while (__atomic_load_n(&got, __ATOMIC_SEQ_CST) < NMSGS && idle < 4) {
		start = clock_ms();
		bus.ops->wait(bus.arg, 200);
		idle += ms_since(start) >= 200;
	}
	/* Only when all is written there is nothing to wake up for. */
	ck_assert_int_lt(idle, 3);
	ck_no_answer(0);
	natsSubscription_Destroy(sub);
}
END_TEST

static void
wait_until(int64_t at)
{
	while (clock_ms() < at)
		poll(NULL, 0, (int)(at - clock_ms()));
}

static void
ck_held_back(uint64_t most)
{
	ck_assert(!is_open());
	ck_assert(bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
	ck_has(e.text, "time to send was over");
	ck_assert_uint_le(stored("EVENTS"), most);
}

/* As if the machine had stood still between the send and the write. */
START_TEST(what_is_late_is_not_written)
{
	int64_t	until = clock_ms() + 500;

	bus.ops->begin(bus.arg, until);
	send_row(1, 1);
	bus.ops->wait(bus.arg, 0);
	for (int64_t p = patience(); stored("EVENTS") < 1; )
		wait_more(&p, "the first to be stored");
	send_row(2, 2);
	wait_until(until);
	bus.ops->wait(bus.arg, 5000);
	ck_held_back(1);
	/* And the next connection is as any other. */
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	bus.ops->begin(bus.arg, clock_ms() + 60000);
	send_row(2, 2);
	ck_stored(2, 2);
}
END_TEST

/* Nor by a question or a word after the batch. */
START_TEST(what_is_late_goes_with_nothing_else)
{
	struct stream_report	r;

	bus.ops->begin(bus.arg, clock_ms() - 1);
	send_row(1, 1);
	if (_i == 0)
		bus.ops->tell(bus.arg, "told", "text");
	else if (_i == 1)
		ck_assert(!check(&r));
	else {
		bus.ops->begin(bus.arg, INT64_MAX);
		send_row(2, 2);
		bus.ops->wait(bus.arg, 5000);
	}
	ck_held_back(0);
}
END_TEST

/* What has nothing to do with a batch has no such time. */
START_TEST(other_things_are_written_later)
{
	struct stream_report	r;
	int64_t			until = clock_ms() + 500;

	bus.ops->begin(bus.arg, until);
	send_row(1, 1);
	ck_stored(1, 1);
	wait_until(until);
	bus.ops->tell(bus.arg, "events.told", "text");
	ck_assert(check(&r));
	ck_assert(is_open());
	ck_assert_uint_eq(stored("EVENTS"), 2);
	ck_assert(!bus.ops->complaint(bus.arg, PUB_MESSAGES, &e));
}
END_TEST

/* The server did not read: what is left of the batch is not for later. */
START_TEST(the_rest_is_not_written_late)
{
	enum { NMSGS = 20, SIZE = 900 * 1024 };
	static char	big[SIZE];

	servers_signal("loss", SIGSTOP);
	bus.ops->begin(bus.arg, clock_ms() + 300);
	for (uint32_t i = 0; i < NMSGS; i++) {
		write_letter(i + 1, "t", (struct bytes){ big, SIZE });
		ck_assert_int_eq(send_letter(i), PUB_SENT);
	}
	ck_no_answer(400);
	servers_signal("loss", SIGCONT);
	for (int64_t p = patience(); is_open(); wait_more(&p, "the end"))
		bus.ops->wait(bus.arg, 100);
	ck_held_back(NMSGS - 1);
}
END_TEST

/* A refusal names nobody: one that has arrived, one that is under way. */
START_TEST(older_refusal_is_silent)
{
	js_DeleteStream(js, "EVENTS", NULL, NULL);
	servers_signal("loss", SIGSTOP);
	send_row(1, 1);
	bus.ops->wait(bus.arg, 0);	/* it is written */
	if (_i == 1)
		bus.ops->begin(bus.arg, INT64_MAX);
	servers_signal("loss", SIGCONT);
	if (_i == 0) {
		bus.ops->wait(bus.arg, 5000);
		bus.ops->begin(bus.arg, INT64_MAX);
	}
	ck_no_answer(200);
	send_row(2, 2);
	ck_answer(PUB_SOME_SLOT, VERDICT_ABSENT, "responders");
}
END_TEST

START_TEST(looking_at_a_silent_server_is_bounded)
{
	struct stream_report	r;
	int64_t			start = clock_ms();

	servers_signal("loss", SIGSTOP);
	ck_assert(!check(&r));
	ck_near(ms_since(start), 900, 1400);
	ck_assert_str_ne(e.text, "");
	servers_signal("loss", SIGCONT);
	bus.ops->begin(bus.arg, INT64_MAX);
	ck_no_answer(100);	/* the late answer is nobody's */
	send_row(1, 12);
	ck_stored(12, 1);
}
END_TEST

START_TEST(looking_ends_with_the_connection)
{
	struct stream_report	r;
	int64_t			start;

	servers_kill("loss");
	start = clock_ms();
	ck_assert(!check(&r));
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

START_TEST(telling_a_silent_server_blocks_nobody)
{
	static char	text[4000];
	int64_t		start = clock_ms();

	memset(text, 'x', sizeof(text) - 1);
	servers_signal("loss", SIGSTOP);
	for (int i = 0; i < 10000; i++)
		bus.ops->tell(bus.arg, "ops.dead", text);
	servers_signal("loss", SIGCONT);
	ck_assert_int_lt(ms_since(start), 3000);
	send_row(1, 1);
	ck_stored(1, 1);
}
END_TEST

START_TEST(looking_up_ends_with_the_connection)
{
	struct place	p = { .sequence = 1 };
	int64_t		start;

	servers_kill("loss");
	start = clock_ms();
	ck_assert_int_eq(look_up(&p, 1), -1);
	ck_assert_int_lt(ms_since(start), 500);
	ck_assert(!is_open());
}
END_TEST

/*
 * Answers to a look that was broken off come while another question is open,
 * which then gets none.
 */
START_TEST(old_answers_are_not_the_answer)
{
	struct place		places[16];
	struct stream_state	st;

	for (size_t i = 0; i < NROWS(places); i++)
		places[i].sequence = i + 1;
	servers_signal("loss", SIGSTOP);
	asked = 0;
	enough = 2;
	ck_assert_int_eq(look_up(places, NROWS(places)), -1);
	enough = 0;
	servers_signal("loss", SIGCONT);
	for (int64_t until = clock_ms() + 200; clock_ms() < until; )
		continue;		/* they are on their way */
	servers_signal("loss", SIGSTOP);
	ck_assert(!bus.ops->state(bus.arg, &st, &e));
	ck_has(e.text, "no answer");
	servers_signal("loss", SIGCONT);
}
END_TEST

START_TEST(closing_a_silent_server_is_fast)
{
	int64_t	start;

	servers_signal("loss", SIGSTOP);
	for (uint32_t i = 0; i < 100; i++)
		send_row(i + 1, i);
	bus.ops->wait(bus.arg, 0);
	start = clock_ms();
	bus.ops->close(bus.arg);
	ck_assert_int_lt(ms_since(start), 100);
	start = clock_ms();
	ck_assert_int_eq(open_bus(&bus), -1);
	ck_assert_int_lt(ms_since(start), 2500);
	servers_signal("loss", SIGCONT);
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
}
END_TEST

static TCase *
add_case(Suite *s, const char *name, void (*start)(void), void (*setup)(void),
    void (*teardown)(void))
{
	TCase	*tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, start, NULL);
	if (setup != NULL)
		tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

static void
add_publishing(Suite *s)
{
	TCase	*tc = add_case(s, "publish", start_nats, begin, end);

	tcase_add_test(tc, message_is_stored);
	tcase_add_test(tc, second_copy_is_a_duplicate);
	tcase_add_loop_test(tc, payload_arrives_intact, 0, NROWS(payloads));
	tcase_add_test(tc, headers_arrive_intact);
	tcase_add_test(tc, many_messages_through_a_window);
	tcase_add_test(tc, what_is_told_is_heard);
	tcase_add_test(tc, answers_find_their_bus);
	tcase_add_test(tc, older_generation_is_silent);
	tcase_add_test(tc, waiting_takes_its_time);
	tcase_add_test(tc, signal_ends_the_wait);
	tcase_add_loop_test(tc, ring_ends_the_idling, 0, 2);
	tcase_add_test(tc, ring_is_heard_once);
	tcase_add_test(tc, ring_disturbs_no_batch);
	tcase_add_test(tc, flood_of_rings_is_read);
	tcase_add_test(tc, nobody_rings_without_the_key);
	tcase_add_loop_test(tc, closing_is_fast, 0, 3);

	tc = add_case(s, "refuse", start_nats, begin, end);
	tcase_add_test(tc, nobody_listens);
	tcase_add_test(tc, some_listen_and_some_do_not);
	tcase_add_test(tc, silence_does_not_swallow_refusals);
	tcase_add_loop_test(tc, answers_end_the_wait_for_refusals, 0, 2);
	tcase_add_loop_test(tc, stream_is_away_for_a_moment, 0, 3);
	tcase_add_test(tc, stream_stays_away);
	tcase_add_loop_test(tc, stream_refuses, 0, NROWS(streams));
	tcase_add_test(tc, other_stream_is_refused);
	tcase_add_test(tc, other_stream_is_noticed);
	tcase_add_test(tc, too_big_is_refused_here);
	tcase_add_loop_test(tc, somebody_else_answers, 0, NROWS(others));
	tcase_add_test(tc, junk_in_the_inbox_is_dropped);
	tcase_add_loop_test(tc, answer_is_read, 0, NROWS(acks));
	tcase_add_loop_test(tc, long_answer_is_cut, 0, 3);
	tcase_add_test(tc, stream_is_looked_at);
	tcase_add_test(tc, looking_disturbs_no_batch);
	tcase_add_test(tc, closed_bus_cannot_look);
	tcase_add_test(tc, state_is_told);
	tcase_add_test(tc, places_are_looked_up);
	tcase_add_loop_test(tc, many_places_are_looked_up, 0, 2);
	tcase_add_test(tc, looking_up_is_broken_off);
}

static void
add_logins(Suite *s)
{
	TCase	*tc = add_case(s, "users", start_users, users_begin, end);

	tcase_add_test(tc, user_logs_in);
	tcase_add_loop_test(tc, wrong_login_is_refused, 0, NROWS(logins));
	tcase_add_loop_test(tc, missing_secret_is_named, 0, NROWS(missing));
	tcase_add_test(tc, changed_password_is_read);
	tcase_add_test(tc, forbidden_look_is_told);
	tcase_add_test(tc, forbidden_look_up_is_told);
	tcase_add_test(tc, forbidden_subject_is_complained_of);
	tcase_add_test(tc, forbidden_advisory_is_told_apart);
	tcase_add_test(tc, forbidden_wake_is_told_apart);
	tcase_add_test(tc, forbidden_inbox_is_complained_of);

	tc = add_case(s, "token", start_token, NULL, NULL);
	tcase_add_loop_test(tc, token_logs_in, 0, 2);

	tc = add_case(s, "tls", start_tls, NULL, NULL);
	tcase_add_loop_test(tc, tls_is_as_asked, 0, NROWS(modes));
	tcase_add_test(tc, tls_carries_messages);

	tc = add_case(s, "creds", start_creds, NULL, NULL);
	tcase_add_loop_test(tc, credentials_log_in, 0, 2);
}

static void
add_losses(Suite *s)
{
	TCase	*tc = add_case(s, "away", start_nats, NULL, NULL);

	tcase_add_loop_test(tc, server_that_is_away, 0, 2);
	tcase_add_test(tc, next_server_is_tried);
	tcase_add_test(tc, closed_bus_is_harmless);
	tcase_add_test(tc, threads_of_the_library_wait);
	tcase_add_test(tc, other_policy_is_kept);

	tc = add_case(s, "loss", start_loss, loss_begin, end);
	tcase_add_test(tc, killed_server_is_noticed);
	tcase_add_test(tc, loss_while_writing_ends_the_wait);
	tcase_add_test(tc, restarted_server_is_used_again);
	tcase_add_test(tc, open_makes_a_new_connection);
	tcase_add_test(tc, nothing_is_sent_later);
	tcase_add_test(tc, silent_server_answers_later);
	tcase_add_test(tc, slow_server_blocks_nobody);
	tcase_add_loop_test(tc, older_refusal_is_silent, 0, 2);
	tcase_add_test(tc, the_rest_is_written_while_waiting);
	tcase_add_test(tc, what_is_late_is_not_written);
	tcase_add_loop_test(tc, what_is_late_goes_with_nothing_else, 0, 3);
	tcase_add_test(tc, other_things_are_written_later);
	tcase_add_test(tc, the_rest_is_not_written_late);
	tcase_add_test(tc, telling_a_silent_server_blocks_nobody);
	tcase_add_test(tc, closing_a_silent_server_is_fast);
	tcase_add_test(tc, looking_at_a_silent_server_is_bounded);
	tcase_add_test(tc, looking_ends_with_the_connection);
	tcase_add_test(tc, old_answers_are_not_the_answer);
	tcase_add_test(tc, looking_up_ends_with_the_connection);
}

int
main(void)
{
	Suite	*s = suite_create("bus");
	SRunner	*sr;
	int	 failed;

	servers_begin();
	add_publishing(s);
	add_logins(s);
	add_losses(s);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	servers_end();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
