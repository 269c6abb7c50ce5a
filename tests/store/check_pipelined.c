/*
 * check_pipelined.c - claims whose COMMIT is not waited for, and the marks by
 * which leases know of them
 *
 * Rows 1 to 4 wait in p00, and its lease is ours.  BACKUP STAGE is how a
 * COMMIT of MariaDB's is held up while everything before it goes on.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "worker/fleet.h"
#include "util/xalloc.h"

/* Since when, up to which row, and whose the mark is. */
#define MARKS	"SELECT IF(in_doubt_since IS NULL AND in_doubt_upto IS NULL " \
		"AND in_doubt_epoch IS NULL, 'none', " \
		"CONCAT(IF(in_doubt_since > " \
		"NOW(6) - INTERVAL 5 SECOND, 'new', IF(in_doubt_since > " \
		"NOW(6) - INTERVAL 10 MINUTE, 'late', 'old')), ' ', "	     \
		"in_doubt_upto, IF(in_doubt_epoch = lease_epoch, ' mine', " \
		"' former'))) FROM outbox_partitions "			     \
		"WHERE partition_key = 'p00'"

static struct batch	 b;
static pid_t		 between;	/* it stands there; 0: nobody does */

/* MySQL has it once a plugin is loaded, and under another name. */
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

static void
early_begin(void)
{
	begin_store();
	stop_semi_sync();
	be_durable();
	ck_ok(store_check_server(st, &e));
	memset(&b, 0, sizeof(b));
	b.pipelined = true;
	add_lease("p00", ME, 1);
	add_rows(1, 4, "'p00'");
}

static void
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

/* It has no others, but it would not say so. */
static void
start_cluster(void)
{
	static const char *const	lines[] = { "wsrep_on=ON", NULL };

	server = "cluster";
	servers_start(server, "mariadb", lines);
	sql_open(server);
	sql_load(server, "app");
	sql_close();
}

static void
start_without_binlog(void)
{
	static const char *const	lines[] = { "skip_log_bin", NULL };

	server = "nobinlog";
	servers_start(server, "mariadb", lines);
	sql_open(server);
	sql_load(server, "app");
	sql_close();
}

