/*
 * check_db.c - the connection against real servers
 *
 * On MariaDB, and again on Oracle MySQL where the environment names one.
 */
#include <pthread.h>
#include <signal.h>

#include "util/buf.h"
#include "util/clock.h"
#include "mysql/db_impl.h"
#include "lib/frame.h"
#include "mysql/server_test.h"
#include "mysql/session_test.h"

static struct db	*db;	/* of the test, */
static struct conf	*own;	/* and its configuration; NULL: conf */

/*
 * The account of MySQL logs in with caching_sha2_password.  By TCP that needs
 * the server's key, or a checked certificate.
 */
static const char *
key_of(const char *name)
{
	static char	key[300];
	char		file[64];

	snprintf(file, sizeof(file), "%s/data/public_key.pem", name);
	snprintf(key, sizeof(key), "server_public_key: \"%s\"", is_mysql() ?
	    servers_path(file) : "");
	return key;
}

static int
db_run(const char *text, uint64_t *matched, struct err *err)
{
	struct buf	b = { 0 };
	int		rc;

	buf_str(&b, text);
	rc = db_exec(db, "doing", &b, matched, err);
	buf_free(&b);
	return rc;
}

static struct db_rows *
db_ask(const char *text, struct err *err)
{
	struct buf	 b = { 0 };
	struct db_rows	*rows;

	buf_str(&b, text);
	rows = db_query(db, "asking", &b, err);
	buf_free(&b);
	return rows;
}

/* The first value of a query, as text. */
static const char *
db_value(const char *text)
{
	static char	 value[4096];
	struct db_rows	*rows = db_ask(text, &e);

	ck_assert_msg(rows != NULL, "%s: %s", text, e.text);
	ck_assert(db_next(rows));
	snprintf(value, sizeof(value), "%s",
	    db_nullable(rows, 0) == NULL ? "NULL" : db_text(rows, 0));
	db_rows_free(rows);
	return value;
}

static void
db_connect(const struct conf *c, int64_t wait_ms)
{
	db = db_new(c, wait_ms);
	ck_ok(db_open(db, &e));
	ck_assert(db_is_open(db));
}

/* The last statement ended like this, and the connection is still open. */
static void
ck_fault(enum db_fault fault, bool open)
{
	ck_assert_msg(db_last_fault(db) == fault, "fault %d: %s",
	    (int)db_last_fault(db), e.text);
	ck_assert(db_is_open(db) == open);
}

static void
db_end(void)
{
	db_free(db);
	conf_free(own);
	db = NULL;
	own = NULL;
	end();
}

static void
db_begin(void)
{
	begin();
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'a', 1, 't', 'x'); "
	    "INSERT INTO outbox (global_sequence) VALUES (1), (2), (3)");
}

START_TEST(session_is_prepared)
{
	db_connect(conf, 3000);
	ck_assert_str_eq(db_value("SELECT @@time_zone"), "+00:00");
	ck_assert_str_eq(db_value(is_mysql() ?
	    "SELECT @@transaction_isolation" : "SELECT @@tx_isolation"),
	    "READ-COMMITTED");
	/* The server must give up first, or what is busy looks lost. */
	ck_near(atoi(db_value("SELECT @@innodb_lock_wait_timeout")), 1, 2);
	ck_near(atoi(db_value("SELECT @@lock_wait_timeout")), 1, 2);
	ck_assert_str_eq(db_value("SELECT @@autocommit"), "1");
	ck_has(db_value("SELECT @@sql_mode"), "STRICT_TRANS_TABLES");
	ck_assert_str_eq(db_value("SELECT @@character_set_client"),
	    "utf8mb4");
	ck_assert_str_eq(db_value("SELECT DATABASE()"), "app");
	ck_assert_str_eq(db_value("SELECT CURRENT_USER()"),
	    "outbox@localhost");
	ck_assert(db_is_mariadb(db) == !is_mysql());
	ck_assert_str_eq(db_peer(db), conf->mysql.socket);
}
END_TEST

/* A moment is stored as UTC: it is read back in another zone. */
START_TEST(moments_are_utc)
{
	sql("SET GLOBAL time_zone = '+05:00'");
	db_connect(conf, 3000);
	ck_ok(db_run("UPDATE outbox SET published_at = "
	    "'2026-01-31 12:00:00.5' WHERE global_sequence = 1", NULL, &e));
	sql("SET GLOBAL time_zone = SYSTEM; SET time_zone = '+01:00'");
	ck_sql("2026-01-31 13:00:00.500000",
	    "SELECT published_at FROM outbox WHERE global_sequence = 1");
}
END_TEST

