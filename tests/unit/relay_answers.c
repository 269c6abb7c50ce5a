/*
 * relay_answers.c - answers that do not come, or not as they should
 *
 * Nobody there, timeouts, late and strange answers, a stream that goes back,
 * and messages that end the worker before there is one.
 */
#include "unit/relay_test.h"

#include <jansson.h>

END_TEST

START_TEST(refusal_without_a_name_costs_no_timeout)
{
	script("abc", "NAN");
	relay.absent_until = START_MS + 2;	/* it was in vain just now */
	publish_as("FDF");
	ck_assert_int_eq(now_ms, START_MS + 1);
}
END_TEST

/* 50, 100 and 200 ms, each with the way there and back. */
static const struct {
	const char	*acts, *outcomes;
	int64_t		 took;
} absences[] = {
	{ "1A", "DD", 1 + 50 + 1 },
	{ "2A", "DD", 1 + 50 + 1 + 100 + 1 },
	{ "3A", "DD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "NA", "FD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "PA", "FD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "33", "DD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
};

START_TEST(nobody_there_is_asked_again)
{
	script("ab", absences[_i].acts);
	publish_as(absences[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + absences[_i].took);
	ck_assert(!res.down);
}
END_TEST

/* In vain once, it does not hold up the batches that follow; for a while. */
START_TEST(in_vain_is_remembered)
{
	int64_t	start = now_ms;

	script("ab", "NA");
	publish();
	ck_assert_int_eq(now_ms, start + 354);
	now_ms += 9000;
	start = now_ms;
	next_script("ab", "NA");
	publish_as("FD");
	ck_assert_int_eq(now_ms, start + 1);
	now_ms += 1000;
	start = now_ms;
	next_script("ab", "1A");
	publish_as("DD");
	ck_assert_int_eq(now_ms, start + 52);
}
END_TEST

/* The claim's end is near: not a single send more. */
START_TEST(no_round_after_the_deadline)
{
	int64_t	spare = conf->worker.claim_ttl - TIMEOUT_MS -
		    CONF_CLAIM_MARGIN_MS;

	script("a", "N");
	batch.claimed_at = now_ms - spare + 60;
	publish_as("F");
	expect_sent("00");
	ck_assert_int_eq(now_ms, START_MS + 52);
}
END_TEST

/* Others are out meanwhile, for longer than the rounds take. */
START_TEST(others_go_on_between_the_rounds)
{
	script("abbb", "PAAA");
	for (size_t i = 1; i < 4; i++)
		fake.delay[i] = 80;
	publish_as("FDDD");
	ck_assert_int_eq(fake.sent_at[3], START_MS + 160);
	ck_assert_uint_eq(fake.nsent, 7);
}
END_TEST

/* Sent again, it has its whole time once more. */
START_TEST(a_round_begins_a_timeout)
{
	script("ab", "PA");
	fake.delay[0] = 70;
	publish_as("FD");
	holds(msgs[0].error, "no stream takes subject");
	ck_assert_int_eq(now_ms, START_MS + 4 * 70 + 350);
}
END_TEST

/* And is no reason to wait for another one for longer than its own time. */
START_TEST(a_round_delays_no_timeout)
{
	script("abcdefgh", "sPsAAAAA");
	conf->publish.window = 4;
	fake.delay[1] = 45;
	fake.delay[3] = 60;
	fake.delay[4] = 50;
	publish();
	/*
	 * b is out again from 95 on.  The time of a and c is over at 100 all
	 * the same, so two may go then.
	 */
	expect("FFFDDDDD");
	ck_assert_int_eq(fake.sent_at[5], START_MS + 100);
	ck_assert_int_eq(fake.sent_at[6], START_MS + 100);
}
END_TEST

/* Its answer was under way: it was another one that nobody took. */
START_TEST(answer_in_between_the_rounds)
{
	script("aab", "1AA");
	fake.strange[0] = 0;
	fake.nstrange = 1;
	fake.strange_at = START_MS + 20;
	publish_as("DDD");
	expect_sent("021");
	ck_assert_uint_eq(res.failed, 0);
}
END_TEST

/* With nothing out there is no answer to wait for. */
/*
 * Dead by attempts, perhaps stored: until it is buried its successor, if we
 * are killed now, would send it again, behind what follows it.
 */
START_TEST(lane_waits_for_the_burial)
{
	conf->retry.blame_after = 0;
	for (int i = 0; i < 4; i++) {
		next_script("aab", "sAA");
		publish_as("FUD");
	}
	next_script("aab", "sAA");
	msgs[0].attempts = 24;
	publish_as("XUD");
	ck_assert_int_eq(fake.sent_at[1], 0);
}
END_TEST

/* The place of one whose time is over is taken at once. */
START_TEST(timeout_makes_room)
{
	script("abcd", "sAsA");
	conf->publish.window = 2;
	fake.delay[1] = 10;
	publish_as("FDFD");
	ck_assert_int_eq(fake.sent_at[2], START_MS + 10);
	ck_assert_int_eq(fake.sent_at[3], START_MS + 100);
}
END_TEST

START_TEST(timeouts_run_one_by_one)
{
	script("abbb", "sAsA");
	fake.delay[1] = 60;
	publish();
	/*
	 * The third is sent at 60 and has until 160.  No ack came after it:
	 * the silence may be the destination's.
	 */
	expect("FDFU");
	ck_assert_int_eq(fake.sent_at[2], START_MS + 60);
	ck_assert_int_ge(now_ms, START_MS + 160);
	ck_assert(!res.down);
}
END_TEST

/* A long lane keeps the batch out for long enough to hear of it. */
START_TEST(late_ack_is_an_ack)
{
	script("aabbb", _i == 0 ? "AAAAA" : "DAAAA");
	fake.delay[0] = 150;
	for (size_t i = 2; i < 5; i++)
		fake.delay[i] = 80;
	publish_as("DUDDD");
	ck_assert_int_eq(fake.sent_at[1], 0);
	ck_assert_uint_eq(res.failed, 0);
}
END_TEST

static const char	late_failures[] = "TXM";

START_TEST(late_failure_changes_nothing)
{
	char	acts[] = "?AAAA";

	acts[0] = late_failures[_i];
	script("aabbb", acts);
	fake.delay[0] = 150;
	for (size_t i = 2; i < 5; i++)
		fake.delay[i] = 80;
	publish_as("FUDDD");
	ck_assert_uint_eq(res.failed, 1);
	holds(msgs[0].error, "no answer");
}
END_TEST

/* One late ack, and the silence was not the destination's. */
START_TEST(late_ack_shows_that_the_route_works)
{
	conf->publish.window = 3;
	script("abcd", "AsTT");
	fake.delay[0] = 150;
	fake.delay[2] = fake.delay[3] = 90;
	publish_as("DFRR");
	ck_assert(!res.down);
	ck_assert_uint_eq(res.failed, 3);
}
END_TEST

START_TEST(strange_answers_do_no_harm)
{
	script("aabB", "AsTA");
	conf->publish.window = 1;
	/* Not sent yet, sent by nobody, held. */
	fake.strange[0] = 1;
	fake.strange[1] = 4;
	fake.strange[2] = UINT32_MAX - 1;
	fake.strange[3] = 3;
	fake.nstrange = 4;
	publish_as("DFRU");
}
END_TEST

START_TEST(second_answer_counts_once)
{
	script("aab", "AAA");
	fake.delay[1] = fake.delay[2] = 50;
	fake.strange[0] = 0;
	fake.strange[1] = 0;
	fake.nstrange = 2;
	/* The fake's own answer is the third. */
	publish_as("DDD");
	expect_sent("021");
}
END_TEST

static const struct {
	uint64_t	 ack;		/* the highest before */
	const char	*acts, *outcomes;
	uint64_t	 top;		/* and after */
} tops[] = {
	{ 0, "AAAA", "DDDD", FIRST_ACK + 3 },
	{ FIRST_ACK - 1, "ADAA", "DDDD", FIRST_ACK + 3 },
	{ FIRST_ACK, "DAAA", "DDDD", FIRST_ACK + 3 },	/* an old one again */
	{ FIRST_ACK, "AAAA", "DUUU", FIRST_ACK },
	{ FIRST_ACK + 50, "DTDA", "DRDD", FIRST_ACK + 50 },
};

START_TEST(stream_that_goes_back_is_noticed)
{
	bool	back = strchr(tops[_i].outcomes, 'U') != NULL ||
		    tops[_i].ack > FIRST_ACK;

	script("abcd", tops[_i].acts);
	conf->publish.window = 1;
	relay.top = (struct acked){ { .sequence = 1 }, tops[_i].ack };
	publish_as(tops[_i].outcomes);
	ck_assert(relay.went_back == back);
	ck_assert_uint_eq(relay.top.ack, tops[_i].top);
	if (!back)
		ck_assert_uint_eq(relay.top.id.sequence, msgs[3].sequence);
}
END_TEST

START_TEST(nobody_watches_places)
{
	script("abcd", "AAAA");
	relay.watch = false;
	relay.top = (struct acked){ { .sequence = 1 }, FIRST_ACK + 50 };
	publish_as("DDDD");
	ck_assert(!relay.went_back);
}
END_TEST

/*
 * The publisher says lost, even if the connection looks open: nobody may
 * take this for a batch without trouble and start the next one at once.
 */
START_TEST(lost_is_lost)
{
	script("abc", "AAA");
	fake.lose_send = 1;
	fake.pretend = true;
	publish_as("UUU");
	ck_assert(res.down);
	ck_assert_str_ne(res.why.text, "");
}
END_TEST

/*
 * Others are always out until the time of the refused one is over.  Then its
 * refusal must not be left for one of them, nor count as its own failure.
 */
START_TEST(refusal_without_a_name_may_time_out)
{
	script("abcbc", "NAAAA");
	fake.delay[1] = 60;
	fake.delay[2] = 70;
	fake.delay[3] = fake.delay[4] = 80;
	publish();
	ck_assert_int_eq(msgs[4].outcome, OUT_DELIVERED);
	expect("FDDDD");
}
END_TEST

/* It goes into a column, where strict SQL refuses half a character. */
START_TEST(error_is_utf8)
{
	static const char	acts[] = "TXM";
	char			act[] = "??";
	json_t			*j;

	act[0] = act[1] = acts[_i];
	script("ab", act);
	fake.text = "stream \xff \xe2\x82";
	publish();
	j = json_string(msgs[0].error);
	ck_assert_msg(j != NULL, "no UTF-8: %s", msgs[0].error);
	json_decref(j);
	holds(msgs[0].error, "stream ");
}
END_TEST

START_TEST(left_out_metadata_is_counted)
{
	script("aab", "A1R");
	msgs[0].metadata = BYTES("{\"a\":[],\"b\":{},\"c\":1}");
	msgs[1].metadata = BYTES("{\"a\":null}");
	publish();
	ck_assert_uint_eq(res.skipped, 3);
}
END_TEST

/* What ended workers waits for the others once, and then goes first. */
START_TEST(suspect_goes_alone)
{
	script("abbcb", "AAAAA");
	suspects[7 * _i] = (struct suspect){ msgs[2].sequence, 1 + _i };
	publish_as("DDFDU");
	expect_sent("013");
	holds(msgs[2].error, "its worker died");
	ck_assert_uint_eq(res.failed, 1);
	ck_assert_int_eq(msgs[2].delay_ms, 1000);
	next_script("abbcb", "AAAAA");
	/* The same row in another place. */
	msgs[2].sequence = 200;
	msgs[3].sequence = suspects[7 * _i].sequence;
	publish_as("DDDDD");
	expect_sent("30124");
}
END_TEST

/* Its lane waits for the burial. */
static const struct {
	unsigned	 deaths, max;
	bool		 no_dead;
	const char	*outcomes;
} killers[] = {
	{ 24, 25, false, "DFUD" }, { 25, 25, false, "DXUD" },
	{ 26, 25, false, "DXUD" }, { 25, 25, true, "DRUD" },
	/* One death proves nothing: somebody has killed its worker. */
	{ 1, 1, false, "DFUD" }, { 2, 1, false, "DXUD" },
	{ 1, 2, false, "DFUD" }, { 2, 2, false, "DXUD" },
};

START_TEST(poison_is_dead)
{
	script("abbc", "AAAA");
	suspects[9] = (struct suspect){ msgs[1].sequence, killers[_i].deaths };
	relay.has_dead = !killers[_i].no_dead;
	conf->retry.max_attempts = killers[_i].max;
	publish_as(killers[_i].outcomes);
	expect_sent("03");
	if (killers[_i].outcomes[1] != 'X')
		return;
	ck_assert_str_eq(msgs[1].reason, "poison");
	holds(msgs[1].error, "killed its worker 2");
	/* Brought back by hand it is tried. */
	next_script("abbc", "AAAA");
	publish_as("DDDD");
}
END_TEST

/* Two that take turns to kill are each deferred once, and not for ever. */
START_TEST(each_suspect_waits_once)
{
	script("abc", "AAA");
	suspects[0] = (struct suspect){ msgs[0].sequence, 1 };
	suspects[3] = (struct suspect){ msgs[1].sequence, 1 };
	publish_as("FFD");
	next_script("abc", "AAA");
	publish_as("DDD");
	/* Delivered, they are none any more. */
	ck_assert_uint_eq(suspect_used(suspects, SUSPECTS), 0);
}
END_TEST

START_TEST(no_suspects_need_be_known)
{
	relay.suspects = NULL;
	script("ab", "AA");
	publish_as("DD");
}
END_TEST

START_TEST(no_suspect_is_no_message)
{
	script("ab", "AA");
	msgs[0].sequence = 0;
	publish_as("DD");
}
END_TEST

START_TEST(handling_need_not_be_told)
{
	script("ab", "Ae");
	relay.handling = NULL;
	fake.blind = true;
	memset(&res, 'x', sizeof(res));
	relay_publish(&relay, &batch, &res);
	expect("DF");
}
END_TEST

void
add_answers(TCase *tc)
{
	tcase_add_test(tc, refusal_without_a_name_costs_no_timeout);
	tcase_add_loop_test(tc, nobody_there_is_asked_again, 0,
	    NROWS(absences));
	tcase_add_test(tc, in_vain_is_remembered);
	tcase_add_test(tc, no_round_after_the_deadline);
	tcase_add_test(tc, others_go_on_between_the_rounds);
	tcase_add_test(tc, a_round_begins_a_timeout);
	tcase_add_test(tc, a_round_delays_no_timeout);
	tcase_add_test(tc, answer_in_between_the_rounds);
	tcase_add_test(tc, lane_waits_for_the_burial);
	tcase_add_test(tc, timeout_makes_room);
	tcase_add_test(tc, timeouts_run_one_by_one);
	tcase_add_loop_test(tc, late_ack_is_an_ack, 0, 2);
	tcase_add_loop_test(tc, late_failure_changes_nothing, 0,
	    (int)strlen(late_failures));
	tcase_add_test(tc, late_ack_shows_that_the_route_works);
	tcase_add_test(tc, strange_answers_do_no_harm);
	tcase_add_test(tc, second_answer_counts_once);
	tcase_add_loop_test(tc, stream_that_goes_back_is_noticed, 0,
	    NROWS(tops));
	tcase_add_test(tc, nobody_watches_places);
	tcase_add_test(tc, lost_is_lost);
	tcase_add_test(tc, refusal_without_a_name_may_time_out);
	tcase_add_loop_test(tc, error_is_utf8, 0, 3);
	tcase_add_test(tc, left_out_metadata_is_counted);
	tcase_add_loop_test(tc, suspect_goes_alone, 0, 2);
	tcase_add_loop_test(tc, poison_is_dead, 0, NROWS(killers));
	tcase_add_test(tc, each_suspect_waits_once);
	tcase_add_test(tc, no_suspects_need_be_known);
	tcase_add_test(tc, no_suspect_is_no_message);
	tcase_add_test(tc, handling_need_not_be_told);
}
