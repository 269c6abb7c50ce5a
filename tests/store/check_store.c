/*
 * check_store.c - connection and store against real servers
 *
 * Every test runs on MariaDB, and again on Oracle MySQL where the environment
 * names one in OUTBOX_MYSQL_TREE.  The store works with the account and the
 * rights that sql/ gives it; what it did is looked up as root, on a
 * connection of the test's own.  Time is not waited for: the rows are made
 * older instead.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/clock.h"
#include "mysql/db.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "util/log.h"
#include "worker/fleet.h"
#include "lib/servers.h"
#include "store/store.h"
#include "store/store_sql.h"
#include "util/xalloc.h"

/* The server takes its time to see that a connection is gone. */
static void
wait_for_goodbye(void)
{
	for (int64_t until = patience(); strcmp(sql_text("SELECT COUNT(*) "
	    "FROM information_schema.processlist WHERE user = 'outbox'"),
	    "0") != 0; )
		wait_more(&until, "the end of all connections");
}

/*
 * The connection
 */

static int
db_run(struct db *db, const char *text, uint64_t *matched, struct err *err)
{
	struct buf	b = { 0 };
	int		rc;

	buf_str(&b, text);
	rc = db_exec(db, "doing", &b, matched, err);
	buf_free(&b);
	return rc;
}

static struct db_rows *
db_ask(struct db *db, const char *text, struct err *err)
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
db_value(struct db *db, const char *text)
{
	static char	 value[4096];
	struct db_rows	*rows = db_ask(db, text, &e);

	ck_assert_msg(rows != NULL, "%s: %s", text, e.text);
	ck_assert(db_next(rows));
	snprintf(value, sizeof(value), "%s",
	    db_text(rows, 0) == NULL ? "NULL" : db_text(rows, 0));
	db_rows_free(rows);
	return value;
}

static struct db *
db_connected(const struct conf *c, int64_t wait_ms)
{
	struct db	*db = db_new(c, wait_ms);

	ck_ok(db_open(db, &e));
	ck_assert(db_is_open(db));
	return db;
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
	struct db	*db = db_connected(conf, 3000);

	ck_assert_str_eq(db_value(db, "SELECT @@time_zone"), "+00:00");
	ck_assert_str_eq(db_value(db, is_mysql() ?
	    "SELECT @@transaction_isolation" : "SELECT @@tx_isolation"),
	    "READ-COMMITTED");
	/* The server must give up first, or what is busy looks lost. */
	ck_near(atoi(db_value(db, "SELECT @@innodb_lock_wait_timeout")), 1, 2);
	ck_near(atoi(db_value(db, "SELECT @@lock_wait_timeout")), 1, 2);
	ck_assert_str_eq(db_value(db, "SELECT @@autocommit"), "1");
	ck_has(db_value(db, "SELECT @@sql_mode"), "STRICT_TRANS_TABLES");
	ck_assert_str_eq(db_value(db, "SELECT @@character_set_client"),
	    "utf8mb4");
	ck_assert_str_eq(db_value(db, "SELECT DATABASE()"), "app");
	ck_assert_str_eq(db_value(db, "SELECT CURRENT_USER()"),
	    "outbox@localhost");
	ck_assert(db_is_mariadb(db) == !is_mysql());
	ck_assert_str_eq(db_peer(db), conf->mysql.socket);
	db_free(db);
}
END_TEST

/* What is shown must be so: the moment is read back in another zone. */
START_TEST(moments_are_utc)
{
	struct db	*db;

	sql("SET GLOBAL time_zone = '+05:00'");
	db = db_connected(conf, 3000);
	ck_ok(db_run(db, "UPDATE outbox SET published_at = "
	    "'2026-01-31 12:00:00.5' WHERE global_sequence = 1", NULL, &e));
	sql("SET GLOBAL time_zone = SYSTEM; SET time_zone = '+01:00'");
	ck_sql("2026-01-31 13:00:00.500000",
	    "SELECT published_at FROM outbox WHERE global_sequence = 1");
	db_free(db);
}
END_TEST

START_TEST(result_is_walked)
{
	struct db	*db = db_connected(conf, 3000);
	struct db_rows	*rows;

	rows = db_ask(db, "SELECT 18446744073709551615, NULL, _binary'a\\0b', "
	    "'' UNION ALL SELECT 0, 7, 'x', 'y'", &e);
	ck_assert_ptr_nonnull(rows);
	ck_assert_uint_eq(db_nrows(rows), 2);
	ck_assert(db_next(rows));
	ck_assert_uint_eq(db_u64(rows, 0), UINT64_MAX);
	ck_assert_ptr_null(db_text(rows, 1));
	ck_assert_uint_eq(db_u64(rows, 1), 0);
	ck_assert_uint_eq(db_length(rows, 2), 3);
	ck_assert_mem_eq(db_text(rows, 2), "a\0b", 3);
	ck_assert_uint_eq(db_length(rows, 3), 0);
	ck_assert_str_eq(db_text(rows, 3), "");
	ck_assert(db_next(rows));
	ck_assert_uint_eq(db_u64(rows, 1), 7);
	ck_assert(!db_next(rows));
	db_rows_free(rows);
	db_rows_free(NULL);
	db_free(db);
	db_free(NULL);
}
END_TEST