START_TEST(result_is_walked)
{
	struct db_rows	*rows;

	db_connect(conf, 3000);
	rows = db_ask("SELECT 18446744073709551615, NULL, _binary'a\\0b', "
	    "'' UNION ALL SELECT 0, 7, 'x', 'y'", &e);
	ck_assert_ptr_nonnull(rows);
	ck_assert_uint_eq(db_nrows(rows), 2);
	ck_assert(db_next(rows));
	ck_assert_uint_eq(db_u64(rows, 0), UINT64_MAX);
	ck_assert_ptr_null(db_nullable(rows, 1));
	ck_assert_str_eq(db_text(rows, 1), "");
	ck_assert_uint_eq(db_length(rows, 1), 0);
	/* There is no fifth column. */
	ck_assert_ptr_null(db_nullable(rows, 4));
	ck_assert_str_eq(db_text(rows, 4), "");
	ck_assert_uint_eq(db_length(rows, 4), 0);
	ck_assert_uint_eq(db_u64(rows, 4), 0);
	ck_assert_uint_eq(db_u64(rows, 1), 0);
	ck_assert_uint_eq(db_length(rows, 2), 3);
	ck_assert_mem_eq(db_text(rows, 2), "a\0b", 3);
	ck_assert_uint_eq(db_length(rows, 3), 0);
	ck_assert_str_eq(db_text(rows, 3), "");
	ck_assert(db_next(rows));
	ck_assert_uint_eq(db_u64(rows, 1), 7);
	ck_assert(!db_next(rows));
	ck_assert_str_eq(db_text(rows, 0), "");
	ck_assert_uint_eq(db_length(rows, 0), 0);
	db_rows_free(rows);
	db_rows_free(NULL);
	db_free(NULL);
}
END_TEST

