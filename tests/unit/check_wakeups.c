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
	tcase_add_test(add_case(s, "waits"),
	    a_wait_whose_end_has_passed_is_none);
	return run_suite(s);
}
