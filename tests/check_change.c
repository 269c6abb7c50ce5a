/*
 * check_change.c - a change of the partition count, against real servers
 *
 * What is moved, what waits and for how long.  See frame.h.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "frame.h"
#include "member.h"
#include "store_sql.h"
#include "xalloc.h"

/* What a producer makes of a key. */
#define LABEL(key, count)	"CONCAT('p', LPAD(CRC32(" key ") MOD " count \
				", 2, '0'))"

static struct hold	*hold;
static struct member	 member;
static struct change	 ch;

static void
change_begin(void)
{
	begin_store();
	sql("UPDATE outbox_settings SET partition_count = 16");
	ck_ok(store_fill_partitions(st, 16, &e));
	hold = hold_new();
	member_init(&member, conf, st, hold);
}

static void
change_end(void)
{
	member_free(&member);
	hold_free(hold);
	end_store();
}

/* Rows first..last of as many keys, as the procedure makes them. */
static void
enqueue(unsigned first, unsigned last)
{
	sql("START TRANSACTION");
	for (unsigned i = first; i <= last; i++)
		sql("INSERT INTO events (sequence, stream_id, stream_sequence,"
		    " event_type, event_data) VALUES (%u, 'k%u', %u, 't', "
		    "'{}'); INSERT INTO outbox (global_sequence, "
		    "partition_key) SELECT %u, CONCAT('p', IF(n < 10, '0', ''),"
		    " n) FROM (SELECT CRC32('k%u') MOD partition_count AS n "
		    "FROM outbox_settings) AS t", i, i % 500, i, i, i % 500);
	sql("COMMIT");
}

static const char *
counts(void)
{
	return sql_text("SELECT partition_count, former_count, boundary, "
	    "wanted_count FROM outbox_settings");
}

static void
change(unsigned wish)
{
	ck_ok(store_change(st, wish, &ch, &e));
	ck_assert(!ch.busy);
}

/* How many rows up to last are not where a producer would put them now. */
static unsigned
misplaced(unsigned last)
{
	return (unsigned)atoi(sql_text("SELECT COUNT(*) FROM outbox JOIN "
	    "events ON sequence = global_sequence, outbox_settings WHERE "
	    "sequence <= %u AND partition_key <> "
	    LABEL("stream_id", "partition_count"), last));
}

/*
 * Little waits
 */

