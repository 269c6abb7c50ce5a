/*
 * check_poll_interval.c - when a worker looks for rows again
 *
 * No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include "worker/poll_interval.h"

/* What a look found. */
enum found {
	NOTHING,
	WAITING,	/* only rows that are not due */
	MORE,		/* nothing yet, and partitions are left */
	ALL,		/* rows, and none are left */
	WORK		/* rows, and some are left */
};

/* Of so many rows as were found none was known; those that wait were. */
static void
found_rows(struct poll_interval *p, size_t rows, enum found found, int64_t due,
    int64_t began, int64_t now)
{
	poll_interval_polled(p, &(struct poll_result){ .found = rows,
	    .worked = found == ALL || found == WORK,
	    .more = found == MORE || found == WORK,
	    .waiting = found == WAITING, .due = due, .began = began }, now);
}

static void
looked(struct poll_interval *p, enum found found, int64_t due, int64_t began,
    int64_t now)
{
	found_rows(p, found == ALL || found == WORK, found, due, began, now);
}

/* Looks that each find the same, and the pauses after them. */
static const struct {
	struct poll_interval	before;
	enum found		found;
	int64_t			due;
	int64_t			pauses[8];
} series[] = {
	{ { .ceiling_ms = 1000, .polls = true }, NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 1000 }, NOTHING, INT64_MAX,
	    { 5, 10, 20, 40, 80, 160, 320, 640 } },
	{ { .ceiling_ms = 12 }, NOTHING, INT64_MAX,
	    { 5, 10, 12, 12, 12, 12, 12, 12 } },
	{ { .ceiling_ms = 1 }, NOTHING, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000, .polls = true }, WORK, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .ceiling_ms = 1000, .polls = true }, ALL, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, ALL, INT64_MAX,
	    { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000 } },
	/* Where wake-ups come, rows that wait have their time. */
	{ { .ceiling_ms = 1000 }, WAITING, INT64_MAX,
	    { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000 } },
	{ { .ceiling_ms = 1000 }, WAITING, 5070,
	    { 70, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 3 }, ALL, INT64_MAX,
	    { 3, 3, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .pause_ms = 500 }, MORE, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, NOTHING, INT64_MAX,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, WORK, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, MORE, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	/* A row that becomes due ends the pause, and nothing spins over it. */
	{ { .ceiling_ms = 1000, .polls = true }, NOTHING, 5010,
	    { 1, 2, 4, 3, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, NOTHING, 0,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/* A quarter of the time since the last work at most. */
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 5000 },
	    NOTHING, INT64_MAX, { 1, 2, 4, 5, 5, 5, 5, 6 } },
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 4900 },
	    NOTHING, INT64_MAX, { 1, 2, 4, 8, 16, 32, 40, 50 } },
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 5000 },
	    WAITING, INT64_MAX, { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 3, .polls = true, .worked_at = 5000 },
	    NOTHING, INT64_MAX, { 1, 2, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .worked_at = 5000 },
	    NOTHING, INT64_MAX, { 5, 10, 20, 40, 80, 160, 320, 640 } },
};

START_TEST(pauses_follow_what_was_found)
{
	struct poll_interval	p = series[_i].before;
	int64_t			now = 5000;

	ck_assert_int_le(p.at, now);
	for (size_t i = 0; i < NROWS(series[0].pauses); i++) {
		looked(&p, series[_i].found, series[_i].due, now, now);
		ck_assert_int_eq(p.at - now, series[_i].pauses[i]);
		now = p.at;
	}
}
END_TEST

/* The last of many looks that found nothing begins no new series. */
START_TEST(unfinished_look_keeps_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .polls = true, .pause_ms = 400 };

	looked(&p, MORE, INT64_MAX, 5000, 5000);
	looked(&p, NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 5800);
}
END_TEST

/* Half of the time at most goes to vain looks. */
START_TEST(slow_look_is_not_repeated_soon)
{
	struct poll_interval	p = { .ceiling_ms = 100 };

	looked(&p, NOTHING, INT64_MAX, 5000, 5030);
	ck_assert_int_eq(p.at, 5060);
	looked(&p, NOTHING, INT64_MAX, 5060, 5260);
	ck_assert_int_eq(p.at, 5360);
	looked(&p, ALL, INT64_MAX, 5360, 5400);
	ck_assert_int_eq(p.at, 5400 + 100);
}
END_TEST

/* A row that comes after 30 s waits a second, one after 100 ms at most 25 ms. */
START_TEST(pauses_are_a_part_of_the_time_since_work)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .polls = true };
	int64_t			now = 5000;
	unsigned		looks = 0;

	looked(&p, WORK, INT64_MAX, now, now);
	for (; now < 5000 + 30000; looks++) {
		int64_t since = now - 5000;

		looked(&p, NOTHING, INT64_MAX, now, now);
		ck_assert_int_le(p.at - now, since < 20 ? 5 : since / 4);
		now = p.at;
	}
	ck_assert_int_eq(p.pause_ms, 1000);
	ck_assert_uint_le(looks, 60);
}
END_TEST

