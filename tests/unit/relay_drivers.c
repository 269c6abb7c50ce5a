/*
 * relay_drivers.c - what the relay does by the facts of a driver
 *
 * The other tests have a driver like JetStream's: answers come in the order of
 * sending.
 */
#include "unit/relay_test.h"

static void
without_order(void)
{
	fake_ops.in_order = fake_ops.names_streams = false;
	relay.form.stream = "";
}

/* Later ones are stored long before, which tells nothing of the first. */
START_TEST(slow_one_is_waited_for)
{
	without_order();
	conf->publish.timeout_ms = 5000;
	script("abc", "AAA");
	fake.delay[0] = 4900;
	publish_as("DDD");
	ck_assert_int_eq(now_ms - START_MS, 4900);
}
END_TEST

/* With order it would be: the same script, seen from the other side. */
START_TEST(slow_one_is_overtaken_with_order)
{
	conf->publish.timeout_ms = 5000;
	script("abc", "AAA");
	fake.delay[0] = 4900;
	publish_as("FDD");
	ck_assert_int_lt(now_ms - START_MS, 1000);
}
END_TEST

static const struct {
	const char	*keys, *acts, *outcomes;
	bool		 down;
} silences[] = {
	/* Only its own time-out counts, and an attempt if others went. */
	{ "abc", "sAA", "RDD", false },
	{ "aab", "sAA", "RUD", false },
	{ "abc", "AAs", "DDF", false },	/* none was sent later */
	{ "abc", "sss", "FFF", true },
	/* An answer that broke off: its own fault only if others went. */
	{ "abc", "LAA", "RDD", false },
	{ "abc", "AAL", "DDR", false },
	{ "aab", "LAA", "RUD", false },
	{ "a", "L", "F", true },
	{ "abc", "LLL", "FFF", true },
	{ "abc", "LXs", "FFF", true },
	/* Of a connection that several share it is the connection's. */
	{ "abc", "KKA", "FFD", false },
	{ "aab", "KAA", "FUD", false },
	{ "abc", "KKK", "FFF", true },
};

START_TEST(silence_is_judged_at_its_time)
{
	without_order();
	script(silences[_i].keys, silences[_i].acts);
	publish_as(silences[_i].outcomes);
	ck_assert_int_eq(res.down, silences[_i].down);
	for (size_t i = 0; i < batch.n; i++)
		ck_assert_int_eq(msgs[i].in_doubt,
		    strchr("sLK", silences[_i].acts[i]) != NULL &&
		    fake.sent_at[i] != 0);
	if (strchr(silences[_i].acts, 's') != NULL)
		ck_assert_int_eq(now_ms - START_MS, TIMEOUT_MS);
}
END_TEST

/* A partition may be slow, or held up by a quota, while others are not. */
START_TEST(silence_of_a_partition_is_nobodys_fault)
{
	without_order();
	fake_ops.finds_in = "topic";
	script("abc", "sAA");
	publish_as("FDD");
	ck_assert(msgs[0].in_doubt);
	fake_ops.finds_in = NULL;
}
END_TEST

/* But who always breaks it has an end. */
START_TEST(message_that_breaks_connections_has_an_end)
{
	without_order();
	for (int i = 0; i < 4; i++) {
		next_script("abc", "KKA");
		without_order();
		publish_as("FFD");
		ck_assert_int_le(msgs[0].delay_ms, 6000);
		now_ms += conf->retry.blame_after / 30;
	}
	next_script("abc", "KAA");
	without_order();
	msgs[0].attempts = (unsigned)conf->retry.max_attempts - 1;
	publish_as("XDD");
}
END_TEST

static void
without_order_alone(const char *acts, const char *outcomes)
{
	now_ms += 30000;
	next_script("a", acts);
	without_order();
	publish_as(outcomes);
}

/*
 * On a quiet route each is alone in its batch.  Who gets no answer, again and
 * again, while others are taken in between, has an end as well; if nothing is
 * taken it has not, nor has what gets none as well.
 */
