/*
 * check_settle_and_claim.c - one statement that writes back a batch and claims
 * the next
 *
 * Rows 1 and 2 are claimed and delivered, 3 and 4 wait; all in p00, and its
 * lease is ours.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "util/xalloc.h"

static const uint64_t	 next_rows[] = { 3, 4 };
static struct batch	 done, next;
static struct settled	 settled;
static uint64_t		 changed;

static void
turn_begin(void)
{
	begin_store();
	memset(&done, 0, sizeof(done));
	memset(&next, 0, sizeof(next));
	memset(&settled, 0, sizeof(settled));
	own_rows(6);
	take(&done, 1, 2);
	for (size_t i = 0; i < 2; i++) {
		done.msgs[i].outcome = OUT_DELIVERED;
		done.msgs[i].ack_sequence = 70 + i;
		done.msgs[i].hashed = true;
		done.msgs[i].hash = 18446744073709551610u + i;
	}
}

static void
turn_end(void)
{
	batch_free(&done);
	batch_free(&next);
	end_store();
}

static int
turn(void)
{
	struct range	r = range("p00", 1);
	int		rc;

	rc = store_settle_and_claim(st, &done,
	    &(struct claim_set){ &r, 1, next_rows, 2 }, &next, &changed, &e);
	if (rc == 0 || store_fault(st) == DB_LOST)
		store_settle_is_in_doubt(&settled);
	return rc;
}

static const char *
rows(void)
{
	static char	text[512];
	char		want[64];

	snprintf(want, sizeof(want), "claim_token = '%s'", next.token);
	strcpy(text, sql_text("SELECT GROUP_CONCAT(CONCAT(global_sequence, "
	    "IF(published_at <= NOW(6), ' delivered', ''), "
	    "COALESCE(CONCAT(' at ', ack_sequence), ''), "
	    "COALESCE(CONCAT(' #', message_hash), ''), IF(claim_token IS "
	    "NULL, '', IF(%s, ' claimed', ' other')), "
	    "IF(published_at IS NULL AND available_at > NOW(6) + "
	    "INTERVAL 20 SECOND, ' later', '')) "
	    "ORDER BY global_sequence SEPARATOR ', ') FROM outbox", want));
	return text;
}

#define DONE	"1 delivered at 70 #18446744073709551610, " \
		"2 delivered at 71 #18446744073709551611, "
#define BOTH	DONE "3 claimed later, 4 claimed later, 5, 6"
#define FIRST	DONE "3, 4, 5, 6"

START_TEST(batch_goes_and_batch_comes)
{
	ck_ok(turn());
	ck_assert_uint_eq(changed, 4);
	ck_assert_str_eq(rows(), BOTH);
	ck_assert_int_le(clock_ms() - next.claimed_at, 10000);
	ck_ok(store_fetch(st, next_rows, 2, SIZE_MAX, &next, &e));
	ck_assert_uint_eq(next.n, 2);
	store_note_settled(&done, &settled, changed - next.n);
	ck_assert_uint_eq(settled.delivered, 2);
	ck_assert_uint_eq(settled.fenced, 0);
	/* That is all there was to write. */
	ck_ok(store_settle(st, &done, &settled, &e));
	ck_assert_uint_eq(settled.delivered, 2);
}
END_TEST

/* Where no stream is named, and where there is no column. */
START_TEST(acks_are_not_always_kept)
{
	struct conf	*c = NULL;

	if (_i == 0) {
		c = servers_conf("mysql: {socket: \"%s\", user: outbox, "
		    "password_env: OUTBOX_PW, database: app}\n"
		    "nats: {stream: ''}\n", conf->mysql.socket);
		store_free(st);
		st = store_of(c, ME);
	} else {
		sql("ALTER TABLE outbox DROP COLUMN ack_sequence");
		ck_ok(store_learn(st, &e));
	}
	ck_ok(turn());
	ck_assert_uint_eq(changed, 4);
	if (_i == 1)
		sql("ALTER TABLE outbox ADD COLUMN ack_sequence "
		    "BIGINT UNSIGNED NULL");
	ck_sql("0", "SELECT COUNT(ack_sequence) FROM outbox");
	ck_sql("2", "SELECT COUNT(published_at) FROM outbox");
	store_free(st);
	st = store_of(conf, ME);
	conf_free(c);
}
END_TEST

static const char *const	losses[] = {
	"lease_owner = '" OTHER "'", "lease_epoch = 2",
	"lease_until = NOW(6)", "partition_key = 'p02'",
};

