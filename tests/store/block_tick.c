/*
 * block_tick.c - ticks of a worker: rows that are refused, heads that stall
 */
#include "store/block_test.h"

#include "util/clock.h"
#include "worker/lanes.h"

/*
 * The first row of a key is claimed by another worker.  It dies there and halts
 * the key after this worker has claimed the next rows, and before it asks why
 * the first was not among them.
 */
START_TEST(death_meanwhile_halts)
{
	struct node	*n = node_start(&nodes[0]);

	conf->retry.on_dead = DEAD_HALT;
	conf->worker.batch_size = 100;
	add_rows_of("k0", 1, 2, "'p00'");
	add_rows(3, 3, "'p00'");
	sql("UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	    "INTERVAL 30 SECOND WHERE global_sequence = 1");
	story.before = "o.published_at IS NULL, IF(";
	story.meanwhile = "START TRANSACTION; DELETE FROM outbox WHERE "
	    "global_sequence = 1; INSERT INTO outbox_blocked_keys "
	    "(first_sequence, partition_key, order_key, reason, head_sequence) "
	    "VALUES (1, 'p00', 'k0', 'halted', 1); UPDATE outbox_partitions SET "
	    "lease_epoch = lease_epoch + 1 WHERE partition_key = 'p00'; COMMIT";
	node_works(n);
	ck_assert_ptr_null(story.before);
	for (int i = 0; i < 5; i++)
		node_works(n);
	ck_assert_str_eq(labels(), "2 p00");
	ck_assert(story.acked[3]);
}
END_TEST

/*
 * With batches of one row, a head that is due and an earlier row must not
 * exclude each other, so that neither is claimed.
 */
START_TEST(smallest_batch_makes_progress)
{
	struct node	*n = node_start(&nodes[0]);

	conf->worker.batch_size = 1;
	add_rows(2, 2, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 SECOND");
	node_works(n);
	add_rows(1, 1, "'p00'");
	time_passes(1500);
	for (int i = 0; i < 4; i++)
		node_works(n);
	ck_assert(story.acked[1]);
	ck_assert(story.acked[2]);
}
END_TEST

/* One key: a head that is due in so many seconds, and rows behind it. */
static void
produce_behind(int due_s, unsigned rows)
{
	add_rows_of("k0", 1, rows, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL %d SECOND "
	    "WHERE global_sequence = 1", due_s);
}

/* A head that kept other rows waiting is not tried again at once. */
START_TEST(heads_that_stall_are_tried_rarely)
{
	struct node	*n = node_start(&nodes[0]);

	produce_behind(1, 1);
	node_works(n);
	n->tick.backlog.candidates.heads_at = clock_ms() + 60000;
	time_passes(1500);
	node_works(n);
	ck_assert(!story.acked[1]);
	ck_assert_int_ge(candidates_next_due(&n->tick.backlog.candidates),
	    n->tick.backlog.candidates.heads_at);
	n->tick.backlog.candidates.heads_at = 0;
	node_works(n);
	ck_assert(story.acked[1]);
}
END_TEST

/* This type is refused while others are taken, and next tried in so long. */
static void
refuse_type(struct node *n, const char *type, int64_t ms)
{
	struct type_breaker	*k = &n->relay.breaker;

	type_breaker_refused(k, &(struct type_refusal){ .m = &(struct msg){ .type = bytes_of(type) }, .route = "",
	    .class = CLASS_NO_STREAM, .subject = type, .why = "",
	    .others = true }, clock_ms());
	k->items[k->n - 1].until = k->items[k->n - 1].ask_at =
	    clock_ms() + ms;
}

static int64_t
due_at(const struct node *n, const char *key)
{
	return lanes_find(n->tick.backlog.lanes, bytes_of(key))->due_at;
}

/* Two types are refused.  One is taken again: the other's messages wait on. */
START_TEST(type_taken_wakes_its_own)
{
	struct node	*n = node_start(&nodes[0]);
	int64_t		 before;

	conf->worker.batch_size = 100;
	add_rows(1, 4, "'p00'");
	sql("UPDATE events SET event_type = IF(sequence < 3, 'x', 'y')");
	refuse_type(n, "x", 1000);
	refuse_type(n, "y", 60000);
	node_works(n);
	before = due_at(n, "k4");
	time_passes(1500);
	for (int i = 0; i < 3; i++)
		node_works(n);
	ck_assert(story.acked[1] && story.acked[2]);
	ck_assert(!story.acked[3] && !story.acked[4]);
	ck_assert_int_eq(due_at(n, "k4"), before);
}
END_TEST

/* While heads wait after a stall, no probe of their types is missed. */
START_TEST(stall_delays_probes)
{
	struct node	*n = node_start(&nodes[0]);

	add_rows(1, 1, "'p00'");
	refuse_type(n, "t", 1000);
	node_works(n);
	n->tick.backlog.candidates.heads_at = clock_ms() + 60000;
	for (int i = 0; i < 5; i++) {
		time_passes(5000);
		node_works(n);
		ck_assert_uint_eq(n->relay.breaker.n, 1);
		ck_assert_uint_eq(n->relay.breaker.items[0].asked, 0);
	}
	time_passes(60000);
	node_works(n);
	ck_assert(story.acked[1]);
	ck_assert_uint_eq(n->relay.breaker.n, 0);
}
END_TEST

static const struct {
	const char	*row;		/* what is refused */
	const char	*waiting;	/* at the end */
	unsigned	 sends;		/* of row 6 */
} refused_rows[] = {
	/* It is not claimed, nor are the rows behind it. */
	{ "NEW.global_sequence = 6 AND NEW.claim_token IS NOT NULL",
	  "6,7,40", 0 },
	/* It is not written back, but noted as in doubt. */
	{ "NEW.global_sequence = 6 AND NEW.published_at IS NOT NULL",
	  "6,40", 1 },
	/* No change is taken: only the worker knows. */
	{ "NEW.global_sequence = 6 AND NEW.claim_token IS NULL", "6,40", 1 },
};

/* Other keys do not wait for it, and it is not sent again and again. */
START_TEST(refused_row_stops_its_lane_only)
{
	struct node		*n = node_start(&nodes[0]);
	struct tick_result	 res;

	add_rows(1, 20, "'p00'");
	set_key(7, "k6");
	put_obstacle("23000", "UPDATE", "outbox", refused_rows[_i].row);
	for (int i = 0; i < 8; i++) {
		ck_ok(tick_run(&n->tick, 4, &res, &e));
		if (i == 3)
			add_rows_of("k6", 40, 40, "'p00'");
	}
	ck_rows(refused_rows[_i].waiting, "published_at IS NULL");
	ck_assert_uint_eq(story.sends[6], refused_rows[_i].sends);
	ck_assert_uint_eq(story.sends[40], 0);
	ck_near(lanes_find(n->tick.backlog.lanes, bytes_of("k6"))->due_at -
	    clock_ms(), 0, 5000);
	ck_assert_uint_eq(times_logged("sequence 6 cannot be"), 1);
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE global_sequence <> 6 "
	    "AND (claim_token IS NOT NULL OR last_error IS NOT NULL)");
}
END_TEST

/* Nor for one that a session has locked, and that goes when it is free. */
START_TEST(locked_row_stops_its_lane_only)
{
	struct node	*n = node_start(&nodes[0]);
	struct refusals	*l = store_refusals(n->store);

	add_rows(1, 9, "'p00'");
	set_key(7, "k2");
	sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	sql("START TRANSACTION");
	sql("SELECT * FROM outbox WHERE global_sequence = 2 FOR UPDATE");
	for (int i = 0; i < 5; i++)
		node_works(n);
	ck_rows("2,7", "published_at IS NULL");
	ck_assert_uint_eq(l->n, 1);
	ck_assert_uint_eq(l->items[0].sequence, 2);
	ck_assert_uint_eq(times_logged("sequence 2 cannot be claimed"), 1);
	sql("COMMIT");
	time_passes(5000);
	for (int i = 0; i < 3; i++)
		node_works(n);
	ck_rows("NULL", "published_at IS NULL");
	ck_assert_uint_eq(l->n, 0);
}
END_TEST

/* The column is too short for any token: no row is to blame. */
START_TEST(short_token_is_no_rows_fault)
{
	struct node		*n = node_start(&nodes[0]);
	struct tick_result	 res;

	add_rows(1, 3, "'p00'");
	sql("ALTER TABLE outbox MODIFY claim_token VARCHAR(16) NULL");
	ck_assert_int_lt(tick_run(&n->tick, 4, &res, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "claim_token"));
	ck_assert_uint_eq(store_refusals(n->store)->n, 0);
	sql("ALTER TABLE outbox MODIFY claim_token VARCHAR(64) NULL");
	for (int i = 0; i < 3; i++)
		node_works(n);
	ck_rows("NULL", "published_at IS NULL");
}
END_TEST

/* There is no pause while rows are parked, and one when that is done. */
START_TEST(rows_move_without_a_pause)
{
	struct node		*n = node_start(&nodes[0]);
	struct tick_result	 res;
	bool			 moved = false;

	produce_behind(3600, 40);
	for (int i = 0; i < 60; i++) {
		ck_ok(tick_run(&n->tick, BATCH, &res, &e));
		ck_assert(!n->tick.backlog.parked.moved || res.more);
		moved = moved || n->tick.backlog.parked.moved;
	}
	ck_assert(moved);
	ck_assert(!n->tick.backlog.parked.moved && !res.more);
}
END_TEST

/* A head that is tried in each tick, and a row of another key behind it. */
START_TEST(smallest_batch_is_shared)
{
	struct node	*n = node_start(&nodes[0]);

	conf->worker.batch_size = 1;
	add_rows(1, 2, "'p00'");
	update_row(1, "claim_token = 'x', available_at = NOW(6) + INTERVAL 1 "
	    "HOUR");
	for (int i = 0; i < 4; i++) {
		node_works(n);
		time_passes(1500);
	}
	ck_assert(story.acked[2]);
}
END_TEST

void
add_ticks(TCase *tc)
{
	tcase_add_test(tc, death_meanwhile_halts);
	tcase_add_test(tc, heads_that_stall_are_tried_rarely);
	tcase_add_test(tc, type_taken_wakes_its_own);
	tcase_add_test(tc, stall_delays_probes);
	tcase_add_test(tc, rows_move_without_a_pause);
	tcase_add_loop_test(tc, refused_row_stops_its_lane_only, 0,
	    NROWS(refused_rows));
	tcase_add_test(tc, locked_row_stops_its_lane_only);
	tcase_add_test(tc, short_token_is_no_rows_fault);
	tcase_add_test(tc, smallest_batch_is_shared);
	tcase_add_test(tc, smallest_batch_makes_progress);
}
