/*
 * check_hostile.c - the connection against a server that lies
 *
 * A fake asks for the password in clear, for files of ours, and answers with
 * results that no statement has.
 */
#include "lib/fake_mysql.h"
#include "lib/servers.h"
#include "janitor/retention.h"
#include "mysql/db_impl.h"
#include "util/buf.h"

static struct fake	 fake;
static struct conf	*conf;
static struct db	*db;
static struct err	 e;

/* host: where the fake seems to be; 0.0.0.0 is no loopback address. */
static int
connect_to(const char *host, const char *tls)
{
	conf = servers_conf("mysql: {hosts: [\"%s:%d\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app, tls: {mode: %s}}\n", host,
	    fake_start(&fake), tls);
	db = db_new(conf, 3000);
	return db_open(db, &e);
}

static void
finish(void)
{
	db_free(db);
	conf_free(conf);
}

static const struct {
	const char	*plugin, *host, *tls;
} greedy[] = {
	{ "mysql_clear_password", "127.0.0.1", "auto" },
	{ "mysql_clear_password", "localhost", "auto" },
	{ "mysql_clear_password", "127.0.0.1", "disable" },
	{ "mysql_clear_password", "0.0.0.0", "disable" },
	{ "mysql_clear_password", "0.0.0.0", "auto" },
	{ "mysql_clear_password", "127.0.0.1", "require" },
	{ "mysql_clear_password", "127.0.0.1", "verify" },
	{ "dialog", "127.0.0.1", "auto" },
	{ "dialog", "0.0.0.0", "disable" },
	{ "dialog", "127.0.0.1", "require" },
	{ "dialog", "127.0.0.1", "verify" },
	{ "caching_sha2_password", "127.0.0.1", "auto" },
	{ "caching_sha2_password", "0.0.0.0", "disable" },
	{ "caching_sha2_password", "127.0.0.1", "require" },
	{ "caching_sha2_password", "127.0.0.1", "verify" },
	{ "sha256_password", "127.0.0.1", "auto" },
	{ "sha256_password", "127.0.0.1", "require" },
	{ "mysql_old_password", "127.0.0.1", "auto" },
	{ "../../../../tmp/evil", "127.0.0.1", "auto" },
};

START_TEST(password_is_not_given_away)
{
	fake.plugin = greedy[_i].plugin;
	ck_assert_int_eq(connect_to(greedy[_i].host, greedy[_i].tls), -1);
	ck_assert(!db_is_open(db));
	ck_assert_uint_eq(fake_logins(&fake), 0);
	ck_assert(!fake_saw(&fake, OUTBOX_PASSWORD));
	ck_has_not(e.text, OUTBOX_PASSWORD);
}
END_TEST

static const struct {
	const char	*host;
	enum conf_tls	 tls;
} hosts[] = {
	{ NULL, TLS_DISABLE },		/* a socket */
	{ "localhost", TLS_DISABLE },
	{ "LOCALHOST", TLS_DISABLE },
	{ "127.0.0.1", TLS_DISABLE },
	{ "127.255.0.9", TLS_DISABLE },
	{ "::1", TLS_DISABLE },
	{ "::ffff:127.0.0.1", TLS_DISABLE },
	{ "127.db.example", TLS_VERIFY },
	{ "127.0.0.1.db.example", TLS_VERIFY },
	{ "127.1", TLS_VERIFY },
	{ "localhost.db.example", TLS_VERIFY },
	{ "::ffff:10.0.0.1", TLS_VERIFY },
	{ "10.127.0.1", TLS_VERIFY },
	{ "0.0.0.0", TLS_VERIFY },
};

START_TEST(loopback_is_an_address)
{
	conf = servers_conf("mysql: {database: app}");
	ck_assert_int_eq(db_tls(conf, hosts[_i].host), hosts[_i].tls);
}
END_TEST

/* A server without TLS gets nothing at all where TLS is needed. */
START_TEST(stripped_server_gets_nothing)
{
	ck_assert_int_eq(connect_to("127.0.0.1", _i == 0 ? "verify" :
	    "require"), -1);
	ck_assert(!db_is_open(db));
	ck_assert(!fake_saw(&fake, OUTBOX_PASSWORD));
	ck_assert(!fake_saw(&fake, "SET "));
	if (_i == 0)
		ck_assert(!fake_saw(&fake, "outbox"));
}
END_TEST

/* A result that begins well enough for a connection. */
#define VARIABLES	"SHOW SESSION VARIABLES"

