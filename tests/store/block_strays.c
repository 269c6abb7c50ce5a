/*
 * block_strays.c - labels without a lease: strays, and parked rows whose
 * record is gone
 */
#include "store/block_test.h"

static char	label[STORE_LABEL];	/* of a partition that was adopted */

/* Adopt orphans of parked rows; returns the number. */
static unsigned
adopt(void)
{
	return adopt_parked(st, label);
}

START_TEST(parked_rows_are_no_strays)
{
	add_rows(1, 3, "'!1'");
	add_rows(4, 4, "'!4711'");
	add_record(1, "p00", "'k'", "failed");
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	/* An application's labels that begin like those of parked rows. */
	add_rows(5, 5, "'!a'");
	add_rows(6, 6, "'!'");
	while (adopt_strays(st, label) > 0)
		continue;
	ck_sql("!\n!a\np00", "SELECT partition_key FROM outbox_partitions "
	    "ORDER BY 1");
}
END_TEST

static const struct {
	const char	*label;		/* of a row; NULL: of a record */
	const char	*adopted;	/* NULL: not at all */
} orphans[] = {
	{ "p00", NULL }, { "!A", "!A" }, { "!1x", "!1x" }, { "!01", "!01" },
	{ "!-1", "!-1" }, { "!18446744073709551616", "!18446744073709551616" },
	{ NULL, "gone" },
};

/* Labels of parked rows, and whether these get another one. */
static const struct {
	const char	*label;
	const char	*key;		/* of the record 1 */
	bool		 moved;
} unowned[] = {
	{ "!1", "'k11'", false }, { "!1", "'other'", true },
	{ "!2", "'k11'", true }, { "!10", "'k11'", true },
	{ "!18446744073709551615", "'k11'", true },
};

/* With an old lease of the label, or without. */
START_TEST(rows_without_their_record_get_their_keys_label)
{
	int	i = _i / 2;

	sql("UPDATE outbox_settings SET partition_count = 1");
	if (_i % 2 == 1)
		add_lease(unowned[i].label, ME, 1);
	add_record(1, "p00", unowned[i].key, "failed");
	add_rows(11, 11, "'p00'");
	sql("UPDATE outbox SET partition_key = '%s'", unowned[i].label);
	ck_assert_uint_eq(adopt(), 0);
	ck_sql(unowned[i].moved ? "p00" : unowned[i].label,
	    "SELECT partition_key FROM outbox");
	ck_sql(unowned[i].moved ? "2" : "1", "SELECT lease_epoch "
	    "FROM outbox_partitions WHERE partition_key = 'p00'");
	ck_assert_uint_eq(adopt(), 0);
}
END_TEST

/* Neither label can have a lease; the first one's row is locked. */
START_TEST(locked_row_keeps_no_other_label_waiting)
{
	struct adopted	a;

	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(10, 12, "CONCAT('a', CHAR(1))");
	add_rows(13, 13, "CONCAT('b', CHAR(1))");
	sql("START TRANSACTION; SELECT * FROM outbox "
	    "WHERE global_sequence = 11 FOR UPDATE");
	ck_ok(store_adopt_strays(st, &a, &e));
	ck_assert(a.locked && !a.busy);
	sql("COMMIT");
	/* Nor does a later row of its label pass it: it may be of its key. */
	ck_sql("1\n0\n0\n1", "SELECT partition_key = 'p00' FROM outbox "
	    "ORDER BY global_sequence");
	ck_ok(store_adopt_strays(st, &a, &e));
	ck_assert(!a.locked && !a.busy);
	ck_sql("p00", "SELECT DISTINCT partition_key FROM outbox");
}
END_TEST

START_TEST(label_with_nul_is_given_up)
{
	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 12, "CONCAT('a', CHAR(0), 'b')");
	add_rows(13, 13, "'az'");
	ck_assert_uint_eq(adopt_strays(st, label), 1);
	ck_assert_str_eq(label, "az");
	ck_assert_str_eq(labels(), "11 p00, 12 p00, 13 az");
}
END_TEST

static const struct {
	const char	*label;
	bool		 fits;
} lengths[] = {
	{ "REPEAT('a', 64)", true }, { "REPEAT('a', 65)", false },
	{ "REPEAT('\xe2\x82\xac', 64)", true },
	{ "REPEAT('\xe2\x82\xac', 65)", false },
	{ "REPEAT('a', 256)", false }, { "REPEAT('a', 300)", false },
};

