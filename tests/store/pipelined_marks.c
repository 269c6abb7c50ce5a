/*
 * pipelined_marks.c - the in-doubt mark of a lease, and what rows learn of it
 */
#include "store/pipelined_test.h"

static const struct lease	 p00 = { .label = "p00" };
static const struct lease	*leases = &p00;
static const uint64_t		 all[] = { 1, 2, 3, 4, 5, 6 };

static void
renew(uint64_t upto)
{
	uint64_t	n;

	ck_ok(store_renew(st, NULL, 0, upto, &n, &e));
	ck_assert_uint_eq(n, 1);
}

static void
do_renew(void)
{
	renew(0);
}

static void
do_renew_early(void)
{
	renew(4004);
}

static void
do_acquire(void)
{
	uint64_t	n;

	sql("UPDATE outbox_partitions SET lease_until = NOW(6)");
	ck_ok(store_acquire(st, &leases, 1, &n, &e));
	ck_assert_uint_eq(n, 1);
}

static void
do_take_over(void)
{
	sql("UPDATE outbox_partitions SET lease_owner = '" DEAD "'");
	ck_ok(store_take_over(st, DEAD, &e));
}

static void
do_raise(void)
{
	ck_ok(store_bump_own_epochs(st, &e));
}

static void
do_release(void)
{
	ck_ok(store_release(st, &leases, 1, &e));
}

static void
do_leave(void)
{
	ck_ok(store_leave(st, &e));
}

