/*
 * check_block.c - keys that wait, against real servers
 *
 * The table of blocked keys, parking, the burial that halts a key, and what
 * parked.c makes of them.  See frame.h.
 */
#include <check.h>
#include <dlfcn.h>
#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libdeflate.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "worker/lanes.h"
#include "worker/fleet.h"
#include "worker/parked.h"
#include "store/store_sql.h"
#include "worker/tick.h"
#include "worker/worker_impl.h"
#include "util/xalloc.h"

static const struct range	p00 = { .label = "p00", .epoch = 1 };

static void
block_begin(void)
{
	begin_store();
	add_lease("p00", ME, 1);
}

static void
add_record(unsigned first, const char *label, const char *key,
    const char *reason)
{
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) VALUES (%u, '%s', %s, '%s', %u)",
	    first, label, key, reason, first);
}

static const char *
labels(void)
{
	return sql_text("SELECT GROUP_CONCAT(global_sequence, ' ', "
	    "COALESCE(partition_key, 'NULL') ORDER BY 1 SEPARATOR ', ') "
	    "FROM outbox WHERE published_at IS NULL");
}

static const char *
records(void)
{
	return sql_text("SELECT COALESCE(GROUP_CONCAT(first_sequence, ' ', "
	    "partition_key, ' ', reason, ' ', head_sequence ORDER BY 1 "
	    "SEPARATOR ', '), '') FROM outbox_blocked_keys");
}

static void
read_blocked(const char *label, struct blocked_list *list)
{
	ck_ok(store_blocked(st, &label, 1, list, &e));
}

/*
 * The statements
 */

enum call { BLOCK, UNBLOCK, PARK, UNPARK, NCALLS };

/* Rows 5 to 8 of p00, and what the call is to find. */
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
		return store_unpark(s, &p00, 1, rows, 2, err);
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
	ck_assert_str_eq(records(), effects[which].records);
	ck_assert_str_eq(labels(), effects[which].labels);
}

/* An answer may be lost, and the same be asked for again. */
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
	ck_assert_str_eq(records(), r);
	ck_assert_str_eq(labels(), l);
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

/* Who takes the lease over and reads the records finds it done, or never. */
START_TEST(statements_keep_the_lease_until_they_are_done)
{
	struct caller	c = { .which = _i }, predecessor = { .which = NCALLS };

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
 * A connection is lost with a statement under way, which waits for a row;
 * the worker comes back and reads the records, and only then does it run.
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
	if (_i != BLOCK)	/* which looks at the lease first */
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
	ck_assert_str_eq(records(), r);
	ck_assert_str_eq(labels(), l);
	store_free(late.store);
	free(r);
	free(l);
}
END_TEST

START_TEST(own_epochs_are_raised)
{
	add_lease("p01", OTHER, 7);
	add_lease("p02", ME, 3);
	sql("UPDATE outbox_partitions SET lease_until = NOW(6) - INTERVAL 1 "
	    "SECOND WHERE partition_key = 'p02'");
	ck_ok(store_bump_own_epochs(st, &e));
	ck_sql("p00 2\np01 7\np02 4", "SELECT partition_key, lease_epoch "
	    "FROM outbox_partitions ORDER BY 1");
}
END_TEST

static struct bytes
bytes_of(const char *text)
{
	return (struct bytes){ text, text == NULL ? 0 : strlen(text) };
}

/* 255 characters of four bytes, and quotes and zeros in the way. */
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
		/* Whose claim is void is found out by claiming. */
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
	add_rows(4, 4, "'p00'");	/* not of a lease that is named */
	add_record(1, "", "'k'", "failed");
	ck_ok(store_park(st, &none, 1, &parking, 1, &e));
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 p00");
	ck_ok(store_unpark(st, &none, 1, rows, 4, &e));
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
	sql("UPDATE outbox SET published_at = NOW(6) WHERE global_sequence = 3");
	ck_ok(store_park(st, both, 2, parking, 3, &e));
	ck_assert_str_eq(labels(),
	    "1 !1, 2 !2, 4 !18446744073709551614, 5 p00");
	ck_sql("p00", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence = 3");
	/* Without a record nobody knows where it was. */
	ck_ok(store_unpark(st, both, 2, all, 5, &e));
	ck_assert_str_eq(labels(),
	    "1 !1, 2 !2, 4 !18446744073709551614, 5 p00");
	add_record(1, "p00", "'k'", "failed");
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "reason, head_sequence) VALUES (18446744073709551614, "
	    "'it''s \\\\', 'failed', 4)");
	ck_ok(store_unpark(st, both, 2, all, 5, &e));
	ck_assert_str_eq(labels(), "1 p00, 2 !2, 4 it's \\, 5 p00");
}
END_TEST

/*
 * What nobody looks for: partitions that only records know, and rows whose
 * record is gone
 */

static unsigned
adopt(char label[STORE_LABEL])
{
	unsigned	n = 99;

	ck_ok(store_adopt_parked(st, &n, label, &e));
	return n;
}

START_TEST(parked_rows_are_no_strays)
{
	char		label[STORE_LABEL];
	unsigned	n = 99;

	add_rows(1, 3, "'!1'");
	add_rows(4, 4, "'!4711'");
	add_record(1, "p00", "'k'", "failed");
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 0);
	/* Labels of somebody's own, though they begin like ours. */
	add_rows(5, 5, "'!a'");
	add_rows(6, 6, "'!'");
	while (store_adopt_strays(st, &n, label, &e) == 0 && n > 0)
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

/* Of parked rows, and whether they get another one. */
static const struct {
	const char	*label;
	const char	*key;		/* of the record 1 */
	bool		 moved;
} unowned[] = {
	{ "!1", "'k11'", false }, { "!1", "'other'", true },
	{ "!2", "'k11'", true }, { "!10", "'k11'", true },
	{ "!18446744073709551615", "'k11'", true },
};

/* With a lease of former times or without. */
START_TEST(rows_without_their_record_get_their_keys_label)
{
	int	i = _i / 2;
	char	label[STORE_LABEL] = "";

	sql("UPDATE outbox_settings SET partition_count = 1");
	if (_i % 2 == 1)
		add_lease(unowned[i].label, ME, 1);
	add_record(1, "p00", unowned[i].key, "failed");
	add_rows(11, 11, "'p00'");
	sql("UPDATE outbox SET partition_key = '%s'", unowned[i].label);
	ck_assert_uint_eq(adopt(label), 0);
	ck_sql(unowned[i].moved ? "p00" : unowned[i].label,
	    "SELECT partition_key FROM outbox");
	ck_sql(unowned[i].moved ? "2" : "1", "SELECT lease_epoch "
	    "FROM outbox_partitions WHERE partition_key = 'p00'");
	ck_assert_uint_eq(adopt(label), 0);
}
END_TEST

START_TEST(label_with_nul_is_given_up)
{
	char		label[STORE_LABEL];
	unsigned	n = 99;

	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 12, "CONCAT('a', CHAR(0), 'b')");
	add_rows(13, 13, "'az'");
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 1);
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
	char		label[STORE_LABEL] = "";
	unsigned	n = 99;

	sql("SET NAMES utf8mb4; UPDATE outbox_settings SET partition_count = 1; "
	    "ALTER TABLE outbox MODIFY partition_key VARCHAR(300) "
	    "COLLATE utf8mb4_bin NULL");
	add_rows(11, 12, lengths[_i].label);
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, lengths[_i].fits);
	ck_sql(lengths[_i].fits ? "0" : "2", "SELECT COUNT(*) FROM outbox "
	    "WHERE partition_key = 'p00'");
	ck_assert_uint_eq(times_logged("cannot have a lease"),
	    !lengths[_i].fits);
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 0);
	sql("DELETE FROM outbox; ALTER TABLE outbox MODIFY partition_key "
	    "VARCHAR(64) COLLATE utf8mb4_bin NULL");
}
END_TEST

/* The others are moved, and it is told of. */
START_TEST(label_that_cannot_be_changed_stays)
{
	char		label[STORE_LABEL] = "";
	unsigned	n = 99;

	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 11, "'!998'");
	add_rows(12, 12, "CONCAT('a', CHAR(0))");
	add_rows(13, 13, "'9z'");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence = 12");
	ck_ok(store_adopt_parked(st, &n, label, &e));
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 1);
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 0);
	ck_sql("p00\n9z", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence <> 12 ORDER BY global_sequence");
	ck_has(logged(), "cannot be given another one");
}
END_TEST

/* In one gap between known labels: two that stay, and two behind them. */
START_TEST(label_that_stays_hides_no_others)
{
	char		label[STORE_LABEL] = "";
	unsigned	n = 99;

	sql("UPDATE outbox_settings SET partition_count = 1");
	add_rows(11, 11, "CONCAT('a', CHAR(0))");
	add_rows(12, 12, "CONCAT('b', CHAR(0))");
	add_rows(13, 13, "'az'");
	add_rows(14, 14, "'bz'");
	add_rows(15, 15, "CONCAT('c', CHAR(0))");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence < 13");
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(label, "bz");
	ck_sql("p00", "SELECT partition_key FROM outbox "
	    "WHERE global_sequence = 15");
	ck_assert_uint_eq(times_logged("cannot be given another one"), 2);
	ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(orphans_are_adopted)
{
	char	label[STORE_LABEL] = "";

	add_record(1, "p00", "'k'", "failed");
	if (orphans[_i].label == NULL)
		add_record(2, "gone", "'l'", "failed");
	add_rows(11, 12, "'p00'");
	if (orphans[_i].label != NULL)
		sql("UPDATE outbox SET partition_key = '%s'",
		    orphans[_i].label);
	ck_assert_uint_eq(adopt(label), orphans[_i].adopted != NULL);
	if (orphans[_i].adopted == NULL)
		return;
	ck_assert_str_eq(label, orphans[_i].adopted);
	ck_assert_uint_eq(adopt(label), 0);
	ck_sql("2", "SELECT COUNT(*) FROM outbox_partitions");
	sql("DELETE FROM outbox_partitions; UPDATE outbox SET published_at = "
	    "NOW(6); DELETE FROM outbox_blocked_keys");
	ck_assert_uint_eq(adopt(label), 0);
}
END_TEST

static unsigned
steps(void)
{
	const char	*text = sql_text("SHOW GLOBAL STATUS LIKE "
			    "'Handler_read_next'");

	return (unsigned)atoi(strchr(text, ' '));
}

/* Many rows behind few records: a look for orphans reads none of them. */
START_TEST(orphans_are_found_without_a_scan)
{
	char		label[STORE_LABEL];
	unsigned	before, n;

	sql("INSERT INTO outbox (global_sequence, partition_key) SELECT "
	    "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 1, "
	    "CONCAT('!', IF(a.n = 7, '7x', a.n)) "
	    "FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c") ", "
	    DIGITS("d"));
	for (unsigned i = 0; i < 10; i++)
		if (i != 7)
			add_record(i, "p00", "'k'", "failed");
	before = steps();
	if (_i == 0)
		ck_assert_uint_eq(adopt(label), 1);
	else
		ck_ok(store_adopt_strays(st, &n, label, &e));
	ck_assert_uint_lt(steps() - before, 200);
}
END_TEST

