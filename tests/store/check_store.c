/*
 * check_store.c - the store against real servers
 *
 * Tables, leases and candidates; check_claim has what follows.  Here are the
 * tests of the whole store: without a connection, and on other tables.
 */
#include "store/store_test.h"

#include "lib/fake_mysql.h"

/* What the calls fill. */
static struct waiting_list	 w;
static struct candidate		*c;
static struct batch		 got;
static struct glance		 glance;
static struct store_view	 v;

static int
call(int i)
{
	static struct lease	 one = { .label = "p00" };
	static struct msg	 m = { .sequence = 1, .reason = "message" };
	static char		 p00[1][MSG_LABEL] = { "p00" };
	const struct lease	*list = &one;
	struct range		 r = range("p00", 1);
	struct settled		 done = { 0 };
	const char		*name = p00[0];
	struct labels		 labels = { &name, 1 };
	struct err		 holder;
	uint64_t		 n, sequence = 1;
	unsigned		 count = 1;
	size_t			 nout;
	struct adopted		 adopted;
	bool			 any;
	int			 rc;

	got = (struct batch){ .msgs = &m, .n = 1, .labels = p00 };
	switch (i) {
	case 0: return store_learn(st, &e);
	case 1: return store_settings(st, &count, &e);
	case 2: return fill_partitions(st, 1);
	case 3: return store_adopt_strays(st, &adopted, &e);
	case 4: return store_register(st, &e);
	case 5: return store_take_over(st, DEAD, &e);
	case 6: return store_beat(st, &any, &e);
	case 7: return store_view(st, &v, &e);
	case 8: return store_holder(st, &labels, &holder, &e);
	case 9: return store_renew(st, &n, &e);
	case 10: return store_acquire(st, &list, 1, &n, &e);
	case 11: return store_release(st, &list, 1, &e);
	case 12: return store_leave(st, &e);
	case 13: return store_purge(st, &n, &e);
	case 14: return store_glance(st, 0, &glance, &e);
	case 15: return store_candidates(st, &r, 1, &c, &nout, &e);
	case 16: return store_claim(st, &(struct claim_set){ &r, 1, &sequence,
	    1 }, &got, &n, &e);
	case 17: return store_fetch(st, &sequence, 1, SIZE_MAX, &got, &e);
	case 18: return store_waiting(st, &sequence, 1, &w, &e);
	case 19: return store_fetch_away(st, &sequence, 1, &got, &e);
	case 20: return store_glance(st, 1, &glance, &e);
	}
	msg_fail(&m, (enum outcome)(i - 21), "why");
	rc = store_settle(st, &got, &done, &e);
	free(m.error);
	return rc;
}

#define NCALLS	(21 + OUT_KEEP_CLAIM)

static void
free_result(int i)
{
	switch (i) {
	case 7: store_view_free(&v); break;
	case 14: case 20: free(glance.rows); batch_free(&glance.ahead); break;
	case 15: free(c); break;
	case 17: got.labels = NULL; batch_free(&got); break;
	case 18: store_waiting_free(&w); break;
	case 19: db_rows_free(got.more_rows); break;
	}
}

/* Not connected: every call says so, and none does worse. */
START_TEST(closed_store_says_so)
{
	store_close(st);
	ck_assert(!store_is_open(st));
	ck_fails(call(_i));
	ck_has(e.text, "not connected");
	ck_assert_int_eq(store_fault(st), DB_CLOSED);
}
END_TEST

/*
 * A server that answers each query with rows that nobody asked for: of NULLs,
 * of too few columns, of other sequences
 */
static const char *const	nulls[60];
static const char *const	others[60] = { [0] = "7", [20] = "99",
				    [40] = "1" };

static const struct fake_answer odd_rows[][2] = {
	{ { .match = "SHOW SESSION", .ncols = 2 },
	  { .match = "SELECT", .ncols = 1, .nrows = 3, .cells = nulls } },
	{ { .match = "SHOW SESSION", .ncols = 2 },
	  { .match = "SELECT", .ncols = 20, .nrows = 3, .cells = nulls } },
	{ { .match = "SHOW SESSION", .ncols = 2 },
	  { .match = "SELECT", .ncols = 1, .nrows = 3, .cells = others } },
	{ { .match = "SHOW SESSION", .ncols = 2 },
	  { .match = "SELECT", .ncols = 20, .nrows = 3, .cells = others } },
	{ { .match = "SHOW SESSION", .ncols = 2 },
	  { .match = "SELECT", .ncols = 20, .nrows = 0 } },
};

