/*
 * check_stream.c - is a stream fit?  Descriptions as nats-server gives them,
 * shortened to what is looked at
 */

#include "lib/check.h"

#include "nats/new_stream.h"
#include "nats/stored_message.h"
#include "nats/stream.h"

static char		subject[] = "events.{event_type}";
static struct conf	conf;

static void
setup(void)
{
	memset(&conf, 0, sizeof(conf));
	conf.nats.subject = subject;
	conf.retry.max_backoff = 300000;
	conf.retry.jitter = 0.2;
	conf.worker.claim_ttl = 30000;
	conf.publish.timeout_ms = 5000;
}

static const struct {
	const char	*pattern, *template;
	bool		 may;
} covers[] = {
	{ "events.>", "events.{event_type}", true },
	{ ">", "events.{event_type}", true },
	{ "events.*", "events.{event_type}", true },
	{ "*.paid", "events.paid", true },
	{ "events.paid", "events.paid", true },
	{ "events.order.paid", "events.{event_type}", true },
	{ "events.>", "{event_type}", true },
	{ "events.>", "events-{partition}.x", true },
	{ "event.>", "events.{event_type}", false },
	{ "events", "events.{event_type}", false },
	{ "events.paid.x", "events.paid", false },
	{ "events.paid", "events.paid.x", false },
	{ "events.>", "events", false },
	{ "*", "events.paid", false },
	{ "orders.*", "events.paid", false },
};

START_TEST(pattern_covers_template)
{
	ck_assert(stream_may_cover(covers[_i].pattern, covers[_i].template) ==
	    covers[_i].may);
}
END_TEST

#define FINE	"\"subjects\":[\"other\",\"events.>\"],\"storage\":\"file\"," \
		"\"num_replicas\":1,\"duplicate_window\":600000000000"

#define THREE	"\"subjects\":[\"events.>\"],\"storage\":\"file\"," \
		"\"num_replicas\":3,\"duplicate_window\":600000000000"

#define NEW	"\"ts\":\"2026-01-31T12:00:00Z\",\"config\":{" THREE "}"
#define GROUP(zero, one) "\"cluster\":{\"name\":\"c\",\"leader\":\"n2\"," \
		"\"replicas\":[{\"name\":\"n0\",\"active\":" zero "}," \
		"{\"name\":\"n1\",\"active\":1," one "}]}"