/*
 * Rounds of parked.c: what it makes of the records, and of rows that wait
 */

static struct fleet	 fleet;
static struct backlog	 backlog;

static const struct bytes	K = { "k", 1 };

/* Rows first..last of the key k. */
static void
add_key(unsigned first, unsigned last, const char *label)
{
	add_rows(first, last, label);
	sql("UPDATE events SET stream_id = 'k', stream_sequence = sequence "
	    "WHERE sequence BETWEEN %u AND %u", first, last);
}

static void
look_again(void)
{
	fleet_reread(&fleet);
	ck_ok(adopt_round(&fleet, &backlog, 0, &e));
}

static void
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

static void
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

/* Rows of k in p00: the first has failed, the others wait for it. */
static void
wait_for_head(unsigned first, unsigned last, int64_t due_at)
{
	for (unsigned i = first; i <= last; i++)
		lanes_block(backlog.lanes, &(struct wait){ .part = part("p00"), .lane = K,
		    .key = K, .sequence = i, .why = BLOCK_FAILED,
		    .due_at = i == first ? due_at : INT64_MAX });
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
	add_key(5, 6, "'p00'");
	wait_for_head(5, 6, _i == 0 ? 2000 : 60000);
	go(100);
	ck_assert_str_eq(records(), _i == 0 ? "" : "5 p00 failed 5");
	ck_assert_str_eq(labels(), "5 p00, 6 p00");
	lanes_row_gone(backlog.lanes, 5);
	go(100);
	ck_assert_str_eq(records(), "");
}
END_TEST

/* Never may a later row be back before an earlier one. */
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

	add_key(1, 30, "'p00'");
	wait_for_head(1, 30, 60000);
	for (int i = 0; i < 10; i++)
		go(4);
	ck_assert_uint_le(lanes_nrows(backlog.lanes), 4);
	ck_assert_uint_ge(count_parked(), 26);
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert(bars(2));
	/* The head has been delivered. */
	sql("UPDATE outbox SET published_at = NOW(6), partition_key = 'p00' "
	    "WHERE global_sequence = 1");
	if (lanes_find(backlog.lanes, K)->head_parked)
		lanes_head_back(backlog.lanes, lanes_find(backlog.lanes, K));
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

/* A row that is locked, in the middle of a round. */
START_TEST(busy_round_is_repeated)
{
	add_key(1, 9, "'p00'");
	wait_for_head(1, 9, 60000);
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

static const struct bytes	L = { "l", 1 };

/* Rows 1 to 3 of k and 4 to 6 of l, both heads failed, and all refused of k. */
static void
refuse_key(const char *verb, const char *table, const char *row)
{
	add_key(1, 3, "'p00'");
	add_rows(4, 6, "'p00'");
	sql("UPDATE events SET stream_id = 'l', stream_sequence = sequence "
	    "WHERE sequence > 3");
	wait_for_head(1, 3, 60000);
	for (unsigned i = 4; i <= 6; i++)
		lanes_block(backlog.lanes, &(struct wait){ .part = part("p00"), .lane = L,
		    .key = L, .sequence = i, .why = BLOCK_FAILED,
		    .due_at = i == 4 ? 60000 : INT64_MAX });
	put_obstacle("23000", verb, table, row);
}

/* The same, parked; the heads are due in a minute. */
static void
park_keys(void)
{
	add_key(1, 3, "'!1'");
	add_rows(4, 6, "'!4'");
	sql("UPDATE events SET stream_id = 'l', stream_sequence = sequence "
	    "WHERE sequence > 3; UPDATE outbox SET available_at = NOW(6) + "
	    "INTERVAL 60 SECOND WHERE global_sequence IN (1, 4)");
	add_record(1, "p00", "'k'", "failed");
	add_record(4, "p00", "'l'", "failed");
}

/* Some rounds at that time: none fails. */
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

/* Its record, or its rows: it waits here, and is not tried for a while. */
START_TEST(refused_lane_is_not_parked)
{
	refuse_key(unparkable[_i].verb, unparkable[_i].table,
	    unparkable[_i].row);
	rounds_at(2, 0);
	ck_assert_str_eq(records(), unparkable[_i].records);
	ck_assert_str_eq(labels(), unparkable[_i].labels);
	ck_assert(bars(2));
	ck_assert_uint_eq(lanes_nrows(backlog.lanes), 3);
	ck_assert(!backlog.parked.moved);
	rounds_at(2, 31000);
	ck_assert_uint_eq(times_logged("cannot be moved"), 1);
	ck_has(logged(), "key k: its rows");
	sql("DROP TRIGGER obstacle");
	rounds_at(2, 32000);
	ck_assert_str_eq(labels(), unparkable[_i].labels);
}
END_TEST

/* In no hurry: one or two may stay where they are. */
START_TEST(refused_lane_is_parked_later)
{
	refuse_key(unparkable[_i].verb, unparkable[_i].table,
	    unparkable[_i].row);
	rounds_at(2, 0);
	sql("DROP TRIGGER obstacle");
	rounds_at(2, 29000);
	ck_assert_str_eq(labels(), unparkable[_i].labels);
	rounds_at(2, 31000);
	ck_assert_str_eq(records(), "1 p00 failed 1, 4 p00 failed 4");
	ck_assert_str_eq(labels(), "1 !1, 2 p00, 3 !1, 4 !4, 5 !4, 6 !4");
}
END_TEST

/* A head that failed and parks no rows: its record is tried again. */
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

/* A head, and then the rows behind it: the other lane comes back. */
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
	ck_assert_int_eq(lanes_find(backlog.lanes, K)->due_at, 91000);
	ck_assert(bars(2));
	sql("DROP TRIGGER obstacle");
	rounds_at(4, 90000);
	ck_assert_str_eq(labels(), "1 !1, 2 !1, 3 !1, 4 p00, 5 !4, 6 !4");
	rounds_at(4, 91000);
	ck_assert_str_eq(labels(), "1 p00, 2 !1, 3 !1, 4 p00, 5 !4, 6 !4");
	/* They are delivered. */
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (1, 4)");
	put_obstacle("23000", "UPDATE", "outbox", to_p00);
	lanes_row_gone(backlog.lanes, 1);
	lanes_row_gone(backlog.lanes, 4);
	rounds_at(4, 92000);
	ck_assert_str_eq(labels(), "2 !1, 3 !1, 5 p00, 6 p00");
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert(bars(2));
	sql("DROP TRIGGER obstacle");
	rounds_at(4, 121000);
	ck_assert_str_eq(labels(), "2 !1, 3 !1, 5 p00, 6 p00");
	rounds_at(4, 122000);
	ck_assert_str_eq(labels(), "2 p00, 3 p00, 5 p00, 6 p00");
	ck_assert_str_eq(records(), "");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

/* It does no harm: nothing is parked under it any more. */
START_TEST(refused_record_stays)
{
	park_keys();
	rounds_at(4, 0);
	rounds_at(4, 61000);
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (1, 4)");
	put_obstacle("23000", "DELETE", "outbox_blocked_keys",
	    "OLD.first_sequence = 1");
	lanes_row_gone(backlog.lanes, 1);
	lanes_row_gone(backlog.lanes, 4);
	rounds_at(4, 62000);
	ck_assert_str_eq(labels(), "2 p00, 3 p00, 5 p00, 6 p00");
	ck_assert_str_eq(records(), "1 p00 failed 1");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
}
END_TEST

/* Somebody has rung, and we have not looked yet. */
START_TEST(rung_round_changes_nothing)
{
	add_key(1, 9, "'p00'");
	wait_for_head(1, 9, 60000);
	if (_i == 1) {
		add_record(1, "p00", "'k'", "failed");
		lanes_find(backlog.lanes, K)->record = 1;
		lanes_find(backlog.lanes, K)->home = part("p00");
	}
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	go(2);
	ck_assert_uint_eq(count_parked(), 0);
	ck_assert_str_eq(records(), _i == 0 ? "" : "1 p00 failed 1");
	look_again();
	ck_assert_uint_eq(lanes_count(backlog.lanes), 0);
	ck_assert(part("p00")->fresh);
	go(2);
	ck_assert(!part("p00")->fresh);
	ck_assert_uint_eq(lanes_count(backlog.lanes), (unsigned)_i);
}
END_TEST

START_TEST(heads_come_back_when_due)
{
	add_key(1, 9, "'p00'");
	wait_for_head(1, 9, 60000);
	for (int i = 0; i < 5; i++)
		go(1);
	ck_assert_uint_eq(count_parked(), 8);
	ck_ok(parked_round(&backlog.parked, 1, 59999, &e));
	ck_assert_uint_eq(count_parked(), 8);
	ck_assert(lanes_find(backlog.lanes, K)->head_parked);
	ck_ok(parked_round(&backlog.parked, 1, 60000, &e));
	ck_sql("1", "SELECT MIN(global_sequence) global_sequence FROM outbox "
	    "WHERE partition_key = 'p00'");
	ck_assert(!lanes_find(backlog.lanes, K)->head_parked);
	ck_assert(!bars(1));
	ck_assert(bars(2));
}
END_TEST

/* The next owner reads what the last one wrote. */
START_TEST(records_are_read)
{
	add_key(1, 9, "'p00'");
	add_record(1, "p00", "'k'", _i == 2 ? "halted" : "failed");
	sql("UPDATE outbox SET partition_key = '!1' "
	    "WHERE global_sequence > 3");
	if (_i == 0)
		sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR "
		    "WHERE global_sequence = 1");
	else
		sql("UPDATE outbox SET published_at = NOW(6) "
		    "WHERE global_sequence = 1");
	go(100);
	ck_assert(!part("p00")->fresh);
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
 * A row of a lower id came late, failed and was parked in front of the head
 * that the record names: nothing may wait for that head alone.
 */
START_TEST(head_behind_parked_rows_is_none)
{
	add_key(8, 12, "'!10'");
	add_record(10, "p00", "'k'", "failed");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE global_sequence = 8");
	if (_i == 1)
		sql("UPDATE outbox SET partition_key = 'p00' "
		    "WHERE global_sequence = 10");
	for (int i = 0; i < 3; i++)
		go(100);
	ck_assert_str_eq(labels(),
	    "8 p00, 9 p00, 10 p00, 11 p00, 12 p00");
	ck_assert_str_eq(records(), "");
}
END_TEST

/* Two records of one key: one of them goes, a batch a round. */
START_TEST(records_of_one_lane_are_merged)
{
	unsigned	rounds = 0, before = 9;

	conf->worker.batch_size = 2;
	add_key(1, 9, "'!1'");
	add_key(10, 15, "'!10'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", _i == 0 ? "failed" : "halted");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR, "
	    "partition_key = 'p00' WHERE global_sequence = 1");
	for (; part("p00")->fresh; rounds++) {
		before = count_parked();
		go(2);
		ck_assert_uint_le(before - count_parked(), 2);
		ck_assert_uint_lt(rounds, 20);
		ck_assert(!part("p00")->fresh || lanes_count(backlog.lanes) == 0);
	}
	ck_assert_uint_ge(rounds, 3);
	ck_assert_str_eq(records(), _i == 0 ? "1 p00 failed 1" :
	    "1 p00 failed 1, 10 p00 halted 10");
	ck_assert_uint_eq(lanes_count(backlog.lanes), 1);
	ck_assert(bars(2));
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!10'");
	ck_sql("8", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!1'");
	ck_assert_uint_eq(lanes_find(backlog.lanes, K)->halted,
	    _i == 0 ? LANE_NONE : 10);
}
END_TEST

/* Leases do not wait for tens of thousands of records. */
START_TEST(many_records_take_rounds)
{
	unsigned	rounds = 0, fresh = 1;

	sql("DELETE FROM outbox_partitions");
	for (unsigned i = 0; i < 40; i++) {
		char	label[8];

		snprintf(label, sizeof(label), "p%02u", i);
		add_lease(label, ME, 1);
	}
	look_again();
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) SELECT a.n + 10 * b.n + 100 * "
	    "c.n + 1000 * d.n + 10000 * x.n + 1, CONCAT('p', LPAD(a.n, 2, "
	    "'0')), a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * x.n, "
	    "'halted', 1 FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c")
	    ", " DIGITS("d") ", (SELECT 0 AS n UNION SELECT 1) AS x");
	for (; fresh > 0; rounds++) {
		ck_assert_uint_lt(rounds, 10);
		go(100);
		fresh = 0;
		for (size_t i = 0; i < fleet.parts.n; i++)
			fresh += backlog.parts.items[i]->fresh;
		ck_assert(rounds > 0 || fresh > 0);
	}
	ck_assert_uint_eq(lanes_count(backlog.lanes), 20000);
}
END_TEST

