/*
 * relay_types.c - limits, streams and types that take no messages
 *
 * What was learned from one batch for the next.
 */
#include "unit/relay_test.h"

/*
 * The limit of this server, of one before (0: there was none, the worker has just
 * begun), how long that was ago, how long the connection lasts, and what becomes
 * of a message of 6000 bytes or so.
 */
#define LASTS	(10 * 60 * 1000)

static const struct {
	int64_t		 max, before, ago, lasts;
	const char	*outcomes;
	bool		 news;
} limits[] = {
	{ 5000, 0, 0, 0, "FUD", false },
	{ 5000, 0, 0, LASTS - 10001, "FUD", false },
	{ 5000, 0, 0, LASTS, "XDD", false },
	{ 5000, 5000, 0, 0, "FUD", false },
	{ 5000, 5999, LASTS - 10001, 0, "FUD", true },
	{ 5000, 5999, LASTS, 0, "XDD", true },
	{ 5000, 8000, LASTS, 0, "FUD", true },
	{ 5000, 8000, LASTS, LASTS - 10001, "FUD", true },
	{ 5000, 8000, LASTS, LASTS, "XDD", true },
	{ 5000, 8000, LASTS, 24 * 3600 * 1000, "XDD", true },
};

/* The first message has 6000 bytes, which were fetched or not. */
static void
script_large(bool away)
{
	static char	large[6000];

	now_ms += 10000;
	if (away)
		next_script("aab", "oAA");
	else {
		next_script("aab", "RAA");
		memset(large, ' ', sizeof(large));
		msgs[0].payload = (struct bytes){ large, sizeof(large) };
	}
}

START_TEST(smaller_limit_has_to_last)
{
	struct limit	*l = &relay.reach[DRIVER_NATS].limit;

	for (int away = 0; away < 2; away++) {
		memset(l, 0, sizeof(*l));
		if (limits[_i].before != 0)
			ck_assert(!limit_connected(l, limits[_i].before,
			    now_ms - limits[_i].ago));
		ck_assert(limit_connected(l, limits[_i].max, now_ms) ==
		    limits[_i].news);
		/* It is said once. */
		ck_assert(!limit_connected(l, limits[_i].max, now_ms));
		now_ms += limits[_i].lasts;
		ck_assert(!limit_connected(l, limits[_i].max, now_ms));
		script_large(away != 0);
		msgs[0].attempts = 24;
		publish_as(limits[_i].outcomes);
		ck_assert(!res.down);
		ck_assert_uint_eq(relay.breaker.n, 0);
		if (msgs[0].outcome == OUT_DEFER)
			holds(msgs[0].error, "this server's max_payload of "
			    "5000");
	}
}
END_TEST

/* A better server in between, and it begins anew. */
START_TEST(larger_limit_ends_the_wait)
{
	struct limit	*l = &relay.reach[DRIVER_NATS].limit;

	limit_connected(l, 8000, now_ms);
	limit_connected(l, 5000, now_ms);
	now_ms += 9 * 60 * 1000;
	ck_assert(!limit_connected(l, 8000, now_ms));
	script_large(false);
	fake.acts = "AAA";
	fake.max_payload = 8000;
	publish_as("DDD");
	ck_assert(limit_connected(l, 5000, now_ms));
	now_ms += 9 * 60 * 1000;
	script_large(false);
	publish_as("FUD");
}
END_TEST

/* An account's limit is lowered while connected: it is the same. */
START_TEST(limit_may_change_while_connected)
{
	struct limit	*l = &relay.reach[DRIVER_NATS].limit;

	/* That of the server, and then at once the account's. */
	limit_connected(l, 1048576, now_ms);
	now_ms += 100;
	limit_seen(l, 8000, now_ms);
	ck_assert(!l->news);
	script_large(_i != 0);
	publish_as("FUD");
	ck_assert(l->news);
	now_ms += 10 * 60 * 1000;
	/* It may have been raised meanwhile. */
	script_large(_i != 0);
	publish_as("FUD");
	limit_connected(l, 1048576, now_ms);
	limit_seen(l, 5000, now_ms + 100);
	script_large(_i != 0);
	publish_as("XDD");
}
END_TEST