START_TEST(matched_rows_are_counted)
{
	struct db	*db = db_connected(conf, 3000);
	uint64_t	 n;

	ck_ok(db_run(db, "UPDATE outbox SET attempts = attempts "
	    "WHERE global_sequence < 3", &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_ok(db_run(db, "INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('a'), ('b'), ('c')", &n, &e));
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(db_last_fault(db), DB_FINE);
	db_free(db);
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
	struct db	*db;

	if (moods[_i].mysql_only && !is_mysql())
		return;
	db = db_new(conf, 3000);
	sql("%s", moods[_i].global);
	ck_fails(db_open(db, &e));
	ck_assert(!db_is_open(db));
	ck_assert_int_eq(db_last_fault(db), moods[_i].fault);
	ck_has(e.text, moods[_i].text);
	ck_has(e.text, db_peer(db));
	calm_down();
	ck_ok(db_open(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_FINE);
	db_free(db);
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
	struct conf	*c = servers_conf("mysql: {socket: \"%s\", %s}\n",
			    conf->mysql.socket, logins[_i].mysql);
	struct db	*db = db_new(c, 3000);

	setenv("WRONG_PW", "wr0ng-s3cret", 1);
	ck_fails(db_open(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_WRONG);
	ck_assert(!db_is_open(db));
	ck_has(e.text, logins[_i].text);
	ck_has(e.text, "mysql ");
	ck_has_not(e.text, "wr0ng-s3cret");
	ck_has_not(e.text, OUTBOX_PASSWORD);
	db_free(db);
	conf_free(c);
}
END_TEST

/* A TCP port: -1 that nobody listens on, or that takes and says nothing. */
static int
dumb_port(bool listens)
{
	struct sockaddr_in	sa = { .sin_family = AF_INET };
	socklen_t		len = sizeof(sa);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

START_TEST(next_host_is_tried)
{
	int		 away = dumb_port(_i == 1);
	const char	*port = servers_get(server, "PORT");
	int64_t		 start = clock_ms();
	struct conf	*c;
	struct db	*db;

	c = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\", "
	    "\"127.0.0.1:%s\"], user: outbox, password_env: OUTBOX_PW, "
	    "database: app}\n", away, port);
	db = db_new(c, 3000);
	/* Round and round, but the silent one takes its time. */
	for (int round = 0; round < 2 - _i; round++) {
		ck_fails(db_open(db, &e));
		ck_assert_int_eq(db_last_fault(db), DB_LOST);
		ck_has(e.text, c->mysql.hosts.items[0]);
		ck_assert_str_eq(db_peer(db), c->mysql.hosts.items[0]);
		ck_ok(db_open(db, &e));
		ck_assert_str_eq(db_peer(db), c->mysql.hosts.items[1]);
		ck_assert_str_eq(db_value(db, "SELECT @@port"), port);
	}
	ck_assert_int_lt(ms_since(start), 3500);
	db_free(db);
	conf_free(c);
}
END_TEST

START_TEST(statement_is_bounded)
{
	struct db	*db = db_connected(conf, 2000);
	int64_t		 start = clock_ms();

	ck_assert_ptr_null(db_ask(db, "SELECT SLEEP(9)", &e));
	ck_near(ms_since(start), 1900, 3500);
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert(!db_is_open(db));
	ck_has(e.text, "asking");
	ck_ok(db_open(db, &e));
	ck_assert_str_eq(db_value(db, "SELECT 7"), "7");
	db_free(db);
}
END_TEST

START_TEST(hung_server_is_bounded)
{
	struct db	*db = db_new(conf, 2000);
	int64_t		 start = clock_ms();

	servers_signal(server, SIGSTOP);
	ck_fails(db_open(db, &e));
	servers_signal(server, SIGCONT);
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert_int_lt(ms_since(start), 3500);
	db_free(db);
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
	struct db	*db = db_connected(conf, 3000);

	ck_fails(db_run(db, wrongs[_i].sql, NULL, &e));
	ck_assert_int_eq(db_last_fault(db), DB_WRONG);
	ck_assert_int_eq(strncmp(e.text, "doing: ", 7), 0);
	ck_has(e.text, wrongs[_i].text);
	ck_assert(db_is_open(db));
	ck_assert_str_eq(db_value(db, "SELECT 7"), "7");
	db_free(db);
}
END_TEST

START_TEST(becoming_read_only_is_told)
{
	struct db	*db = db_connected(conf, 3000);

	sql("SET GLOBAL read_only = 1");
	ck_fails(db_run(db, "UPDATE outbox SET attempts = 1", NULL, &e));
	ck_assert_int_eq(db_last_fault(db), DB_READONLY);
	ck_assert(!db_is_open(db));
	db_free(db);
}
END_TEST

/* It is rounded up, but who gives up first, the server or the library? */
START_TEST(lock_wait_is_busy)
{
	struct db	*db = db_connected(conf, 1000);
	int64_t		 start = clock_ms();

	sql("START TRANSACTION; UPDATE outbox SET attempts = 1 "
	    "WHERE global_sequence = 1");
	ck_fails(db_run(db, "UPDATE outbox SET attempts = 2 "
	    "WHERE global_sequence = 1", NULL, &e));
	ck_assert_int_lt(ms_since(start), 3500);
	ck_assert_msg(db_last_fault(db) == DB_BUSY, "%s", e.text);
	ck_assert(db_is_open(db));
	sql("COMMIT");
	ck_assert_str_eq(db_value(db, "SELECT MAX(attempts) FROM outbox"), "1");
	db_free(db);
}
END_TEST

/* A statement in a thread of its own, because it will wait. */
struct job {
	struct db	*db;
	const char	*sql;
	int		 rc;
	struct err	 e;
	pthread_t	 thread;
};

static void *
job_run(void *arg)
{
	struct job	*j = arg;

	j->rc = db_run(j->db, j->sql, NULL, &j->e);
	return NULL;
}

static void
job_start(struct job *j)
{
	ck_assert_int_eq(pthread_create(&j->thread, NULL, job_run, j), 0);
}

START_TEST(deadlock_is_busy)
{
	struct job	j = { .db = db_connected(conf, 9000) };

	j.sql = "UPDATE outbox SET attempts = 2 WHERE global_sequence = 2";
	/* Who changed fewer rows is the victim. */
	sql("START TRANSACTION; UPDATE outbox SET attempts = 9 "
	    "WHERE global_sequence IN (2, 3); "
	    "UPDATE events SET event_type = 'x'; "
	    "UPDATE outbox_settings SET partition_count = 9; "
	    "INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f')");
	ck_ok(db_run(j.db, "START TRANSACTION", NULL, &e));
	ck_ok(db_run(j.db, "UPDATE outbox SET attempts = 2 "
	    "WHERE global_sequence = 1", NULL, &e));
	job_start(&j);
	wait_for_locks(1);
	sql("UPDATE outbox SET attempts = 9 WHERE global_sequence = 1");
	pthread_join(j.thread, NULL);
	sql("COMMIT");
	ck_assert_int_eq(j.rc, -1);
	ck_assert_msg(db_last_fault(j.db) == DB_BUSY, "%s", j.e.text);
	ck_has(j.e.text, "1213");
	ck_assert(db_is_open(j.db));
	ck_sql("27", "SELECT SUM(attempts) FROM outbox");
	db_free(j.db);
}
END_TEST

/* Killed by an operator: while idle, while waiting, only the statement. */
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
	struct job	 j = { .db = db_connected(conf, 9000) };
	const char	*id = db_value(j.db, "SELECT CONNECTION_ID()");

	j.sql = "UPDATE outbox SET attempts = 2 WHERE global_sequence = 1";
	sql("START TRANSACTION; UPDATE outbox SET attempts = 9 "
	    "WHERE global_sequence = 1");
	if (kills[_i].idle) {
		sql("%s %s", kills[_i].kill, id);
		for (int64_t until = patience(); strcmp(sql_text("SELECT "
		    "COUNT(*) FROM information_schema.processlist "
		    "WHERE id = %s", id), "0") != 0; )
			wait_more(&until, "the connection to be killed");
		job_run(&j);
	} else {
		job_start(&j);
		wait_for_locks(1);
		sql("%s %s", kills[_i].kill, id);
		pthread_join(j.thread, NULL);
	}
	sql("COMMIT");
	ck_assert_int_eq(j.rc, -1);
	ck_assert_msg(db_last_fault(j.db) == kills[_i].fault, "%s", j.e.text);
	ck_assert(db_is_open(j.db) == (kills[_i].fault == DB_BUSY));
	ck_sql("9", "SELECT attempts FROM outbox WHERE global_sequence = 1");
	if (!db_is_open(j.db))
		ck_ok(db_open(j.db, &e));
	ck_ok(db_run(j.db, j.sql, NULL, &e));
	db_free(j.db);
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
	struct db	*db = db_new(conf, 3000);

	for (int i = 0; i < 2; i++) {
		ck_assert(!db_is_open(db));
		ck_fails(db_run(db, "SELECT 1", NULL, &e));
		ck_assert_int_eq(db_last_fault(db), DB_CLOSED);
		ck_has(e.text, "doing: ");
		ck_assert_ptr_null(db_ask(db, "SELECT 1", &e));
		ck_ok(db_open(db, &e));
		db_close(db);
		db_close(db);
	}
	db_free(db);
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
	struct db	*db = db_connected(conf, 3000);
	struct buf	 b = { 0 }, hex = { 0 };
	struct db_rows	*rows;

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
	db_free(db);
}
END_TEST

START_TEST(name_is_quoted)
{
	struct buf	b = { 0 };

	db_name(&b, "select");
	db_name(&b, "a$-b");
	ck_assert_str_eq(b.data, "`select``a$-b`");
	buf_free(&b);
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

START_TEST(tls_is_as_asked)
{
	const char	*name = modes[_i].offered ? tls_name : server;
	const char	*ca = modes[_i].ca;
	struct conf	*c;
	struct db	*db;
	struct db_rows	*rows;

	c = servers_conf("mysql: {hosts: [\"%s:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: %s, "
	    "ca: \"%s\"}}\n", modes[_i].host, servers_get(name, "PORT"),
	    modes[_i].mode, ca[0] == '\0' ? "" : servers_path(ca));
	db = db_new(c, 3000);
	if (!modes[_i].works) {
		ck_fails(db_open(db, &e));
		ck_assert(!db_is_open(db));
		ck_has_not(e.text, OUTBOX_PASSWORD);
	} else {
		ck_ok(db_open(db, &e));
		rows = db_ask(db, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", &e);
		ck_assert(rows != NULL && db_next(rows));
		ck_assert((db_length(rows, 1) > 0) == modes[_i].encrypted);
		db_rows_free(rows);
	}
	db_free(db);
	conf_free(c);
}
END_TEST

START_TEST(certificate_is_shown)
{
	char		 own[256] = "";
	struct conf	*c;
	struct db	*db;

	if (_i == 1)
		snprintf(own, sizeof(own), ", cert: \"%s\", key: \"%s\"",
		    servers_path("client.pem"), servers_path("client.key"));
	c = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: picky, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: verify, "
	    "ca: \"%s\"%s}}\n", servers_get(tls_name, "PORT"),
	    servers_path("ca.pem"), own);
	db = db_new(c, 3000);
	ck_assert_int_eq(db_open(db, &e), _i == 1 ? 0 : -1);
	db_free(db);
	conf_free(c);
}
END_TEST

START_TEST(socket_needs_no_tls)
{
	struct conf	*c = servers_conf("mysql: {socket: \"%s\", user: "
			    "outbox, password_env: OUTBOX_PW, database: app, "
			    "tls: {mode: auto, ca: \"%s\"}}\n",
			    servers_get(tls_name, "SOCKET"),
			    servers_path("other.pem"));

	db_free(db_connected(c, 3000));
	conf_free(c);
}
END_TEST

/* The server that this case alone uses, because it is killed. */
START_TEST(restarted_server_is_found_again)
{
	struct conf	*c;
	struct db	*db;
	int64_t		 start;

	c = servers_conf("mysql: {hosts: [\"127.0.0.1:%s\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app}\n",
	    servers_get(tls_name, "PORT"));
	db = db_connected(c, 3000);
	start = clock_ms();
	servers_kill(tls_name);
	ck_fails(db_run(db, "UPDATE outbox SET attempts = 0", NULL, &e));
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_fails(db_open(db, &e));
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert_int_lt(ms_since(start), 4000);
	servers_restart(tls_name);
	ck_ok(db_open(db, &e));
	ck_assert_str_eq(db_value(db, "SELECT 7"), "7");
	db_free(db);
	conf_free(c);
}
END_TEST

/*
 * Tables and settings
 */

/* Another database, for tests that spoil it. */
static struct conf	*other_conf;

static void
other_begin(void)
{
	begin();
	sql_load(server, "other");
	sql("USE other");
	other_conf = conf_for("other");
	st = store_new(other_conf, ME);
	ck_ok(store_open(st, &e));
}

static void
other_end(void)
{
	store_free(st);
	conf_free(other_conf);
	end();
}

#define FF8	"\xff\xff\xff\xff\xff\xff\xff\xff"
#define A_UML	"\xc3\xa4"

/* A column, a value, and what is kept of it. */
static const struct {
	const char	*type, *value;
	size_t		 len;
	const char	*kept;
	size_t		 kept_len;
} fits[] = {
#define ROW(type, value, kept)	\
	{ type, value, sizeof(value) - 1, kept, sizeof(kept) - 1 }
#define TEXT10	"VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	ROW(TEXT10, "", ""), ROW(TEXT10, "it's \\ %s", "it's \\ %s"),
	ROW(TEXT10, "0123456789", "0123456789"),
	ROW(TEXT10, "0123456789a", "0123456..."),
	ROW(TEXT10, "a\0b", "a\0b"),
	ROW(TEXT10, A_UML "bcdefghi" A_UML, A_UML "bcdefghi" A_UML),
	ROW(TEXT10, A_UML A_UML A_UML A_UML A_UML A_UML A_UML A_UML A_UML
	    A_UML A_UML, A_UML A_UML A_UML A_UML A_UML A_UML A_UML "..."),
	ROW(TEXT10, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"),
	ROW(TEXT10, "\xff\x0a", "0xff0a"),
	ROW(TEXT10, "a\xc3", "0x61c3"),
	ROW(TEXT10, FF8, "0xfffff..."),
	ROW("VARCHAR(3) CHARACTER SET utf8mb4", "abcd", "abc"),
	ROW("VARCHAR(10) CHARACTER SET ascii", "abc", "abc"),
	ROW("VARCHAR(10) CHARACTER SET ascii", A_UML, "0xc3a4"),
	ROW("VARCHAR(10) CHARACTER SET latin1", A_UML, "0xc3a4"),
	ROW("VARCHAR(10) CHARACTER SET utf8mb3", "\xf0\x9f\x98\x80",
	    "0xf09f9880"),
	ROW("VARBINARY(10)", "\xff\0\xfe", "\xff\0\xfe"),
	ROW("VARBINARY(10)", FF8 "\xff\xff", FF8 "\xff\xff"),
	ROW("VARBINARY(10)", FF8 FF8, "\xff\xff\xff\xff\xff\xff\xff..."),
	ROW("VARBINARY(10)", "aaaaaa" A_UML "bbb", "aaaaaa..."),
	ROW("VARBINARY(10)", "aaaaa" A_UML "bbbb", "aaaaa" A_UML "..."),
	ROW("VARBINARY(10)", "\xff" "aaaaa" A_UML "bbb",
	    "\xff" "aaaaa\xc3" "..."),
	ROW("VARBINARY(2)", "abc", "ab"), ROW("LONGBLOB", FF8, FF8),
	ROW("LONGTEXT CHARACTER SET utf8mb4", "0123456789a", "0123456789a"),
#undef ROW
};

START_TEST(values_are_made_to_fit)
{
	for (int i = 0; i < NROWS(fits); i++) {
		struct buf	want = { 0 };

		sql("DELETE FROM outbox_dead_letters; ALTER TABLE "
		    "outbox_dead_letters MODIFY order_key %s NULL",
		    fits[i].type);
		ck_ok(store_learn(st, &e));
		ck_assert(store_fits(st, FIT_DEAD_KEY, fits[i].value,
		    fits[i].len) == (fits[i].len == fits[i].kept_len &&
		    memcmp(fits[i].value, fits[i].kept, fits[i].len) == 0));
		store_sql(st, "INSERT INTO {dead} (global_sequence, reason, "
		    "order_key) VALUES (1, 'x', ");
		store_put_fit(st, FIT_DEAD_KEY, fits[i].value, fits[i].len);
		store_put(st, ") ON DUPLICATE KEY UPDATE "
		    "order_key = VALUES(order_key)");
		ck_assert_msg(store_exec(st, "fit", NULL, &e) == 0,
		    "%d: %s: %s", i, fits[i].type, e.text);
		for (size_t k = 0; k < fits[i].kept_len; k++)
			buf_printf(&want, "%02X",
			    (unsigned char)fits[i].kept[k]);
		ck_assert_msg(strcmp(sql_text("SELECT HEX(order_key) FROM "
		    "outbox_dead_letters"), want.len == 0 ? "" :
		    want.data) == 0, "%d: %s: %s is not %s", i, fits[i].type,
		    sql_text("SELECT HEX(order_key) FROM "
		    "outbox_dead_letters"), want.len == 0 ? "" : want.data);
		buf_free(&want);
	}
	store_sql(st, "UPDATE {dead} SET order_key = ");
	store_put_fit(st, FIT_DEAD_KEY, NULL, 0);
	ck_ok(store_exec(st, "fit", NULL, &e));
	ck_sql("NULL", "SELECT order_key FROM outbox_dead_letters");
}
END_TEST

/* An error stays one where its column knows nothing but ASCII. */
START_TEST(errors_are_made_to_fit)
{
	sql("ALTER TABLE outbox_dead_letters MODIFY last_error VARCHAR(8) "
	    "CHARACTER SET ascii NULL");
	ck_ok(store_learn(st, &e));
	store_sql(st, "INSERT INTO {dead} (global_sequence, reason, "
	    "last_error) VALUES (1, 'x', ");
	store_put_error(st, FIT_DEAD_ERROR, "a" A_UML "bcdefgh");
	store_put(st, "), (2, 'x', ");
	store_put_error(st, FIT_DEAD_ERROR, NULL);
	store_put(st, ")");
	ck_ok(store_exec(st, "fit", NULL, &e));
	ck_sql("a??bc...\nNULL", "SELECT last_error FROM outbox_dead_letters "
	    "ORDER BY global_sequence");
}
END_TEST

START_TEST(own_schema_is_understood)
{
	ck_ok(store_learn(st, &e));
	ck_assert(store_has_dead(st));
	ck_assert_str_eq(logged(), "");
	ck_assert_str_eq(store_peer(st), conf->mysql.socket);
	ck_assert_int_eq(store_fault(st), DB_FINE);
}
END_TEST

static const char *const	needed[] = {
	"outbox", "events", "outbox_partitions", "outbox_workers"
};

START_TEST(missing_table_is_named)
{
	char	name[64];

	snprintf(name, sizeof(name), "other.%s ", needed[_i]);
	sql("RENAME TABLE %s TO gone", needed[_i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, name);
	ck_has(e.text, "schema.sql");
	sql("RENAME TABLE gone TO %s", needed[_i]);
	ck_ok(store_learn(st, &e));
	sql("REVOKE ALL ON %s FROM 'outbox'@'localhost'", needed[_i]);
	ck_fails(store_learn(st, &e));
	ck_has(e.text, name);
	ck_has(e.text, "grant");
}
END_TEST

static const char *const	needed_columns[] = {
	"outbox.global_sequence", "outbox.attempts", "outbox.available_at",
	"outbox.published_at", "outbox.partition_key", "outbox.claim_token",
	"outbox.last_error", "events.sequence", "events.stream_id",
	"events.stream_sequence", "events.correlation_id", "events.event_type",
	"events.event_version", "events.metadata", "events.event_data",
	"events.occurred_at", "outbox_partitions.partition_key",
	"outbox_partitions.lease_owner", "outbox_partitions.lease_until",
	"outbox_partitions.lease_epoch", "outbox_partitions.updated_at",
	"outbox_workers.id", "outbox_workers.hostname", "outbox_workers.pid",
	"outbox_workers.started_at", "outbox_workers.updated_at",
	"outbox_workers.heartbeat_until", "outbox_settings.schema_version",
	"outbox_settings.outbox_id", "outbox_dead_letters.global_sequence",
	"outbox_dead_letters.partition_key", "outbox_dead_letters.order_key",
	"outbox_dead_letters.event_type", "outbox_dead_letters.attempts",
	"outbox_dead_letters.reason", "outbox_dead_letters.last_error",
};

START_TEST(missing_column_is_named)
{
	for (int i = 0; i < NROWS(needed_columns); i++) {
		const char	*column = strchr(needed_columns[i], '.') + 1;
		int		 n = (int)(column - needed_columns[i]) - 1;

		sql("ALTER TABLE %.*s RENAME COLUMN %s TO gone", n,
		    needed_columns[i], column);
		ck_fails(store_learn(st, &e));
		ck_has(e.text, needed_columns[i]);
		sql("ALTER TABLE %.*s RENAME COLUMN gone TO %s", n,
		    needed_columns[i], column);
	}
	ck_ok(store_learn(st, &e));
}
END_TEST

START_TEST(optional_tables_may_be_missing)
{
	unsigned	count = 12;

	sql("DROP TABLE outbox_settings");
	ck_ok(store_learn(st, &e));
	ck_assert(store_has_dead(st));
	ck_assert_str_eq(logged(), "");
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 12);
	ck_assert_str_eq(store_outbox_id(st), "");
	sql("DROP TABLE outbox_dead_letters");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_has_dead(st));
	ck_has(logged(), "outbox_dead_letters");
	ck_assert(store_can_recover(st));
	sql("DROP TABLE outbox_streams");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_recover(st));
	ck_has(logged(), "outbox_streams");
}
END_TEST

static const struct {
	const char	*name, *type;
} spares[] = {
	{ "ack_sequence", "BIGINT UNSIGNED NULL" },
	{ "message_hash", "BIGINT UNSIGNED NULL" },
	{ "unsure_since", "TIMESTAMP(6) NULL" },
};

START_TEST(column_may_be_missing)
{
	char	remedy[128];

	sql("ALTER TABLE outbox DROP COLUMN %s", spares[_i].name);
	ck_ok(store_learn(st, &e));
	ck_assert(store_can_recover(st) == (_i != 0));
	snprintf(remedy, sizeof(remedy), "ALTER TABLE outbox ADD COLUMN %s %s",
	    spares[_i].name, spares[_i].type);
	ck_has(logged(), remedy);
	servers_write("log", "");
	sql("%s", remedy);
	ck_ok(store_learn(st, &e));
	ck_has_not(logged(), "ALTER TABLE");
}
END_TEST

/* Tables under other names, as the configuration has it. */
START_TEST(tables_may_have_other_names)
{
	static const char *const names[] =
	    { "o-1", "e$", "select", "w", "s", "d", "t" };
	struct range	 r = range("p00", 1);
	struct conf	*c;
	struct store	*s;
	uint64_t	 one = 1, n;
	unsigned	 count = 2, strays;
	struct batch	 b = { 0 };
	struct settled	 done = { 0 };
	char		 label[STORE_LABEL];
	bool		 known;

	sql("RENAME TABLE outbox TO `o-1`, events TO `e$`, outbox_partitions "
	    "TO `select`, outbox_workers TO w, outbox_settings TO s, "
	    "outbox_dead_letters TO d, outbox_streams TO t");
	for (int i = 0; i < NROWS(names); i++)
		sql("GRANT ALL ON `%s` TO 'outbox'@'localhost'", names[i]);
	c = servers_conf("mysql: {socket: \"%s\", user: outbox, password_env: "
	    "OUTBOX_PW, database: other}\noutbox: {tables: {outbox: o-1, "
	    "events: e$, partitions: select, workers: w, settings: s, "
	    "dead_letters: d, streams: t}}\n", conf->mysql.socket);
	s = store_of(c, ME);
	ck_ok(store_settings(s, &count, &e));
	ck_ok(store_fill_partitions(s, count, &e));
	ck_ok(store_beat(s, &known, &e));
	sql("INSERT INTO `o-1` (global_sequence, partition_key) "
	    "VALUES (1, 'p00'); UPDATE `select` SET lease_owner = '" ME "', "
	    "lease_epoch = 1, lease_until = NOW(6) + INTERVAL 60 SECOND");
	ck_ok(store_adopt_strays(s, &strays, label, &e));
	ck_ok(store_claim(s, &r, 1, &one, 1, &b, &n, &e));
	ck_ok(store_fetch(s, &one, 1, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 1);
	msg_fail(&b.msgs[0], OUT_DEAD, "why");
	b.msgs[0].reason = "message";
	ck_ok(store_settle(s, &b, &done, &e));
	ck_sql("1 p00 message why",
	    "SELECT global_sequence, partition_key, reason, last_error FROM d");
	ck_ok(store_leave(s, &e));
	batch_free(&b);
	store_free(s);
	conf_free(c);
}
END_TEST

static const struct {
	const char	*key;		/* NULL: none */
	bool		 good;
} indexes[] = {
	{ "`odd name` (published_at, partition_key, global_sequence)", true },
	{ "k2 (partition_key, published_at, global_sequence)", true },
	{ "k3 (published_at, partition_key)", true },
	{ "k4 (partition_key, published_at)", true },
	{ "k5 (partition_key, available_at)", false },
	{ "k6 (published_at, available_at, partition_key)", false },
	{ "k7 (published_at)", false },
	{ NULL, false },
};

START_TEST(index_is_found)
{
	struct range		 ranges[2] = { range("p00", 1), range("", 1) };
	struct candidate	*c;
	size_t			 n;
	char			 name[32] = "FORCE INDEX (`odd name`)";

	sql("ALTER TABLE outbox DROP KEY outbox_claim");
	if (indexes[_i].key != NULL)
		sql("ALTER TABLE outbox ADD KEY %s", indexes[_i].key);
	if (_i > 0 && indexes[_i].good)
		snprintf(name, sizeof(name), "FORCE INDEX (`%.2s`)",
		    indexes[_i].key);
	ck_ok(store_learn(st, &e));
	ck_assert((strstr(logged(), "ADD KEY outbox_claim") == NULL) ==
	    indexes[_i].good);
	sql("INSERT INTO outbox (global_sequence, partition_key) VALUES "
	    "(4, 'p00'), (3, NULL), (2, 'p00'), (1, '')");
	log_statements();
	ck_ok(store_candidates(st, ranges, 2, &c, &n, &e));
	sql("SET GLOBAL general_log = 0");
	ck_sql(indexes[_i].good ? "1" : "0", "SELECT COUNT(*) " STATEMENTS
	    "AND argument LIKE '%%%s%%'", indexes[_i].good ? name :
	    "FORCE INDEX");
	ck_assert_uint_eq(n, 4);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(c[i].sequence, i + 1);
	free(c);
}
END_TEST

START_TEST(empty_settings_are_filled)
{
	unsigned	count = 24, other = 8;
	struct store	*s = store_of(conf, OTHER);

	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 24);
	ck_sql("24", "SELECT partition_count FROM outbox_settings");
	ck_assert_str_eq(store_outbox_id(st), "abc");
	/* Who comes later must take what is there. */
	ck_ok(store_settings(s, &other, &e));
	ck_assert_uint_eq(other, 24);
	store_free(s);
}
END_TEST

static void *
settings_run(void *arg)
{
	ck_ok(store_settings(st, arg, &e));
	return NULL;
}

/* Both saw that nothing was there; who commits first has said it. */
START_TEST(first_to_fill_wins)
{
	unsigned	count = 24;
	pthread_t	thread;

	sql("START TRANSACTION; UPDATE outbox_settings "
	    "SET partition_count = 8");
	ck_assert_int_eq(pthread_create(&thread, NULL, settings_run, &count),
	    0);
	wait_for_locks(1);
	sql("COMMIT");
	pthread_join(thread, NULL);
	ck_assert_uint_eq(count, 8);
	ck_sql("8", "SELECT partition_count FROM outbox_settings");
}
END_TEST

START_TEST(settings_win)
{
	unsigned	count = 24;

	sql("UPDATE outbox_settings SET partition_count = 8");
	ck_ok(store_settings(st, &count, &e));
	ck_assert_uint_eq(count, 8);
	ck_sql("8", "SELECT partition_count FROM outbox_settings");
}
END_TEST

START_TEST(odd_settings_are_refused)
{
	unsigned	count = 24;

	sql("UPDATE outbox_settings SET schema_version = 2");
	ck_fails(store_settings(st, &count, &e));
	ck_has(e.text, "newer");
	sql("DELETE FROM outbox_settings");
	ck_fails(store_settings(st, &count, &e));
	ck_has(e.text, "outbox_settings");
	sql("INSERT INTO outbox_settings (schema_version, outbox_id) "
	    "VALUES (1, 'abc')");
	ck_ok(store_settings(st, &count, &e));
}
END_TEST

START_TEST(partitions_are_filled)
{
	sql("INSERT INTO outbox_partitions (partition_key, lease_owner, "
	    "lease_epoch) VALUES ('p01', 'x', 7), ('mine', NULL, 0)");
	ck_ok(store_fill_partitions(st, 3, &e));
	ck_sql("mine NULL 0\np00 NULL 0\np01 x 7\np02 NULL 0", "SELECT "
	    "partition_key, lease_owner, lease_epoch FROM outbox_partitions "
	    "ORDER BY 1");
	ck_ok(store_fill_partitions(st, 120, &e));
	ck_sql("121 p119", "SELECT COUNT(*), (SELECT partition_key "
	    "FROM outbox_partitions WHERE partition_key LIKE 'p119') "
	    "FROM outbox_partitions");
	ck_sql("p09 p10 p99 p100", "SELECT GROUP_CONCAT(partition_key ORDER BY "
	    "LENGTH(partition_key), partition_key SEPARATOR ' ') "
	    "FROM outbox_partitions "
	    "WHERE partition_key IN ('p09', 'p9', 'p10', 'p99', 'p100')");
	ck_ok(store_fill_partitions(st, 16, &e));
	ck_sql("121", "SELECT COUNT(*) FROM outbox_partitions");
	/* Nothing to fill: no claim in progress is waited for. */
	sql("START TRANSACTION; SELECT * FROM outbox_partitions FOR UPDATE");
	ck_ok(store_fill_partitions(st, 120, &e));
	sql("COMMIT");
}
END_TEST

static unsigned
adopt(char label[STORE_LABEL])
{
	unsigned	n = 99;

	ck_ok(store_adopt_strays(st, &n, label, &e));
	return n;
}

START_TEST(no_stray_is_adopted)
{
	char	label[STORE_LABEL];

	ck_assert_uint_eq(adopt(label), 0);
	ck_ok(store_fill_partitions(st, 3, &e));
	ck_assert_uint_eq(adopt(label), 0);
	add_rows(1, 3, "'p01'");
	add_rows(4, 4, "'gone'");
	add_rows(5, 5, "NULL");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence >= 4");
	ck_assert_uint_eq(adopt(label), 0);
	ck_sql("3", "SELECT COUNT(*) FROM outbox_partitions");
}
END_TEST

static const char *const	strays[][2] = {
	{ "NULL", "" }, { "''", "" }, { "'a'", "a" }, { "'p005'", "p005" },
	{ "'p01x'", "p01x" }, { "'zebra'", "zebra" }, { "'P01'", "P01" },
	{ "'it''s \\\\'", "it's \\" }, { "'\xc3\xa4'", "\xc3\xa4" },
};

START_TEST(stray_is_adopted)
{
	char	label[STORE_LABEL] = "?";

	if (_i % 2 == 0)
		ck_ok(store_fill_partitions(st, 3, &e));
	add_rows(1, 2, strays[_i][0]);
	ck_assert_uint_eq(adopt(label), 1);
	ck_assert_str_eq(label, strays[_i][1]);
	ck_sql("1", "SELECT COUNT(*) FROM outbox_partitions "
	    "WHERE partition_key = COALESCE(%s, '') AND lease_owner IS NULL",
	    strays[_i][0]);
	ck_assert_uint_eq(adopt(label), 0);
}
END_TEST

START_TEST(all_strays_are_adopted_in_time)
{
	char		label[STORE_LABEL];
	unsigned	sum = 0, n;

	ck_ok(store_fill_partitions(st, 3, &e));
	for (int i = 0; i < NROWS(strays); i++)
		add_rows((unsigned)i + 1, (unsigned)i + 1, strays[i][0]);
	while ((n = adopt(label)) > 0)
		sum += n;
	ck_assert_uint_ge(sum, 8);	/* '' may be counted twice */
	ck_sql("11", "SELECT COUNT(*) FROM outbox_partitions");
	ck_sql("0", "SELECT COUNT(*) FROM outbox LEFT JOIN outbox_partitions "
	    "USING (partition_key) WHERE outbox_partitions.partition_key "
	    "IS NULL AND outbox.partition_key IS NOT NULL");
}
END_TEST

/*
 * Workers and leases
 */

START_TEST(worker_is_registered)
{
	char	host[64], want[160];

	gethostname(host, sizeof(host));
	snprintf(want, sizeof(want), ME " %s %ld", host, (long)getpid());
	ck_ok(store_register(st, &e));
	ck_ok(store_register(st, &e));
	ck_sql(want, "SELECT id, hostname, pid FROM outbox_workers");
	ck_sql("1", "SELECT heartbeat_until BETWEEN "
	    "NOW(6) + INTERVAL 14 SECOND AND NOW(6) + INTERVAL 15 SECOND "
	    "AND started_at <= NOW(6) FROM outbox_workers");
}
END_TEST

START_TEST(heart_beats)
{
	bool	known;

	ck_ok(store_beat(st, &known, &e));
	ck_assert(!known);
	ck_ok(store_beat(st, &known, &e));
	ck_assert(known);
	sql("UPDATE outbox_workers SET heartbeat_until = NOW(6)");
	ck_ok(store_beat(st, &known, &e));
	ck_assert(known);
	ck_sql("1", "SELECT heartbeat_until > NOW(6) + INTERVAL 10 SECOND "
	    "FROM outbox_workers");
	sql("DELETE FROM outbox_workers");
	ck_ok(store_beat(st, &known, &e));
	ck_assert(!known);
	ck_sql(ME, "SELECT id FROM outbox_workers");
}
END_TEST

/* The two halves of a view, as the tests want them. */
static char **
fleet(size_t *n)
{
	struct store_view	v;

	ck_ok(store_view(st, NULL, NULL, &v, &e));
	free(v.leases);
	*n = v.nids;
	return v.ids;
}

static struct lease *
leases_of(size_t *n)
{
	struct store_view	 v;
	struct lease		*leases;

	ck_ok(store_view(st, NULL, NULL, &v, &e));
	leases = v.leases;
	*n = v.nleases;
	v.leases = NULL;
	store_view_free(&v);
	return leases;
}

START_TEST(fleet_is_sorted_and_alive)
{
	static const char *const	want[] =
	    { "B:1", "a-b:1", "a.b:1", "a:00", "a:1", "a_b:1", "b:1" };
	char				**ids;
	size_t				  n;

	ids = fleet(&n);
	ck_assert_uint_eq(n, 0);
	free(ids);
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('late', NOW(6) - INTERVAL 1 SECOND), ('now', NOW(6))");
	for (int i = NROWS(want) - 1; i >= 0; i--)
		sql("INSERT INTO outbox_workers (id, heartbeat_until) "
		    "VALUES ('%s', NOW(6) + INTERVAL 60 SECOND)", want[i]);
	ids = fleet(&n);
	ck_assert_uint_eq(n, NROWS(want));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(ids[i], want[i]);
		free(ids[i]);
	}
	free(ids);
}
END_TEST

#define ALL_LEASES	"SELECT partition_key, lease_owner, lease_epoch, " \
			"lease_until > NOW(6), lease_until > NOW(6) + " \
			"INTERVAL 16 SECOND FROM outbox_partitions " \
			"ORDER BY partition_key"

/* Live and run out ones of both, one of nobody. */
static void
mix_leases(void)
{
	add_lease("mine", ME, 3);
	add_lease("mine-old", ME, 3);
	add_lease("other", OTHER, 3);
	add_lease("other-old", OTHER, 3);
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('none'); "
	    "UPDATE outbox_partitions SET lease_until = NOW(6) "
	    "WHERE partition_key LIKE '%%old'");
	ck_sql("mine " ME " 3 1 1\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
}

START_TEST(leases_are_listed)
{
	static const struct lease	want[] = {
		{ "Z", 0, false, true, 0, 0 },
		{ "mine", 3, true, false, 0, 0 },
		{ "mine-old", 3, false, true, 0, 0 },
		{ "none", 0, false, true, 0, 0 },
		{ "other", 3, false, false, 0, 0 },
		{ "other-old", 3, false, true, 0, 0 },
	};
	struct lease			*leases;
	size_t				 n;

	leases = leases_of(&n);
	ck_assert_uint_eq(n, 0);
	free(leases);
	mix_leases();
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('Z')");
	leases = leases_of(&n);
	ck_assert_uint_eq(n, NROWS(want));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(leases[i].label, want[i].label);
		ck_assert_uint_eq(leases[i].epoch, want[i].epoch);
		ck_assert(leases[i].mine == want[i].mine);
		ck_assert(leases[i].free == want[i].free);
	}
	free(leases);
}
END_TEST

START_TEST(named_leases_are_listed)
{
	const char		*list[] = { "other", "mine", "no such", "mine",
				    "it's" };
	struct labels		 labels = { list, NROWS(list) };
	struct store_view	 v;

	mix_leases();
	ck_ok(store_view(st, &labels, NULL, &v, &e));
	ck_assert_uint_eq(v.nleases, 2);
	ck_assert_str_eq(v.leases[0].label, "mine");
	ck_assert(v.leases[0].mine);
	ck_assert_str_eq(v.leases[1].label, "other");
	store_view_free(&v);
}
END_TEST

START_TEST(named_leases_are_renewed)
{
	static const char *const	labels[] = { "other", "mine",
		"mine-old" };
	uint64_t			n;

	mix_leases();
	ck_ok(store_renew(st, labels, 1, 0, &n, &e));
	ck_assert_uint_eq(n, 0);
	ck_ok(store_renew(st, labels, 3, 0, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_sql("mine " ME " 3 1 0\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
}
END_TEST

START_TEST(own_live_leases_are_renewed)
{
	uint64_t	n;

	mix_leases();
	ck_ok(store_renew(st, NULL, 0, 0, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_sql("mine " ME " 3 1 0\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	ck_sql("1", "SELECT lease_until > NOW(6) + INTERVAL 14 SECOND "
	    "FROM outbox_partitions WHERE partition_key = 'mine'");
}
END_TEST

/* Every lease of the table, as store_acquire and store_release want them. */
static size_t
every_lease(struct lease **all, const struct lease *list[16])
{
	size_t	n;

	*all = leases_of(&n);
	for (size_t i = 0; i < n; i++)
		list[i] = &(*all)[i];
	return n;
}

START_TEST(free_leases_are_acquired)
{
	struct lease		*all;
	const struct lease	*list[16];
	uint64_t		 taken;
	size_t			 n;

	mix_leases();
	n = every_lease(&all, list);
	ck_ok(store_acquire(st, list + 2, 1, &taken, &e));	/* none */
	ck_assert_uint_eq(taken, 1);
	ck_ok(store_acquire(st, list, n, &taken, &e));
	ck_assert_uint_eq(taken, 2);
	ck_sql("mine " ME " 3 1 1\nmine-old " ME " 4 1 0\n"
	    "none " ME " 1 1 0\nother " OTHER " 3 1 1\n"
	    "other-old " ME " 4 1 0", ALL_LEASES);
	free(all);
}
END_TEST

START_TEST(own_leases_are_released)
{
	struct lease		*all;
	const struct lease	*list[16];
	size_t			 n;

	mix_leases();
	n = every_lease(&all, list);
	ck_ok(store_release(st, list, n - 4, &e));	/* mine */
	ck_sql("NULL NULL 3\n" ME " 0 3", "SELECT lease_owner, lease_until > "
	    "NOW(6), lease_epoch FROM outbox_partitions "
	    "WHERE partition_key LIKE 'mine%%' ORDER BY partition_key");
	ck_ok(store_release(st, list, n, &e));
	ck_sql("mine NULL 3 NULL NULL\nmine-old NULL 3 NULL NULL\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	free(all);
}
END_TEST

START_TEST(labels_are_quoted)
{
	struct lease		*all;
	const struct lease	*list[16];
	struct range		 r = range("it's \\", 1);
	struct candidate	*c;
	struct batch		 b = { 0 };
	uint64_t		 n, one = 1;
	size_t			 nc;
	bool			 any;

	sql("INSERT INTO outbox_partitions (partition_key) "
	    "VALUES ('it''s \\\\')");
	add_rows(1, 1, "'it''s \\\\'");
	ck_assert_uint_eq(every_lease(&all, list), 1);
	ck_assert_str_eq(list[0]->label, r.label);
	ck_ok(store_acquire(st, list, 1, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_ok(store_few(st, &r, 1, &c, &nc, &any, &e));
	ck_assert_uint_eq(nc, 1);
	free(c);
	ck_ok(store_candidates(st, &r, 1, &c, &nc, &e));
	ck_assert_uint_eq(nc, 1);
	ck_ok(store_claim(st, &r, 1, &one, 1, &b, &n, &e));
	ck_assert_uint_eq(n, 1);
	ck_ok(store_release(st, list, 1, &e));
	ck_sql("NULL", "SELECT lease_owner FROM outbox_partitions");
	free(c);
	free(all);
}
END_TEST

/* 64 characters are up to 256 bytes, which differ only at the end here. */
START_TEST(long_labels_are_kept)
{
	struct lease	*leases;
	char		 labels[2][STORE_LABEL] = { "", "" };
	char		 adopted[STORE_LABEL], literal[STORE_LABEL + 2];
	struct range	 ranges[2] = { range(labels[0], 1),
			    range(labels[1], 1) };
	uint64_t	 sequences[] = { 1, 2 }, claimed;
	struct batch	 b = { 0 };
	unsigned	 nstrays;
	size_t		 n;

	for (unsigned i = 0; i < 2; i++) {
		while (strlen(labels[i]) < 63 * 4)
			strcat(labels[i], "\xf0\x9f\x90\x98");
		strcat(labels[i], i == 0 ? "\xf0\x9f\x90\x98" :
		    "\xf0\x9f\x90\x99");
		snprintf(literal, sizeof(literal), "'%s'", labels[i]);
		add_rows(i + 1, i + 1, literal);
		ck_ok(store_adopt_strays(st, &nstrays, adopted, &e));
		ck_assert_uint_eq(nstrays, 1);
		ck_assert_str_eq(adopted, labels[i]);
	}
	leases = leases_of(&n);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(leases[0].label, labels[0]);
	ck_assert_str_eq(leases[1].label, labels[1]);
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch ="
	    " 1, lease_until = NOW(6) + INTERVAL 60 SECOND");
	ck_assert_str_eq(candidates(ranges, 2), "1:0 2:1");
	ck_ok(store_claim(st, ranges, 1, sequences, 2, &b, &claimed, &e));
	ck_assert_uint_eq(claimed, 1);
	free(leases);
}
END_TEST

/*
 * A member with a small share of many partitions
 */

static struct fleet	 member;

/* ME is the first of five, who want a fifth of 300 each. */
static void
join_fleet(void)
{
	conf->worker.lease_renew = 2000;
	ck_ok(store_fill_partitions(st, 300, &e));
	for (int i = 0; i < 4; i++)
		sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
		    "('zz:0%d:0', NOW(6) + INTERVAL 60 SECOND)", i);
	ck_ok(store_register(st, &e));
	fleet_init(&member, conf, st);
	ck_ok(fleet_round(&member, 1000, &e));
	ck_assert_uint_eq(member.parts.n, 60);
	ck_sql("60", "SELECT COUNT(*) FROM outbox_partitions WHERE lease_owner "
	    "= '" ME "' AND lease_until > NOW(6)");
}

static void
leave_fleet(void)
{
	fleet_free(&member);
}

static uint64_t
epoch_of(const char *label)
{
	const struct leased_label	*p = lease_of(&member, label);

	return p == NULL ? 0 : p->epoch;
}

START_TEST(small_share_is_looked_at_by_name)
{
	join_fleet();
	log_statements();
	/* Renewed and looked at, and nothing of it reads all. */
	ck_ok(fleet_round(&member, 3000, &e));
	sql("SET GLOBAL general_log = 0");
	ck_sql("2 2", "SELECT COUNT(*), SUM(argument LIKE '%%p00%%') "
	    STATEMENTS "AND argument LIKE '%%outbox_partitions%%'");
	/* Somebody rings, and somebody takes one away. */
	sql("UPDATE outbox_partitions SET lease_epoch = 7 "
	    "WHERE partition_key = 'p05'; UPDATE outbox_partitions SET "
	    "lease_owner = '" OTHER "' WHERE partition_key = 'p10'");
	ck_ok(fleet_round(&member, 4000, &e));
	ck_assert_uint_eq(epoch_of("p05"), 7);
	ck_assert_uint_eq(epoch_of("p10"), 0);
	ck_assert_uint_eq(member.parts.n, 59);
	/* It is free again; and a new partition shifts nothing but the rest. */
	sql("UPDATE outbox_partitions SET lease_owner = NULL "
	    "WHERE partition_key = 'p10'");
	ck_ok(fleet_round(&member, 5000, &e));
	ck_assert_uint_eq(epoch_of("p10"), 2);
	ck_ok(fleet_round(&member, 6000, &e));
	sql("INSERT INTO outbox_partitions (partition_key) VALUES ('z')");
	ck_ok(fleet_round(&member, 7000, &e));
	ck_assert_uint_eq(epoch_of("z"), 0);
	ck_ok(fleet_round(&member, 6000 + FLEET_ALL_MS, &e));
	ck_assert_uint_eq(epoch_of("z"), 1);
	leave_fleet();
}
END_TEST

/* Who is gone is succeeded at the next candidates. */
START_TEST(small_share_follows_the_fleet)
{
	join_fleet();
	sql("DELETE FROM outbox_workers WHERE id = 'zz:03:0'");
	ck_ok(fleet_round(&member, 1000 + FLEET_LOOK_MS, &e));
	ck_assert_uint_eq(member.parts.n, 75);
	sql("DELETE FROM outbox_workers WHERE id LIKE 'zz:%%'");
	ck_ok(fleet_round(&member, 1000 + 2 * FLEET_LOOK_MS, &e));
	ck_assert_uint_eq(member.parts.n, 300);
	leave_fleet();
}
END_TEST

START_TEST(leaver_gives_up_everything)
{
	struct store	*other = store_of(conf, OTHER);

	mix_leases();
	ck_ok(store_register(st, &e));
	ck_ok(store_register(other, &e));
	ck_ok(store_leave(st, &e));
	ck_sql(OTHER, "SELECT id FROM outbox_workers");
	ck_sql("mine NULL 3 NULL NULL\nmine-old NULL 3 NULL NULL\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	store_free(other);
}
END_TEST

START_TEST(silent_workers_are_purged)
{
	uint64_t	n;

	ck_ok(store_register(st, &e));
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
	    "('late', NOW(6) - INTERVAL 1 DAY), ('now', NOW(6)), "
	    "('live', NOW(6) + INTERVAL 5 SECOND)");
	ck_ok(store_purge(st, &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_sql(ME "\nlive", "SELECT id FROM outbox_workers ORDER BY id");
}
END_TEST

/* What the dead left: a row, a lease, a run out one; others keep theirs. */
static void
leave_legacy(void)
{
	struct store	*dead = store_of(conf, DEAD);

	ck_ok(store_register(dead, &e));
	store_free(dead);
	mix_leases();
	add_lease("dead", DEAD, 5);
	add_lease("dead-old", DEAD, 5);
	sql("UPDATE outbox_partitions SET lease_until = NOW(6) "
	    "WHERE partition_key = 'dead-old'");
}

START_TEST(dead_is_inherited)
{
	leave_legacy();
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql(ME, "SELECT id FROM outbox_workers");
	ck_sql("dead " ME " 6 1 0\ndead-old " ME " 6 1 0\n"
	    "mine " ME " 3 1 1\nmine-old " ME " 3 0 0\n"
	    "none NULL 0 NULL NULL\nother " OTHER " 3 1 1\n"
	    "other-old " OTHER " 3 0 0", ALL_LEASES);
	/* Once more, and nobody there. */
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql("6", "SELECT lease_epoch FROM outbox_partitions "
	    "WHERE partition_key = 'dead'");
}
END_TEST

/* One transaction: whoever looks sees all of it or nothing. */
START_TEST(broken_inheritance_changes_nothing)
{
	const char	*want;

	leave_legacy();
	want = sql_text(ALL_LEASES);
	put_obstacle("HY000", "UPDATE", "outbox_partitions",
	    "OLD.partition_key = 'dead-old'");
	ck_fails(store_take_over(st, DEAD, &e));
	ck_assert_int_eq(strncmp(e.text, "take over: ", 11), 0);
	ck_has(e.text, "obstacle");
	ck_assert_int_eq(store_fault(st), DB_WRONG);
	/* And it is over: nobody has to wait for these rows. */
	sql("SET innodb_lock_wait_timeout = 1; "
	    "SELECT * FROM outbox_workers FOR UPDATE");
	ck_sql(DEAD, "SELECT id FROM outbox_workers");
	ck_sql(want, ALL_LEASES);
	sql("DROP TRIGGER obstacle");
	ck_ok(store_take_over(st, DEAD, &e));
	ck_sql(ME, "SELECT id FROM outbox_workers");
}
END_TEST

/*
 * Looking
 */

/* "sequence:range ..." of few rows; "many" if they are not few. */
static const char *
few(const struct range *ranges, size_t n)
{
	static char		 text[4096];
	struct candidate	*c;
	size_t			 nc, len = 0;
	bool			 all;

	ck_ok(store_few(st, ranges, n, &c, &nc, &all, &e));
	text[0] = '\0';
	for (size_t i = 0; i < nc; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%llu:%u", i == 0 ? "" : " ",
		    (unsigned long long)c[i].sequence, c[i].range);
	ck_assert(all || nc == 0);
	free(c);
	return all ? text : "many";
}

START_TEST(few_rows_are_read_at_once)
{
	struct range	ranges[2] = { range("p01", 1), range("p00", 1) };

	ck_assert_str_eq(few(ranges, 2), "");
	add_rows(1, 1, "'p02'");
	add_rows(2, 2, "'p01'");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence = 2");
	ck_assert_str_eq(few(ranges, 2), "");
	add_rows(3, 4, "'p01'");
	add_rows(5, 5, "'p00'");
	add_rows(6, 6, "'p01'");
	ck_assert_str_eq(few(ranges, 2), "3:0 4:0 5:1 6:0");
	ck_assert_str_eq(few(ranges + 1, 1), "5:0");
	add_rows(7, STORE_FEW + 1, "'p00'");
	ck_assert_str_ne(few(ranges, 2), "many");
	add_rows(STORE_FEW + 2, STORE_FEW + 2, "'p01'");
	ck_assert_str_eq(few(ranges, 2), "many");
	ck_assert_str_ne(few(ranges, 1), "many");
}
END_TEST

START_TEST(few_rows_may_have_no_label)
{
	struct range	ranges[2] = { range("p00", 1), range("", 1) };

	add_rows(1, 1, "'p00'");
	ck_assert_str_eq(few(ranges + 1, 1), "");
	add_rows(2, 2, "NULL");
	add_rows(3, 3, "''");
	ck_assert_str_eq(few(ranges, 1), "1:0");
	ck_assert_str_eq(few(ranges + 1, 1), "2:0 3:0");
	ck_assert_str_eq(few(ranges, 2), "1:0 2:1 3:1");
}
END_TEST

static unsigned long	reads(void);

/* Those of others are read for nothing, and that not again at once. */
START_TEST(rows_of_others_do_not_hide_few)
{
	static const char *const	labels[] = { "p00", "p01", "p03", "p04",
	    "p05", "p06", "p07", "p08" };
	struct range			r[NROWS(labels)];
	unsigned long			asking, before;

	before = reads();
	asking = reads() - before;
	for (int i = 0; i < NROWS(labels); i++)
		r[i] = range(labels[i], 1);
	/* As it usually is: most rows are delivered. */
	add_rows(2000, 3999, "'p02'");
	sql("UPDATE outbox SET published_at = NOW(6) - INTERVAL "
	    "global_sequence SECOND; ANALYZE TABLE outbox");
	add_rows(1, 2 * STORE_FEW, "'p02'");
	add_rows(1000, 1001, "'p00'");
	ck_assert_str_eq(few(r, NROWS(labels)), "1000:0 1001:0");
	before = reads();
	ck_assert_str_eq(few(r, NROWS(labels)), "1000:0 1001:0");
	ck_assert_uint_lt(reads() - before, asking + STORE_FEW / 2);
	/* Who has just come does not know it. */
	store_free(st);
	st = store_of(conf, ME);
	before = reads();
	ck_assert_str_eq(few(r, NROWS(labels)), "1000:0 1001:0");
	ck_assert_uint_gt(reads() - before, asking + STORE_FEW / 2);
	/* One range is read as fast by itself. */
	before = reads();
	ck_assert_str_eq(few(r, 1), "1000:0 1001:0");
	ck_assert_uint_lt(reads() - before, asking + STORE_FEW / 2);
}
END_TEST

/* With fleet and leases in the same statement. */
START_TEST(waiting_rows_are_in_view)
{
	const char		*list[] = { "p00", "", "p01" };
	struct labels		 one = { list, 1 }, three = { list, 3 };
	struct store_view	 v;

	add_lease("p00", ME, 3);
	ck_ok(store_register(st, &e));
	add_rows(1, 1, "'p02'");
	add_rows(2, 2, "'p01'");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence = 2");
	ck_ok(store_view(st, NULL, &three, &v, &e));
	ck_assert(!v.waits);
	ck_assert_uint_eq(v.nids, 1);
	ck_assert_uint_eq(v.nleases, 1);
	ck_assert_uint_eq(v.leases[0].epoch, 3);
	store_view_free(&v);
	add_rows(3, 3, _i == 0 ? "NULL" : _i == 1 ? "''" : "'p01'");
	ck_ok(store_view(st, NULL, &one, &v, &e));
	ck_assert(!v.waits);
	store_view_free(&v);
	ck_ok(store_view(st, NULL, &three, &v, &e));
	ck_assert(v.waits);
	ck_assert_uint_eq(v.nids, 1);
	ck_assert_uint_eq(v.nleases, 1);
	store_view_free(&v);
}
END_TEST

/* One column of each table, whatever their collations are. */
START_TEST(view_mixes_no_collations)
{
	const char		*label = "p00";
	struct labels		 labels = { &label, 1 };
	struct store_view	 v;

	sql("CREATE TABLE kept_partitions LIKE outbox_partitions; "
	    "CREATE TABLE kept_workers LIKE outbox_workers; "
	    "ALTER TABLE outbox_partitions CONVERT TO CHARACTER SET utf8mb4 "
	    "COLLATE utf8mb4_unicode_ci; ALTER TABLE outbox_workers CONVERT "
	    "TO CHARACTER SET latin1 COLLATE latin1_german2_ci");
	add_lease("p00", ME, 3);
	ck_ok(store_register(st, &e));
	add_rows(1, 1, "'p00'");
	ck_ok(store_view(st, NULL, &labels, &v, &e));
	ck_assert(v.waits);
	ck_assert_uint_eq(v.nids, 1);
	ck_assert_str_eq(v.ids[0], ME);
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

/*
 * The claim
 */

START_TEST(due_rows_are_claimed)
{
	struct batch	b = { 0 };
	int64_t		before = clock_ms();
	char		first[sizeof(b.token)];

	add_lease("p00", ME, 1);
	add_rows(1, 4, "'p00'");
	ck_assert_uint_eq(claim(st, &b, 1, 3), 3);
	ck_near(b.claimed_at, before, clock_ms());
	ck_assert_int_eq(strncmp(b.token, MY_NONCE "-", 17), 0);
	ck_sql("1 2 3", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox WHERE claim_token = '%s' "
	    "AND available_at BETWEEN NOW(6) + INTERVAL 28 SECOND "
	    "AND NOW(6) + INTERVAL 30 SECOND", b.token);
	ck_sql("NULL 0 NULL", "SELECT claim_token, attempts, last_error "
	    "FROM outbox WHERE global_sequence = 4");
	strcpy(first, b.token);
	ck_assert_uint_eq(claim(st, &b, 4, 4), 1);
	ck_assert_str_ne(b.token, first);
	ck_sql("3", "SELECT COUNT(*) FROM outbox WHERE claim_token = '%s'",
	    first);
}
END_TEST

/* What must have happened to the lease for the claim to find nothing. */
static const struct {
	const char	*to;		/* NULL: no row any more */
	unsigned	 claimed;
} fences[] = {
	{ "lease_epoch = 1", 2 },
	{ "lease_until = NOW(6) + INTERVAL 1 SECOND", 2 },
	{ "lease_owner = '" OTHER "'", 0 },
	{ "lease_owner = 'here:00:00000000000000a2'", 0 },
	{ "lease_owner = NULL", 0 },
	{ "lease_epoch = 2", 0 },
	{ "lease_epoch = 0", 0 },
	{ "lease_until = NOW(6)", 0 },
	{ "lease_until = NOW(6) - INTERVAL 1 DAY", 0 },
	{ "lease_until = NULL", 0 },
	{ "lease_owner = '" OTHER "', lease_epoch = 2", 0 },
	{ "partition_key = 'p02'", 0 },
	{ NULL, 0 },
};

START_TEST(claim_is_fenced)
{
	struct batch	b = { 0 };
	bool		abandoned = _i >= NROWS(fences);

	_i %= NROWS(fences);
	add_lease("p00", ME, 1);
	add_lease("p01", ME, 1);
	add_rows(1, 2, "'p00'");
	if (abandoned)
		sql("UPDATE outbox SET claim_token = 'gone-1'");
	if (fences[_i].to == NULL)
		sql("DELETE FROM outbox_partitions "
		    "WHERE partition_key = 'p00'");
	else
		sql("UPDATE outbox_partitions SET %s "
		    "WHERE partition_key = 'p00'", fences[_i].to);
	ck_assert_uint_eq(claim(st, &b, 1, 2), fences[_i].claimed);
	ck_sql(fences[_i].claimed == 2 ? "2" : "0",
	    "SELECT COUNT(*) FROM outbox WHERE claim_token = '%s' AND "
	    "available_at > NOW(6)", b.token);
}
END_TEST

static void
note_plan(void *arg, const char *what, struct db_rows *plan,
    const struct err *why)
{
	char	*seen = arg;
	int	 key;

	ck_assert_msg(plan != NULL, "%s: %s", what, why->text);
	ck_assert_int_ge(key = db_column(plan, "key"), 0);
	ck_assert_int_ge(db_column(plan, "Extra"), 0);
	ck_assert_int_eq(db_column(plan, "sauce"), -1);
	ck_assert(db_next(plan));
	snprintf(seen + strlen(seen), 256 - strlen(seen), "%s %s ", what,
	    db_text(plan, (unsigned)key));
}

START_TEST(explained_is_not_done)
{
	struct range	 r = range("p00", 1);
	struct batch	 b = { 0 };
	uint64_t	 list[] = { 1, 2 }, n = 9;
	char		 seen[256] = "";

	add_lease("p00", ME, 1);
	add_rows(1, 2, "'p00'");
	store_explain(st, note_plan, seen);
	ck_ok(store_begin(st, &e));
	ck_ok(store_claim(st, &r, 1, list, 2, &b, &n, &e));
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(store_fetch(st, list, 2, 1, &b, &e), -1);
	ck_ok(store_commit(st, &e));
	ck_assert_str_eq(seen, "claim PRIMARY claim PRIMARY fetch PRIMARY ");
	ck_sql("2", "SELECT COUNT(*) FROM outbox WHERE claim_token IS NULL");
	store_explain(st, NULL, NULL);
	ck_ok(store_claim(st, &r, 1, list, 2, &b, &n, &e));
	ck_assert_uint_eq(n, 2);
}
END_TEST

/* A row of a partition that is mine, but was not among the ranges. */
START_TEST(only_named_partitions_are_claimed)
{
	struct range	ranges[2] = { range("p00", 1), range("p02", 5) };
	uint64_t	sequences[] = { 6, 5, 4, 3, 2, 1 }, n;
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	add_lease("p01", ME, 1);
	add_lease("p02", ME, 5);
	add_lease("", ME, 1);
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "'p01'");
	add_rows(4, 4, "'p02'");
	add_rows(5, 5, "NULL");
	add_rows(6, 6, "''");
	ck_ok(store_claim(st, ranges, 2, sequences, 6, &b, &n, &e));
	ck_assert_uint_eq(n, 3);
	ck_sql("1\n2\n4", "SELECT global_sequence FROM outbox "
	    "WHERE claim_token = '%s' ORDER BY 1", b.token);
}
END_TEST

/* Where one lease is lost, what is known of the others is old too. */
START_TEST(all_leases_or_no_claim)
{
	struct range	ranges[2] = { range("p00", 1), range("p02", 5) };
	uint64_t	sequences[] = { 1, 2, 3 }, n;
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	if (_i > 0)
		add_lease("p02", _i == 1 ? OTHER : ME, _i == 2 ? 4 : 5);
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "'p02'");
	ck_ok(store_claim(st, ranges, 2, sequences, 3, &b, &n, &e));
	ck_assert_uint_eq(n, _i == 3 ? 3 : 0);
	ck_sql(_i == 3 ? "3" : "0", "SELECT COUNT(*) FROM outbox "
	    "WHERE claim_token IS NOT NULL OR available_at > NOW(6)");
}
END_TEST

/* They are two statements, but one batch. */
START_TEST(abandoned_rows_go_with_the_free_ones)
{
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 5, "'p00'");
	sql("UPDATE outbox SET claim_token = 'gone-1' WHERE global_sequence = 2;"
	    "UPDATE outbox SET claim_token = 'busy-1', available_at = NOW(6) + "
	    "INTERVAL 9 SECOND WHERE global_sequence = 4");
	ck_assert_uint_eq(claim(st, &b, 1, 5), 4);
	ck_sql("1\n2\n3\n5", "SELECT global_sequence FROM outbox "
	    "WHERE claim_token = '%s' ORDER BY 1", b.token);
	ck_sql("2", "SELECT global_sequence FROM outbox "
	    "WHERE unsure_since IS NOT NULL");
}
END_TEST

START_TEST(rows_without_label_are_claimed)
{
	struct range	r = range("", 1);
	uint64_t	sequences[] = { 1, 2 }, n;
	struct batch	b = { 0 };

	add_lease("", _i == 0 ? ME : OTHER, 1);
	add_rows(1, 1, "NULL");
	add_rows(2, 2, "''");
	ck_ok(store_claim(st, &r, 1, sequences, 2, &b, &n, &e));
	ck_assert_uint_eq(n, _i == 0 ? 2 : 0);
	ck_ok(store_fetch(st, sequences, 2, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, n);
	if (n == 2) {
		ck_assert_ptr_null(b.msgs[0].partition.data);
		ck_assert_str_eq(b.msgs[1].partition.data, "");
	}
	batch_free(&b);
}
END_TEST

/* Which rows are free; the claims of C3 are void, B2 lives. */
static const struct {
	const char	*to;
	unsigned	 claimed;
} rows[] = {
	{ "attempts = 3", 1 },
	{ "available_at = NOW(6)", 1 },
	{ "available_at = NOW(6) + INTERVAL 2 SECOND", 0 },
	{ "published_at = NOW(6)", 0 },
	{ "published_at = NOW(6), claim_token = '" DEAD_NONCE "-1'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" OTHER_NONCE "-1'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = 'somebody-else'", 0 },
	{ "available_at = NOW(6) - INTERVAL 9 SECOND, "
	  "claim_token = '" OTHER_NONCE "-1'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" DEAD_NONCE "-1f'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '" MY_NONCE "-77'", 1 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, "
	  "claim_token = '00000000000000A1-77'", 0 },
	{ "available_at = NOW(6) + INTERVAL 9 SECOND, claim_token = ''", 0 },
};

START_TEST(only_free_rows_are_claimed)
{
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	sql("UPDATE outbox SET %s", rows[_i].to);
	store_void_claims_of(st, DEAD_NONCE);
	ck_assert_uint_eq(claim(st, &b, 1, 1), rows[_i].claimed);
	ck_sql(rows[_i].claimed ? "1" : "0", "SELECT COUNT(*) FROM outbox "
	    "WHERE claim_token = '%s'", b.token);
}
END_TEST

/* More dead than the list holds: the oldest are forgotten, no other. */
START_TEST(many_dead_are_known)
{
	struct batch	b = { 0 };
	char		nonce[17];

	add_lease("p00", ME, 1);
	add_rows(1, 100, "'p00'");
	for (unsigned i = 1; i <= 100; i++) {
		snprintf(nonce, sizeof(nonce), "%016x", 0xd0000 + i);
		store_void_claims_of(st, nonce);
		sql("UPDATE outbox SET claim_token = '%s-1', available_at = "
		    "NOW(6) + INTERVAL 9 SECOND WHERE global_sequence = %u",
		    nonce, i);
	}
	ck_assert_uint_eq(claim(st, &b, 61, 100), 40);
	ck_assert_uint_eq(claim(st, &b, 1, 2), 0);
}
END_TEST

START_TEST(no_lease_is_needed_without_leasing)
{
	struct batch	b = { 0 };

	conf->worker.leasing = false;
	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "NULL");
	sql("UPDATE outbox SET available_at = NOW(6) + INTERVAL 9 SECOND "
	    "WHERE global_sequence = 2");
	ck_assert_uint_eq(claim(st, &b, 1, 3), 2);
	ck_assert_uint_eq(claim(st, &b, 2, 2), 0);
}
END_TEST

START_TEST(claim_lasts_as_configured)
{
	struct batch	b = { 0 };

	conf->worker.claim_ttl = 5500;
	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql("1", "SELECT available_at BETWEEN NOW(6) + INTERVAL 4 SECOND "
	    "AND NOW(6) + INTERVAL 5500000 MICROSECOND FROM outbox");
}
END_TEST

/* Nor does a claim wait for a producer; see claim_locks_no_gaps. */
START_TEST(claim_passes_a_producer)
{
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 2, "'p00'");
	sql("START TRANSACTION; INSERT INTO outbox (global_sequence, "
	    "partition_key) VALUES (3, 'p00'), (4, NULL)");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	sql("COMMIT");
}
END_TEST

/* A token says how long its claim was made for. */
START_TEST(token_tells_how_long_its_claim_lasts)
{
	struct batch	b = { 0 };

	conf->worker.claim_ttl = 5500;
	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql("1", "SELECT claim_token REGEXP '^" MY_NONCE "-[0-9a-f]+-5500$' "
	    "FROM outbox");
}
END_TEST

/*
 * By a host where claims last longer or shorter than ours, 5.5 s: the moment
 * is that of the claim.  Of other tokens nobody knows, and ours has to do.
 */
static const struct {
	const char	*token, *since;
} orphans[] = {
	{ OTHER_NONCE "-1-30000", "2026-01-31 12:00:00.000000" },
	{ OTHER_NONCE "-1f-1000", "2026-01-31 12:00:29.000000" },
	{ OTHER_NONCE "-1", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-1x", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-1-1", "2026-01-31 12:00:24.500000" },
	{ OTHER_NONCE "-1-99999999999", "2026-01-31 12:00:24.500000" },
	{ "somebody-else-1000", "2026-01-31 12:00:24.500000" },
	{ "550e8400-e29b-41d4-a716-446655440000",
	    "2026-01-31 12:00:24.500000" },
	{ "", "2026-01-31 12:00:24.500000" },
};

START_TEST(orphans_are_unsure_since_their_claim)
{
	struct batch	b = { 0 };

	conf->worker.claim_ttl = 5500;
	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:30', "
	    "claim_token = '%s'", orphans[_i].token);
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_sql(orphans[_i].since, "SELECT unsure_since FROM outbox");
}
END_TEST

/* MySQL has no regular expressions for bytes. */
START_TEST(token_may_be_bytes)
{
	struct batch	b = { 0 };
	uint64_t	one = 1, n;
	struct range	r = range("p00", 1);
	int		rc;

	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:30', "
	    "claim_token = '" OTHER_NONCE "-1-4000'; "
	    "ALTER TABLE outbox MODIFY claim_token VARBINARY(64) NULL");
	rc = store_claim(st, &r, 1, &one, 1, &b, &n, &e);
	sql("ALTER TABLE outbox MODIFY claim_token VARCHAR(64) "
	    "CHARACTER SET ascii COLLATE ascii_bin NULL");
	ck_ok(rc);
	ck_sql("2026-01-31 12:00:26.000000", "SELECT unsure_since FROM outbox");
}
END_TEST

/* Claimed by somebody who is gone, and perhaps sent: since his claim. */
START_TEST(orphans_are_unsure)
{
	struct batch	b = { 0 };
	uint64_t	sequences[] = { 1, 2, 3, 4 };

	conf->worker.claim_ttl = 5500;
	add_lease("p00", ME, 1);
	add_rows(1, 4, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-31 12:00:10.500000'; "
	    "UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence IN (2, 3); "
	    "UPDATE outbox SET unsure_since = NOW(6) - INTERVAL 7 SECOND "
	    "WHERE global_sequence IN (3, 4)");
	ck_assert_uint_eq(claim(st, &b, 1, 4), 4);
	ck_sql("1 NULL\n2 2026-01-31 12:00:05.000000", "SELECT "
	    "global_sequence, unsure_since FROM outbox "
	    "WHERE global_sequence < 3 ORDER BY 1");
	ck_sql("2", "SELECT COUNT(*) FROM outbox WHERE unsure_since BETWEEN "
	    "NOW(6) - INTERVAL 17 SECOND AND NOW(6) - INTERVAL 7 SECOND");
	ck_ok(store_fetch(st, sequences, 4, SIZE_MAX, &b, &e));
	ck_assert_int_eq(b.msgs[0].unsure_ms, -1);
	ck_assert_int_gt(b.msgs[1].unsure_ms, 1000000);
	ck_near(b.msgs[2].unsure_ms, 7000, 17000);
	ck_near(b.msgs[3].unsure_ms, 7000, 17000);
	batch_free(&b);
}
END_TEST

/*
 * Fetching
 */

static void
ck_bytes(struct bytes got, const char *want, size_t len)
{
	ck_assert_ptr_nonnull(got.data);
	ck_assert_uint_eq(got.len, len);
	ck_assert_mem_eq(got.data, want, len);
}

START_TEST(row_arrives_whole)
{
	static const char	payload[] = "\x00\x01\xff\xfe'\\\r\n\x1a{";
	uint64_t		one = 1;
	struct batch		b = { 0 };
	const struct msg	*m;

	add_lease("p00", ME, 1);
	sql("INSERT INTO events VALUES (1, 'key \xc3\xa4\xf0\x9f\x90\x98', 42,"
	    " 'corr', 'a.b', 3, '{\"x\": [1, \"\xc3\xa4\"]}', "
	    "x'0001fffe275c0d0a1a7b', '2026-01-31 12:00:00.000120'); "
	    "INSERT INTO outbox (global_sequence, partition_key, attempts) "
	    "VALUES (1, 'p00', 7)");
	ck_assert_uint_eq(claim(st, &b, 1, 1), 1);
	ck_ok(store_fetch(st, &one, 1, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 1);
	m = b.msgs;
	ck_assert_uint_eq(m->sequence, 1);
	ck_assert_uint_eq(m->attempts, 7);
	ck_assert(m->has_event);
	ck_assert_int_eq(m->outcome, OUT_UNSENT);
	ck_assert_ptr_null(m->error);
	ck_bytes(m->partition, "p00", 3);
	ck_bytes(m->key, "key \xc3\xa4\xf0\x9f\x90\x98", 10);
	ck_bytes(m->stream_sequence, "42", 2);
	ck_bytes(m->correlation, "corr", 4);
	ck_bytes(m->type, "a.b", 3);
	ck_bytes(m->version, "3", 1);
	ck_bytes(m->payload, payload, sizeof(payload) - 1);
	ck_bytes(m->time, "2026-01-31 12:00:00.000120", 26);
	ck_has(m->metadata.data, "\"\xc3\xa4\"");
	ck_assert_uint_eq(m->metadata.len, strlen(m->metadata.data));
	batch_free(&b);
}
END_TEST

START_TEST(nulls_and_empty_arrive)
{
	uint64_t	sequences[] = { 1, 2 };
	struct batch	b = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 1, "'p00'");
	sql("UPDATE events SET event_data = ''; INSERT INTO outbox "
	    "(global_sequence, partition_key) VALUES (2, 'p00')");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_fetch(st, sequences, 2, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 2);
	ck_assert(b.msgs[0].has_event);
	ck_bytes(b.msgs[0].payload, "", 0);
	ck_assert_ptr_null(b.msgs[0].metadata.data);
	ck_assert_ptr_null(b.msgs[0].correlation.data);
	/* Without its event the row is there all the same. */
	ck_assert(!b.msgs[1].has_event);
	ck_assert_uint_eq(b.msgs[1].sequence, 2);
	ck_assert_ptr_null(b.msgs[1].key.data);
	ck_assert_ptr_null(b.msgs[1].payload.data);
	batch_free(&b);
}
END_TEST

/* Rows 1 to 6 and their bodies: see the text of the test. */
static void
add_bodies(void)
{
	add_lease("p00", ME, 1);
	add_rows(1, 5, "'p00'");
	sql("ALTER TABLE events MODIFY event_data LONGBLOB NULL; "
	    "UPDATE events SET event_data = CASE sequence WHEN 1 THEN '' "
	    "WHEN 2 THEN '1234567890' WHEN 3 THEN '12345678901' "
	    "WHEN 4 THEN '12345' END, "
	    "metadata = CASE sequence WHEN 4 THEN '{\"a\": 1}' END; "
	    "INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (6, 'p00')");
}

/* "sequence:payload+metadata", with lengths in brackets where it is away. */
static const char *
bodies(const struct batch *b)
{
	static char	text[512];
	size_t		n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];
		bool none = m->payload.data == NULL &&
		    m->metadata.data == NULL;

		ck_assert(!m->away || none);
		n += (size_t)snprintf(text + n, sizeof(text) - n, m->away ?
		    "%s%u:(%zu+%zu)" : none && m->payload.len == 0 ?
		    "%s%u:NULL" : "%s%u:%zu+%zu", i == 0 ? "" : " ",
		    (unsigned)m->sequence, m->payload.len, m->metadata.len);
	}
	return text;
}

/*
 * Empty, as long as allowed, longer, longer by its metadata, NULL, and
 * without an event.
 */
START_TEST(long_bodies_stay_away)
{
	static const uint64_t	away[] = { 3, 4 };
	uint64_t		sequences[] = { 6, 5, 4, 3, 2, 1 };
	struct batch		b = { 0 };

	add_bodies();
	ck_assert_uint_eq(claim(st, &b, 1, 6), 6);
	ck_ok(store_fetch(st, sequences, 6, 10, &b, &e));
	ck_assert_str_eq(bodies(&b),
	    "1:0+0 2:10+0 3:(11+0) 4:(5+8) 5:NULL 6:NULL");
	ck_assert_uint_eq(b.naway, 2);
	ck_assert(b.msgs[4].has_event);
	ck_assert(!b.msgs[5].has_event);
	ck_assert_ptr_nonnull(b.msgs[0].payload.data);
	ck_bytes(b.msgs[3].key, "k4", 2);

	ck_ok(store_fetch_away(st, away, _i == 0 ? 2 : 1, &b, &e));
	ck_assert_str_eq(bodies(&b), _i == 0 ?
	    "1:0+0 2:10+0 3:11+0 4:5+8 5:NULL 6:NULL" :
	    "1:0+0 2:10+0 3:11+0 4:(5+8) 5:NULL 6:NULL");
	ck_bytes(b.msgs[2].payload, "12345678901", 11);
	ck_assert(b.msgs[2].has_event);
	ck_assert_ptr_null(b.msgs[2].metadata.data);
	if (_i == 0)
		ck_bytes(b.msgs[3].metadata, "{\"a\": 1}", 8);
	batch_free(&b);
	sql("DELETE FROM events; "
	    "ALTER TABLE events MODIFY event_data LONGBLOB NOT NULL");
}
END_TEST

START_TEST(event_may_go_before_it_is_fetched)
{
	static const uint64_t	away[] = { 1, 2 };
	uint64_t		sequences[] = { 1, 2 };
	struct batch		b = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 2, "'p00'");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_fetch(st, sequences, 2, 1, &b, &e));
	ck_assert_uint_eq(b.naway, 2);
	sql("DELETE FROM events WHERE sequence = 1");
	ck_ok(store_fetch_away(st, away, 2, &b, &e));
	ck_assert(!b.msgs[0].has_event && !b.msgs[0].away);
	ck_bytes(b.msgs[1].payload, "{}", 2);
	batch_free(&b);
}
END_TEST