START_TEST(matched_rows_are_counted)
{
	uint64_t	 n;

	db_connect(conf, 3000);
	ck_ok(db_run("UPDATE outbox SET attempts = attempts "
	    "WHERE global_sequence < 3", &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_ok(db_run("INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('a'), ('b'), ('c')", &n, &e));
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(db_last_fault(db), DB_FINE);
}
END_TEST

static const struct {
	const char	*global;
	enum db_fault	 fault;
	const char	*text;
	bool		 mysql_only;
} moods[] = {
	{ "SET GLOBAL read_only = 1", DB_READONLY, "read-only", false },
	{ "SET GLOBAL super_read_only = 1", DB_READONLY, "read-only", true },
	{ "SET GLOBAL binlog_format = 'STATEMENT'", DB_WRONG,
	  "binlog_format", false },
};

START_TEST(server_is_refused)
{
	if (moods[_i].mysql_only && !is_mysql())
		return;
	db = db_new(conf, 3000);
	sql("%s", moods[_i].global);
	ck_fails(db_open(db, &e));
	ck_fault(moods[_i].fault, false);
	ck_has(e.text, moods[_i].text);
	ck_has(e.text, db_peer(db));
	calm_down();
	ck_ok(db_open(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_FINE);
}
END_TEST

static const struct {
	const char	*mysql;		/* after the socket */
	const char	*text;
} logins[] = {
	{ "user: outbox, password_env: WRONG_PW, database: app", "1045" },
	{ "user: nobody, password_env: OUTBOX_PW, database: app", "1045" },
	{ "user: outbox, password_env: OUTBOX_PW, database: nil", "10" },
	{ "user: outbox, password_env: NO_SUCH, database: app", "NO_SUCH" },
	{ "user: outbox, password_file: /no/such, database: app", "/no/such" },
};

START_TEST(login_is_refused)
{
	own = servers_conf("mysql: {socket: \"%s\", %s}\n",
	    conf->mysql.socket, logins[_i].mysql);
	db = db_new(own, 3000);
	setenv("WRONG_PW", "wr0ng-s3cret", 1);
	ck_fails(db_open(db, &e));
	ck_fault(DB_WRONG, false);
	ck_has(e.text, logins[_i].text);
	ck_has(e.text, "mysql ");
	ck_has_not(e.text, "wr0ng-s3cret");
	ck_has_not(e.text, OUTBOX_PASSWORD);
}
END_TEST

/* Without a pause: one that refuses, and one that is silent for a second. */
START_TEST(next_host_is_tried)
{
	int		 away = dumb_port(_i == 1);
	const char	*port = servers_get(server, "PORT");
	int64_t		 start = clock_ms();

	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\", "
	    "\"127.0.0.1:%s\"], user: outbox, password_env: OUTBOX_PW, "
	    "database: app, %s}\n", away, port, key_of(server));
	db = db_new(own, 3000);
	ck_ok(db_open(db, &e));
	ck_near(ms_since(start), _i == 1 ? 900 : 0, _i == 1 ? 2000 : 900);
	ck_assert_str_eq(db_peer(db), own->mysql.hosts.items[1]);
	ck_assert_str_eq(db_value("SELECT @@port"), port);
	ck_has(db_passed_over(db), own->mysql.hosts.items[0]);
	ck_has(db_passed_over(db), _i == 1 ? "2013" : "refused");
	/* The next time it begins with the one that works. */
	start = clock_ms();
	ck_ok(db_open(db, &e));
	ck_assert_int_lt(ms_since(start), 900);
	ck_assert_str_eq(db_passed_over(db), "");
}
END_TEST

/* All that fail are named, in the order of the list. */
START_TEST(failed_round_names_all_hosts)
{
	const char	*silent, *first, *second;
	int64_t		 start = clock_ms();

	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\", "
	    "\"127.0.0.1:%d\", \"127.0.0.1:%s\"], user: nobody, "
	    "password_env: OUTBOX_PW, database: app, %s}\n", dumb_port(true),
	    dumb_port(false), servers_get(server, "PORT"), key_of(server));
	db = db_new(own, 3000);
	for (int i = 0; i < 2; i++) {
		ck_fails(db_open(db, &e));
		ck_fault(DB_LOST, false);
		silent = strstr(e.text, own->mysql.hosts.items[0]);
		first = strstr(e.text, own->mysql.hosts.items[1]);
		second = strstr(e.text, own->mysql.hosts.items[2]);
		ck_assert(silent != NULL && first != NULL && second != NULL);
		ck_assert(silent < first && first < second);
		ck_has(first, "refused");
		/* MySQL asks one that it does not know for another way. */
		ck_has(second, is_mysql() ? "connect: " : "(1045)");
		ck_assert_str_eq(db_peer(db), own->mysql.hosts.items[2]);
	}
	ck_assert_int_lt(ms_since(start), 3500);
}
END_TEST

/*
 * Two names of one server, as a node that lets everybody in and blocks what they
 * write: each has a second to give the lock.
 */
static int
writes(void *arg, struct err *why)
{
	struct buf	sql = { 0 };
	int		rc;

	(void)arg;
	buf_str(&sql, "UPDATE outbox SET attempts = 1 "
	    "WHERE global_sequence = 1");
	rc = db_exec(db, "register", &sql, NULL, why);
	buf_free(&sql);
	return rc;
}

START_TEST(blocked_server_is_passed_over)
{
	const char	*port = servers_get(server, "PORT");
	int64_t		 start;

	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\", "
	    "\"localhost:%s\"], user: outbox, password_env: OUTBOX_PW, "
	    "database: app, %s}\n", port, port, key_of(server));
	db = db_new(own, 8000);
	db_set_test(db, writes, NULL);
	ck_ok(db_open(db, &e));
	ck_near(atoi(db_value("SELECT @@innodb_lock_wait_timeout")), 4, 4);
	ck_near(atoi(db_value("SELECT @@lock_wait_timeout")), 4, 4);
	sql("FLUSH TABLES WITH READ LOCK");
	start = clock_ms();
	ck_fails(db_open(db, &e));
	ck_near(ms_since(start), 1900, 3800);
	ck_fault(DB_BUSY, false);
	ck_has(e.text, own->mysql.hosts.items[0]);
	ck_has(e.text, own->mysql.hosts.items[1]);
	ck_has(e.text, "register: Lock wait timeout");
	sql("UNLOCK TABLES");
	ck_ok(db_open(db, &e));
}
END_TEST

/* The same of a server that is silent once it has let us in. */
static int
sleeps(void *arg, struct err *why)
{
	(void)arg;
	return db_run("DO SLEEP(6)", NULL, why);
}

START_TEST(silent_test_is_bounded)
{
	const char	*port = servers_get(server, "PORT");
	int64_t		 start = clock_ms();

	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\", "
	    "\"localhost:%s\"], user: outbox, password_env: OUTBOX_PW, "
	    "database: app, %s}\n", port, port, key_of(server));
	db = db_new(own, 5000);
	db_set_test(db, sleeps, NULL);
	ck_fails(db_open(db, &e));
	ck_near(ms_since(start), 3900, 5900);
	ck_fault(DB_LOST, false);
	ck_has(e.text, DB_TOO_SLOW " 2 s (2013)");
}
END_TEST

/* Is the session still there? */
static bool
lives(uint64_t id)
{
	char	text[200];

	snprintf(text, sizeof(text), "SELECT COUNT(*) FROM "
	    "information_schema.processlist WHERE id = %llu",
	    (unsigned long long)id);
	return strcmp(db_value(text), "0") != 0;
}

/*
 * A session of ours holds a row and had no answer: the next one, whose test
 * needs that row, ends it.  Not if it was of another start, or another server.
 */