static const struct {
	const char	*body;
	const char	*unfit;		/* NULL: fit */
	const char	*advice;	/* NULL: none */
	const char	*full;		/* NULL: it is not */
} streams[] = {
	{ "{\"config\":{" FINE "}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"sealed\":false,\"no_ack\":false},"
	  "\"cluster\":{\"leader\":\"n1\"}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"sealed\":true}}", "sealed", NULL, NULL },
	{ "{\"config\":{" FINE ",\"no_ack\":true}}", "no_ack", NULL, NULL },
	{ "{\"config\":{" FINE ",\"mirror\":{\"name\":\"X\"}}}", "mirror",
	  NULL, NULL },
	{ "{\"config\":{\"subjects\":[\"orders.>\"],"
	  "\"duplicate_window\":600000000000}}", "has no subject", NULL, NULL },
	{ "{\"error\":{\"code\":404,\"err_code\":10059,"
	  "\"description\":\"stream not found\"}}", "stream not found", NULL, NULL },
	{ "{\"config\":{\"subjects\":[\"events.>\"],"
	  "\"duplicate_window\":120000000000}}", NULL,
	  "window of 2 min, and a message may be sent again after 6 min 5 s", NULL },
	{ "{\"config\":{\"subjects\":[\"events.>\"],\"storage\":\"memory\","
	  "\"duplicate_window\":600000000000}}", NULL, "in memory", NULL },
	{ "{\"config\":{" FINE "},\"cluster\":{\"name\":\"c\",\"leader\":"
	  "\"n1\"}}", NULL, "one replica", NULL },
	{ "{\"config\":{" FINE "},\"cluster\":{\"name\":\"leaf\",\"leader\":"
	  "\"leaf\"}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE "},\"cluster\":{\"name\":\"c\"}}",
	  "has no leader", "one replica", NULL },
	{ "{\"config\":{" THREE "},\"cluster\":{\"name\":\"c\",\"replicas\":["
	  "{\"active\":0},{\"active\":13354698115},{\"active\":0,"
	  "\"offline\":true}]}}", "has no leader", NULL, NULL },
	{ "{" NEW "," GROUP("1", "\"lag\":9999") "}", NULL, NULL, NULL },
	{ "{" NEW "," GROUP("3000000000", "\"lag\":3") "}", NULL,
	  "has a replica that is away, on server n0: start it", NULL },
	{ "{" NEW "," GROUP("1", "\"offline\":true") "}", NULL,
	  "is away, on server n1", NULL },
	{ "{" NEW "," GROUP("1", "\"lag\":10000") "}", NULL,
	  "is 10,000 messages behind, on server n1", NULL },
	{ "{\"config\":{" THREE "}," GROUP("1", "\"lag\":0") "}", NULL,
	  "nats-server before 2.10", NULL },
	{ "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":"
	  "\"JetStream system temporarily unavailable\"}}",
	  "has no leader: JetStream system temporarily", NULL, NULL },
	{ "{\"config\":{" FINE ",\"max_msgs\":1000,\"discard\":\"old\"}}", NULL,
	  "drops its oldest", NULL },
	{ "{\"config\":{" FINE ",\"max_bytes\":1000,\"max_msgs\":-1}}", NULL,
	  "drops its oldest", NULL },
	{ "{\"config\":{" FINE ",\"max_msgs\":1000,\"discard\":\"new\","
	  "\"max_age\":0,\"max_msg_size\":-1}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"max_msgs\":20,\"discard\":\"new\"},"
	  "\"state\":{\"messages\":19}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"max_msgs\":2000,\"discard\":\"new\"},"
	  "\"state\":{\"messages\":2000}}", NULL, NULL,
	  "is full, 2,000 of 2,000 messages, and refuses" },
	{ "{\"config\":{" FINE ",\"max_msgs\":20,\"discard\":\"old\"},"
	  "\"state\":{\"messages\":20}}", NULL, "drops its oldest", NULL },
	{ "{\"config\":{" FINE ",\"max_bytes\":1000,\"discard\":\"new\"},"
	  "\"state\":{\"bytes\":990}}", NULL, NULL,
	  "is full, 990 of 1,000 bytes" },
	{ "{\"config\":{" FINE ",\"max_bytes\":1000,\"discard\":\"new\"},"
	  "\"state\":{\"bytes\":989}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"max_msgs_per_subject\":1}}", NULL,
	  "keeps the last 1 messages of a subject", NULL },
	{ "{\"config\":{" FINE ",\"max_msgs_per_subject\":1,\"discard\":"
	  "\"new\",\"discard_new_per_subject\":true}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"max_age\":30000000000}}", NULL,
	  "drops messages after 30 s", NULL },
	{ "{\"config\":{" FINE ",\"max_age\":3600000000000}}", NULL, NULL,
	  NULL },
	{ "{\"config\":{" FINE ",\"retention\":\"workqueue\"},\"state\":{"
	  "\"consumer_count\":0}}", NULL, NULL, NULL },
	{ "{\"config\":{" FINE ",\"retention\":\"interest\"},\"state\":{"
	  "\"consumer_count\":1}}", NULL, "drops a message that no consumer "
	  "wants", NULL },
	{ "{\"config\":{" FINE ",\"persist_mode\":\"async\"}}", NULL,
	  "before it has written them", NULL },
	{ "{\"config\":{" FINE ",\"max_msg_size\":1000}}", NULL,
	  "messages of 1000 bytes at most", NULL },
};

/* Problems: what is wrong cannot be told, or messages vanish. */
static const struct {
	const char	*body, *warning;
} bad[] = {
	{ "no JSON", "was not checked" },
	{ "[1]", "was not checked" },
};

