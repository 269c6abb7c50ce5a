/*
 * server.c - what a server is, in one line; and what a real one without a
 * cluster tells of itself
 */
#include "mysql/server.h"
#include "mysql/server_test.h"
#include "util/buf.h"

#include <bsd/string.h>

static const struct {
	struct server	 s;
	const char	*text;
} lines[] = {
	{ { .kind = SERVER_SINGLE, .name = "db1" }, "db1" },
	{ { .kind = SERVER_SINGLE }, "server" },
	{ { .kind = SERVER_SINGLE, .name = "db2:3307", .read_only = true },
	  "db2:3307, read-only" },
	{ { .kind = SERVER_SINGLE, .name = "db1", .semi_sync = "AFTER_SYNC" },
	  "db1 (semi-sync, AFTER_SYNC)" },
	{ { .kind = SERVER_PRIMARY, .name = "db1", .online = 2,
	    .semi_sync = "AFTER_SYNC" },
	  "primary db1, 2 replicas (semi-sync, AFTER_SYNC)" },
	{ { .kind = SERVER_PRIMARY, .name = "db1", .online = 1 },
	  "primary db1, 1 replica (asynchronous)" },
	{ { .kind = SERVER_GALERA, .name = "n2", .online = 3, .size = 3,
	    .state = "Synced" }, "Galera n2 (3 of 3, Synced)" },
	{ { .kind = SERVER_GALERA, .name = "n2", .online = SERVER_UNKNOWN,
	    .size = SERVER_UNKNOWN, .state = "Joined" }, "Galera n2 (Joined)" },
	{ { .kind = SERVER_GROUP, .name = "mysql-1", .primary = "mysql-1",
	    .online = 3, .size = 3 },
	  "group replication, single primary mysql-1 (3 of 3 online)" },
	{ { .kind = SERVER_GROUP, .name = "mysql-2", .primary = "mysql-1",
	    .online = 2, .size = 3, .read_only = true }, "group replication, "
	  "single primary mysql-1, this is mysql-2 (2 of 3 online)" },
	{ { .kind = SERVER_GROUP, .name = "mysql-1", .online = SERVER_UNKNOWN,
	    .size = SERVER_UNKNOWN }, "group replication, single primary "
	  "mysql-1 (members not visible)" },
	{ { .kind = SERVER_GROUP, .name = "mysql-3", .online = 3, .size = 3,
	    .several_primaries = true },
	  "group replication, multi-primary, this is mysql-3 (3 of 3 online)" },
};

START_TEST(server_is_one_line)
{
	char	text[SERVER_TEXT];

	server_text(&lines[_i].s, text);
	ck_assert_str_eq(text, lines[_i].text);
}
END_TEST

/* The account of grants.sql may not see all of it, which is no failure. */
START_TEST(server_tells_of_itself)
{
	struct db	*db = db_new(conf, 3000);
	struct server	 s, again;
	const char	*want = sql_text("SELECT CONCAT(@@hostname, ':', "
			    "@@port)");

	ck_ok(db_open(db, &e));
	ck_ok(server_read(db, &s, &e));
	ck_assert(db_is_open(db));
	ck_assert_int_eq(s.kind, SERVER_SINGLE);
	ck_assert_str_eq(s.name, want);
	ck_has(s.version, sql_text("SELECT VERSION()"));
	ck_has(s.identity, is_mysql() ? sql_text("SELECT @@server_uuid") :
	    want);
	ck_assert_str_eq(s.source, s.identity);
	ck_assert(!s.read_only && s.has_binlog && !s.several_primaries);
	ck_assert_int_eq(s.online, SERVER_UNKNOWN);
	ck_assert_int_eq(s.sync_binlog,
	    atoi(sql_text("SELECT @@sync_binlog")));
	ck_assert_int_eq(s.flush_at_commit,
	    atoi(sql_text("SELECT @@innodb_flush_log_at_trx_commit")));
	ck_assert_int_eq(s.increment, 1);
	ck_assert_str_eq(s.semi_sync, "");
	ck_near(s.ahead_us, -1000000, 1000000);

	/* One who may see more knows that there are no replicas. */
	sql("GRANT REPLICATION SLAVE%s ON *.* TO 'outbox'@'localhost'",
	    is_mysql() ? "" : ", REPLICATION MASTER ADMIN");
	ck_ok(db_open(db, &e));
	ck_ok(server_read(db, &again, &e));
	ck_assert_int_eq(again.online, 0);
	ck_assert_str_eq(again.source, s.source);
	sql("REVOKE REPLICATION SLAVE%s ON *.* FROM 'outbox'@'localhost'",
	    is_mysql() ? "" : ", REPLICATION MASTER ADMIN");

	db_close(db);
	ck_fails(server_read(db, &s, &e));
	db_free(db);
}
END_TEST

void
add_server(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "server", k, k->start, begin, end);

	tcase_add_loop_test(tc, server_is_one_line, 0, NROWS(lines));
	tcase_add_test(tc, server_tells_of_itself);
}
