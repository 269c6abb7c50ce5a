/* store_back.c - rows that are made, or become due, by somebody else */

#include "store/store_test.h"

#include "store/reconcile.h"
#include "store/store_sql.h"

/*
 * Reconcile
 */

static struct reconcile		rec;
static const struct conf_list	all_types;

/* The events 1 to 4, of which only the first has a row, have been read. */
static void
search_begin(void)
{
	struct sweep_range	r = { 0, 4 };
	size_t			nread;

	begin_store();
	own_leases(0, 0);
	add_rows(1, 4, "'p00'");
	sql("UPDATE outbox_settings SET partition_count = 1, "
	    "reconcile_watermark = 0; "
	    "DELETE FROM outbox WHERE global_sequence > 1");
	rec = (struct reconcile){ .store = st, .types = &all_types };
	ck_ok(reconcile_begin(&rec, &e));
	ck_assert(rec.watermark.known);
	ck_ok(reconcile_search(&rec, &r, false, 10, &nread, &e));
	ck_assert_uint_eq(nread, 4);
	ck_assert_uint_eq(rec.n, 3);
}

static void
search_end(void)
{
	reconcile_free(&rec);
	end_store();
}

static const struct {
	const char	*meanwhile, *rows;
	unsigned	 made;
} meanwhiles[] = {
	{ "DO 0", "1,2,3,4", 3 },
	{ "INSERT INTO outbox (global_sequence) VALUES (3)", "1,2,3,4", 2 },
	{ "INSERT INTO outbox_dead_letters (global_sequence, reason, died_at) "
	  "VALUES (3, 'purged', NOW(6))", "1,2,4", 2 },
	/* Another one made 2 and 3, they were delivered, and pruned. */
	{ "UPDATE outbox_settings SET reconcile_watermark = 3", "1,4", 1 },
	{ "UPDATE outbox_settings SET reconcile_watermark = 4", "1", 0 },
};

START_TEST(what_happened_since_the_search_counts)
{
	uint64_t	made = 99;

	sql("%s", meanwhiles[_i].meanwhile);
	ck_ok(store_begin(st, &e));
	ck_ok(store_end(st, reconcile_make(&rec, rec.list, rec.n, &made, &e),
	    &e));
	ck_assert_uint_eq(made, meanwhiles[_i].made);
	ck_rows(meanwhiles[_i].rows, "TRUE");
}
END_TEST

/*
 * They may have been sent since then; an application's clock may be ahead, and
 * a time that has not come tells nothing.
 */
START_TEST(what_is_made_is_in_doubt)
{
	uint64_t	made;

	sql("UPDATE events SET occurred_at = IF(sequence = 2, "
	    "'2026-01-31 12:00:00', NOW(6) + INTERVAL 1 HOUR)");
	ck_ok(store_begin(st, &e));
	ck_ok(store_end(st, reconcile_make(&rec, rec.list, rec.n, &made, &e),
	    &e));
	ck_sql("2026-01-31 11:59:00.000000 1970-01-02 00:00:00.000000",
	    "SELECT MAX(in_doubt_since), MIN(in_doubt_since) FROM outbox "
	    "WHERE global_sequence > 1");
}
END_TEST

/*
 * Rows whose time has come
 */

#define SCHEDULED(when, label)						\
	"CONCAT('!@', DATE_FORMAT(NOW(6) " when ", '%%Y%%m%%d%%H%%i%%s%%f'), '"	\
	label "')"

static struct conf	*inline_conf;

static const char *const	like_ours[] = {
	"outbox_settings", "outbox_workers", "outbox_partitions",
	"outbox_blocked_keys", "outbox_dead_letters", "outbox_streams",
};

static void
inline_begin(void)
{
	begin();
	inline_conf = servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: inlined}\n"
	    "outbox: {mode: inline}\n", servers_get(server, "SOCKET"));
	sql("DROP DATABASE IF EXISTS inlined; CREATE DATABASE inlined; "
	    "USE inlined; GRANT ALL ON inlined.* TO 'outbox'@'localhost'");
	for (size_t i = 0; i < NROWS(like_ours); i++)
		sql("CREATE TABLE %s LIKE app.%s", like_ours[i], like_ours[i]);
	sql("ALTER TABLE outbox_dead_letters ADD message_id TEXT, "
	    "ADD headers LONGBLOB, ADD payload LONGBLOB, "
	    "ADD content_type TEXT, ADD scheduled_at TIMESTAMP(6) NULL");
	sql("CREATE TABLE outbox_messages (id BIGINT UNSIGNED PRIMARY KEY, "
	    "topic VARCHAR(99) NOT NULL DEFAULT 't', order_key VARCHAR(99) "
	    "NOT NULL DEFAULT 'k', partition_key VARCHAR(64), headers JSON, "
	    "payload BLOB, attempts INT NOT NULL DEFAULT 0, available_at "
	    "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), published_at "
	    "TIMESTAMP(6) NULL DEFAULT NULL, claim_token VARCHAR(64), "
	    "last_error TEXT, scheduled_at TIMESTAMP(6) NULL DEFAULT NULL, "
	    "created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), "
	    "KEY (published_at, partition_key, id))");
	st = store_of(inline_conf, ME);
	own_leases(0, 3);
}