/* Who has lost the lease still writes back what he has delivered. */
START_TEST(lost_lease_claims_nothing)
{
	sql("UPDATE outbox_partitions SET %s", losses[_i]);
	ck_ok(turn());
	ck_assert_uint_eq(changed, 2);
	ck_assert_str_eq(rows(), FIRST);
}
END_TEST

START_TEST(lost_row_is_left_alone)
{
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence = 1");
	ck_ok(turn());
	ck_assert_uint_eq(changed, 3);
	ck_assert_str_eq(rows(), "1 other later, "
	    "2 delivered at 71 #18446744073709551611, "
	    "3 claimed later, 4 claimed later, 5, 6");
	store_note_settled(&done, &settled, changed - 2);
	ck_assert_uint_eq(settled.delivered, 1);
	ck_assert_uint_eq(settled.fenced, 1);
}
END_TEST

/* Whoever stood still for longer than its claim fetches less than it took. */
START_TEST(claimed_row_is_lost_before_the_fetch)
{
	ck_ok(turn());
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence = 3");
	ck_ok(store_fetch(st, next_rows, 2, SIZE_MAX, &next, &e));
	ck_assert_uint_eq(next.n, 1);
	store_note_settled(&done, &settled, changed - next.n);
	ck_assert_uint_eq(settled.delivered, 2);
	ck_assert_uint_eq(settled.fenced, 0);
}
END_TEST

static const char *const	taken[] = {
	"claim_token = '" OTHER_NONCE "-1'",
	"claim_token = '" MY_NONCE "-0'",	/* for a claim by itself */
	"available_at = NOW(6) + INTERVAL 10 SECOND",
	"published_at = NOW(6)",
	"partition_key = 'p01'",
	"partition_key = NULL",
};

START_TEST(only_free_rows_are_taken)
{
	sql("UPDATE outbox SET %s WHERE global_sequence = 3", taken[_i]);
	ck_ok(turn());
	ck_assert_uint_eq(changed, 3);
	ck_sql("4", "SELECT global_sequence FROM outbox "
	    "WHERE claim_token = '%s'", next.token);
}
END_TEST

START_TEST(no_lease_is_needed_without_leasing)
{
	conf->worker.leasing = false;
	sql("DELETE FROM outbox_partitions");
	ck_ok(turn());
	ck_assert_str_eq(rows(), BOTH);
}
END_TEST

/* Nobody knows whether it was done: the first batch is written again. */
START_TEST(lost_answer_is_no_fence)
{
	if (_i == 1) {		/* it was, but not what came of the claim */
		ck_ok(turn());
	} else {
		kill_latest();
		ck_fails(turn());
		ck_assert_int_eq(store_fault(st), DB_LOST);
		ck_ok(store_open(st, &e));
	}
	ck_ok(store_settle(st, &done, &settled, &e));
	ck_assert_uint_eq(settled.delivered, 2);
	ck_assert_uint_eq(settled.fenced, 0);
	ck_assert_str_eq(rows(), _i == 1 ? BOTH : FIRST);
}
END_TEST

/* Nothing was sent, so there is no doubt: what is missing was taken. */
START_TEST(unsent_turn_is_fenced)
{
	store_close(st);
	ck_fails(turn());
	ck_assert_int_eq(store_fault(st), DB_CLOSED);
	sql("UPDATE outbox SET claim_token = NULL");
	ck_ok(store_open(st, &e));
	ck_ok(store_settle(st, &done, &settled, &e));
	ck_assert_uint_eq(settled.delivered, 0);
	ck_assert_uint_eq(settled.fenced, 2);
}
END_TEST

/* A row that is refused, of either batch: nothing is done, and it is told. */
START_TEST(refused_turn_changes_nothing)
{
	const char	*before = sql_text("SELECT * FROM outbox ORDER BY 1");

	put_obstacle("23000", "UPDATE", "outbox", _i == 0 ?
	    "NEW.global_sequence = 2" : "NEW.global_sequence = 3");
	ck_fails(turn());
	ck_assert(store_refused_value(st));
	ck_sql(before, "SELECT * FROM outbox ORDER BY 1");
	sql("DROP TRIGGER obstacle");
	ck_ok(store_settle(st, &done, &settled, &e));
	ck_assert_uint_eq(settled.delivered, 2);
	ck_assert_uint_eq(settled.fenced, 0);
	ck_assert_str_eq(rows(), FIRST);
}
END_TEST

