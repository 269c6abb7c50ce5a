/*
 * check_poll_interval.c - when a worker scans for rows again
 *
 * No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include "worker/poll_interval.h"

/* A scan of all partitions. */
static void
scanned(struct poll_interval *p, enum poll_found found, int64_t due,
    int64_t began, int64_t now)
{
	poll_interval_polled(p, &(struct poll_result){ .found = found,
	    .all = true, .due = due, .began = began }, now);
}

/* Scans that each find the same, and the pauses after them. */
static const struct {
	struct poll_interval	before;
	enum poll_found		found;
	int64_t			due;
	int64_t			pauses[8];
} series[] = {
	{ { .ceiling_ms = 1000, .polls = true }, POLL_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 1000 }, POLL_NOTHING, INT64_MAX,
	    { 5, 10, 20, 40, 80, 160, 320, 640 } },
	{ { .ceiling_ms = 12 }, POLL_NOTHING, INT64_MAX,
	    { 5, 10, 12, 12, 12, 12, 12, 12 } },
	{ { .ceiling_ms = 1 }, POLL_NOTHING, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000, .polls = true }, POLL_WORK, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .ceiling_ms = 1000, .polls = true }, POLL_ALL, INT64_MAX,
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
	/* A row that becomes due ends the pause, and nothing spins over it. */
	{ { .ceiling_ms = 1000, .polls = true }, POLL_NOTHING, 5010,
	    { 1, 2, 4, 3, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, POLL_NOTHING, 0,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/* A quarter of the time since the last work at most. */
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 5000 },
	    POLL_NOTHING, INT64_MAX, { 1, 2, 4, 5, 5, 5, 5, 6 } },
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 4900 },
	    POLL_NOTHING, INT64_MAX, { 1, 2, 4, 8, 16, 32, 40, 50 } },
	{ { .ceiling_ms = 1000, .polls = true, .worked_at = 5000 },
	    POLL_WAITING, INT64_MAX, { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 3, .polls = true, .worked_at = 5000 },
	    POLL_NOTHING, INT64_MAX, { 1, 2, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .worked_at = 5000 },
	    POLL_NOTHING, INT64_MAX, { 5, 10, 20, 40, 80, 160, 320, 640 } },
};

START_TEST(pauses_follow_what_was_found)
{
	struct poll_interval	p = series[_i].before;
	int64_t			now = 5000;

	ck_assert_int_le(p.at, now);
	for (size_t i = 0; i < NROWS(series[0].pauses); i++) {
		scanned(&p, series[_i].found, series[_i].due, now, now);
		ck_assert_int_eq(p.at - now, series[_i].pauses[i]);
		now = p.at;
	}
}
END_TEST

/* The last of many scans that found nothing begins no new series. */
START_TEST(unfinished_scan_keeps_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .polls = true, .pause_ms = 400 };

	scanned(&p, POLL_MORE, INT64_MAX, 5000, 5000);
	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 5800);
}
END_TEST

/* Half of the time at most goes to vain scans. */
START_TEST(slow_scan_is_not_repeated_soon)
{
	struct poll_interval	p = { .ceiling_ms = 100 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5030);
	ck_assert_int_eq(p.at, 5060);
	scanned(&p, POLL_NOTHING, INT64_MAX, 5060, 5260);
	ck_assert_int_eq(p.at, 5360);
	scanned(&p, POLL_ALL, INT64_MAX, 5360, 5400);
	ck_assert_int_eq(p.at, 5400 + POLL_WOKEN_MS);
}
END_TEST

/* A row that comes after 30 s waits a second, one after 100 ms at most 25 ms. */
START_TEST(pauses_are_a_part_of_the_time_since_work)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .polls = true };
	int64_t			now = 5000;
	unsigned		scans = 0;

	scanned(&p, POLL_WORK, INT64_MAX, now, now);
	for (; now < 5000 + 30000; scans++) {
		int64_t since = now - 5000;

		scanned(&p, POLL_NOTHING, INT64_MAX, now, now);
		ck_assert_int_le(p.at - now, since < 20 ? 5 : since / 4);
		now = p.at;
	}
	ck_assert_int_eq(p.pause_ms, 1000);
	ck_assert_uint_le(scans, 60);
}
END_TEST

/*
 * Rows that come together are sent together: two scans begin linger_ms apart,
 * whatever calls for the second one, unless the first left rows behind.
 */