/* The server may have taken what is longer than it would take now. */
START_TEST(longer_than_a_packet_arrives)
{
	static const size_t	 size = 20 * 1024 * 1024;
	uint64_t		 one = 1;
	struct batch		 b = { 0 };
	struct store		*late;

	sql("SET GLOBAL max_allowed_packet = 67108864");
	sql_close();
	sql_open(server);
	sql("USE app");
	add_lease("p00", OTHER, 1);
	add_rows(1, 1, "'p00'");
	for (int i = 0; i < 20; i++)
		sql("UPDATE events SET event_data = CONCAT(IF(%d, event_data, "
		    "''), REPEAT('x', 1024 * 1024))", i);
	sql("SET GLOBAL max_allowed_packet = 1048576");
	late = store_of(conf, OTHER);
	ck_assert_uint_eq(claim(late, &b, 1, 1), 1);
	ck_ok(store_fetch(late, &one, 1, _i == 0 ? SIZE_MAX : 1000, &b, &e));
	if (_i == 1)
		ck_ok(store_fetch_away(late, &one, 1, &b, &e));
	ck_assert_uint_eq(b.msgs[0].payload.len, size);
	ck_assert_int_eq(b.msgs[0].payload.data[size - 1], 'x');
	batch_free(&b);
	store_free(late);
	sql("SET GLOBAL max_allowed_packet = 16777216");
}
END_TEST

