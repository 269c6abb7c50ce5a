/*
 * pipelined_fleet.c - when a worker may pipeline its claims
 */
#include "store/pipelined_test.h"

#include "lib/stages.h"
#include "worker/fleet.h"

static struct fleet	 fleet;
static int64_t		 now;

static struct leased_label *
p00(void)
{
	struct leased_label	*p = lease_of(&fleet, "p00");

	ck_assert_ptr_nonnull(p);
	return p;
}

static void
round_at(int64_t at)
{
	now = at;
	ck_ok(fleet_round(&fleet, now, &e));
}

static bool
may_go(uint64_t sequence)
{
	return fleet_may_pipeline(&fleet, partition_of(&fleet, "p00"),
	    sequence, now);
}

/* Ask, and let the next round set the mark. */
static void
set_own_mark(void)
{
	may_go(4);
	round_at(now + 1);
}

void
fleet_begin(void)
{
	early_begin();
	ck_ok(store_register(st, &e));
	fleet_init(&fleet, conf, st);
	round_at(1000);
}

void
fleet_end(void)
{
	fleet_free(&fleet);
	early_end();
}

/* Not before the lease has a mark, and not beyond its bound. */
START_TEST(who_asks_may_go_early_soon)
{
	ck_assert(!may_go(4));
	ck_sql("none", MARKS);
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
	ck_assert(may_go(4));
	ck_assert_int_gt(fleet_next(&fleet), now);
	/* The mark is made anew before it is used up. */
	ck_assert(may_go(3500));
	ck_assert_int_le(fleet_next(&fleet), now);
	round_at(now + 1);
	ck_sql("new 7500 mine", MARKS);
	ck_assert(!may_go(8000));
	round_at(now + 1);
	ck_sql("new 12000 mine", MARKS);
	ck_assert(may_go(8000));
	/* A bound that was promised stays. */
	may_go(1);
	round_at(now + conf->worker.lease_renew);
	ck_sql("new 12000 mine", MARKS);
}
END_TEST

/* Sending is not held up by the renewal that it asked for. */
START_TEST(mark_waits_for_the_next_round)
{
	ck_assert(!may_go(4));
	ck_ok(fleet_keep_alive(&fleet, now + 1, &e));
	ck_sql("none", MARKS);
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
}
END_TEST

/* A renewal keeps the mark if it was asked for since the last one. */
START_TEST(who_does_not_ask_may_not_go_early)
{
	set_own_mark();
	ck_assert(may_go(4));
	round_at(now + conf->worker.lease_renew);
	ck_assert_uint_eq(p00()->pipeline_upto, 4004);
	fleet.read_at = INT64_MAX;
	round_at(now + conf->worker.lease_renew);
	ck_assert_uint_eq(p00()->pipeline_upto, 0);
	ck_assert(!may_go(4));
	round_at(now + 1);
	ck_assert(may_go(4));
}
END_TEST

/* Rows that a former owner may have sent have to be settled first. */
START_TEST(mark_of_a_former_owner_comes_first)
{
	set_mark("old 3 former");
	fleet_reread(&fleet);
	round_at(now + 1);
	ck_assert_uint_eq(p00()->in_doubt_upto, 3);
	ck_assert(!may_go(4));
	ck_assert(!fleet.mark_now);	/* it would be in vain */
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence <= 3");
	round_at(now + 3000);
	ck_assert_uint_eq(p00()->in_doubt_upto, 0);
	ck_sql("none", MARKS);
	ck_assert(!may_go(4));
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
	ck_assert(may_go(4));
}
END_TEST

/*
 * The epoch was raised, the partition paused, or the lease lost: the worker
 * learns of it while it lives, and knows that no row is in doubt.
 */
static const struct {
	const char	*what, *left;
} ends[] = {
	{ "lease_epoch = lease_epoch + 1", "none" },
	{ "lease_epoch = lease_epoch + 1, lease_owner = 'paused'", "none" },
	/* The mark of another owner stays. */
	{ "lease_epoch = lease_epoch + 1, lease_owner = '" OTHER "', "
	    "in_doubt_epoch = lease_epoch, in_doubt_upto = 7", "new 7 mine" },
};