START_TEST(lost_merge_ends)
{
	conf->worker.batch_size = 2;
	add_key(1, 9, "'!1'");
	add_key(10, 15, "'!10'");
	add_record(1, "p00", "'k'", "failed");
	add_record(10, "p00", "'k'", "failed");
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	go(2);
	ck_assert_uint_eq(count_parked(), 15);
	ck_assert(part("p00")->fresh);
}
END_TEST

/* Rows of a key may be in two partitions, and halt in the other one. */
START_TEST(halt_goes_with_its_partition)
{
	struct blocked_lane	*l;

	add_lease("p01", ME, 1);
	look_again();
	add_key(3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR");
	if (_i == 0)
		add_record(3, "p00", "'k'", "failed");
	else
		wait_for_head(3, 3, 60000);
	add_record(4, "p01", "'k'", "halted");
	go(100);
	l = lanes_find(backlog.lanes, K);
	ck_assert_ptr_nonnull(l);
	ck_assert_uint_eq(l->halted, 4);
	ck_assert_uint_eq(l->head, 3);
	/* The head is another's now: the halt is still ours, with a name. */
	sql("UPDATE outbox_partitions SET lease_owner = '" OTHER "' "
	    "WHERE partition_key = 'p00'");
	look_again();
	l = lanes_find(backlog.lanes, K);
	ck_assert_ptr_nonnull(l);
	ck_assert(bars(5));
	ck_assert(!bars(4));
	for (unsigned i = 5; i < 9; i++)
		lanes_block(backlog.lanes, &(struct wait){ .part = part("p01"), .lane = K,
		    .key = K, .sequence = i, .due_at = INT64_MAX });
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

/* The release rings where the halt is, not where the key was met first. */
START_TEST(released_key_goes_on)
{
	add_lease("p01", ME, 1);
	look_again();
	add_key(3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR");
	add_record(3, "p00", "'k'", "failed");
	add_record(4, "p01", "'k'", "halted");
	go(100);
	ck_assert_uint_eq(lanes_find(backlog.lanes, K)->halted, 4);
	sql("UPDATE outbox_blocked_keys SET reason = 'released' "
	    "WHERE first_sequence = 4; UPDATE outbox_partitions SET "
	    "lease_epoch = lease_epoch + 1 WHERE partition_key = 'p01'");
	look_again();
	go(100);
	ck_assert_uint_eq(lanes_find(backlog.lanes, K)->halted, LANE_NONE);
	ck_assert(bars(5));
	lanes_row_gone(backlog.lanes, 3);
	go(100);
	ck_assert(!bars(5));
	ck_assert_str_eq(records(), "");
}
END_TEST

/*
 * Two workers that stumble: everything at random, and one rule
 *
 * When a message is sent, no earlier one of its key waits that was not
 * acknowledged, and its key is not halted in front of it.  In the end nothing
 * is left.  Each step is one round of one worker, so that what it knows may
 * be as old as it likes.
 */

#define NKEYS		6
#define NSEEDS		16
#define NSHARED		32	/* with labels of several counts */
#define NSTEPS		400
#define MAX_SEQUENCE	4000

static struct node {
	char		 id[IDENT_SIZE];
	struct store	*store;
	struct fleet	 fleet;
	struct relay	 relay;
	struct tick	 tick;
	size_t		 nslots, answered;
	uint32_t	 slots[64];
} nodes[2];

static struct {
	bool		acked[MAX_SEQUENCE];
	bool		stored[MAX_SEQUENCE];	/* as the stream would have it */
	unsigned	sends[MAX_SEQUENCE];
	struct late {
		uint64_t	sequence;
		unsigned	key;
	}		late[MAX_SEQUENCE];	/* events whose rows are not committed */
	size_t		nlate;
	unsigned	next_id, failures;	/* percent */
	bool		turns;		/* several batches a tick, sometimes */
	bool		rings;		/* looks at some partitions, sometimes */
	bool		calm;		/* little fails, and rings tell all */
	bool		losses;		/* of commits that are not waited for */
	unsigned	pipelined;	/* statements that end with one */
	unsigned	loses;		/* which of them is lost; 0: none */
	unsigned	results;	/* of the last one, but for the first */
	bool		held;		/* its commit is held up, to be lost */
	unsigned	scans;			/* statements */
	int		breaks_at;	/* so many statements from now; or 0 */
	const char	*before, *meanwhile;	/* a statement; what happens */

	/* Producers use several partition counts. */
	struct store	*changer;	/* who declares them; NULL: no */
	const unsigned	*wishes;	/* four of them */
	struct counts	 counts;	/* declared */
	bool		 straggle;	/* former ones are used as well */
	void		(*event)(void);	/* what happens next */
	const char	*event_at;	/* before such a statement */
	bool		 inside;	/* it happens */
} story;

static int64_t	skew_ms;	/* how much later it is */

/* Instead of the library's. */
int64_t
clock_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 +
	    skew_ms * 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

static void
hang_up(MYSQL *mysql)
{
#ifdef LIBMARIADB
	shutdown((int)mysql_get_socket(mysql), SHUT_RDWR);
#else
	shutdown((int)mysql->net.fd, SHUT_RDWR);
#endif
}

static unsigned
dice(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Its commit is held up until somebody waits for it, and then it is gone. */
static void
hold_commit(void)
{
	story.held = true;
	sql("BACKUP STAGE START; BACKUP STAGE FLUSH; "
	    "BACKUP STAGE BLOCK_DDL; BACKUP STAGE BLOCK_COMMIT");
}

static void
lose_commit(MYSQL *mysql)
{
	story.held = false;
	kill_thread(mysql_thread_id(mysql));
	sql("BACKUP STAGE END");
}

/* The library's; the second further result is that of the COMMIT. */
int STDCALL
mysql_next_result(MYSQL *mysql)
{
	static int	(*real)(MYSQL *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "mysql_next_result");
	if (strcmp(mysql->user, "outbox") == 0 && !story.inside &&
	    ++story.results == 2 && story.held)
		lose_commit(mysql);
	return real(mysql);
}

static void
happen(void)
{
	story.inside = true;
	story.event();
	story.event = NULL;
	story.inside = false;
}

/* The library's, but a connection breaks before or after a statement. */
int STDCALL
mysql_send_query(MYSQL *mysql, const char *text, unsigned long len)
{
	static int	(*real)(MYSQL *, const char *, unsigned long);
	int		  rc;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "mysql_send_query");
	if (story.inside)
		return real(mysql, text, len);
	if (story.event != NULL && strstr(text, story.event_at) != NULL)
		happen();
	story.scans += strstr(text, "ORDER BY global_sequence LIMIT") != NULL ||
	    strstr(text, "SELECT FIELD(") != NULL;
	if (story.before != NULL && strstr(text, story.before) != NULL) {
		story.before = NULL;
		sql("%s", story.meanwhile);
	}
	if (strcmp(mysql->user, "outbox") == 0)
		story.results = 0;
	if (strstr(text, "; COMMIT") != NULL) {
		if (++story.pipelined == story.loses || (story.losses &&
		    story.breaks_at != 1 && dice(4) == 0))
			hold_commit();
	}
	if (story.breaks_at == 0 || strcmp(mysql->user, "outbox") != 0 ||
	    --story.breaks_at > 0)
		return real(mysql, text, len);
	if (rand() % 2 == 0 && (rc = real(mysql, text, len)) == 0) {
		if (mysql_read_query_result(mysql) != 0)
			return 1;
		mysql_free_result(mysql_store_result(mysql));
		hang_up(mysql);
		return rc;
	}
	hang_up(mysql);
	return real(mysql, text, len);
}

static bool
node_is_open(void *arg)
{
	(void)arg;
	return true;
}

static int64_t
node_max_payload(void *arg)
{
	(void)arg;
	return 1024 * 1024;
}

static int64_t
node_unread(void *arg)
{
	(void)arg;
	return 0;
}

static void
node_begin(void *arg, int64_t until)
{
	struct node	*n = arg;

	(void)until;
	n->nslots = n->answered = 0;
}

static void
ck_may_be_sent(const struct msg *m)
{
	char	*list = xstrdup(sql_text("SELECT COALESCE(GROUP_CONCAT("
		    "global_sequence), '') FROM outbox JOIN events ON sequence"
		    " = global_sequence WHERE stream_id = '%.*s' AND "
		    "published_at IS NULL AND global_sequence < %llu",
		    (int)m->key.len, m->key.data,
		    (unsigned long long)m->sequence)), *at = list, *one;

	while ((one = strsep(&at, ",")) != NULL && one[0] != '\0')
		ck_assert_msg(story.acked[strtoull(one, NULL, 10)],
		    "%llu of %.*s goes before %s, which waits",
		    (unsigned long long)m->sequence, (int)m->key.len,
		    m->key.data, one);
	free(list);
	ck_sql("0", "SELECT COUNT(*) FROM outbox_blocked_keys WHERE order_key "
	    "= '%.*s' AND reason = 'halted' AND head_sequence < %llu",
	    (int)m->key.len, m->key.data, (unsigned long long)m->sequence);
}

/* No more is held than there is room for, and one that is too large. */
static void
ck_fits(const struct batch *b)
{
	size_t	held = 0, large = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		held += m->away ? 0 : msg_size(m);
		if (!m->away && msg_size(m) > large)
			large = msg_size(m);
	}
	ck_assert_uint_le(held - large, (size_t)conf->worker.batch_bytes);
}

static enum pub_sent
node_send(void *arg, const struct envelope *v, uint32_t slot, struct err *err)
{
	struct node	*n = arg;

	(void)err;
	ck_may_be_sent(&n->tick.batch.msgs[slot]);
	story.sends[n->tick.batch.msgs[slot].sequence]++;
	/* A stream that has forgotten the id is to be asked. */
	ck_assert(!story.stored[n->tick.batch.msgs[slot].sequence] ||
	    n->tick.batch.msgs[slot].in_doubt_ms >= 0);
	ck_fits(&n->tick.batch);
	ck_assert_ptr_nonnull(v->payload.data);
	ck_sql("1", "SELECT LENGTH(event_data) = "
	    "%zu FROM events WHERE sequence = %llu", v->payload.len,
	    (unsigned long long)n->tick.batch.msgs[slot].sequence);
	n->slots[n->nslots++] = slot;
	return PUB_SENT;
}

static void
node_wait(void *arg, int64_t timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
}

static bool
node_answer(void *arg, struct pub_answer *a)
{
	struct node	*n = arg;

	if (n->answered == n->nslots)
		return false;
	*a = (struct pub_answer){ .index = n->slots[n->answered++],
	    .verdict = dice(100) >= story.failures ? VERDICT_STORED :
	    dice(4) == 0 ? VERDICT_MESSAGE : VERDICT_TRANSIENT };
	if (a->verdict == VERDICT_STORED)
		story.stored[n->tick.batch.msgs[a->index].sequence] = true;
	/* What can never be sent does not hold its key up, unless it halts. */
	if (a->verdict == VERDICT_STORED || (a->verdict == VERDICT_MESSAGE &&
	    conf->retry.on_dead == DEAD_CONTINUE))
		story.acked[n->tick.batch.msgs[a->index].sequence] = true;
	return true;
}

/* It never forgets one, so nothing is looked for. */
static bool
node_state(void *arg, struct stream_state *state, struct err *err)
{
	(void)arg;
	(void)err;
	*state = (struct stream_state){ .dedup_window_ms = INT64_MAX / 2 };
	return true;
}

static bool
node_complaint(void *arg, enum pub_about about, struct err *err)
{
	(void)arg;
	(void)about;
	(void)err;
	return false;
}

static enum keep
node_keep(void *arg)
{
	(void)arg;
	return KEEP_ON;
}

static void
node_start(struct node *n)
{
	static const struct pub_ops	ops = {
		.is_open = node_is_open, .max_payload = node_max_payload,
		.unread = node_unread, .begin = node_begin,
		.send = node_send, .wait = node_wait, .answer = node_answer,
		.complaint = node_complaint, .state = node_state,
	};

	memset(n, 0, sizeof(*n));
	snprintf(n->id, sizeof(n->id), "here:00:%016x", ++story.next_id);
	n->store = store_of(conf, n->id);
	fleet_init(&n->fleet, conf, n->store);
	n->fleet.purge_at = INT64_MAX;		/* which would find the lost */
	n->relay = (struct relay){ .conf = conf, .pub = { &ops, n },
	    .form = { conf->nats.subject, "x", "" }, .has_dead = true,
	    .keep = node_keep };
	tick_init(&n->tick, conf, n->store, &n->fleet, &n->relay);
	ck_ok(store_register(n->store, &e));
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
}

static void
node_stop(struct node *n)
{
	tick_free(&n->tick);
	fleet_free(&n->fleet);
	store_free(n->store);
	envelope_free(&n->relay.envelope);
	type_breaker_free(&n->relay.breaker);
}

static void
node_dies(struct node *n)
{
	char	dead[IDENT_SIZE];

	memcpy(dead, n->id, sizeof(dead));
	node_stop(n);
	node_start(n);
	ck_ok(store_take_over(n->store, dead, &e));
	store_void_claims_of(n->store, ident_nonce(dead));
	fleet_restart(&n->fleet);
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
}

static void
node_connects(struct node *n)
{
	ck_ok(store_open(n->store, &e));
	ck_ok(store_learn(n->store, &e));
	ck_ok(store_register(n->store, &e));
	ck_ok(store_bump_own_epochs(n->store, &e));
	fleet_restart(&n->fleet);
}

/* Somebody has rung, for anything, and who looks does so there or anywhere. */
static void
hear(struct node *n)
{
	n->tick.backlog.candidates.narrow = story.rings && (story.calm || dice(2) == 0);
	for (size_t i = 0; story.rings && i < n->tick.backlog.parts.n; i++)
		n->tick.backlog.parts.items[i]->woken = story.calm || dice(2) == 0;
}

/* A round as the worker does it; it looks at the leases when it should. */
static int
round_of(struct node *n)
{
	struct tick_result	res;

	if (tick_is_open(&n->tick) && tick_settle(&n->tick, &res, &e) < 0)
		return -1;
	if (adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e) < 0)
		return -1;
	hear(n);
	/* A batch by itself, or one turn after the other. */
	return tick_run(&n->tick, (size_t)conf->worker.batch_size,
	    story.turns && dice(2) == 0 ? clock_ms() + 50 : 0, &res, &e);
}

static void
node_works(struct node *n)
{
	if (!store_is_open(n->store))
		node_connects(n);
	if (story.failures > 0 && dice(6) == 0)
		story.breaks_at = 1 + (int)dice(30);
	if (round_of(n) < 0)
		ck_assert_msg(!store_is_open(n->store) ||
		    store_fault(n->store) == DB_BUSY, "%s", e.text);
	story.breaks_at = 0;
	if (!store_is_open(n->store) && dice(3) == 0)
		node_dies(n);
}

/* Who keeps the order of a key commits its rows one after the other. */
static bool
is_late(unsigned key)
{
	for (size_t i = 0; i < story.nlate; i++)
		if (story.late[i].key == key)
			return true;
	return false;
}

/* What a producer gives a row of this key, quoted. */
static const char *
label_of_key(unsigned key)
{
	static char	 text[16];
	char		 name[8];
	unsigned	 count, n;

	if (story.changer == NULL && key > 3)
		return "NULL";
	if (story.changer == NULL) {
		snprintf(text, sizeof(text), "'p0%u'", key % 2);
		return text;
	}
	n = story.straggle ? dice((unsigned)story.counts.nformer + 1) : 0;
	count = n == 0 ? story.counts.count : story.counts.former[n - 1];
	if (count == 1 && dice(2) == 0)
		return dice(2) == 0 ? "NULL" : "''";
	snprintf(name, sizeof(name), "k%u", key);
	snprintf(text, sizeof(text), "'p%02u'", libdeflate_crc32(0, name,
	    strlen(name)) % count);
	return text;
}

static void
produce(unsigned key)
{
	for (unsigned i = 0; i < 1 + dice(6); i++) {
		uint64_t sequence;

		sql("INSERT INTO events (stream_id, stream_sequence, "
		    "event_type, event_data) SELECT 'k%u', COUNT(*), 't', "
		    "REPEAT('x', %u) FROM events", key, dice(3) == 0 ?
		    dice(2000) : dice(40));
		sequence = strtoull(sql_text("SELECT LAST_INSERT_ID()"), NULL,
		    10);
		ck_assert_uint_lt(sequence, MAX_SEQUENCE);
		if (dice(5) == 0 || is_late(key))
			story.late[story.nlate++] = (struct late){ sequence,
			    key };
		else
			sql("INSERT INTO outbox (global_sequence, partition_key)"
			    " VALUES (%llu, %s)", (unsigned long long)sequence,
			    label_of_key(key));
	}
}

static void
commit_late(void)
{
	uint64_t	sequence;
	size_t		i = 0;
	unsigned	key;

	if (story.nlate == 0)
		return;
	key = story.late[dice((unsigned)story.nlate)].key;
	while (story.late[i].key != key)
		i++;
	sequence = story.late[i].sequence;
	memmove(&story.late[i], &story.late[i + 1],
	    (--story.nlate - i) * sizeof(story.late[0]));
	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(%llu, %s)", (unsigned long long)sequence, label_of_key(key));
}

static void
time_passes(int64_t ms)
{
	skew_ms += ms;
	sql("UPDATE outbox SET available_at = available_at - INTERVAL %lld "
	    "MICROSECOND WHERE published_at IS NULL", (long long)ms * 1000);
}

/* Who dies of a later attempt is not known to be stored any more. */
static void
forget_dead(void)
{
	char	*list = xstrdup(sql_text("SELECT COALESCE(GROUP_CONCAT("
		    "global_sequence), '') FROM outbox_dead_letters")),
		*at = list, *one;

	while ((one = strsep(&at, ",")) != NULL && one[0] != '\0') {
		story.stored[strtoull(one, NULL, 10)] = false;
		story.acked[strtoull(one, NULL, 10)] = false;
	}
	free(list);
}

/* Where a row that comes back waits: under the present count. */
static const char *
label_now(const char *key)
{
	static char	text[256];

	snprintf(text, sizeof(text), "CONCAT('p', LPAD(CRC32(CAST(%s AS CHAR)) "
	    "MOD %u, 2, '0'))", key, story.counts.count);
	return text;
}

/* Only those of what comes back, as who does it would. */
static void
raise_epochs(bool retry)
{
	if (story.changer == NULL) {
		sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + "
		    "1");
		return;
	}
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1 "
	    "WHERE partition_key IN (SELECT partition_key FROM "
	    "outbox_blocked_keys WHERE reason = 'halted')");
	if (retry)
		sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + "
		    "1 WHERE partition_key IN (SELECT %s FROM "
		    "outbox_dead_letters)", label_now("order_key"));
}