START_TEST(abandoned_session_is_ended)
{
	uint64_t	id;

	db = db_new(conf, 2000);
	db_set_test(db, writes, NULL);
	ck_ok(db_open(db, &e));
	id = db->session.id;
	ck_assert_uint_eq(id, mysql_thread_id(db->mysql));
	ck_ok(db_run("START TRANSACTION", NULL, &e));
	ck_ok(writes(NULL, &e));
	ck_fails(db_run("DO SLEEP(20)", NULL, &e));
	ck_fault(DB_LOST, false);
	ck_assert_uint_eq(db->abandoned[0].id, id);
	if (_i == 1)
		db->abandoned[0].since -= 60000;
	else if (_i == 2)
		db->abandoned[0].server[0]++;
	if (_i > 0) {
		ck_fails(db_open(db, &e));
		ck_has(e.text, "(1205)");
		db_set_test(db, NULL, NULL);
		ck_ok(db_open(db, &e));
		ck_assert(lives(id));
		sql("KILL %llu", (unsigned long long)id);
		return;
	}
	ck_ok(db_open(db, &e));
	while (lives(id))
		db_value("SELECT SLEEP(0.05)");
}
END_TEST

START_TEST(statement_is_bounded)
{
	int64_t		 start = clock_ms();

	db_connect(conf, 2000);
	ck_assert_ptr_null(db_ask("SELECT SLEEP(9)", &e));
	ck_near(ms_since(start), 1900, 3500);
	ck_fault(DB_LOST, false);
	ck_assert_str_eq(e.text, "asking: no answer within 2 s (2013)");
	ck_ok(db_open(db, &e));
	ck_assert_str_eq(db_value("SELECT 7"), "7");
}
END_TEST

START_TEST(hung_server_is_bounded)
{
	int64_t		 start = clock_ms();

	db = db_new(conf, 2000);
	servers_signal(server, SIGSTOP);
	ck_fails(db_open(db, &e));
	servers_signal(server, SIGCONT);
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert_int_lt(ms_since(start), 3500);
}
END_TEST

static const struct {
	const char	*sql;
	const char	*text;
} wrongs[] = {
	{ "SELEC 1", "1064" },
	{ "UPDATE no_such SET a = 1", "114" },
	{ "UPDATE events SET event_type = 'x'", "1142" },
	{ "DROP TABLE outbox", "1142" },
	{ "UPDATE outbox SET attempts = 'x'", "1" },
	{ "", "1065" },
};

START_TEST(wrong_statement_is_told)
{
	db_connect(conf, 3000);
	ck_fails(db_run(wrongs[_i].sql, NULL, &e));
	ck_fault(DB_WRONG, true);
	ck_assert_int_eq(strncmp(e.text, "doing: ", 7), 0);
	ck_has(e.text, wrongs[_i].text);
	ck_assert_str_eq(db_value("SELECT 7"), "7");
}
END_TEST

START_TEST(becoming_read_only_is_told)
{
	db_connect(conf, 3000);
	sql("SET GLOBAL read_only = 1");
	ck_fails(db_run("UPDATE outbox SET attempts = 1", NULL, &e));
	ck_fault(DB_READONLY, false);
}
END_TEST

/* The limit is rounded up; the server must give up before the library. */
START_TEST(lock_wait_is_busy)
{
	int64_t		 start = clock_ms();

	db_connect(conf, 1000);
	sql("START TRANSACTION; UPDATE outbox SET attempts = 1 "
	    "WHERE global_sequence = 1");
	ck_fails(db_run("UPDATE outbox SET attempts = 2 "
	    "WHERE global_sequence = 1", NULL, &e));
	ck_assert_int_lt(ms_since(start), 3500);
	ck_fault(DB_BUSY, true);
	sql("COMMIT");
	ck_assert_str_eq(db_value("SELECT MAX(attempts) FROM outbox"), "1");
}
END_TEST

/* A statement in a thread of its own, because it will wait. */
struct job {
	const char	*sql;
	int		 rc;
	struct err	 e;
	pthread_t	 thread;
};

static void *
job_run(void *arg)
{
	struct job	*j = arg;

	j->rc = db_run(j->sql, NULL, &j->e);
	return NULL;
}

static void
job_start(struct job *j)
{
	ck_assert_int_eq(pthread_create(&j->thread, NULL, job_run, j), 0);
}

