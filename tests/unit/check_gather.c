/* check_gather.c - when one worker serves the partitions of all */
#include "lib/check.h"
#include "lib/todo.h"

#include <stdlib.h>

#include "worker/gather.h"

#define NWORKERS	3

static struct scoreboard	*board;
static struct gather		 workers[NWORKERS];
static int64_t			 now;

static void
begin(void)
{
	board = calloc(1, sizeof(*board));
	ck_assert_ptr_nonnull(board);
	now = 5000000;
	for (unsigned i = 0; i < NWORKERS; i++) {
		workers[i] = (struct gather){ .board = board, .slot = i,
		    .nslots = NWORKERS, .enabled = true, .measured_at = now };
		snprintf(board->lines[i].id, IDENT_SIZE, "host:%02u:abc", i);
	}
}

static void
end(void)
{
	free(board);
}

static void
all_measure(void)
{
	for (unsigned i = 0; i < NWORKERS; i++) {
		board->lines[i].alive_at = now;
		gather_measure(&workers[i], now);
	}
}

/* So many rows a second, for so long, by one worker. */
static void
works(unsigned i, uint64_t rows, bool left, int64_t batch_us, int64_t ms)
{
	for (int64_t until = now + ms; now < until; now += 10) {
		gather_worked(&workers[i], &(struct gather_work){
		    .rows = rows / 100, .left = left, .batch_us = batch_us },
		    now);
		all_measure();
	}
}

static void
all_idle(int64_t ms)
{
	for (int64_t until = now + ms; now < until; now += 100)
		all_measure();
}

static const struct {
	bool	left;
	int64_t	batch_us, ms;
	bool	gathered;
} loads[] = {
	{ false, 2000, 10000, true },
	{ true, 2000, 100, true },	/* a short burst */
	{ true, 2000, 500, false },
	{ false, 60000, 500, true },	/* a busy machine */
	{ false, 250000, 500, false },	/* other rows wait for a batch */
};

START_TEST(a_worker_that_is_behind_spreads_them)
{
	works(0, 1000, loads[_i].left, loads[_i].batch_us, loads[_i].ms);
	for (unsigned i = 0; i < NWORKERS; i++)
		ck_assert_int_eq(gather_is_on(&workers[i], now),
		    loads[_i].gathered);
}
END_TEST

START_TEST(bursts_with_rests_do_not_add_up)
{
	for (int i = 0; i < 20; i++) {
		works(0, 1000, true, 2000, 100);
		works(0, 1000, false, 2000, 100);
	}
	ck_assert(gather_is_on(&workers[0], now));
}
END_TEST

START_TEST(they_gather_when_all_is_done)
{
	works(0, 20000, true, 2000, 1500);
	ck_assert(!gather_is_on(&workers[0], now));
	all_idle(9000);
	ck_assert(!gather_is_on(&workers[0], now));
	all_idle(3000);
	ck_assert(gather_is_on(&workers[0], now));
}
END_TEST

/* What was too much for one, and is done by two without trouble, still is. */
/* Rows are counted at the end of a tick, perhaps just after a measurement. */
START_TEST(a_short_time_is_no_rate)
{
	works(0, 1000, false, 2000, 3000);
	works(0, 1000, true, 2000, 190);
	workers[0].measured_at = now - 3;
	workers[0].rows = 0;
	now += 20;
	gather_worked(&workers[0], &(struct gather_work){ .rows = 1000,
	    .left = true }, now);
	ck_assert(!gather_is_on(&workers[0], now));
	ck_assert_uint_le(board->spread_rate, 2000);
}
END_TEST

/* One row now and then that takes long does not keep them spread. */
START_TEST(hardly_any_rows_are_never_much)
{
	for (int i = 0; i < 3; i++) {
		gather_worked(&workers[0], &(struct gather_work){ .rows = 1,
		    .batch_us = 300000 }, now);
		now += 500;
	}
	ck_assert(!gather_is_on(&workers[0], now));
	for (int i = 0; i < 12; i++)
		works(0, 100, false, 2000, 10), all_idle(990);
	ck_assert(gather_is_on(&workers[0], now));
}
END_TEST