START_TEST(few_rows_move_at_once)
{
	enqueue(1, 300);
	sql("UPDATE outbox SET partition_key = 'vip' WHERE global_sequence = 7;"
	    "UPDATE outbox SET partition_key = NULL WHERE global_sequence = 8;"
	    "UPDATE outbox SET published_at = NOW(6) WHERE global_sequence = 9;"
	    "UPDATE outbox SET partition_key = '!10', claim_token = 'x' "
	    "WHERE global_sequence = 10; INSERT INTO outbox_blocked_keys "
	    "(first_sequence, partition_key, order_key, reason, head_sequence)"
	    " VALUES (10, " LABEL("'k10'", "16") ", 'k10', 'failed', 10), "
	    "(399, " LABEL("'dead'", "16") ", 'dead', 'halted', 399), "
	    "(398, 'vip', 'dead', 'halted', 398), (397, 'p03', NULL, 'failed', 397)"
	    );
	/* One whose lease somebody has deleted. */
	sql("UPDATE outbox SET partition_key = 'p90' WHERE global_sequence = "
	    "11");
	change(64);
	ck_assert(ch.begun && ch.over);
	ck_assert_str_eq(counts(), "64 16 NULL NULL");
	/* Made now: those up to p63, and of the three odd labels. */
	ck_sql("67 67", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions WHERE lease_epoch < 2");
	/* Labels of others, what is delivered and what is parked stay. */
	ck_assert_uint_eq(misplaced(6) + misplaced(300), 3);
	ck_sql("vip\nNULL\n!10", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence IN (7, 8, 10) ORDER BY global_sequence");
	ck_sql("1", "SELECT partition_key = " LABEL("'k9'", "16")
	    " FROM outbox WHERE global_sequence = 9");
	ck_sql("10 1\n397 1\n398 1\n399 1", "SELECT first_sequence, "
	    "partition_key = CASE first_sequence WHEN 397 THEN 'p03' "
	    "WHEN 398 THEN 'vip' ELSE " LABEL("order_key", "64")
	    " END FROM outbox_blocked_keys ORDER BY 1");
}
END_TEST

START_TEST(same_count_changes_nothing)
{
	enqueue(1, 10);
	change(16);
	ck_assert(!ch.begun && !ch.over);
	ck_assert_str_eq(counts(), "16 NULL NULL NULL");
	ck_sql("0", "SELECT SUM(lease_epoch) FROM outbox_partitions");
	/* Nor does a wish before the first start. */
	sql("UPDATE outbox_settings SET partition_count = NULL");
	change(8);
	ck_assert_str_eq(counts(), "NULL NULL NULL NULL");
}
END_TEST

/* Whoever has enqueued and not committed holds it up, for a second. */
START_TEST(open_producer_is_waited_for)
{
	int64_t	start = clock_ms();

	sql("START TRANSACTION; CALL outbox_enqueue('k', NULL, 't', 1, NULL, "
	    "NULL, 'x')");
	ck_ok(store_change(st, 64, &ch, &e));
	ck_assert(ch.busy && !ch.begun);
	ck_assert_int_le(ms_since(start), 2500);
	sql("COMMIT");
	ck_assert_str_eq(counts(), "16 NULL NULL NULL");
	change(64);
	ck_assert(ch.over);
	ck_assert_uint_eq(misplaced(1000000), 0);
	/* And all else waits for locks as long as before. */
	ck_assert(ms_since(start) < 60000);
}
END_TEST

/* So is who makes old rows due: the labels he gives must stay right. */
START_TEST(holder_of_the_counts_is_waited_for)
{
	struct store	*other = store_of(conf, OTHER);
	struct counts	 c;

	ck_ok(store_begin(other, &e));
	ck_ok(store_hold_counts(other, &c, &e));
	ck_assert_uint_eq(c.count, 16);
	ck_ok(store_change(st, 64, &ch, &e));
	ck_assert(ch.busy);
	/* Others hold them beside him. */
	ck_ok(store_hold_counts(st, &c, &e));
	ck_ok(store_commit(other, &e));
	change(64);
	ck_assert(ch.over);
	store_free(other);
}
END_TEST

/*
 * Much waits
 */

/* 1,200 rows under the former count, ten under the new one. */
static void
begin_long(void)
{
	enqueue(1, 1200);
	change(64);
	ck_assert(ch.begun && !ch.over);
	ck_assert_str_eq(counts(), "64 16 1200 NULL");
	enqueue(1201, 1210);
}

static void
publish(unsigned first, unsigned last)
{
	sql("UPDATE outbox SET published_at = NOW(6) WHERE global_sequence "
	    "BETWEEN %u AND %u", first, last);
}

START_TEST(many_rows_go_first)
{
	struct counts	c;
	struct range	r[64];
	char		labels[64][8];
	size_t		n;

	begin_long();
	ck_sql("64 64", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions");
	ck_assert(!store_is_bounded(st));
	ck_ok(store_read_counts(st, &c, &e));
	ck_assert(store_is_bounded(st));
	for (unsigned i = 0; i < 64; i++) {
		snprintf(labels[i], sizeof(labels[i]), "p%02u", i % 100);
		r[i] = range(labels[i], 1);
		r[i].limit = 10000;
	}
	publish(1, 1198);
	ck_assert_str_ne(candidates(r, 64), "");
	ck_has_not(candidates(r, 64), "1201:");
	ck_ok(store_change_left(st, 5000, &n, &e));
	ck_assert_uint_eq(n, 2);
	change(0);
	ck_assert(ch.over && !ch.begun);
	ck_assert_str_eq(counts(), "64 16 NULL NULL");
	ck_assert_uint_eq(misplaced(1210), 1198 - (unsigned)atoi(sql_text(
	    "SELECT SUM(CRC32(stream_id) MOD 64 < 16 AND published_at IS NOT "
	    "NULL) FROM events JOIN outbox ON sequence = global_sequence")));
	ck_ok(store_read_counts(st, &c, &e));
	ck_has(candidates(r, 64), "1210:");
}
END_TEST

START_TEST(too_many_rows_are_waited_for)
{
	size_t	n;
	struct counts	c;

	begin_long();
	publish(1, 199);
	change(0);
	ck_assert(!ch.over);
	ck_assert_str_eq(counts(), "64 16 1200 NULL");
	ck_ok(store_read_counts(st, &c, &e));
	ck_ok(store_change_left(st, 5000, &n, &e));
	ck_assert_uint_eq(n, 1001);
	/* Nobody's claims are fenced for that. */
	ck_sql("64", "SELECT SUM(lease_epoch) FROM outbox_partitions");
	/* What is parked, and what has a label of its own, is not. */
	sql("UPDATE outbox SET partition_key = '!200' "
	    "WHERE global_sequence = 200");
	change(0);
	ck_assert(ch.over);
}
END_TEST

START_TEST(next_change_comes_after)
{
	begin_long();
	change(8);
	change(32);
	ck_assert_str_eq(counts(), "64 16 1200 32");
	ck_assert(!ch.begun && !ch.over);
	publish(1, 1200);
	change(0);
	ck_assert(ch.over && ch.begun);
	ck_assert_str_eq(counts(), "32 64 NULL NULL");
	ck_assert_uint_eq(misplaced(1210) - misplaced(1200), 0);
	/* The present count cancels the wish. */
	sql("UPDATE outbox_settings SET boundary = 1, wanted_count = 4");
	change(32);
	ck_assert_str_eq(counts(), "32 64 NULL NULL");
}
END_TEST

START_TEST(paused_partition_is_in_the_way)
{
	enqueue(1, 10);
	sql("UPDATE outbox_partitions SET lease_owner = 'paused', lease_until "
	    "= '2038-01-01' WHERE partition_key = 'p03'");
	change(64);
	ck_assert(ch.paused && !ch.begun);
	ck_assert_str_eq(counts(), "16 NULL NULL 64");
	ck_assert_uint_eq(misplaced(10), 0);
	sql("UPDATE outbox_partitions SET lease_owner = NULL");
	change(0);
	ck_assert(ch.begun && ch.over);
	ck_assert_str_eq(counts(), "64 16 NULL NULL");
}
END_TEST

START_TEST(partition_order_waits_for_all)
{
	conf->outbox.ordering = ORDER_PARTITION;
	enqueue(1, 2);
	change(64);
	ck_assert(ch.begun && !ch.over);
	publish(1, 1);
	change(0);
	ck_assert(!ch.over);
	publish(2, 2);
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) VALUES (1, 'p03', 'k', "
	    "'halted', 1)");
	change(0);
	ck_assert(!ch.over);
	sql("DELETE FROM outbox_blocked_keys; UPDATE outbox SET partition_key "
	    "= '!1', published_at = NULL WHERE global_sequence = 1");
	change(0);
	ck_assert(!ch.over);
	publish(1, 1);
	change(0);
	ck_assert(ch.over);
}
END_TEST

START_TEST(without_order_nothing_waits)
{
	conf->outbox.ordering = ORDER_NONE;
	enqueue(1, 1200);
	change(64);
	ck_assert(ch.begun && ch.over);
	ck_assert_str_eq(counts(), "64 16 NULL NULL");
	ck_sql("64 0", "SELECT COUNT(*), SUM(lease_epoch) "
	    "FROM outbox_partitions");
}
END_TEST

/*
 * Who knows of it
 */

static struct part *
part(const char *label)
{
	return member_part(&member, (struct bytes){ label, strlen(label) });
}

START_TEST(claims_are_fenced_until_it_is_known)
{
	struct store	*other = store_of(conf, OTHER);
	struct batch	 b = { 0 };
	struct range	 r;
	uint64_t	 sequence = 1205, claimed;
	char		 label[STORE_LABEL];

	enqueue(1, 1200);
	ck_ok(store_register(st, &e));
	ck_ok(member_round(&member, 1000, &e));
	ck_ok(store_change(other, 64, &ch, &e));
	ck_assert(ch.begun && !ch.over);
	/* Into one of the partitions that we have already. */
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1205, 'k', 1, 't', '{}'); INSERT "
	    "INTO outbox (global_sequence, partition_key) VALUES (1205, 'p03')"
	    );
	strcpy(label, "p03");
	r = range(label, part(label)->epoch);
	ck_ok(store_claim(st, &r, 1, &sequence, 1, &b, &claimed, &e));
	ck_assert_uint_eq(claimed, 0);
	ck_assert(!store_is_bounded(st));
	ck_ok(member_round(&member, 2000, &e));
	ck_assert(store_is_bounded(st));
	ck_assert_uint_eq(part(label)->epoch, r.epoch + 1);
	ck_has_not(candidates(&r, 1), "1205");
	/* The first of the fleet ends it, and looks more often for that. */
	publish(1, 1200);
	ck_ok(member_round(&member, 2200, &e));
	ck_assert(!store_is_bounded(st));
	ck_sql("NULL", "SELECT boundary FROM outbox_settings");
	ck_has(candidates(&r, 1), "1205");
	store_free(other);
}
END_TEST

