/*
 * block_park.c - rounds of parked.c: what it makes of the records, and of rows
 * that wait
 */
#include "store/block_test.h"

#include "worker/lanes.h"
#include "worker/parked.h"

static struct fleet	 fleet;
static struct backlog	 backlog;

static const struct bytes	K = { "k", 1 }, L = { "l", 1 };

static void
look_again(void)
{
	fleet_reread(&fleet);
	ck_ok(adopt_round(&fleet, &backlog, 0, &e));
}

void
park_begin(void)
{
	block_begin();
	conf->worker.lease_renew = 2000;
	store_free(st);
	st = store_of(conf, ME);
	ck_ok(store_register(st, &e));
	fleet_init(&fleet, conf, st);
	fleet.lease_until = INT64_MAX;
	backlog_init(&backlog, conf, st);
	ck_ok(adopt_round(&fleet, &backlog, 0, &e));
}

void
park_end(void)
{
	backlog_free(&backlog);
	fleet_free(&fleet);
	end_store();
}

static struct part *
part(const char *label)
{
	struct part	*p = parts_find(&backlog.parts, bytes_of(label));

	ck_assert_msg(p != NULL, "%s is not ours", label);
	return p;
}

static void
go(size_t limit)
{
	ck_ok(parked_round(&backlog.parked, limit, 0, &e));
}

/* Rows of a key in p00: the first has failed, the others wait for it. */
static void
wait_for_head(struct bytes key, unsigned first, unsigned last, int64_t due_at)
{
	for (unsigned i = first; i <= last; i++)
		lanes_block(backlog.lanes, &(struct wait){
		    .part = part("p00"), .lane = key, .key = key,
		    .sequence = i, .why = BLOCK_FAILED,
		    .due_at = i == first ? due_at : INT64_MAX });
}

static struct blocked_lane *
lane_of_k(void)
{
	return lanes_find(backlog.lanes, K);
}

static bool
bars(uint64_t sequence)
{
	return lanes_blocks(backlog.lanes, K, sequence);
}

static unsigned
count_parked(void)
{
	return (unsigned)atoi(sql_text("SELECT COUNT(*) FROM outbox "
	    "WHERE partition_key LIKE '!%%'"));
}

START_TEST(failed_head_is_recorded)
{
	add_rows_of("k", 5, 6, "'p00'");
	wait_for_head(K, 5, 6, _i == 0 ? 2000 : 60000);
	go(100);
	ck_assert_str_eq(records(), _i == 0 ? "" : "5 p00 failed 5");
	ck_assert_str_eq(labels(), "5 p00, 6 p00");
	lanes_row_gone(backlog.lanes, 5);
	go(100);
	ck_assert_str_eq(records(), "");
}
END_TEST

/* Its destination is slow: its key waits here, and the table knows nothing. */
START_TEST(row_given_back_for_a_while_waits)
{
	char		 labels_of[1][MSG_LABEL] = { "p00" };
	struct msg	 msgs[] = {
		{ .sequence = 5, .key = K, .delay_ms = 3000 },
		{ .sequence = 6, .key = K },
		{ .sequence = 7, .key = L },
	};
	struct batch	 batch = { .msgs = msgs, .n = 3, .labels = labels_of };
	struct pick	 picks[4];

	add_rows_of("k", 5, 6, "'p00'");
	backlog_learn(&backlog, &batch, 1000);
	go(100);
	ck_assert_str_eq(records(), "");
	ck_assert(bars(6) && !lanes_has_row(backlog.lanes, 7));
	ck_assert_uint_eq(lanes_due(backlog.lanes, 3999, picks, 4), 0);
	ck_assert_uint_eq(lanes_due(backlog.lanes, 4000, picks, 4), 1);
	ck_assert_uint_eq(picks[0].sequence, 5);
}
END_TEST