static void
hold_commits(void)
{
	sql("BACKUP STAGE START; BACKUP STAGE FLUSH; "
	    "BACKUP STAGE BLOCK_DDL; BACKUP STAGE BLOCK_COMMIT");
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

/* Only a batch that wants it is early. */
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
	else			/* whoever comes next is told */
		ck_fails(store_bump_own_epochs(st, &e));
	ck_assert_int_eq(store_fault(st), DB_LOST);
	ck_assert(!store_is_open(st));
	ck_assert_str_eq(claimed(), "none");
	/* And it is not forgotten. */
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

/* A transaction that fails is over: it keeps no lock, the lease's neither. */
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

/* Where a COMMIT begins the next transaction nothing would be committed. */
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
 * Nothing goes early where a row can be read before its producer's COMMIT is
 * durable.  %s is semi-sync.
 */
static const struct {
	const char	*set;		/* variables */
	const char	*late;		/* what the reason speaks of; or NULL */
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

/* No replica is there, and none is waited for. */
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
	ck_late(NULL);		/* it has not asked again */
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
 * What stands between a client and its server may know nothing of several
 * statements in one packet: it agrees to them and does not pass that on, or
 * answers them as if they were one.
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
	if (_i == 1) {		/* what came of it is unknown */
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
		/* It is not counted as lost to others. */
		ck_ok(store_settle(st, &b, &settled, &e));
		ck_assert_uint_eq(settled.fenced, 0);
	} else
		ck_ok(store_finish(st, &e));
	ck_sql("2", "SELECT COUNT(published_at) FROM outbox");
	batch_free(&next);
}
END_TEST

/*
 * The mark of a lease.  What it says before, what happens, and what it says
 * then; 4 is the last row.
 */

static void
do_renew(void)
{
	uint64_t	n;

	ck_ok(store_renew(st, NULL, 0, 0, &n, &e));
	ck_assert_uint_eq(n, 1);
}

static void
do_renew_early(void)
{
	uint64_t	n;

	ck_ok(store_renew(st, NULL, 0, 4004, &n, &e));
	ck_assert_uint_eq(n, 1);
}

static void
do_acquire(void)
{
	struct lease		 p00 = { .label = "p00" };
	const struct lease	*list = &p00;
	uint64_t		 n;

	sql("UPDATE outbox_partitions SET lease_until = NOW(6)");
	ck_ok(store_acquire(st, &list, 1, &n, &e));
	ck_assert_uint_eq(n, 1);
}

static void
do_take_over(void)
{
	sql("UPDATE outbox_partitions SET lease_owner = '" DEAD "'");
	ck_ok(store_take_over(st, DEAD, &e));
}

static void
do_raise(void)
{
	ck_ok(store_bump_own_epochs(st, &e));
}

static void
do_release(void)
{
	struct lease		 p00 = { .label = "p00" };
	const struct lease	*list = &p00;

	ck_ok(store_release(st, &list, 1, &e));
}

static void
do_leave(void)
{
	ck_ok(store_leave(st, &e));
}

static void
do_clear(void)
{
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_delivered(void)
{
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence IN (1, 3)");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_known(void)
{
	sql("UPDATE outbox SET in_doubt_since = NOW(6) "
	    "WHERE global_sequence <= 3");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static void
do_clear_others(void)
{
	sql("DELETE FROM outbox; "
	    "UPDATE outbox_partitions SET lease_owner = '" OTHER "'");
	ck_ok(store_clear_in_doubt_marks(st, &e));
}

static const struct {
	const char	*from;
	void		(*act)(void);
	const char	*to;
} marks[] = {
	{ "none", do_renew, "none" },
	{ "none", do_renew_early, "new 4004 mine" },
	{ "old 3 mine", do_renew_early, "new 4004 mine" },
	/* The bound does not sink. */
	{ "old 9000 mine", do_renew_early, "new 9000 mine" },
	{ "old 3 mine", do_renew, "none" },
	{ "late 3 mine", do_renew, "late 3 mine" },
	{ "old 3 former", do_renew_early, "old 3 former" },
	{ "old 3 former", do_renew, "old 3 former" },
	{ "none", do_acquire, "none" },
	{ "old 3 mine", do_acquire, "old 3 former" },
	{ "old 3 former", do_acquire, "old 3 former" },
	{ "none", do_take_over, "none" },
	{ "old 3 mine", do_take_over, "old 3 former" },
	{ "old 3 former", do_take_over, "old 3 former" },
	{ "none", do_raise, "none" },
	{ "old 3 mine", do_raise, "old 3 former" },
	{ "old 3 former", do_raise, "old 3 former" },
	{ "late 3 mine", do_release, "none" },
	{ "old 3 former", do_release, "old 3 former" },
	{ "late 3 mine", do_leave, "none" },
	{ "old 3 former", do_leave, "old 3 former" },
	{ "old 3 mine", do_clear_known, "old 3 mine" },
	{ "old 3 former", do_clear, "old 3 former" },
	{ "old 2 former", do_clear_delivered, "old 2 former" },
	{ "old 1 former", do_clear_delivered, "none" },
	{ "old 3 former", do_clear_known, "none" },
	{ "old 4 former", do_clear_known, "old 4 former" },
	{ "old 3 former", do_clear_others, "old 3 former" },
};

/* lease_ttl is half of what is late. */
static void
set_mark(const char *mark)
{
	char	since[8], whose[8];
	int	upto;

	conf->worker.lease_ttl = 600000;
	if (strcmp(mark, "none") == 0) {
		sql("UPDATE outbox_partitions SET in_doubt_since = NULL, "
		    "in_doubt_upto = NULL, in_doubt_epoch = NULL");
		return;
	}
	ck_assert_int_eq(sscanf(mark, "%7s %d %7s", since, &upto, whose), 3);
	sql("UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL "
	    "%s, in_doubt_upto = %d, in_doubt_epoch = lease_epoch - %d",
	    strcmp(since, "late") == 0 ? "5 MINUTE" : "1 HOUR", upto,
	    strcmp(whose, "former") == 0);
}

START_TEST(mark_follows_the_lease)
{
	set_mark(marks[_i].from);
	ck_sql(marks[_i].from, MARKS);
	marks[_i].act();
	ck_sql(marks[_i].to, MARKS);
}
END_TEST

START_TEST(old_tables_have_no_marks)
{
	static const char *const	columns[] = {
		"outbox_partitions", "in_doubt_since", "outbox_partitions",
		"in_doubt_upto", "outbox_partitions", "in_doubt_epoch",
		"outbox", "in_doubt_since",
	};
	const char	*table = columns[2 * _i], *name = columns[2 * _i + 1];
	const char	*type = strcmp(name, "in_doubt_since") == 0 ?
			    "TIMESTAMP(6)" : "BIGINT UNSIGNED";

	ck_assert(store_can_pipeline(st));
	sql("ALTER TABLE %s DROP COLUMN %s", table, name);
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_pipeline(st));
	do_renew_early();
	do_raise();
	do_acquire();
	do_take_over();
	do_release();
	sql("ALTER TABLE %s ADD COLUMN %s %s NULL DEFAULT NULL", table, name,
	    type);
	ck_sql("none", MARKS);
	conf->worker.leasing = false;
	ck_ok(store_learn(st, &e));
	ck_assert(!store_can_pipeline(st));
}
END_TEST

/*
 * Those up to the lease's last one, of this lease, that are free and know
 * nothing yet: what was claimed tells since when by its claim, and sooner.
 */
START_TEST(rows_learn_what_the_lease_knows)
{
	static const uint64_t	all[] = { 1, 2, 3, 4, 5, 6 };

	add_lease("p01", ME, 1);
	add_rows(5, 6, "'p01'");
	set_mark("old 4 former");
	sql("UPDATE outbox_partitions SET in_doubt_upto = NULL "
	    "WHERE partition_key = 'p01'; "
	    "UPDATE outbox SET in_doubt_since = NOW(6) WHERE "
	    "global_sequence = 2; "
	    "UPDATE outbox SET published_at = NOW(6) WHERE "
	    "global_sequence = 3; "
	    "UPDATE outbox SET claim_token = 'x' WHERE global_sequence = 4");
	ck_ok(store_mark_rows_in_doubt(st, all, 6, &e));
	ck_sql("1", "SELECT GROUP_CONCAT(global_sequence) FROM outbox "
	    "WHERE in_doubt_since < NOW(6) - INTERVAL 50 MINUTE");
	ck_sql("1,2", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "
	    "FROM outbox WHERE in_doubt_since IS NOT NULL");
}
END_TEST

/* One that takes no mark is not claimed either: the others are. */
START_TEST(refused_row_learns_nothing)
{
	static const uint64_t	all[] = { 1, 2, 3, 4 };

	set_mark("old 4 former");
	put_obstacle("23000", "UPDATE", "outbox", "NEW.global_sequence = 3");
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_sql("1,2,4", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "
	    "FROM outbox WHERE in_doubt_since IS NOT NULL");
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_assert_uint_eq(times_logged("sequence 3 cannot be marked"), 1);
	/* What is not about a row is an error as before. */
	sql("DROP TRIGGER obstacle; UPDATE outbox SET in_doubt_since = NULL");
	put_obstacle("HY000", "UPDATE", "outbox", "NEW.global_sequence = 3");
	ck_fails(store_mark_rows_in_doubt(st, all, 4, &e));
}
END_TEST

/* Those that are parked come back when the mark is gone perhaps. */
START_TEST(parked_rows_take_it_with_them)
{
	static const uint64_t	all[] = { 1, 2, 3, 4 };
	struct parking		parking = { 1, all, 4 };
	struct range		r = range("p00", 1);

	set_mark(_i == 0 ? "old 3 former" : "old 3 mine");
	sql("UPDATE outbox SET in_doubt_since = NOW(6) WHERE "
	    "global_sequence = 2; "
	    "UPDATE outbox SET claim_token = 'x' WHERE global_sequence = 3");
	ck_ok(store_park(st, &r, 1, &parking, 1, &e));
	ck_sql("4", "SELECT COUNT(*) FROM outbox WHERE partition_key = '!1'");
	ck_sql(_i == 0 ? "1" : "NULL", "SELECT GROUP_CONCAT(global_sequence) "
	    "FROM outbox WHERE in_doubt_since < NOW(6) - INTERVAL 50 MINUTE");
	ck_sql(_i == 0 ? "2" : "1", "SELECT COUNT(in_doubt_since) FROM outbox");
}
END_TEST

/* Rows of the lease '' have two labels. */
START_TEST(mark_of_the_lease_without_a_label_stays)
{
	static const char *const	labels[] = { "NULL", "''", "'p00'" };
	static const uint64_t		one = 1;

	add_lease("", ME, 2);
	sql("UPDATE outbox_partitions SET in_doubt_since = NOW(6) - INTERVAL 1 "
	    "HOUR, in_doubt_upto = 3, in_doubt_epoch = 1 WHERE partition_key = "
	    "''; UPDATE outbox SET partition_key = 'p01' "
	    "WHERE global_sequence <> 1; "
	    "UPDATE outbox SET partition_key = %s WHERE global_sequence = 1",
	    labels[_i]);
	ck_ok(store_clear_in_doubt_marks(st, &e));
	ck_sql(_i == 2 ? "0" : "1", "SELECT COUNT(in_doubt_since) "
	    "FROM outbox_partitions");
	ck_ok(store_mark_rows_in_doubt(st, &one, 1, &e));
	ck_ok(store_clear_in_doubt_marks(st, &e));
	ck_sql("0", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
	ck_sql(_i == 2 ? "0" : "1", "SELECT COUNT(in_doubt_since) FROM outbox");
}
END_TEST

/* However large the tables are. */
START_TEST(marks_are_found_by_keys)
{
	static const uint64_t	all[] = { 1, 2, 3, 4 };
	char			*text;

	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "SELECT 10 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n, "
	    "'p00' FROM " DIGITS("a") ", " DIGITS("b") ", "
	    DIGITS("c") ", " DIGITS("d") "; ANALYZE TABLE outbox");
	log_statements();
	ck_ok(store_mark_rows_in_doubt(st, all, 4, &e));
	ck_ok(store_clear_in_doubt_marks(st, &e));
	sql("SET GLOBAL general_log = 0");
	if (is_mysql())
		sql("SET explain_format = 'TRADITIONAL'");
	text = xstrdup(sql_text("SELECT argument " STATEMENTS
	    "AND argument LIKE 'UPDATE `outbox`%%'"));
	ck_assert_str_eq(sql_column("key", "EXPLAIN %s", text),
	    "PRIMARY\nPRIMARY");
	free(text);
	text = xstrdup(sql_text("SELECT argument " STATEMENTS
	    "AND argument LIKE 'UPDATE `outbox_partitions` AS p%%'"));
	ck_has(sql_column("key", "EXPLAIN %s", text), "outbox_claim");
	ck_has(sql_column("type", "EXPLAIN %s", text), "ref\nref");
	free(text);
}
END_TEST

/*
 * Who may go early
 */

static struct fleet	 fleet;
static int64_t		 now;

static struct leased_label *
p00(void)
{
	struct leased_label	*p = lease_of(&fleet, "p00");

	ck_assert_ptr_nonnull(p);
	return p;
}

static void
round_at(int64_t at)
{
	now = at;
	ck_ok(fleet_round(&fleet, now, &e));
}

static bool
may_go(uint64_t sequence)
{
	return fleet_may_pipeline(&fleet, partition_of(&fleet, "p00"),
	    sequence, now);
}

static void
fleet_begin(void)
{
	early_begin();
	ck_ok(store_register(st, &e));
	fleet_init(&fleet, conf, st);
	round_at(1000);
}

static void
fleet_end(void)
{
	fleet_free(&fleet);
	early_end();
}

/* Not before the lease says so, and not beyond what it says. */
START_TEST(who_asks_may_go_early_soon)
{
	ck_assert(!may_go(4));
	ck_sql("none", MARKS);
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
	ck_assert(may_go(4));
	ck_assert_int_gt(fleet_next(&fleet), now);
	/* The mark is made anew before it is used up. */
	ck_assert(may_go(3500));
	ck_assert_int_le(fleet_next(&fleet), now);
	round_at(now + 1);
	ck_sql("new 7500 mine", MARKS);
	ck_assert(!may_go(8000));
	round_at(now + 1);
	ck_sql("new 12000 mine", MARKS);
	ck_assert(may_go(8000));
	/* Whoever believes in the bound may go on to do so. */
	may_go(1);
	round_at(now + conf->worker.lease_renew);
	ck_sql("new 12000 mine", MARKS);
}
END_TEST

/* What goes out is not held up by a renewal that it has asked for. */
START_TEST(mark_waits_for_the_next_round)
{
	ck_assert(!may_go(4));
	ck_ok(fleet_keep_alive(&fleet, now + 1, &e));
	ck_sql("none", MARKS);
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
}
END_TEST

/* A renewal keeps the mark if somebody has asked since the last one. */
START_TEST(who_does_not_ask_may_not_go_early)
{
	may_go(4);
	round_at(now + 1);
	ck_assert(may_go(4));
	round_at(now + conf->worker.lease_renew);
	ck_assert_uint_eq(p00()->pipeline_upto, 4004);
	fleet.read_at = INT64_MAX;
	round_at(now + conf->worker.lease_renew);
	ck_assert_uint_eq(p00()->pipeline_upto, 0);
	ck_assert(!may_go(4));
	round_at(now + 1);
	ck_assert(may_go(4));
}
END_TEST

/* What a former owner may have sent has to be gone first. */
START_TEST(mark_of_a_former_owner_comes_first)
{
	set_mark("old 3 former");
	fleet_reread(&fleet);
	round_at(now + 1);
	ck_assert_uint_eq(p00()->in_doubt_upto, 3);
	ck_assert(!may_go(4));
	ck_assert(!fleet.mark_now);	/* it would be in vain */
	sql("UPDATE outbox SET published_at = NOW(6) "
	    "WHERE global_sequence <= 3");
	round_at(now + 3000);
	ck_assert_uint_eq(p00()->in_doubt_upto, 0);
	ck_sql("none", MARKS);
	ck_assert(!may_go(4));
	round_at(now + 1);
	ck_sql("new 4004 mine", MARKS);
	ck_assert(may_go(4));
}
END_TEST

/*
 * Somebody has rung for old rows, or paused the partition, or got the lease:
 * who is there to learn of it knows that nothing is in doubt.
 */
static const struct {
	const char	*what, *left;
} ends[] = {
	{ "lease_epoch = lease_epoch + 1", "none" },
	{ "lease_epoch = lease_epoch + 1, lease_owner = 'paused'", "none" },
	/* Another's mark is his. */
	{ "lease_epoch = lease_epoch + 1, lease_owner = '" OTHER "', "
	    "in_doubt_epoch = lease_epoch, in_doubt_upto = 7", "new 7 mine" },
};

START_TEST(mark_of_a_former_epoch_is_forgotten)
{
	may_go(4);
	round_at(now + 1);
	sql("UPDATE outbox_partitions SET %s", ends[_i].what);
	fleet_reread(&fleet);
	round_at(now + 1);
	ck_sql(ends[_i].left, MARKS);
}
END_TEST

/* For a successor who is made to take our place. */
START_TEST(marks_are_forgotten_at_last)
{
	may_go(4);
	round_at(now + 1);
	ck_ok(fleet_forget_marks(&fleet, &e));
	ck_sql("none", MARKS);
	set_mark("old 3 former");
	ck_ok(fleet_forget_marks(&fleet, &e));
	ck_sql("old 3 former", MARKS);
}
END_TEST

/* A fleet may be one worker, and has all partitions then. */
START_TEST(many_marks_are_forgotten_at_once)
{
	char	label[8];

	for (unsigned i = 1; i < 300; i++) {
		snprintf(label, sizeof(label), "p%02u", i);
		add_lease(label, ME, 1);
	}
	round_at(now + conf->worker.lease_renew);
	may_go(4);
	round_at(now + 1);
	ck_sql("300", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
	sql("UPDATE outbox_partitions SET lease_epoch = 2");
	round_at(now + 1000);
	ck_sql("0", "SELECT COUNT(in_doubt_since) FROM outbox_partitions");
}
END_TEST

#define ASKED	"SELECT COUNT(*) " STATEMENTS				     \
		"AND argument LIKE 'SHOW SESSION VARIABLES%%'"

/* So long as leases can be kept by rounds at times of the test's choice. */
static void
rounds_for(int64_t ms, bool ask)
{
	for (int64_t until = now + ms; now < until; ) {
		if (ask)
			may_go(4);
		round_at(now + 1000);
	}
}

/* Variables may change at any time, and nobody says so. */
START_TEST(server_is_asked_again)
{
	may_go(4);
	round_at(now + 1);
	ck_assert(may_go(4));
	sql("SET GLOBAL sync_binlog = 0");
	rounds_for(31000, true);
	ck_assert(!may_go(4));
	/* The mark is not made anew. */
	sql("UPDATE outbox_partitions SET in_doubt_since = in_doubt_since - "
	    "INTERVAL 1 MINUTE");
	rounds_for(6000, true);
	ck_sql("none", MARKS);
	be_durable();
	rounds_for(31000, true);
	ck_assert(may_go(4));
}
END_TEST

/* Now and then, and only if somebody wants to know. */
START_TEST(server_is_left_alone)
{
	log_statements();
	rounds_for(120000, false);
	ck_sql("0", ASKED);
	rounds_for(120000, true);
	sql("SET GLOBAL general_log = 0");
	ck_sql("4", ASKED);
}
END_TEST

/* A server that is not a primary any more is noticed by that, too. */
START_TEST(server_that_is_refused_is_closed)
{
	may_go(4);
	sql("SET GLOBAL read_only = 1");
	ck_fails(fleet_round(&fleet, now + 1, &e));
	ck_assert_int_eq(store_fault(st), DB_READONLY);
	ck_assert(!store_is_open(st));
}
END_TEST

/* Rows of two ranges: their lease is not asked for more than others are. */
START_TEST(rows_without_a_label_do_not_go_early)
{
	struct partition	*none;

	sql("UPDATE outbox_settings SET partition_count = 16");
	add_lease("", ME, 1);
	may_go(4);
	round_at(now + conf->worker.lease_renew);
	ck_assert(may_go(4));
	none = partition_of(&fleet, "");
	ck_assert(!fleet_may_pipeline(&fleet, none, 4, now));
}
END_TEST

static void
add_early(Suite *s, const struct kind *k)
{
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
	tcase_add_loop_test(tc, mark_follows_the_lease, 0,
	    sizeof(marks) / sizeof(marks[0]));
	tcase_add_loop_test(tc, old_tables_have_no_marks, 0, 4);
	tcase_add_test(tc, rows_learn_what_the_lease_knows);
	tcase_add_test(tc, refused_row_learns_nothing);
	tcase_add_loop_test(tc, parked_rows_take_it_with_them, 0, 2);
	tcase_add_loop_test(tc, mark_of_the_lease_without_a_label_stays, 0, 3);
	tcase_add_test(tc, marks_are_found_by_keys);
	tc = add_case(s, "cluster", k, strcmp(k->name, "mysql") == 0 ?
	    k->start : start_cluster, early_begin, early_end);
	tcase_add_test(tc, cluster_is_waited_for);
	tc = add_case(s, "no binlog", k, strcmp(k->name, "mysql") == 0 ?
	    k->start : start_without_binlog, early_begin, early_end);
	tcase_add_test(tc, early_only_with_a_binlog);
	tc = add_case(s, "member", k, k->start, fleet_begin, fleet_end);
	tcase_add_test(tc, who_asks_may_go_early_soon);
	tcase_add_test(tc, mark_waits_for_the_next_round);
	tcase_add_test(tc, who_does_not_ask_may_not_go_early);
	tcase_add_test(tc, mark_of_a_former_owner_comes_first);
	tcase_add_loop_test(tc, mark_of_a_former_epoch_is_forgotten, 0,
	    sizeof(ends) / sizeof(ends[0]));
	tcase_add_test(tc, marks_are_forgotten_at_last);
	tcase_add_test(tc, many_marks_are_forgotten_at_once);
	tcase_add_test(tc, rows_without_a_label_do_not_go_early);
	tcase_add_test(tc, server_is_asked_again);
	tcase_add_test(tc, server_is_left_alone);
	tcase_add_test(tc, server_that_is_refused_is_closed);
}

int
main(void)
{
	return frame_run("early", add_early);
}