/* The release of schema.sql; the dead one may come back. */
static void
release_all(bool retry)
{
	if (retry)
		forget_dead();
	sql("START TRANSACTION");
	raise_epochs(retry);
	if (retry)
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "SELECT global_sequence, %s FROM outbox_dead_letters; "
		    "DELETE FROM outbox_dead_letters", story.changer == NULL ?
		    "partition_key" : label_now("order_key"));
	sql("UPDATE outbox_blocked_keys SET reason = 'released' WHERE reason = "
	    "'halted'; COMMIT");
}

static void
release_some(void)
{
	release_all(true);
}

/* A delivered row, in front of others of its key, is to be sent again. */
static void
replay(void)
{
	uint64_t	sequence = strtoull(sql_text("SELECT COALESCE(("
			    "SELECT x.global_sequence FROM outbox AS x JOIN "
			    "events AS a ON a.sequence = x.global_sequence "
			    "WHERE x.published_at IS NOT NULL AND EXISTS "
			    "(SELECT 1 FROM outbox AS y JOIN events AS b ON "
			    "b.sequence = y.global_sequence WHERE b.stream_id "
			    "= a.stream_id AND b.sequence > a.sequence AND "
			    "y.published_at IS NULL) ORDER BY RAND() LIMIT 1), "
			    "0)"), NULL, 10);

	story.acked[sequence] = story.stored[sequence] = false;
	sql("START TRANSACTION; UPDATE outbox JOIN events ON sequence = "
	    "global_sequence SET published_at = NULL, partition_key = %s, "
	    "attempts = 0, available_at = NOW(6), replay_no = replay_no + 1 "
	    "WHERE sequence = %llu; UPDATE outbox_partitions SET lease_epoch = "
	    "lease_epoch + 1 WHERE partition_key = (SELECT partition_key FROM "
	    "outbox WHERE global_sequence = %llu); COMMIT",
	    label_now("stream_id"), (unsigned long long)sequence,
	    (unsigned long long)sequence);
}

