/* bus_publish.c - messages go out, and answers come in */

#include "nats/bus_test.h"

#include <signal.h>

#include <jansson.h>

#include "util/sig.h"
#include "util/xalloc.h"

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
	ck_assert_uint_eq(a.index, 5);
	ck_assert_uint_eq(a.ack_sequence, 1);
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
	struct envelope_form	 form = {
				    .subject = "events.{event_type}.{stream_id}",
				    .id_prefix = "pre", .stream = "EVENTS" };
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
		pub_wait(&bus, 1, -1, 1000);
		while (bus.ops->answer(bus.arg, &a)) {
			ck_assert_int_eq(a.verdict, VERDICT_STORED);
			ck_assert_uint_lt(a.index, NMSGS);
			ck_assert(!answered[a.index]);
			answered[a.index] = true;
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
	pub_free(&second);	/* and the library: nothing may be open */
}
END_TEST

START_TEST(older_generation_is_silent)
{
	send_row(1, 1);
	send_row(2, 2);
	pub_wait(&bus, 1, -1, 0);	/* it is written */
	bus.ops->begin(bus.arg, INT64_MAX);
	send_row(3, 1);
	ck_stored(1, 3);
	ck_no_answer(50);
	ck_assert_uint_eq(stored("EVENTS"), 3);
}
END_TEST

START_TEST(waiting_takes_its_time)
{
	int64_t	start = clock_ms();

	pub_wait(&bus, 1, -1, 0);
	ck_assert_int_lt(ms_since(start), 200);
	ck_no_answer(0);
	/* The server's first PING may end one wait early. */
	pub_wait(&bus, 1, -1, 100);
	pub_wait(&bus, 1, -1, 100);
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
		pub_wait(&bus, 1, -1, 5000);
	ck_assert_int_lt(ms_since(start), 1000);
	ck_assert(got_term);
}
END_TEST

START_TEST(closing_is_fast)
{
	int64_t	start;

	for (uint32_t i = 0; i < 100; i++)
		send_row(i + 1, i);
	if (_i >= 1)
		pub_wait(&bus, 1, -1, 0);
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
	pub_free(&bus);
	ck_assert_int_lt(ms_since(start), 100);
	bus = bus_new(conf, "check");
}
END_TEST

void
add_publishing(Suite *s)
{
	TCase	*tc = server_case(s, "publish", start_nats, begin, end);

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
	tcase_add_loop_test(tc, closing_is_fast, 0, 3);
}
