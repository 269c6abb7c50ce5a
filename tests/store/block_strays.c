/*
 * block_strays.c - labels without a lease: those that get one, and those that
 * can have none
 */
#include "store/block_test.h"

static char	label[STORE_LABEL];	/* of a partition that was adopted */

/* Nor is a partition whose rows are all parked overlooked. */
START_TEST(parked_rows_are_no_strays)
{
	struct stray	x;

	add_rows(1, 3, "'!1'");
	add_record(1, "gone", "'k'", "failed");
	ck_assert_uint_eq(adopt_strays(st, label), 1);
	ck_assert_str_eq(label, "gone");
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	ck_assert_uint_eq(strays_of(st, &x), 0);
	ck_sql("!1", "SELECT DISTINCT partition_key FROM outbox");
}
END_TEST

static const struct {
	const char	*label, *bytes, *why;
	bool		 parked;	/* like those of parked rows */
} unfit[] = {
	{ "'!'", "!", "parks rows", false }, { "'!A'", "!A", "parks rows",
	  true }, { "'!a'", "!a", "parks rows", false },
	{ "'!2'", "!2", "parks rows", true }, { "'!01'", "!01", "parks rows",
	  true }, { "'!-1'", "!-1", "parks rows", true },
	{ "'!18446744073709551615'", "!18446744073709551615", "parks rows",
	  true },
	{ "CONCAT('a', CHAR(1))", "a\1", "too long, or has", false },
	{ "CONCAT('p00', CHAR(0))", "p00", "too long, or has", false },
	{ "CONCAT('it''s', CHAR(127))", "it's\177", "too long, or has", false },
	{ "CONCAT('!', CHAR(39), ') OR 1=1 -- .')", "!') OR 1=1 -- .",
	  "parks rows", false },
	{ "CONCAT('!', CHAR(92), CHAR(39), ') OR 1=1 -- .')",
	  "!\\') OR 1=1 -- .", "parks rows", false },
	{ "CONCAT('!', CHAR(92))", "!\\", "parks rows", false },
	{ "'!\xe2\x82\xac'", "!\xe2\x82\xac", "parks rows", false },
};

/* Whoever runs the statement may have one of these; '' is the last. */
static const char *const modes[] = { "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES",
	"" };

/* Between labels that have one; with an old lease of a parked label, or not. */
START_TEST(label_without_a_lease_is_told)
{
	struct stray	x;

	sql("SET NAMES utf8mb4; UPDATE outbox_settings SET partition_count = 1");
	add_record(1, "p00", "'other'", "failed");
	if (unfit[_i].parked && unfit[_i].bytes[1] > '1' &&
	    unfit[_i].bytes[1] <= '9')
		add_lease(unfit[_i].bytes, ME, 1);
	add_rows(11, 12, unfit[_i].label);
	add_rows(13, 13, "'az'");
	add_rows(14, 14, "NULL");
	adopt_strays(st, label);
	ck_sql("1", "SELECT COUNT(*) FROM outbox_partitions "
	    "WHERE partition_key = 'az'");
	for (int i = 0; i < NROWS(modes); i++) {
		sql("UPDATE outbox SET partition_key = %s WHERE "
		    "global_sequence IN (11, 12); SET SESSION sql_mode = '%s'",
		    unfit[_i].label, modes[i]);
		ck_assert_uint_eq(strays_of(st, &x), 1);
		ck_assert_uint_ge(x.len, strlen(unfit[_i].bytes));
		ck_assert_mem_eq(x.label, unfit[_i].bytes,
		    strlen(unfit[_i].bytes));
		ck_has(x.why, unfit[_i].why);
		ck_assert_str_eq(labels(), "11 p00, 12 p00, 13 az, 14 NULL");
	}
	ck_assert_uint_eq(strays_of(st, &x), 0);
	ck_assert_uint_eq(adopt_strays(st, label), 0);
}
END_TEST

/* More than a statement names; of records, all but one were deleted. */
START_TEST(any_number_of_labels_is_mended)
{
	struct stray	x;
	char		text[40];

	sql("UPDATE outbox_settings SET partition_count = 1");
	add_record(5, "p00", "'k'", "failed");
	add_rows(3, 3, "'p00'");
	add_rows(4, 4, "NULL");
	add_rows(5, 6, "'!5'");
	for (unsigned i = 10; i <= 40; i++) {
		snprintf(text, sizeof(text), "CONCAT('%s%u', CHAR(1))",
		    i % 2 ? "!" : "", i);
		add_rows(i, i, text);
	}
	adopt_strays(st, label);
	ck_assert_uint_gt(strays_of(st, &x), 10);
	ck_sql("!5 NULL p00", "SELECT GROUP_CONCAT("
	    "DISTINCT COALESCE(partition_key, 'NULL') ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox");
	ck_assert_uint_eq(strays_of(st, &x), 0);
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
START_TEST(label_that_is_too_long_is_told)
{
	struct stray	x;

	sql("SET NAMES utf8mb4; UPDATE outbox_settings SET partition_count = 1; "
	    "ALTER TABLE outbox MODIFY partition_key VARCHAR(300) "
	    "COLLATE utf8mb4_bin NULL");
	add_rows(11, 12, lengths[_i].label);
	ck_assert_uint_eq(adopt_strays(st, label), lengths[_i].fits);
	ck_assert_uint_eq(strays_of(st, &x), !lengths[_i].fits);
	ck_sql(lengths[_i].fits ? "0" : "2", "SELECT COUNT(*) FROM outbox "
	    "WHERE partition_key = 'p00'");
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	ck_assert_uint_eq(strays_of(st, &x), 0);
	sql("DELETE FROM outbox; ALTER TABLE outbox MODIFY partition_key "
	    "VARCHAR(64) COLLATE utf8mb4_bin NULL");
}
END_TEST

/* Labels that can have none, and two behind them, between the same others. */
START_TEST(label_that_stays_hides_no_others)
{
	add_rows(11, 11, "CONCAT('a', CHAR(0))");
	add_rows(12, 12, "CONCAT('b', CHAR(0))");
	add_rows(13, 13, "'az'");
	add_rows(14, 14, "'bz'");
	add_rows(15, 15, "CONCAT('c', CHAR(0))");
	ck_assert_uint_eq(adopt_strays(st, label), 2);
	ck_assert_uint_eq(adopt_strays(st, label), 0);
	ck_sql("az\nbz", "SELECT partition_key FROM outbox_partitions "
	    "WHERE partition_key LIKE '_z' ORDER BY 1");
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
START_TEST(strays_are_found_without_a_scan)
{
	unsigned	before;

	sql("INSERT INTO outbox (global_sequence, partition_key) SELECT "
	    "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 1, "
	    "CONCAT('!', a.n) "
	    "FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c") ", "
	    DIGITS("d"));
	for (unsigned i = 0; i < 10; i++)
		add_record(i, "p00", "'k'", "failed");
	before = steps();
	adopt_strays(st, label);
	ck_assert_uint_lt(steps() - before, 200);
}
END_TEST

void
add_strays(TCase *tc)
{
	tcase_add_test(tc, parked_rows_are_no_strays);
	tcase_add_loop_test(tc, label_without_a_lease_is_told, 0,
	    NROWS(unfit));
	tcase_add_test(tc, any_number_of_labels_is_mended);
	tcase_add_test(tc, strays_are_found_without_a_scan);
	tcase_add_test(tc, label_that_stays_hides_no_others);
	/* The last, for the server forgets what it knew of the table. */
	tcase_add_loop_test(tc, label_that_is_too_long_is_told, 0,
	    NROWS(lengths));
}