START_TEST(others_do_not_end_it)
{
	enqueue(1, 1200);
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('a:00:0'"
	    ", NOW(6) + INTERVAL 60 SECOND)");
	ck_ok(store_register(st, &e));
	change(64);
	ck_ok(member_round(&member, 1000, &e));
	ck_assert(member.place == 1 && store_is_bounded(st));
	publish(1, 1200);
	ck_ok(member_round(&member, 2000, &e));
	ck_sql("1200", "SELECT boundary FROM outbox_settings");
}
END_TEST

START_TEST(wish_is_tried_until_it_is_heard)
{
	ck_ok(store_register(st, &e));
	sql("START TRANSACTION; CALL outbox_enqueue('k', NULL, 't', 1, NULL, "
	    "NULL, 'x')");
	member.change.wish = 24;
	ck_ok(member_round(&member, 1000, &e));
	ck_has(logged(), "open transaction");
	sql("COMMIT");
	ck_ok(member_round(&member, 2000, &e));
	ck_sql("16", "SELECT partition_count FROM outbox_settings");
	ck_ok(member_round(&member, 4000, &e));
	ck_sql("24", "SELECT partition_count FROM outbox_settings");
	ck_has(logged(), "partition count changed from 16 to 24");
	ck_assert_uint_eq(member.change.wish, 0);
	ck_assert_uint_eq(member.nparts, 24);
}
END_TEST