/* A server tells of it only who connects. */
START_TEST(raised_limit_is_asked_for)
{
	struct limit	*l = &relay.reach[DRIVER_NATS].limit;

	limit_connected(l, 5000, now_ms);
	now_ms += 60 * 60 * 1000;
	ck_assert(!limit_is_old(l, now_ms));
	script_large(false);
	publish_as("FUD");
	ck_assert(limit_is_old(l, now_ms));
	limit_connected(l, 8000, now_ms);
	ck_assert(!limit_is_old(l, now_ms));
	script_large(false);
	fake.acts = "AAA";
	fake.max_payload = 8000;
	publish_as("DDD");
	now_ms += 60 * 60 * 1000;
	ck_assert(!limit_is_old(l, now_ms));
}
END_TEST

/* It says nothing of the type: the next of it is sent. */
START_TEST(smaller_limit_is_not_the_type)
{
	script("ab", "XA");
	types("xy");
	publish();
	limit_connected(&relay.reach[DRIVER_NATS].limit, 8000, now_ms);
	limit_connected(&relay.reach[DRIVER_NATS].limit, 5000, now_ms);
	now_ms += 2000;
	next_script("abc", "oAA");
	types("xxy");
	publish_as("FDD");
}
END_TEST

/*
 * Several streams: what they are named, a letter for each message.  A message
 * without an answer is measured by those of its own stream; without any it
 * has its whole time, and is not to blame.
 */
static void
several(const char *letters, const char *names)
{
	relay.form.stream = "";
	relay.watch = false;
	fake.streams = names;
	types(letters);
}

static const struct {
	const char	*keys, *types, *streams, *acts, *outcomes;
	int64_t		 delay[5];
	int64_t		 took;
} company[] = {
	/* Slow or silent, while another one is fast. */
	{ "ab", "xy", "12", "AA", "DD", { 3000, 1 }, 3000 },
	{ "ab", "xy", "12", "sA", "FD", { 0, 1 }, 5000 },
	{ "abb", "xyy", "122", "sAA", "FDD", { 0, 1, 1 }, 5000 },
	{ "abcd", "xxyy", "1122", "AsAA", "DFDD", { 1, 0, 1, 1 }, 5000 },
	{ "abcd", "xyxy", "1212", "AAsA", "DDFD", { 1, 1, 0, 1 }, 5000 },
	/* Of the same stream, but nobody has told that yet. */
	{ "ab", "xy", "11", "sA", "FD", { 0, 1 }, 5000 },
	/* Who has passed it may be another one of the stream's, or not. */
	{ "ab", "xx", "11", "sA", "FD", { 0, 1 }, 5000 },
	{ "ab", "xx", "11", "sA", "FD", { 0, 600 }, 5000 },
	{ "ab", "xx", "11", "sD", "FD", { 0, 1 }, 5000 },
	{ "abc", "xyx", "111", "AsA", "DFD", { 1, 0, 1 }, 5000 },
	{ "abcd", "xyxy", "1111", "AAsA", "DDFD", { 1, 1, 0, 1 }, 5000 },
	{ "abcde", "xxyxy", "11212", "AsAAA", "DFDDD", { 1, 0, 1, 1, 1 },
	  5000 },
	{ "abcd", "xxyy", "1122", "sAAs", "FDDF", { 0, 1, 1, 0 }, 5000 },
	/* A subject that goes now here, now there, tells nothing. */
	{ "abc", "xxx", "112", "sAA", "FDD", { 0, 1, 1 }, 5000 },
};