/* A later row is never back before an earlier one. */
static void
ck_prefix(void)
{
	ck_sql("1", "SELECT COALESCE(MAX(IF(partition_key = 'p00', "
	    "global_sequence, 0)) < MIN(IF(partition_key LIKE '!%%', "
	    "global_sequence, NULL)), 1) FROM outbox");
	for (uint64_t i = 1; i <= 40; i++)
		ck_assert(bars(i) == (strcmp(sql_text("SELECT COUNT(*) FROM "
		    "outbox WHERE partition_key LIKE '!%%' AND "
		    "global_sequence <= %u", (unsigned)i), "0") != 0));
}

START_TEST(rows_are_parked_and_come_back)
{
	unsigned	rounds = 0, before;

	add_rows_of("k", 1, 30, "'p00'");
	wait_for_head(K, 1, 30, 60000);
	for (int i = 0; i < 10; i++)
		go(4);
	ck_assert_uint_le(lanes_nrows(backlog.lanes), 4);
	ck_assert_uint_ge(count_parked(), 26);
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert(bars(2));
	/* The head has been delivered. */
	update_row(1, "published_at = NOW(6), partition_key = 'p00'");
	if (lane_of_k()->head_parked)
		lanes_head_back(backlog.lanes, lane_of_k());
	lanes_row_gone(backlog.lanes, 1);
	for (; (before = count_parked()) > 0; rounds++) {
		go(4);
		ck_assert_uint_lt(count_parked(), before);
		ck_assert_uint_le(before - count_parked(), 6);
		ck_prefix();
	}
	ck_assert_uint_ge(rounds, 5);
	go(4);
	ck_assert_str_eq(records(), "");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
	ck_assert(!bars(40));
}
END_TEST

/* A round meets a locked row. */
START_TEST(busy_round_is_repeated)
{
	add_rows_of("k", 1, 9, "'p00'");
	wait_for_head(K, 1, 9, 60000);
	sql("START TRANSACTION; SELECT * FROM outbox WHERE global_sequence = 7 "
	    "FOR UPDATE");
	ck_fails(parked_round(&backlog.parked, 2, 0, &e));
	ck_assert_int_eq(store_fault(st), DB_BUSY);
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert_uint_eq(count_parked(), 0);
	ck_assert_uint_eq(lanes_nrows(backlog.lanes), 9);
	sql("COMMIT");
	for (int i = 0; i < 5; i++)
		go(2);
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert_uint_ge(count_parked(), 7);
	ck_assert_uint_eq(lanes_nrows(backlog.lanes) + count_parked(), 9);
	ck_assert(bars(2));
}
END_TEST

/*
 * Rows 1 to 3 of k and 4 to 6 of l wait for their heads; the server refuses
 * changes of k.
 */
static void
refuse_key(const char *verb, const char *table, const char *row)
{
	add_rows_of("k", 1, 3, "'p00'");
	add_rows_of("l", 4, 6, "'p00'");
	wait_for_head(K, 1, 3, 60000);
	wait_for_head(L, 4, 6, 60000);
	put_obstacle("23000", verb, table, row);
}

/* The same rows, parked; the heads are due in a minute. */
static void
park_keys(void)
{
	add_rows_of("k", 1, 3, "'!1'");
	add_rows_of("l", 4, 6, "'!4'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 60 SECOND "
	    "WHERE global_sequence IN (1, 4)");
	add_record(1, "p00", "'k'", "failed");
	add_record(4, "p00", "'l'", "failed");
}

/* The heads of both keys are delivered. */
static void
deliver_heads(void)
{
	lanes_row_gone(backlog.lanes, 1);
	lanes_row_gone(backlog.lanes, 4);
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (1, 4)");
}

/* Run some rounds at that time; none fails. */
static void
rounds_at(size_t limit, int64_t now)
{
	for (int i = 0; i < 6; i++)
		ck_ok(parked_round(&backlog.parked, limit, now, &e));
}

static const struct {
	const char	*verb, *table, *row;
	const char	*records, *labels;
} unparkable[] = {
	{ "INSERT", "outbox_blocked_keys", "NEW.order_key = 'k'",
	  "4 p00 failed 4", "1 p00, 2 p00, 3 p00, 4 !4, 5 !4, 6 !4" },
	{ "UPDATE", "outbox", "NEW.partition_key = '!1'",
	  "1 p00 failed 1, 4 p00 failed 4",
	  "1 p00, 2 p00, 3 p00, 4 !4, 5 !4, 6 !4" },
};