static void
move_lease(void)
{
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1, "
	    "lease_owner = '%s', lease_until = NOW(6) + INTERVAL 1 HOUR "
	    "ORDER BY RAND() LIMIT 1", nodes[dice(2)].id);
}

static void
change_to(unsigned wish)
{
	struct repartition	r;

	ck_ok(store_repartition(story.changer, wish, &r, &e));
	ck_assert_msg(!r.refused, "%s", r.why.text);
	if (r.changed)
		story.counts = r.counts;
}

static void
repartition(void)
{
	change_to(story.wishes[dice(4)]);
}

/* Does anything wait under a label that its key has not now? */
static bool
is_former_used(void)
{
	return strcmp(sql_text("SELECT COUNT(*) FROM (SELECT partition_key, "
	    "stream_id FROM outbox JOIN events ON sequence = global_sequence "
	    "WHERE published_at IS NULL UNION ALL SELECT partition_key, "
	    "order_key FROM outbox_blocked_keys) AS t WHERE NOT (partition_key "
	    "<=> %s)", label_now("stream_id")), "0") != 0;
}

/* The operator's word: no producer uses a former count any more. */
static void
end_former(void)
{
	struct counts	c = { .count = story.counts.count, .changed = true };

	if (story.counts.nformer == 0 || is_former_used())
		return;
	if (store_begin(story.changer, &e) < 0 || store_end(story.changer,
	    store_write_counts(story.changer, &c, &e), &e) < 0) {
		ck_assert_int_eq(store_fault(story.changer), DB_BUSY);
		return;
	}
	story.counts = c;
}

/* Rows under labels that nobody has heard of yet. */
static void
change_and_produce(void)
{
	unsigned	key = dice(NKEYS);

	repartition();
	story.straggle = true;
	produce(key);
	produce(key);
}

static void
stop_straggling(void)
{
	story.straggle = false;
}

/* What may come between a look and a claim, among others. */
static void
disturb(void)
{
	static void		(*const events[])(void) = {
		repartition, change_and_produce, stop_straggling, end_former,
		end_former, release_some, replay, replay, replay, move_lease,
		commit_late,
	};
	static const char *const	before[] = {
		"LOCK IN SHARE MODE) = ",		/* claim */
		"SET lease_owner = ",			/* take and give up */
		"heartbeat_until > NOW(6)) UNION",	/* view */
		"LIMIT",				/* scan */
	};

	story.event = events[dice(NROWS(events))];
	story.event_at = before[dice(2) == 0 ? 0 : dice(NROWS(before))];
}

static void
stumble(void)
{
	struct node	*n = &nodes[dice(2)];

	switch (dice(20)) {
	case 0: case 1:
		produce(dice(NKEYS));
		return;
	case 2:
		commit_late();
		return;
	case 3: case 9:
		time_passes(dice(2) == 0 ? 6000 : 1500);
		return;
	case 4:
		sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL %u "
		    "SECOND WHERE published_at IS NULL AND claim_token IS NULL "
		    "ORDER BY RAND() LIMIT 2", 5 + dice(20));
		return;
	case 5:		/* a lease moves, and its owner does not know */
		if (dice(3) == 0)
			move_lease();
		return;
	case 6:
		if (dice(3) == 0)
			node_dies(n);
		return;
	case 7:
		if (dice(3) == 0)
			release_all(dice(2) == 0);
		return;
	case 8:
		fleet_reread(&n->fleet);
		/* FALLTHROUGH */
	default:
		if (story.changer != NULL && dice(4) == 0)
			disturb();
		node_works(n);
		if (story.event != NULL)
			happen();
	}
}

static bool
is_all_done(void)
{
	return strcmp(sql_text("SELECT (SELECT COUNT(*) FROM outbox WHERE "
	    "published_at IS NULL) + (SELECT COUNT(*) FROM "
	    "outbox_blocked_keys)"), "0") == 0;
}

static void
random_begin(void)
{
	begin();
	be_durable();	/* so that messages go early */
	conf->worker.batch_size = 4;
	conf->worker.batch_bytes = 1000;
	conf->worker.lease_ttl = conf->worker.heartbeat_ttl = 3600000;
	conf->worker.lease_renew = 2000;
	conf->retry.backoff = 5000;
	conf->retry.max_backoff = 20000;
	conf->retry.max_attempts = 3;
	conf->nats.recover = RECOVER_OFF;	/* there is no stream to ask */
	skew_ms = 0;
	sql("ALTER TABLE events AUTO_INCREMENT = 1; "
	    "INSERT INTO outbox_partitions (partition_key) "
	    "VALUES (''), ('p00'), ('p01')");
}

/*
 * Somebody else's claim dies, and halts the key, between our claim of the
 * next one and the question why we did not get the first.
 */
START_TEST(death_meanwhile_halts)
{
	struct node	*n = &nodes[0];

	memset(&story, 0, sizeof(story));
	conf->retry.on_dead = DEAD_HALT;
	conf->worker.batch_size = 100;
	node_start(n);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'k0', 1, 't', 'x'), "
	    "(2, 'k0', 2, 't', 'x'), (3, 'k2', 1, 't', 'x'); "
	    "INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (1, 'p00'), (2, 'p00'), (3, 'p00'); "
	    "UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	    "INTERVAL 30 SECOND WHERE global_sequence = 1");
	story.before = "o.published_at IS NULL, GREATEST";
	story.meanwhile = "START TRANSACTION; DELETE FROM outbox WHERE "
	    "global_sequence = 1; INSERT INTO outbox_blocked_keys "
	    "(first_sequence, partition_key, order_key, reason, head_sequence) "
	    "VALUES (1, 'p00', 'k0', 'halted', 1); UPDATE outbox_partitions SET "
	    "lease_epoch = lease_epoch + 1 WHERE partition_key = 'p00'; COMMIT";
	node_works(n);
	ck_assert_ptr_null(story.before);
	for (int i = 0; i < 5; i++)
		node_works(n);
	ck_assert_str_eq(labels(), "2 p00");
	ck_assert(story.acked[3]);
	node_stop(n);
}
END_TEST

/*
 * With one row a batch, a head that is due does not keep an earlier row from
 * being claimed, and neither is claimed then.
 */
START_TEST(smallest_batch_makes_progress)
{
	struct node	*n = &nodes[0];

	memset(&story, 0, sizeof(story));
	conf->worker.batch_size = 1;
	node_start(n);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'k0', 1, 't', 'x'), "
	    "(2, 'k2', 1, 't', 'x'); INSERT INTO outbox (global_sequence, "
	    "partition_key, available_at) VALUES (2, 'p00', NOW(6) + INTERVAL "
	    "1 SECOND)");
	node_works(n);
	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (1, 'p00')");
	time_passes(1500);
	for (int i = 0; i < 4; i++)
		node_works(n);
	ck_assert(story.acked[1]);
	ck_assert(story.acked[2]);
	node_stop(n);
}
END_TEST

/* One key: a head that is due in so many seconds, and rows behind it. */
static void
produce_behind(int due_s, unsigned rows)
{
	for (unsigned i = 1; i <= rows; i++)
		sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
		    "event_type, event_data) VALUES (%u, 'k0', %u, 't', 'x'); "
		    "INSERT INTO outbox (global_sequence, partition_key, "
		    "available_at) VALUES (%u, 'p00', NOW(6) + INTERVAL %d "
		    "SECOND)", i, i, i, i == 1 ? due_s : 0);
}

/* Who made others wait is not tried again at once. */
START_TEST(heads_that_stall_are_tried_rarely)
{
	struct node	*n = &nodes[0];

	memset(&story, 0, sizeof(story));
	node_start(n);
	produce_behind(1, 1);
	node_works(n);
	n->tick.backlog.candidates.heads_at = clock_ms() + 60000;
	time_passes(1500);
	node_works(n);
	ck_assert(!story.acked[1]);
	ck_assert_int_ge(candidates_next_due(&n->tick.backlog.candidates), n->tick.backlog.candidates.heads_at);
	n->tick.backlog.candidates.heads_at = 0;
	node_works(n);
	ck_assert(story.acked[1]);
	node_stop(n);
}
END_TEST

/*
 * What is delivered is written back with the next claim, the last batch by
 * itself; nothing is picked twice.
 */
START_TEST(small_batches_take_turns)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	node_start(n);
	add_rows(1, 25, "'p00'");
	log_statements();
	ck_ok(tick_run(&n->tick, 10, clock_ms() + 60000, &res, &e));
	ck_assert_uint_eq(res.claimed, 25);
	ck_assert_uint_eq(res.settled.delivered, 25);
	ck_assert_uint_eq(res.relay.delivered, 25);
	ck_assert(!res.left && !tick_is_open(&n->tick));
	ck_sql("25", "SELECT COUNT(published_at) FROM outbox");
	ck_sql("2 1", "SELECT SUM(argument LIKE '%%published_at = IF(%%'), "
	    "SUM(argument LIKE '%%published_at = NOW%%') " STATEMENTS);
	sql("SET GLOBAL general_log = 0");
	node_stop(n);
}
END_TEST

/* Nobody has the time: one batch, and it is written back. */
START_TEST(tick_ends_in_time)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	node_start(n);
	add_rows(1, 25, "'p00'");
	ck_ok(tick_run(&n->tick, 10, clock_ms(), &res, &e));
	ck_assert_uint_eq(res.settled.delivered, 10);
	ck_assert(res.left);
	ck_sql("10", "SELECT COUNT(published_at) FROM outbox");
	node_stop(n);
}
END_TEST