static void *
turn_run(void *arg)
{
	*(int *)arg = turn();
	return NULL;
}

static void *
predecessor_run(void *arg)
{
	struct store		*s = arg;
	struct lease		 p00 = { .label = "p00" };
	const struct lease	*list = &p00;
	struct err		 why;
	uint64_t		 n;

	if (store_acquire(s, &list, 1, &n, &why) < 0)
		return NULL;
	return n == 1 ? arg : NULL;
}

/* Nobody gets the lease while the statement that relies on it waits. */
START_TEST(lease_is_kept_until_it_is_done)
{
	pthread_t	 mine, his;
	struct store	*other = store_of(conf, OTHER);
	void		*got;
	int		 rc = -1;

	conf->worker.lease_renew = 9000;
	store_free(st);
	st = store_of(conf, ME);
	sql("UPDATE outbox_partitions SET lease_until = "
	    "NOW(6) + INTERVAL 400000 MICROSECOND; START TRANSACTION; "
	    "SELECT * FROM outbox WHERE global_sequence = 4 FOR UPDATE");
	ck_assert_int_eq(pthread_create(&mine, NULL, turn_run, &rc), 0);
	wait_for_locks(1);
	for (int64_t until = patience(); strcmp(sql_text("SELECT lease_until "
	    "< NOW(6) FROM outbox_partitions"), "1") != 0; )
		wait_more(&until, "the lease to run out");
	ck_assert_int_eq(pthread_create(&his, NULL, predecessor_run, other), 0);
	wait_for_locks(2);
	ck_sql(ME, "SELECT lease_owner FROM outbox_partitions");
	sql("COMMIT");
	pthread_join(mine, NULL);
	pthread_join(his, &got);
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(changed, 4);
	ck_assert_ptr_nonnull(got);
	ck_sql(OTHER, "SELECT lease_owner FROM outbox_partitions");
	store_free(other);
}
END_TEST

/* Rows and leases by their keys, in this order, however large the tables. */
START_TEST(plan_is_by_keys)
{
	static const char *const	sizes[] = { "0", "4000" };
	char				*text;

	for (size_t i = 0; i < 2; i++) {
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "SELECT 10 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n, "
		    "'p00' FROM " DIGITS("a") ", " DIGITS("b") ", "
		    DIGITS("c") ", " DIGITS("d") " LIMIT %s; "
		    "INSERT IGNORE INTO outbox_partitions (partition_key) "
		    "SELECT CONCAT('q', global_sequence) FROM outbox; "
		    "ANALYZE TABLE outbox; ANALYZE TABLE outbox_partitions",
		    sizes[i]);
		log_statements();
		store_free(st);
		st = store_of(conf, ME);
		ck_ok(turn());
		sql("SET GLOBAL general_log = 0");
		text = xstrdup(sql_text("SELECT argument " STATEMENTS
		    "AND argument LIKE 'UPDATE `outbox`%%'"));
		ck_assert_str_eq(sql_column("key", "EXPLAIN %s", text),
		    "PRIMARY\nPRIMARY");
		ck_assert_str_eq(sql_column("table", "EXPLAIN %s", text),
		    "o\np");
		ck_assert_str_eq(sql_column("type", "EXPLAIN %s", text),
		    "range\nconst");
		free(text);
	}
}
END_TEST

static void
add_turns(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "turn", k, k->start, turn_begin, turn_end);

	tcase_add_test(tc, batch_goes_and_batch_comes);
	tcase_add_loop_test(tc, acks_are_not_always_kept, 0, 2);
	tcase_add_loop_test(tc, lost_lease_claims_nothing, 0,
	    sizeof(losses) / sizeof(losses[0]));
	tcase_add_test(tc, lost_row_is_left_alone);
	tcase_add_test(tc, claimed_row_is_lost_before_the_fetch);
	tcase_add_loop_test(tc, only_free_rows_are_taken, 0,
	    sizeof(taken) / sizeof(taken[0]));
	tcase_add_test(tc, no_lease_is_needed_without_leasing);
	tcase_add_loop_test(tc, lost_answer_is_no_fence, 0, 2);
	tcase_add_test(tc, unsent_turn_is_fenced);
	tcase_add_loop_test(tc, refused_turn_changes_nothing, 0, 2);
	tcase_add_test(tc, lease_is_kept_until_it_is_done);
	tcase_add_test(tc, plan_is_by_keys);
}

int
main(void)
{
	return frame_run("turn", add_turns);
}
