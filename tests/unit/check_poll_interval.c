/*
 * check_poll_interval.c - when a worker looks for rows again
 *
 * No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include "worker/poll_interval.h"

/* A look at all partitions. */
static void
looked(struct poll_interval *p, enum poll_found found, int64_t due,
    int64_t began, int64_t now)
{
	poll_interval_polled(p, &(struct poll_result){ .found = found,
	    .all = true, .due = due, .began = began }, now);
}

/* Looks at each moment that comes; what is found, and the pauses. */
static const struct {
	struct poll_interval	before;
	enum poll_found		found;
	int64_t			due;
	int64_t			pauses[8];
} paces[] = {
	{ { .ceiling_ms = 1000 }, POLL_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 10 }, POLL_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 10, 10, 10, 10 } },
	{ { .ceiling_ms = 1 }, POLL_NOTHING, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, POLL_WORK, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, POLL_ALL, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, POLL_ALL, INT64_MAX,
	    { 50, 50, 50, 50, 50, 50, 50, 50 } },
	{ { .ceiling_ms = 3 }, POLL_ALL, INT64_MAX,
	    { 3, 3, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .pause_ms = 500 }, POLL_MORE, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, POLL_NOTHING, INT64_MAX,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, POLL_WORK, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, POLL_MORE, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	/* What is due is not waited for longer; but nothing spins over it. */
	{ { .ceiling_ms = 1000 }, POLL_NOTHING, 5010,
	    { 1, 2, 4, 3, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, POLL_NOTHING, 0,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/* Had work lately. */
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, POLL_NOTHING,
	    INT64_MAX, { 1, 2, 4, 5, 5, 5, 10, 20 } },
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, POLL_WAITING,
	    INT64_MAX, { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 3, .linger_until = 5010 }, POLL_NOTHING,
	    INT64_MAX, { 1, 2, 3, 3, 3, 3, 3, 3 } },
};

START_TEST(pauses_follow_what_was_found)
{
	struct poll_interval	p = paces[_i].before;
	int64_t			now = 5000;

	ck_assert_int_le(p.at, now);
	for (size_t i = 0; i < NROWS(paces[0].pauses); i++) {
		looked(&p, paces[_i].found, paces[_i].due, now, now);
		ck_assert_int_eq(p.at - now, paces[_i].pauses[i]);
		now = p.at;
	}
}
END_TEST

/* The last of many looks that found nothing begins no new series. */
START_TEST(unfinished_look_keeps_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .linger_ms = 1000, .pause_ms = 400 };

	looked(&p, POLL_MORE, INT64_MAX, 5000, 5000);
	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 5800);
}
END_TEST

/* Half of the time at most goes to looks that are dear. */
START_TEST(dear_look_is_not_repeated_soon)
{
	struct poll_interval	p = { .ceiling_ms = 100, .linger_until = 9000 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5030);
	ck_assert_int_eq(p.at, 5060);
	looked(&p, POLL_NOTHING, INT64_MAX, 5060, 5260);
	ck_assert_int_eq(p.at, 5360);
	looked(&p, POLL_ALL, INT64_MAX, 5360, 5400);
	ck_assert_int_eq(p.at, 5400 + POLL_WOKEN_MS);
}
END_TEST

START_TEST(work_makes_it_linger)
{
	struct poll_interval	p = { .ceiling_ms = 1000,
				    .linger_ms = POLL_LINGER_MS };
	int64_t			now = 5000;

	looked(&p, POLL_WORK, INT64_MAX, now, now);
	while (now < 5000 + POLL_LINGER_MS) {
		looked(&p, POLL_NOTHING, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now);
		ck_assert_int_le(p.at, now + POLL_SOON_MS);
		now = p.at;
	}
	looked(&p, POLL_NOTHING, INT64_MAX, now, now);
	ck_assert_int_gt(p.at, now + POLL_SOON_MS);
}
END_TEST

