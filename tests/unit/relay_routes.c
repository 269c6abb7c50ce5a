/*
 * relay_routes.c - several destinations in one batch
 *
 * The rest goes to NATS.  Types w and v have a route each, to an endpoint; so
 * has what has the header to=w.
 */
#include "unit/relay_test.h"

#include "util/clock.h"

static struct conf_route	rules[3];
static struct pub_ops		endpoint_ops;

static struct conf_route
rule(const char *name, const char *type, const char *header)
{
	return (struct conf_route){ .name = (char *)name, .subject = "",
	    .type = (char *)type, .topic = "", .header = (char *)header,
	    .endpoint = "", .path = "", .driver = DRIVER_HTTP,
	    .envelope = CONF_INHERIT, .max_attempts = CONF_INHERIT,
	    .backoff = CONF_INHERIT, .max_backoff = CONF_INHERIT };
}

static void
routes_setup(void)
{
	rules[0] = rule("hook", "w", "");
	rules[1] = rule("other", "v", "");
	rules[2] = rule("head", "", "to=w");
	conf->publish.routes.items = rules;
	conf->publish.routes.n = NROWS(rules);
	endpoint_ops = fake_ops;
	endpoint_ops.name = "http";
	fake_ops.name = "nats";
	fake_ops.peer = endpoint_ops.peer = "peer";
	endpoint_ops.in_order = endpoint_ops.names_streams = false;
	endpoint_ops.can_ask = false;
	relay.pubs[DRIVER_HTTP] = (struct pub){ &endpoint_ops,
	    &fake_endpoint };
	route_set_init(&relay.routes, conf, &relay.form);
	ck_assert(relay.routes.several);
}

static void
routes_teardown(void)
{
	conf->publish.routes.items = NULL;
	conf->publish.routes.n = 0;
}

static int64_t
one_at_a_time(void *arg)
{
	(void)arg;
	return 1;
}

/* By its type and where it goes: a route, as in rules, or NATS. */
static bool
is_refused(const char *group)
{
	static const char *const	names[] = { "hook", "other", "head" };
	struct msg			m = { .type = bytes_of(group) };

	if (strncmp(group, "route ", 6) != 0)
		return type_breaker_is_blamed(&relay.breaker, &m);
	for (unsigned i = 0; i < NROWS(names); i++)
		if (strcmp(group + 6, names[i]) == 0)
			m.destination = i + 1;
	for (const char *type = "wvt"; *type != '\0'; type++) {
		m.type = (struct bytes){ type, 1 };
		if (type_breaker_is_blamed(&relay.breaker, &m))
			return true;
	}
	return false;
}

/* Whatever one of them does, the batch is not down, and others are sent. */
static const struct {
	const char	*keys, *types, *acts, *outcomes;
	const char	*refused, *taken;	/* groups */
} cases[] = {
	{ "abc", "twt", "AXA", "DFD", "route hook", "t" },
	{ "abc", "twv", "AXA", "DFD", "route hook", "route other" },
	{ "abc", "twt", "XAX", "FDF", "t", "route hook" },
	/* Also if nothing else was sent that could tell. */
	{ "abc", "www", "XXX", "FFF", "route hook", "t" },
	{ "a", "t", "X", "F", "t", "route hook" },
	/* Silence, and a connection that is away or gets lost. */
	{ "abc", "wtt", "sAA", "FDD", NULL, "route hook" },
	{ "abc", "wtt", "YAA", "FDD", "route hook", "t" },
	{ "abc", "wtt", "ZAA", "FDD", "route hook", "t" },
	/* The order of a key is kept over its destinations. */
	{ "aaa", "twt", "AXA", "DFU", "route hook", "t" },
	{ "aaa", "wtw", "AAA", "DDD", NULL, "t" },
	/* An attempt only if its own destination took a later one. */
	{ "abc", "wtt", "LAA", "FDD", "route hook", "t" },
	{ "abc", "wwt", "LAA", "RDD", NULL, "route hook" },
	{ "abc", "wwt", "sAA", "RDD", NULL, "route hook" },
};

