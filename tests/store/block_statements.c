/*
 * block_statements.c - the statements on blocked keys and parked rows
 *
 * Each may be repeated, is fenced by the lease, keeps keys as they are, and
 * uses its indexes.
 */
#include "store/block_test.h"

#include <pthread.h>

static const struct range	p00 = { .label = "p00", .epoch = 1 };

static void
read_blocked(const char *label, struct blocked_list *list)
{
	ck_ok(store_blocked(st, &label, 1, list, &e));
}

enum call { BLOCK, UNBLOCK, PARK, UNPARK, NCALLS };

static const struct counts	one_count = { .count = 1 };

/* Rows 5 to 8 of p00, and what the call needs. */
static void
prepare(int which)
{
	add_rows(5, 8, "'p00'");
	if (which == UNBLOCK || which == UNPARK)
		add_record(5, "p00", "'k'", "failed");
	if (which == UNBLOCK)
		add_record(6, "p00", "'l'", "failed");
	if (which == UNPARK)
		sql("UPDATE outbox SET partition_key = '!5' "
		    "WHERE global_sequence IN (6, 7)");
}

static int
call(struct store *s, int which, uint64_t *written, struct err *err)
{
	static const uint64_t	records[] = { 5, 6 }, rows[] = { 6, 7 };
	struct parking		parking = { 5, rows, 2 };
	struct blocked		b[2] = {
		{ .first = 5, .head = 5, .label = "p00", .epoch = 1,
		  .key = { "k", 1 }, .reason = "failed" },
		{ .first = 6, .head = 6, .label = "p00", .epoch = 1,
		  .key = { "l", 1 }, .reason = "failed" },
	};

	switch (which) {
	case BLOCK:
		return store_block(s, b, 2, written, err);
	case UNBLOCK:
		return store_unblock(s, &p00, 1, records, 2, err);
	case PARK:
		return store_park(s, &p00, 1, &parking, 1, err);
	default:
		return store_unpark(s, &one_count, &p00, 1, rows, 2, err);
	}
}

static const struct {
	const char	*records, *labels;
} effects[] = {
	[BLOCK] = { "5 p00 failed 5, 6 p00 failed 6",
		    "5 p00, 6 p00, 7 p00, 8 p00" },
	[UNBLOCK] = { "", "5 p00, 6 p00, 7 p00, 8 p00" },
	[PARK] = { "", "5 p00, 6 !5, 7 !5, 8 p00" },
	[UNPARK] = { "5 p00 failed 5", "5 p00, 6 p00, 7 p00, 8 p00" },
};

static void
ck_effect(int which)
{
	ck_tables(effects[which].records, effects[which].labels);
}

/* An answer may be lost, and the statement be sent again. */
START_TEST(statements_may_be_repeated)
{
	uint64_t	written = 99;

	prepare(_i);
	ck_ok(call(st, _i, &written, &e));
	ck_effect(_i);
	ck_assert_uint_eq(written, _i == BLOCK ? 2 : 99);
	ck_ok(call(st, _i, &written, &e));
	ck_effect(_i);
	ck_assert_uint_eq(written, _i == BLOCK ? 0 : 99);
}
END_TEST

static const char *const	lost[] = {
	"lease_owner = '" OTHER "'", "lease_owner = NULL",
	"lease_until = NOW(6) - INTERVAL 1 SECOND", "lease_until = NULL",
	"lease_epoch = 2", "lease_epoch = 0", "partition_key = 'p01'",
};

#define NLOST	NROWS(lost)

START_TEST(statements_are_fenced)
{
	int		 which = _i / NLOST;
	uint64_t	 written = 99;
	const char	*r, *l;

	prepare(which);
	r = records();
	l = labels();
	sql("UPDATE outbox_partitions SET %s", lost[_i % NLOST]);
	ck_ok(call(st, which, &written, &e));
	ck_tables(r, l);
	ck_assert_uint_eq(written, which == BLOCK ? 0 : 99);
}
END_TEST

struct caller {
	struct store	*store;
	int		 which, rc;
	uint64_t	 written;
	struct err	 e;
	pthread_t	 thread;
};

static void *
caller_run(void *arg)
{
	struct caller	*c = arg;

	c->rc = c->which < NCALLS ?
	    call(c->store, c->which, &c->written, &c->e) :
	    store_take_over(c->store, ME, &c->e);
	return NULL;
}

static void
caller_start(struct caller *c, unsigned waiting)
{
	ck_assert_int_eq(pthread_create(&c->thread, NULL, caller_run, c), 0);
	wait_for_locks(waiting);
}