/*
 * Rows that come together are sent together: a look begins linger_ms after one
 * that found rows, whatever calls for it, unless that one left rows behind.
 */
START_TEST(rows_are_collected)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .linger_ms = 20,
				    .polls = _i == 0 };

	/* After a pause a row is sent at once. */
	looked(&p, NOTHING, INT64_MAX, 4000, 4000);
	poll_interval_wake(&p, 1, 5000);
	ck_assert_int_le(p.at, 5000);
	looked(&p, ALL, INT64_MAX, 5000, 5003);
	ck_assert_int_ge(p.at, 5020);
	poll_interval_wake(&p, 1, 5004);
	ck_assert_int_eq(p.at, 5020);
	/* Further ones need not wake it. */
	ck_assert(!poll_interval_listens(&p, 5004));
	looked(&p, WORK, INT64_MAX, 5020, 5023);
	ck_assert_int_eq(p.at, 5023);
	/* One that takes longer is followed at once. */
	looked(&p, ALL, INT64_MAX, 5023, 5063);
	poll_interval_wake(&p, 1, 5064);
	ck_assert_int_eq(p.at, 5064);
	/* A row that becomes due waits as long. */
	looked(&p, ALL, 5070, 5064, 5066);
	ck_assert_int_eq(p.at, 5084);
}
END_TEST

/*
 * A message after a pause: it is sent at once, even if the worker has just
 * looked in vain, and no look follows for a second, as nothing is missing.
 */
START_TEST(single_message_takes_one_look)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .linger_ms = 20,
				    .pause_ms = 500 };

	looked(&p, NOTHING, INT64_MAX, 4990, 4991);
	poll_interval_wake(&p, 1, 5000);
	ck_assert_int_eq(p.at, 5000);
	looked(&p, ALL, INT64_MAX, 5000, 5003);
	ck_assert_int_eq(p.at, 6003);
	ck_assert(poll_interval_listens(&p, 5003));
	/* A row that is found and not due is not missing, either. */
	poll_interval_wake(&p, 1, 5100);
	found_rows(&p, 1, WAITING, 5700, 5100, 5101);
	ck_assert_int_eq(p.at, 5700);
}
END_TEST

/* Of two rows the look found one: the other may be visible in a moment. */
START_TEST(missing_row_is_looked_for)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .linger_ms = 2 };

	poll_interval_wake(&p, 1, 5000);
	poll_interval_wake(&p, 1, 5001);
	looked(&p, ALL, INT64_MAX, 5001, 5002);
	ck_assert_int_eq(p.at, 5002 + POLL_SOON_MS);
	looked(&p, NOTHING, INT64_MAX, 5007, 5007);
	ck_assert_int_eq(p.at, 5007 + 2 * POLL_SOON_MS);
	looked(&p, ALL, INT64_MAX, 5017, 5018);
	ck_assert_int_eq(p.at, 6018);

	/* Rows that several batches take are all found. */
	poll_interval_wake(&p, 7, 6000);
	found_rows(&p, 5, WORK, INT64_MAX, 6000, 6001);
	found_rows(&p, 2, ALL, INT64_MAX, 6001, 6002);
	ck_assert_int_eq(p.at, 7002);
	/* One that wakes later promises another. */
	poll_interval_wake(&p, 7, 6500);
	found_rows(&p, 5, WORK, INT64_MAX, 6500, 6501);
	found_rows(&p, 1, ALL, INT64_MAX, 6501, 6502);
	ck_assert_int_eq(p.at, 6502 + POLL_SOON_MS);
	/* More rows than wake-ups owe nothing to the next. */
	poll_interval_wake(&p, 1, 6510);
	found_rows(&p, 5, ALL, INT64_MAX, 6510, 6511);
	poll_interval_wake(&p, 2, 6520);
	looked(&p, ALL, INT64_MAX, 6520, 6521);
	ck_assert_int_eq(p.at, 6521 + POLL_SOON_MS);
}
END_TEST

START_TEST(wake_up_ends_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 60000, .pause_ms = 30000 };

	looked(&p, NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	ck_assert(poll_interval_listens(&p, 5100));
	poll_interval_wake(&p, 1, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(!poll_interval_listens(&p, 5100));
	/* The row may become visible a moment later. */
	looked(&p, NOTHING, INT64_MAX, 5101, 5101);
	ck_assert_int_eq(p.at, 5101 + POLL_SOON_MS);
	looked(&p, NOTHING, INT64_MAX, 5106, 5106);
	ck_assert_int_eq(p.at, 5106 + 2 * POLL_SOON_MS);
}
END_TEST

/* Only a wake-up in vain delays the next. */
START_TEST(wake_ups_for_work_cause_a_look_at_once)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	for (int64_t now = 5000; now < 5010; now++) {
		looked(&p, ALL, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now + 1);
		poll_interval_wake(&p, 1, now + 1);
		ck_assert_int_eq(p.at, now + 1);
	}
	/* Not one for a row that was found before it came. */
	looked(&p, NOTHING, INT64_MAX, 5010, 5010);
	poll_interval_wake(&p, 1, 5011);
	ck_assert_int_eq(p.at, 5011);
	looked(&p, NOTHING, INT64_MAX, 5015, 5015);
	poll_interval_wake(&p, 1, 5016);
	ck_assert_int_eq(p.at, 5015 + POLL_SOON_MS);
}
END_TEST