/* An application's column may be wider than that of the leases. */
START_TEST(label_that_is_too_long_is_given_up)
{
	sql("SET NAMES utf8mb4; UPDATE outbox_settings SET partition_count = 1; "
	    "ALTER TABLE outbox MODIFY partition_key VARCHAR(300) "
	    "COLLATE utf8mb4_bin NULL");
	add_rows(11, 12, lengths[_i].label);
	ck_assert_uint_eq(adopt_strays(st, label), lengths[_i].fits);
	ck_sql(lengths[_i].fits ? "0" : "2", "SELECT COUNT(*) FROM outbox "
	    "WHERE partition_key = 'p00'");
	ck_assert_uint_eq(times_logged("cannot have a lease"),
	    !lengths[_i].fits);
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	sql("DELETE FROM outbox; ALTER TABLE outbox MODIFY partition_key "
	    "VARCHAR(64) COLLATE utf8mb4_bin NULL");
}
END_TEST

/* The other rows are moved, and it is logged. */
START_TEST(label_that_cannot_be_changed_stays)
{
	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 11, "'!998'");
	add_rows(12, 12, "CONCAT('a', CHAR(0))");
	add_rows(13, 13, "'9z'");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence = 12");
	adopt();
	ck_assert_uint_eq(adopt_strays(st, label), 1);
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	ck_sql("p00\n9z", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence <> 12 ORDER BY global_sequence");
	ck_has(logged(), "refuses another label");
}
END_TEST

/* Two labels that stay and two behind them, between the same known labels. */
START_TEST(label_that_stays_hides_no_others)
{
	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 11, "CONCAT('a', CHAR(0))");
	add_rows(12, 12, "CONCAT('b', CHAR(0))");
	add_rows(13, 13, "'az'");
	add_rows(14, 14, "'bz'");
	add_rows(15, 15, "CONCAT('c', CHAR(0))");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence < 13");
	ck_assert_uint_eq(adopt_strays(st, label), 2);
	ck_assert_str_eq(label, "bz");
	ck_sql("p00", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence = 15");
	ck_assert_uint_eq(times_logged("refuses another label"), 2);
	ck_assert_uint_eq(adopt_strays(st, label), 0);
}
END_TEST

START_TEST(orphans_are_adopted)
{
	add_record(1, "p00", "'k'", "failed");
	if (orphans[_i].label == NULL)
		add_record(2, "gone", "'l'", "failed");
	add_rows(11, 12, "'p00'");
	if (orphans[_i].label != NULL)
		sql("UPDATE outbox SET partition_key = '%s'",
		    orphans[_i].label);
	ck_assert_uint_eq(adopt(), orphans[_i].adopted != NULL);
	if (orphans[_i].adopted == NULL)
		return;
	ck_assert_str_eq(label, orphans[_i].adopted);
	ck_assert_uint_eq(adopt(), 0);
	ck_sql("2", "SELECT COUNT(*) FROM outbox_partitions");
	sql("DELETE FROM outbox_partitions; UPDATE outbox SET published_at = "
	    "NOW(6); DELETE FROM outbox_blocked_keys");
	ck_assert_uint_eq(adopt(), 0);
}
END_TEST

static unsigned
steps(void)
{
	const char	*text = sql_text("SHOW GLOBAL STATUS LIKE "
			    "'Handler_read_next'");

	return (unsigned)atoi(strchr(text, ' '));
}

/* Many rows behind few records: the search for orphans does not read them. */
START_TEST(orphans_are_found_without_a_scan)
{
	unsigned	before;

	sql("INSERT INTO outbox (global_sequence, partition_key) SELECT "
	    "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 1, "
	    "CONCAT('!', IF(a.n = 7, '7x', a.n)) "
	    "FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c") ", "
	    DIGITS("d"));
	for (unsigned i = 0; i < 10; i++)
		if (i != 7)
			add_record(i, "p00", "'k'", "failed");
	/* By itself the server takes seconds to learn how often labels repeat. */
	sql("ANALYZE TABLE outbox");
	before = steps();
	if (_i == 0)
		ck_assert_uint_eq(adopt(), 1);
	else
		adopt_strays(st, label);
	ck_assert_uint_lt(steps() - before, 200);
}
END_TEST

void
add_strays(TCase *tc)
{
	tcase_add_test(tc, parked_rows_are_no_strays);
	tcase_add_loop_test(tc, rows_without_their_record_get_their_keys_label,
	    0, 2 * NROWS(unowned));
	tcase_add_test(tc, locked_row_keeps_no_other_label_waiting);
	tcase_add_test(tc, label_with_nul_is_given_up);
	tcase_add_loop_test(tc, orphans_are_adopted, 0, NROWS(orphans));
	tcase_add_loop_test(tc, orphans_are_found_without_a_scan, 0, 2);
	/* The last, for the server forgets what it knew of the table. */
	tcase_add_test(tc, label_that_cannot_be_changed_stays);
	tcase_add_test(tc, label_that_stays_hides_no_others);
	tcase_add_loop_test(tc, label_that_is_too_long_is_given_up, 0,
	    NROWS(lengths));
}