START_TEST(destinations_do_not_wait_for_each_other)
{
	script(cases[_i].keys, cases[_i].acts);
	types(cases[_i].types);
	publish_as(cases[_i].outcomes);
	ck_assert(!res.down);
	ck_assert(cases[_i].refused == NULL || is_refused(cases[_i].refused));
	ck_assert(!is_refused(cases[_i].taken));
}
END_TEST

/* One type with two destinations: by its header. */
START_TEST(header_chooses_the_destination)
{
	script("abc", "AXA");
	types("ttt");
	msgs[1].metadata = BYTES("{\"to\": \"w\"}");
	publish_as("DFD");
	ck_assert(is_refused("route head"));
	ck_assert(!is_refused("t"));
}
END_TEST

START_TEST(messages_without_a_route_may_wait)
{
	uint64_t	groups[TYPE_BREAKER_MAX];

	conf->publish.unmatched = UNMATCHED_HOLD;
	script("abc", "AAA");
	types("wtw");
	publish_as("DFD");
	ck_assert_str_eq(msgs[1].error, "no route of publish.routes matches");
	expect_sent("02");
	ck_assert(type_breaker_is_blamed(&relay.breaker, &msgs[1]));
	ck_assert(!res.down);
	/* One is asked for and comes, and the others stay held. */
	for (int i = 0; i < 10; i++) {
		now_ms += 2400;
		ck_assert_uint_eq(type_breaker_wanted(&relay.breaker, 0,
		    now_ms, groups), 1);
		next_script("a", "A");
		types("t");
		publish_as("F");
		ck_assert_int_eq(msgs[0].hold_ms, 60000);
		ck_assert(!relay.breaker.released);
	}
	/* Another one of the type that has a route is not concerned. */
	next_script("ab", "AA");
	types("tt");
	msgs[1].metadata = BYTES("{\"to\": \"w\"}");
	publish_as("FD");
}
END_TEST

START_TEST(messages_without_a_route_may_be_dead)
{
	conf->publish.unmatched = UNMATCHED_DEAD;
	script("aaa", "AAA");
	types("wtw");
	publish_as("DXD");
	ck_assert_str_eq(msgs[1].reason, "message");
	expect_sent("02");
	/* It was asked for: no burst. */
	conf->retry.burst = 1;
	next_script("abc", "AAA");
	types("ttt");
	publish_as("XXX");
	/* Nobody knows the route of a row without its event, which may come. */
	next_script("abc", "eee");
	types("ttt");
	publish_as("FFF");
}
END_TEST

START_TEST(stream_to_be_audited_takes_nothing)
{
	relay.unaudited = true;
	script("abc", "AAA");
	types("twt");
	publish_as("FDF");
	expect_sent("1");
}
END_TEST

/* The stream's highest sequence: an endpoint has none. */
START_TEST(endpoint_does_not_go_back)
{
	script("abc", "AAA");
	types("twt");
	relay.top = (struct acked){ { .sequence = 1 }, FIRST_ACK - 1 };
	publish_as("DDD");
	ck_assert(!relay.went_back);
}
END_TEST

START_TEST(route_has_its_own_patience)
{
	rules[0].max_attempts = 2;
	rules[0].backoff = rules[0].max_backoff = 90000;
	conf->retry.jitter = 0;
	script("abcd", "TTTA");
	types("wwtw");
	msgs[1].attempts = 1;
	publish_as("RXRD");
	ck_assert_int_eq(msgs[0].delay_ms, 90000);
	ck_assert_int_eq(msgs[2].delay_ms, conf->retry.backoff);
}
END_TEST

/* Also with what has ended its workers. */
START_TEST(route_has_its_own_suspicion)
{
	rules[0].max_attempts = 3;
	script("abc", "AAA");
	types("wwt");
	for (size_t i = 0; i < 3; i++)
		suspects[i] = (struct suspect){ msgs[i].sequence, i == 1 ? 2 :
		    3 };
	publish_as("XFF");
}
END_TEST

/*
 * Each destination answers for itself
 */