static const char *const	nulls[] = { NULL, NULL, NULL, NULL };
static const char *const	names[] = { "log_bin", "read_only" };
static const char *const	half[] = { "read_only", NULL, NULL, "ON",
				    "log_bin", NULL };

static const struct {
	struct fake_answer	 answer;
	int			 rc;	/* of db_open */
} odd[] = {
	{ { .match = VARIABLES, .ncols = 2, .nrows = 2, .cells = nulls }, 0 },
	{ { .match = VARIABLES, .ncols = 1, .nrows = 2, .cells = names }, -1 },
	{ { .match = VARIABLES, .ncols = 2, .nrows = 3, .cells = half }, -1 },
	{ { .match = VARIABLES, .ncols = 4, .nrows = 1, .cells = nulls }, 0 },
	{ { .match = VARIABLES, .ncols = 2, .nrows = 0 }, 0 },
	{ { .match = VARIABLES, .ncols = 0 }, -1 },	/* no result at all */
	{ { .match = VARIABLES, .error = 1047 }, -1 },
};

START_TEST(odd_results_are_survived)
{
	fake.answers = &odd[_i].answer;
	fake.nanswers = 1;
	ck_assert_msg(connect_to("127.0.0.1", "auto") == odd[_i].rc, "%s",
	    e.text);
	ck_assert_uint_eq(fake_logins(&fake), 1);
	ck_assert(db_is_open(db) == (odd[_i].rc == 0));
}
END_TEST

/* A proxy greets for another kind of server, whose variables it shows. */
START_TEST(greeting_does_not_tell_the_kind)
{
	static const char *const	shown[] = { "version", "8.0.11" };
	const char			*real[] = { "10.11.6-MariaDB-log" };
	const struct fake_answer	proxy[] = {
		{ .match = VARIABLES, .ncols = 2, .nrows = 1, .cells = shown },
		{ .match = "SELECT VERSION()", .ncols = 1, .nrows = 1,
		  .cells = real },
	};

	if (_i == 1)
		real[0] = "8.4.3";
	fake.answers = proxy;
	fake.nanswers = NROWS(proxy);
	ck_assert_int_eq(connect_to("127.0.0.1", "auto"), 0);
	ck_assert(db_is_mariadb(db) == (_i == 0));
	ck_assert_uint_eq(db->version, _i == 0 ? 101106 : 80403);
}
END_TEST

/*
 * vtgate: the first two are refused, the third is ignored; and a target that is
 * no shard is not worked with.
 */
static const char *const	collation[] = { "collation_connection",
				    "utf8mb4_0900_ai_ci" };
static const struct fake_answer	vtgate[] = {
	{ .match = "sql_select_limit = ", .error = 1105 },
	{ .match = "use_secondary_engine = ", .error = 1193 },
	{ .match = VARIABLES, .ncols = 2, .nrows = 1, .cells = collation },
	{ .match = "DO 1", .error = 1105 },
	{ .match = "DO 2", .error = 1095 },
};
static const struct {
	const char	*greeting, *database, *error;
} gates[] = {
	{ "8.4.6-Vitess", "ks:-80@primary", NULL },
	{ "8.4.6-Vitess", "ks:-80", NULL },
	{ "8.4.6-Vitess", "ks", "must name one shard" },
	{ "8.4.6", "ks:-80@primary", "(1105)" },
};

START_TEST(vtgate_needs_a_shard)
{
	struct buf	sql = { 0 };
	int		rc;

	fake.greeting = gates[_i].greeting;
	fake.answers = vtgate;
	fake.nanswers = NROWS(vtgate);
	conf = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: \"%s\"}\n",
	    fake_start(&fake), gates[_i].database);
	db = db_new(conf, 3000);
	rc = db_open(db, &e);
	if (gates[_i].error != NULL) {
		ck_assert_int_eq(rc, -1);
		ck_has(e.text, gates[_i].error);
		return;
	}
	ck_assert_msg(rc == 0, "%s", e.text);
	ck_assert(db_is_vtgate(db));
	buf_str(&sql, "DO 2");		/* KILL: refused, and that is all */
	ck_assert_int_eq(db_exec(db, "test", &sql, NULL, &e), -1);
	ck_assert(db_is_open(db));
	buf_clear(&sql);
	buf_str(&sql, "DO 1");		/* its shard has no primary now */
	ck_assert_int_eq(db_exec(db, "test", &sql, NULL, &e), -1);
	ck_assert_int_eq(db_last_fault(db), DB_LOST);
	ck_assert(!db_is_open(db));
	buf_free(&sql);
}
END_TEST

