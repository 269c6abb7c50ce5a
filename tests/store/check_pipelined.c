/*
 * check_pipelined.c - claims whose COMMIT is not waited for
 *
 * The claim, and the servers on which it may be pipelined; the marks by which
 * leases know of such claims are in the other files, see pipelined_test.h.
 */
#include "store/pipelined_test.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "util/buf.h"

static struct batch	 b;
static pid_t		 between;	/* a proxy; 0: there is none */

/* MySQL has it under another name, once a plugin is loaded. */
static const char *
semi_sync(void)
{
	return is_mysql() ? "rpl_semi_sync_source" : "rpl_semi_sync_master";
}

static void
stop_semi_sync(void)
{
	sql_works("SET GLOBAL %s_enabled = 0", semi_sync());
}

void
early_begin(void)
{
	begin_store();
	stop_semi_sync();
	be_durable();
	ck_ok(store_check_server(st, &e));
	memset(&b, 0, sizeof(b));
	b.pipelined = true;
	own_rows(4);
}

void
early_end(void)
{
	batch_free(&b);
	end_store();
	if (between > 0) {
		kill(between, SIGKILL);
		waitpid(between, NULL, 0);
	}
	between = 0;
}

static void
start_with(const char *name, const char *line)
{
	const char	*lines[] = { line, NULL };

	server = name;
	servers_start(server, "mariadb", lines);
	sql_open(server);
	sql_load(server, "app");
	sql_close();
}

/* A member of a cluster that has no other members, and cannot tell. */
static void
start_cluster(void)
{
	start_with("cluster", "wsrep_on=ON");
}

static void
start_without_binlog(void)
{
	start_with("nobinlog", "skip_log_bin");
}

static const char *
claimed(void)
{
	return sql_text("SELECT COALESCE(GROUP_CONCAT(global_sequence "
	    "ORDER BY 1), 'none') FROM outbox WHERE claim_token = '%s'",
	    b.token);
}

/*
 * The claim
 */

START_TEST(commit_is_not_waited_for)
{
	if (is_mysql())
		return;
	hold_commits();
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_assert_str_eq(claimed(), "none");
	sql("BACKUP STAGE END");
	ck_ok(store_finish(st, &e));
	ck_assert_str_eq(claimed(), "1,2");
	/* Once is enough. */
	ck_ok(store_finish(st, &e));
}
END_TEST

/* Only a batch that wants it is pipelined. */
START_TEST(commit_is_waited_for)
{
	b.pipelined = false;
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_assert_str_eq(claimed(), "1,2");
}
END_TEST

START_TEST(next_statement_waits_for_it)
{
	static const uint64_t	sequences[] = { 1, 2, 3, 4 };

	ck_assert_uint_eq(claim(st, &b, 1, 4), 4);
	ck_ok(store_fetch(st, sequences, 4, SIZE_MAX, &b, &e));
	ck_assert_uint_eq(b.n, 4);
	ck_assert_str_eq(claimed(), "1,2,3,4");
}
END_TEST

START_TEST(lost_commit_is_told)
{
	if (is_mysql())
		return;
	hold_commits();
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	kill_latest();
	sql("BACKUP STAGE END");
	if (_i == 0)
		ck_fails(store_finish(st, &e));
	else			/* the next statement is told */
		ck_fails(store_bump_own_epochs(st, &e));
	ck_assert_int_eq(store_fault(st), DB_LOST);
	ck_assert(!store_is_open(st));
	ck_assert_str_eq(claimed(), "none");
	/* And the error is not forgotten. */
	ck_fails(store_finish(st, &e));
	ck_assert_int_eq(store_fault(st), DB_CLOSED);
}
END_TEST

START_TEST(lost_lease_claims_nothing)
{
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 0);
	ck_ok(store_finish(st, &e));
	ck_assert_str_eq(claimed(), "none");
}
END_TEST

/* A transaction that fails is over: it locks neither rows nor the lease. */
START_TEST(failure_leaves_nothing)
{
	static const uint64_t	one = 1, two = 2;
	struct range		r = range("p00", 1);
	uint64_t		n;

	sql("START TRANSACTION; SELECT * FROM outbox "
	    "WHERE global_sequence = 1 FOR UPDATE");
	ck_fails(store_claim(st, &(struct claim_set){ &r, 1, &one, 1 }, &b, &n,
	    &e));
	ck_has(e.text, "claim: ");
	ck_assert_int_eq(store_fault(st), DB_BUSY);
	sql("UPDATE outbox_partitions SET updated_at = NOW(6)");
	sql("ROLLBACK");
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, &two, 1 }, &b, &n,
	    &e));
	ck_ok(store_finish(st, &e));
	ck_assert_str_eq(claimed(), "2");
}
END_TEST

static void
open_again(void)
{
	store_close(st);
	ck_ok(store_open(st, &e));
}