/* Retries and claims are short: what is left is the time to connect anew. */
START_TEST(connecting_anew_counts)
{
	static const char	body[] = "{\"config\":{\"subjects\":["
				    "\"events.>\"],\"duplicate_window\":"
				    "20000000000}}";
	struct conf		brief = conf;
	struct stream_report	r;

	brief.retry.max_backoff = 1000;
	brief.worker.claim_ttl = 10000;
	stream_judge(&r, &brief, body, strlen(body));
	ck_assert_uint_eq(r.advice.n, 1);
	holds(r.advice.list[0].text, "again after 45 s: the stream is then "
	    "searched for it first");
	brief.nats.recover = RECOVER_OFF;
	stream_judge(&r, &brief, body, strlen(body));
	holds(r.advice.list[0].text, "again after 45 s: it may then be stored "
	    "twice");
}
END_TEST

START_TEST(stream_is_judged)
{
	struct stream_report	r;

	stream_judge(&r, &conf, streams[_i].body, strlen(streams[_i].body));
	ck_assert(r.unfit == (streams[_i].unfit != NULL));
	if (r.unfit)
		ck_assert_ptr_nonnull(strstr(r.why.text, streams[_i].unfit));
	ck_assert_uint_eq(r.warnings.n, 0);
	ck_assert_str_eq(r.unheard.text, "");
	ck_assert_uint_eq(r.advice.n, streams[_i].advice != NULL);
	if (r.advice.n > 0)
		holds(r.advice.list[0].text, streams[_i].advice);
	ck_assert(strstr(streams[_i].body, "\"name\":\"n0\"") == NULL ||
	    strncmp(r.replicas.text, "n2 leads, n0 ", 13) == 0);
	ck_assert(r.full == (streams[_i].full != NULL));
	if (r.full)
		holds(r.how_full.text, streams[_i].full);
}
END_TEST

START_TEST(stream_without_consumers_is_unheard)
{
	static const char	body[] = "{\"config\":{" FINE ",\"retention\":"
				    "\"interest\"},\"state\":{\"messages\":0,"
				    "\"consumer_count\":0}}";
	struct stream_report	r;

	stream_judge(&r, &conf, body, strlen(body));
	ck_assert(!r.unfit);
	ck_assert_uint_eq(r.advice.n, 0);
	holds(r.unheard.text, "has no consumer");
}
END_TEST

START_TEST(bad_stream_is_a_problem)
{
	struct stream_report	r;

	stream_judge(&r, &conf, bad[_i].body, strlen(bad[_i].body));
	ck_assert(!r.unfit);
	ck_assert_uint_eq(r.warnings.n, 1);
	ck_assert_uint_eq(r.advice.n, 0);
	holds(r.warnings.list[0].text, bad[_i].warning);
}
END_TEST

#define LIMITS	"\"created\":\"2026-01-31T12:00:00Z\",\"state\":{" \
		"\"messages\":7,\"first_seq\":3,\"last_seq\":12}," \
		"\"config\":{\"duplicate_window\":120000000000,"

static const struct {
	const char	*body;
	bool		 forgets, expires;
} states[] = {
	{ "{" LIMITS "\"retention\":\"limits\"}}", false, false },
	{ "{" LIMITS "\"retention\":\"limits\",\"max_msgs_per_subject\":-1}}",
	  false, false },
	{ "{" LIMITS "\"retention\":\"limits\",\"max_age\":5}}", false, true },
	{ "{" LIMITS "\"retention\":\"limits\",\"max_msgs_per_subject\":1}}",
	  true, false },
	{ "{" LIMITS "\"retention\":\"limits\",\"allow_msg_ttl\":true}}",
	  true, false },
	{ "{" LIMITS "\"retention\":\"limits\",\"allow_rollup_hdrs\":true}}",
	  true, false },
	{ "{" LIMITS "\"retention\":\"workqueue\"}}", true, false },
	{ "{" LIMITS "\"retention\":\"interest\"}}", true, false },
};