START_TEST(rows_are_collected)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .linger_ms = 20,
				    .polls = _i == 0 };

	/* After a pause a row is sent at once. */
	scanned(&p, POLL_NOTHING, INT64_MAX, 4000, 4000);
	poll_interval_wake(&p, true, 5000);
	ck_assert_int_le(p.at, 5000);
	scanned(&p, POLL_ALL, INT64_MAX, 5000, 5003);
	ck_assert_int_ge(p.at, 5020);
	poll_interval_wake(&p, true, 5004);
	ck_assert_int_eq(p.at, 5020);
	/* Further ones need not wake it. */
	ck_assert(!poll_interval_listens(&p, 5004));
	scanned(&p, POLL_WORK, INT64_MAX, 5020, 5023);
	ck_assert_int_eq(p.at, 5023);
	/* One that takes longer is followed at once. */
	scanned(&p, POLL_ALL, INT64_MAX, 5023, 5063);
	poll_interval_wake(&p, false, 5064);
	ck_assert_int_eq(p.at, 5064);
	/* A row that becomes due waits as long. */
	scanned(&p, POLL_ALL, 5070, 5064, 5066);
	ck_assert_int_eq(p.at, 5084);
}
END_TEST

START_TEST(wake_up_ends_the_pause)
{
	struct poll_interval	p = { .ceiling_ms = 60000, .pause_ms = 30000 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	ck_assert(poll_interval_listens(&p, 5100));
	poll_interval_wake(&p, true, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(!poll_interval_listens(&p, 5100));
	/* The row may become visible a moment later. */
	scanned(&p, POLL_NOTHING, INT64_MAX, 5101, 5101);
	ck_assert_int_eq(p.at, 5101 + POLL_SOON_MS);
	scanned(&p, POLL_NOTHING, INT64_MAX, 5106, 5106);
	ck_assert_int_eq(p.at, 5106 + 2 * POLL_SOON_MS);
}
END_TEST

/* Only a wake-up in vain delays the next. */
START_TEST(wake_ups_for_work_cause_a_scan_at_once)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	for (int64_t now = 5000; now < 5010; now++) {
		scanned(&p, POLL_ALL, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now + 1);
		poll_interval_wake(&p, true, now + 1);
		ck_assert_int_eq(p.at, now + 1);
	}
	/* Not one for a row that was found before it came. */
	scanned(&p, POLL_NOTHING, INT64_MAX, 5010, 5010);
	poll_interval_wake(&p, true, 5011);
	ck_assert_int_eq(p.at, 5011);
	scanned(&p, POLL_NOTHING, INT64_MAX, 5015, 5015);
	poll_interval_wake(&p, true, 5016);
	ck_assert_int_eq(p.at, 5015 + POLL_SOON_MS);
}
END_TEST

START_TEST(wake_up_makes_no_scan_later)
{
	struct poll_interval	p = { .ceiling_ms = 1000 };

	scanned(&p, POLL_WORK, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, true, 5000);
	ck_assert_int_eq(p.at, 5000);
	poll_interval_wake(&p, true, 5010);
	scanned(&p, POLL_NOTHING, 5012, 5010, 5010);
	poll_interval_wake(&p, true, 5011);
	ck_assert_int_eq(p.at, 5012);
}
END_TEST

/* Woken all the time: no more than 200 vain scans a second. */
START_TEST(vain_wake_ups_are_limited)
{
	struct poll_interval	p = { .ceiling_ms = 1000,
				    .polls = true };
	unsigned		scans = 0;

	for (int64_t now = 5000; now < 6000; now++) {
		for (int i = 0; i < 3; i++)
			poll_interval_wake(&p, true, now);
		if (now < p.at)
			continue;
		scanned(&p, POLL_NOTHING, INT64_MAX, now, now);
		poll_interval_wake(&p, true, now);
		scans++;
	}
	ck_assert_uint_le(scans, 1000 / POLL_SOON_MS);
	ck_assert_uint_ge(scans, 1000 / POLL_SOON_MS - 1);
}
END_TEST

/* A scan of woken partitions, which took no time. */
static void
scanned_narrowly(struct poll_interval *p, enum poll_found found, int64_t due,
    int64_t now)
{
	poll_interval_polled(p, &(struct poll_result){ .found = found,
	    .due = due, .began = now }, now);
}

/* The scan of all partitions comes when it would have come. */
START_TEST(narrow_scans_come_between)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 6000);
	for (int64_t now = 5100; now < 5990; now += 10) {
		poll_interval_wake(&p, false, now);
		ck_assert_int_eq(p.at, now);
		ck_assert(poll_interval_is_narrow(&p, now));
		scanned_narrowly(&p, POLL_WAITING, INT64_MAX, now);
		ck_assert_int_eq(p.at, 6000);
	}
	ck_assert(!poll_interval_is_narrow(&p, 6000));
	scanned(&p, POLL_NOTHING, INT64_MAX, 6000, 6000);
	ck_assert_int_eq(p.at, 7000);
}
END_TEST

START_TEST(narrow_work_keeps_the_time_of_the_scan_of_all)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	scanned_narrowly(&p, POLL_WORK, INT64_MAX, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(poll_interval_is_narrow(&p, 5100));
	scanned_narrowly(&p, POLL_ALL, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 6000);
	ck_assert(!poll_interval_is_narrow(&p, 6000));
}
END_TEST