/* With completion_type CHAIN, COMMIT would begin another transaction. */
START_TEST(commit_begins_nothing)
{
	sql("SET GLOBAL completion_type = CHAIN");
	open_again();
	sql("SET GLOBAL completion_type = NO_CHAIN");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_finish(st, &e));
	b.pipelined = false;
	ck_assert_uint_eq(claim(st, &b, 3, 4), 2);
	ck_assert_str_eq(claimed(), "3,4");
}
END_TEST

/* One of several servers may refuse what this one has done. */
START_TEST(cluster_is_waited_for)
{
	if (is_mysql()) {
		ck_assert(store_can_pipeline(st));
		sql("INSTALL PLUGIN group_replication SONAME "
		    "'group_replication.so'; "
		    "SET GLOBAL group_replication_group_name = "
		    "'8a94f357-aab4-11df-86ab-c80aa9429562'");
		open_again();
		sql("UNINSTALL PLUGIN group_replication");
	}
	ck_assert(!store_can_pipeline(st));
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_assert_str_eq(claimed(), "1,2");
}
END_TEST

/*
 * No claim is pipelined where a row can be read before its producer's COMMIT is
 * durable.  %s is semi-sync.
 */
static const struct {
	const char	*set;		/* variables */
	const char	*late;		/* part of the reason; or NULL */
} servers[] = {
	{ "sync_binlog = 0", "sync_binlog is not 1" },
	{ "sync_binlog = 2", "SET GLOBAL sync_binlog = 1" },
	{ "innodb_flush_log_at_trx_commit = 0",
	  "innodb_flush_log_at_trx_commit is not 1" },
	{ "innodb_flush_log_at_trx_commit = 2",
	  "SET GLOBAL innodb_flush_log_at_trx_commit = 1" },
	{ "%s_wait_point = AFTER_COMMIT, GLOBAL %s_enabled = 1",
	  "_wait_point = AFTER_SYNC" },
	{ "%s_wait_point = AFTER_SYNC, GLOBAL %s_enabled = 1", NULL },
	{ "%s_wait_point = AFTER_COMMIT", NULL },
};

/* There is no replica, and COMMIT does not wait for one. */
static bool
load_semi_sync(void)
{
	if (is_mysql())
		sql_works("INSTALL PLUGIN rpl_semi_sync_source SONAME "
		    "'semisync_source.so'");
	return sql_works("SET GLOBAL %s_timeout = 0", semi_sync());
}

static void
set_global(const char *text)
{
	struct buf	 sql_of = { 0 };
	const char	*p;

	for (; (p = strstr(text, "%s")) != NULL; text = p + 2) {
		buf_add(&sql_of, text, (size_t)(p - text));
		buf_str(&sql_of, semi_sync());
	}
	buf_str(&sql_of, text);
	sql("SET GLOBAL %s", sql_of.data);
	buf_free(&sql_of);
}

static void
ck_late(const char *want)
{
	const char	*reason = store_no_pipeline_reason(st);

	ck_assert(store_can_pipeline(st) == (want == NULL));
	if (want == NULL)
		ck_assert_ptr_null(reason);
	else
		ck_has(reason, want);
}

START_TEST(early_only_where_rows_are_durable)
{
	if (!load_semi_sync() && strstr(servers[_i].set, "%s") != NULL)
		return;
	ck_late(NULL);
	set_global(servers[_i].set);
	ck_late(NULL);		/* not asked again yet */
	ck_ok(store_check_server(st, &e));
	ck_late(servers[_i].late);
	log_statements();
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_ok(store_finish(st, &e));
	sql("SET GLOBAL general_log = 0");
	ck_sql(servers[_i].late == NULL ? "1" : "0",
	    "SELECT COUNT(*) " STATEMENTS "AND argument LIKE '%%COMMIT%%'");
	open_again();
	ck_late(servers[_i].late);
	stop_semi_sync();
	be_durable();
	ck_ok(store_check_server(st, &e));
	ck_late(NULL);
}
END_TEST

START_TEST(early_only_with_a_binlog)
{
	if (is_mysql())		/* one is enough */
		return;
	ck_late("log_bin");
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_assert_str_eq(claimed(), "1,2");
}
END_TEST

/*
 * A proxy may not know several statements in one packet: it agrees to them and
 * does not pass that on, or it answers them as if they were one.
 */
struct between {
	const char	*what;		/* packets that hold it are answered */
	size_t		 len;
	const char	*answer;
	size_t		 answer_len;
};

static const struct between betweens[] = {
	{ "\x03\0\0\0\x1b", 5, "\x05\0\0\1\xfe\0\0\2\0", 9 },
	{ "; COMMIT", 8, "\x07\0\0\1\0\0\0\2\0\0\0", 11 },
};