/* The store has learned the tables of a real server, and meets the fake. */
static void
meet(struct fake *f)
{
	struct conf	*to = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\"], "
			    "user: outbox, password_env: OUTBOX_PW, "
			    "database: app}\n", fake_start(f));
	char		*socket = conf->mysql.socket;
	struct conf_list hosts = conf->mysql.hosts;

	conf->mysql.socket = to->mysql.socket;
	conf->mysql.hosts = to->mysql.hosts;
	to->mysql.socket = socket;
	to->mysql.hosts = hosts;
	conf_free(to);
	ck_ok(store_open(st, &e));
}

START_TEST(odd_rows_are_survived)
{
	static struct fake	f;

	f.answers = odd_rows[_i % NROWS(odd_rows)];
	f.nanswers = 2;
	conf->retry.on_dead = DEAD_HALT;
	meet(&f);
	if (call(_i / NROWS(odd_rows)) == 0)
		free_result(_i / NROWS(odd_rows));
}
END_TEST

/*
 * Tables of somebody else: whole seconds, no index of ours, no settings
 */

static struct conf	*pillar_conf;

static void
pillar_begin(void)
{
	begin();
	sql("DROP DATABASE IF EXISTS pillar; CREATE DATABASE pillar "
	    "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; USE pillar; "
	    "CREATE TABLE events (sequence BIGINT UNSIGNED AUTO_INCREMENT "
	    "PRIMARY KEY, stream_id VARCHAR(120) NOT NULL, stream_sequence "
	    "BIGINT UNSIGNED NOT NULL, correlation_id CHAR(36), event_type "
	    "VARCHAR(255) NOT NULL, event_version INT UNSIGNED NOT NULL "
	    "DEFAULT 1, metadata JSON, event_data LONGTEXT NOT NULL, "
	    "occurred_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, "
	    "UNIQUE (stream_id, stream_sequence)); "
	    "CREATE TABLE outbox (global_sequence BIGINT UNSIGNED PRIMARY KEY, "
	    "attempts INT UNSIGNED NOT NULL DEFAULT 0, available_at TIMESTAMP "
	    "NOT NULL DEFAULT CURRENT_TIMESTAMP, published_at TIMESTAMP NULL, "
	    "partition_key VARCHAR(64), claim_token CHAR(36), last_error TEXT, "
	    "KEY (available_at), KEY (partition_key, available_at), "
	    "KEY (claim_token), FOREIGN KEY (global_sequence) "
	    "REFERENCES events (sequence) ON DELETE CASCADE)");
	sql("CREATE TABLE outbox_partitions (partition_key VARCHAR(64) PRIMARY "
	    "KEY, lease_owner VARCHAR(120), lease_until TIMESTAMP NULL, "
	    "lease_epoch BIGINT UNSIGNED NOT NULL DEFAULT 0, created_at "
	    "TIMESTAMP NULL, updated_at TIMESTAMP NULL); "
	    "CREATE TABLE outbox_workers (id CHAR(36) PRIMARY KEY, hostname "
	    "VARCHAR(255), pid INT UNSIGNED, started_at TIMESTAMP NULL, "
	    "updated_at TIMESTAMP NULL, heartbeat_until TIMESTAMP NULL, "
	    "KEY (heartbeat_until)); "
	    "GRANT SELECT ON pillar.events TO 'outbox'@'localhost'; "
	    "GRANT SELECT, UPDATE, DELETE ON pillar.outbox "
	    "TO 'outbox'@'localhost'; "
	    "GRANT SELECT, INSERT, UPDATE ON pillar.outbox_partitions "
	    "TO 'outbox'@'localhost'; "
	    "GRANT SELECT, INSERT, UPDATE, DELETE ON pillar.outbox_workers "
	    "TO 'outbox'@'localhost'");
	pillar_conf = conf_for("pillar");
	st = store_of(pillar_conf, ME);
}

static void
pillar_end(void)
{
	store_free(st);
	conf_free(pillar_conf);
	end();
}