/* No change, no statement for it. */
START_TEST(nothing_is_asked_without_a_change)
{
	ck_ok(store_register(st, &e));
	ck_ok(member_round(&member, 1000, &e));
	for (size_t i = 0; i < member.nparts; i++)
		member.parts[i]->fresh = false;
	log_statements();
	for (int64_t now = 2000; now < 5000; now += 500)
		ck_ok(member_round(&member, now, &e));
	sql("SET GLOBAL general_log = 0");
	ck_sql("0", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%outbox_settings%%'");
}
END_TEST

/*
 * Old tables
 */

START_TEST(tables_without_the_columns_lose_the_order)
{
	struct counts	c;

	sql("ALTER TABLE outbox_settings DROP COLUMN boundary, DROP COLUMN "
	    "former_count, DROP COLUMN wanted_count");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_change(st));
	ck_assert_str_eq(logged(), "");
	enqueue(1, 10);
	change(64);
	ck_has(logged(), "schema upgrade");
	ck_sql("64 64", "SELECT partition_count, (SELECT COUNT(*) FROM "
	    "outbox_partitions) FROM outbox_settings");
	ck_sql("10", "SELECT COUNT(*) FROM outbox WHERE partition_key < 'p16'");
	/* Upgraded while we run: known with the next epoch. */
	sql("ALTER TABLE outbox_settings ADD COLUMN boundary BIGINT UNSIGNED, "
	    "ADD COLUMN former_count INT UNSIGNED, "
	    "ADD COLUMN wanted_count INT UNSIGNED");
	ck_ok(store_read_counts(st, &c, &e));
	ck_assert(store_can_change(st));
	ck_assert_uint_eq(c.count, 64);
}
END_TEST