static bool
rings_once(void *arg)
{
	if ((*(unsigned *)arg)++ > 0)
		return false;
	add_rows(6, 8, "'p00'");
	return true;
}

/* Who would be rung for more does not look for it, unless it knows of some. */
START_TEST(silence_ends_the_turns)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;
	unsigned		 asked = 0;

	memset(&story, 0, sizeof(story));
	node_start(n);
	n->tick.wait_wakeup = rings_once;
	n->tick.wait_wakeup_arg = &asked;
	add_rows(1, 5, "'p00'");
	ck_ok(tick_run(&n->tick, 10, clock_ms() + 60000, &res, &e));
	ck_assert_uint_eq(res.claimed, 8);
	ck_assert_uint_eq(res.settled.delivered, 8);
	ck_assert_uint_eq(asked, 2);
	add_rows(9, 30, "'p00'");
	ck_ok(tick_run(&n->tick, 10, clock_ms() + 60000, &res, &e));
	ck_assert_uint_eq(res.claimed, 22);
	ck_assert_uint_eq(asked, 3);
	ck_sql("30", "SELECT COUNT(published_at) FROM outbox");
	node_stop(n);
}
END_TEST

/* What the look has read is not fetched again, if it is all that is claimed. */
static const struct {
	const char	*first, *meanwhile;	/* before the tick; at the claim */
	size_t		 budget;
	const char	*fetches, *delivered;
} aheads[] = {
	{ "DO 0", "DO 0", 1 << 20, "0", "1,2,3" },
	/* Left by somebody: since then it may be in the stream. */
	{ "UPDATE outbox SET claim_token = 'gone-1' WHERE global_sequence = 2",
	    "DO 0", 1 << 20, "1", "1,2,3" },
	{ "UPDATE events SET event_data = REPEAT('x', 2000) "
	    "WHERE sequence = 3", "DO 0", 100 * 1024, "1", "1,2,3" },
	{ "DO 0", "UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE global_sequence = 2", 1 << 20, "1", "1,3" },
	{ "DO 0", "DELETE FROM outbox WHERE global_sequence = 2", 1 << 20,
	    "1", "1,3" },
	/* Replayed by an operator. */
	{ "DO 0", "START TRANSACTION; UPDATE outbox SET replay_no = 1; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1; "
	    "COMMIT", 1 << 20, "0", "" },
};

START_TEST(rows_are_read_ahead)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	conf->worker.batch_bytes = (int64_t)aheads[_i].budget;
	add_rows(1, 3, "'p00'");
	sql("%s", aheads[_i].first);
	node_start(n);
	ck_ok(parked_round(&n->tick.backlog.parked, 100, clock_ms(), &e));
	n->tick.backlog.candidates.narrow = true;
	parts_find(&n->tick.backlog.parts,
	    bytes_of("p00"))->woken = true;
	log_statements();
	store_close(n->store);
	ck_ok(store_open(n->store, &e));
	story.before = "UPDATE `outbox` AS o";
	story.meanwhile = aheads[_i].meanwhile;
	ck_ok(tick_run(&n->tick, 10, 0, &res, &e));
	sql("SET GLOBAL general_log = 0");
	ck_assert_str_eq(aheads[_i].delivered, sql_text("SELECT COALESCE("
	    "GROUP_CONCAT(global_sequence ORDER BY 1), '') FROM outbox "
	    "WHERE published_at IS NOT NULL"));
	ck_sql("1", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%FIELD(COALESCE(o.%%'");
	ck_sql(aheads[_i].fetches, "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE 'SELECT o.global_sequence%%e.event_type%%' "
	    "AND argument NOT LIKE '%%FIELD(COALESCE(o.%%'");
	node_stop(n);
}
END_TEST

/* The first of two batches is delivered: what is rung for then is 4 and 5. */
static bool
rings_for_two(void *arg)
{
	struct node	*n = arg;

	if (story.acked[5])
		return false;
	add_rows(4, 5, "'p00'");
	parts_find(&n->tick.backlog.parts,
	    bytes_of("p00"))->woken = true;
	return true;
}

/*
 * The server has not got a claim that was sent early: what it wrote back is
 * written back again, and its own rows are free, and in doubt.
 */
START_TEST(lost_commit_is_made_good)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	if (is_mysql())		/* cannot hold one up */
		return;
	memset(&story, 0, sizeof(story));
	conf->nats.recover = RECOVER_LOST;
	sql("UPDATE outbox_settings SET partition_count = 16");
	node_start(n);
	n->tick.wait_wakeup = rings_for_two;
	n->tick.wait_wakeup_arg = n;
	fleet_may_pipeline(&n->fleet, partition_of(&n->fleet, "p00"), 1, clock_ms());
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	ck_ok(parked_round(&n->tick.backlog.parked, 100, clock_ms(), &e));
	add_rows(1, 3, "'p00'");
	n->tick.backlog.candidates.narrow = true;
	parts_find(&n->tick.backlog.parts,
	    bytes_of("p00"))->woken = true;
	story.loses = 2;
	ck_fails(tick_run(&n->tick, 10, clock_ms() + 60000, &res, &e));
	ck_assert_uint_eq(story.pipelined, 2);
	ck_assert(story.stored[5] && tick_is_open(&n->tick));
	ck_sql("0", "SELECT COUNT(published_at) FROM outbox");
	node_connects(n);
	ck_ok(tick_settle(&n->tick, &res, &e));
	ck_assert_uint_eq(res.settled.fenced, 2);
	ck_sql("1,2,3", "SELECT GROUP_CONCAT(global_sequence) FROM outbox "
	    "WHERE published_at IS NOT NULL");
	n->tick.backlog.candidates.narrow = false;
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	ck_ok(tick_run(&n->tick, 10, 0, &res, &e));
	ck_assert_uint_eq(res.settled.delivered, 2);
	/* Nobody is in doubt any more. */
	fleet_reread(&n->fleet);
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	ck_assert_uint_eq(n->fleet.parts.items[1]->labels[0].in_doubt_upto, 0);
	node_stop(n);
}
END_TEST

/* Without leases nobody knows whether it is still as it was read. */
START_TEST(nothing_is_read_ahead_without_leases)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	node_start(n);
	add_rows(1, 3, "'p00'");
	ck_ok(parked_round(&n->tick.backlog.parked, 100, clock_ms(), &e));
	conf->worker.leasing = false;
	n->tick.backlog.candidates.narrow = true;
	parts_find(&n->tick.backlog.parts,
	    bytes_of("p00"))->woken = true;
	log_statements();
	store_close(n->store);
	ck_ok(store_open(n->store, &e));
	ck_ok(tick_run(&n->tick, 10, 0, &res, &e));
	sql("SET GLOBAL general_log = 0");
	ck_assert_uint_eq(res.settled.delivered, 3);
	ck_sql("0", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%FIELD(COALESCE(o.%%'");
	node_stop(n);
}
END_TEST

static const struct {
	const char	*row;		/* what is refused */
	const char	*waiting;	/* at the end */
	unsigned	 sends;		/* of row 6 */
} refused_rows[] = {
	/* Not claimed: nor is what is behind it. */
	{ "NEW.global_sequence = 6 AND NEW.claim_token IS NOT NULL",
	  "6,7,40", 0 },
	/* Not written back, but noted as in doubt. */
	{ "NEW.global_sequence = 6 AND NEW.published_at IS NOT NULL",
	  "6,40", 1 },
	/* Whatever is written: only the worker knows. */
	{ "NEW.global_sequence = 6 AND NEW.claim_token IS NULL", "6,40", 1 },
};

/* Nobody else waits for it, and it is not sent again and again. */
START_TEST(refused_row_stops_its_lane_only)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;
	int			 which = _i / 2;
	bool			 turns = _i % 2 == 1;

	memset(&story, 0, sizeof(story));
	node_start(n);
	add_rows(1, 20, "'p00'");
	sql("UPDATE events SET stream_id = 'k6', stream_sequence = 2 "
	    "WHERE sequence = 7");
	put_obstacle("23000", "UPDATE", "outbox", refused_rows[which].row);
	for (int i = 0; i < 8; i++) {
		/* One batch after the other, or in turns. */
		ck_ok(tick_run(&n->tick, 4, turns ? clock_ms() + 60000 : 0,
		    &res, &e));
		if (i == 3) {
			add_rows(40, 40, "'p00'");
			sql("UPDATE events SET stream_id = 'k6', "
			    "stream_sequence = 3 WHERE sequence = 40");
		}
	}
	ck_sql(refused_rows[which].waiting, "SELECT "
	    "GROUP_CONCAT(global_sequence ORDER BY 1) FROM outbox "
	    "WHERE published_at IS NULL");
	ck_assert_uint_eq(story.sends[6], refused_rows[which].sends);
	ck_assert_uint_eq(story.sends[40], 0);
	ck_near(lanes_find(n->tick.backlog.lanes, bytes_of("k6"))->due_at -
	    clock_ms(), 15000, 30000);
	ck_assert_uint_eq(times_logged("sequence 6 cannot be"), 1);
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE global_sequence <> 6 "
	    "AND (claim_token IS NOT NULL OR last_error IS NOT NULL)");
	node_stop(n);
}
END_TEST

/* A message that fails ends the turns, and its key waits. */
START_TEST(failure_ends_the_turns)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	memset(&story, 0, sizeof(story));
	story.failures = 100;
	node_start(n);
	add_rows(1, 25, "'p00'");
	ck_ok(tick_run(&n->tick, 10, clock_ms() + 60000, &res, &e));
	ck_assert_uint_eq(res.claimed, 10);
	ck_assert_uint_eq(res.settled.delivered, 0);
	ck_assert_uint_eq(res.settled.fenced, 0);
	ck_sql("0", "SELECT COUNT(claim_token) FROM outbox");
	node_stop(n);
}
END_TEST

/* There is no pause while rows are parked, and one when that is done. */
START_TEST(rows_move_without_a_pause)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;
	bool			 moved = false;

	memset(&story, 0, sizeof(story));
	node_start(n);
	produce_behind(3600, 40);
	for (int i = 0; i < 60; i++) {
		ck_ok(tick_run(&n->tick, (size_t)conf->worker.batch_size, 0, &res,
		    &e));
		ck_assert(!n->tick.backlog.parked.moved || res.more);
		moved = moved || n->tick.backlog.parked.moved;
	}
	ck_assert(moved);
	ck_assert(!n->tick.backlog.parked.moved && !res.more);
	node_stop(n);
}
END_TEST

