/*
 * relay_looks.c - duplicates of an id that its author gave: whose are they
 */
#include "unit/relay_test.h"

#include "util/clock.h"

static void
named(const char *keys, const char *acts)
{
	script(keys, acts);
	name_rows();
}

START_TEST(id_of_ours_is_ours)
{
	script("ab", "DD");
	publish_as("DD");
	ck_assert_uint_eq(fake.nlooks, 0);
	ck_assert_uint_eq(res.renamed + res.unread, 0);
}
END_TEST

START_TEST(own_message_is_delivered)
{
	named("ab", "OA");
	publish_as("DD");
	expect_sent("01");
	ck_assert_uint_eq(fake.nlooked, 1);
	ck_assert_uint_eq(res.renamed + res.unread, 0);
	ck_assert_str_eq(fake.author_id[0], "");
}
END_TEST

static const struct {
	const char	*acts;
	unsigned	 replay;
	const char	*author_id, *id;
} foreigners[] = {
	{ "F", 0, "m-0", "" },
	{ "V", 0, "m-0", "" },
	{ "W", 0, "m-0", "" },		/* of the same outbox */
	{ "F", 2, "m-0-r2", "-r2" },
};

/* It goes under our id, with its author's beside it. */
START_TEST(foreign_message_keeps_nobody_out)
{
	struct buf	id = { 0 };

	named("a", foreigners[_i].acts);
	msgs[0].replay = foreigners[_i].replay;
	publish_as("D");
	expect_sent("00");
	ck_assert_uint_eq(res.renamed, 1);
	ck_assert_uint_eq(res.unread, 0);
	holds(res.renamed_why.text, "m-0");
	ck_assert_str_eq(fake.author_id[0], foreigners[_i].author_id);
	message_id_put(&id, "shop", &(struct message_id){ .sequence = 100,
	    .replay = msgs[0].replay, .hash = msgs[0].hash });
	ck_assert_str_eq(fake.id[0], id.data);
	holds(fake.id[0], foreigners[_i].id);
	buf_free(&id);
}
END_TEST

/* An author's own second row: its message is there, but not in its place. */
START_TEST(same_contents_are_the_same_message)
{
	named("a", "w");
	publish_as("D");
	expect_sent("0");
	ck_assert_uint_eq(res.renamed + res.unread, 0);
	ck_assert_uint_eq(res.duplicates, 1);
	ck_assert_uint_eq(msgs[0].ack_sequence, 0);
}
END_TEST

/* Nothing of its lane is sent before it is known. */
START_TEST(lane_waits_for_the_look)
{
	named("aab", "FAA");
	fake.delay[2] = 30;
	publish_as("DDD");
	expect_sent("0201");
	ck_assert_int_ge(fake.sent_at[1], START_MS + 30);
}
END_TEST

START_TEST(what_is_gone_counts_as_delivered)
{
	named("ab", "GO");
	publish_as("DD");
	expect_sent("01");
	ck_assert_uint_eq(res.unread, 1);
	ck_assert_uint_eq(res.renamed, 0);
	holds(res.unread_why.text, "m-0");
}
END_TEST

/* A flood costs a question for each window, not for each message. */
START_TEST(many_are_read_together)
{
	script_many(1000, 'O');
	name_rows();
	publish();
	ck_assert_uint_eq(res.delivered, 1000);
	ck_assert_uint_eq(fake.nlooked, 1000);
	ck_assert_uint_le(fake.nlooks, 2);
}
END_TEST

/* Then the next ones are not read for a minute. */
START_TEST(broker_that_does_not_tell)
{
	named("ab", "FF");
	fake.look_fails = _i == 0;
	fake.look_is_forbidden = _i == 1;
	publish_as("DD");
	ck_assert_uint_eq(res.unread, 2);
	holds(res.unread_why.text, _i == 0 ? "no answer to the fake" : "Permission");
	next_script("ab", "FF");
	name_rows();
	publish_as("DD");
	ck_assert_uint_eq(fake.nlooks, 0);
	ck_assert_uint_eq(res.unread, 2);
	now_ms += 60001;
	next_script("a", "F");
	name_rows();
	publish_as("D");
	ck_assert_uint_eq(fake.nlooks, 1);
	ck_assert_uint_eq(res.renamed, 1);
}
END_TEST

/* What was read is known all the same. */
START_TEST(what_was_read_before_it_failed_counts)
{
	named("abc", "FOF");
	fake.look_fails = true;
	fake.look_reads = 2;
	publish_as("DDD");
	expect_sent("0120");
	ck_assert_uint_eq(res.renamed, 1);
	ck_assert_uint_eq(res.unread, 1);
}
END_TEST

START_TEST(lost_connection_leaves_it_in_doubt)
{
	named("aab", "FAA");
	fake.look_loses = true;
	publish_as("UUD");
	ck_assert(res.down);
	ck_assert(msgs[0].in_doubt);
	ck_assert(!msgs[1].in_doubt);
	ck_assert_uint_eq(res.renamed + res.unread, 0);
}
END_TEST

START_TEST(end_of_the_worker_leaves_it_in_doubt)
{
	named("aab", "FAA");
	fake.keep_at = 3;
	fake.keep = KEEP_ABANDON;
	publish_as("?UD");
}
END_TEST