/* In the second half of a second, where MySQL would round up. */
static void
wait_for_half(void)
{
	for (int64_t until = patience(); strcmp(sql_text("SELECT "
	    "MICROSECOND(NOW(6)) BETWEEN 550000 AND 700000"), "1") != 0; )
		wait_more(&until, "the second half of a second");
}

#define AHEAD(column, table)	"SELECT COUNT(*) FROM " table " WHERE " \
				column " > NOW(6)"

START_TEST(whole_seconds_do_not_lie_ahead)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };
	uint64_t	n;
	bool		known;

	own_rows(3);
	sql("UPDATE outbox SET available_at = '2026-01-01'");
	take(&b, 1, 3);
	b.msgs[0].outcome = OUT_DELIVERED;
	b.msgs[1].outcome = OUT_UNSENT;
	msg_fail(&b.msgs[2], OUT_RETRY, "why");
	wait_for_half();
	ck_ok(store_settle(st, &b, &done, &e));
	ck_ok(store_register(st, &e));
	ck_ok(store_beat(st, &known, &e));
	ck_ok(store_renew(st, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_sql("0", AHEAD("published_at", "outbox"));
	ck_sql("0", AHEAD("global_sequence > 1 AND available_at", "outbox"));
	ck_sql("0", AHEAD("started_at", "outbox_workers"));
	ck_sql("0", AHEAD("updated_at", "outbox_workers"));
	ck_sql("0", AHEAD("updated_at", "outbox_partitions"));
	ck_sql("1", "SELECT lease_until <= NOW(6) + INTERVAL 15 SECOND "
	    "FROM outbox_partitions");
	batch_free(&b);
}
END_TEST

START_TEST(somebody_elses_tables_are_served)
{
	struct range	 ranges[2] = { range("", 1), range("p00", 1) };
	struct settled	 done = { 0 };
	struct batch	 b = { 0 };
	unsigned	 count = 1, nstrays;
	uint64_t	 sequences[] = { 1, 2, 3 }, n;
	struct lease	*all;
	const struct lease *list[16];
	char		 label[STORE_LABEL];

	ck_has(logged(), "no index");
	ck_has(logged(), "outbox_dead_letters");
	ck_ok(store_settings(st, &count, &e));
	ck_ok(fill_partitions(st, count));
	add_rows(1, 2, "NULL");
	add_rows(3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-01'");
	nstrays = adopt_strays(st, label);
	ck_assert_uint_eq(nstrays, 1);
	ck_ok(store_acquire(st, list, every_lease(&all, list), &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(candidates(ranges, 2), "1:0 2:0 3:1");
	ck_ok(store_claim(st, &(struct claim_set){ ranges, 2, sequences, 3 },
	    &b, &n, &e));
	ck_assert_uint_eq(n, 3);
	ck_ok(store_fetch(st, sequences, 3, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 3);
	ck_assert_uint_eq(b.msgs[0].time.len, 19);
	b.msgs[0].outcome = OUT_DELIVERED;
	msg_fail(&b.msgs[1], OUT_RETRY, "why");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("1\n3", "SELECT global_sequence FROM outbox "
	    "WHERE published_at IS NOT NULL OR attempts = 0 ORDER BY 1");
	ck_ok(store_take_over(st, DEAD, &e));
	ck_ok(store_leave(st, &e));
	ck_sql("0", "SELECT COUNT(*) FROM outbox_workers");
	batch_free(&b);
	free(all);
}
END_TEST

static void
add_whole(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "closed", k, k->start, begin_store,
		    end_store);

	tcase_add_loop_test(tc, closed_store_says_so, 0, NCALLS);
	tcase_add_loop_test(tc, odd_rows_are_survived, 0,
	    NCALLS * NROWS(odd_rows));

	tc = add_case(s, "seconds", k, k->start, pillar_begin, pillar_end);
	tcase_add_test(tc, whole_seconds_do_not_lie_ahead);
	tcase_add_test(tc, somebody_elses_tables_are_served);
}

static void
add_all(Suite *s, const struct kind *k)
{
	add_statements(s, k);
	add_schema(s, k);
	add_leases(s, k);
	add_candidates(s, k);
	add_back(s, k);
	add_whole(s, k);
}

int
main(void)
{
	return frame_run("store", add_all);
}