START_TEST(streams_are_judged_by_themselves)
{
	conf->publish.timeout_ms = 5000;
	script(company[_i].keys, company[_i].acts);
	several(company[_i].types, company[_i].streams);
	for (size_t i = 0; i < batch.n; i++)
		fake.delay[i] = company[_i].delay[i];
	publish_as(company[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + company[_i].took);
	ck_assert(!res.down);
}
END_TEST

/* Nobody dies of it, as often as it may happen. */
START_TEST(outage_of_one_of_two_streams_kills_nothing)
{
	conf->publish.timeout_ms = 5000;
	for (int round = 0; round < 30; round++) {
		next_script("abcd", "sAsA");
		several("xyxy", "1212");
		msgs[0].attempts = msgs[2].attempts = 24;
		publish();
		ck_assert_uint_eq(res.delivered, 2);
		for (size_t i = 0; i < 4; i += 2) {
			ck_assert_int_eq(msgs[i].outcome, OUT_DEFER);
			ck_assert_int_gt(msgs[i].delay_ms, 0);
		}
		now_ms += 5000;
	}
}
END_TEST

/* Sends that the destination refused. */
static unsigned
refusals(void)
{
	unsigned	n = 0;

	for (int i = 0; i < CLASSES; i++)
		n += res.failures.refused[i];
	return n;
}

/* One of a type that was not taken goes first, and not at once. */
START_TEST(type_not_taken_is_tried_with_one)
{
	script("abcd", "XXAA");
	types("xxyy");
	publish_as("FFDD");
	ck_assert_uint_eq(relay.breaker.n, 1);
	ck_assert_uint_eq(refusals(), 2);

	next_script("abcdaa", "AAAAAA");
	types("xxxyyx");
	publish_as("FFFDUU");
	expect_sent("3");
	ck_assert_uint_eq(refusals(), 0);
	ck_assert(!res.down);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_ge(msgs[i].delay_ms, 500);

	now_ms += 2000;
	next_script("abcdd", "XAAAA");
	types("xxxyx");
	publish_as("FFFDF");
	expect_sent("03");

	now_ms += 40000;
	next_script("abcd", "AAAA");
	types("xxxy");
	publish_as("DDDD");
	expect_sent("0312");
	ck_assert_uint_eq(relay.breaker.n, 0);
}
END_TEST

/* Ask for a probe of the only type; true: it was. */
static bool
asks(void)
{
	uint64_t	groups[TYPE_BREAKER_MAX];
	size_t		n = type_breaker_wanted(&relay.breaker, 0, now_ms,
			    groups);

	ck_assert_uint_le(n, 1);
	if (n == 1)
		ck_assert_uint_eq(groups[0], msg_group(&msgs[0]));
	return n == 1;
}

/*
 * The broker says that no stream takes it: all are held, and one is asked for
 * when the probe is due, by when it may be claimed.
 */
START_TEST(type_without_a_stream_is_held)
{
	script("abcd", "NNAA");
	types("xxyy");
	publish_as("FFDD");
	ck_assert_uint_eq(res.refused, 2);
	ck_assert_int_eq(relay.breaker.items[0].class, CLASS_NO_STREAM);
	ck_assert_str_eq(relay.breaker.items[0].subject, "events.x");
	/* Its probe is sent once, without the rounds for an election. */
	for (int i = 0; i < 10; i++) {
		for (size_t k = 0; k < 2; k++) {
			ck_assert_int_eq(msgs[k].hold_ms,
			    fake.sent_at[k] == 0 ? 60000 : 120000);
			ck_assert_int_le(now_ms + msgs[k].delay_ms,
			    relay.breaker.items[0].until);
		}
		ck_assert(!asks());
		now_ms += 700;
		ck_assert(!asks());
		now_ms += 1700;
		ck_assert(asks());
		ck_assert(!asks());
		next_script("abc", "NAA");
		types("xxy");
		publish_as("FFD");
		expect_sent("02");
		ck_assert(!relay.breaker.released);
	}
	now_ms += 2400;
	next_script("abc", "AAA");
	types("xxy");
	publish_as("DDD");
	ck_assert(relay.breaker.released);
	ck_assert_uint_eq(relay.breaker.n, 0);
}
END_TEST

/*
 * Nobody takes it as the stream has no leader: no subject is to blame.  After a
 * while without one another server may know one.
 */
START_TEST(stream_without_a_leader_blames_no_subject)
{
	bool	is = _i == SAID || _i == MUTE || _i == LATE;

	script("a", "A");
	types("x");
	publish_as("D");
	for (int i = 0; i < (is ? 2 : 1); i++) {
		next_script("ab", "NN");
		fake.leaderless = _i;
		types("xy");
		publish();
		/* If it is fit, it would take others: it is not down. */
		ck_assert(res.stream_fits == (_i == NOT));
		ck_assert(res.down == (_i != NOT));
		if (res.down)
			ck_assert_int_eq(res.class, is ? CLASS_OFFLINE :
			    CLASS_NO_STREAM);
		holds(msgs[1].error, _i == LATE ? "has a leader only now" :
		    is ? "stream EVENTS has no leader" :
		    "no stream takes subject");
		for (size_t k = 0; k < 2; k++) {
			ck_assert(type_breaker_is_blamed(&relay.breaker,
			    &msgs[k]) == (_i == NOT));
			ck_assert_int_eq(relay.breaker.items[k].class, is ?
			    CLASS_OFFLINE : CLASS_NO_STREAM);
		}
		ck_assert(res.elsewhere == (is && i == 1));
		now_ms += 10000;
	}
}
END_TEST

/* So may one in place of a server that is silent, or does not hear. */
START_TEST(another_server_may_answer)
{
	script("ab", "ss");
	publish();
	ck_assert(res.elsewhere);
	now_ms += 10000;
	next_script("ab", "As");
	publish();
	ck_assert(!res.elsewhere);
	now_ms += 10000;
	next_script("ab", "XX");
	publish();
	ck_assert(!res.elsewhere);
}
END_TEST

/*
 * The one that was asked for does not come: another one is, each second.  If
 * none ever comes, no message has the type: all are released.
 */
START_TEST(type_that_no_message_has_is_forgotten)
{
	int	n = 0;

	script("ab", "NA");
	types("xy");
	publish();
	/* The worker stood still: nobody was asked meanwhile. */
	now_ms += 600000;
	while (asks()) {
		ck_assert_int_eq(type_breaker_wants_at(&relay.breaker, 0),
		    now_ms + 1000);
		now_ms += 1000;
		n++;
	}
	ck_assert_int_eq(n, 3);
	ck_assert_uint_eq(relay.breaker.n, 0);
	ck_assert(relay.breaker.released);
}
END_TEST

static const struct {
	const char	*complaint;
	enum error_class class;
	bool		 silent;
} complaints[] = {
	{ NULL, CLASS_TIMEOUT, true },
	{ "slow consumer", CLASS_TIMEOUT, true },
	{ "Permissions Violation for Publish", CLASS_PERMISSION, false },
};

/* A complaint of the server is no answer: such a probe costs a time-out. */
START_TEST(complaint_is_no_answer)
{
	script("a", "s");
	types("x");
	fake.complaint = complaints[_i].complaint;
	publish_as("F");
	ck_assert(res.down);
	ck_assert(res.elsewhere == complaints[_i].silent);
	ck_assert_int_eq(res.class, complaints[_i].class);
	next_script("a", "A");
	types("y");
	publish();
	next_script("a", "s");
	types("x");
	fake.complaint = complaints[_i].complaint;
	publish_as("F");
	ck_assert(type_breaker_is_blamed(&relay.breaker, &(struct msg){
	    .type = BYTES("x") }));
	/* Its messages are held as well, and longer. */
	ck_assert_int_eq(msgs[0].hold_ms, 120000);
	now_ms += 40000;
	for (int i = 0; i < 60; i++, now_ms += 1000)
		ck_assert(asks());
}
END_TEST

/* Nor is the answer of another stream: that of the right one is waited for. */
START_TEST(answer_of_another_stream_costs_a_wait)
{
	for (int i = 0; i < 8; i++) {
		now_ms += 40000;
		next_script("ab", "QA");
		types("xy");
		publish_as("FD");
	}
	ck_assert_int_eq(relay.breaker.items[0].class, CLASS_WRONG_STREAM);
	ck_assert_int_gt(relay.breaker.items[0].until, now_ms + 4000);
}
END_TEST

/* While no message that is held is offered, none is asked for. */
START_TEST(no_probe_is_missed_during_a_stall)
{
	uint64_t	groups[TYPE_BREAKER_MAX];
	int64_t		from;

	script("ab", "NA");
	types("xy");
	publish();
	from = now_ms + 60000;
	ck_assert_int_eq(type_breaker_wants_at(&relay.breaker, from), from);
	for (; now_ms < from; now_ms += 10000)
		ck_assert_uint_eq(type_breaker_wanted(&relay.breaker, from,
		    now_ms, groups), 0);
	ck_assert(asks());
}
END_TEST

/*
 * All messages of a blamed type are too long, which tells nothing of the type:
 * it is not forgotten, as there are messages.  They are no probes of it.
 */
START_TEST(probe_at_its_own_fault_is_one)
{
	script("ab", "NA");
	types("xy");
	publish();
	limit_connected(&relay.reach[DRIVER_NATS].limit, 8000, now_ms);
	limit_connected(&relay.reach[DRIVER_NATS].limit, 5000, now_ms);
	now_ms += 2400;
	for (int i = 0; i < 20; i++) {
		ck_assert(asks());
		next_script("ab", "oA");
		types("xy");
		publish_as("FD");
		ck_assert_int_eq(msgs[0].hold_ms, 0);
		ck_assert_int_eq(msgs[0].delay_ms, 5000);
		now_ms += 1000;
	}
	ck_assert_uint_eq(relay.breaker.n, 1);
}
END_TEST

/*
 * Refused once, and others were taken since: for a while that shows that the
 * type is to blame.  Later it is refused for the first time.
 */
START_TEST(refusal_long_ago_tells_nothing)
{
	int64_t	first, pause = _i == 0 ? 30000 : 600000;

	script("a", "X");
	types("x");
	publish();
	first = relay.breaker.items[0].since;
	now_ms += 10;
	next_script("a", "A");
	types("y");
	publish();
	now_ms += pause;
	next_script("a", "X");
	types("x");
	publish_as("F");
	ck_assert(res.down == (_i == 1));
	ck_assert_uint_eq(relay.breaker.n, 1);
	ck_assert_int_ge(relay.breaker.items[0].since,
	    first + (_i == 1 ? pause : 0));
}
END_TEST

/* One that is refused again and again is not forgotten, blamed or not. */
START_TEST(refusals_in_a_row_have_one_beginning)
{
	int64_t	first;

	script("ab", _i == 0 ? "XX" : "XA");
	types("xy");
	publish();
	first = relay.breaker.items[0].since;
	for (int i = 0; i < 10; i++) {
		now_ms += 50000;
		next_script("a", "X");
		types("x");
		publish_as("F");
		ck_assert(res.down == (_i == 0));
	}
	ck_assert_int_eq(relay.breaker.items[0].since, first);
}
END_TEST

/* Alone it may be the route, until another type is taken. */
START_TEST(type_is_blamed_by_later_batches)
{
	script("a", "N");
	types("x");
	fake.leaderless = UNFIT;
	publish();
	ck_assert(res.down);
	ck_assert_int_eq(res.class, CLASS_NO_STREAM);
	now_ms += 10;
	next_script("a", "A");
	types("y");
	publish();
	now_ms += 2400;
	next_script("a", "N");
	types("x");
	publish_as("F");
	ck_assert(!res.down);
	ck_assert(type_breaker_is_blamed(&relay.breaker, &(struct msg){
	    .type = BYTES("x") }));
}
END_TEST

/* Was it the route?  Then nothing waits, but of each type one goes first. */
START_TEST(types_are_sampled_after_a_silence)
{
	script("abcde", "sssss");
	types("xxyyy");
	publish_as("FFFFF");
	ck_assert(res.down && res.elsewhere);

	next_script("abcdeff", "ssAAAAX");
	types("xxyyyzz");
	publish_as("FFDDDDF");
	expect_sent("025346");
	ck_assert(!res.down);
}
END_TEST

/* One that stood aside in front of it is told why it was not sent. */
START_TEST(silence_is_told_to_those_aside)
{
	script("a", "s");
	publish();
	next_script("ab", "As");
	suspects[0] = (struct suspect){ msgs[1].sequence, 1 };
	relay.met[0] = msgs[1].sequence;
	publish_as("FF");
	expect_sent("1");
	holds(msgs[0].error, "not sent");
}
END_TEST

/* A connection that goes says nothing of those that stood aside. */
START_TEST(lost_connection_is_not_the_type)
{
	script("ab", "ss");
	types("xx");
	publish();
	next_script("abc", "AAA");
	types("yxx");
	fake.delay[1] = 20;
	fake.lose_wait = 2;
	publish_as("DUU");
	expect_sent("01");
	ck_assert(!type_breaker_is_blamed(&relay.breaker, &(struct msg){
	    .type = BYTES("x") }));
}
END_TEST

START_TEST(type_at_fault_says_nothing_of_the_route)
{
	conf->publish.timeout_ms = 5000;
	script("ab", "XA");
	types("xy");
	publish();
	now_ms += 2000;
	next_script("abc", "sAA");
	types("xxx");
	publish_as("FFF");
	ck_assert_int_eq(res.delivered, 0);
	ck_assert(!res.down && !res.elsewhere);
	ck_assert_int_eq(now_ms, START_MS + 1 + 2000 + 500);
}
END_TEST

/* Its refusal may come before the others' answers: it is to blame as well. */
START_TEST(type_refused_before_others_are_taken)
{
	script("a", "X");
	types("x");
	publish();
	ck_assert(res.down);
	next_script("ab", "XA");
	types("xy");
	fake.delay[1] = 20;
	publish_as("FD");
	ck_assert(type_breaker_is_blamed(&relay.breaker, &(struct msg){
	    .type = BYTES("x") }));
	now_ms += 2000;
	next_script("a", "X");
	types("x");
	publish_as("F");
	ck_assert(!res.down);
}
END_TEST

/* A message at its own fault tells nothing of its type: the next is tried. */
START_TEST(own_fault_tells_nothing_of_the_type)
{
	script("ab", "XA");
	types("xy");
	publish();
	now_ms += 2000;
	next_script("abcd", "RRAA");
	types("xxxx");
	publish_as("XXDD");
	expect_sent("23");
}
END_TEST

/* Nor does it with nowhere to die, nor does what is in process elsewhere. */
START_TEST(own_fault_without_dead_letters_tells_nothing)
{
	relay.has_dead = _i != 0;
	script("ab", _i == 0 ? "RA" : "TA");
	types("xy");
	publish_as("RD");
	ck_assert_uint_eq(relay.breaker.n, 0);
}
END_TEST

/* Only so many are remembered; more do no harm. */
START_TEST(many_types_do_no_harm)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	    "abcdefghijklmnopqrstuvwxyz!#$%&";

	script_many(sizeof(legal) - 1, 'X');
	types(legal);
	publish();
	ck_assert_uint_eq(relay.breaker.n, TYPE_BREAKER_MAX);
	next_script("ab", "AA");
	types("A&");
	publish_as("DD");
}