START_TEST(ring_ends_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 60000, .pause_ms = 30000 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	ck_assert(poll_interval_listens(&p, 5100));
	poll_interval_wake(&p, true, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(!poll_interval_listens(&p, 5100));
	/* Whoever rang a moment too soon is not waited for long. */
	looked(&p, POLL_NOTHING, INT64_MAX, 5101, 5101);
	ck_assert_int_eq(p.at, 5101 + POLL_SOON_MS);
	looked(&p, POLL_NOTHING, INT64_MAX, 5106, 5106);
	ck_assert_int_eq(p.at, 5106 + 2 * POLL_SOON_MS);
}
END_TEST

/* Only one that was in vain delays the next. */
START_TEST(rings_for_work_are_heard_at_once)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	for (int64_t now = 5000; now < 5010; now++) {
		looked(&p, POLL_ALL, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now + 1);
		poll_interval_wake(&p, true, now + 1);
		ck_assert_int_eq(p.at, now + 1);
	}
	/* Nor a late one for what was found before it came. */
	looked(&p, POLL_NOTHING, INT64_MAX, 5010, 5010);
	poll_interval_wake(&p, true, 5011);
	ck_assert_int_eq(p.at, 5011);
	looked(&p, POLL_NOTHING, INT64_MAX, 5015, 5015);
	poll_interval_wake(&p, true, 5016);
	ck_assert_int_eq(p.at, 5015 + POLL_SOON_MS);
}
END_TEST

START_TEST(ring_makes_no_look_later)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	looked(&p, POLL_WORK, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, true, 5000);
	ck_assert_int_eq(p.at, 5000);
	poll_interval_wake(&p, true, 5010);
	looked(&p, POLL_NOTHING, 5012, 5010, 5010);
	poll_interval_wake(&p, true, 5011);
	ck_assert_int_eq(p.at, 5012);
}
END_TEST

/* Rung all the time: no more than 200 empty looks a second. */
START_TEST(rings_have_their_measure)
{
	struct poll_interval	p = { .ceiling_ms = 1000,
				    .linger_ms = POLL_LINGER_MS };
	unsigned		looks = 0;

	for (int64_t now = 5000; now < 6000; now++) {
		for (int i = 0; i < 3; i++)
			poll_interval_wake(&p, true, now);
		if (now < p.at)
			continue;
		looked(&p, POLL_NOTHING, INT64_MAX, now, now);
		poll_interval_wake(&p, true, now);
		looks++;
	}
	ck_assert_uint_le(looks, 1000 / POLL_SOON_MS);
	ck_assert_uint_ge(looks, 1000 / POLL_SOON_MS - 1);
}
END_TEST

/* A look where somebody has rung, which took no time. */
static void
looked_narrowly(struct poll_interval *p, enum poll_found found, int64_t due,
    int64_t now)
{
	poll_interval_polled(p, &(struct poll_result){ .found = found,
	    .due = due, .began = now }, now);
}

/* The look at all partitions comes when it would have come. */
START_TEST(narrow_looks_come_between)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 6000);
	for (int64_t now = 5100; now < 5990; now += 10) {
		poll_interval_wake(&p, false, now);
		ck_assert_int_eq(p.at, now);
		ck_assert(poll_interval_is_narrow(&p, now));
		looked_narrowly(&p, POLL_WAITING, INT64_MAX, now);
		ck_assert_int_eq(p.at, 6000);
	}
	ck_assert(!poll_interval_is_narrow(&p, 6000));
	looked(&p, POLL_NOTHING, INT64_MAX, 6000, 6000);
	ck_assert_int_eq(p.at, 7000);
}
END_TEST

/* Where there is work there is more of it, and rings may be lost. */
START_TEST(narrow_work_asks_for_a_look_at_all)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	looked_narrowly(&p, POLL_WORK, INT64_MAX, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(poll_interval_is_narrow(&p, 5100));
	looked_narrowly(&p, POLL_ALL, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5100 + POLL_WOKEN_MS);
	ck_assert(!poll_interval_is_narrow(&p, p.at));
	/* Which is the first of its kind again. */
	looked(&p, POLL_NOTHING, INT64_MAX, 5150, 5150);
	ck_assert_int_eq(p.at, 5150 + 2 * POLL_WOKEN_MS);
}
END_TEST

/* What is due has its time, and it is not where the ring was for. */
START_TEST(narrow_look_forgets_nothing_that_is_due)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, POLL_WAITING, 5300, 5000, 5000);
	ck_assert_int_eq(p.at, 5300);
	poll_interval_wake(&p, false, 5100);
	looked_narrowly(&p, POLL_WAITING, 5200, 5100);
	ck_assert_int_eq(p.at, 5200);
	ck_assert(!poll_interval_is_narrow(&p, 5200));
	poll_interval_wake(&p, false, 5110);
	looked_narrowly(&p, POLL_MORE, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5110);
	ck_assert(!poll_interval_is_narrow(&p, 5110));
}
END_TEST

