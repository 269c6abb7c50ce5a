/*
 * block_halt.c - the burial that halts a key
 */
#include "store/block_test.h"

static struct batch	batch;
static struct settled	done;		/* of all calls of the test */

static void
settle(void)
{
	ck_ok(store_settle(st, &batch, &done, &e));
}

/* Rows 1 to 3: the first dies, the others are given back. */
void
halt_begin(void)
{
	block_begin();
	add_lease("p01", OTHER, 5);
	add_rows(1, 3, "'p00'");
	conf->retry.on_dead = DEAD_HALT;
	memset(&batch, 0, sizeof(batch));
	memset(&done, 0, sizeof(done));
	take(&batch, 1, 3);
	batch.labels = xcalloc(1, sizeof(*batch.labels));
	strcpy(batch.labels[0], "p00");
	msg_fail(&batch.msgs[0], OUT_DEAD, "why");
	batch.msgs[0].reason = "message";
}

void
halt_end(void)
{
	batch_free(&batch);
	end_store();
}

static void
ck_buried(bool buried)
{
	ck_tables(buried ? "1 p00 halted 1" : "", buried ? "2 p00, 3 p00" :
	    "1 p00, 2 p00, 3 p00");
	ck_sql(buried ? "1 k1" : "0 NULL",
	    "SELECT COUNT(*), MIN(order_key) FROM outbox_dead_letters");
	ck_sql(buried ? "p00 2\np01 5" : "p00 1\np01 5", "SELECT "
	    "partition_key, lease_epoch FROM outbox_partitions ORDER BY 1");
}

START_TEST(death_halts_its_key)
{
	if (_i == 1)		/* it was on record, with its key */
		add_record(1, "p00", "'k1'", "failed");
	settle();
	ck_assert_uint_eq(done.dead, 1);
	ck_assert_uint_eq(done.returned, 2);
	ck_buried(true);
	ck_sql("k1", "SELECT order_key FROM outbox_blocked_keys");
	/* Once more, with nothing left to bury: no epoch is raised. */
	memset(&done, 0, sizeof(done));
	settle();
	ck_assert_uint_eq(done.dead, 0);
	ck_buried(true);
}
END_TEST

START_TEST(death_need_not_halt)
{
	conf->retry.on_dead = DEAD_CONTINUE;
	settle();
	ck_assert_str_eq(records(), "");
	ck_sql("p00 1\np01 5", "SELECT partition_key, lease_epoch "
	    "FROM outbox_partitions ORDER BY 1");
}
END_TEST

START_TEST(lost_row_halts_nothing)
{
	sql("UPDATE outbox SET claim_token = 'somebody'");
	settle();
	ck_assert_uint_eq(done.fenced, 3);
	ck_buried(false);
}
END_TEST

static const char *const	obstacles[][2] = {
	{ "INSERT", "outbox_dead_letters" },
	{ "INSERT", "outbox_blocked_keys" },
	{ "UPDATE", "outbox_partitions" }, { "DELETE", "outbox" },
};

START_TEST(halt_is_all_or_nothing)
{
	put_obstacle("HY000", obstacles[_i][0], obstacles[_i][1], "TRUE");
	ck_fails(store_settle(st, &batch, &done, &e));
	ck_has(e.text, "obstacle");
	ck_buried(false);
	sql("DROP TRIGGER obstacle");
	settle();
	ck_buried(true);
}
END_TEST

/* START, SELECT, letter, record, epoch, DELETE, COMMIT, and give back. */
#define NBURIAL	8

START_TEST(halt_survives_a_lost_connection)
{
	srand((unsigned)_i);
	story.breaks_at = 1 + _i / 2;
	ck_fails(store_settle(st, &batch, &done, &e));
	ck_assert(!store_is_open(st));
	story.breaks_at = 0;
	/*
	 * A connection leaves this table after its transaction has been rolled
	 * back.  (innodb_trx cannot be polled: it is a copy, renewed only when
	 * it has not been read for 100 ms.)
	 */
	wait_for_goodbye();
	ck_buried(strcmp(sql_text("SELECT COUNT(*) FROM outbox"), "2") == 0);
	ck_ok(store_open(st, &e));
	settle();
	ck_buried(true);
	ck_assert_uint_eq(done.fenced, 0);
}
END_TEST

void
add_halts(TCase *tc)
{
	tcase_add_loop_test(tc, death_halts_its_key, 0, 2);
	tcase_add_test(tc, death_need_not_halt);
	tcase_add_test(tc, lost_row_halts_nothing);
	tcase_add_loop_test(tc, halt_is_all_or_nothing, 0, NROWS(obstacles));
	tcase_add_loop_test(tc, halt_survives_a_lost_connection, 0,
	    2 * NBURIAL);
}