/* A size above the limit of this broker, which was larger before, waits. */
START_TEST(limit_of_the_broker_is_its_own)
{
	struct limit	*l = &relay.reach[DRIVER_NATS].limit;

	relay.reach[DRIVER_HTTP].limit.max = INT64_MAX;
	relay.reach[DRIVER_HTTP].limit.largest = INT64_MAX;
	limit_connected(l, 1 << 20, now_ms - 1000);
	limit_connected(l, FAKE_MAX_PAYLOAD, now_ms);
	script("abc", "oAA");
	types("twt");
	publish_as("FDD");
}
END_TEST

/* No stream takes b, and a hangs: neither is taken for the other. */
START_TEST(refusal_without_a_name_is_the_broker_s)
{
	script("abcd", "sNAA");
	types("wxtt");
	publish_as("FFDD");
	ck_assert_ptr_nonnull(strstr(msgs[0].error, "no answer"));
	ck_assert_ptr_nonnull(strstr(msgs[1].error, "no stream"));
	ck_assert(!msgs[1].in_doubt);
}
END_TEST

/* What it has not read yet is no reason to stop the others. */
START_TEST(who_does_not_read_stops_only_itself)
{
	script("abc", "AAA");
	types("twt");
	fake.unread = conf->worker.batch_bytes;
	publish_as("FDF");
	ck_assert(!res.down);
	next_script("abc", "AAA");
	types("wtw");
	fake.unread_there = conf->worker.batch_bytes;
	publish_as("FDF");
}
END_TEST

/* A hung broker costs the others one time-out, and then half a second. */
START_TEST(silent_broker_waits_for_itself)
{
	int64_t	start;

	conf->publish.timeout_ms = 5000;
	script("abcd", "sssA");
	types("xytw");
	publish_as("FFFD");
	ck_assert(relay.trial.to[ROUTE_STREAM].silent);
	ck_assert(!is_refused("x") && !is_refused("y"));
	start = now_ms;
	next_script("abc", "sAA");
	types("xtw");
	publish_as("FFD");
	expect_sent("2");
	ck_assert_int_le(now_ms, start + 10);
	/* Then one message, whatever its type. */
	now_ms = relay.trial.to[ROUTE_STREAM].until;
	start = now_ms;
	next_script("abc", "sAA");
	types("xtw");
	publish_as("FFD");
	expect_sent("02");
	ck_assert_int_le(now_ms, start + 510);
	/* They come again when the next may be sent, and not later. */
	for (int i = 0; i < 2; i++)
		ck_assert_int_le(now_ms + msgs[i].delay_ms, later(200 + now_ms,
		    relay.trial.to[ROUTE_STREAM].until));
	/* And all again, when it has an answer. */
	now_ms = relay.trial.to[ROUTE_STREAM].until;
	next_script("abc", "AAA");
	types("xtw");
	publish_as("DDD");
	ck_assert(!relay.trial.to[ROUTE_STREAM].silent);
}
END_TEST

/* What is for the endpoint of route head, whatever its type. */
static void
to_head(void)
{
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].metadata = BYTES("{\"to\": \"w\"}");
}

/* So does a hung endpoint: another one, of the same driver, goes on. */
START_TEST(silent_endpoint_waits_for_itself)
{
	const struct trial_to	*s = &relay.trial.to[1];

	script("abcd", "ssAA");
	types("wwtv");
	publish_as("FFDD");
	ck_assert(s->silent && !relay.trial.to[2].silent);
	ck_assert_str_eq(route_name(&relay.routes, 1), "route hook");
	ck_assert(!is_refused("route hook"));
	next_script("abc", "sAA");
	types("wtv");
	publish_as("FDD");
	expect_sent("12");
	/* Then one message.  It is behind the other, the next time. */
	now_ms = s->until;
	next_script("abcd", "ssAA");
	types("wwtv");
	publish_as("FFDD");
	expect_sent("023");
	ck_assert(s->silent && !is_refused("route hook"));
	ck_assert_int_gt(msgs[0].delay_ms, msgs[1].delay_ms);
	/* And all again, when it has an answer. */
	now_ms = s->until;
	next_script("abc", "AAA");
	types("www");
	publish_as("DDD");
	ck_assert(!s->silent);
}
END_TEST