START_TEST(only_what_the_token_holds_is_fetched)
{
	uint64_t	sequences[] = { 5, 3, 1, 4, 2, 99 };
	struct batch	b = { 0 }, old = { 0 };

	add_lease("p00", ME, 1);
	add_rows(1, 5, "'p00'");
	ck_assert_uint_eq(claim(st, &old, 1, 2), 2);
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1', "
	    "available_at = NOW(6) + INTERVAL 9 SECOND "
	    "WHERE global_sequence = 4");
	ck_assert_uint_eq(claim(st, &b, 3, 5), 2);
	ck_ok(store_fetch(st, sequences, 6, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 2);
	ck_assert_uint_eq(b.msgs[0].sequence, 3);
	ck_assert_uint_eq(b.msgs[1].sequence, 5);
	ck_ok(store_fetch(st, sequences, 1, SIZE_MAX, &old, &e));
	ck_assert_uint_eq(old.n, 0);
	batch_free(&b);
	batch_free(&old);
}
END_TEST

START_TEST(order_is_by_number)
{
	uint64_t	sequences[] = { 18446744073709551615u, 9, 10, 100 };
	struct range	r = range("p00", 1);
	struct batch	b = { 0 };
	uint64_t	n;

	add_lease("p00", ME, 1);
	for (int i = 0; i < 4; i++)
		sql("INSERT INTO outbox (global_sequence, partition_key) "
		    "VALUES (%llu, 'p00')", (unsigned long long)sequences[i]);
	ck_assert_str_eq(candidates(&r, 1),
	    "9:0 10:0 100:0 18446744073709551615:0");
	ck_ok(store_claim(st, &r, 1, sequences, 4, &b, &n, &e));
	ck_ok(store_fetch(st, sequences, 4, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 4);
	ck_assert_uint_eq(b.msgs[0].sequence, 9);
	ck_assert_uint_eq(b.msgs[3].sequence, UINT64_MAX);
	batch_free(&b);
}
END_TEST

START_TEST(waiting_rows_are_explained)
{
	uint64_t		sequences[] = { 1, 2, 3, 4, 5, 6 };
	struct waiting_list	list;
	struct waiting		*w[7] = { NULL };

	add_rows(1, 2, "'p00'");
	add_rows(3, 3, "NULL");
	add_rows(4, 4, "'p01'");
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence = 1; "
	    "UPDATE outbox SET claim_token = 'x', available_at = NOW(6) + "
	    "INTERVAL 9 SECOND WHERE global_sequence = 3; "
	    "UPDATE outbox SET available_at = NOW(6) + INTERVAL 1 DAY "
	    "WHERE global_sequence = 4; "
	    "INSERT INTO outbox (global_sequence) VALUES (5)");
	ck_ok(store_waiting(st, sequences, 6, &list, &e));
	ck_assert_uint_eq(list.n, 5);
	for (size_t i = 0; i < list.n; i++)
		w[list.items[i].sequence] = &list.items[i];
	ck_assert(!w[1]->pending);
	ck_assert(w[2]->pending && !w[2]->claimed && w[2]->due_ms == 0);
	ck_bytes(w[2]->partition, "p00", 3);
	ck_bytes(w[2]->key, "k2", 2);
	ck_assert(w[3]->pending && w[3]->claimed);
	ck_near(w[3]->due_ms, 7000, 9000);
	ck_assert_ptr_null(w[3]->partition.data);
	ck_assert(w[4]->pending && !w[4]->claimed);
	ck_near(w[4]->due_ms, 86390000, 86400000);
	ck_assert_ptr_null(w[5]->key.data);	/* no event */
	store_waiting_free(&list);
	ck_ok(store_waiting(st, sequences + 5, 1, &list, &e));
	ck_assert_uint_eq(list.n, 0);
	store_waiting_free(&list);
}
END_TEST