START_TEST(who_serves_is_well_while_it_gives_signs_of_life)
{
	ck_assert(!gather_is_well(&workers[1], now));
	board->lines[0].owned = 16;
	board->lines[0].alive_at = now - 1000;
	ck_assert(gather_is_well(&workers[1], now));
	ck_assert(!gather_is_well(&workers[1], now + 2000));
}
END_TEST

START_TEST(they_stay_spread_while_it_is_much)
{
	works(0, 20000, true, 2000, 1500);
	for (int i = 0; i < 30; i++) {
		works(1, 12000, false, 2000, 500);
		works(2, 12000, false, 2000, 500);
	}
	ck_assert(!gather_is_on(&workers[0], now));
	/* Each works half of the time. */
	for (int i = 0; i < 30; i++) {
		works(1, 4000, false, 2000, 500);
		works(2, 4000, false, 2000, 500);
	}
	ck_assert(gather_is_on(&workers[0], now));
}
END_TEST

/* It had much to do when it was stopped. */
START_TEST(one_that_hangs_does_not_keep_them_spread)
{
	works(0, 20000, true, 2000, 1500);
	ck_assert_uint_gt(scoreboard_rate(board, NWORKERS, now), 10000);
	for (int64_t until = now + 13000; now < until; now += 1000) {
		board->lines[1].alive_at = now;
		gather_measure(&workers[1], now);
	}
	ck_assert_uint_eq(scoreboard_rate(board, NWORKERS, now), 0);
	ck_assert(gather_is_on(&workers[1], now));
}
END_TEST

/* Of a reload; the next one wants it again, whatever the load was meanwhile. */
START_TEST(who_must_not_gather_spreads_the_others)
{
	workers[0].enabled = false;
	now += 1000;
	gather_measure(&workers[0], now);
	ck_assert(!gather_is_on(&workers[1], now));
	works(0, 12000, false, 2000, 20000);
	ck_assert(!gather_is_on(&workers[1], now));
	workers[0].enabled = true;
	works(0, 12000, false, 2000, 11000);
	ck_assert(gather_is_on(&workers[1], now));
}
END_TEST

START_TEST(the_only_worker_spreads_nobody)
{
	workers[0].enabled = false;
	workers[0].nslots = 1;
	now += 1000;
	gather_measure(&workers[0], now);
	ck_assert(gather_is_on(&workers[1], now));
}
END_TEST

START_TEST(some_are_never_gathered)
{
	struct gather	g = { .enabled = true };

	workers[0].enabled = false;
	ck_assert(!gather_is_on(&workers[0], now));
	gather_worked(&g, &(struct gather_work){ .left = true }, now);
	gather_measure(&g, now);
	ck_assert(!gather_is_on(&g, now));
	ck_assert(!gather_has(&g, "a"));
	gather_tell_others(&g);
}
END_TEST

/* They look for leases then, and for nothing else. */
START_TEST(the_others_are_told_and_nobody_else)
{
	struct wakeup		 wakeup;
	struct label_set	 which, none = { { 0 } };
	struct err		 e;

	ck_assert_int_eq(wakeup_open(&wakeup, &e), 0);
	workers[1].wakeup = &wakeup;
	gather_tell_others(&workers[1]);
	for (unsigned i = 0; i <= NWORKERS; i++) {
		ck_assert_int_eq(wakeup_take(&wakeup, i, &which),
		    i != 1 && i < NWORKERS);
		ck_assert_mem_eq(&which, &none, sizeof(none));
		ck_assert_int_eq(wakeup_take_leases(&wakeup, i),
		    i != 1 && i < NWORKERS);
		ck_assert(!wakeup_take_leases(&wakeup, i));
	}
	wakeup_close(&wakeup);
}
END_TEST