/* It may not have a file of ours, whatever it was asked. */
START_TEST(no_file_is_sent)
{
	static const struct fake_answer	thief[] = {
		{ .match = VARIABLES, .ncols = 2 },
		{ .match = "SELECT 7", .file = "/etc/passwd" },
	};
	struct buf			sql = { 0 };

	fake.answers = thief;
	fake.nanswers = NROWS(thief);
	ck_assert_int_eq(connect_to("127.0.0.1", "auto"), 0);
	buf_str(&sql, "SELECT 7");
	ck_assert_ptr_null(db_query(db, "query", &sql, &e));
	ck_assert(!fake_saw(&fake, "root:"));
	buf_free(&sql);
}
END_TEST

/*
 * Two servers of a list, the first of which takes no writes although it lets
 * everybody in
 */
static struct fake	 second;

static int
connect_to_two(void)
{
	int	one = fake_start(&fake), two = fake_start(&second);

	conf = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\", "
	    "\"127.0.0.1:%d\"], user: outbox, password_env: OUTBOX_PW, "
	    "database: app}\n", one, two);
	db = db_new(conf, 3000);
	return db_open(db, &e);
}

static const struct fake_answer	well[] = {
	{ .match = VARIABLES, .ncols = 2 },
};

/*
 * Read-only in three ways, a node that is cut off from its cluster, and in a
 * COMMIT, where the cluster may have had the transaction: there it is not known.
 */
static const struct {
	unsigned	code;
	enum db_fault	fault;
} leaves[] = {
	{ 1290, DB_READONLY }, { 1792, DB_READONLY }, { 1836, DB_READONLY },
	{ 1047, DB_READONLY }, { 1180, DB_LOST }, { 3100, DB_LOST },
};

START_TEST(next_host_after_a_refusal)
{
	const struct fake_answer	refuses[] = {
		well[0], { .match = "UPDATE", .error = leaves[_i].code },
	};
	struct buf			sql = { 0 };

	fake.answers = refuses;
	fake.nanswers = NROWS(refuses);
	second.answers = well;
	second.nanswers = NROWS(well);
	ck_assert_int_eq(connect_to_two(), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[0]);
	buf_str(&sql, "UPDATE");
	ck_assert_int_eq(db_exec(db, "update", &sql, NULL, &e), -1);
	ck_assert_int_eq(db_last_fault(db), leaves[_i].fault);
	ck_assert(!db_is_open(db));
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
	ck_assert_int_eq(db_exec(db, "update", &sql, NULL, &e), 0);
	/* It stays there. */
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
	/* Unless it is told otherwise. */
	db_prefer(db, conf->mysql.hosts.items[0]);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[0]);
	db_leave(db);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
	buf_free(&sql);
}
END_TEST

/* A host that was demoted is used if no other one is. */
START_TEST(demoted_host_is_the_last_resort)
{
	const struct fake_answer	cut[] = { well[0],
		{ .match = "UPDATE", .error = 1290 },
	};
	struct buf			sql = { 0 };

	fake.answers = well;
	fake.nanswers = NROWS(well);
	second.answers = cut;
	second.nanswers = NROWS(cut);
	ck_assert_int_eq(connect_to_two(), 0);
	ck_assert(!db_is_demoted(db));
	db_demote(db);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
	ck_assert(!db_is_demoted(db));
	/* It comes behind that one, and is not good enough. */
	buf_str(&sql, "UPDATE");
	ck_assert_int_eq(db_exec(db, "update", &sql, NULL, &e), -1);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
	ck_has(db_passed_over(db), "lacks events of messages");
	db_demote(db);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[0]);
	ck_assert(db_is_demoted(db));
	buf_free(&sql);
}
END_TEST

/* A lost certification, and a member that is not there yet: try again. */
static const unsigned	waits[] = { 3101, 3796, 3797 };

START_TEST(busy_member_is_asked_again)
{
	const struct fake_answer	busy[] = {
		well[0], { .match = "UPDATE", .error = waits[_i] },
	};
	struct buf			sql = { 0 };

	fake.answers = busy;
	fake.nanswers = NROWS(busy);
	ck_assert_int_eq(connect_to_two(), 0);
	buf_str(&sql, "UPDATE");
	ck_assert_int_eq(db_exec(db, "update", &sql, NULL, &e), -1);
	ck_assert_int_eq(db_last_fault(db), DB_BUSY);
	ck_assert(db_is_open(db));
	buf_free(&sql);
}
END_TEST