/*
 * The server refuses its record, or its rows: the lane waits in memory, and is
 * not tried again for a while.
 */
START_TEST(refused_lane_is_not_parked)
{
	refuse_key(unparkable[_i].verb, unparkable[_i].table,
	    unparkable[_i].row);
	rounds_at(2, 0);
	ck_tables(unparkable[_i].records, unparkable[_i].labels);
	ck_assert(bars(2));
	ck_assert_uint_eq(lanes_nrows(backlog.lanes), 3);
	ck_assert(!backlog.parked.moved);
	rounds_at(2, 31000);
	ck_assert_uint_eq(times_logged("the database refuses to park"), 1);
	ck_has(logged(), "key k: the database");
	sql("DROP TRIGGER obstacle");
	rounds_at(2, 32000);
	ck_assert_str_eq(labels(), unparkable[_i].labels);
}
END_TEST

/* One or two rows may stay where they are. */
START_TEST(refused_lane_is_parked_later)
{
	refuse_key(unparkable[_i].verb, unparkable[_i].table,
	    unparkable[_i].row);
	rounds_at(2, 0);
	sql("DROP TRIGGER obstacle");
	rounds_at(2, 29000);
	ck_assert_str_eq(labels(), unparkable[_i].labels);
	rounds_at(2, 31000);
	ck_tables("1 p00 failed 1, 4 p00 failed 4",
	    "1 !1, 2 p00, 3 !1, 4 !4, 5 !4, 6 !4");
}
END_TEST

/* Of a head that failed and parks no rows the record is tried again. */
START_TEST(refused_record_is_made_later)
{
	refuse_key("INSERT", "outbox_blocked_keys", "NEW.order_key = 'k'");
	rounds_at(100, 0);
	ck_assert_str_eq(records(), "4 p00 failed 4");
	sql("DROP TRIGGER obstacle");
	rounds_at(100, 29000);
	ck_assert_str_eq(records(), "4 p00 failed 4");
	rounds_at(100, 31000);
	ck_assert_str_eq(records(), "1 p00 failed 1, 4 p00 failed 4");
	ck_assert(!backlog.lanes->unrecorded);
}
END_TEST