START_TEST(wake_up_makes_no_look_later)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	looked(&p, WORK, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, 1, 5000);
	ck_assert_int_eq(p.at, 5000);
	poll_interval_wake(&p, 1, 5010);
	looked(&p, NOTHING, 5012, 5010, 5010);
	poll_interval_wake(&p, 1, 5011);
	ck_assert_int_eq(p.at, 5012);
}
END_TEST

/* Woken all the time: no more than 200 vain looks a second. */
START_TEST(vain_wake_ups_are_limited)
{
	struct poll_interval	p = { .ceiling_ms = 1000,
				    .polls = true };
	unsigned		looks = 0;

	for (int64_t now = 5000; now < 6000; now++) {
		for (int i = 0; i < 3; i++)
			poll_interval_wake(&p, 1, now);
		if (now < p.at)
			continue;
		looked(&p, NOTHING, INT64_MAX, now, now);
		poll_interval_wake(&p, 1, now);
		looks++;
	}
	ck_assert_uint_le(looks, 1000 / POLL_SOON_MS);
	ck_assert_uint_ge(looks, 1000 / POLL_SOON_MS - 1);
}
END_TEST

/* A row that is not visible yet is looked for soon, and less and less often. */
START_TEST(early_wake_up_is_repeated)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };
	int64_t			now = 5100;

	looked(&p, NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 6000);
	poll_interval_wake(&p, 1, now);
	for (int64_t pause = POLL_SOON_MS; pause <= 640; pause *= 2) {
		ck_assert_int_eq(p.at, now);
		looked(&p, NOTHING, INT64_MAX, now, now);
		now += pause;
	}
	/* Another one begins again. */
	poll_interval_wake(&p, 1, now - 1);
	looked(&p, NOTHING, INT64_MAX, now - 1, now - 1);
	ck_assert_int_eq(p.at, now - 1 + POLL_SOON_MS);
}
END_TEST

/* A waiting row keeps its time, whatever wake-ups come before. */
START_TEST(wake_up_forgets_nothing_that_is_due)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, WAITING, 5300, 5000, 5000);
	ck_assert_int_eq(p.at, 5300);
	poll_interval_wake(&p, 1, 5100);
	looked(&p, ALL, 5103, 5100, 5100);
	ck_assert_int_eq(p.at, 5103);
}
END_TEST

/* With a fixed pause, too, but once. */
START_TEST(fixed_pause_has_one_look_more)
{
	struct poll_interval	p = { .fixed_ms = 60000, .ceiling_ms = 1000 };

	looked(&p, NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	poll_interval_wake(&p, 1, 5100);
	looked(&p, NOTHING, INT64_MAX, 5100, 5100);
	ck_assert_int_eq(p.at, 5100 + POLL_SOON_MS);
	looked(&p, NOTHING, INT64_MAX, 5105, 5105);
	ck_assert_int_eq(p.at, 65105);
	poll_interval_wake(&p, 1, 5200);
	looked(&p, ALL, INT64_MAX, 5200, 5200);
	ck_assert_int_eq(p.at, 65200);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("poll_interval");
	TCase	*tc;

	tc = add_case(s, "poll_interval");
	tcase_add_loop_test(tc, pauses_follow_what_was_found, 0,
	    NROWS(series));
	tcase_add_test(tc, unfinished_look_keeps_the_pause);
	tcase_add_test(tc, slow_look_is_not_repeated_soon);
	tcase_add_test(tc, pauses_are_a_part_of_the_time_since_work);
	tcase_add_loop_test(tc, rows_are_collected, 0, 2);
	tcase_add_test(tc, single_message_takes_one_look);
	tcase_add_test(tc, missing_row_is_looked_for);
	tcase_add_test(tc, wake_up_ends_the_pause);
	tcase_add_test(tc, wake_ups_for_work_cause_a_look_at_once);
	tcase_add_test(tc, wake_up_makes_no_look_later);
	tcase_add_test(tc, vain_wake_ups_are_limited);
	tcase_add_test(tc, early_wake_up_is_repeated);
	tcase_add_test(tc, wake_up_forgets_nothing_that_is_due);
	tcase_add_test(tc, fixed_pause_has_one_look_more);
	return run_suite(s);
}