START_TEST(deadlock_is_busy)
{
	struct job	j = { .sql = "UPDATE outbox SET attempts = 2 "
			    "WHERE global_sequence = 2" };

	db_connect(conf, 9000);
	/* The victim is the transaction that changed fewer rows. */
	sql("START TRANSACTION; UPDATE outbox SET attempts = 9 "
	    "WHERE global_sequence IN (2, 3); "
	    "UPDATE events SET event_type = 'x'; "
	    "UPDATE outbox_settings SET partition_count = 9; "
	    "INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f')");
	ck_ok(db_run("START TRANSACTION", NULL, &e));
	ck_ok(db_run("UPDATE outbox SET attempts = 2 "
	    "WHERE global_sequence = 1", NULL, &e));
	job_start(&j);
	wait_for_locks(1);
	sql("UPDATE outbox SET attempts = 9 WHERE global_sequence = 1");
	pthread_join(j.thread, NULL);
	sql("COMMIT");
	ck_assert_int_eq(j.rc, -1);
	ck_fault(DB_BUSY, true);
	ck_has(j.e.text, "1213");
	ck_sql("27", "SELECT SUM(attempts) FROM outbox");
}
END_TEST

/* An operator kills: an idle connection, a waiting one, only its statement. */
static const struct {
	const char	*kill;
	bool		 idle;
	enum db_fault	 fault;
} kills[] = {
	{ "KILL", true, DB_LOST },
	{ "KILL", false, DB_LOST },
	{ "KILL QUERY", false, DB_BUSY },
};

START_TEST(kill_is_told)
{
	struct job	 j = { .sql = "UPDATE outbox SET attempts = 2 "
			    "WHERE global_sequence = 1" };
	unsigned long	 id;

	db_connect(conf, 9000);
	id = strtoul(db_value("SELECT CONNECTION_ID()"), NULL, 10);
	sql("START TRANSACTION; UPDATE outbox SET attempts = 9 "
	    "WHERE global_sequence = 1");
	if (kills[_i].idle) {
		kill_thread(id);
		job_run(&j);
	} else {
		job_start(&j);
		wait_for_locks(1);
		sql("%s %lu", kills[_i].kill, id);
		pthread_join(j.thread, NULL);
	}
	sql("COMMIT");
	ck_assert_int_eq(j.rc, -1);
	ck_fault(kills[_i].fault, kills[_i].fault == DB_BUSY);
	ck_sql("9", "SELECT attempts FROM outbox WHERE global_sequence = 1");
	if (!db_is_open(db))
		ck_ok(db_open(db, &e));
	ck_ok(db_run(j.sql, NULL, &e));
}
END_TEST

START_TEST(too_many_connections_is_no_fault_of_ours)
{
	struct db	*dbs[50] = { NULL };
	int		 n = 0;

	while (n < NROWS(dbs) - 1 && db_open(dbs[n] = db_new(conf, 3000),
	    &e) == 0)
		n++;
	ck_near(n, 30, 40);
	ck_has(e.text, "1040");
	ck_assert_int_eq(db_last_fault(dbs[n]), DB_LOST);
	for (; n >= 0; n--)
		db_free(dbs[n]);
	wait_for_goodbye();
}
END_TEST

START_TEST(closed_is_told)
{
	db = db_new(conf, 3000);
	for (int i = 0; i < 2; i++) {
		ck_assert(!db_is_open(db));
		ck_fails(db_run("SELECT 1", NULL, &e));
		ck_assert_int_eq(db_last_fault(db), DB_CLOSED);
		ck_has(e.text, "doing: ");
		ck_assert_ptr_null(db_ask("SELECT 1", &e));
		ck_ok(db_open(db, &e));
		db_close(db);
		db_close(db);
	}
}
END_TEST

static const struct {
	const char	*text;
	size_t		 len;
} quotes[] = {
	{ "", 0 },
	{ "plain", 5 },
	{ "it's", 4 },
	{ "'", 1 },
	{ "''", 2 },
	{ "\\", 1 },
	{ "\\'", 2 },
	{ "a\\", 2 },
	{ "\"; DROP TABLE outbox; -- ", 25 },
	{ "a\0b", 3 },
	{ "\0", 1 },
	{ "line\r\n\x1a\t%_", 9 },
	{ "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x98", 11 },
	{ "cut \xc3", 5 },
	{ "\xff\xfe'\\\x80", 5 },
	{ "\xbf\x27 OR 1=1", 8 },
	{ "\xe5\x5c\x27", 3 },
};

static void
put_hex(struct buf *b, const char *text, size_t len)
{
	buf_str(b, "");
	for (size_t i = 0; i < len; i++)
		buf_printf(b, "%02X", (unsigned char)text[i]);
}

START_TEST(quoted_text_arrives)
{
	struct buf	 b = { 0 }, hex = { 0 };
	struct db_rows	*rows;

	db_connect(conf, 3000);
	buf_str(&b, "SELECT HEX(_binary");
	db_quote(db, &b, quotes[_i].text, quotes[_i].len);
	buf_str(&b, "), 'still here'");
	rows = db_query(db, "quote", &b, &e);
	ck_assert_msg(rows != NULL, "%s", e.text);
	put_hex(&hex, quotes[_i].text, quotes[_i].len);
	ck_assert(db_next(rows));
	ck_assert_str_eq(db_text(rows, 0), hex.data);
	ck_assert_str_eq(db_text(rows, 1), "still here");
	db_rows_free(rows);
	buf_free(&hex);
	buf_free(&b);
}
END_TEST