/* If it is one type of the endpoint, the others are not held up by it. */
START_TEST(silent_type_is_not_the_endpoint)
{
	const struct trial_to	*s = &relay.trial.to[3];

	script("a", "s");
	types("p");
	to_head();
	publish_as("F");
	ck_assert(s->silent);
	now_ms = s->until;
	next_script("abcd", "ssAA");
	types("ppqq");
	to_head();
	publish_as("RFDD");
	expect_sent("023");
	ck_assert(!s->silent);
	ck_assert(type_breaker_is_blamed(&relay.breaker, &msgs[1]));
	/* Its probe alone tells nothing of the endpoint. */
	now_ms += 40000;
	next_script("a", "s");
	types("p");
	to_head();
	publish_as("F");
	ck_assert(!s->silent);
}
END_TEST

/* Of several streams one is silent: its type is to blame, not the broker. */
START_TEST(silent_stream_is_not_the_broker)
{
	relay.form.stream = "";
	script("abc", "ssA");
	types("xxw");
	publish_as("FFD");
	ck_assert(!relay.trial.to[ROUTE_STREAM].silent);
	ck_assert(is_refused("x") && !is_refused("t"));
	next_script("abc", "sAA");
	types("xtw");
	publish_as("FDD");
	ck_assert(is_refused("x") && !is_refused("t"));
}
END_TEST

/* The broker answers in order, also beside others. */
START_TEST(overtaken_beside_others_waits_for_no_time_out)
{
	int64_t	start = now_ms;

	conf->publish.timeout_ms = 5000;
	script("abc", "sAA");
	types("ttw");
	publish_as("FDD");
	ck_assert_int_le(now_ms, start + 510);
}
END_TEST

/* Few requests at a time are no reason to send few to the broker. */
START_TEST(each_has_its_own_capacity)
{
	endpoint_ops.capacity = one_at_a_time;
	script("abcdef", "AAAAAA");
	types("wwwttt");
	publish_as("DDDDDD");
	ck_assert_uint_eq(fake.most_there, 1);
	ck_assert_uint_gt(fake.most_out, 2);
}
END_TEST

static int64_t
eight_at_a_time(void *arg)
{
	(void)arg;
	return 8;
}

/* How long after the start the last message of this type was sent. */
static int64_t
last_sent(char type)
{
	int64_t	last = 0;

	for (size_t i = 0; i < batch.n; i++)
		if (*msgs[i].type.data == type)
			last = later(last, fake.sent_at[i] - START_MS);
	return last;
}

static size_t
count_sent(char type)
{
	size_t	n = 0;

	for (size_t i = 0; i < batch.n; i++)
		n += *msgs[i].type.data == type && fake.sent_at[i] != 0;
	return n;
}

/*
 * A destination whose answers take long, in front of all others: these have
 * room, whatever there is too little of, and the batch does not last.
 */
static const struct {
	const char	*types;		/* the last one is fast */
	int64_t		 window;
	size_t		 bytes;		/* of each message */
	size_t		 slow;		/* sent of the first type */
} slows[] = {
	{ "wv", 512, 20, 8 }, { "wt", 512, 20, 8 }, { "tw", 512, 20, 20 },
	{ "tw", 16, 20, 16 }, { "wt", 8, 20, 8 },
	{ "wv", 512, 1 << 20, 4 }, { "tv", 512, 1 << 20, 4 },
};