/*
 * Settling
 */

/* Five rows of every outcome but "unknown", which is the sixth. */
static void
decide(struct batch *b)
{
	take(b, 1, 6);
	b->msgs[0].outcome = OUT_DELIVERED;
	msg_fail(&b->msgs[1], OUT_RETRY, "no luck");
	b->msgs[1].delay_ms = 20500;
	msg_fail(&b->msgs[2], OUT_DEFER, "stream full");
	b->msgs[2].delay_ms = 5000;
	msg_fail(&b->msgs[3], OUT_DEAD, "too big");
	b->msgs[3].reason = "message";
	b->msgs[4].outcome = OUT_UNSENT;
	b->msgs[5].outcome = OUT_UNKNOWN;
}

static void
settle_begin(void)
{
	begin_store();
	add_lease("p00", ME, 1);
	add_rows(1, 6, "'p00'");
	sql("UPDATE outbox SET attempts = 3");
}

/* A row, and whether it is due within four seconds before this delay. */
static const char *
row(unsigned sequence, unsigned delay_ms)
{
	return sql_text("SELECT published_at <= NOW(6), attempts, claim_token "
	    "IS NOT NULL, last_error, available_at BETWEEN NOW(6) + INTERVAL "
	    "%u000 MICROSECOND - INTERVAL 4 SECOND AND NOW(6) + INTERVAL "
	    "%u000 MICROSECOND FROM outbox WHERE global_sequence = %u",
	    delay_ms, delay_ms, sequence);
}