/* A scan of one partition: rows 11 to 30, each of a key of its own. */
static void
scan_much(struct node *n, bool many)
{
	memset(&story, 0, sizeof(story));
	node_start(n);
	for (unsigned i = 11; i <= 30; i++)
		sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
		    "event_type, event_data) VALUES (%u, 'k%u', 1, 't', 'x'); "
		    "INSERT INTO outbox (global_sequence, partition_key) "
		    "VALUES (%u, 'p00')", i, i, i);
	n->tick.backlog.candidates.scan.depth = 32;
	n->tick.backlog.candidates.scan.many = many;
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[14] && !story.acked[15]);
}

START_TEST(scan_serves_several_batches)
{
	struct node	*n = &nodes[0];

	scan_much(n, _i == 0);
	for (int i = 0; i < 4; i++)
		node_works(n);
	ck_assert(story.acked[30]);
	ck_assert_uint_eq(story.scans, 1);
	node_stop(n);
}
END_TEST

/*
 * Row 15 is due and free and under another label by now; what is behind it in
 * its lane waits, and the others go.
 */
START_TEST(row_that_is_not_claimed_is_waited_for)
{
	struct node	*n = &nodes[0];

	scan_much(n, true);
	sql("UPDATE events SET stream_id = 'k15', stream_sequence = 2 "
	    "WHERE sequence = 16; "
	    "UPDATE outbox SET partition_key = 'p09' "
	    "WHERE global_sequence = 15");
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[17] && story.acked[18]);
	ck_assert(!story.acked[15] && !story.acked[16]);
	node_stop(n);
}
END_TEST

/* A row in front of what the old scan saw: who makes it due rings. */
static const char *const	newer[] = {
	"UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1 WHERE "
	"partition_key = 'p00'",
	"UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE "
	"global_sequence = 16",
	"UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	"INTERVAL 1 HOUR WHERE global_sequence = 16",
	"UPDATE outbox SET published_at = NOW(6) WHERE global_sequence = 16",
	"DELETE FROM outbox WHERE global_sequence = 16",
};

START_TEST(scan_is_made_anew)
{
	struct node	*n = &nodes[0];

	scan_much(n, true);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'k1', 1, 't', 'x'); "
	    "INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (1, 'p00'); %s", newer[_i]);
	fleet_reread(&n->fleet);
	node_works(n);		/* finds out, or knows it by the epoch */
	node_works(n);
	ck_assert(story.acked[1]);
	node_stop(n);
}
END_TEST

/* Shares are rounded down: a scan of many rows is short of a batch or two. */
START_TEST(scan_knows_that_there_is_more)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;

	scan_much(n, true);
	ck_assert(!n->tick.backlog.candidates.scan.rich);
	sql("UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	fleet_reread(&n->fleet);
	n->tick.backlog.candidates.scan.depth = 1;
	n->tick.backlog.candidates.scan.many = true;
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	ck_ok(tick_run(&n->tick, (size_t)conf->worker.batch_size, 0, &res, &e));
	ck_assert(n->tick.backlog.candidates.scan.rich && res.left);
	ck_assert_uint_lt(res.claimed, (size_t)conf->worker.batch_size);
	node_stop(n);
}
END_TEST

/* A head that is tried in each tick, and a row of another key behind it. */
START_TEST(smallest_batch_is_shared)
{
	struct node	*n = &nodes[0];

	memset(&story, 0, sizeof(story));
	conf->worker.batch_size = 1;
	node_start(n);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'k0', 1, 't', 'x'), "
	    "(2, 'k2', 1, 't', 'x'); INSERT INTO outbox (global_sequence, "
	    "partition_key) VALUES (1, 'p00'), (2, 'p00'); UPDATE outbox SET "
	    "claim_token = 'x', available_at = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE global_sequence = 1");
	for (int i = 0; i < 4; i++) {
		node_works(n);
		time_passes(1500);
	}
	ck_assert(story.acked[2]);
	node_stop(n);
}
END_TEST

/* The longer a scan takes, the more batches it has to serve. */
START_TEST(dear_scan_gets_deeper)
{
	struct node	*n = &nodes[0];
	struct scan	*s = &n->tick.backlog.candidates.scan;

	scan_much(n, true);
	s->clean = false;
	s->rich = s->many = true;
	s->depth = 1;
	s->took_us = 400000;
	s->began_at = clock_us() - 410000;
	node_works(n);
	ck_assert_uint_eq(s->depth, 2);
	/* But its rows may not last too long. */
	s->clean = false;
	s->rich = true;
	s->took_us = 400000;
	s->began_at = clock_us() - 1000000;
	node_works(n);
	ck_assert_uint_eq(s->depth, 1);
	node_stop(n);
}
END_TEST

/* Without leases nothing would tell us that rows were made due; and by age. */
START_TEST(scan_has_an_end)
{
	struct node	*n = &nodes[0];

	conf->worker.leasing = _i != 0;
	scan_much(n, true);
	if (_i == 1)
		time_passes(1000);
	node_works(n);
	ck_assert_uint_eq(story.scans, 2);
	ck_assert(story.acked[18]);
	node_stop(n);
}
END_TEST

/* Delayed rows in front of one that is due: no pause between the batches. */
START_TEST(delayed_rows_are_passed_without_a_pause)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;
	int			 left = 100;

	scan_much(n, true);
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 HOUR WHERE "
	    "published_at IS NULL AND global_sequence < 30; "
	    "UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1");
	fleet_reread(&n->fleet);
	ck_ok(adopt_round(&n->fleet, &n->tick.backlog, clock_ms(), &e));
	do {
		ck_ok(tick_run(&n->tick, (size_t)conf->worker.batch_size, 0, &res,
		    &e));
		ck_assert(story.acked[30] || res.more || res.claimed > 0);
	} while (!story.acked[30] && left-- > 0);
	ck_assert(story.acked[30]);
	node_stop(n);
}
END_TEST

START_TEST(failure_ends_a_scan)
{
	struct node	*n = &nodes[0];

	scan_much(n, true);
	story.failures = 100;
	conf->retry.backoff = conf->retry.max_backoff = 1;
	node_works(n);
	story.failures = 0;
	time_passes(1000);
	node_works(n);
	ck_assert_uint_eq(story.scans, 2);
	ck_assert(story.acked[15]);
	node_stop(n);
}
END_TEST

/*
 * The claim of the second batch fails after it was picked, by a lock, and the
 * first one is delivered all the same.  No time passes, as if it were found to
 * be a deadlock.
 */
START_TEST(failed_claim_ends_a_scan)
{
	struct node		*n = &nodes[0];
	struct tick_result	 res;
	int64_t			 start;

	scan_much(n, true);
	/* The batch after the next. */
	sql("UPDATE events SET stream_id = 'k19', stream_sequence = 2 "
	    "WHERE sequence = 23");
	story.before = "SET o.published_at = IF(";
	story.meanwhile = "START TRANSACTION; SELECT global_sequence FROM "
	    "outbox WHERE global_sequence = 19 FOR UPDATE";
	start = clock_ms();
	ck_fails(tick_run(&n->tick, (size_t)conf->worker.batch_size,
	    clock_ms() + 60000, &res, &e));
	skew_ms -= clock_ms() - start;
	ck_assert_int_eq(store_fault(n->store), DB_BUSY);
	sql("ROLLBACK");
	ck_assert(story.acked[18] && !story.acked[19]);
	ck_assert(tick_is_open(&n->tick));
	story.scans = 0;
	node_works(n);
	ck_assert_uint_eq(story.scans, 1);
	ck_assert(story.acked[19]);
	node_stop(n);
}
END_TEST

/*
 * What it was rung for is not known after a failure, so the next look goes
 * everywhere, without another ring.
 */
START_TEST(failed_tick_looks_everywhere)
{
	struct node			*n = &nodes[0];
	static const struct worker_args	 a;
	struct worker			 w = { .a = &a, .conf = conf };

	memset(&story, 0, sizeof(story));
	node_start(n);
	w.line = &w.no_line;
	w.store = n->store;
	tick_init(&w.tick, conf, n->store, &n->fleet, &n->relay);
	tick_adopt(&w.tick);
	ck_ok(parked_round(&w.tick.backlog.parked, 100, clock_ms(), &e));
	w.poll.ceiling_ms = 60000;
	w.poll.all_at = clock_ms() + 60000;
	add_rows(1, 3, "'p00'");
	parts_find(&w.tick.backlog.parts, bytes_of("p00"))->woken = true;
	story.before = "UPDATE `outbox` AS o";
	story.meanwhile = "START TRANSACTION; SELECT global_sequence FROM "
	    "outbox WHERE global_sequence = 1 FOR UPDATE";
	worker_tick(&w);
	sql("ROLLBACK");
	ck_assert_int_eq(store_fault(n->store), DB_BUSY);
	ck_assert_int_le(w.poll.at, clock_ms());
	ck_assert(!poll_interval_is_narrow(&w.poll, clock_ms()));
	tick_free(&w.tick);
	node_stop(n);
}
END_TEST

static void
choose_story(int seed)
{
	srand((unsigned)seed);
	memset(&story, 0, sizeof(story));
	story.failures = 25;
	story.turns = seed % 7 < 4;
	story.rings = seed % 5 < 3;
	/* Other servers cannot hold one up. */
	story.losses = !is_mysql();
	conf->nats.recover = RECOVER_LOST;
	if (seed % 5 == 4)
		conf->worker.batch_size = 1;
	if (seed % 3 == 2)	/* room for all of them */
		conf->worker.batch_bytes = 65536;
	if (seed % 5 == 1) {	/* little to do, and that goes early */
		conf->worker.batch_bytes = 1 << 20;
		story.failures = 1;
		story.calm = true;
	}
	conf->retry.on_dead = seed % 2 == 0 ? DEAD_CONTINUE : DEAD_HALT;
	conf->retry.max_attempts = seed % 4 < 2 ? 3 : 1000;
}

static void
tell_story(void)
{
	int	left = 300;

	node_start(&nodes[0]);
	node_start(&nodes[1]);
	for (int i = 0; i < (story.calm ? 3 * NSTEPS : NSTEPS); i++)
		stumble();
	while (story.nlate > 0)
		commit_late();
	story.failures = 0;
	while (!is_all_done() && left-- > 0) {
		/* Again: what was not written back yet may halt its key. */
		if (left % 50 == 49)
			release_all(true);
		if (left % 4 == 0)
			time_passes(6000);
		node_works(&nodes[left % 2]);
	}
	ck_assert_msg(left >= 0, "left: %s; on record: %s", labels(),
	    records());
	ck_sql("0", "SELECT COUNT(*) FROM outbox WHERE partition_key LIKE "
	    "'!%%' AND published_at IS NULL");
	node_stop(&nodes[0]);
	node_stop(&nodes[1]);
}

START_TEST(order_is_kept_at_random)
{
	choose_story(_i);
	tell_story();
}
END_TEST

static const unsigned	wishes[][4] = {
	{ 2, 4, 8, 6 }, { 4, 8, 12, 16 }, { 1, 2, 4, 8 }, { 3, 6, 9, 12 },
	{ 2, 4, 2, 4 },
};

