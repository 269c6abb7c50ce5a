/*
 * block_glance.c - ticks whose look reads the messages with the rows
 */
#include "store/block_test.h"

#include "util/clock.h"
#include "worker/parked.h"
#include "worker/worker_impl.h"

/* A statement that reads messages. */
#define READ	"SELECT o.global_sequence%%e.event_type%%"

/* What the look has read is not fetched again, if it is all that is claimed. */
static const struct {
	const char	*first, *meanwhile;	/* before the tick; at the claim */
	size_t		 budget;
	const char	*fetches, *delivered;
} aheads[] = {
	{ "DO 0", "DO 0", 1 << 20, "0", "1,2,3" },
	/* Left by somebody: since then it may be in the stream. */
	{ "UPDATE outbox SET claim_token = 'gone-1' WHERE global_sequence = 2",
	    "DO 0", 1 << 20, "1", "1,2,3" },
	{ "UPDATE events SET event_data = REPEAT('x', 2000) "
	    "WHERE sequence = 3", "DO 0", 100 * 1024, "1", "1,2,3" },
	{ "DO 0", "UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE global_sequence = 2", 1 << 20, "1", "1,3" },
	{ "DO 0", "DELETE FROM outbox WHERE global_sequence = 2", 1 << 20,
	    "1", "1,3" },
	/* Replayed by an operator. */
	{ "DO 0", "START TRANSACTION; UPDATE outbox SET replay_no = 1; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1; "
	    "COMMIT", 1 << 20, "0", "" },
};

START_TEST(rows_are_read_ahead)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	conf->worker.batch_bytes = (int64_t)aheads[_i].budget;
	add_rows(1, 3, "'p00'");
	sql("%s", aheads[_i].first);
	node_start(n);
	ck_ok(parked_round(&n->tick.backlog.parked, 100, clock_ms(), &e));
	log_statements();
	store_close(n->store);
	ck_ok(store_open(n->store, &e));
	story.before = "UPDATE `outbox` AS o";
	story.meanwhile = aheads[_i].meanwhile;
	ck_ok(tick_run(&n->tick, 10, &res, &e));
	sql("SET GLOBAL general_log = 0");
	ck_assert_str_eq(aheads[_i].delivered, sql_text("SELECT COALESCE("
	    "GROUP_CONCAT(global_sequence ORDER BY 1), '') FROM outbox "
	    "WHERE published_at IS NOT NULL"));
	ck_sql("1", "SELECT COUNT(*) " STATEMENTS "AND argument LIKE '" READ
	    "' AND argument LIKE '%%IS NULL LIMIT%%'");
	ck_sql(aheads[_i].fetches, "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '" READ "' "
	    "AND argument NOT LIKE '%%IS NULL LIMIT%%'");
	node_stop(n);
}
END_TEST

/* Without leases nobody knows whether it is still as it was read. */
START_TEST(nothing_is_read_ahead_without_leases)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	node_start(n);
	add_rows(1, 3, "'p00'");
	ck_ok(parked_round(&n->tick.backlog.parked, 100, clock_ms(), &e));
	conf->worker.leasing = false;
	log_statements();
	store_close(n->store);
	ck_ok(store_open(n->store, &e));
	ck_ok(tick_run(&n->tick, 10, &res, &e));
	sql("SET GLOBAL general_log = 0");
	ck_assert_uint_eq(res.settled.delivered, 3);
	ck_sql("0", "SELECT COUNT(*) " STATEMENTS "AND argument LIKE '" READ
	    "' AND argument LIKE '%%IS NULL LIMIT%%'");
	node_stop(n);
}
END_TEST

/* After a failure the next look comes without another ring. */
START_TEST(failed_tick_looks_again)
{
	struct node			*n = &nodes[0];
	static const struct worker_args	 a;
	struct worker			 w = { .a = &a, .conf = conf };

	memset(&story, 0, sizeof(story));
	node_start(n);
	w.line = &w.no_line;
	w.totals = &w.no_totals;
	w.store = n->store;
	tick_init(&w.tick, conf, n->store, &n->fleet, &n->relay);
	w.tick.totals = w.totals;
	tick_adopt(&w.tick);
	ck_ok(parked_round(&w.tick.backlog.parked, 100, clock_ms(), &e));
	w.poll.ceiling_ms = 60000;
	w.poll.at = INT64_MAX;
	add_rows(1, 3, "'p00'");
	story.before = "UPDATE `outbox` AS o";
	story.meanwhile = "START TRANSACTION; SELECT lease_epoch FROM "
	    "outbox_partitions FOR UPDATE";
	worker_tick(&w);
	sql("ROLLBACK");
	ck_assert(store_is_open(n->store));
	ck_assert_int_le(w.poll.at, clock_ms());
	tick_free(&w.tick);
	node_stop(n);
}
END_TEST

void
add_glances(TCase *tc)
{
	tcase_add_loop_test(tc, rows_are_read_ahead, 0, NROWS(aheads));
	tcase_add_test(tc, nothing_is_read_ahead_without_leases);
	tcase_add_test(tc, failed_tick_looks_again);
}
