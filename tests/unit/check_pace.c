/*
 * check_pace.c - when a worker looks for rows again
 *
 * No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include "worker/pace.h"

/* A look at all partitions. */
static void
looked(struct pace *p, enum pace_found found, int64_t due, int64_t began,
    int64_t now)
{
	pace_looked(p, &(struct pace_look){ .found = found, .all = true,
	    .due = due, .began = began }, now);
}

/* Looks at each moment that comes; what is found, and the pauses. */
static const struct {
	struct pace	before;
	enum pace_found	found;
	int64_t		due;
	int64_t		pauses[8];
} paces[] = {
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 10 }, PACE_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 10, 10, 10, 10 } },
	{ { .ceiling_ms = 1 }, PACE_NOTHING, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, PACE_WORK, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, PACE_ALL, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, PACE_ALL, INT64_MAX,
	    { 50, 50, 50, 50, 50, 50, 50, 50 } },
	{ { .ceiling_ms = 3 }, PACE_ALL, INT64_MAX,
	    { 3, 3, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .pause_ms = 500 }, PACE_MORE, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_NOTHING, INT64_MAX,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_WORK, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_MORE, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	/* What is due is not waited for longer; but nothing spins over it. */
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, 5010,
	    { 1, 2, 4, 3, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, 0,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/* Had work lately. */
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, PACE_NOTHING,
	    INT64_MAX, { 1, 2, 4, 5, 5, 5, 10, 20 } },
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, PACE_WAITING,
	    INT64_MAX, { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 3, .linger_until = 5010 }, PACE_NOTHING,
	    INT64_MAX, { 1, 2, 3, 3, 3, 3, 3, 3 } },
};

START_TEST(pauses_follow_what_was_found)
{
	struct pace	p = paces[_i].before;
	int64_t		now = 5000;

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
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = 1000, .pause_ms = 400 };

	looked(&p, PACE_MORE, INT64_MAX, 5000, 5000);
	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 5800);
}
END_TEST

/* Half of the time at most goes to looks that are dear. */
START_TEST(dear_look_is_not_repeated_soon)
{
	struct pace	p = { .ceiling_ms = 100, .linger_until = 9000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5030);
	ck_assert_int_eq(p.at, 5060);
	looked(&p, PACE_NOTHING, INT64_MAX, 5060, 5260);
	ck_assert_int_eq(p.at, 5360);
	looked(&p, PACE_ALL, INT64_MAX, 5360, 5400);
	ck_assert_int_eq(p.at, 5400 + PACE_RUNG_MS);
}
END_TEST

START_TEST(work_makes_it_linger)
{
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = PACE_LINGER_MS };
	int64_t		now = 5000;

	looked(&p, PACE_WORK, INT64_MAX, now, now);
	while (now < 5000 + PACE_LINGER_MS) {
		looked(&p, PACE_NOTHING, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now);
		ck_assert_int_le(p.at, now + PACE_SOON_MS);
		now = p.at;
	}
	looked(&p, PACE_NOTHING, INT64_MAX, now, now);
	ck_assert_int_gt(p.at, now + PACE_SOON_MS);
}
END_TEST