/* A waiting row keeps its time, and its scan is one of all. */
START_TEST(narrow_scan_forgets_nothing_that_is_due)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	scanned(&p, POLL_WAITING, 5300, 5000, 5000);
	ck_assert_int_eq(p.at, 5300);
	poll_interval_wake(&p, false, 5100);
	scanned_narrowly(&p, POLL_WAITING, 5200, 5100);
	ck_assert_int_eq(p.at, 5200);
	ck_assert(!poll_interval_is_narrow(&p, 5200));
	poll_interval_wake(&p, false, 5110);
	scanned_narrowly(&p, POLL_MORE, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5110);
	ck_assert(!poll_interval_is_narrow(&p, 5110));
}
END_TEST

/* A row that is not visible yet causes another narrow scan soon. */
START_TEST(early_wake_up_is_repeated)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };
	struct poll_result	again = { .found = POLL_NOTHING, .woken = true,
				    .due = INT64_MAX, .began = 5100 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	poll_interval_polled(&p, &again, 5100);
	ck_assert_int_eq(p.at, 5100 + POLL_SOON_MS);
	ck_assert(poll_interval_is_narrow(&p, p.at));
	again.all = true;
	poll_interval_polled(&p, &again, 6000);
	ck_assert_int_eq(p.at, 6000 + POLL_SOON_MS);
	ck_assert(poll_interval_is_narrow(&p, p.at));
	/* If it is not found then, scans of all follow, later and later. */
	poll_interval_wake(&p, false, 6005);
	scanned_narrowly(&p, POLL_NOTHING, INT64_MAX, 6005);
	ck_assert_int_eq(p.at, 6005 + POLL_SOON_MS);
	ck_assert(!poll_interval_is_narrow(&p, p.at));
	scanned(&p, POLL_NOTHING, INT64_MAX, 6010, 6010);
	ck_assert_int_eq(p.at, 6010 + 2 * POLL_SOON_MS);
}
END_TEST

START_TEST(wake_up_for_all_widens_the_scan)
{
	struct poll_interval	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	poll_interval_wake(&p, false, 5100);
	poll_interval_wake(&p, true, 5100);
	poll_interval_wake(&p, false, 5100);
	ck_assert(!poll_interval_is_narrow(&p, 5100));
}
END_TEST

/* With a fixed pause, too, but once. */
START_TEST(early_wake_up_for_all_is_repeated)
{
	struct poll_interval	p = { .fixed_ms = 60000, .ceiling_ms = 1000 };

	scanned(&p, POLL_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	poll_interval_wake(&p, true, 5100);
	scanned(&p, POLL_NOTHING, INT64_MAX, 5100, 5100);
	ck_assert_int_eq(p.at, 5100 + POLL_SOON_MS);
	ck_assert(!poll_interval_is_narrow(&p, p.at));
	scanned(&p, POLL_NOTHING, INT64_MAX, 5105, 5105);
	ck_assert_int_eq(p.at, 65105);
	poll_interval_wake(&p, true, 5200);
	scanned(&p, POLL_ALL, INT64_MAX, 5200, 5200);
	ck_assert_int_eq(p.at, 65200);
}
END_TEST

/* A fixed pause is one between scans of all. */
START_TEST(wake_ups_shift_no_fixed_pause)
{
	struct poll_interval	p = { .fixed_ms = 70, .ceiling_ms = 1000 };

	scanned(&p, POLL_ALL, INT64_MAX, 5000, 5000);
	for (int64_t now = 5010; now < 5070; now += 10) {
		poll_interval_wake(&p, false, now);
		ck_assert_int_eq(p.at, now);
		scanned_narrowly(&p, POLL_WORK, now, now);
		ck_assert_int_eq(p.at, 5070);
	}
	ck_assert(!poll_interval_is_narrow(&p, 5070));
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
	tcase_add_test(tc, unfinished_scan_keeps_the_pause);
	tcase_add_test(tc, slow_scan_is_not_repeated_soon);
	tcase_add_test(tc, pauses_are_a_part_of_the_time_since_work);
	tcase_add_loop_test(tc, rows_are_collected, 0, 2);
	tcase_add_test(tc, wake_up_ends_the_pause);
	tcase_add_test(tc, wake_ups_for_work_cause_a_scan_at_once);
	tcase_add_test(tc, wake_up_makes_no_scan_later);
	tcase_add_test(tc, vain_wake_ups_are_limited);
	tcase_add_test(tc, narrow_scans_come_between);
	tcase_add_test(tc, narrow_work_keeps_the_time_of_the_scan_of_all);
	tcase_add_test(tc, narrow_scan_forgets_nothing_that_is_due);
	tcase_add_test(tc, early_wake_up_is_repeated);
	tcase_add_test(tc, wake_up_for_all_widens_the_scan);
	tcase_add_test(tc, early_wake_up_for_all_is_repeated);
	tcase_add_test(tc, wake_ups_shift_no_fixed_pause);
	return run_suite(s);
}