/* A row that cannot be read yet is looked for again soon, and only there. */
START_TEST(ring_that_came_too_soon_is_repeated)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };
	struct poll_result	again = { .found = POLL_NOTHING, .woken = true,
				    .due = INT64_MAX, .began = 5100 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	poll_interval_polled(&p, &again, 5100);
	ck_assert_int_eq(p.at, 5100 + POLL_SOON_MS);
	ck_assert(poll_interval_is_narrow(&p, p.at));
	again.all = true;
	poll_interval_polled(&p, &again, 6000);
	ck_assert_int_eq(p.at, 6000 + POLL_SOON_MS);
	ck_assert(poll_interval_is_narrow(&p, p.at));
	/* And if it is not there either, everywhere, later and later. */
	poll_interval_wake(&p, false, 6005);
	looked_narrowly(&p, POLL_NOTHING, INT64_MAX, 6005);
	ck_assert_int_eq(p.at, 6005 + 2 * POLL_SOON_MS);
	ck_assert(!poll_interval_is_narrow(&p, p.at));
	looked(&p, POLL_NOTHING, INT64_MAX, 6015, 6015);
	ck_assert_int_eq(p.at, 6015 + 4 * POLL_SOON_MS);
}
END_TEST

/* Who rings for everything means it. */
START_TEST(ring_for_all_widens_the_look)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	poll_interval_wake(&p, true, 5100);
	poll_interval_wake(&p, false, 5100);
	ck_assert(!poll_interval_is_narrow(&p, 5100));
}
END_TEST

/* With a fixed pause too, but once. */
START_TEST(ring_for_all_that_came_too_soon_is_repeated)
{
	struct poll_interval	p = { .fixed_ms = 60000, .ceiling_ms = 1000 };

	looked(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	poll_interval_wake(&p, true, 5100);
	looked(&p, POLL_NOTHING, INT64_MAX, 5100, 5100);
	ck_assert_int_eq(p.at, 5100 + POLL_SOON_MS);
	ck_assert(!poll_interval_is_narrow(&p, p.at));
	looked(&p, POLL_NOTHING, INT64_MAX, 5105, 5105);
	ck_assert_int_eq(p.at, 65105);
	poll_interval_wake(&p, true, 5200);
	looked(&p, POLL_ALL, INT64_MAX, 5200, 5200);
	ck_assert_int_eq(p.at, 65200);
}
END_TEST

/* A fixed pause is one between looks at all. */
START_TEST(rings_shift_no_fixed_pause)
{
	struct poll_interval	p = { .fixed_ms = 70, .ceiling_ms = 1000 };

	looked(&p, POLL_ALL, INT64_MAX, 5000, 5000);
	for (int64_t now = 5010; now < 5070; now += 10) {
		poll_interval_wake(&p, false, now);
		ck_assert_int_eq(p.at, now);
		looked_narrowly(&p, POLL_WORK, now, now);
		ck_assert_int_eq(p.at, 5070);
	}
	ck_assert(!poll_interval_is_narrow(&p, 5070));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("pace");
	TCase	*tc;

	tc = add_case(s, "pace");
	tcase_add_loop_test(tc, pauses_follow_what_was_found, 0,
	    NROWS(paces));
	tcase_add_test(tc, unfinished_look_keeps_the_pause);
	tcase_add_test(tc, dear_look_is_not_repeated_soon);
	tcase_add_test(tc, work_makes_it_linger);
	tcase_add_test(tc, ring_ends_the_pause);
	tcase_add_test(tc, rings_for_work_are_heard_at_once);
	tcase_add_test(tc, ring_makes_no_look_later);
	tcase_add_test(tc, rings_have_their_measure);
	tcase_add_test(tc, narrow_looks_come_between);
	tcase_add_test(tc, narrow_work_asks_for_a_look_at_all);
	tcase_add_test(tc, narrow_look_forgets_nothing_that_is_due);
	tcase_add_test(tc, ring_that_came_too_soon_is_repeated);
	tcase_add_test(tc, ring_for_all_widens_the_look);
	tcase_add_test(tc, ring_for_all_that_came_too_soon_is_repeated);
	tcase_add_test(tc, rings_shift_no_fixed_pause);
	return run_suite(s);
}