START_TEST(mark_of_a_former_epoch_is_forgotten)
{
	set_own_mark();
	sql("UPDATE outbox_partitions SET %s", ends[_i].what);
	fleet_reread(&fleet);
	round_at(now + 1);
	ck_sql(ends[_i].left, MARKS);
}
END_TEST

/* Before a successor takes the place of the worker. */
START_TEST(marks_are_forgotten_at_last)
{
	set_own_mark();
	ck_ok(fleet_forget_marks(&fleet, &e));
	ck_sql("none", MARKS);
	set_mark("old 3 former");
	ck_ok(fleet_forget_marks(&fleet, &e));
	ck_sql("old 3 former", MARKS);
}
END_TEST

/* A worker that is alone has all partitions. */
START_TEST(many_marks_are_forgotten_at_once)
{
	own_leases(1, 299);
	round_at(now + conf->worker.lease_renew);
	set_own_mark();
	ck_sql("300", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	round_at(now + 1000);
	ck_sql("0", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
}
END_TEST

#define ASKED	"SELECT COUNT(*) " STATEMENTS				     \
		"AND argument LIKE 'SHOW SESSION VARIABLES%%'"

/* Run rounds for so long, a second apart. */
static void
rounds_for(int64_t ms, bool ask)
{
	for (int64_t until = now + ms; now < until; ) {
		if (ask)
			may_go(4);
		round_at(now + 1000);
	}
}

/* Variables of the server may change at any time. */
START_TEST(server_is_asked_again)
{
	set_own_mark();
	ck_assert(may_go(4));
	sql("SET GLOBAL sync_binlog = 0");
	rounds_for(31000, true);
	ck_assert(!may_go(4));
	/* The mark is not made anew. */
	sql("UPDATE outbox_partitions SET in_doubt_since = in_doubt_since - "
	    "INTERVAL 1 MINUTE");
	rounds_for(6000, true);
	ck_sql("none", MARKS);
	be_durable();
	rounds_for(31000, true);
	ck_assert(may_go(4));
}
END_TEST

/* Every 30 seconds, and only if the answer is needed. */
START_TEST(server_is_left_alone)
{
	log_statements();
	rounds_for(120000, false);
	ck_sql("0", ASKED);
	rounds_for(120000, true);
	sql("SET GLOBAL general_log = 0");
	ck_sql("4", ASKED);
}
END_TEST

/* A server that became read-only is noticed as well. */
START_TEST(server_that_is_refused_is_closed)
{
	may_go(4);
	sql("SET GLOBAL read_only = 1");
	ck_fails(fleet_round(&fleet, now + 1, &e));
	ck_assert_int_eq(store_fault(st), DB_READONLY);
	ck_assert(!store_is_open(st));
}
END_TEST

/* These rows are of two ranges. */
START_TEST(rows_without_a_label_do_not_go_early)
{
	struct partition	*none;

	sql("UPDATE outbox_settings SET partition_count = 16");
	add_lease("", ME, 1);
	may_go(4);
	round_at(now + conf->worker.lease_renew);
	ck_assert(may_go(4));
	none = partition_of(&fleet, "");
	ck_assert(!fleet_may_pipeline(&fleet, none, 4, now));
}
END_TEST

void
add_early_fleet(TCase *tc)
{
	tcase_add_test(tc, who_asks_may_go_early_soon);
	tcase_add_test(tc, mark_waits_for_the_next_round);
	tcase_add_test(tc, who_does_not_ask_may_not_go_early);
	tcase_add_test(tc, mark_of_a_former_owner_comes_first);
	tcase_add_loop_test(tc, mark_of_a_former_epoch_is_forgotten, 0,
	    NROWS(ends));
	tcase_add_test(tc, marks_are_forgotten_at_last);
	tcase_add_test(tc, many_marks_are_forgotten_at_once);
	tcase_add_test(tc, rows_without_a_label_do_not_go_early);
	tcase_add_test(tc, server_is_asked_again);
	tcase_add_test(tc, server_is_left_alone);
	tcase_add_test(tc, server_that_is_refused_is_closed);
}
