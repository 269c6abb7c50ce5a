/* check_slot.c - whom the deaths of its children make suspect */

#include "lib/check.h"

#include <signal.h>

#include "common/exits.h"
#include "master/slot.h"

#define EXITED(code)	((code) << 8)

static const struct {
	enum slot_ask	 asked;
	int		 status;	/* of the last of three deaths */
	uint64_t	 handling;	/* by each of the three */
	uint64_t	 before;
	unsigned	 deaths;	/* over handling */
} strikes[] = {
	{ ASK_NONE, SIGSEGV, 7, 7, 3 },
	{ ASK_NONE, SIGKILL, 7, 7, 3 },
	{ ASK_NONE, EXITED(1), 7, 7, 3 },
	/* In turns with another one. */
	{ ASK_NONE, SIGABRT, 8, 7, 2 },
	{ ASK_NONE, SIGABRT, 7, 0, 2 },
	/* No death over it. */
	{ ASK_NONE, SIGABRT, 0, 7, 0 },
	{ ASK_NONE, EXITED(0), 7, 7, 2 },
	{ ASK_LEAVE, SIGKILL, 7, 7, 2 },
	{ ASK_HANDOVER, EXITED(EXIT_HANDED_OVER), 7, 7, 2 },
};

static void
live_and_die(struct slot *s, uint64_t handling, enum slot_ask asked,
    int status)
{
	slot_started(s, 1, 1, 1000);
	s->line->handling = handling;
	s->asked = asked;
	slot_exited(s, status, 1500);
}

static unsigned
deaths_over(const struct suspect *all, size_t n, uint64_t sequence)
{
	size_t	i = suspect_find(all, n, sequence);

	return i == n ? 0 : suspect_deaths(&all[i]);
}

START_TEST(deaths_in_a_row_make_a_suspect)
{
	struct suspect		 suspects[SUSPECTS] = { { 0, 0 } };
	struct scoreboard_line	 line = { 0 };
	struct slot		 s;

	slot_init(&s, 5, "worker", &line);
	s.suspects = suspects;
	live_and_die(&s, strikes[_i].handling, ASK_NONE, SIGSEGV);
	live_and_die(&s, strikes[_i].before, ASK_NONE, SIGKILL);
	live_and_die(&s, strikes[_i].handling, strikes[_i].asked,
	    strikes[_i].status);
	ck_assert_uint_eq(deaths_over(suspects, SUSPECTS, strikes[_i].handling),
	    strikes[_i].deaths);
}
END_TEST

/* Many poison messages at once, in a batch or in several slots. */
START_TEST(pool_of_suspects)
{
	struct suspect	pool[3] = { { 0, 0 } };

	ck_assert_uint_eq(suspect_used(pool, 3), 0);
	ck_assert_uint_eq(suspect_died(pool, 3, 7), 1);
	ck_assert_uint_eq(suspect_died(pool, 3, 8), 1);
	ck_assert_uint_eq(suspect_died(pool, 3, 7), 2);
	ck_assert_uint_eq(suspect_used(pool, 3), 2);
	ck_assert_uint_eq(suspect_died(pool, 3, 9), 1);
	suspect_clear(pool, 3, 9);
	ck_assert_uint_eq(suspect_used(pool, 3), 2);
	suspect_died(pool, 3, 9);
	suspect_died(pool, 3, 9);
	/* It is full: 8 has the fewest. */
	ck_assert_uint_eq(suspect_died(pool, 3, 6), 1);
	ck_assert_uint_eq(deaths_over(pool, 3, 8), 0);
	ck_assert_uint_eq(deaths_over(pool, 3, 7), 2);
	ck_assert_uint_eq(deaths_over(pool, 3, 9), 2);
	ck_assert_uint_eq(suspect_find(pool, 3, 0), 3);
}
END_TEST

/* It sends nothing. */
START_TEST(a_helper_has_no_suspect)
{
	struct scoreboard_line	line = { .handling = 7 };
	struct slot		s;

	slot_init(&s, 0, "janitor", &line);
	slot_started(&s, 1, 1, 1000);
	slot_exited(&s, SIGSEGV, 1500);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("slot");
	TCase	*tc;

	tc = add_case(s, "slot");
	tcase_add_loop_test(tc, deaths_in_a_row_make_a_suspect, 0,
	    NROWS(strikes));
	tcase_add_test(tc, pool_of_suspects);
	tcase_add_test(tc, a_helper_has_no_suspect);
	return run_suite(s);
}