START_TEST(slow_one_leaves_room_to_others)
{
	static char	keys[41], acts[41], kinds[41], body[1 << 20];
	int64_t		longest;

	memset(keys, '-', 40);
	memset(acts, 'A', 40);
	for (size_t i = 0; i < 40; i++)
		kinds[i] = slows[_i].types[i / 20];
	conf->publish.timeout_ms = 5000;
	conf->publish.window = slows[_i].window;
	endpoint_ops.capacity = eight_at_a_time;
	script(keys, acts);
	types(kinds);
	for (size_t i = 0; i < 40; i++) {
		fake.delay[i] = i < 20 ? 3000 : 1;
		if (slows[_i].bytes > 20)
			msgs[i].payload = (struct bytes){ body,
			    slows[_i].bytes };
	}
	fake.max_payload = 1 << 21;
	publish();
	ck_assert_uint_eq(count_sent(kinds[39]), 20);
	ck_assert_int_le(last_sent(kinds[39]), 100);
	ck_assert_uint_eq(count_sent(kinds[0]), slows[_i].slow);
	ck_assert_int_le(now_ms - START_MS, 3100);
	/* They come when there is room, one after the other, and soon. */
	longest = 1;
	for (size_t i = slows[_i].slow; i < 20; i++) {
		ck_assert_int_eq(msgs[i].outcome, OUT_UNSENT);
		ck_assert_int_ge(msgs[i].delay_ms, longest);
		longest = msgs[i].delay_ms;
		ck_assert(!msgs[i].in_doubt && msgs[i].error == NULL);
	}
	ck_assert_int_le(longest, 10000);
	ck_assert(!res.down && res.failed == 0 && relay.breaker.n == 0);
	ck_assert_uint_eq(res.failures.transient, 0);
}
END_TEST

/* Alone it has all the room, and the batch its time. */
START_TEST(slow_one_alone_goes_on)
{
	static char	keys[41], acts[41], kinds[41];

	memset(keys, '-', 40);
	memset(acts, 'A', 40);
	memset(kinds, 'w', 40);
	endpoint_ops.capacity = eight_at_a_time;
	conf->publish.timeout_ms = 5000;
	script(keys, acts);
	types(kinds);
	for (size_t i = 0; i < 40; i++)
		fake.delay[i] = 200;
	publish();
	ck_assert_uint_eq(fake.most_there, 8);
	ck_assert_uint_eq(res.delivered, 24);
	for (size_t i = 24; i < 40; i++)
		ck_assert_int_le(msgs[i].delay_ms, 16 * 200 / 8);
}
END_TEST

/* The stream went back: only what is for the stream has to wait. */
START_TEST(stream_that_went_back_does_not_stop_others)
{
	conf->publish.window = 1;
	script("abcd", "AAAA");
	types("ttww");
	relay.top = (struct acked){ { .sequence = 1 }, FIRST_ACK };
	publish_as("DFDD");
	ck_assert(relay.went_back);
}
END_TEST

void
add_routes(TCase *tc)
{
	tcase_add_test(tc, limit_of_the_broker_is_its_own);
	tcase_add_test(tc, refusal_without_a_name_is_the_broker_s);
	tcase_add_test(tc, who_does_not_read_stops_only_itself);
	tcase_add_test(tc, silent_broker_waits_for_itself);
	tcase_add_test(tc, silent_endpoint_waits_for_itself);
	tcase_add_test(tc, silent_type_is_not_the_endpoint);
	tcase_add_test(tc, silent_stream_is_not_the_broker);
	tcase_add_test(tc, overtaken_beside_others_waits_for_no_time_out);
	tcase_add_test(tc, each_has_its_own_capacity);
	tcase_add_loop_test(tc, slow_one_leaves_room_to_others, 0,
	    NROWS(slows));
	tcase_add_test(tc, slow_one_alone_goes_on);
	tcase_add_test(tc, stream_that_went_back_does_not_stop_others);
	tcase_add_checked_fixture(tc, routes_setup, routes_teardown);
	tcase_add_loop_test(tc, destinations_do_not_wait_for_each_other, 0,
	    NROWS(cases));
	tcase_add_test(tc, header_chooses_the_destination);
	tcase_add_test(tc, messages_without_a_route_may_wait);
	tcase_add_test(tc, messages_without_a_route_may_be_dead);
	tcase_add_test(tc, stream_to_be_audited_takes_nothing);
	tcase_add_test(tc, endpoint_does_not_go_back);
	tcase_add_test(tc, route_has_its_own_patience);
	tcase_add_test(tc, route_has_its_own_suspicion);
}