START_TEST(workers_of_this_master_are_known)
{
	strcpy(board->lines[1].id, "host:01:abc");
	strcpy(board->lines[NWORKERS].id, "host:03:abc");
	ck_assert(gather_has(&workers[0], "host:01:abc"));
	ck_assert(!gather_has(&workers[0], "host:01:abd"));
	/* Of a slot that a reload has taken away or added. */
	ck_assert(gather_has(&workers[0], "host:03:abc"));
}
END_TEST

/* The database has the former one's until the new one is registered. */
START_TEST(a_worker_is_known_by_its_former_id)
{
	strcpy(board->lines[1].id, "host:01:new");
	strcpy(board->lines[1].former_id, "host:01:old");
	ck_assert(gather_has(&workers[0], "host:01:old"));
	ck_assert(gather_has(&workers[0], "host:01:new"));
}
END_TEST

START_TEST(one_that_died_is_not_the_first)
{
	struct scoreboard_line	*l = board->lines;
	struct gather		*g = &workers[1];

	strcpy(l[0].former_id, "host:00:old");
	ck_assert_uint_eq(gather_first(g, now), 1);
	l[0].trusted_from = now + 10000;
	ck_assert_uint_eq(gather_first(g, now), 2);
	ck_assert(gather_has(g, "host:00:abc"));
	ck_assert(!gather_trusts(g, "host:00:abc", now));
	ck_assert(!gather_trusts(g, "host:00:old", now));
	ck_assert(gather_trusts(g, "host:01:abc", now));
	ck_assert(!gather_trusts(g, "other:01:abc", now));
	ck_assert(gather_trusts(g, "host:00:abc", now + 10000));
	ck_assert_uint_eq(gather_first(g, now + 10000), 1);
}
END_TEST

/* What its neighbour could send waits for it, for as long as that lasts. */
START_TEST(one_that_cannot_publish_is_not_the_first)
{
	static const enum scoreboard_state	states[] = {
		SCOREBOARD_NO_BROKER, SCOREBOARD_PAUSED
	};

	for (unsigned i = 0; i < NWORKERS; i++)
		board->lines[i].state = SCOREBOARD_RUNNING;
	board->lines[0].state = states[_i];
	board->lines[0].state_since = now - 10000;
	board->lines[0].pause.since = _i == 0 ? 0 : now - 10000;
	ck_todo(gather_first(&workers[1], now) == 2,
	    "the first of the gathered workers cannot publish");
}
END_TEST

/* For instance each of them by the same message. */
START_TEST(all_died_so_each_has_its_share)
{
	for (unsigned i = 0; i < NWORKERS; i++)
		board->lines[i].trusted_from = now + 1;
	ck_assert(!gather_is_on(&workers[0], now));
	ck_assert(gather_is_on(&workers[0], now + 1));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("gather");
	TCase	*tc = add_case(s, "gather");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, a_worker_that_is_behind_spreads_them, 0,
	    NROWS(loads));
	tcase_add_test(tc, bursts_with_rests_do_not_add_up);
	tcase_add_test(tc, they_gather_when_all_is_done);
	tcase_add_test(tc, a_short_time_is_no_rate);
	tcase_add_test(tc, hardly_any_rows_are_never_much);
	tcase_add_test(tc, who_serves_is_well_while_it_gives_signs_of_life);
	tcase_add_test(tc, they_stay_spread_while_it_is_much);
	tcase_add_test(tc, one_that_hangs_does_not_keep_them_spread);
	tcase_add_test(tc, who_must_not_gather_spreads_the_others);
	tcase_add_test(tc, the_only_worker_spreads_nobody);
	tcase_add_test(tc, some_are_never_gathered);
	tcase_add_test(tc, the_others_are_told_and_nobody_else);
	tcase_add_test(tc, workers_of_this_master_are_known);
	tcase_add_test(tc, a_worker_is_known_by_its_former_id);
	tcase_add_test(tc, one_that_died_is_not_the_first);
	tcase_add_loop_test(tc, one_that_cannot_publish_is_not_the_first, 0, 2);
	tcase_add_test(tc, all_died_so_each_has_its_share);
	return run_suite(s);
}
