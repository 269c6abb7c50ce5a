/* check_wakeups.c - when a worker relies on wake-ups, and what they cause */
#include "lib/check.h"

#include "util/clock.h"
#include "util/xalloc.h"
#include "worker/worker_impl.h"

static const struct {
	const char	*subject;
	int		 listener;	/* its state; -1: no scoreboard */
	int64_t		 silent_ms;
	bool		 refused;	/* the subject, by the broker */
	bool		 expects;
} moments[] = {
	{ "", -1, 0, false, false },
	{ "wake", -1, 0, false, true },
	{ "", SCOREBOARD_FREE, 0, false, false },
	{ "", SCOREBOARD_STARTING, 0, false, false },
	{ "", SCOREBOARD_NO_DATABASE, 0, false, false },
	{ "", SCOREBOARD_REFUSED, 0, false, false },
	{ "", SCOREBOARD_RUNNING, 0, false, true },
	{ "", SCOREBOARD_RUNNING, LISTENER_SILENCE_MS / 2, false, true },
	{ "", SCOREBOARD_RUNNING, LISTENER_SILENCE_MS + 1000, false, false },
	{ "wake", SCOREBOARD_REFUSED, 0, false, true },
	{ "wake", SCOREBOARD_REFUSED, 0, true, false },
	{ "wake", SCOREBOARD_RUNNING, 0, true, true },
};

START_TEST(a_listener_that_does_not_hear_is_none)
{
	struct conf		 conf = { .wake.subject =
				     (char *)moments[_i].subject };
	struct scoreboard	*board = xcalloc(1, sizeof(*board));
	struct scoreboard_line	*line = &board->lines[SCOREBOARD_LISTENER];
	struct worker_args	 a = { .board = moments[_i].listener < 0 ?
				     NULL : board };
	struct worker		*w = xcalloc(1, sizeof(*w));

	line->state = (uint32_t)moments[_i].listener;
	line->alive_at = clock_ms() - moments[_i].silent_ms;
	w->conf = &conf;
	w->a = &a;
	w->deaf = moments[_i].refused;
	ck_assert_int_eq(moments[_i].expects, worker_expects_wakeups(w));
	free(w);
	free(board);
}
END_TEST

static bool
is_not_woken(void *arg)
{
	(void)arg;
	return false;
}

/* What a worker that wants one more lease is woken for. */
static const struct {
	bool	label, all, leases;
} rings[] = {
	{ true, false, false }, { false, true, false }, { false, false, true },
	{ true, true, true },
};

/* A lease may be paused for days, and rows come all the time. */
START_TEST(only_free_leases_make_it_look_for_leases)
{
	static const struct pub_ops	 ops = { .woken = is_not_woken };
	struct label_set		 label = { { 0 } }, all;
	struct wakeup			 wakeup;
	struct parts			 parts = { 0 };
	struct worker_args		 a = { .wakeup = &wakeup };
	struct worker			*w = xcalloc(1, sizeof(*w));
	struct err			 e;

	ck_assert_int_eq(wakeup_open(&wakeup, &e), 0);
	label_set_add(&label, "p07", 3);
	label_set_fill(&all);
	w->a = &a;
	w->relay.pubs[DRIVER_NATS].ops = &ops;
	w->totals = &w->no_totals;
	w->tick.backlog.candidates.parts = &parts;
	w->fleet.ndesired = 1;
	w->fleet.read_at = w->fleet.all_at = INT64_MAX;
	if (rings[_i].label)
		wakeup_notify(&wakeup, 0, &label);
	if (rings[_i].all)
		wakeup_notify(&wakeup, 0, &all);
	if (rings[_i].leases)
		wakeup_notify_leases(&wakeup, 0);
	ck_assert_int_eq(worker_take_wakeups(w), rings[_i].all);
	ck_assert_int_eq(w->fleet.all_at == 0, rings[_i].leases);
	ck_assert_int_eq(w->fleet.read_at <= clock_ms(), rings[_i].leases);
	wakeup_close(&wakeup);
	free(w);
}
END_TEST

/* The clock goes on between the look at it and the wait. */
START_TEST(a_wait_whose_end_has_passed_is_none)
{
	pub_wait(NULL, 0, -1, -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("wakeups");

	tcase_add_loop_test(add_case(s, "expects"),
	    a_listener_that_does_not_hear_is_none, 0, NROWS(moments));
	tcase_add_loop_test(add_case(s, "leases"),
	    only_free_leases_make_it_look_for_leases, 0, NROWS(rings));
	tcase_add_test(add_case(s, "waits"),
	    a_wait_whose_end_has_passed_is_none);
	return run_suite(s);
}