/*
 * Rows that come back
 */

START_TEST(lost_rows_wait_where_their_key_does)
{
	struct acked	rows[] = { { .id.sequence = 2, .ack = 12 },
			    { .id.sequence = 3, .ack = 13 } };
	uint64_t	reset;

	enqueue(1, 1300);
	sql("UPDATE outbox SET published_at = NOW(6), ack_sequence = "
	    "global_sequence + 10 WHERE global_sequence <= 3; "
	    "UPDATE outbox SET partition_key = 'vip' WHERE global_sequence = 3"
	    );
	change(64);
	ck_assert(ch.begun && !ch.over);
	/* While it lasts, under the former count. */
	ck_ok(store_reset(st, rows, 2, &reset, &e));
	ck_assert_uint_eq(reset, 2);
	ck_sql("1\nNULL", "SELECT IF(global_sequence = 3, NULL, partition_key "
	    "= " LABEL("'k2'", "16") ") FROM outbox WHERE global_sequence "
	    "IN (2, 3) ORDER BY 1 DESC");
	publish(1, 1300);
	sql("UPDATE outbox SET ack_sequence = global_sequence + 10");
	change(0);
	ck_assert(ch.over);
	ck_ok(store_reset(st, rows, 2, &reset, &e));
	ck_sql("2 1\n3 0", "SELECT global_sequence, partition_key = "
	    LABEL("'k2'", "64") " FROM outbox WHERE published_at IS NULL");
	ck_sql("vip", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence = 3");
}
END_TEST

START_TEST(death_halts_the_key_where_it_is_now)
{
	struct batch	 b = { 0 };
	struct settled	 done = { 0 };

	conf->retry.on_dead = DEAD_HALT;
	sql("DELETE FROM outbox_partitions");
	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	take(&b, 1, 1);
	b.labels = xcalloc(1, sizeof(*b.labels));
	strcpy(b.labels[0], "p00");
	msg_fail(&b.msgs[0], OUT_DEAD, "why");
	b.msgs[0].reason = "message";
	change(64);
	ck_assert(ch.over);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.dead, 1);
	ck_sql("1 2", "SELECT k.partition_key = " LABEL("'k1'", "64")
	    ", p.lease_epoch FROM outbox_blocked_keys AS k JOIN "
	    "outbox_partitions AS p USING (partition_key)");
	batch_free(&b);
}
END_TEST

static void
add_all(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "change", k, k->start, change_begin,
		    change_end);

	tcase_add_test(tc, few_rows_move_at_once);
	tcase_add_test(tc, same_count_changes_nothing);
	tcase_add_test(tc, open_producer_is_waited_for);
	tcase_add_test(tc, holder_of_the_counts_is_waited_for);
	tcase_add_test(tc, many_rows_go_first);
	tcase_add_test(tc, too_many_rows_are_waited_for);
	tcase_add_test(tc, next_change_comes_after);
	tcase_add_test(tc, paused_partition_is_in_the_way);
	tcase_add_test(tc, partition_order_waits_for_all);
	tcase_add_test(tc, without_order_nothing_waits);
	tcase_add_test(tc, claims_are_fenced_until_it_is_known);
	tcase_add_test(tc, others_do_not_end_it);
	tcase_add_test(tc, wish_is_tried_until_it_is_heard);
	tcase_add_test(tc, nothing_is_asked_without_a_change);
	tcase_add_test(tc, lost_rows_wait_where_their_key_does);
	tcase_add_test(tc, death_halts_the_key_where_it_is_now);
	tcase_add_test(tc, tables_without_the_columns_lose_the_order);
}

int
main(void)
{
	return frame_run("change", add_all);
}