START_TEST(name_is_quoted)
{
	struct buf	b = { 0 };

	db_name(&b, "select");
	db_name(&b, "a$-b");
	ck_assert_str_eq(b.data, "`select``a$-b`");
	buf_clear(&b);
	db_name(&b, "a`; DROP TABLE outbox; -- ``");
	ck_assert_str_eq(b.data, "`a``; DROP TABLE outbox; -- `````");
	buf_free(&b);
}
END_TEST

/* Without a key of our own no server is asked for its key. */
START_TEST(key_is_our_own)
{
	static const char *const	keys[] = { "", "/no/such", "empty" };
	const char			*path = keys[_i];

	if (!is_mysql())
		return;
	if (strcmp(path, "empty") == 0)
		path = servers_write(path, "");
	sql("FLUSH PRIVILEGES");	/* or a hash is enough */
	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, server_public_key: "
	    "\"%s\"}\n", servers_get(server, "PORT"), path);
	db = db_new(own, 3000);
	ck_fails(db_open(db, &e));
	ck_has(e.text, "mysql.server_public_key");
	ck_has(e.text, path);
}
END_TEST

/*
 * TLS: one server without and one with
 */

static char	tls_name[16];		/* "mariadb-tls" */

static void
start_tls(void)
{
	char		 ca[64], cert[64], key[64];
	const char	*lines[] = { ca, cert, key, NULL };

	snprintf(tls_name, sizeof(tls_name), "%s-tls", server);
	if (servers_runs(tls_name))
		return;
	servers_certificates();
	snprintf(ca, sizeof(ca), "ssl_ca=%s", servers_path("ca.pem"));
	snprintf(cert, sizeof(cert), "ssl_cert=%s", servers_path("server.pem"));
	snprintf(key, sizeof(key), "ssl_key=%s", servers_path("server.key"));
	servers_start(tls_name, server, lines);
	sql_open(tls_name);
	sql_load(tls_name, "app");
	sql("CREATE USER picky@'127.0.0.1' IDENTIFIED BY '" OUTBOX_PASSWORD
	    "' REQUIRE X509; GRANT SELECT ON app.* TO picky@'127.0.0.1'");
	sql_close();
}

static void
start_mariadb_tls(void)
{
	frame_start_mariadb();
	start_tls();
}

static void
start_mysql_tls(void)
{
	frame_start_mysql();
	start_tls();
}

/* The certificate names 127.0.0.1 but not 0.0.0.0, which is no loopback. */
static const struct {
	const char	*mode, *ca, *host;
	bool		 offered, works, encrypted;
} modes[] = {
	{ "auto", "", "127.0.0.1", false, true, false },
	{ "auto", "", "localhost", false, true, false },
	{ "auto", "ca.pem", "0.0.0.0", false, false, false },
	{ "disable", "", "0.0.0.0", false, true, false },
	{ "require", "", "127.0.0.1", false, false, false },
	{ "require", "ca.pem", "127.0.0.1", false, false, false },
	{ "verify", "ca.pem", "127.0.0.1", false, false, false },
	{ "auto", "", "127.0.0.1", true, true, false },
	{ "auto", "ca.pem", "0.0.0.0", true, false, false },
	{ "disable", "", "127.0.0.1", true, true, false },
	{ "require", "", "127.0.0.1", true, true, true },
	{ "require", "", "0.0.0.0", true, true, true },
	{ "require", "ca.pem", "127.0.0.1", true, true, true },
	{ "verify", "ca.pem", "127.0.0.1", true, true, true },
	{ "verify", "ca.pem", "localhost", true, true, true },
	{ "verify", "other.pem", "127.0.0.1", true, false, false },
	{ "verify", "", "127.0.0.1", true, false, false },
	{ "verify", "ca.pem", "0.0.0.0", true, false, false },
};

/* Connector/C would send the password to a server that was not checked. */
#ifdef LIBMARIADB
#define REQUIRE_IS_FORBIDDEN	true
#else
#define REQUIRE_IS_FORBIDDEN	false
#endif

static bool
is_forbidden(const char *mode)
{
	return REQUIRE_IS_FORBIDDEN && is_mysql() &&
	    strcmp(mode, "require") == 0;
}

/* From 11.4 on MariaDB has a certificate of its own making, if no other. */
static bool
offers_its_own(const char *mode, const char *ca)
{
	return strcmp(mode, "require") == 0 && ca[0] == '\0' && !is_mysql() &&
	    strcmp(sql_text("SELECT @@have_ssl"), "YES") == 0;
}