/*
 * Rows of a key have labels of all the counts that are declared, and these
 * change.
 */
START_TEST(order_is_kept_under_several_counts)
{
	choose_story(NSEEDS + _i);
	story.wishes = wishes[_i % NROWS(wishes)];
	story.counts.count = story.wishes[0];
	sql("UPDATE outbox_settings SET partition_count = %u",
	    story.counts.count);
	story.straggle = true;
	story.changer = store_of(conf, "here:09:ffffffffffffffff");
	change_to(story.wishes[1]);
	tell_story();
	store_free(story.changer);
}
END_TEST

/*
 * The burial that halts a key
 */

static struct batch	batch;

static void
label_batch(struct batch *b)
{
	b->labels = xcalloc(1, sizeof(*b->labels));
	strcpy(b->labels[0], "p00");
}

/* Rows 1 to 3: the first dies, the others are given back. */
static void
halt_begin(void)
{
	block_begin();
	add_lease("p01", OTHER, 5);
	add_rows(1, 3, "'p00'");
	conf->retry.on_dead = DEAD_HALT;
	memset(&batch, 0, sizeof(batch));
	take(&batch, 1, 3);
	label_batch(&batch);
	msg_fail(&batch.msgs[0], OUT_DEAD, "why");
	batch.msgs[0].reason = "message";
}

static void
halt_end(void)
{
	batch_free(&batch);
	end_store();
}

static void
ck_buried(bool buried)
{
	ck_assert_str_eq(records(), buried ? "1 p00 halted 1" : "");
	ck_sql(buried ? "1 k1" : "0 NULL",
	    "SELECT COUNT(*), MIN(order_key) FROM outbox_dead_letters");
	ck_assert_str_eq(labels(), buried ? "2 p00, 3 p00" :
	    "1 p00, 2 p00, 3 p00");
	ck_sql(buried ? "p00 2\np01 5" : "p00 1\np01 5", "SELECT "
	    "partition_key, lease_epoch FROM outbox_partitions ORDER BY 1");
}

START_TEST(death_halts_its_key)
{
	struct settled	done = { 0 };

	if (_i == 1)		/* it was on record, with its name */
		add_record(1, "p00", "'k1'", "failed");
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_assert_uint_eq(done.dead, 1);
	ck_assert_uint_eq(done.returned, 2);
	ck_buried(true);
	ck_sql("k1", "SELECT order_key FROM outbox_blocked_keys");
	/* Once more, with nothing left to bury: nobody is rung for. */
	memset(&done, 0, sizeof(done));
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_assert_uint_eq(done.dead, 0);
	ck_buried(true);
}
END_TEST

START_TEST(death_need_not_halt)
{
	struct settled	done = { 0 };

	conf->retry.on_dead = DEAD_CONTINUE;
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_assert_str_eq(records(), "");
	ck_sql("p00 1\np01 5", "SELECT partition_key, lease_epoch "
	    "FROM outbox_partitions ORDER BY 1");
}
END_TEST

START_TEST(lost_row_halts_nothing)
{
	struct settled	done = { 0 };

	sql("UPDATE outbox SET claim_token = 'somebody'");
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_assert_uint_eq(done.fenced, 3);
	ck_buried(false);
}
END_TEST

static const char *const	obstacles[] = {
	"INSERT ON outbox_dead_letters", "INSERT ON outbox_blocked_keys",
	"UPDATE ON outbox_partitions", "DELETE ON outbox",
};

START_TEST(halt_is_all_or_nothing)
{
	struct settled	done = { 0 };

	sql("CREATE TRIGGER obstacle BEFORE %s FOR EACH ROW SIGNAL SQLSTATE "
	    "'HY000' SET MESSAGE_TEXT = 'in the way'", obstacles[_i]);
	ck_fails(store_settle(st, &batch, &done, &e));
	ck_has(e.text, "in the way");
	ck_buried(false);
	sql("DROP TRIGGER obstacle");
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_buried(true);
}
END_TEST

/* START, SELECT, letter, record, epoch, DELETE, COMMIT, and give back. */
#define NBURIAL	8

START_TEST(halt_survives_a_lost_connection)
{
	struct settled	done = { 0 };

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
	for (int64_t until = patience(); atoi(sql_text("SELECT COUNT(*) FROM "
	    "information_schema.processlist WHERE user = 'outbox'")) > 0; )
		wait_more(&until, "the end of its transaction");
	ck_buried(strcmp(sql_text("SELECT COUNT(*) FROM outbox"), "2") == 0);
	ck_ok(store_open(st, &e));
	ck_ok(store_settle(st, &batch, &done, &e));
	ck_buried(true);
	ck_assert_uint_eq(done.fenced, 0);
}
END_TEST

/*
 * The statements, as the server would run them
 */

static void
fill_blocked(void)
{
	sql("DELETE FROM outbox; DELETE FROM outbox_blocked_keys; "
	    "DELETE FROM outbox_partitions");
	ck_ok(store_fill_partitions(st, 64, &e));
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch "
	    "= 1, lease_until = NOW(6) + INTERVAL 60 SECOND; "
	    "INSERT INTO outbox (global_sequence, partition_key) SELECT "
	    "a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 1, CONCAT('p', "
	    "LPAD((a.n + 10 * b.n) MOD 64, 2, '0')) FROM " DIGITS("a") ", "
	    DIGITS("b") ", " DIGITS("c") ", " DIGITS("d") "; "
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
	ck_ok(store_unpark(st, both, 2, list, 2 * n, &e));
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
	if (is_mysql())
		sql("SET explain_format = 'TRADITIONAL'");
	fill_blocked();
	n = atoi(sql_text("SELECT COUNT(*) FROM seen"));
	for (int i = 1; i <= n; i++) {
		char		*text = xstrdup(sql_text("SELECT text FROM "
				    "seen WHERE id = %d", i));
		const char	*at = text;

		if (strncmp(text, "SET SESSION", 11) == 0)
			sql("%s", text);
		if (strncmp(text, "INSERT", 6) == 0)
			at = strstr(text, "(SELECT");	/* what it reads */
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

/*
 * The suite
 */

static void
add_all(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "block", k, k->start, block_begin, end_store);

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

	tcase_add_test(tc, parked_rows_are_no_strays);
	tcase_add_loop_test(tc, rows_without_their_record_get_their_keys_label,
	    0, 2 * NROWS(unowned));
	tcase_add_test(tc, label_with_nul_is_given_up);
	tcase_add_loop_test(tc, orphans_are_adopted, 0, NROWS(orphans));
	tcase_add_loop_test(tc, orphans_are_found_without_a_scan, 0, 2);

	tcase_add_loop_test(tc, statements_use_their_keys, 0, NROWS(sizes));
	/* The last, for the server forgets what it knew of the table. */
	tcase_add_test(tc, label_that_cannot_be_changed_stays);
	tcase_add_test(tc, label_that_stays_hides_no_others);
	tcase_add_loop_test(tc, label_that_is_too_long_is_given_up, 0,
	    NROWS(lengths));

	tc = add_case(s, "halt", k, k->start, halt_begin, halt_end);
	tcase_add_loop_test(tc, death_halts_its_key, 0, 2);
	tcase_add_test(tc, death_need_not_halt);
	tcase_add_test(tc, lost_row_halts_nothing);
	tcase_add_loop_test(tc, halt_is_all_or_nothing, 0, NROWS(obstacles));
	tcase_add_loop_test(tc, halt_survives_a_lost_connection, 0,
	    2 * NBURIAL);

	tc = add_case(s, "park", k, k->start, park_begin, park_end);
	tcase_add_loop_test(tc, failed_head_is_recorded, 0, 2);
	tcase_add_test(tc, rows_are_parked_and_come_back);
	tcase_add_test(tc, busy_round_is_repeated);
	tcase_add_loop_test(tc, refused_lane_is_not_parked, 0,
	    NROWS(unparkable));
	tcase_add_loop_test(tc, refused_lane_is_parked_later, 0,
	    NROWS(unparkable));
	tcase_add_test(tc, refused_record_is_made_later);
	tcase_add_test(tc, refused_lane_comes_back_later);
	tcase_add_test(tc, refused_record_stays);
	tcase_add_loop_test(tc, rung_round_changes_nothing, 0, 2);
	tcase_add_test(tc, heads_come_back_when_due);
	tcase_add_loop_test(tc, records_are_read, 0, 3);
	tcase_add_loop_test(tc, head_behind_parked_rows_is_none, 0, 2);
	tcase_add_loop_test(tc, records_of_one_lane_are_merged, 0, 2);
	tcase_add_test(tc, many_records_take_rounds);
	tcase_add_test(tc, lost_merge_ends);
	tcase_add_loop_test(tc, halt_goes_with_its_partition, 0, 2);
	tcase_add_test(tc, released_key_goes_on);

	tc = add_case(s, "random", k, k->start, random_begin, end);
	tcase_add_test(tc, death_meanwhile_halts);
	tcase_add_test(tc, heads_that_stall_are_tried_rarely);
	tcase_add_test(tc, rows_move_without_a_pause);
	tcase_add_test(tc, small_batches_take_turns);
	tcase_add_test(tc, tick_ends_in_time);
	tcase_add_test(tc, silence_ends_the_turns);
	tcase_add_loop_test(tc, rows_are_read_ahead, 0, NROWS(aheads));
	tcase_add_test(tc, lost_commit_is_made_good);
	tcase_add_test(tc, nothing_is_read_ahead_without_leases);
	tcase_add_test(tc, failure_ends_the_turns);
	tcase_add_loop_test(tc, refused_row_stops_its_lane_only, 0,
	    2 * NROWS(refused_rows));
	tcase_add_loop_test(tc, scan_serves_several_batches, 0, 2);
	tcase_add_loop_test(tc, scan_is_made_anew, 0, NROWS(newer));
	tcase_add_test(tc, scan_knows_that_there_is_more);
	tcase_add_test(tc, dear_scan_gets_deeper);
	tcase_add_loop_test(tc, scan_has_an_end, 0, 2);
	tcase_add_test(tc, smallest_batch_is_shared);
	tcase_add_test(tc, delayed_rows_are_passed_without_a_pause);
	tcase_add_test(tc, failure_ends_a_scan);
	tcase_add_test(tc, failed_claim_ends_a_scan);
	tcase_add_test(tc, failed_tick_looks_everywhere);
	tcase_add_test(tc, row_that_is_not_claimed_is_waited_for);
	tcase_add_test(tc, smallest_batch_makes_progress);
	tcase_add_loop_test(tc, order_is_kept_at_random, 0, NSEEDS);
	tcase_add_loop_test(tc, order_is_kept_under_several_counts, 0,
	    NSHARED);
}

int
main(void)
{
	return frame_run("block", add_all);
}
