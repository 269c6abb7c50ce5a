/*
 * block_scan.c - a scan whose rows serve several batches
 */
#include "store/block_test.h"

#include "util/clock.h"

/*
 * Start a node that has scanned p00, with rows 11 to 30, each of a key of its
 * own, and has delivered the first batch.
 */
static struct node *
scan_much(bool glances)
{
	struct node	*n = node_start(&nodes[0]);

	add_rows(11, 30, "'p00'");
	n->tick.backlog.candidates.scan.depth = 32;
	story.crowded = glances ? 0 : 100;
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[14] && !story.acked[15]);
	return n;
}

START_TEST(scan_serves_several_batches)
{
	struct node	*n = scan_much(_i == 0);

	for (int i = 0; i < 4; i++)
		node_works(n);
	ck_assert(story.acked[30]);
	ck_assert_uint_eq(story.scans, 1);
}
END_TEST

/*
 * Row 15 is due and free, but its label has changed since the scan: row 16,
 * behind it in its lane, waits, and the others go.
 */
START_TEST(row_that_is_not_claimed_is_waited_for)
{
	struct node	*n = scan_much(false);

	set_key(16, "k15");
	update_row(15, "partition_key = 'p09'");
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[17] && story.acked[18]);
	ck_assert(!story.acked[15] && !story.acked[16]);
}
END_TEST

/*
 * A row is there in front of those of the old scan.  Making a row due raises
 * the epoch; the other changes show that the scan is old.
 */
static const char *const	newer[] = {
	"UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1 WHERE "
	"partition_key = 'p00'",
	"UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE "
	"global_sequence = 16",
	"UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	"INTERVAL 1 HOUR WHERE global_sequence = 16",
	"UPDATE outbox SET published_at = NOW(6) WHERE global_sequence = 16",
	"DELETE FROM outbox WHERE global_sequence = 16",
};

START_TEST(scan_is_made_anew)
{
	struct node	*n = scan_much(false);

	add_rows(1, 1, "'p00'");
	sql("%s", newer[_i]);
	fleet_reread(&n->fleet);
	node_works(n);		/* it finds out, or the epoch told it */
	node_works(n);
	ck_assert(story.acked[1]);
}
END_TEST

/* Shares are rounded down: a scan of many rows is short of a batch or two. */
START_TEST(scan_knows_that_there_is_more)
{
	struct node		*n = scan_much(false);
	struct tick_result	 res;

	ck_assert(!n->tick.backlog.candidates.scan.rich);
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	fleet_reread(&n->fleet);
	n->tick.backlog.candidates.scan.depth = 1;
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	ck_ok(tick_run(&n->tick, BATCH, &res, &e));
	ck_assert(n->tick.backlog.candidates.scan.rich && res.left);
	ck_assert_uint_lt(res.claimed, BATCH);
}
END_TEST

/* The longer a scan takes, the more batches it has to serve. */
START_TEST(dear_scan_gets_deeper)
{
	struct node	*n = scan_much(false);
	struct scan	*s = &n->tick.backlog.candidates.scan;

	s->clean = false;
	s->rich = true;
	s->depth = 1;
	s->took_us = 400000;
	s->began_at = clock_us() - 410000;
	node_works(n);
	ck_assert_uint_eq(s->depth, 2);
	/* But its rows must not get too old. */
	s->clean = false;
	s->rich = true;
	s->took_us = 400000;
	s->began_at = clock_us() - 1000000;
	node_works(n);
	ck_assert_uint_eq(s->depth, 1);
}
END_TEST

/* Without leases no epoch tells of rows that were made due; and by age. */
START_TEST(scan_has_an_end)
{
	struct node	*n;

	conf->worker.leasing = _i != 0;
	n = scan_much(false);
	if (_i == 1)
		time_passes(1000);
	node_works(n);
	ck_assert_uint_eq(story.scans, 2);
	ck_assert(story.acked[18]);
}
END_TEST

/* Delayed rows in front of one that is due: no pause between the batches. */
START_TEST(delayed_rows_are_passed_without_a_pause)
{
	struct node		*n = scan_much(false);
	struct tick_result	 res;
	int			 left = 100;

	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE "
	    "published_at IS NULL AND global_sequence < 30; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	fleet_reread(&n->fleet);
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	do {
		ck_ok(tick_run(&n->tick, BATCH, &res, &e));
		ck_assert(story.acked[30] || res.more || res.claimed > 0);
	} while (!story.acked[30] && left-- > 0);
	ck_assert(story.acked[30]);
}
END_TEST

START_TEST(failure_ends_a_scan)
{
	struct node	*n = scan_much(false);

	story.failures = 100;
	conf->retry.backoff = conf->retry.max_backoff = 1;
	node_works(n);
	story.failures = 0;
	time_passes(1000);
	node_works(n);
	ck_assert_uint_eq(story.scans, 2);
	ck_assert(story.acked[15]);
}
END_TEST

/* The claim fails as a lease is locked; no time passes, as with a deadlock. */
START_TEST(failed_claim_ends_a_scan)
{
	struct node		*n = scan_much(false);
	struct tick_result	 res;
	int64_t			 start;

	story.before = "UPDATE `outbox` AS o";
	story.meanwhile = "START TRANSACTION; SELECT lease_epoch FROM "
	    "outbox_partitions FOR UPDATE";
	start = clock_ms();
	ck_fails(tick_run(&n->tick, BATCH, &res, &e));
	skew_ms -= clock_ms() - start;
	ck_assert(store_is_open(n->store));
	sql("ROLLBACK");
	ck_assert(!story.acked[15] && !tick_is_open(&n->tick));
	story.scans = 0;
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[15]);
}
END_TEST

/* The server refuses to claim row 16: the scan does not go on behind it. */
START_TEST(refused_claim_ends_a_scan)
{
	struct node		*n = scan_much(false);
	struct tick_result	 res;

	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 16 AND NEW.claim_token IS NOT NULL");
	ck_ok(tick_run(&n->tick, BATCH, &res, &e));
	ck_assert(story.acked[18] && !story.acked[16]);
	story.scans = 0;
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
}
END_TEST

void
add_scans(TCase *tc)
{
	tcase_add_loop_test(tc, scan_serves_several_batches, 0, 2);
	tcase_add_loop_test(tc, scan_is_made_anew, 0, NROWS(newer));
	tcase_add_test(tc, scan_knows_that_there_is_more);
	tcase_add_test(tc, dear_scan_gets_deeper);
	tcase_add_loop_test(tc, scan_has_an_end, 0, 2);
	tcase_add_test(tc, delayed_rows_are_passed_without_a_pause);
	tcase_add_test(tc, failure_ends_a_scan);
	tcase_add_test(tc, failed_claim_ends_a_scan);
	tcase_add_test(tc, refused_claim_ends_a_scan);
	tcase_add_test(tc, row_that_is_not_claimed_is_waited_for);
}