START_TEST(state_is_read)
{
	struct stream_state	st;
	struct err		e;

	memset(&st, 'x', sizeof(st));
	ck_assert_int_eq(stream_read_state(&st, states[_i].body,
	    strlen(states[_i].body), &e), 0);
	ck_assert_int_eq(st.answer, STREAM_THERE);
	ck_assert_str_eq(st.created, "2026-01-31T12:00:00Z");
	ck_assert(st.forgets == states[_i].forgets);
	ck_assert(st.expires == states[_i].expires);
	ck_assert_uint_eq(st.first, 3);
	ck_assert_uint_eq(st.last, 12);
	ck_assert_uint_eq(st.messages, 7);
	ck_assert_int_eq(st.dedup_window_ms, 120000);
}
END_TEST

START_TEST(clocks_and_leader_are_read)
{
	static const char	text[] =
	    "{\"created\":\"2026-01-31T12:00:00Z\",\"ts\":"
	    "\"2026-01-31T12:01:00.5Z\",\"cluster\":{\"leader\":\"n2\"},"
	    "\"config\":{},\"state\":{\"messages\":0,\"first_seq\":0,"
	    "\"last_seq\":0,\"first_ts\":\"0001-01-01T00:00:00Z\","
	    "\"last_ts\":\"1970-01-01T00:00:02.9Z\"}}";
	struct stream_state	st;
	struct err		e;

	ck_assert_int_eq(stream_read_state(&st, text, strlen(text), &e), 0);
	ck_assert_str_eq(st.leader, "n2 ");
	ck_assert(!st.replicated);
	ck_assert_int_eq(st.now_at, 1769860860000);
	ck_assert_int_eq(st.first_at, 0);
	ck_assert_int_eq(st.last_at, 2000);
}
END_TEST

/* Three replicas, and when the leader has heard the others. */
#define REPLICAS(one, two) \
	"{\"cluster\":{\"name\":\"c\",\"leader\":\"n2\",\"replicas\":[" \
	"{\"name\":\"n0\",\"current\":true,\"active\":" one "}," \
	"{\"name\":\"n1\",\"current\":true,\"active\":" two "}]}," \
	LIMITS "\"retention\":\"limits\"}}"

/* An error, and what is not whole, are not the state of an empty stream. */
static const struct {
	const char		*body;
	enum stream_answer	 answer;
	const char		*error;
} no_states[] = {
	{ "{\"error\":{\"code\":404,\"err_code\":10059}}", STREAM_MISSING, NULL },
	{ "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":"
	  "\"JetStream system temporarily unavailable\"}}", STREAM_UNKNOWN,
	  "temporarily unavailable (10008)" },
	{ "{\"error\":{\"code\":503,\"err_code\":10039}}", STREAM_UNKNOWN,
	  "error (10039)" },
	{ "{\"error\":{\"code\":404}}", STREAM_UNKNOWN, "(0)" },
	{ "{\"error\":{},\"created\":\"2026-01-31T12:00:00Z\",\"config\":{},"
	  "\"state\":{\"messages\":0,\"first_seq\":0,\"last_seq\":0}}",
	  STREAM_UNKNOWN, "(0)" },
	{ "{\"created\":\"2026-01-31T12:00:00Z\",\"config\":{}}",
	  STREAM_UNKNOWN, "not complete" },
	{ "{\"created\":\"\",\"config\":{},\"state\":{\"messages\":0,"
	  "\"first_seq\":0,\"last_seq\":0}}", STREAM_UNKNOWN, "not complete" },
	{ "{\"created\":\"2026-01-31T12:00:00Z\",\"config\":{},\"state\":{"
	  "\"messages\":0,\"first_seq\":0}}", STREAM_UNKNOWN, "not complete" },
	{ "{\"cluster\":{\"name\":\"c\"}," LIMITS "\"retention\":\"limits\"}}",
	  STREAM_UNKNOWN, "no leader" },
	{ "{\"cluster\":{\"replicas\":[{\"active\":0},{\"active\":0}]},"
	  LIMITS "\"retention\":\"limits\"}}", STREAM_UNKNOWN, "no leader" },
	{ REPLICAS("4000479039", "4000482594"), STREAM_UNKNOWN,
	  "does not hear most" },
	{ REPLICAS("4000479039", "1,\"offline\":true"), STREAM_UNKNOWN,
	  "does not hear most" },
	{ REPLICAS("4000479039", "1000479039"), STREAM_THERE, NULL },
	{ "{" LIMITS "\"retention\":\"limits\"}", STREAM_UNKNOWN,
	  "not complete" },
	{ "", STREAM_UNKNOWN, "not complete" },
	{ "[1]", STREAM_UNKNOWN, "not complete" },
};