static int
registers(void *arg, struct err *why)
{
	struct buf	sql = { 0 };
	int		rc;

	buf_str(&sql, arg);
	rc = db_exec(db, "register", &sql, NULL, why);
	buf_free(&sql);
	return rc;
}

/*
 * The test of its owner: a server that lets us in and fails it is passed over,
 * and the error has both if the other fails, too.  The fault is the one that
 * heals sooner.
 */
static const struct {
	unsigned	one, two;
	enum db_fault	fault;
} tests[] = {
	{ 1205, 0, DB_FINE }, { 1142, 0, DB_FINE }, { 1205, 1142, DB_BUSY },
	{ 1142, 1047, DB_READONLY }, { 1142, 1146, DB_WRONG },
};

START_TEST(server_that_fails_the_test_is_passed_over)
{
	const struct fake_answer	one[] = {
		well[0], { .match = "INSERT", .error = tests[_i].one },
	}, two[] = {
		well[0], { .match = "INSERT", .error = tests[_i].two },
	};
	static char			insert[] = "INSERT";
	char				code[16];
	int				rc;

	fake.answers = one;
	fake.nanswers = NROWS(one);
	second.answers = two;
	second.nanswers = tests[_i].two == 0 ? 1 : NROWS(two);
	ck_assert_int_eq(connect_to_two(), 0);
	db_prefer(db, conf->mysql.hosts.items[0]);
	db_set_test(db, registers, insert);
	rc = db_open(db, &e);
	ck_assert_int_eq(rc, tests[_i].two == 0 ? 0 : -1);
	ck_assert_int_eq(db_last_fault(db), tests[_i].fault);
	ck_assert(db_is_open(db) == (rc == 0));
	if (rc == 0)
		e = db->passed_over;
	ck_has(e.text, conf->mysql.hosts.items[0]);
	snprintf(code, sizeof(code), "(%u)", tests[_i].one);
	ck_has(e.text, code);
	if (rc == 0) {
		ck_assert_str_eq(db_peer(db), conf->mysql.hosts.items[1]);
		return;
	}
	ck_has(e.text, conf->mysql.hosts.items[1]);
	snprintf(code, sizeof(code), "(%u)", tests[_i].two);
	ck_has(e.text, code);
}
END_TEST

/* As a proxy, a cluster and a server without the function refuse it. */
static const unsigned	lock_refusals[] = { 1105, 1148, 1235, 1305 };

/* Old rows are deleted without it: two passes at once are safe. */
START_TEST(retention_does_without_named_locks)
{
	const struct fake_answer	refuses[] = {
		well[0], { .match = "GET_LOCK", .error = lock_refusals[_i] },
	};
	struct store			*s;
	struct retention		*r;
	int64_t				 delay = 0;

	fake.answers = refuses;
	fake.nanswers = NROWS(refuses);
	conf = servers_conf("mysql: {hosts: [\"127.0.0.1:%d\"], user: outbox, "
	    "password_env: OUTBOX_PW, database: app}\n"
	    "retention: {days: 1}\n", fake_start(&fake));
	s = store_new(conf, "janitor", 3000);
	ck_assert_int_eq(store_open(s, &e), 0);
	r = retention_new(conf, s);
	ck_assert_msg(retention_step(r, &delay, &e) == 0, "%s", e.text);
	ck_assert(store_is_open(s));
	ck_assert_int_eq(delay, 0);
	/* A connection that is lost is not a refusal. */
	retention_reset(r);
	store_close(s);
	ck_assert_int_eq(retention_step(r, &delay, &e), -1);
	store_free(s);
	db = NULL;
}
END_TEST

/* The number of a session is a proxy's: none is ever ended. */
START_TEST(session_behind_a_proxy_is_not_known)
{
	static const char *const	up[] = { "Uptime", "100" };
	const char			*id[] = { "0", "server" };
	const struct fake_answer	proxy[] = {
		well[0],
		{ .match = "Uptime", .ncols = 2, .nrows = 1, .cells = up },
		{ .match = "CONNECTION_ID", .ncols = 2, .nrows = 1,
		  .cells = id },
	};
	static char			insert[] = "INSERT";
	char				number[32];

	fake.answers = proxy;
	fake.nanswers = NROWS(proxy);
	ck_assert_int_eq(connect_to("127.0.0.1", "auto"), 0);
	snprintf(number, sizeof(number), "%lu", mysql_thread_id(db->mysql) +
	    (_i == 0));
	id[0] = number;
	db_set_test(db, registers, insert);
	ck_assert_int_eq(db_open(db, &e), 0);
	ck_assert(_i == 0 ? db->session.id == 0 : db->session.id != 0);
}
END_TEST