START_TEST(tls_is_as_asked)
{
	bool		 own_tls = !modes[_i].offered &&
			    offers_its_own(modes[_i].mode, modes[_i].ca);
	const char	*name = modes[_i].offered ? tls_name : server;
	const char	*ca = modes[_i].ca;
	struct db_rows	*rows;

	own = servers_conf("mysql: {hosts: [\"%s:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, %s, tls: {mode: %s, "
	    "ca: \"%s\"}}\n", modes[_i].host, servers_get(name, "PORT"),
	    key_of(name), modes[_i].mode, ca[0] == '\0' ? "" :
	    servers_path(ca));
	db = db_new(own, 3000);
	if ((!modes[_i].works && !own_tls) || is_forbidden(modes[_i].mode)) {
		ck_fails(db_open(db, &e));
		ck_assert(!db_is_open(db));
		ck_has_not(e.text, OUTBOX_PASSWORD);
	} else {
		ck_ok(db_open(db, &e));
		rows = db_ask("SHOW SESSION STATUS LIKE 'Ssl_cipher'", &e);
		ck_assert(rows != NULL && db_next(rows));
		ck_assert((db_length(rows, 1) > 0) ==
		    (modes[_i].encrypted || own_tls));
		db_rows_free(rows);
	}
}
END_TEST

/*
 * A certificate of the server, and whether verify accepts it.  Since Connector/C
 * 3.4.2 the name of a loopback address is not checked.
 */
static const struct {
	const char	*what, *host;
	const char	*days, *ca, *names, *use;
	bool		 works;
} certificates[] = {
	{ "expired", "127.0.0.1", "0", "ca", "DNS:localhost,IP:127.0.0.1",
	  "server", false },
	{ "of another name", "0.0.0.0", "30", "ca",
	  "DNS:db.example,IP:127.0.0.2", "server", false },
	{ "of a foreign authority", "127.0.0.1", "30", "other",
	  "DNS:localhost,IP:127.0.0.1", "server", false },
	{ "of a client", "127.0.0.1", "30", "ca",
	  "DNS:localhost,IP:127.0.0.1", "client", false },
	/* The last one stays. */
	{ "good", "127.0.0.1", "30", "ca", "DNS:localhost,IP:127.0.0.1",
	  "server", true },
};

/*
 * Make it the server's, which reads its files again.  false: MySQL refuses a
 * certificate that its own authority would not accept.
 */
static bool
use_certificate(int i)
{
	servers_run("cd %s && exec 2>>openssl.log && printf "
	    "'basicConstraints=CA:FALSE\\nextendedKeyUsage=%sAuth\\n"
	    "subjectAltName=%s\\n' >one.ext && openssl x509 -req "
	    "-in server.csr -CA %s.pem -CAkey %s.key -CAcreateserial "
	    "-days %s -extfile one.ext -out server.pem", servers_path(""),
	    certificates[i].use, certificates[i].names, certificates[i].ca,
	    certificates[i].ca, certificates[i].days);
	sql_close();
	sql_open(tls_name);
	if (is_mysql() && !certificates[i].works)
		return sql_works("ALTER INSTANCE RELOAD TLS");
	sql(is_mysql() ? "ALTER INSTANCE RELOAD TLS" : "FLUSH SSL");
	return true;
}

START_TEST(certificate_is_checked)
{
	if (!use_certificate(_i))
		return;
	own = servers_conf("mysql: {hosts: [\"%s:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: verify, "
	    "ca: \"%s\"}}\n", certificates[_i].host,
	    servers_get(tls_name, "PORT"), servers_path("ca.pem"));
	db = db_new(own, 3000);
	ck_assert_msg(db_open(db, &e) == (certificates[_i].works ? 0 : -1),
	    "a certificate that is %s: %s", certificates[_i].what, e.text);
	if (!certificates[_i].works)
		ck_has(e.text, "(2026)");
}
END_TEST

/* Each connection reads the files, so that new ones need no restart. */
START_TEST(files_are_read_again)
{
	servers_run("cd %s && cp other.pem now.pem", servers_path(""));
	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: picky, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: verify, "
	    "ca: \"%s\", cert: \"%s\", key: \"%s\"}}\n",
	    servers_get(tls_name, "PORT"), servers_path("now.pem"),
	    servers_path("now-client.pem"), servers_path("client.key"));
	db = db_new(own, 3000);
	ck_fails(db_open(db, &e));
	servers_run("cd %s && cp ca.pem now.pem", servers_path(""));
	ck_fails(db_open(db, &e));	/* no client certificate yet */
	servers_run("cd %s && cp client.pem now-client.pem", servers_path(""));
	ck_ok(db_open(db, &e));
}
END_TEST