START_TEST(error_is_no_state)
{
	struct stream_state	st;
	struct err		e;
	int			rc;

	memset(&st, 'x', sizeof(st));
	rc = stream_read_state(&st, no_states[_i].body,
	    strlen(no_states[_i].body), &e);
	ck_assert_int_eq(rc, no_states[_i].error == NULL ? 0 : -1);
	ck_assert_int_eq(st.answer, no_states[_i].answer);
	if (rc < 0)
		holds(e.text, no_states[_i].error);
}
END_TEST

#define FOUND(hdrs)	"{\"message\":{\"seq\":5,\"hdrs\":\"" hdrs "\"}}"

static const struct {
	const char		*body;
	int			 rc;
	enum stored_what	 what;
	uint64_t		 row;
} places[] = {
	/* NATS/1.0, Outbox-Key: k, Nats-Msg-Id: a-b-4711-0011aaff */
	{ FOUND("TkFUUy8xLjANCk91dGJveC1LZXk6IGsNCk5hdHMtTXNnLUlkOiBhLWItNDcxM"
	  "S0wMDExYWFmZg0KDQo="), 0, STORED_OURS, 4711 },
	/* An author's Nats-Msg-Id like one of ours; ours is in Outbox-Id. */
	{ FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWItOS0wMDExYWFmZg0KT3V0Ym94LUlk"
	  "OiBhLWItNDcxMS0wMDExYWFmZg0KDQo="),
	  0, STORED_OURS, 4711 },
	{ FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWItOS0wMDExYWFmZg0KT3V0Ym94LUlk"
	  "OiBtLTENCg0K"), 0,
	  STORED_OTHER, 0 },
	/* Nats-Msg-Id: a-b-x-0011aaff */
	{ FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWIteC0wMDExYWFmZg0KDQo="), 0,
	  STORED_OTHER, 0 },
	/* Nats-Msg-Id: a-bc-4711-0011aaff */
	{ FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWJjLTQ3MTEtMDAxMWFhZmYNCg0K"),
	  0, STORED_OTHER, 0 },
	/* Nats-Msg-Id: a-b-4711 */
	{ FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWItNDcxMQ0KDQo="), 0,
	  STORED_OTHER, 0 },
	{ FOUND("TkFUUy8xLjANCkE6IGINCg0K"), 0, STORED_OTHER, 0 },
	{ FOUND("****"), 0, STORED_OTHER, 0 },
	{ FOUND(""), 0, STORED_OTHER, 0 },
	{ "{\"message\":{\"seq\":5,\"data\":\"eA==\"}}", 0, STORED_OTHER, 0 },
	/* What the message holds is passed over, whatever it is. */
	{ "{\"message\":{\"seq\":5,\"data\":\"\1\377\",\"hdrs\":\"TkFUUy8xLjANCk9"
	  "1dGJveC1LZXk6IGsNCk5hdHMtTXNnLUlkOiBhLWItNDcxMS0wMDExYWFmZg0KDQo="
	  "\"}}", 0, STORED_OURS, 4711 },
	{ "{\"message\":{\"subject\":\"\\\"data\\\":\\\"\",\"hdrs\":\"TkFUUy8xLjA"
	  "NCk91dGJveC1LZXk6IGsNCk5hdHMtTXNnLUlkOiBhLWItNDcxMS0wMDExYWFmZg0K"
	  "DQo=\",\"data\":\"\"}}", 0, STORED_OURS, 4711 },
	{ "{\"message\":{\"seq\":5,\"data\":\"eA==", -1, STORED_UNKNOWN, 0 },
	{ "{\"error\":{\"code\":404,\"err_code\":10037}}", 0, STORED_EMPTY, 0 },
	{ "{\"error\":{\"code\":503,\"err_code\":10008}}", -1,
	  STORED_UNKNOWN, 0 },
	{ "{}", -1, STORED_UNKNOWN, 0 },
	{ "no JSON", -1, STORED_UNKNOWN, 0 },
};