/*
 * SHOW and SET work on a Galera node that is not in the primary component; and
 * a donor is ready.  A node that is not Synced is used if no other can be.
 */
static const struct {
	const char	*ready[2], *state[2];
	size_t		 used;		/* 2: none */
} nodes[] = {
	{ { "ON", "ON" }, { "4", "4" }, 0 },
	{ { "OFF", "ON" }, { "4", "4" }, 1 },
	{ { "ON", "ON" }, { "2", "4" }, 1 },
	{ { "ON", "OFF" }, { "2", "4" }, 0 },
	{ { "ON", "ON" }, { "2", "2" }, 0 },
	{ { "OFF", "OFF" }, { "4", "4" }, 2 },
};

START_TEST(synced_node_is_used)
{
	static const char *const	on[] = { "wsrep_provider",
					    "/usr/lib/libgalera_smm.so" };
	const char			*status[2][4];
	struct fake_answer		 node[2][2];
	int				 rc;

	for (size_t i = 0; i < 2; i++) {
		const char	*cells[] = { "wsrep_local_state",
				    nodes[_i].state[i], "wsrep_ready",
				    nodes[_i].ready[i] };

		memcpy(status[i], cells, sizeof(cells));
		node[i][0] = (struct fake_answer){ .match = VARIABLES,
		    .ncols = 2, .nrows = 1, .cells = on };
		node[i][1] = (struct fake_answer){ .match = "wsrep_ready",
		    .ncols = 2, .nrows = 2, .cells = status[i] };
	}
	fake.answers = node[0];
	second.answers = node[1];
	fake.nanswers = second.nanswers = 2;
	rc = connect_to_two();
	ck_assert_int_eq(rc, nodes[_i].used < 2 ? 0 : -1);
	if (rc == 0) {
		ck_assert_str_eq(db_peer(db),
		    conf->mysql.hosts.items[nodes[_i].used]);
		ck_assert(fake_logins(&second) <= 1);
		/* Whoever follows others takes theirs, also if not Synced. */
		for (size_t i = 0; i < 2; i++) {
			if (strcmp(nodes[_i].ready[i], "ON") != 0)
				continue;
			ck_assert(db_prefer(db, conf->mysql.hosts.items[i]));
			ck_assert_int_eq(db_open(db, &e), 0);
			ck_assert_str_eq(db_peer(db),
			    conf->mysql.hosts.items[i]);
		}
		return;
	}
	ck_assert_int_eq(db_last_fault(db), DB_READONLY);
	ck_has(e.text, "wsrep_ready");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hostile");
	TCase	*tc = server_case(s, "login", NULL, NULL, NULL);

	tcase_add_checked_fixture(tc, NULL, finish);
	tcase_add_loop_test(tc, password_is_not_given_away, 0, NROWS(greedy));
	tcase_add_loop_test(tc, loopback_is_an_address, 0, NROWS(hosts));
	tcase_add_loop_test(tc, stripped_server_gets_nothing, 0, 2);
	tcase_add_loop_test(tc, odd_results_are_survived, 0, NROWS(odd));
	tcase_add_loop_test(tc, greeting_does_not_tell_the_kind, 0, 2);
	tcase_add_loop_test(tc, vtgate_needs_a_shard, 0, NROWS(gates));
	tcase_add_test(tc, no_file_is_sent);
	tcase_add_test(tc, demoted_host_is_the_last_resort);
	tcase_add_loop_test(tc, next_host_after_a_refusal, 0,
	    NROWS(leaves));
	tcase_add_loop_test(tc, busy_member_is_asked_again, 0, NROWS(waits));
	tcase_add_loop_test(tc, server_that_fails_the_test_is_passed_over, 0,
	    NROWS(tests));
	tcase_add_loop_test(tc, retention_does_without_named_locks, 0,
	    NROWS(lock_refusals));
	tcase_add_loop_test(tc, session_behind_a_proxy_is_not_known, 0, 2);
	tcase_add_loop_test(tc, synced_node_is_used, 0, NROWS(nodes));
	return servers_test(s);
}