START_TEST(silence_is_judged_over_batches)
{
	without_order_alone("s", "F");
	without_order_alone("s", "F");
	ck_assert(res.down);
	for (unsigned attempts = 0; attempts < 25; attempts++) {
		now_ms += 30000;
		next_script("a", "A");
		without_order();
		msgs[0].sequence = 99;
		publish_as("D");
		now_ms += 30000;
		next_script("a", "s");
		without_order();
		msgs[0].attempts = attempts;
		publish_as(attempts < 24 ? "R" : "X");
		ck_assert(!res.down && msgs[0].in_doubt);
		ck_assert_int_le(res.stalled_ms, TIMEOUT_MS);
	}
	ck_assert_str_eq(msgs[0].reason, "attempts");
}
END_TEST

/* The broker loses some when a leader goes: that has to last. */
START_TEST(silence_of_the_broker_is_judged_over_batches)
{
	for (unsigned times = 0; times < 6; times++) {
		now_ms += 20000;
		next_script("a", "s");
		publish_as(times < 4 ? "F" : "R");
		ck_assert(res.down == (times == 0));
		next_script("a", "A");
		msgs[0].sequence = 99;
		publish_as("D");
	}
	/* Several streams: which one is silent is not known. */
	for (unsigned times = 0; times < 6; times++) {
		now_ms += 20000;
		relay.form.stream = "";
		next_script("a", "s");
		publish_as("F");
		next_script("a", "A");
		msgs[0].sequence = 99;
		publish_as("D");
	}
}
END_TEST

START_TEST(broken_answer_leads_to_a_dead_letter)
{
	without_order();
	script("ab", "LA");
	msgs[0].attempts = (unsigned)conf->retry.max_attempts - 1;
	publish_as("XD");
	ck_assert_str_eq(msgs[0].reason, "attempts");
}
END_TEST

static const struct {
	int64_t	wish, low, high;
} wishes[] = {
	{ 0, 500, 1500 },
	{ 10, 500, 1500 },
	{ 90000, 90000, 90000 },
	{ 3600000, 3600000, 3600000 },
	{ 3600001, 3600000, 3600000 },
	{ INT64_MAX, 3600000, 3600000 },
};

/* The longer one of its own delay and the wish, which has a limit. */
START_TEST(wish_of_the_answer_is_honoured)
{
	conf->retry.backoff = 1000;
	script("ab", "TA");
	fake.retry_after_ms = wishes[_i].wish;
	publish_as("RD");
	ck_assert_int_ge(msgs[0].delay_ms, wishes[_i].low);
	ck_assert_int_le(msgs[0].delay_ms, wishes[_i].high);
	ck_assert_int_eq(msgs[1].delay_ms, 0);
}
END_TEST

START_TEST(wish_does_not_delay_a_dead_letter)
{
	script("ab", "TA");
	msgs[0].attempts = (unsigned)conf->retry.max_attempts - 1;
	fake.retry_after_ms = 90000;
	publish_as("XD");
	ck_assert_int_eq(msgs[0].delay_ms, 0);
}
END_TEST

START_TEST(no_more_are_out_than_it_takes)
{
	script("abcdef", "AAAAAA");
	fake.capacity = 2;
	publish_as("DDDDDD");
	ck_assert_uint_eq(fake.most_out, 2);
}
END_TEST

START_TEST(window_counts_if_it_is_smaller)
{
	script("abcdef", "AAAAAA");
	fake.capacity = 4;
	conf->publish.window = 3;
	publish_as("DDDDDD");
	ck_assert_uint_eq(fake.most_out, 3);
}
END_TEST

void
add_drivers(TCase *tc)
{
	tcase_add_test(tc, slow_one_is_waited_for);
	tcase_add_test(tc, slow_one_is_overtaken_with_order);
	tcase_add_loop_test(tc, silence_is_judged_at_its_time, 0,
	    NROWS(silences));
	tcase_add_test(tc, silence_of_a_partition_is_nobodys_fault);
	tcase_add_test(tc, message_that_breaks_connections_has_an_end);
	tcase_add_test(tc, silence_is_judged_over_batches);
	tcase_add_test(tc, silence_of_the_broker_is_judged_over_batches);
	tcase_add_test(tc, broken_answer_leads_to_a_dead_letter);
	tcase_add_loop_test(tc, wish_of_the_answer_is_honoured, 0,
	    NROWS(wishes));
	tcase_add_test(tc, wish_does_not_delay_a_dead_letter);
	tcase_add_test(tc, no_more_are_out_than_it_takes);
	tcase_add_test(tc, window_counts_if_it_is_smaller);
}