/* The head is refused, then the rows behind it: the other lane comes back. */
START_TEST(refused_lane_comes_back_later)
{
	static const char	to_p00[] = "OLD.partition_key = '!1' "
				    "AND NEW.partition_key = 'p00'";

	park_keys();
	rounds_at(4, 0);
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 !4, 5 !4, 6 !4");
	put_obstacle("23000", "UPDATE", "outbox", to_p00);
	rounds_at(4, 61000);
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 p00, 5 !4, 6 !4");
	ck_assert_int_eq(lane_of_k()->due_at, 91000);
	ck_assert(bars(2));
	sql("DROP TRIGGER obstacle");
	rounds_at(4, 90000);
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 p00, 5 !4, 6 !4");
	rounds_at(4, 91000);
	ck_assert_str_eq(labels(), "1 p00, 2 !1, 3 !1, 4 p00, 5 !4, 6 !4");
	deliver_heads();
	put_obstacle("23000", "UPDATE", "outbox", to_p00);
	rounds_at(4, 92000);
	ck_tables("1 p00 failed 1", "2 !1, 3 !1, 5 p00, 6 p00");
	ck_assert(bars(2));
	sql("DROP TRIGGER obstacle");
	rounds_at(4, 121000);
	ck_assert_str_eq(labels(), "2 !1, 3 !1, 5 p00, 6 p00");
	rounds_at(4, 122000);
	ck_tables("", "2 p00, 3 p00, 5 p00, 6 p00");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

#define LANES	8

/* A lane of a to h has two rows, the head is due in a minute. */
static void
make_lanes(bool parked)
{
	static const char	*const keys[LANES] = { "a", "b", "c", "d", "e",
				    "f", "g", "h" };

	for (unsigned i = 0; i < LANES; i++) {
		add_rows_of(keys[i], 2 * i + 1, 2 * i + 2, "'p00'");
		if (!parked) {
			wait_for_head(bytes_of(keys[i]), 2 * i + 1, 2 * i + 2,
			    60000);
			continue;
		}
		sql("UPDATE outbox SET partition_key = '!%u', available_at = "
		    "NOW(6) + INTERVAL 60 SECOND WHERE global_sequence IN "
		    "(%u, %u)", 2 * i + 1, 2 * i + 1, 2 * i + 2);
		add_record(2 * i + 1, "p00", sql_text("SELECT QUOTE('%s')",
		    keys[i]), "failed");
	}
}

/* In one round: those with a record, or a row in the partition. */
START_TEST(others_get_records_at_once)
{
	make_lanes(false);
	put_obstacle("23000", "INSERT", "outbox_blocked_keys",
	    "NEW.order_key IN ('c', 'f')");
	go(100);
	ck_sql("1,3,7,9,13,15", "SELECT GROUP_CONCAT(first_sequence ORDER BY "
	    "first_sequence) FROM outbox_blocked_keys");
	ck_assert_uint_eq(times_logged("the database refuses to park"), 2);
	go(100);
	ck_assert(!backlog.parked.moved);
}
END_TEST

static unsigned
count_aside(void)
{
	unsigned	n = 0;

	for (struct blocked_lane *l = backlog.lanes->lanes; l != NULL;
	    l = l->hh.next)
		n += l->aside_until != 0;
	return n;
}

START_TEST(many_refused_lanes_take_rounds)
{
	char	key[8];

	for (unsigned i = 1; i <= 60; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		add_rows_of(key, i, i, "'p00'");
		wait_for_head(bytes_of(key), i, i, 60000);
	}
	put_obstacle("23000", "INSERT", "outbox_blocked_keys", "TRUE");
	go(100);
	ck_assert_uint_eq(count_aside(), 50);
	ck_assert(backlog.parked.moved);
	go(100);
	ck_assert_uint_eq(count_aside(), 60);
	go(100);
	ck_assert(!backlog.parked.moved);
}
END_TEST

START_TEST(others_come_back_at_once)
{
	make_lanes(true);
	go(20);
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.partition_key = 'p00' AND NEW.global_sequence IN (5, 14)");
	ck_ok(parked_round(&backlog.parked, 20, 61000, &e));
	ck_sql("1,3,7,9,11,13,15", "SELECT GROUP_CONCAT(global_sequence "
	    "ORDER BY global_sequence) FROM outbox WHERE partition_key = 'p00'");
	for (unsigned i = 1; i < 2 * LANES; i += 2)
		if (i != 5)
			lanes_row_gone(backlog.lanes, i);
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE partition_key = 'p00'");
	ck_ok(parked_round(&backlog.parked, 20, 62000, &e));
	ck_sql("2,4,8,10,12,16", "SELECT GROUP_CONCAT(global_sequence "
	    "ORDER BY global_sequence) FROM outbox WHERE partition_key = 'p00' "
	    "AND published_at IS NULL");
}
END_TEST

/* It does no harm: no row is parked under it any more. */
START_TEST(refused_record_stays)
{
	park_keys();
	rounds_at(4, 0);
	rounds_at(4, 61000);
	deliver_heads();
	put_obstacle("23000", "DELETE", "outbox_blocked_keys",
	    "OLD.first_sequence = 1");
	rounds_at(4, 62000);
	ck_tables("1 p00 failed 1", "2 p00, 3 p00, 5 p00, 6 p00");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

/* The epoch was raised, and the worker has not read the leases yet. */
START_TEST(rung_round_changes_nothing)
{
	add_rows_of("k", 1, 9, "'p00'");
	wait_for_head(K, 1, 9, 60000);
	if (_i == 1) {
		add_record(1, "p00", "'k'", "failed");
		lane_of_k()->record = 1;
		lane_of_k()->home = part("p00");
	}
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	go(2);
	ck_assert_uint_eq(count_parked(), 0);
	ck_assert_str_eq(records(), _i == 0 ? "" : "1 p00 failed 1");
	look_again();
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
	ck_assert(part("p00")->unread);
	go(2);
	ck_assert(!part("p00")->unread);
	ck_assert_uint_eq(lanes_count(backlog.lanes), (unsigned)_i);
}
END_TEST

START_TEST(heads_come_back_when_due)
{
	add_rows_of("k", 1, 9, "'p00'");
	wait_for_head(K, 1, 9, 60000);
	for (int i = 0; i < 5; i++)
		go(1);
	ck_assert_uint_eq(count_parked(), 8);
	ck_ok(parked_round(&backlog.parked, 1, 59999, &e));
	ck_assert_uint_eq(count_parked(), 8);
	ck_assert(lane_of_k()->head_parked);
	ck_ok(parked_round(&backlog.parked, 1, 60000, &e));
	ck_sql("1", "SELECT MIN(global_sequence) global_sequence FROM outbox "
	    "WHERE partition_key = 'p00'");
	ck_assert(!lane_of_k()->head_parked);
	ck_assert(!bars(1));
	ck_assert(bars(2));
}
END_TEST

/* The next owner reads what the last one wrote. */
START_TEST(records_are_read)
{
	add_rows_of("k", 1, 9, "'p00'");
	add_record(1, "p00", "'k'", _i == 2 ? "halted" : "failed");
	sql("UPDATE outbox SET partition_key = '!1' "
	    "WHERE global_sequence > 3");
	if (_i == 0)
		update_row(1, "available_at = NOW(6) + INTERVAL 1 HOUR");
	else
		update_row(1, "published_at = NOW(6)");
	go(100);
	ck_assert(!part("p00")->unread);
	ck_assert(bars(2) == (_i != 1));
	ck_assert(bars(10) == (_i != 1));
	ck_assert_uint_eq(count_parked(), _i == 1 ? 0 : 6);
	go(100);
	ck_assert_str_eq(records(), _i == 0 ? "1 p00 failed 1" :
	    _i == 1 ? "" : "1 p00 halted 1");
	if (_i != 2)
		return;
	sql("UPDATE outbox_blocked_keys SET reason = 'released'; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	look_again();
	go(100);
	go(100);
	ck_assert_uint_eq(count_parked(), 0);
	ck_assert_str_eq(records(), "");
	ck_assert(!bars(10));
}
END_TEST

/*
 * A row with a lower id came late, failed and was parked in front of the head
 * that the record names: no row may wait for that head alone.
 */
START_TEST(head_behind_parked_rows_is_none)
{
	add_rows_of("k", 8, 12, "'!10'");
	add_record(10, "p00", "'k'", "failed");
	update_row(8, "available_at = NOW(6) + INTERVAL 1 HOUR");
	if (_i == 1)
		update_row(10, "partition_key = 'p00'");
	for (int i = 0; i < 3; i++)
		go(100);
	ck_tables("", "8 p00, 9 p00, 10 p00, 11 p00, 12 p00");
}
END_TEST

/* Two records of one key: the rows of one move, a batch a round. */
START_TEST(records_of_one_lane_are_merged)
{
	unsigned	rounds = 0, before = 9;

	conf->worker.batch_size = 2;
	add_rows_of("k", 1, 9, "'!1'");
	add_rows_of("k", 10, 15, "'!10'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", _i == 0 ? "failed" : "halted");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR, "
	    "partition_key = 'p00' WHERE global_sequence = 1");
	for (; part("p00")->unread; rounds++) {
		before = count_parked();
		go(2);
		ck_assert_uint_le(before - count_parked(), 2);
		ck_assert_uint_lt(rounds, 20);
		ck_assert(!part("p00")->unread ||
		    lanes_count(backlog.lanes) == 0);
	}
	ck_assert_uint_ge(rounds, 3);
	ck_assert_str_eq(records(), _i == 0 ? "1 p00 failed 1" :
	    "1 p00 failed 1, 10 p00 halted 10");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 1);
	ck_assert(bars(2));
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!10'");
	ck_sql("8", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!1'");
	ck_assert_uint_eq(lane_of_k()->halted, _i == 0 ? LANE_NONE : 10);
}
END_TEST

/*
 * Where only the event tells its label, a record has another one of the class.
 * partitions sync --finish may have read the rows of that one already, and
 * does not find this record any more: no row may come back under it.
 */
START_TEST(rows_come_back_under_the_label_of_their_value)
{
	char	*by = conf->outbox.partition_by, tenant[] = "$.tenant";

	conf->outbox.partition_by = tenant;
	sql("UPDATE outbox_settings SET partition_count = 8, former_counts = "
	    "'4', counts_since = NOW(6)");
	add_lease("p04", ME, 1);
	look_again();
	ck_assert_ptr_eq(part("p00"), part("p04"));
	add_rows_of("k", 1, 9, "'!1'");
	add_rows_of("k", 10, 15, "'!10'");
	/* Of p04; by its key it would be of p05. */
	sql("UPDATE events SET metadata = '{\"tenant\": \"d\"}'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", "failed");
	update_row(1, "published_at = NOW(6), partition_key = 'p04'");
	for (int i = 0; count_parked() > 0; i++) {
		ck_assert_int_lt(i, 20);
		go(100);
	}
	ck_sql("p04", "SELECT GROUP_CONCAT(DISTINCT partition_key) FROM outbox "
	    "WHERE published_at IS NULL");
	conf->outbox.partition_by = by;
}
END_TEST

/* One of the rows is refused: its lane waits, the others go on. */
START_TEST(refused_merge_holds_its_lane)
{
	add_rows_of("k", 1, 3, "'!1'");
	add_rows_of("k", 10, 12, "'!10'");
	add_rows(20, 20, "'p00'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", "failed");
	sql("UPDATE outbox SET partition_key = 'p00' WHERE global_sequence = "
	    "1");
	sql("CREATE TRIGGER obstacle BEFORE UPDATE ON outbox FOR EACH ROW "
	    "IF NEW.global_sequence = 11 THEN SIGNAL SQLSTATE '45000'; END IF");
	go(100);
	ck_assert(!part("p00")->unread);
	ck_assert(bars(1));
	ck_assert(bars(12));
	ck_assert_uint_eq(lanes_count(backlog.lanes), 1);
	ck_assert_str_eq(records(), "1 p00 failed 1, 10 p00 failed 10");
	sql("DROP TRIGGER obstacle");
	rounds_at(100, 29000);
	ck_assert_str_eq(records(), "1 p00 failed 1, 10 p00 failed 10");
	rounds_at(100, 31000);
	ck_assert_uint_eq(times_logged("refuses to unpark"), 1);
	ck_assert(!part("p00")->unread);
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert_uint_eq(lane_of_k()->head, 1);
}
END_TEST

/* Many records are read in several rounds, so that leases can be kept. */
START_TEST(many_records_take_rounds)
{
	unsigned	rounds = 0, fresh = 1;

	sql("DELETE FROM outbox_partitions");
	own_leases(0, 39);
	look_again();
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) SELECT n + 10000 * m + 1, "
	    "CONCAT('p', LPAD(n MOD 10, 2, '0')), n + 10000 * m, 'halted', 1 "
	    "FROM " NUMBERS ", (SELECT 0 AS m UNION SELECT 1) AS x");
	for (; fresh > 0; rounds++) {
		ck_assert_uint_lt(rounds, 10);
		go(100);
		fresh = 0;
		for (size_t i = 0; i < fleet.parts.n; i++)
			fresh += backlog.parts.items[i]->unread;
		ck_assert(rounds > 0 || fresh > 0);
	}
	ck_assert_uint_eq(lanes_count(backlog.lanes), 20000);
}
END_TEST

