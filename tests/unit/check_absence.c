/*
 * check_absence.c - for how long a destination is away for a worker
 *
 * No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include "worker/absence.h"

#define S	1000

static struct conf	conf;	/* of the default times */
static struct absence	a;
static int64_t		now;
static bool		back;	/* the worker stands back */

static void
begin(void)
{
	back = true;
	conf.worker.lease_ttl = 15 * S;
	conf.worker.lease_renew = 5 * S;
	memset(&a, 0, sizeof(a));
	now = 1000000;
}

/* Note once a second for so long; how many of these seconds it was away. */
static int
pass(bool reached, int seconds)
{
	int	n = 0;

	for (int i = 0; i < seconds; i++) {
		now += S;
		absence_note(&a, reached, back, &conf, now);
		n += a.away;
	}
	return n;
}

START_TEST(away_and_back)
{
	ck_assert_int_eq(pass(true, 5), 0);
	/* As long as a dead worker keeps its leases at least. */
	ck_assert_int_eq(pass(false, 30), 20);
	ck_assert_int_ne(a.missed_since, 0);
	ck_assert_int_eq(pass(true, 30), 15);
	ck_assert_int_eq(a.missed_since, 0);
}
END_TEST

START_TEST(short_changes_change_nothing)
{
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(pass(false, 10), 0);
		ck_assert_int_eq(pass(true, 1), 0);
	}
	pass(false, 12);
	ck_assert(a.away);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(pass(true, 15), 15);
		ck_assert_int_eq(pass(false, 1), 1);
	}
}
END_TEST

/* As others reach no more: it has its partitions, and keeps them. */
START_TEST(back_at_once_if_it_did_not_stand_back)
{
	back = false;
	ck_assert_int_eq(pass(false, 30), 20);
	ck_assert(!absence_is_doubt(&a, &conf, now));
	ck_assert_int_eq(pass(true, 14), 0);
	/* But it is in doubt for a while, as after each miss. */
	ck_assert(absence_is_doubt(&a, &conf, now));
	ck_assert_int_eq(pass(true, 1), 0);
	ck_assert(!absence_is_doubt(&a, &conf, now));
	pass(false, 1);
	ck_assert(absence_is_doubt(&a, &conf, now));
	pass(true, 15);
	ck_assert(!absence_is_doubt(&a, &conf, now));
}
END_TEST

START_TEST(connection_that_was_never_open)
{
	absence_begin(&a, now);
	ck_assert_int_eq(pass(false, 3), 3);
	ck_assert_int_eq(pass(true, 3), 0);
	ck_assert_int_eq(pass(false, 20), 10);
	ck_assert_int_eq(pass(true, 30), 15);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("absence");
	TCase	*tc = add_case(s, "absence");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, away_and_back);
	tcase_add_test(tc, short_changes_change_nothing);
	tcase_add_test(tc, back_at_once_if_it_did_not_stand_back);
	tcase_add_test(tc, connection_that_was_never_open);
	return run_suite(s);
}