START_TEST(certificate_is_shown)
{
	char	pair[256] = "";

	if (_i == 1)
		snprintf(pair, sizeof(pair), ", cert: \"%s\", key: \"%s\"",
		    servers_path("client.pem"), servers_path("client.key"));
	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: picky, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: verify, "
	    "ca: \"%s\"%s}}\n", servers_get(tls_name, "PORT"),
	    servers_path("ca.pem"), pair);
	db = db_new(own, 3000);
	ck_assert_int_eq(db_open(db, &e), _i == 1 ? 0 : -1);
}
END_TEST

/* Without mysql.tls.ca the authorities of the system count, and no others. */
START_TEST(system_has_its_authorities)
{
	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: verify}}\n",
	    servers_get(tls_name, "PORT"));
	db = db_new(own, 3000);
	setenv("SSL_CERT_DIR", "/nonexistent", 1);
	setenv("SSL_CERT_FILE", servers_path("other.pem"), 1);
	ck_fails(db_open(db, &e));
	ck_has(e.text, "(2026)");
	setenv("SSL_CERT_FILE", servers_path("ca.pem"), 1);
	ck_ok(db_open(db, &e));
}
END_TEST

START_TEST(socket_needs_no_tls)
{
	own = servers_conf("mysql: {socket: \"%s\", user: "
	    "outbox, password_env: OUTBOX_PW, database: app, "
	    "tls: {mode: auto, ca: \"%s\"}}\n",
	    servers_get(tls_name, "SOCKET"), servers_path("other.pem"));
	db_connect(own, 3000);
}
END_TEST

/* The server that this case alone uses, because it is killed. */
START_TEST(restarted_server_is_found_again)
{
	int64_t		 start;

	own = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, %s}\n",
	    servers_get(tls_name, "PORT"), key_of(tls_name));
	db_connect(own, 3000);
	start = clock_ms();
	servers_kill(tls_name);
	ck_fails(db_run("UPDATE outbox SET attempts = 0", NULL, &e));
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_fails(db_open(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert_int_lt(ms_since(start), 4000);
	servers_restart(tls_name);
	ck_ok(db_open(db, &e));
	ck_assert_str_eq(db_value("SELECT 7"), "7");
}
END_TEST

static void
add_db(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "db", k, k->start, db_begin, db_end);

	tcase_add_test(tc, session_is_prepared);
	tcase_add_test(tc, moments_are_utc);
	tcase_add_test(tc, result_is_walked);
	tcase_add_test(tc, matched_rows_are_counted);
	tcase_add_loop_test(tc, server_is_refused, 0, NROWS(moods));
	tcase_add_loop_test(tc, login_is_refused, 0, NROWS(logins));
	tcase_add_loop_test(tc, key_is_our_own, 0, 3);
	tcase_add_loop_test(tc, next_host_is_tried, 0, 2);
	tcase_add_test(tc, failed_round_names_all_hosts);
	tcase_add_test(tc, blocked_server_is_passed_over);
	tcase_add_test(tc, silent_test_is_bounded);
	tcase_add_loop_test(tc, abandoned_session_is_ended, 0, 3);
	tcase_add_test(tc, statement_is_bounded);
	tcase_add_test(tc, hung_server_is_bounded);
	tcase_add_loop_test(tc, wrong_statement_is_told, 0, NROWS(wrongs));
	tcase_add_test(tc, becoming_read_only_is_told);
	tcase_add_test(tc, lock_wait_is_busy);
	tcase_add_test(tc, deadlock_is_busy);
	tcase_add_loop_test(tc, kill_is_told, 0, NROWS(kills));
	tcase_add_test(tc, too_many_connections_is_no_fault_of_ours);
	tcase_add_test(tc, closed_is_told);
	tcase_add_loop_test(tc, quoted_text_arrives, 0, NROWS(quotes));
	tcase_add_test(tc, name_is_quoted);

	add_server(s, k);
	add_session(s, k);

	tc = add_case(s, "tls", k, strcmp(k->name, "mysql") == 0 ?
	    start_mysql_tls : start_mariadb_tls, begin, db_end);
	tcase_add_loop_test(tc, tls_is_as_asked, 0, NROWS(modes));
	tcase_add_loop_test(tc, certificate_is_checked, 0,
	    NROWS(certificates));
	tcase_add_loop_test(tc, certificate_is_shown, 0, 2);
	tcase_add_test(tc, files_are_read_again);
	tcase_add_test(tc, system_has_its_authorities);
	tcase_add_test(tc, socket_needs_no_tls);
	tcase_add_test(tc, restarted_server_is_found_again);
}

int
main(void)
{
	return frame_run("db", add_db);
}