static void
ck_settled(void)
{
	ck_assert_str_eq(row(1, 30000), "1 3 0 NULL 1");
	ck_assert_str_eq(row(2, 20500), "NULL 4 0 no luck 1");
	ck_assert_str_eq(row(3, 5000), "NULL 3 0 stream full 1");
	ck_assert_str_eq(row(4, 0), "");
	ck_assert_str_eq(row(5, 0), "NULL 3 0 NULL 1");
	ck_assert_str_eq(row(6, 30000), "NULL 3 1 NULL 1");
	ck_sql("4 p00 k4 t 4 message too big 1", "SELECT global_sequence, "
	    "partition_key, order_key, event_type, attempts, reason, "
	    "last_error, died_at <= NOW(6) FROM outbox_dead_letters");
	ck_sql("6", "SELECT COUNT(*) FROM events");
}

START_TEST(outcomes_are_written)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	decide(&b);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_settled();
	ck_assert_uint_eq(done.delivered, 1);
	ck_assert_uint_eq(done.retried, 1);
	ck_assert_uint_eq(done.deferred, 1);
	ck_assert_uint_eq(done.dead, 1);
	ck_assert_uint_eq(done.returned, 1);
	ck_assert_uint_eq(done.fenced, 0);
	/* Once more does nothing at all. */
	sql("UPDATE outbox SET published_at = NULL, claim_token = '%s' "
	    "WHERE global_sequence = 1", b.token);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("NULL", "SELECT published_at FROM outbox "
	    "WHERE global_sequence = 1");
	ck_assert_uint_eq(done.delivered, 1);
	batch_free(&b);
}
END_TEST

/* Nothing is lost without it but replays, so nobody is told. */
START_TEST(nobody_may_count_replays)
{
	const char	*table = _i == 0 ? "outbox" : "outbox_dead_letters";
	struct settled	 done = { 0 };
	struct batch	 b = { 0 };

	ck_assert(store_can_replay(st));
	sql("ALTER TABLE %s DROP COLUMN replay_no", table);
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_replay(st));
	ck_has_not(logged(), "replay_no");
	decide(&b);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.dead, 1);
	batch_free(&b);
	sql("ALTER TABLE %s ADD COLUMN replay_no INT UNSIGNED NOT NULL "
	    "DEFAULT 0", table);
}
END_TEST

/* The number goes with the message, to the dead as well. */
START_TEST(replays_are_counted)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	sql("UPDATE outbox SET replay_no = global_sequence");
	decide(&b);
	for (size_t i = 0; i < b.n; i++)
		ck_assert_uint_eq(b.msgs[i].replay, b.msgs[i].sequence);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("4", "SELECT replay_no FROM outbox_dead_letters");
	batch_free(&b);
}
END_TEST

/* Sent and not answered: since the claim, or since an earlier time. */
START_TEST(unsure_is_kept)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	sql("UPDATE outbox SET unsure_since = '2026-01-31' "
	    "WHERE global_sequence = 3");
	decide(&b);
	for (size_t i = 0; i < b.n; i++)
		b.msgs[i].unsure = i != 4;
	b.claimed_at -= 4000;
	ck_ok(store_settle(st, &b, &done, &e));
	ck_settled();
	ck_assert_uint_eq(done.fenced, 0);
	ck_sql("1 NULL\n2 1\n3 0\n5 NULL\n6 NULL", "SELECT global_sequence, "
	    "unsure_since BETWEEN NOW(6) - INTERVAL 14 SECOND AND NOW(6) - "
	    "INTERVAL 4 SECOND FROM outbox ORDER BY 1");
	batch_free(&b);
}
END_TEST

/* Where the stream has each, however many were delivered and in what order. */
START_TEST(acks_are_kept)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	add_rows(7, 60, "'p00'");
	take(&b, 1, 60);
	for (size_t i = 0; i < 60; i++) {
		if (i % 7 != 0)
			b.msgs[i].outcome = OUT_DELIVERED;
		b.msgs[i].ack_sequence = 18446744073709551615u - 11 * i % 60;
		b.msgs[i].hashed = i % 5 != 0;
		b.msgs[i].hash = 18446744073709551615u - 7 * i % 60;
	}
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("51 9", "SELECT SUM(ack_sequence = 18446744073709551615 - "
	    "11 * (global_sequence - 1) %% 60), SUM(ack_sequence IS NULL) "
	    "FROM outbox");
	/* And which message it is, if that is known. */
	ck_sql("41 19", "SELECT SUM(message_hash = 18446744073709551615 - "
	    "7 * (global_sequence - 1) %% 60), SUM(message_hash IS NULL) "
	    "FROM outbox");
	batch_free(&b);
}
END_TEST

START_TEST(many_of_a_kind_are_one_statement)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	add_rows(7, 60, "'p00'");
	take(&b, 1, 60);
	for (size_t i = 0; i < 60; i++) {
		msg_fail(&b.msgs[i], i % 2 ? OUT_RETRY : OUT_DEAD, "x");
		b.msgs[i].delay_ms = 1000 * (int64_t)i;
		b.msgs[i].reason = "attempts";
	}
	log_statements();
	ck_ok(store_settle(st, &b, &done, &e));
	sql("SET GLOBAL general_log = 0");
	ck_assert_uint_eq(done.retried, 30);
	ck_assert_uint_eq(done.dead, 30);
	/* One update; begin, lock, insert, delete and commit. */
	ck_sql("6", "SELECT COUNT(*) " STATEMENTS);
	ck_sql("30", "SELECT COUNT(*) FROM outbox_dead_letters "
	    "WHERE global_sequence %% 2 = 1");
	ck_sql("30", "SELECT COUNT(*) FROM outbox WHERE last_error = 'x' AND "
	    "available_at BETWEEN NOW(6) + INTERVAL global_sequence SECOND - "
	    "INTERVAL 5 SECOND AND NOW(6) + INTERVAL global_sequence SECOND");
	batch_free(&b);
}
END_TEST

/* Others may have got the row meanwhile: each kind leaves it alone. */
START_TEST(lost_claims_are_left_alone)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };
	const char	*before;

	decide(&b);
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence <= 3; UPDATE outbox SET claim_token = NULL "
	    "WHERE global_sequence = 4; DELETE FROM outbox "
	    "WHERE global_sequence = 5");
	before = sql_text("SELECT * FROM outbox ORDER BY global_sequence");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql(before, "SELECT * FROM outbox ORDER BY global_sequence");
	ck_sql("0", "SELECT COUNT(*) FROM outbox_dead_letters");
	ck_assert_uint_eq(done.fenced, 5);
	ck_assert_uint_eq(done.delivered + done.retried + done.deferred +
	    done.dead + done.returned, 0);
	batch_free(&b);
}
END_TEST

START_TEST(lost_claims_do_not_hide_the_others)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	take(&b, 1, 6);
	for (size_t i = 0; i < 6; i++) {
		msg_fail(&b.msgs[i], i < 3 ? OUT_DEAD : OUT_DELIVERED, "why");
		b.msgs[i].reason = "message";
	}
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence IN (2, 5)");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.dead, 2);
	ck_assert_uint_eq(done.delivered, 2);
	ck_assert_uint_eq(done.fenced, 2);
	ck_sql("1 3", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox_dead_letters");
	ck_sql("2 4 5 6", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox");
	ck_sql("4 6", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1 "
	    "SEPARATOR ' ') FROM outbox WHERE published_at IS NOT NULL");
	batch_free(&b);
}
END_TEST

/* It fails in the middle, for each kind in turn, and is repeated. */
START_TEST(settling_is_repeated)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };
	char		which[48];

	decide(&b);
	snprintf(which, sizeof(which), "OLD.global_sequence = %d", _i + 1);
	put_obstacle("HY000", _i + 1 == 4 ? "DELETE" : "UPDATE", "outbox",
	    which);
	ck_fails(store_settle(st, &b, &done, &e));
	ck_has(e.text, "obstacle");
	ck_assert_int_eq(store_fault(st), DB_WRONG);
	ck_assert_uint_eq(done.fenced, 0);
	ck_sql("1", "SELECT COUNT(*) FROM outbox WHERE global_sequence = %d "
	    "AND claim_token = '%s'", _i + 1, b.token);
	sql("DROP TRIGGER obstacle");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_settled();
	ck_assert_uint_eq(done.delivered, 1);
	ck_assert_uint_eq(done.retried, 1);
	ck_assert_uint_eq(done.deferred, 1);
	ck_assert_uint_eq(done.dead, 1);
	ck_assert_uint_eq(done.returned, 1);
	ck_assert_uint_eq(done.fenced, 0);
	batch_free(&b);
}
END_TEST

/*
 * The database refuses row 4 by itself: the others are written all the same,
 * and it waits for half a minute, its attempts as they are.
 */
static const struct {
	enum outcome	 outcome;
	const char	*what;
	const char	*verb, *table, *row;
	size_t		 counter;
} refusals[] = {
	{ OUT_DELIVERED, "marked as delivered", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.published_at IS NOT NULL",
	  offsetof(struct settled, delivered) },
	{ OUT_RETRY, "given a delay", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.attempts > OLD.attempts",
	  offsetof(struct settled, retried) },
	{ OUT_DEAD, "buried", "INSERT", "outbox_dead_letters",
	  "NEW.global_sequence = 4", offsetof(struct settled, dead) },
	{ OUT_DEAD, "buried", "DELETE", "outbox", "OLD.global_sequence = 4",
	  offsetof(struct settled, dead) },
	{ OUT_UNSENT, "given back", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.last_error IS NULL",
	  offsetof(struct settled, returned) },
};

/* All six rows come to the same end. */
static void
decide_all(struct batch *b, enum outcome outcome)
{
	take(b, 1, 6);
	for (size_t i = 0; i < 6; i++) {
		if (outcome == OUT_UNSENT || outcome == OUT_DELIVERED)
			b->msgs[i].outcome = outcome;
		else
			msg_fail(&b->msgs[i], outcome, "why");
		b->msgs[i].reason = "message";
		b->msgs[i].delay_ms = 5000;
	}
}

START_TEST(refused_row_is_set_aside)
{
	enum outcome	 outcome = refusals[_i].outcome;
	struct settled	 done = { 0 };
	struct batch	 b = { 0 };

	decide_all(&b, outcome);
	put_obstacle("23000", refusals[_i].verb, refusals[_i].table,
	    refusals[_i].row);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(*(uint64_t *)((char *)&done +
	    refusals[_i].counter), 5);
	ck_assert_uint_eq(done.deferred, 1);
	ck_assert_uint_eq(done.fenced, 0);
	ck_assert_int_eq(b.msgs[3].outcome, OUT_DEFER);
	ck_sql("3 NULL 1 1", "SELECT attempts, claim_token, available_at "
	    "BETWEEN NOW(6) + INTERVAL 20 SECOND AND NOW(6) + INTERVAL 30 "
	    "SECOND, last_error LIKE 'cannot be %s:%%obstacle%%' FROM outbox "
	    "WHERE global_sequence = 4", refusals[_i].what);
	/* Sent, and nothing says so: it must be looked for. */
	ck_sql(outcome == OUT_DELIVERED ? "4" : "NULL", "SELECT "
	    "GROUP_CONCAT(global_sequence) FROM outbox "
	    "WHERE unsure_since IS NOT NULL");
	ck_sql(outcome == OUT_DEAD ? "5" : "0", "SELECT COUNT(*) "
	    "FROM outbox_dead_letters WHERE global_sequence <> 4");
	ck_sql(outcome == OUT_DELIVERED ? "5" : "0", "SELECT "
	    "COUNT(published_at) FROM outbox");
	ck_assert_uint_eq(times_logged("sequence 4 cannot be"), 1);
	batch_free(&b);
}
END_TEST

/* Whatever is written: it is left to its claim, and known to be in doubt. */
START_TEST(row_that_takes_nothing_keeps_its_claim)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	decide_all(&b, _i == 0 ? OUT_DELIVERED : OUT_RETRY);
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.claim_token IS NULL");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.delivered + done.retried, 5);
	ck_assert_uint_eq(done.deferred + done.fenced, 0);
	ck_assert_int_eq(b.msgs[3].outcome, OUT_UNKNOWN);
	ck_assert_int_eq(b.msgs[3].delay_ms, 30000);
	ck_sql("3 1", "SELECT attempts, claim_token = '%s' FROM outbox "
	    "WHERE global_sequence = 4", b.token);
	ck_sql(_i == 0 ? "4" : "NULL", "SELECT GROUP_CONCAT(global_sequence) "
	    "FROM outbox WHERE unsure_since IS NOT NULL");
	ck_assert_uint_eq(times_logged("sequence 4 cannot be"), 1);
	batch_free(&b);
}
END_TEST

/* Since when it is in doubt cannot be written: its claim says it. */
START_TEST(row_that_cannot_be_in_doubt_keeps_its_claim)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	decide_all(&b, OUT_RETRY);
	for (size_t i = 0; i < 6; i++)
		b.msgs[i].unsure = true;
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.unsure_since IS NOT NULL");
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.retried, 5);
	ck_assert_uint_eq(done.fenced, 0);
	ck_assert_int_eq(b.msgs[3].outcome, OUT_UNKNOWN);
	ck_assert_int_eq(b.msgs[3].delay_ms, 30000);
	ck_sql("1", "SELECT claim_token = '%s' FROM outbox "
	    "WHERE global_sequence = 4", b.token);
	ck_sql("1,2,3,5,6", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "
	    "FROM outbox WHERE unsure_since IS NOT NULL AND attempts = 4");
	batch_free(&b);
}
END_TEST