void
add_types(TCase *tc)
{
	tcase_add_test(tc, type_without_a_stream_is_held);
	tcase_add_loop_test(tc, stream_without_a_leader_blames_no_subject, NOT,
	    UNFIT + 1);
	tcase_add_test(tc, another_server_may_answer);
	tcase_add_test(tc, answer_of_another_stream_costs_a_wait);
	tcase_add_test(tc, type_that_no_message_has_is_forgotten);
	tcase_add_loop_test(tc, complaint_is_no_answer, 0, NROWS(complaints));
	tcase_add_test(tc, no_probe_is_missed_during_a_stall);
	tcase_add_test(tc, probe_at_its_own_fault_is_one);
	tcase_add_loop_test(tc, refusal_long_ago_tells_nothing, 0, 2);
	tcase_add_loop_test(tc, refusals_in_a_row_have_one_beginning, 0, 2);
	tcase_add_test(tc, type_is_blamed_by_later_batches);
	tcase_add_test(tc, type_not_taken_is_tried_with_one);
	tcase_add_test(tc, types_are_sampled_after_a_silence);
	tcase_add_test(tc, silence_is_told_to_those_aside);
	tcase_add_test(tc, lost_connection_is_not_the_type);
	tcase_add_test(tc, type_at_fault_says_nothing_of_the_route);
	tcase_add_test(tc, type_refused_before_others_are_taken);
	tcase_add_test(tc, own_fault_tells_nothing_of_the_type);
	tcase_add_loop_test(tc, own_fault_without_dead_letters_tells_nothing,
	    0, 2);
	tcase_add_test(tc, many_types_do_no_harm);
	tcase_add_loop_test(tc, smaller_limit_has_to_last, 0, NROWS(limits));
	tcase_add_test(tc, larger_limit_ends_the_wait);
	tcase_add_test(tc, raised_limit_is_asked_for);
	tcase_add_loop_test(tc, limit_may_change_while_connected, 0, 2);
	tcase_add_test(tc, smaller_limit_is_not_the_type);
	tcase_add_loop_test(tc, streams_are_judged_by_themselves, 0,
	    NROWS(company));
	tcase_add_test(tc, outage_of_one_of_two_streams_kills_nothing);
}
