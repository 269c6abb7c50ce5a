/* store_candidates.c - which rows a worker finds, and in which order */

#include "store/store_test.h"

/* "sequence:label ..." of a glance; "many" if there are too many. */
static const char *
glance(size_t max, size_t nmessages)
{
	struct glance	 g;
	static char	 text[4096];
	size_t		 len = 0;

	ck_ok(store_glance(st, max, &g, &e));
	ck_assert(g.all || g.n == 0);
	ck_assert_uint_eq(g.ahead.n, nmessages);
	text[0] = '\0';
	for (size_t i = 0; i < g.n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu:%.*s", i > 0 ? " " : "",
		    (unsigned long long)g.rows[i].sequence,
		    g.rows[i].label.data == NULL ? 4 :
		    (int)g.rows[i].label.len, g.rows[i].label.data == NULL ?
		    "NULL" : g.rows[i].label.data);
	free(g.rows);
	batch_free(&g.ahead);
	return g.all ? text : "many";
}

START_TEST(glance_sees_all_waiting_rows)
{
	ck_assert_str_eq(glance(0, 0), "");
	add_rows(1, 1, "'p02'");
	add_rows(2, 2, "'p01'");
	update_row(2, "published_at = NOW(6)");
	add_rows(3, 3, "NULL");
	add_rows(4, 4, "'p00'");
	update_row(4, "claim_token = 'x'");
	ck_assert_str_eq(glance(0, 0), "3:NULL 4:p00 1:p02");
	/* A claimed row comes without its message, and so does a long one. */
	ck_assert_str_eq(glance(1000, 2), "3:NULL 4:p00 1:p02");
	ck_assert_str_eq(glance(1, 0), "3:NULL 4:p00 1:p02");
	/* So many that there may be others are as good as none. */
	add_rows(5, GLANCE_ROWS, "'p02'");
	ck_assert_str_ne(glance(0, 0), "many");
	add_rows(GLANCE_ROWS + 1, GLANCE_ROWS + 1, "'p00'");
	ck_assert_str_eq(glance(0, 0), "many");
	ck_assert_str_eq(glance(1000, 0), "many");
}
END_TEST

/* One column of each table, whatever their collations are. */
START_TEST(view_mixes_no_collations)
{
	struct store_view	 v;

	sql("CREATE TABLE kept_partitions LIKE outbox_partitions; "
	    "CREATE TABLE kept_workers LIKE outbox_workers; "
	    "ALTER TABLE outbox_partitions CONVERT TO CHARACTER SET utf8mb4 "
	    "COLLATE utf8mb4_unicode_ci; ALTER TABLE outbox_workers CONVERT "
	    "TO CHARACTER SET latin1 COLLATE latin1_german2_ci");
	add_lease("p00", ME, 3);
	ck_ok(store_register(st, &e));
	ck_ok(store_view(st, &v, &e));
	ck_assert_uint_eq(v.nworkers, 1);
	ck_assert_str_eq(v.workers[0].id, ME);
	ck_assert_uint_eq(v.nleases, 1);
	ck_assert(v.leases[0].mine);
	store_view_free(&v);
	sql("DROP TABLE outbox_partitions, outbox_workers; RENAME TABLE "
	    "kept_partitions TO outbox_partitions, kept_workers TO "
	    "outbox_workers");
}
END_TEST

START_TEST(candidates_come_in_order)
{
	struct range	ranges[2] = { range("p01", 1), range("p00", 1) };

	ck_assert_str_eq(candidates(ranges, 2), "");
	add_rows(9, 10, "'p00'");
	add_rows(7, 8, "'p01'");
	add_rows(1, 2, "'p02'");
	add_rows(3, 5, "'p00'");
	ck_assert_str_eq(candidates(ranges, 2),
	    "3:1 4:1 5:1 7:0 8:0 9:1 10:1");
	/* Due or not, claimed or not, but not what is delivered. */
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 60 SECOND, "
	    "claim_token = 'x' WHERE global_sequence IN (4, 8); "
	    "UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (3, 7)");
	ck_assert_str_eq(candidates(ranges, 2), "4:1 5:1 8:0 9:1 10:1");
	ranges[0].limit = ranges[1].limit = 1;
	ck_assert_str_eq(candidates(ranges, 2), "4:1 8:0");
	ranges[1].limit = 3;
	ck_assert_str_eq(candidates(ranges, 2), "4:1 5:1 8:0 9:1");
}
END_TEST

START_TEST(many_ranges_are_one_statement)
{
	struct range	ranges[STORE_RANGES];
	char		labels[STORE_RANGES][8];

	for (unsigned i = 0; i < STORE_RANGES; i++) {
		snprintf(labels[i], sizeof(labels[i]), "'p%02u'", i);
		add_rows(i + 1, i + 1, labels[i]);
		labels[i][strlen(labels[i]) - 1] = '\0';
		ranges[i] = range(labels[i] + 1, 1);
	}
	log_statements();
	ck_assert_ptr_nonnull(strstr(candidates(ranges, STORE_RANGES),
	    "1:0 2:1 3:2 "));
	ck_assert_ptr_nonnull(strstr(candidates(ranges, STORE_RANGES),
	    " 63:62 64:63"));
	sql("SET GLOBAL general_log = 0");
	ck_sql("2", "SELECT COUNT(*) " STATEMENTS);
}
END_TEST

START_TEST(rows_without_label_are_candidates)
{
	struct range	ranges[2] = { range("p00", 1), range("", 1) };

	add_rows(1, 1, "NULL");
	add_rows(2, 2, "''");
	add_rows(3, 3, "'p00'");
	add_rows(4, 4, "NULL");
	add_rows(5, 5, "''");
	ck_assert_str_eq(candidates(ranges, 2), "1:1 2:1 3:0 4:1 5:1");
}
END_TEST

/* What lies before the last row of a range that was cut has been seen. */
START_TEST(no_gap_among_rows_without_label)
{
	struct range	r = range("", 1);

	add_rows(1, 4, "NULL");
	add_rows(5, 8, "''");
	r.limit = 2;
	ck_assert_str_eq(candidates(&r, 1), "1:0 2:0");
}
END_TEST

void
add_candidates(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "candidates", k, k->start, begin_store,
		    end_store);

	tcase_add_test(tc, glance_sees_all_waiting_rows);
	tcase_add_test(tc, view_mixes_no_collations);
	tcase_add_test(tc, candidates_come_in_order);
	tcase_add_test(tc, many_ranges_are_one_statement);
	tcase_add_test(tc, rows_without_label_are_candidates);
	tcase_add_test(tc, no_gap_among_rows_without_label);
}