static void
do_clear(void)
{
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_delivered(void)
{
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (1, 3)");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_known(void)
{
	sql("UPDATE outbox SET in_doubt_since = NOW(6) "
	    "WHERE global_sequence <= 3");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_others(void)
{
	sql("DELETE FROM outbox; "
	    "UPDATE outbox_partitions SET lease_owner = '" OTHER "'");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

/*
 * A mark before, what happens, and the mark after it; 4 is the last row.
 */
static const struct {
	const char	*from;
	void		(*act)(void);
	const char	*to;
} marks[] = {
	{ "none", do_renew, "none" },
	{ "none", do_renew_early, "new 4004 mine" },
	{ "old 3 mine", do_renew_early, "new 4004 mine" },
	/* The bound does not sink. */
	{ "old 9000 mine", do_renew_early, "new 9000 mine" },
	{ "old 3 mine", do_renew, "none" },
	{ "late 3 mine", do_renew, "late 3 mine" },
	{ "old 3 former", do_renew_early, "old 3 former" },
	{ "old 3 former", do_renew, "old 3 former" },
	{ "none", do_acquire, "none" },
	{ "old 3 mine", do_acquire, "old 3 former" },
	{ "old 3 former", do_acquire, "old 3 former" },
	{ "none", do_take_over, "none" },
	{ "old 3 mine", do_take_over, "old 3 former" },
	{ "old 3 former", do_take_over, "old 3 former" },
	{ "none", do_raise, "none" },
	{ "old 3 mine", do_raise, "old 3 former" },
	{ "old 3 former", do_raise, "old 3 former" },
	{ "late 3 mine", do_release, "none" },
	{ "old 3 former", do_release, "old 3 former" },
	{ "late 3 mine", do_leave, "none" },
	{ "old 3 former", do_leave, "old 3 former" },
	{ "old 3 mine", do_clear_known, "old 3 mine" },
	{ "old 3 former", do_clear, "old 3 former" },
	{ "old 2 former", do_clear_delivered, "old 2 former" },
	{ "old 1 former", do_clear_delivered, "none" },
	{ "old 3 former", do_clear_known, "none" },
	{ "old 4 former", do_clear_known, "old 4 former" },
	{ "old 3 former", do_clear_others, "old 3 former" },
};

/* lease_ttl, after which a mark is old, is 10 minutes. */
void
set_mark(const char *mark)
{
	char	since[8], whose[8];
	int	upto;

	conf->worker.lease_ttl = 600000;
	if (strcmp(mark, "none") == 0) {
		sql("UPDATE outbox_partitions SET in_doubt_since = NULL, "
		    "in_doubt_upto = NULL, in_doubt_epoch = NULL");
		return;
	}
	ck_assert_int_eq(sscanf(mark, "%7s %d %7s", since, &upto, whose), 3);
	sql("UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL "
	    "%s, in_doubt_upto = %d, in_doubt_epoch = lease_epoch - %d",
	    strcmp(since, "late") == 0 ? "5 MINUTE" : "1 HOUR", upto,
	    strcmp(whose, "former") == 0);
}

START_TEST(mark_follows_the_lease)
{
	set_mark(marks[_i].from);
	ck_sql(marks[_i].from, MARKS);
	marks[_i].act();
	ck_sql(marks[_i].to, MARKS);
}
END_TEST

START_TEST(old_tables_have_no_marks)
{
	static const char *const	columns[] = {
		"outbox_partitions", "in_doubt_since", "outbox_partitions",
		"in_doubt_upto", "outbox_partitions", "in_doubt_epoch",
		"outbox", "in_doubt_since",
	};
	const char	*table = columns[2 * _i], *name = columns[2 * _i + 1];
	const char	*type = strcmp(name, "in_doubt_since") == 0 ?
			    "TIMESTAMP(6)" : "BIGINT UNSIGNED";

	ck_assert(store_can_pipeline(st));
	sql("ALTER TABLE %s DROP COLUMN %s", table, name);
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_pipeline(st));
	do_renew_early();
	do_raise();
	do_acquire();
	do_take_over();
	do_release();
	sql("ALTER TABLE %s ADD COLUMN %s %s NULL DEFAULT NULL", table, name,
	    type);
	ck_sql("none", MARKS);
	conf->worker.leasing = false;
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_pipeline(st));
}
END_TEST

/*
 * The rows of the lease up to the bound of its mark that are free and not in
 * doubt yet.  Of a claimed row, the claim says since when.
 */
START_TEST(rows_learn_what_the_lease_knows)
{
	add_lease("p01", ME, 1);
	add_rows(5, 6, "'p01'");
	set_mark("old 4 former");
	sql("UPDATE outbox_partitions SET in_doubt_upto = NULL "
	    "WHERE partition_key = 'p01'; "
	    "UPDATE outbox SET in_doubt_since = NOW(6) WHERE "
	    "global_sequence = 2; "
	    "UPDATE outbox SET published_at = NOW(6) WHERE "
	    "global_sequence = 3; "
	    "UPDATE outbox SET claim_token = 'x' WHERE global_sequence = 4");
	ck_ok(store_mark_rows_in_doubt(st, all, 6, &e));
	ck_rows("1", "in_doubt_since < NOW(6) - INTERVAL 50 MINUTE");
	ck_rows("1,2", "in_doubt_since IS NOT NULL");
}
END_TEST

/* A row that takes no mark is not claimed either; the others are. */
START_TEST(refused_row_learns_nothing)
{
	set_mark("old 4 former");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence = 3");
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_rows("1,2,4", "in_doubt_since IS NOT NULL");
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_assert_uint_eq(times_logged("sequence 3 cannot be marked"), 1);
	/* An error that blames no row is returned. */
	sql("DROP TRIGGER obstacle; UPDATE outbox SET in_doubt_since = NULL");
	put_obstacle("HY000", "UPDATE", "outbox", "NEW.global_sequence = 3");
	ck_fails(store_mark_rows_in_doubt(st, all, 4, &e));
}
END_TEST

/* Parked rows may come back when the mark is gone. */
START_TEST(parked_rows_take_it_with_them)
{
	struct parking	parking = { 1, all, 4 };
	struct range	r = range("p00", 1);

	set_mark(_i == 0 ? "old 3 former" : "old 3 mine");
	sql("UPDATE outbox SET in_doubt_since = NOW(6) WHERE "
	    "global_sequence = 2; "
	    "UPDATE outbox SET claim_token = 'x' WHERE global_sequence = 3");
	ck_ok(store_park(st, &r, 1, &parking, 1, &e));
	ck_sql("4", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!1'");
	ck_rows(_i == 0 ? "1" : "NULL",
	    "in_doubt_since < NOW(6) - INTERVAL 50 MINUTE");
	ck_sql(_i == 0 ? "2" : "1", "SELECT COUNT(in_doubt_since) FROM outbox");
}
END_TEST

/* Rows of the lease '' have two labels. */
START_TEST(mark_of_the_lease_without_a_label_stays)
{
	static const char *const	labels[] = { "NULL", "''", "'p00'" };

	add_lease("", ME, 2);
	sql("UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL 1 "
	    "HOUR, in_doubt_upto = 3, in_doubt_epoch = 1 WHERE partition_key = "
	    "''; UPDATE outbox SET partition_key = 'p01' "
	    "WHERE global_sequence <> 1; "
	    "UPDATE outbox SET partition_key = %s WHERE global_sequence = 1",
	    labels[_i]);
	ck_ok(store_clear_in_doubt_marks(st, &e));
	ck_sql(_i == 2 ? "0" : "1", "SELECT COUNT(in_doubt_since) "
	    "FROM outbox_partitions");
	ck_ok(store_mark_rows_in_doubt(st, all, 1, &e));
	ck_ok(store_clear_in_doubt_marks(st, &e));
	ck_sql("0", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
	ck_sql(_i == 2 ? "0" : "1", "SELECT COUNT(in_doubt_since) FROM outbox");
}
END_TEST

/* However many rows there are. */
START_TEST(marks_are_found_by_keys)
{
	char	*text;

	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "SELECT 10 + n, 'p00' FROM " NUMBERS "; ANALYZE TABLE outbox");
	log_statements();
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_ok(store_clear_in_doubt_marks(st, &e));
	sql("SET GLOBAL general_log = 0");
	text = xstrdup(sql_text("SELECT argument " STATEMENTS
	    "AND argument LIKE 'UPDATE `outbox`%%'"));
	ck_assert_str_eq(sql_column("key", "EXPLAIN %s", text),
	    "PRIMARY\nPRIMARY");
	free(text);
	text = xstrdup(sql_text("SELECT argument " STATEMENTS
	    "AND argument LIKE 'UPDATE `outbox_partitions` AS p%%'"));
	ck_has(sql_column("key", "EXPLAIN %s", text), "outbox_claim");
	ck_has(sql_column("type", "EXPLAIN %s", text), "ref\nref");
	free(text);
}
END_TEST

void
add_marks(TCase *tc)
{
	tcase_add_loop_test(tc, mark_follows_the_lease, 0, NROWS(marks));
	tcase_add_loop_test(tc, old_tables_have_no_marks, 0, 4);
	tcase_add_test(tc, rows_learn_what_the_lease_knows);
	tcase_add_test(tc, refused_row_learns_nothing);
	tcase_add_loop_test(tc, parked_rows_take_it_with_them, 0, 2);
	tcase_add_loop_test(tc, mark_of_the_lease_without_a_label_stays, 0, 3);
	tcase_add_test(tc, marks_are_found_by_keys);
}
