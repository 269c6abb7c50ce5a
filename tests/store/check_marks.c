/*
 * check_marks.c - the in-doubt mark of a lease, and what rows learn of it
 *
 * Workers of a former version set it.  Rows 1 to 4 wait in p00, and its lease is
 * ours.
 */
#include <string.h>

#include "lib/frame.h"
#include "lib/stages.h"
#include "util/xalloc.h"
#include "worker/fleet.h"

/* Since when, up to which row, and of which owner the mark is. */
#define MARKS	"SELECT IF(in_doubt_since IS NULL AND in_doubt_upto IS NULL " \
		"AND in_doubt_epoch IS NULL, 'none', " \
		"CONCAT(in_doubt_upto, IF(in_doubt_epoch = lease_epoch, " \
		"' mine', ' former'))) FROM outbox_partitions " \
		"WHERE partition_key = 'p00'"

static void
begin_marks(void)
{
	begin_store();
	add_mark_columns();
	ck_ok(store_learn(st, &e));
	own_rows(4);
}

static const struct lease	 p00 = { .label = "p00" };
static const struct lease	*leases = &p00;
static const uint64_t		 all[] = { 1, 2, 3, 4, 5, 6 };

static void
do_renew(void)
{
	uint64_t	n;

	ck_ok(store_renew(st, NULL, 0, &n, &e));
	ck_assert_uint_eq(n, 1);
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
 * A mark before, what happens, and the mark after it; 4 is the last row.  The
 * one of the present epoch is that of an owner of the former version.
 */
static const struct {
	const char	*from;
	void		(*act)(void);
	const char	*to;
} marks[] = {
	{ "none", do_renew, "none" },
	{ "3 former", do_renew, "3 former" },
	{ "none", do_acquire, "none" },
	{ "3 mine", do_acquire, "3 former" },
	{ "3 former", do_acquire, "3 former" },
	{ "3 mine", do_take_over, "3 former" },
	{ "3 former", do_take_over, "3 former" },
	{ "3 mine", do_raise, "3 former" },
	{ "3 former", do_raise, "3 former" },
	{ "3 former", do_release, "3 former" },
	{ "3 former", do_leave, "3 former" },
	{ "3 mine", do_clear_known, "3 mine" },
	{ "3 former", do_clear, "3 former" },
	{ "2 former", do_clear_delivered, "2 former" },
	{ "1 former", do_clear_delivered, "none" },
	{ "3 former", do_clear_known, "none" },
	{ "4 former", do_clear_known, "4 former" },
	{ "3 former", do_clear_others, "3 former" },
};

static void
set_mark(const char *mark)
{
	char	whose[8];
	int	upto;

	if (strcmp(mark, "none") == 0)
		return;
	ck_assert_int_eq(sscanf(mark, "%d %7s", &upto, whose), 2);
	sql("UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL "
	    "1 HOUR, in_doubt_upto = %d, in_doubt_epoch = lease_epoch - %d",
	    upto, strcmp(whose, "former") == 0);
}

START_TEST(mark_follows_the_lease)
{
	set_mark(marks[_i].from);
	ck_sql(marks[_i].from, MARKS);
	marks[_i].act();
	ck_sql(marks[_i].to, MARKS);
}
END_TEST

/* Tables of this version have no columns for marks. */
START_TEST(new_tables_have_no_marks)
{
	static const char *const	columns[] = {
		"in_doubt_since", "in_doubt_upto", "in_doubt_epoch",
	};
	struct parking	parking = { 1, all, 4 };
	struct range	r = range("p00", 1);

	sql("ALTER TABLE outbox_partitions DROP COLUMN %s", columns[_i]);
	ck_ok(store_learn(st, &e));
	do_renew();
	ck_ok(store_park(st, &r, 1, &parking, 1, &e));
	do_raise();
	do_acquire();
	do_take_over();
	do_release();
	for (int i = 0; i < NROWS(columns); i++)
		sql_works("ALTER TABLE outbox_partitions DROP COLUMN %s",
		    columns[i]);
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
	set_mark("4 former");
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
	set_mark("4 former");
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

	set_mark(_i == 0 ? "3 former" : "3 mine");
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

/* Each worker of this version learns of it before it claims. */
START_TEST(mark_of_a_former_owner_comes_first)
{
	struct fleet	 fleet;
	int64_t		 now = 1000;

	ck_ok(store_register(st, &e));
	fleet_init(&fleet, conf, st);
	set_mark(_i == 0 ? "3 former" : "3 mine");
	if (_i == 1)		/* its owner dies */
		sql("UPDATE outbox_partitions SET lease_owner = '" OTHER
		    "', lease_until = NOW(6)");
	ck_ok(fleet_round(&fleet, now, &e));
	ck_assert(fleet_is_in_doubt(partition_of(&fleet, "p00"), 3));
	ck_assert(!fleet_is_in_doubt(partition_of(&fleet, "p00"), 4));
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence <= 3");
	ck_ok(fleet_round(&fleet, now + FLEET_READ_MS, &e));
	ck_assert(!fleet_is_in_doubt(partition_of(&fleet, "p00"), 1));
	ck_sql("none", MARKS);
	fleet_free(&fleet);
}
END_TEST

static void
add_all(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "marks", k, k->start, begin_marks,
		    end_store);

	tcase_add_loop_test(tc, mark_follows_the_lease, 0, NROWS(marks));
	tcase_add_test(tc, rows_learn_what_the_lease_knows);
	tcase_add_test(tc, refused_row_learns_nothing);
	tcase_add_loop_test(tc, parked_rows_take_it_with_them, 0, 2);
	tcase_add_loop_test(tc, mark_of_the_lease_without_a_label_stays, 0, 3);
	tcase_add_test(tc, marks_are_found_by_keys);
	tcase_add_loop_test(tc, mark_of_a_former_owner_comes_first, 0, 2);
	tcase_add_loop_test(tc, new_tables_have_no_marks, 0, 3);
}

int
main(void)
{
	return frame_run("marks", add_all);
}