START_TEST(lost_merge_ends)
{
	conf->worker.batch_size = 2;
	add_rows_of("k", 1, 9, "'!1'");
	add_rows_of("k", 10, 15, "'!10'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", "failed");
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	go(2);
	ck_assert_uint_eq(count_parked(), 15);
	ck_assert(part("p00")->unread);
}
END_TEST

/* A key has rows in two partitions, and its halt is in the other one. */
START_TEST(halt_goes_with_its_partition)
{
	add_lease("p01", ME, 1);
	look_again();
	add_rows_of("k", 3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR");
	if (_i == 0)
		add_record(3, "p00", "'k'", "failed");
	else
		wait_for_head(K, 3, 3, 60000);
	add_record(4, "p01", "'k'", "halted");
	go(100);
	ck_assert_uint_eq(lane_of_k()->halted, 4);
	ck_assert_uint_eq(lane_of_k()->head, 3);
	/* The head is another worker's now; the halt stays, with its key. */
	sql("UPDATE outbox_partitions SET lease_owner = '" OTHER "' "
	    "WHERE partition_key = 'p00'");
	look_again();
	ck_assert_ptr_nonnull(lane_of_k());
	ck_assert(bars(5));
	ck_assert(!bars(4));
	for (unsigned i = 5; i < 9; i++)
		lanes_block(backlog.lanes, &(struct wait){
		    .part = part("p01"), .lane = K, .key = K, .sequence = i,
		    .due_at = INT64_MAX });
	go(2);
	ck_sql("0", "SELECT COUNT(*) FROM outbox_blocked_keys "
	    "WHERE first_sequence > 4");
	sql("UPDATE outbox_blocked_keys SET reason = 'released'; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1 "
	    "WHERE partition_key = 'p01'");
	look_again();
	go(100);
	go(100);
	ck_assert(!bars(9));
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

/*
 * The release raises the epoch of the halt's partition, not of the one in which
 * the key was met first.
 */
START_TEST(released_key_goes_on)
{
	add_lease("p01", ME, 1);
	look_again();
	add_rows_of("k", 3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR");
	add_record(3, "p00", "'k'", "failed");
	add_record(4, "p01", "'k'", "halted");
	go(100);
	ck_assert_uint_eq(lane_of_k()->halted, 4);
	sql("UPDATE outbox_blocked_keys SET reason = 'released' "
	    "WHERE first_sequence = 4; UPDATE outbox_partitions SET "
	    "lease_epoch = lease_epoch + 1 WHERE partition_key = 'p01'");
	look_again();
	go(100);
	ck_assert_uint_eq(lane_of_k()->halted, LANE_NONE);
	ck_assert(bars(5));
	lanes_row_gone(backlog.lanes, 3);
	go(100);
	ck_assert(!bars(5));
	ck_assert_str_eq(records(), "");
}
END_TEST

void
add_parking(TCase *tc)
{
	tcase_add_loop_test(tc, failed_head_is_recorded, 0, 2);
	tcase_add_test(tc, row_given_back_for_a_while_waits);
	tcase_add_test(tc, rows_are_parked_and_come_back);
	tcase_add_test(tc, busy_round_is_repeated);
	tcase_add_loop_test(tc, refused_lane_is_not_parked, 0,
	    NROWS(unparkable));
	tcase_add_loop_test(tc, refused_lane_is_parked_later, 0,
	    NROWS(unparkable));
	tcase_add_test(tc, refused_record_is_made_later);
	tcase_add_test(tc, refused_lane_comes_back_later);
	tcase_add_test(tc, others_get_records_at_once);
	tcase_add_test(tc, many_refused_lanes_take_rounds);
	tcase_add_test(tc, others_come_back_at_once);
	tcase_add_test(tc, refused_record_stays);
	tcase_add_loop_test(tc, rung_round_changes_nothing, 0, 2);
	tcase_add_test(tc, heads_come_back_when_due);
	tcase_add_loop_test(tc, records_are_read, 0, 3);
	tcase_add_loop_test(tc, head_behind_parked_rows_is_none, 0, 2);
	tcase_add_loop_test(tc, records_of_one_lane_are_merged, 0, 2);
	tcase_add_test(tc, rows_come_back_under_the_label_of_their_value);
	tcase_add_test(tc, many_records_take_rounds);
	tcase_add_test(tc, refused_merge_holds_its_lane);
	tcase_add_test(tc, lost_merge_ends);
	tcase_add_loop_test(tc, halt_goes_with_its_partition, 0, 2);
	tcase_add_test(tc, released_key_goes_on);
}