START_TEST(refused_row_is_not_claimed)
{
	struct batch	b = { 0 };

	if (_i == 1)		/* left by somebody */
		sql("UPDATE outbox SET claim_token = 'gone-1', available_at = "
		    "NOW(6) - INTERVAL 1 SECOND");
	b.early = true;
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.available_at > NOW()");
	ck_assert_uint_eq(claim(st, &b, 1, 6), 5);
	ck_sql("1,2,3,5,6", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "
	    "FROM outbox WHERE claim_token = '%s'", b.token);
	ck_assert(batch_is_refused(&b, 4));
	ck_assert(!batch_is_refused(&b, 3));
	ck_assert(!b.early);	/* not all of it is one statement */
	batch_free(&b);
	ck_assert_uint_eq(claim(st, &b, 4, 4), 0);
	ck_assert_uint_eq(times_logged("sequence 4 cannot be claimed"), 1);
	batch_free(&b);
}
END_TEST

/* What a server says of values, by classes and by codes without one. */
static const char *const	value_errors[] = {
	"SIGNAL SQLSTATE '22001'", "SIGNAL SQLSTATE '23000'",
	"SIGNAL SQLSTATE '45000'", "SIGNAL SQLSTATE '45123'",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1265",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1300",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1366",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3819",
	/* And not of values. */
	"SIGNAL SQLSTATE 'HY000'",
	"SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1142",
	"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213",
};

START_TEST(refused_values_are_known)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	decide_all(&b, OUT_DELIVERED);
	sql("CREATE TRIGGER obstacle BEFORE UPDATE ON outbox FOR EACH ROW "
	    "IF NEW.global_sequence = 4 AND NEW.published_at IS NOT NULL "
	    "THEN %s; END IF", value_errors[_i]);
	if (_i < 8) {
		ck_ok(store_settle(st, &b, &done, &e));
		ck_assert_uint_eq(done.delivered, 5);
	} else
		ck_fails(store_settle(st, &b, &done, &e));
	batch_free(&b);
}
END_TEST

static void
kill_store(void)
{
	sql("%s", sql_text("SELECT CONCAT('KILL ', MAX(id)) FROM "
	    "information_schema.processlist WHERE user = 'outbox'"));
	wait_for_goodbye();
}

/*
 * The connection broke: nobody knows whether it was written.  If it was, the
 * token is gone by our own hand, which is no fenced write.
 */
START_TEST(lost_answer_is_no_fence)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	kill_store();
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(store_fault(st), DB_LOST);
	if (_i == 1)
		sql("UPDATE outbox SET published_at = NOW(6), "
		    "claim_token = NULL WHERE claim_token IS NOT NULL");
	ck_ok(store_open(st, &e));
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.delivered, 2);
	ck_assert_uint_eq(done.fenced, 0);
	ck_sql("2", "SELECT COUNT(*) FROM outbox "
	    "WHERE published_at IS NOT NULL AND claim_token IS NULL");
	batch_free(&b);
}
END_TEST

/* A connection that was closed before wrote nothing: no doubt about it. */
START_TEST(unsent_settling_is_fenced)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	store_close(st);
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(store_fault(st), DB_CLOSED);
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence = 2");
	ck_ok(store_open(st, &e));
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.delivered, 1);
	ck_assert_uint_eq(done.fenced, 1);
	batch_free(&b);
}
END_TEST

/* The letter is in, the row cannot go: then the letter must not stay. */
START_TEST(death_is_one_transaction)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	decide(&b);
	put_obstacle("HY000", "DELETE", "outbox", "OLD.global_sequence = 4");
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(strncmp(e.text, "bury: ", 6), 0);
	ck_sql("0", "SELECT COUNT(*) FROM outbox_dead_letters");
	/* And it is over: nobody has to wait for these rows. */
	sql("SET innodb_lock_wait_timeout = 1; "
	    "SELECT * FROM outbox FOR UPDATE; "
	    "SELECT * FROM outbox_dead_letters FOR UPDATE");
	batch_free(&b);
}
END_TEST

START_TEST(dead_may_die_again)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	sql("INSERT INTO outbox_dead_letters (global_sequence, reason, "
	    "attempts, last_error) VALUES (4, 'attempts', 1, 'old')");
	decide(&b);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("4 4 message too big", "SELECT global_sequence, attempts, "
	    "reason, last_error FROM outbox_dead_letters");
	ck_assert_uint_eq(done.dead, 1);
	batch_free(&b);
}
END_TEST

/* No event, no label: a letter without a key. */
START_TEST(dead_without_event_is_buried)
{
	struct range	r = range("", 1);
	struct settled	done = { 0 };
	struct batch	b = { 0 };
	uint64_t	seven = 7, n;

	add_lease("", ME, 1);
	sql("INSERT INTO outbox (global_sequence) VALUES (7)");
	ck_ok(store_claim(st, &r, 1, &seven, 1, &b, &n, &e));
	ck_ok(store_fetch(st, &seven, 1, SIZE_MAX, &b, &e));
	msg_fail(&b.msgs[0], OUT_DEAD, "no event");
	b.msgs[0].reason = "message";
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("7 NULL NULL NULL 1 message no event", "SELECT global_sequence,"
	    " partition_key, order_key, event_type, attempts, reason, "
	    "last_error FROM outbox_dead_letters");
	batch_free(&b);
}
END_TEST

/* sql/schema.sql says so. */
START_TEST(letter_keeps_the_age_of_its_row)
{
	struct settled	done = { 0 };
	struct batch	b = { 0 };

	sql("UPDATE outbox SET created_at = '2026-01-31 12:00:00.5'");
	decide(&b);
	ck_ok(store_settle(st, &b, &done, &e));
	ck_sql("2026-01-31 12:00:00.500000",
	    "SELECT created_at FROM outbox_dead_letters");
	batch_free(&b);
}
END_TEST

/* Whatever a broker says must not keep the batch from being settled. */
static const char *const	complaints[] = {
	"", "it's \\ \"so\"", "gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x90\x98",
	"cut \xc3", "cut \xf0\x9f\x90", "\xff\xfe", "\x80 first",
	"over\xc0\xaflong", "half \xed\xa0\x80 pair", "%s %n {me} {", "\x01",
	NULL,				/* longer than the column */
};

START_TEST(any_error_text_is_written)
{
	char		 text[3000] = "";
	const char	*from = complaints[_i];
	struct settled	 done = { 0 };
	struct batch	 b = { 0 };

	while (from == NULL && strlen(text) < 2000)
		strcat(text, "\xc3\xbc 1234567890");
	if (from == NULL)
		from = text;
	take(&b, 1, 3);
	msg_fail(&b.msgs[0], OUT_RETRY, from);
	msg_fail(&b.msgs[1], OUT_DEFER, from);
	msg_fail(&b.msgs[2], OUT_DEAD, from);
	b.msgs[2].reason = "message";
	ck_ok(store_settle(st, &b, &done, &e));
	ck_assert_uint_eq(done.retried + done.deferred + done.dead, 3);
	ck_sql("3 1", "SELECT COUNT(*), COUNT(DISTINCT last_error) FROM ("
	    "SELECT last_error FROM outbox WHERE global_sequence < 3 UNION ALL "
	    "SELECT last_error FROM outbox_dead_letters) AS a "
	    "WHERE last_error IS NOT NULL");
	batch_free(&b);
}
END_TEST

/* Not connected: every call says so, and none does worse. */
static int
call(int i)
{
	static struct lease	 one = { .label = "p00" };
	const struct lease	*list = &one;
	struct range		 r = range("p00", 1);
	struct waiting_list	 w;
	struct candidate	*c;
	struct settled		 done = { 0 };
	struct batch		 b = { 0 }, ahead;
	struct msg		 m = { .sequence = 1, .reason = "message" };
	const char		*p00 = "p00";
	struct labels		 labels = { &p00, 1 };
	struct store_view	 v;
	uint64_t		 n, sequence = 1;
	unsigned		 count = 1;
	size_t			 nout;
	char			 label[STORE_LABEL];
	bool			 any;
	int			 rc;

	b.msgs = &m;
	b.n = 1;
	switch (i) {
	case 0: return store_learn(st, &e);
	case 1: return store_settings(st, &count, &e);
	case 2: return store_fill_partitions(st, 1, &e);
	case 3: return store_adopt_strays(st, &count, label, &e);
	case 4: return store_register(st, &e);
	case 5: return store_take_over(st, DEAD, &e);
	case 6: return store_beat(st, &any, &e);
	case 7: return store_view(st, NULL, NULL, &v, &e);
	case 8: return store_view(st, &labels, &labels, &v, &e);
	case 9: return store_renew(st, NULL, 0, 0, &n, &e);
	case 10: return store_acquire(st, &list, 1, &n, &e);
	case 11: return store_release(st, &list, 1, &e);
	case 12: return store_leave(st, &e);
	case 13: return store_purge(st, &n, &e);
	case 14: return store_few(st, &r, 1, &c, &nout, &any, &e);
	case 15: return store_candidates(st, &r, 1, &c, &nout, &e);
	case 16: return store_claim(st, &r, 1, &sequence, 1, &b, &n, &e);
	case 17: return store_fetch(st, &sequence, 1, SIZE_MAX, &b, &e);
	case 18: return store_waiting(st, &sequence, 1, &w, &e);
	case 19: return store_fetch_away(st, &sequence, 1, &b, &e);
	case 20: return store_few_ahead(st, &r, 1, 1, &c, &nout, &ahead, &any,
	    &e);
	}
	msg_fail(&m, (enum outcome)(i - 21), "why");
	rc = store_settle(st, &b, &done, &e);
	free(m.error);
	return rc;
}

#define NCALLS	(21 + OUT_UNKNOWN)

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
 * The statements of every tick, as the server would run them
 */

#define NBIG		5000

/* So many rows in 64 partitions, all ours; every other one is delivered. */
static void
fill_big(unsigned total)
{
	sql("DELETE FROM outbox; DELETE FROM events; "
	    "DELETE FROM outbox_partitions");
	ck_ok(store_fill_partitions(st, STORE_RANGES, &e));
	sql("UPDATE outbox_partitions SET lease_owner = '" ME "', lease_epoch ="
	    " 1, lease_until = NOW(6) + INTERVAL 60 SECOND; "
	    "INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) SELECT a.n + 10 * b.n + 100 * c.n + "
	    "1000 * d.n + 10000 * f.n + 1, CONCAT('k', b.n), a.n + 10 * c.n + "
	    "100 * d.n + 1000 * f.n, 't', '{}' FROM " DIGITS("a") ", "
	    DIGITS("b") ", " DIGITS("c") ", " DIGITS("d") ", " DIGITS("f")
	    " WHERE 1000 * d.n + 10000 * f.n < %u; "
	    "INSERT INTO outbox (global_sequence, partition_key, published_at)"
	    " SELECT sequence, CONCAT('p', LPAD(sequence DIV 2 MOD 64, 2, '0'))"
	    ", IF(sequence MOD 2, NOW(6), NULL) FROM events; "
	    "ANALYZE TABLE outbox; ANALYZE TABLE events; "
	    "ANALYZE TABLE outbox_partitions", total);
}

/* One tick over n rows, with every outcome. */
static void
tick_big(size_t n)
{
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][8];
	char			 stray[STORE_LABEL];
	struct candidate	*c;
	uint64_t		 claimed, *sequences;
	unsigned		 nstrays;
	size_t			 nc;
	struct waiting_list	 w;
	struct settled		 done = { 0 };
	struct batch		 b = { 0 };
	bool			 any;

	for (unsigned i = 0; i < STORE_RANGES; i++) {
		snprintf(labels[i], sizeof(labels[i]), "p%02u", i);
		ranges[i] = range(labels[i], 1);
		ranges[i].limit = n / STORE_RANGES + 1;
	}
	ck_ok(store_adopt_strays(st, &nstrays, stray, &e));
	ck_assert_uint_eq(nstrays, 0);
	ck_ok(store_few(st, ranges, STORE_RANGES, &c, &nc, &any, &e));
	free(c);
	ck_ok(store_few_ahead(st, ranges, STORE_RANGES, 100, &c, &nc, &b, &any,
	    &e));
	batch_free(&b);
	free(c);
	ck_ok(store_candidates(st, ranges, STORE_RANGES, &c, &nc, &e));
	ck_assert_uint_ge(nc, n);
	sequences = xcalloc(n, sizeof(*sequences));
	for (size_t i = 0; i < n; i++)
		sequences[i] = c[i].sequence;
	/* And one that somebody has left. */
	sql("UPDATE outbox SET claim_token = 'gone-1' "
	    "WHERE global_sequence = %llu",
	    (unsigned long long)sequences[0]);
	ck_ok(store_claim(st, ranges, STORE_RANGES, sequences, n, &b, &claimed,
	    &e));
	ck_assert_uint_eq(claimed, n);
	ck_ok(store_fetch(st, sequences, n, 1, &b, &e));
	ck_ok(store_fetch_away(st, sequences, n, &b, &e));
	ck_ok(store_waiting(st, sequences, n, &w, &e));
	for (size_t i = 0; i < n; i++) {
		msg_fail(&b.msgs[i], (enum outcome)(i % OUT_UNKNOWN), "why");
		b.msgs[i].reason = "message";
	}
	ck_ok(store_settle(st, &b, &done, &e));
	store_waiting_free(&w);
	batch_free(&b);
	free(sequences);
	free(c);
}

/* Ours to explain: with the key that must be used, or NULL. */
static const char *
hot_key(const char *statement)
{
	static const struct {
		const char	*part, *key;
	} hot[] = {
		{ "UNION ALL", "outbox_claim" },
		{ "FIELD(COALESCE(o.", "outbox_claim PRIMARY" },
		{ "SELECT FIELD", "outbox_claim" },
		{ "UPDATE `outbox` ", "PRIMARY" },
		{ "SELECT global_sequence", "PRIMARY" },
		{ "SELECT o.global_sequence", "PRIMARY" },
		{ "SELECT sequence, metadata", "PRIMARY" },
		{ "DELETE FROM `outbox`", "PRIMARY" },
	};

	for (int i = 0; i < NROWS(hot); i++)
		if (strstr(statement, hot[i].part) != NULL)
			return hot[i].key;
	return NULL;
}

/* Around 900 and 1,000 rows both optimizers change their minds. */
static const struct {
	unsigned	rows;
	size_t		batch;
} ticks[] = {
	{ 5000, 10 }, { 5000, 900 }, { 5000, 1000 }, { 5000, 1100 },
	{ 40000, 10 }, { 40000, 900 }, { 40000, 1000 }, { 40000, 1100 },
};

/* What it asks stands in the table seen afterwards. */
static void
note_tick(size_t n)
{
	log_statements();
	store_free(st);
	st = store_of(conf, ME);
	tick_big(n);
	sql("SET GLOBAL general_log = 0; DROP TABLE IF EXISTS seen; "
	    "CREATE TABLE seen (id INT AUTO_INCREMENT PRIMARY KEY, "
	    "text LONGTEXT); INSERT INTO seen (text) SELECT argument "
	    STATEMENTS "ORDER BY event_time");
}

/* Rows and leases by their keys, whatever is in the tables. */
static void
ck_claim(const char *text)
{
	ck_assert_str_eq(sql_column("key", "EXPLAIN %s", text),
	    "PRIMARY\nPRIMARY");
	ck_assert_str_eq(sql_column("table", "EXPLAIN %s", text), "o\np");
}

/*
 * The plans that the tables as they are now have for it.  Where there is
 * nothing to read, only what the order of locks depends on counts.
 */
static void
ck_plans(bool empty)
{
	int	n, nhot = 0, nclaims = 0;

	n = atoi(sql_text("SELECT COUNT(*) FROM seen"));
	for (int i = 1; i <= n; i++) {
		char *text = xstrdup(sql_text("SELECT text FROM seen "
		    "WHERE id = %d", i));

		if (strncmp(text, "SET SESSION", 11) == 0)
			sql("%s", text);
		if (hot_key(text) != NULL && strstr(text, "schema") == NULL) {
			nhot++;
			if (!empty)
				ck_plan(text, hot_key(text));
			if (strstr(text, " AS p ") != NULL) {
				nclaims++;
				ck_claim(text);
			}
		}
		free(text);
	}
	ck_assert_int_eq(nclaims, 2);
	/*
	 * Strays, few of all, few, few ahead, candidates, two claims, fetch,
	 * fetch away, waiting, six to settle.
	 */
	ck_assert_int_eq(nhot, 16);
}

START_TEST(hot_statements_use_their_keys)
{
	fill_big(ticks[_i].rows);
	note_tick(ticks[_i].batch);
	if (is_mysql())
		sql("SET explain_format = 'TRADITIONAL'");
	/* As it was before: the plan must not profit from an empty queue. */
	fill_big(ticks[_i].rows);
	ck_plans(false);
	fill_big(0);
	ck_plans(true);
	sql("DROP TABLE seen");
}
END_TEST

/* What the server has read so far: by key, in order, one after the other. */
static unsigned long
reads(void)
{
	return strtoul(sql_text("SELECT SUM(variable_value) FROM %s."
	    "global_status WHERE variable_name LIKE 'Handler_read%%'",
	    is_mysql() ? "performance_schema" : "information_schema"), NULL,
	    10);
}