START_TEST(ring_ends_the_pause)
{
	struct pace	p = { .ceiling_ms = 60000, .pause_ms = 30000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	ck_assert(pace_listens(&p, 5100));
	pace_ring(&p, true, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(!pace_listens(&p, 5100));
	/* Whoever rang a moment too soon is not waited for long. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5101, 5101);
	ck_assert_int_eq(p.at, 5101 + PACE_SOON_MS);
	looked(&p, PACE_NOTHING, INT64_MAX, 5106, 5106);
	ck_assert_int_eq(p.at, 5106 + 2 * PACE_SOON_MS);
}
END_TEST

/* Only one that was in vain delays the next. */
START_TEST(rings_for_work_are_heard_at_once)
{
	struct pace	p = { .ceiling_ms = 1000 };

	for (int64_t now = 5000; now < 5010; now++) {
		looked(&p, PACE_ALL, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now + 1);
		pace_ring(&p, true, now + 1);
		ck_assert_int_eq(p.at, now + 1);
	}
	/* Nor a late one for what was found before it came. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5010, 5010);
	pace_ring(&p, true, 5011);
	ck_assert_int_eq(p.at, 5011);
	looked(&p, PACE_NOTHING, INT64_MAX, 5015, 5015);
	pace_ring(&p, true, 5016);
	ck_assert_int_eq(p.at, 5015 + PACE_SOON_MS);
}
END_TEST

START_TEST(ring_makes_no_look_later)
{
	struct pace	p = { .ceiling_ms = 1000 };

	looked(&p, PACE_WORK, INT64_MAX, 5000, 5000);
	pace_ring(&p, true, 5000);
	ck_assert_int_eq(p.at, 5000);
	pace_ring(&p, true, 5010);
	looked(&p, PACE_NOTHING, 5012, 5010, 5010);
	pace_ring(&p, true, 5011);
	ck_assert_int_eq(p.at, 5012);
}
END_TEST

/* Rung all the time: no more than 200 empty looks a second. */
START_TEST(rings_have_their_measure)
{
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = PACE_LINGER_MS };
	unsigned	looks = 0;

	for (int64_t now = 5000; now < 6000; now++) {
		for (int i = 0; i < 3; i++)
			pace_ring(&p, true, now);
		if (now < p.at)
			continue;
		looked(&p, PACE_NOTHING, INT64_MAX, now, now);
		pace_ring(&p, true, now);
		looks++;
	}
	ck_assert_uint_le(looks, 1000 / PACE_SOON_MS);
	ck_assert_uint_ge(looks, 1000 / PACE_SOON_MS - 1);
}
END_TEST

/* A look where somebody has rung, which took no time. */
static void
looked_narrowly(struct pace *p, enum pace_found found, int64_t due,
    int64_t now)
{
	pace_looked(p, &(struct pace_look){ .found = found, .due = due,
	    .began = now }, now);
}

/* The look at all partitions comes when it would have come. */
START_TEST(narrow_looks_come_between)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 6000);
	for (int64_t now = 5100; now < 5990; now += 10) {
		pace_ring(&p, false, now);
		ck_assert_int_eq(p.at, now);
		ck_assert(pace_is_narrow(&p, now));
		looked_narrowly(&p, PACE_WAITING, INT64_MAX, now);
		ck_assert_int_eq(p.at, 6000);
	}
	ck_assert(!pace_is_narrow(&p, 6000));
	looked(&p, PACE_NOTHING, INT64_MAX, 6000, 6000);
	ck_assert_int_eq(p.at, 7000);
}
END_TEST

/* Where there is work there is more of it, and rings may be lost. */
START_TEST(narrow_work_asks_for_a_look_at_all)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	looked_narrowly(&p, PACE_WORK, INT64_MAX, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(pace_is_narrow(&p, 5100));
	looked_narrowly(&p, PACE_ALL, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5100 + PACE_RUNG_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	/* Which is the first of its kind again. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5150, 5150);
	ck_assert_int_eq(p.at, 5150 + 2 * PACE_RUNG_MS);
}
END_TEST

/* What is due has its time, and it is not where the ring was for. */
START_TEST(narrow_look_forgets_nothing_that_is_due)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_WAITING, 5300, 5000, 5000);
	ck_assert_int_eq(p.at, 5300);
	pace_ring(&p, false, 5100);
	looked_narrowly(&p, PACE_WAITING, 5200, 5100);
	ck_assert_int_eq(p.at, 5200);
	ck_assert(!pace_is_narrow(&p, 5200));
	pace_ring(&p, false, 5110);
	looked_narrowly(&p, PACE_MORE, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5110);
	ck_assert(!pace_is_narrow(&p, 5110));
}
END_TEST

/* A row that cannot be read yet is looked for again soon, and only there. */
START_TEST(ring_that_came_too_soon_is_repeated)
{
	struct pace		p = { .ceiling_ms = 1000, .pause_ms = 500 };
	struct pace_look	again = { .found = PACE_NOTHING, .rung = true,
				    .due = INT64_MAX, .began = 5100 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	pace_looked(&p, &again, 5100);
	ck_assert_int_eq(p.at, 5100 + PACE_SOON_MS);
	ck_assert(pace_is_narrow(&p, p.at));
	again.all = true;
	pace_looked(&p, &again, 6000);
	ck_assert_int_eq(p.at, 6000 + PACE_SOON_MS);
	ck_assert(pace_is_narrow(&p, p.at));
	/* And if it is not there either, everywhere, later and later. */
	pace_ring(&p, false, 6005);
	looked_narrowly(&p, PACE_NOTHING, INT64_MAX, 6005);
	ck_assert_int_eq(p.at, 6005 + 2 * PACE_SOON_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	looked(&p, PACE_NOTHING, INT64_MAX, 6015, 6015);
	ck_assert_int_eq(p.at, 6015 + 4 * PACE_SOON_MS);
}
END_TEST

/* Who rings for everything means it. */
START_TEST(ring_for_all_widens_the_look)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	pace_ring(&p, true, 5100);
	pace_ring(&p, false, 5100);
	ck_assert(!pace_is_narrow(&p, 5100));
}
END_TEST

/* With a fixed pause too, but once. */
START_TEST(ring_for_all_that_came_too_soon_is_repeated)
{
	struct pace	p = { .fixed_ms = 60000, .ceiling_ms = 1000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	pace_ring(&p, true, 5100);
	looked(&p, PACE_NOTHING, INT64_MAX, 5100, 5100);
	ck_assert_int_eq(p.at, 5100 + PACE_SOON_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	looked(&p, PACE_NOTHING, INT64_MAX, 5105, 5105);
	ck_assert_int_eq(p.at, 65105);
	pace_ring(&p, true, 5200);
	looked(&p, PACE_ALL, INT64_MAX, 5200, 5200);
	ck_assert_int_eq(p.at, 65200);
}
END_TEST

/* A fixed pause is one between looks at all. */
START_TEST(rings_shift_no_fixed_pause)
{
	struct pace	p = { .fixed_ms = 70, .ceiling_ms = 1000 };

	looked(&p, PACE_ALL, INT64_MAX, 5000, 5000);
	for (int64_t now = 5010; now < 5070; now += 10) {
		pace_ring(&p, false, now);
		ck_assert_int_eq(p.at, now);
		looked_narrowly(&p, PACE_WORK, now, now);
		ck_assert_int_eq(p.at, 5070);
	}
	ck_assert(!pace_is_narrow(&p, 5070));
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