/* It may finish what it has begun: then it is sent, but nothing after it. */
START_TEST(finishing_still_looks)
{
	named("aa", "OA");
	fake.keep_at = 2;
	fake.keep = KEEP_FINISH;
	publish_as("DU");
	ck_assert_uint_eq(fake.nlooks, 1);
}
END_TEST

/* Known to be foreign too late: the next claim sends it. */
START_TEST(nothing_is_sent_after_the_deadline)
{
	named("aab", "FAA");
	batch.claimed_at = now_ms - conf->worker.claim_ttl + TIMEOUT_MS +
	    CONF_CLAIM_MARGIN_MS + 1;
	publish_as("UUD");
	expect_sent("02");
	ck_assert(!msgs[0].in_doubt);
	ck_assert_uint_eq(fake.nlooks, 1);
}
END_TEST

/* The claim is about to end, and nobody has read whose the last one is. */
START_TEST(duplicate_that_nobody_has_read_is_in_doubt)
{
	named("abaa", "OOAA");
	batch.claimed_at = now_ms - conf->worker.claim_ttl + TIMEOUT_MS +
	    CONF_CLAIM_MARGIN_MS + 10;
	fake.look_takes = TIMEOUT_MS + 20;
	publish_as("DFUU");
	ck_assert(msgs[1].in_doubt);
	ck_assert(!msgs[0].in_doubt && !msgs[2].in_doubt);
	ck_assert_uint_eq(res.renamed + res.unread, 0);
}
END_TEST

/* Late, and perhaps another's: it is in doubt, and sent again. */
START_TEST(late_duplicate_may_be_anybodys)
{
	named("aabbb", "OAAAA");
	fake.delay[0] = 150;
	for (size_t i = 2; i < 5; i++)
		fake.delay[i] = 80;
	publish_as("FUDDD");
	ck_assert(msgs[0].in_doubt);
	ck_assert_uint_eq(fake.nlooks, 0);
}
END_TEST

START_TEST(second_answer_changes_nothing)
{
	named("ab", "OA");
	fake.delay[1] = 50;
	fake.strange[0] = fake.strange[1] = 0;
	fake.nstrange = 2;
	fake.strange_at = START_MS + 2;
	publish_as("DD");
	ck_assert_uint_eq(fake.nlooked, 1);
	ck_assert_uint_eq(res.delivered, 2);
}
END_TEST

/* Others that nobody took wait for their round meanwhile. */
START_TEST(look_does_not_wait_for_rounds)
{
	named("ab", "O2");
	publish_as("DD");
	ck_assert_uint_eq(fake.nlooks, 1);
}
END_TEST

START_TEST(driver_without_answers_to_questions)
{
	fake_ops.can_ask = false;
	named("a", "D");
	publish_as("D");
	fake_ops.can_ask = true;
	ck_assert_uint_eq(fake.nlooks, 0);
}
END_TEST

/* Whatever comes: each is told once, and order holds (see check_send). */
START_TEST(looks_at_random)
{
	static const char	all[] = "AAOFVwWGTX1";
	static char		keys[61], acts[61];

	srand((unsigned)_i + 1);
	draw_keys(keys, 60, 6, 20);
	for (size_t i = 0; i < 60; i++)
		acts[i] = all[(size_t)rand() % (sizeof(all) - 1)];
	named(keys, acts);
	conf->publish.window = 1 + rand() % 12;
	for (size_t i = 0; i < 60; i++)
		fake.delay[i] = 1 + rand() % 20;
	fake.look_fails = rand() % 8 == 0;
	fake.look_reads = (size_t)rand() % 5;
	publish();
	relay.blind_until = 0;
	for (size_t i = 0; i < 60; i++) {
		if (acts[i] == 'O' || acts[i] == 'w' || acts[i] == 'G')
			ck_assert_str_eq(fake.author_id[i], "");
		if (msgs[i].outcome == OUT_DELIVERED && !fake.look_fails &&
		    strchr("FVW", acts[i]) != NULL)
			ck_assert_str_ne(fake.author_id[i], "");
	}
}
END_TEST

void
add_looks(TCase *tc)
{
	tcase_add_test(tc, id_of_ours_is_ours);
	tcase_add_test(tc, own_message_is_delivered);
	tcase_add_loop_test(tc, foreign_message_keeps_nobody_out, 0,
	    NROWS(foreigners));
	tcase_add_test(tc, same_contents_are_the_same_message);
	tcase_add_test(tc, lane_waits_for_the_look);
	tcase_add_test(tc, what_is_gone_counts_as_delivered);
	tcase_add_test(tc, many_are_read_together);
	tcase_add_loop_test(tc, broker_that_does_not_tell, 0, 2);
	tcase_add_test(tc, what_was_read_before_it_failed_counts);
	tcase_add_test(tc, lost_connection_leaves_it_in_doubt);
	tcase_add_test(tc, end_of_the_worker_leaves_it_in_doubt);
	tcase_add_test(tc, finishing_still_looks);
	tcase_add_test(tc, nothing_is_sent_after_the_deadline);
	tcase_add_test(tc, duplicate_that_nobody_has_read_is_in_doubt);
	tcase_add_test(tc, late_duplicate_may_be_anybodys);
	tcase_add_test(tc, second_answer_changes_nothing);
	tcase_add_test(tc, look_does_not_wait_for_rounds);
	tcase_add_test(tc, driver_without_answers_to_questions);
	tcase_add_loop_test(tc, looks_at_random, 0, 200);
}