static void
inline_end(void)
{
	store_free(st);
	conf_free(inline_conf);
	end();
}

/*
 * An owner that sleeps, or holds the rest of a scan, learns of them by the
 * epoch alone: nothing else tells it.
 */
START_TEST(owners_learn_of_rows_that_are_due)
{
	struct unscheduled	u;

	sql("INSERT INTO outbox_messages (id, partition_key) VALUES "
	    "(1, " SCHEDULED("- INTERVAL 2 SECOND", "p01") "), "
	    "(2, " SCHEDULED("- INTERVAL 1 SECOND", "p01") "), "
	    "(3, " SCHEDULED("+ INTERVAL 1 HOUR", "p02") "), (4, 'p03')");
	ck_ok(store_unschedule(st, &u, &e));
	ck_assert(!u.busy && !u.more);
	ck_assert_uint_eq(u.nlocked, 0);
	ck_sql("p01,p01,!@,p03", "SELECT GROUP_CONCAT(IF(partition_key LIKE "
	    "'!@%%', '!@', partition_key) ORDER BY id) FROM outbox_messages");
	ck_sql("1,2,1,1", "SELECT GROUP_CONCAT(lease_epoch ORDER BY "
	    "partition_key) FROM outbox_partitions");
	/* And nobody is disturbed where none is due. */
	ck_ok(store_unschedule(st, &u, &e));
	ck_sql("5", "SELECT SUM(lease_epoch) FROM outbox_partitions");
}
END_TEST

/*
 * The clock was put back an hour after they were made.  scheduled_at is a wish,
 * of the clock that there is: before it none is sent, and then it is, although
 * it seems to be made later.
 */
static const struct {
	const char	*scheduled;	/* from now */
	bool		 apart, due;	/* it waits under a label of its own */
} wishes[] = {
	{ "- INTERVAL 1 SECOND", false, true },
	{ "- INTERVAL 1 SECOND", true, true },
	{ "+ INTERVAL 1 MINUTE", false, false },
	{ "+ INTERVAL 1 MINUTE", true, false },
	/* Also where it is before the time at which it seems to be made. */
	{ "+ INTERVAL 70 MINUTE", false, false },
	{ "+ INTERVAL 70 MINUTE", true, false },
};

START_TEST(scheduled_row_keeps_its_time_when_the_clock_steps)
{
	struct unscheduled	u;
	struct waiting_list	w;
	struct batch		b = { 0 };
	uint64_t		one = 1;

	sql("INSERT INTO outbox_messages (id, created_at, available_at, "
	    "scheduled_at, partition_key) VALUES (1, NOW(6) + INTERVAL 1 HOUR, "
	    "created_at, NOW(6) %s, 'p00')", wishes[_i].scheduled);
	if (wishes[_i].apart)
		sql("UPDATE outbox_messages SET partition_key = CONCAT('!@', "
		    "DATE_FORMAT(scheduled_at, '%%Y%%m%%d%%H%%i%%s%%f'), "
		    "'p00')");
	ck_ok(store_unschedule(st, &u, &e));
	ck_sql(!wishes[_i].apart || wishes[_i].due ? "p00" : "!@",
	    "SELECT IF(partition_key LIKE '!@%%', '!@', partition_key) "
	    "FROM outbox_messages");
	ck_ok(store_waiting(st, &one, 1, &w, &e));
	ck_assert_int_eq(w.items[0].due_ms, 0);
	ck_assert((w.items[0].scheduled_ms == 0) == wishes[_i].due);
	store_waiting_free(&w);
	/* As its owner does, which has read the leases again. */
	sql("UPDATE outbox_partitions SET lease_epoch = 1");
	ck_assert_uint_eq(claim(st, &b, 1, 1), wishes[_i].due);
	batch_free(&b);
}
END_TEST

void
add_back(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "reconcile", k, k->start, search_begin,
		    search_end);

	tcase_add_loop_test(tc, what_happened_since_the_search_counts, 0,
	    NROWS(meanwhiles));
	tcase_add_test(tc, what_is_made_is_in_doubt);
	tcase_add_test(add_case(s, "scheduled", k, k->start, inline_begin,
	    inline_end), owners_learn_of_rows_that_are_due);
	tcase_add_loop_test(add_case(s, "step", k, k->start, inline_begin,
	    inline_end), scheduled_row_keeps_its_time_when_the_clock_steps, 0,
	    NROWS(wishes));
}
