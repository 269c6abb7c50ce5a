/* bus_refuse.c - refusals, and answers that are none */

#include "nats/bus_test.h"

#include "publish/relay.h"
#include "util/xalloc.h"

START_TEST(nobody_listens)
{
	struct pub_answer	a;

	js_DeleteStream(js, "EVENTS", NULL, NULL);
	send_row(1, 4);
	ck_assert(answers(&a, 2000));
	ck_assert_uint_eq(a.index, PUB_SOME_INDEX);
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
		if (a.index == PUB_SOME_INDEX)
			refused++;
		else {
			ck_assert_uint_eq(a.index % 2, 1);
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
	{ small_messages, false, VERDICT_TOO_LARGE, "10054" },
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
	struct envelope_form	form = { .subject = "events.t",
				    .id_prefix = "abc", .stream = "OTHER" };
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
	ck_answer(2, VERDICT_ELSEWHERE, "OTHER");
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

/* A row's subject must not be a request to JetStream. */
START_TEST(imported_api_is_refused_here)
{
	free(conf->nats.api_prefix);
	conf->nats.api_prefix = xstrdup("events.t");
	write_letter(1, "t", bytes("x"));
	ck_assert_int_eq(send_letter(0), PUB_SENT);
	ck_stored(0, 1);
	write_letter(2, "t.STREAM.PURGE.EVENTS", bytes("x"));
	ck_assert_int_eq(send_letter(1), PUB_REFUSED);
	ck_has(e.text, "nats.api_prefix");
}
END_TEST

/* With headers of so many bytes, by its metadata. */
static void
write_wide(uint64_t sequence, size_t size)
{
	static char		json[70000] = "{\"a\":\"";
	struct envelope_form	form = { .subject = "events.t",
				    .id_prefix = "abc", .stream = "" };
	struct msg		m = { .sequence = sequence };
	size_t			start = strlen("{\"a\":\""), n = 1;

	m.key = m.type = m.partition = bytes("t");
	memset(json + start, 'x', sizeof(json) - start);
	for (int i = 0; i < 2; i++) {
		memcpy(json + start + n, "\"}", 2);
		m.metadata = (struct bytes){ json, start + n + 2 };
		ck_assert_msg(envelope_fill(&letter, &form, &m, &e) == 0,
		    "%s", e.text);
		memset(json + start, 'x', n + 2);
		n += size - (letter.size - letter.payload.len);
	}
	ck_assert_uint_eq(letter.size - letter.payload.len, size);
}

/* The header block of a message to a stream, to the byte. */
START_TEST(limit_of_headers_is_known)
{
	write_wide(1, bus.ops->max_headers);
	ck_assert_int_eq(send_letter(0), PUB_SENT);
	ck_stored(0, 1);
	write_wide(2, bus.ops->max_headers + 1);
	ck_assert_int_eq(send_letter(1), PUB_SENT);
	ck_answer(1, VERDICT_MESSAGE, "header size");
}
END_TEST

/* Somebody who is no stream listens on the subject. */
static const struct {
	const char	*body;		/* NULL: says nothing */
	enum verdict	 verdict;
} others[] = {
	{ "", VERDICT_ELSEWHERE },
	{ "hello", VERDICT_ELSEWHERE },
	{ "[]", VERDICT_ELSEWHERE },
	{ "\"x\"", VERDICT_ELSEWHERE },
	{ "+OK", VERDICT_ELSEWHERE },
	{ "{", VERDICT_ELSEWHERE },
	{ "{}", VERDICT_ELSEWHERE },
	{ "{\"stream\": \"EVENTS\"}", VERDICT_TRANSIENT },
	{ "{\"seq\": 5}", VERDICT_ELSEWHERE },
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

/*
 * As a stream of the same name behind a leaf node does: it may answer first or
 * last, and each is known for what it is.
 */
START_TEST(another_domain_answers)
{
	static char		 ack[] = "{\"stream\":\"EVENTS\","
				    "\"domain\":\"hub\", \"seq\":99}";
	natsSubscription	*sub;
	struct stream_report	 r;
	struct pub_answer	 a;

	ck_assert_msg(check(&r), "%s", e.text);
	ck_nats(natsConnection_Subscribe(&sub, admin, "events.t", on_request,
	    ack));
	ck_nats(natsConnection_Flush(admin));
	bus.ops->begin(bus.arg, INT64_MAX);
	for (uint32_t i = 0; i < 20; i++) {
		unsigned own = 0;

		send_row(1 + i, i);
		for (int k = 0; k < 2; k++) {
			ck_assert(answers(&a, 5000) && a.index == i);
			own += a.verdict == VERDICT_STORED &&
			    a.ack_sequence == 1 + i;
			ck_assert(a.verdict == VERDICT_STORED ||
			    a.verdict == VERDICT_ELSEWHERE);
		}
		ck_assert_uint_eq(own, 1);
	}
	ck_no_answer(50);
	natsSubscription_Destroy(sub);
}
END_TEST

/* To the inbox itself: no index of ours, or none that is out. */
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
	pub_wait(&bus, 1, -1, 0);
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
	  VERDICT_PENDING, 0, "stored" },
	{ "{\"stream\":\"OTHER\",\"seq\":5}", VERDICT_ELSEWHERE, 5,
	  "OTHER" },
	{ "{\"error\":{\"code\":400,\"err_code\":10060,\"description\":"
	  "\"expected stream does not match\"},\"stream\":\"EVENTS\","
	  "\"seq\":0}", VERDICT_DESTINATION, 0, "10060" },
	{ "{\"error\":{\"code\":503,\"err_code\":10023,\"description\":"
	  "\"insufficient resources\"},\"stream\":\"EVENTS\",\"seq\":0}",
	  VERDICT_DESTINATION, 0, "insufficient" },
	{ "{\"error\":{\"code\":400,\"err_code\":10054}}", VERDICT_TOO_LARGE, 0,
	  "10054" },
	{ "{\"error\":{\"code\":409,\"err_code\":10158,\"description\":\"x\"},"
	  "\"stream\":\"EVENTS\",\"seq\":3}", VERDICT_PENDING, 0, "10158" },
	{ "{\"error\":{}}", VERDICT_DESTINATION, 0, "" },
	{ "{\"error\":\"x\"}", VERDICT_DESTINATION, 0, "" },
	{ "{\"stream\":5,\"seq\":\"5\"}", VERDICT_ELSEWHERE, 0, "PubAck" },
	{ "not json", VERDICT_ELSEWHERE, 0, "PubAck" },
	{ "", VERDICT_ELSEWHERE, 0, "PubAck" },
	{ "null", VERDICT_ELSEWHERE, 0, "PubAck" },
};

START_TEST(answer_is_read)
{
	struct pub_answer	a;

	memset(&a, 0xff, sizeof(a));
	bus_read_ack(acks[_i].body, (int)strlen(acks[_i].body), "EVENTS", NULL,
	    "", &a);
	ck_assert_int_eq(a.verdict, acks[_i].verdict);
	ck_assert_uint_eq(a.ack_sequence, acks[_i].sequence);
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
	bus_read_ack(body, (int)strlen(body), "", NULL, "", &a);
	ck_assert_int_eq(a.verdict, VERDICT_TOO_LARGE);
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
	struct relay	relay = { .conf = conf, .pubs = { [DRIVER_NATS] = bus },
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
	ck_assert(!res.elsewhere);
	ck_has(res.why.text, "no stream takes subject");
	ck_near(ms_since(g.start), 350, 1500);
	for (size_t i = 0; i < NGAP; i++)
		free(gap_msgs[i].error);
}
END_TEST

void
add_refusals(Suite *s)
{
	TCase	*tc = server_case(s, "refuse", start_nats, begin, end);

	tcase_add_test(tc, nobody_listens);
	tcase_add_test(tc, some_listen_and_some_do_not);
	tcase_add_test(tc, silence_does_not_swallow_refusals);
	tcase_add_loop_test(tc, answers_end_the_wait_for_refusals, 0, 2);
	tcase_add_loop_test(tc, stream_is_away_for_a_moment, 0, 3);
	tcase_add_test(tc, stream_stays_away);
	tcase_add_test(tc, another_domain_answers);
	tcase_add_loop_test(tc, stream_refuses, 0, NROWS(streams));
	tcase_add_test(tc, other_stream_is_refused);
	tcase_add_test(tc, other_stream_is_noticed);
	tcase_add_test(tc, too_big_is_refused_here);
	tcase_add_test(tc, imported_api_is_refused_here);
	tcase_add_test(tc, limit_of_headers_is_known);
	tcase_add_loop_test(tc, somebody_else_answers, 0, NROWS(others));
	tcase_add_test(tc, junk_in_the_inbox_is_dropped);
	tcase_add_loop_test(tc, answer_is_read, 0, NROWS(acks));
	tcase_add_loop_test(tc, long_answer_is_cut, 0, 3);
}