START_TEST(place_is_read)
{
	struct stored_message	p = { .sequence = 5 };
	struct err		e;

	ck_assert_int_eq(stored_message_read(&p, "a-b", places[_i].body,
	    strlen(places[_i].body), &e), places[_i].rc);
	ck_assert_int_eq(p.what, places[_i].what);
	if (p.what == STORED_OURS) {
		ck_assert_uint_eq(p.id.sequence, places[_i].row);
		ck_assert_uint_eq(p.id.replay, 0);
		ck_assert(!p.id.hashed);
	}
}
END_TEST

/* Nats-Msg-Id: a-b-4711-0011aaff00000001-r3 */
START_TEST(whole_id_is_read)
{
	static const char	body[] = FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWIt"
	    "NDcxMS0wMDExYWFmZjAwMDAwMDAxLXIzDQoNCg==");
	struct stored_message	p = { .sequence = 5 };
	struct err		e;

	ck_assert_int_eq(stored_message_read(&p, "a-b", body, strlen(body), &e),
	    0);
	ck_assert_int_eq(p.what, STORED_OURS);
	ck_assert_uint_eq(p.id.sequence, 4711);
	ck_assert_uint_eq(p.id.replay, 3);
	ck_assert(p.id.hashed);
	ck_assert_uint_eq(p.id.hash, 0x0011aaff00000001);
}
END_TEST

/* Nats-Msg-Id as above, and Outbox-Source: db1:3306/17; or one of 200 bytes */
START_TEST(origin_is_read)
{
	static const char	body[] = FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWItNDcxMS0wMDExYWFmZj"
	    "AwMDAwMDAxDQpPdXRib3gtU291cmNlOiBkYjE6MzMwNi8xNw0KDQo="),
				body_long[] = FOUND("TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBhLWItNDcxMS0wMDExYWFmZj"
	    "AwMDAwMDAxDQpPdXRib3gtU291cmNlOiB4eHh4eHh4eHh4eHh4eHh4"
	    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eH"
	    "h4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4"
	    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eH"
	    "h4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4"
	    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eA0KDQo=");
	struct stored_message	p = { .sequence = 5 };
	struct err		e;

	ck_assert_int_eq(stored_message_read(&p, "a-b", body, strlen(body), &e),
	    0);
	ck_assert_int_eq(p.what, STORED_OURS);
	ck_assert_str_eq(p.origin, "db1:3306/17");
	ck_assert_int_eq(stored_message_read(&p, "a-b", body_long,
	    strlen(body_long), &e), 0);
	ck_assert_str_eq(p.origin, "");
}
END_TEST

START_TEST(time_of_storing_is_read)
{
	static const char	body[] = "{\"message\":{\"seq\":5,\"time\":"
				    "\"1970-01-02T00:00:01.999Z\"}}";
	struct stored_message	p = { .sequence = 5 }, q = p;
	struct err		e;

	ck_assert_int_eq(stored_message_read(&p, "a-b", body, strlen(body), &e),
	    0);
	ck_assert_int_eq(p.at, 86401000);
	ck_assert_int_eq(stored_message_read(&q, "a-b", places[0].body,
	    strlen(places[0].body), &e), 0);
	ck_assert_int_eq(q.at, 0);
}
END_TEST

static const struct {
	const char	*template;
	const char	*subject;	/* NULL: no stream can have it */
} subjects[] = {
	{ "events.{event_type}", "events.>" },
	{ "a.b.{event_type}.{partition}", "a.b.>" },
	{ "a.b-{partition}.c", "a.>" },
	{ "events.paid", "events.paid" },
	{ "{event_type}", NULL },
	{ "x-{event_type}", NULL },
	{ "{event_type}.x", NULL },
};

START_TEST(new_stream_has_a_subject)
{
	struct new_stream	n;
	struct err		e;

	ck_assert_int_eq(new_stream_subject(&n, subjects[_i].template, &e),
	    subjects[_i].subject == NULL ? -1 : 0);
	if (subjects[_i].subject != NULL)
		ck_assert_str_eq(n.subject, subjects[_i].subject);
	else
		holds(e.text, "begins with a placeholder");
}
END_TEST