/*
 * A worker that takes the lease over and then reads the records finds the
 * statement done; it is never done later.
 */
START_TEST(statements_keep_the_lease_until_they_are_done)
{
	struct caller	c = { .which = _i };
	struct caller	predecessor = { .which = NCALLS };

	conf->worker.lease_renew = 9000;
	store_free(st);
	c.store = st = store_of(conf, ME);
	predecessor.store = store_of(conf, OTHER);
	prepare(_i);
	sql("START TRANSACTION");
	if (_i == BLOCK)
		add_record(6, "p00", "NULL", "failed");
	else if (_i == UNBLOCK)
		sql("SELECT * FROM outbox_blocked_keys "
		    "WHERE first_sequence = 6 FOR UPDATE");
	else
		sql("SELECT * FROM outbox WHERE global_sequence = 7 "
		    "FOR UPDATE");
	caller_start(&c, 1);
	caller_start(&predecessor, 2);
	ck_sql(ME " 1", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	sql("ROLLBACK");
	pthread_join(c.thread, NULL);
	pthread_join(predecessor.thread, NULL);
	ck_assert_msg(c.rc == 0, "%s", c.e.text);
	ck_assert_msg(predecessor.rc == 0, "%s", predecessor.e.text);
	ck_sql(OTHER " 2", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	ck_effect(_i);
	store_free(predecessor.store);
}
END_TEST

/*
 * A connection is lost while its statement waits for a row.  The worker reads
 * the records on a new connection, and only then the statement runs.
 */
START_TEST(lost_statements_change_nothing_later)
{
	struct caller	 late = { .which = _i };
	char		*r, *l;

	conf->worker.lease_renew = 9000;
	late.store = store_of(conf, ME);
	prepare(_i);
	r = xstrdup(records());
	l = xstrdup(labels());
	sql("START TRANSACTION; SELECT * FROM outbox_partitions FOR UPDATE");
	if (_i != BLOCK)	/* it reads the lease first */
		sql("COMMIT; START TRANSACTION");
	if (_i == UNBLOCK)
		sql("SELECT * FROM outbox_blocked_keys FOR UPDATE");
	else if (_i != BLOCK)
		sql("SELECT * FROM outbox FOR UPDATE");
	caller_start(&late, 1);
	if (_i == BLOCK)
		sql("UPDATE outbox_partitions SET lease_epoch = 2");
	else
		ck_ok(store_bump_own_epochs(st, &e));
	sql("COMMIT");
	pthread_join(late.thread, NULL);
	ck_assert_msg(late.rc == 0, "%s", late.e.text);
	ck_tables(r, l);
	store_free(late.store);
	free(r);
	free(l);
}
END_TEST

START_TEST(own_epochs_are_raised)
{
	add_lease("p01", OTHER, 7);
	add_lease("p02", ME, 3);
	update_lease("p02", "lease_until = NOW(6) - INTERVAL 1 SECOND");
	ck_ok(store_bump_own_epochs(st, &e));
	ck_sql("p00 2\np01 7\np02 4", "SELECT partition_key, lease_epoch "
	    "FROM outbox_partitions ORDER BY 1");
}
END_TEST
/* 255 characters of four bytes; quotes, zeros and others. */
static struct bytes
odd_key(int i)
{
	static char		 wide[255 * 4 + 1];
	static const char	*texts[] = {
		"", " ", "a ", "a  ", "A", "it's \\ \"x\" `y` %s",
		"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "line\nbreak\t", NULL
	};

	if (i == 0)
		return (struct bytes){ "nul\0nul", 7 };
	if (i == 1) {
		for (int c = 0; c < 255; c++)
			memcpy(wide + 4 * c, "\xf0\x9f\x98\x80", 4);
		return bytes_of(wide);
	}
	return bytes_of(texts[i - 2]);
}

#define NODD	11

START_TEST(keys_keep_their_bytes)
{
	struct bytes		key = odd_key(_i);
	struct blocked_list	list;
	struct blocked		b = { .first = UINT64_MAX - 1, .head = 7,
				    .label = "p00", .epoch = 1, .key = key,
				    .reason = "failed" };
	uint64_t		written;

	ck_ok(store_block(st, &b, 1, &written, &e));
	ck_assert_uint_eq(written, 1);
	read_blocked("p00", &list);
	ck_assert_uint_eq(list.n, 1);
	ck_assert_uint_eq(list.items[0].first, UINT64_MAX - 1);
	ck_assert_uint_eq(list.items[0].head, 7);
	ck_assert_str_eq(list.items[0].label, "p00");
	ck_assert_str_eq(list.items[0].reason, "failed");
	ck_assert(!list.items[0].pending);
	ck_assert(!list.items[0].head_parked);
	if (key.data == NULL)
		ck_assert_ptr_null(list.items[0].key.data);
	else
		ck_assert_mem_eq(list.items[0].key.data, key.data, key.len);
	ck_assert_uint_eq(list.items[0].key.len, key.len);
	store_blocked_free(&list);
	read_blocked("p01", &list);
	ck_assert_uint_eq(list.n, 0);
	store_blocked_free(&list);
}
END_TEST

START_TEST(heads_are_described)
{
	static const struct {
		const char	*set;
		bool		 pending, parked;
		int64_t		 low, high;
	} heads[] = {
		{ "attempts = 1", true, false, 0, 0 },
		{ "available_at = NOW(6) + INTERVAL 60 SECOND", true, false,
		  55000, 60001 },
		{ "published_at = NOW(6)", false, false, 0, 0 },
		{ "partition_key = '!5'", true, true, 0, 0 },
		{ "partition_key = '!50'", true, false, 0, 0 },
		{ "partition_key = NULL", true, false, 0, 0 },
		/* Claiming finds out whether the claim is void. */
		{ "available_at = NOW(6) + INTERVAL 60 SECOND, "
		  "claim_token = 'x'", true, false, 0, 0 },
	};
	struct blocked_list	list;

	add_rows(5, 5, "'p00'");
	add_record(5, "p00", "'k'", "failed");
	for (int i = 0; i < NROWS(heads); i++) {
		sql("UPDATE outbox SET partition_key = 'p00', published_at = "
		    "NULL, available_at = NOW(6), claim_token = NULL; "
		    "UPDATE outbox SET %s", heads[i].set);
		read_blocked("p00", &list);
		ck_assert_uint_eq(list.n, 1);
		ck_assert(list.items[0].pending == heads[i].pending);
		ck_assert(list.items[0].head_parked == heads[i].parked);
		ck_near(list.items[0].due_ms, heads[i].low, heads[i].high);
		store_blocked_free(&list);
	}
}
END_TEST

/* Rows of the lease "" have no label, or an empty one. */
START_TEST(rows_without_label_come_back)
{
	static const uint64_t	rows[] = { 1, 2, 3, 4 };
	struct parking		parking = { 1, rows, 4 };
	struct range		none = { .label = "", .epoch = 4 };

	add_lease("", ME, 4);
	add_rows(1, 2, "NULL");
	add_rows(3, 3, "''");
	add_rows(4, 4, "'p00'");	/* of another lease */
	add_record(1, "", "'k'", "failed");
	ck_ok(store_park(st, &none, 1, &parking, 1, &e));
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 p00");
	ck_ok(store_unpark(st, &one_count, &none, 1, rows, 4, &e));
	ck_assert_str_eq(labels(), "1 NULL, 2 NULL, 3 NULL, 4 p00");
}
END_TEST

START_TEST(lanes_are_parked_apart)
{
	static const uint64_t	a[] = { 1, 3 }, b[] = { 2 }, c[] = { 4 };
	static const uint64_t	all[] = { 1, 2, 3, 4, 5 };
	struct parking		parking[] = { { 1, a, 2 }, { 2, b, 1 },
				    { 18446744073709551614u, c, 1 } };
	struct range		both[] = { p00, { .label = "it's \\",
				    .epoch = 2 } };

	add_lease("it''s \\\\", ME, 2);
	add_rows(1, 3, "'p00'");
	add_rows(4, 4, "'it''s \\\\'");
	add_rows(5, 5, "'p00'");
	update_row(3, "published_at = NOW(6)");
	ck_ok(store_park(st, both, 2, parking, 3, &e));
	ck_assert_str_eq(labels(),
	    "1 !1, 2 !2, 4 !18446744073709551614, 5 p00");
	ck_sql("p00", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence = 3");
	/* Without a record its former partition is unknown. */
	ck_ok(store_unpark(st, &one_count, both, 2, all, 5, &e));
	ck_assert_str_eq(labels(),
	    "1 !1, 2 !2, 4 !18446744073709551614, 5 p00");
	add_record(1, "p00", "'k'", "failed");
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "reason, head_sequence) VALUES (18446744073709551614, "
	    "'it''s \\\\', 'failed', 4)");
	ck_ok(store_unpark(st, &one_count, both, 2, all, 5, &e));
	ck_assert_str_eq(labels(), "1 p00, 2 !2, 4 it's \\, 5 p00");
}
END_TEST

static void
fill_blocked(void)
{
	sql("DELETE FROM outbox; DELETE FROM outbox_blocked_keys; "
	    "DELETE FROM outbox_partitions");
	ck_ok(fill_partitions(st, 64));
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch "
	    "= 1, lease_until = NOW(6) + INTERVAL 60 SECOND; "
	    "INSERT INTO outbox (global_sequence, partition_key) SELECT n + 1, "
	    "CONCAT('p', LPAD(n MOD 100 MOD 64, 2, '0')) FROM " NUMBERS "; "
	    "INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) SELECT global_sequence, "
	    "partition_key, 'k', 'failed', global_sequence FROM outbox "
	    "WHERE global_sequence <= 1000; "
	    "UPDATE outbox SET partition_key = CONCAT('!', global_sequence "
	    "MOD 1000 + 1) WHERE global_sequence > 5000; "
	    "ANALYZE TABLE outbox; ANALYZE TABLE outbox_blocked_keys; "
	    "ANALYZE TABLE outbox_partitions");
}

static void
use_every_statement(unsigned n)
{
	static const char *const	two[] = { "p00", "p01" };
	struct range			both[] = { p00, { .label = "p01",
					    .epoch = 1 } };
	struct blocked			b[2] = {
		{ .first = 2001, .label = "p00", .epoch = 1, .reason = "x" },
		{ .first = 2002, .label = "p01", .epoch = 1, .reason = "x" },
	};
	uint64_t			*list = xcalloc(2 * n, sizeof(*list));
	struct parking			 parking[] = { { 2001, list, n },
					    { 2002, list + n, n } };
	struct blocked_list		 blocked;
	uint64_t			 written;

	for (unsigned i = 0; i < 2 * n; i++)
		list[i] = i + 1;
	ck_ok(store_block(st, b, 2, &written, &e));
	ck_assert_uint_eq(written, 2);
	ck_ok(store_blocked(st, two, 2, &blocked, &e));
	store_blocked_free(&blocked);
	ck_ok(store_park(st, both, 2, parking, 2, &e));
	ck_ok(store_unpark(st, &one_count, both, 2, list, 2 * n, &e));
	ck_ok(store_unblock(st, both, 2, list, 2 * n, &e));
	free(list);
}

static const unsigned	sizes[] = { 1, 20, 250 };

START_TEST(statements_use_their_keys)
{
	int	n, nseen = 0;

	fill_blocked();
	log_statements();
	store_free(st);
	st = store_of(conf, ME);
	use_every_statement(sizes[_i]);
	sql("SET GLOBAL general_log = 0; DROP TABLE IF EXISTS seen; "
	    "CREATE TABLE seen (id INT AUTO_INCREMENT PRIMARY KEY, "
	    "text LONGTEXT); INSERT INTO seen (text) SELECT argument "
	    STATEMENTS "ORDER BY event_time");
	fill_blocked();
	n = atoi(sql_text("SELECT COUNT(*) FROM seen"));
	for (int i = 1; i <= n; i++) {
		char		*text = xstrdup(sql_text("SELECT text FROM "
				    "seen WHERE id = %d", i));
		const char	*at = text;

		if (strncmp(text, "SET SESSION", 11) == 0)
			sql("%s", text);
		if (strncmp(text, "INSERT", 6) == 0)
			at = strstr(text, "(SELECT");	/* its SELECT */
		if (strstr(text, "blocked_keys") != NULL &&
		    strstr(text, "schema") == NULL) {
			ck_plan(at, "PRIMARY outbox_blocked_keys_partition");
			nseen++;
		} else if (strncmp(text, "UPDATE", 6) == 0) {
			ck_plan(at, "PRIMARY");
			nseen++;
		}
		free(text);
	}
	sql("DROP TABLE seen");
	ck_assert_int_eq(nseen, 5);
}
END_TEST

void
add_statements(TCase *tc)
{
	tcase_add_loop_test(tc, statements_may_be_repeated, 0, NCALLS);
	tcase_add_loop_test(tc, statements_are_fenced, 0, NCALLS * NLOST);
	tcase_add_loop_test(tc, statements_keep_the_lease_until_they_are_done,
	    0, NCALLS);
	tcase_add_loop_test(tc, lost_statements_change_nothing_later, 0,
	    NCALLS);
	tcase_add_test(tc, own_epochs_are_raised);
	tcase_add_loop_test(tc, keys_keep_their_bytes, 0, NODD);
	tcase_add_test(tc, heads_are_described);
	tcase_add_test(tc, rows_without_label_come_back);
	tcase_add_test(tc, lanes_are_parked_apart);
	tcase_add_loop_test(tc, statements_use_their_keys, 0, NROWS(sizes));
}