static unsigned long
reads_of_tick(unsigned total, size_t batch)
{
	unsigned long	before, asking, sum;

	fill_big(total);
	before = reads();
	asking = reads() - before;
	before = reads();
	tick_big(batch);
	sum = reads() - before;
	return sum > asking ? sum - asking : 0;
}

/*
 * A tick reads some entries per row of its batch and per partition, and no
 * more because the tables are large.
 */
START_TEST(tick_reads_no_more_in_large_tables)
{
	size_t		batch = ticks[_i].batch;
	unsigned long	small = reads_of_tick(3000, batch),
			large = reads_of_tick(60000, batch);

	ck_assert_uint_le(small, 12 * batch + 8 * STORE_RANGES +
	    3 * STORE_FEW);
	ck_assert_uint_le(large, small + small / 20 + 10);
}
END_TEST

/*
 * The fence under way
 */

/* A claim in a thread of its own, because it will wait. */
struct claimer {
	struct store	*store;
	uint64_t	 first, last, n;
	struct batch	 b;
	pthread_t	 thread;
};

static void *
claimer_run(void *arg)
{
	struct claimer	*c = arg;

	c->n = claim(c->store, &c->b, c->first, c->last);
	return NULL;
}

static void
claimer_start(struct claimer *c)
{
	ck_assert_int_eq(pthread_create(&c->thread, NULL, claimer_run, c), 0);
	wait_for_locks(1);
}

struct heir {
	int		 rc;
	bool		 takes_over;
	struct err	 e;
	pthread_t	 thread;
};

static void *
heir_run(void *arg)
{
	struct heir		*h = arg;
	struct lease		 p00 = { .label = "p00" };
	const struct lease	*list = &p00;
	uint64_t		 n = 1;

	h->rc = h->takes_over ? store_take_over(st, DEAD, &h->e) :
	    store_acquire(st, &list, 1, &n, &h->e);
	ck_assert_uint_eq(n, 1);
	return NULL;
}

/*
 * The claim has begun in time and waits for a row: whoever wants the lease,
 * even after it has run out, must wait until the claim has committed.
 */
START_TEST(claim_keeps_the_lease_until_it_is_done)
{
	struct claimer	c = { .first = 1, .last = 3 };
	struct heir	h = { .takes_over = _i == 0 };

	conf->worker.lease_renew = 9000;
	store_free(st);
	st = store_of(conf, ME);
	c.store = store_of(conf, DEAD);
	add_rows(1, 4, "'p00'");
	add_lease("p00", DEAD, 1);
	sql("START TRANSACTION; SELECT * FROM outbox "
	    "WHERE global_sequence = 3 FOR UPDATE");
	if (!h.takes_over) {
		sql("COMMIT; UPDATE outbox_partitions SET lease_until = "
		    "NOW(6) + INTERVAL 400000 MICROSECOND; START TRANSACTION; "
		    "SELECT * FROM outbox WHERE global_sequence = 3 "
		    "FOR UPDATE");
	}
	claimer_start(&c);
	for (int64_t until = patience(); !h.takes_over && strcmp(sql_text(
	    "SELECT lease_until < NOW(6) FROM outbox_partitions"), "1") != 0; )
		wait_more(&until, "the lease to run out");
	ck_assert_int_eq(pthread_create(&h.thread, NULL, heir_run, &h), 0);
	wait_for_locks(2);
	ck_sql(DEAD " 1", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	sql("COMMIT");
	pthread_join(c.thread, NULL);
	pthread_join(h.thread, NULL);
	ck_assert_uint_eq(c.n, 3);
	ck_assert_msg(h.rc == 0, "%s", h.e.text);
	ck_sql(ME " 2", "SELECT lease_owner, lease_epoch "
	    "FROM outbox_partitions");
	ck_assert_uint_eq(claim(c.store, &c.b, 4, 4), 0);
	store_free(c.store);
}
END_TEST

/* A producer's insert does not wait for a claim that goes around it. */
START_TEST(claim_locks_no_gaps)
{
	struct claimer	c = { .first = 1, .last = 9 };

	c.store = st;
	add_lease("p00", ME, 1);
	add_rows(1, 2, "'p00'");
	add_rows(9, 9, "'p00'");
	sql("SET innodb_lock_wait_timeout = 1; START TRANSACTION; "
	    "SELECT * FROM outbox WHERE global_sequence = 9 FOR UPDATE");
	claimer_start(&c);
	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "VALUES (5, 'p00'), (6, NULL)");
	sql("COMMIT");
	pthread_join(c.thread, NULL);
	ck_assert_uint_eq(c.n, 3);
}
END_TEST

/* Claims ten at a time until it gets none. */
struct racer {
	struct store	*store;
	uint64_t	 next;
	uint64_t	 n;
	char		 error[200];
	pthread_t	 thread;
};

static void *
racer_run(void *arg)
{
	struct racer	*r = arg;
	struct range	 p00 = range("p00", 1);
	struct batch	 b = { 0 };
	struct err	 err = { "" };
	uint64_t	 sequences[10], n;

	while (r->next < NBIG && r->error[0] == '\0') {
		for (int i = 0; i < 10; i++)
			sequences[i] = r->next + (uint64_t)i + 1;
		if (store_claim(r->store, &p00, 1, sequences, 10, &b, &n,
		    &err) == 0) {
			r->n += n;
			r->next += 10;
			if (n == 0)
				return NULL;
		} else if (store_fault(r->store) != DB_BUSY)
			snprintf(r->error, sizeof(r->error), "%.190s",
			    err.text);
	}
	return NULL;
}

#define NROUNDS	30

/*
 * A worker claims as fast as it can while another one takes its lease over:
 * once that has committed, the number of rows claimed never grows.
 */
START_TEST(no_row_is_claimed_under_a_lost_lease)
{
	char		id[IDENT_SIZE];
	unsigned	seed = 1, races = 0;

	sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	fill_big(NBIG);
	sql("UPDATE outbox SET partition_key = 'p00', published_at = NULL; "
	    "DELETE FROM outbox_partitions");
	for (unsigned round = 1; round <= NROUNDS; round++) {
		struct racer	 r = { .next = 0 };
		int64_t		 start;
		const char	*first;

		snprintf(id, sizeof(id), "race:00:%016x", 0xace00 + round);
		r.store = store_of(conf, id);
		sql("DELETE FROM outbox_partitions; UPDATE outbox SET "
		    "claim_token = NULL, available_at = NOW(6)");
		add_lease("p00", id, 1);
		ck_assert_int_eq(pthread_create(&r.thread, NULL, racer_run,
		    &r), 0);
		start = clock_us();
		while (clock_us() - start < 1000 + rand_r(&seed) % 15000)
			sched_yield();
		while (store_take_over(st, id, &e) < 0)
			ck_assert_msg(store_fault(st) == DB_BUSY, "%s",
			    e.text);
		first = sql_text("SELECT COUNT(*) FROM outbox "
		    "WHERE claim_token LIKE '%016x-%%'", 0xace00 + round);
		pthread_join(r.thread, NULL);
		ck_assert_str_eq(r.error, "");
		ck_sql(first, "SELECT COUNT(*) FROM outbox "
		    "WHERE claim_token LIKE '%016x-%%'", 0xace00 + round);
		ck_assert_uint_eq(r.n, strtoull(first, NULL, 10));
		/* On a busy machine it may have got all before. */
		races += r.next < NBIG;
		store_free(r.store);
	}
	ck_assert_uint_gt(races, 0);
}
END_TEST

/*
 * Tables of somebody else: whole seconds, no index of ours, no settings
 */

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
	other_conf = conf_for("pillar");
	st = store_of(other_conf, ME);
}

static void
pillar_end(void)
{
	store_free(st);
	conf_free(other_conf);
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

	add_lease("p00", ME, 1);
	add_rows(1, 3, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-01'");
	take(&b, 1, 3);
	b.msgs[0].outcome = OUT_DELIVERED;
	b.msgs[1].outcome = OUT_UNSENT;
	msg_fail(&b.msgs[2], OUT_RETRY, "why");
	wait_for_half();
	ck_ok(store_settle(st, &b, &done, &e));
	ck_ok(store_register(st, &e));
	ck_ok(store_beat(st, &known, &e));
	ck_ok(store_renew(st, NULL, 0, 0, &n, &e));
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
	ck_ok(store_fill_partitions(st, count, &e));
	add_rows(1, 2, "NULL");
	add_rows(3, 3, "'p00'");
	sql("UPDATE outbox SET available_at = '2026-01-01'");
	ck_ok(store_adopt_strays(st, &nstrays, label, &e));
	ck_assert_uint_eq(nstrays, 1);
	ck_ok(store_acquire(st, list, every_lease(&all, list), &n, &e));
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(candidates(ranges, 2), "1:0 2:0 3:1");
	ck_ok(store_claim(st, ranges, 2, sequences, 3, &b, &n, &e));
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

/*
 * The suite: every case once for each kind of server
 */

static void
add_db(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "db", k, k->start, db_begin, end);

	tcase_add_test(tc, session_is_prepared);
	tcase_add_test(tc, moments_are_utc);
	tcase_add_test(tc, result_is_walked);
	tcase_add_test(tc, matched_rows_are_counted);
	tcase_add_loop_test(tc, server_is_refused, 0, NROWS(moods));
	tcase_add_loop_test(tc, login_is_refused, 0, NROWS(logins));
	tcase_add_loop_test(tc, next_host_is_tried, 0, 2);
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

	tc = add_case(s, "tls", k, strcmp(k->name, "mysql") == 0 ?
	    start_mysql_tls : start_mariadb_tls, begin, end);
	tcase_add_loop_test(tc, tls_is_as_asked, 0, NROWS(modes));
	tcase_add_loop_test(tc, certificate_is_shown, 0, 2);
	tcase_add_test(tc, socket_needs_no_tls);
	tcase_add_test(tc, restarted_server_is_found_again);
}

static void
add_schema(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "schema", k, k->start, other_begin,
		    other_end);

	tcase_add_loop_test(tc, missing_table_is_named, 0, NROWS(needed));
	tcase_add_test(tc, missing_column_is_named);
	tcase_add_test(tc, optional_tables_may_be_missing);
	tcase_add_loop_test(tc, column_may_be_missing, 0, NROWS(spares));
	tcase_add_test(tc, tables_may_have_other_names);
	tcase_add_loop_test(tc, index_is_found, 0, NROWS(indexes));
	tcase_add_test(tc, values_are_made_to_fit);
	tcase_add_test(tc, errors_are_made_to_fit);

	tc = add_case(s, "settings", k, k->start, begin_store, end_store);
	tcase_add_test(tc, own_schema_is_understood);
	tcase_add_test(tc, empty_settings_are_filled);
	tcase_add_test(tc, first_to_fill_wins);
	tcase_add_test(tc, settings_win);
	tcase_add_test(tc, odd_settings_are_refused);
	tcase_add_test(tc, partitions_are_filled);
	tcase_add_test(tc, no_stray_is_adopted);
	tcase_add_loop_test(tc, stray_is_adopted, 0, NROWS(strays));
	tcase_add_test(tc, all_strays_are_adopted_in_time);
}

static void
add_leases(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "lease", k, k->start, begin_store, end_store);

	tcase_add_test(tc, worker_is_registered);
	tcase_add_test(tc, heart_beats);
	tcase_add_test(tc, fleet_is_sorted_and_alive);
	tcase_add_test(tc, leases_are_listed);
	tcase_add_test(tc, named_leases_are_listed);
	tcase_add_test(tc, named_leases_are_renewed);
	tcase_add_test(tc, own_live_leases_are_renewed);
	tcase_add_test(tc, small_share_is_looked_at_by_name);
	tcase_add_test(tc, small_share_follows_the_fleet);
	tcase_add_test(tc, free_leases_are_acquired);
	tcase_add_test(tc, own_leases_are_released);
	tcase_add_test(tc, labels_are_quoted);
	tcase_add_test(tc, long_labels_are_kept);
	tcase_add_test(tc, leaver_gives_up_everything);
	tcase_add_test(tc, silent_workers_are_purged);
	tcase_add_test(tc, dead_is_inherited);
	tcase_add_test(tc, broken_inheritance_changes_nothing);
	tcase_add_loop_test(tc, closed_store_says_so, 0, NCALLS);
}

static void
add_claims(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "claim", k, k->start, begin_store, end_store);

	tcase_add_test(tc, few_rows_are_read_at_once);
	tcase_add_test(tc, few_rows_may_have_no_label);
	tcase_add_test(tc, rows_of_others_do_not_hide_few);
	tcase_add_loop_test(tc, waiting_rows_are_in_view, 0, 3);
	tcase_add_test(tc, view_mixes_no_collations);
	tcase_add_test(tc, candidates_come_in_order);
	tcase_add_test(tc, many_ranges_are_one_statement);
	tcase_add_test(tc, rows_without_label_are_candidates);
	tcase_add_test(tc, no_gap_among_rows_without_label);
	tcase_add_test(tc, due_rows_are_claimed);
	tcase_add_loop_test(tc, claim_is_fenced, 0, 2 * NROWS(fences));
	tcase_add_test(tc, explained_is_not_done);
	tcase_add_test(tc, only_named_partitions_are_claimed);
	tcase_add_loop_test(tc, all_leases_or_no_claim, 0, 4);
	tcase_add_test(tc, abandoned_rows_go_with_the_free_ones);
	tcase_add_loop_test(tc, rows_without_label_are_claimed, 0, 2);
	tcase_add_loop_test(tc, only_free_rows_are_claimed, 0, NROWS(rows));
	tcase_add_test(tc, many_dead_are_known);
	tcase_add_test(tc, no_lease_is_needed_without_leasing);
	tcase_add_test(tc, claim_lasts_as_configured);
	tcase_add_test(tc, claim_passes_a_producer);
	tcase_add_test(tc, token_tells_how_long_its_claim_lasts);
	tcase_add_loop_test(tc, orphans_are_unsure_since_their_claim, 0,
	    NROWS(orphans));
	tcase_add_test(tc, token_may_be_bytes);
	tcase_add_test(tc, orphans_are_unsure);
	tcase_add_test(tc, row_arrives_whole);
	tcase_add_test(tc, nulls_and_empty_arrive);
	tcase_add_loop_test(tc, long_bodies_stay_away, 0, 2);
	tcase_add_test(tc, event_may_go_before_it_is_fetched);
	tcase_add_loop_test(tc, longer_than_a_packet_arrives, 0, 2);
	tcase_add_test(tc, only_what_the_token_holds_is_fetched);
	tcase_add_test(tc, order_is_by_number);
	tcase_add_test(tc, waiting_rows_are_explained);

	tc = add_case(s, "fence", k, k->start, begin_store, end_store);
	tcase_add_loop_test(tc, hot_statements_use_their_keys, 0,
	    NROWS(ticks));
	tcase_add_loop_test(tc, tick_reads_no_more_in_large_tables, 0, 4);
	tcase_add_loop_test(tc, claim_keeps_the_lease_until_it_is_done, 0, 2);
	tcase_add_test(tc, claim_locks_no_gaps);
	tcase_add_test(tc, no_row_is_claimed_under_a_lost_lease);
}

static void
add_settling(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "settle", k, k->start, settle_begin,
		    end_store);

	tcase_add_test(tc, outcomes_are_written);
	tcase_add_loop_test(tc, nobody_may_count_replays, 0, 2);
	tcase_add_test(tc, replays_are_counted);
	tcase_add_test(tc, acks_are_kept);
	tcase_add_test(tc, unsure_is_kept);
	tcase_add_test(tc, many_of_a_kind_are_one_statement);
	tcase_add_test(tc, lost_claims_are_left_alone);
	tcase_add_test(tc, lost_claims_do_not_hide_the_others);
	tcase_add_loop_test(tc, settling_is_repeated, 0, 5);
	tcase_add_loop_test(tc, refused_row_is_set_aside, 0, NROWS(refusals));
	tcase_add_loop_test(tc, row_that_takes_nothing_keeps_its_claim, 0, 2);
	tcase_add_test(tc, row_that_cannot_be_in_doubt_keeps_its_claim);
	tcase_add_loop_test(tc, refused_row_is_not_claimed, 0, 2);
	tcase_add_loop_test(tc, refused_values_are_known, 0,
	    NROWS(value_errors));
	tcase_add_loop_test(tc, lost_answer_is_no_fence, 0, 2);
	tcase_add_test(tc, unsent_settling_is_fenced);
	tcase_add_test(tc, death_is_one_transaction);
	tcase_add_test(tc, dead_may_die_again);
	tcase_add_test(tc, dead_without_event_is_buried);
	tcase_add_test(tc, letter_keeps_the_age_of_its_row);
	tcase_add_loop_test(tc, any_error_text_is_written, 0,
	    NROWS(complaints));

	tc = add_case(s, "seconds", k, k->start, pillar_begin, pillar_end);
	tcase_add_test(tc, whole_seconds_do_not_lie_ahead);
	tcase_add_test(tc, somebody_elses_tables_are_served);
}

static void
add_all(Suite *s, const struct kind *k)
{
	add_db(s, k);
	add_schema(s, k);
	add_leases(s, k);
	add_claims(s, k);
	add_settling(s, k);
}

int
main(void)
{
	return frame_run("store", add_all);
}