#define SETTINGS(s, storage, replicas) "{\"config\":{\"subjects\":[" s "]," \
	"\"retention\":\"limits\",\"storage\":\"" storage "\"," \
	"\"num_replicas\":" replicas ",\"duplicate_window\":60000000000}}"

static const struct {
	const char		*body;
	enum new_stream_found	 found;
	const char		*text;	/* "": none */
} found[] = {
	{ SETTINGS("\"events.>\"", "file", "3"), NEW_STREAM_SAME, "" },
	{ SETTINGS("\"a\",\">\"", "file", "3"), NEW_STREAM_SAME, "" },
	{ SETTINGS("\"*.>\"", "file", "3"), NEW_STREAM_SAME, "" },
	{ SETTINGS("\"events.*\"", "file", "3"), NEW_STREAM_OTHER,
	  "subjects lacks \"events.>\"" },
	{ SETTINGS("\"events.a.>\"", "file", "3"), NEW_STREAM_OTHER,
	  "subjects lacks" },
	{ SETTINGS("\"events\"", "file", "3"), NEW_STREAM_OTHER,
	  "subjects lacks" },
	{ SETTINGS("\"events.>\"", "memory", "1"), NEW_STREAM_OTHER,
	  "storage is memory, not file; num_replicas is 1, not 3" },
	{ "{\"config\":{}}", NEW_STREAM_OTHER, "retention is unknown" },
	{ "{\"error\":{\"err_code\":10059,\"description\":\"stream not "
	  "found\"}}", NEW_STREAM_ABSENT, "stream not found (10059)" },
	{ "{\"error\":{\"err_code\":10065,\"description\":\"overlap\"}}",
	  NEW_STREAM_REFUSED, "overlap (10065)" },
	{ "{}", NEW_STREAM_REFUSED, "no configuration" },
	{ "no JSON", NEW_STREAM_REFUSED, "no configuration" },
};

START_TEST(streams_are_compared)
{
	struct new_stream	n = { 60000, 3, "events.>" };
	struct err		e = { "" };

	ck_assert_int_eq(new_stream_compare(&n, found[_i].body,
	    strlen(found[_i].body), &e), found[_i].found);
	holds(e.text, found[_i].text);
}
END_TEST

/* What it asks for is what it accepts. */
START_TEST(new_stream_is_as_asked)
{
	struct new_stream	 n = { 1800000, 1, "events.>" };
	char			*body = new_stream_body(&n, "EVENTS");
	char			 answer[1024];
	struct err		 e;

	holds(body, "\"name\":\"EVENTS\"");
	holds(body, "\"discard\":\"new\"");
	snprintf(answer, sizeof(answer), "{\"config\":%s}", body);
	ck_assert_int_eq(new_stream_compare(&n, answer, strlen(answer), &e),
	    NEW_STREAM_SAME);
	free(body);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("stream");
	TCase	*tc = tcase_create("stream");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, pattern_covers_template, 0, NROWS(covers));
	tcase_add_test(tc, connecting_anew_counts);
	tcase_add_loop_test(tc, stream_is_judged, 0, NROWS(streams));
	tcase_add_test(tc, stream_without_consumers_is_unheard);
	tcase_add_loop_test(tc, bad_stream_is_a_problem, 0, NROWS(bad));
	tcase_add_loop_test(tc, state_is_read, 0, NROWS(states));
	tcase_add_loop_test(tc, error_is_no_state, 0, NROWS(no_states));
	tcase_add_test(tc, clocks_and_leader_are_read);
	tcase_add_loop_test(tc, new_stream_has_a_subject, 0, NROWS(subjects));
	tcase_add_loop_test(tc, streams_are_compared, 0, NROWS(found));
	tcase_add_test(tc, new_stream_is_as_asked);
	tcase_add_test(tc, whole_id_is_read);
	tcase_add_test(tc, origin_is_read);
	tcase_add_test(tc, time_of_storing_is_read);
	tcase_add_loop_test(tc, place_is_read, 0, NROWS(places));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