static int
unix_socket(const char *path, int (*use)(int, const struct sockaddr *,
    socklen_t))
{
	struct sockaddr_un	addr = { .sun_family = AF_UNIX };
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(use(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* A packet of the tests is read at once. */
static bool
pass_on(int from, int to, const struct between *bt)
{
	static char	buf[65536];
	ssize_t		n = read(from, buf, sizeof(buf)), w;

	if (n <= 0)
		return false;
	if (bt != NULL && memmem(buf, (size_t)n, bt->what, bt->len) != NULL)
		return write(from, bt->answer, bt->answer_len) > 0;
	for (ssize_t done = 0; done < n; done += w)
		if ((w = write(to, buf + done, (size_t)(n - done))) <= 0)
			return false;
	return true;
}

static void
stand_between(int client, int to, const struct between *bt)
{
	struct pollfd	fds[2] = { { client, POLLIN, 0 }, { to, POLLIN, 0 } };
	bool		on = true;

	while (on && poll(fds, 2, -1) > 0) {
		if (fds[0].revents != 0)
			on = pass_on(client, to, bt);
		if (on && fds[1].revents != 0)
			on = pass_on(to, client, NULL);
	}
	close(client);
	close(to);
}

static void
go_between(const struct between *bt)
{
	const char	*path = servers_path("between.sock");
	int		 listener;

	unlink(path);
	listener = unix_socket(path, bind);
	ck_assert_int_eq(listen(listener, 1), 0);
	if ((between = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			stand_between(accept(listener, NULL, NULL),
			    unix_socket(servers_get(server, "SOCKET"), connect),
			    bt);
	}
	ck_assert_int_gt(between, 0);
	close(listener);
	conf_free(conf);
	conf = servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: app}\n", path);
	store_free(st);
	st = store_of(conf, ME);
}

START_TEST(who_cannot_is_asked_for_one_at_a_time)
{
	const uint64_t	rows[] = { 1, 2 };
	struct range	r = range("p00", 1);
	uint64_t	n;

	go_between(&betweens[_i]);
	ck_assert(store_can_pipeline(st));
	if (_i == 1) {		/* its outcome is unknown */
		ck_fails(store_claim(st, &(struct claim_set){ &r, 1, rows, 2 },
		    &b, &n, &e));
		ck_assert_int_eq(store_fault(st), DB_LOST);
		ck_ok(store_open(st, &e));
	}
	ck_assert_uint_eq(claim(st, &b, 1, 2), 2);
	ck_assert_str_eq(claimed(), "1,2");
	ck_assert(!store_can_pipeline(st));
}
END_TEST

START_TEST(turn_goes_early_too)
{
	static const uint64_t	 rows[] = { 3, 4 };
	struct batch		 next = { .pipelined = true };
	struct range		 r = range("p00", 1);
	struct settled		 settled = { 0 };
	uint64_t		 changed;

	b.pipelined = false;
	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	if (!is_mysql())
		hold_commits();
	ck_ok(store_settle_and_claim(st, &b,
	    &(struct claim_set){ &r, 1, rows, 2 }, &next, &changed, &e));
	store_settle_is_in_doubt(&settled);
	ck_assert_uint_eq(changed, 4);
	if (!is_mysql()) {
		ck_sql("0", "SELECT COUNT(published_at) FROM outbox");
		kill_latest();
		sql("BACKUP STAGE END");
		ck_fails(store_finish(st, &e));
		ck_ok(store_open(st, &e));
		/* It is not counted as lost to another worker. */
		ck_ok(store_settle(st, &b, &settled, &e));
		ck_assert_uint_eq(settled.fenced, 0);
	} else
		ck_ok(store_finish(st, &e));
	ck_sql("2", "SELECT COUNT(published_at) FROM outbox");
	batch_free(&next);
}
END_TEST

static void
add_all(Suite *s, const struct kind *k)
{
	bool	 mysql = strcmp(k->name, "mysql") == 0;
	TCase	*tc = add_case(s, "early", k, k->start, early_begin,
		    early_end);

	tcase_add_test(tc, commit_is_not_waited_for);
	tcase_add_test(tc, commit_is_waited_for);
	tcase_add_test(tc, next_statement_waits_for_it);
	tcase_add_loop_test(tc, lost_commit_is_told, 0, 2);
	tcase_add_test(tc, lost_lease_claims_nothing);
	tcase_add_test(tc, failure_leaves_nothing);
	tcase_add_test(tc, commit_begins_nothing);
	tcase_add_loop_test(tc, who_cannot_is_asked_for_one_at_a_time, 0,
	    NROWS(betweens));
	tcase_add_test(tc, turn_goes_early_too);
	tcase_add_loop_test(tc, early_only_where_rows_are_durable, 0,
	    NROWS(servers));
	add_marks(tc);
	tc = add_case(s, "cluster", k, mysql ? k->start : start_cluster,
	    early_begin, early_end);
	tcase_add_test(tc, cluster_is_waited_for);
	tc = add_case(s, "no binlog", k, mysql ? k->start :
	    start_without_binlog, early_begin, early_end);
	tcase_add_test(tc, early_only_with_a_binlog);
	add_early_fleet(add_case(s, "member", k, k->start, fleet_begin,
	    fleet_end));
}

int
main(void)
{
	return frame_run("early", add_all);
}
