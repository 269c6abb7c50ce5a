/*
 * check_recover.c - what the stream lost, found on real tables
 *
 * The database is real and the publisher is not: its stream is an array that
 * the tests spoil.  Every test runs on MariaDB, and again on Oracle MySQL
 * where the environment names one in OUTBOX_MYSQL_TREE.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "clock.h"
#include "doubt.h"
#include "log.h"
#include "recover.h"
#include "servers.h"
#include "store.h"

#define ME		"here:00:00000000000000a1"
#define OTHER		"here:01:00000000000000b2"
#define DEAD		"here:02:00000000000000c3"
#define CREATED		"2026-01-31T12:00:00Z"
#define ALIEN		UINT64_MAX
#define PLACES		8000

#define ck_ok(call)	\
	ck_assert_msg((call) == 0, #call ": %s", e.text)
#define ck_has(text, part)	\
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", \
	    part, text)
#define ck_has_not(text, part)	\
	ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in \"%s\"", \
	    part, text)

static const char	*server;
static struct conf	*conf;
static struct store	*st;
static struct relay	 relay;
static struct recover	 rec;
static struct err	 e;
static enum keep	 kept;
static unsigned		 nkept;

/*
 * The publisher
 */

static struct {
	struct stream_state	 state;
	uint64_t		 row[PLACES];	/* 0: nothing there */
	unsigned		 replay[PLACES];
	bool			 closed, gone;
	bool			 mute;		/* says so, unless: */
	bool			 silent, nobody;
	size_t			 nplaces;	/* that were asked for */
	void			(*during)(void);	/* a look-up */
} fake;

static bool
fake_is_open(void *arg)
{
	(void)arg;
	return !fake.closed;
}

static bool
fake_state(void *arg, struct stream_state *state, struct err *err)
{
	(void)arg;
	if (fake.closed || fake.mute) {
		err_set(err, "the fake is silent");
		return false;
	}
	*state = fake.state;
	if (fake.gone)
		state->created[0] = '\0';
	return true;
}

static void
fill_place(struct place *p)
{
	uint64_t	row = fake.row[p->sequence];

	ck_assert_uint_lt(p->sequence, PLACES);
	p->row = row;
	p->replay = fake.replay[p->sequence];
	p->what = row == 0 || p->sequence > fake.state.last ? PLACE_EMPTY :
	    row == ALIEN ? PLACE_OTHER : PLACE_OURS;
}

static int
fake_look_up(void *arg, const char *prefix, struct place *places, size_t n,
    bool (*go_on)(void *), void *go_on_arg, struct err *err)
{
	(void)arg;
	ck_assert_str_eq(prefix, "shop");
	if (!go_on(go_on_arg) || fake.closed || fake.mute)
		return err_set(err, "the fake breaks off");
	for (size_t i = 0; i < n; i++)
		fill_place(&places[i]);
	fake.nplaces += n;
	if (fake.during != NULL)
		fake.during();
	return 0;
}

static bool
fake_complaint(void *arg, enum pub_about about, struct err *err)
{
	(void)arg;
	err_set(err, "the fake has no ear");
	return fake.mute && !fake.silent &&
	    about == (fake.nobody ? PUB_NOBODY : PUB_FORBIDDEN);
}

static const struct pub_ops fake_ops = {
	.is_open = fake_is_open,
	.state = fake_state,
	.look_up = fake_look_up,
	.complaint = fake_complaint,
};

static enum keep
keep(void *arg)
{
	(void)arg;
	nkept++;
	return kept;
}

/*
 * The frame
 */

static void
start_server(const char *kind)
{
	static const char *const	lines[] = {
		"innodb_flush_log_at_trx_commit=0", "sync_binlog=0", NULL
	};

	server = kind;
	if (servers_runs(kind))
		return;
	servers_start(kind, kind, lines);
	sql_open(kind);
	sql_load(kind, "app");
	sql_close();
}

static void
start_mariadb(void)
{
	start_server("mariadb");
}

static void
start_mysql(void)
{
	start_server("mysql");
}

static void
begin_with(const char *nats)
{
	ck_ok(log_open(servers_write("log", ""), LOG_LVL_DEBUG, false, &e));
	conf = servers_conf("mysql: {socket: \"%s\", user: outbox, "
	    "password_env: OUTBOX_PW, database: app}\nnats: {%s}\n",
	    servers_get(server, "SOCKET"), nats);
	st = store_new(conf, ME);
	ck_ok(store_open(st, &e));
	ck_ok(store_learn(st, &e));
	ck_ok(store_register(st, &e));
	relay = (struct relay){ .conf = conf, .pub = { &fake_ops, NULL },
	    .form = { "s", "shop", "EVENTS" }, .keep = keep };
	recover_init(&rec, conf, st, &relay);
	recover_connected(&rec);
}

static void
begin(void)
{
	sql_open(server);
	sql("USE app; DELETE FROM outbox; DELETE FROM outbox_partitions; "
	    "DELETE FROM outbox_workers; DELETE FROM outbox_streams; "
	    "INSERT INTO outbox_partitions (partition_key, lease_epoch) "
	    "VALUES ('p00', 5), ('p01', 5), ('', 5)");
	memset(&fake, 0, sizeof(fake));
	fake.state.first = 1;
	strlcpy(fake.state.created, CREATED, sizeof(fake.state.created));
	strlcpy(fake.state.server, "S1", sizeof(fake.state.server));
	kept = KEEP_ON;
	nkept = 0;
	begin_with("");
}

static void
leave(void)
{
	store_free(st);
	conf_free(conf);
}

static void
end(void)
{
	leave();
	sql_close();
}

/* The same with other keys of the section nats. */
static void
again_with(const char *nats)
{
	leave();
	begin_with(nats);
}

static const char *
logged(void)
{
	static char	 text[8192];
	FILE		*f = fopen(servers_path("log"), "r");

	ck_assert_ptr_nonnull(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

/* Rows delivered so many seconds ago, each at its sequence in the stream. */
static void
deliver(uint64_t first, uint64_t last, const char *label, unsigned age_s)
{
	for (uint64_t i = first; i <= last; i++) {
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "published_at, ack_sequence) VALUES (%llu, %s, "
		    "NOW(6) - INTERVAL %u SECOND, %llu)",
		    (unsigned long long)i, label, age_s,
		    (unsigned long long)i);
		fake.row[i] = i;
	}
	if (last > fake.state.last)
		fake.state.last = last;
	fake.state.messages = fake.state.last;
}

/* The stream was checked for this server so many seconds ago. */
static void
know(const char *servers, unsigned age_s)
{
	sql("REPLACE INTO outbox_streams (name, created, prefix, servers, "
	    "known_since, checked_at) VALUES ('EVENTS', '" CREATED "', 'shop', "
	    "'%s', NOW(6) - INTERVAL 1 DAY, NOW(6) - INTERVAL %u SECOND)",
	    servers, age_s);
}

static void
forget(uint64_t first, uint64_t last)
{
	memset(&fake.row[first], 0, (last - first + 1) * sizeof(fake.row[0]));
}

/* One look, and whether messages may flow then. */
static bool
look(void)
{
	ck_ok(recover_round(&rec, true, &e));
	return recover_is_ready(&rec);
}

#define WAITING	"SELECT GROUP_CONCAT(global_sequence ORDER BY 1) FROM outbox " \
		"WHERE published_at IS NULL AND ack_sequence IS NULL AND " \
		"claim_token IS NULL AND available_at <= NOW(6)"

#define EPOCHS	"SELECT GROUP_CONCAT(lease_epoch ORDER BY partition_key) " \
		"FROM outbox_partitions"

/*
 * One row at a time
 */

static const struct {
	uint64_t	sequence;
	enum place_what	what;
	uint64_t	row;
	bool		forgets;
	enum fate	fate;
} fates[] = {		/* of row 7, in a stream of 10 to 20 */
	{ 15, PLACE_OURS, 7, false, FATE_THERE },
	{ 15, PLACE_OURS, 8, false, FATE_LOST },
	{ 15, PLACE_OTHER, 0, false, FATE_LOST },
	{ 15, PLACE_OTHER, 0, true, FATE_LOST },
	{ 15, PLACE_EMPTY, 0, false, FATE_LOST },
	{ 15, PLACE_EMPTY, 0, true, FATE_REMOVED },
	{ 10, PLACE_EMPTY, 0, false, FATE_LOST },
	{ 9, PLACE_EMPTY, 0, false, FATE_REMOVED },
	{ 9, PLACE_EMPTY, 0, true, FATE_REMOVED },
	{ 20, PLACE_EMPTY, 0, false, FATE_LOST },
	{ 21, PLACE_EMPTY, 0, false, FATE_LOST },
	{ 21, PLACE_EMPTY, 0, true, FATE_LOST },
	{ 21, PLACE_OURS, 7, false, FATE_LOST },
	{ 0, PLACE_EMPTY, 0, true, FATE_LOST },
};

START_TEST(fate_is_judged)
{
	struct stream_state	state = { .first = 10, .last = 20,
				    .forgets = fates[_i].forgets };
	struct place		p = { fates[_i].sequence, fates[_i].what,
				    fates[_i].row, 0 };
	struct acked		row = { 7, 15, 0 };

	ck_assert_int_eq(recover_judge(&state, &row, &p), fates[_i].fate);
	/* What it was before it was replayed is somebody else's. */
	row.replay = 2;
	ck_assert_int_ne(recover_judge(&state, &row, &p), FATE_THERE);
	p.replay = 2;
	ck_assert_int_eq(recover_judge(&state, &row, &p), fates[_i].fate);
}
END_TEST

/*
 * Starts of the server
 */

START_TEST(first_look_makes_the_stream_known)
{
	deliver(1, 3, "'p00'", 60);	/* before: not expected anywhere */
	fake.state.last = 0;
	ck_assert(!recover_is_ready(&rec));
	ck_assert(look());
	ck_sql("EVENTS " CREATED " shop S1 1 NULL", "SELECT name, created, "
	    "prefix, servers, checked_at >= known_since, checker "
	    "FROM outbox_streams");
	ck_sql("NULL", WAITING);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(known_start_is_one_question)
{
	know("S9,S1", 20);
	deliver(1, 3, "'p00'", 10);
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 1);
	ck_assert_str_eq(logged(), "");
	ck_sql("1", "SELECT checked_at > NOW(6) - INTERVAL 9 SECOND "
	    "FROM outbox_streams");
	/* And not again for a while. */
	ck_assert_int_gt(recover_next(&rec, true), clock_ms() + 5000);
	ck_assert_int_eq(recover_next(&rec, false), INT64_MAX);
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 1);
}
END_TEST

START_TEST(new_start_reads_what_is_in_doubt)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 20 + 310);
	deliver(4, 9, "'p00'", 20 + 290);
	deliver(10, 12, "'p00'", 1);
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 9);
	ck_has(logged(), "9 messages were looked up, none is lost");
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
	ck_sql("NULL", WAITING);
	ck_sql("5,5,5", EPOCHS);
	ck_assert_uint_gt(nkept, 0);
}
END_TEST

START_TEST(lost_rows_wait_again)
{
	know("S9", 20);
	deliver(1, 4, "'p00'", 10);
	deliver(5, 6, "'p01'", 9);
	deliver(7, 7, "NULL", 9);
	deliver(8, 8, "'p01'", 8);
	sql("UPDATE outbox SET claim_token = 'x'");
	forget(3, 3);		/* a hole */
	fake.row[6] = ALIEN;	/* given away again */
	forget(7, 8);		/* the end */
	fake.state.last = 6;
	ck_assert(look());
	ck_sql("3,6,7,8", WAITING);
	ck_sql("6,6,6", EPOCHS);
	ck_sql("4", "SELECT COUNT(*) FROM outbox WHERE ack_sequence IS NOT "
	    "NULL AND published_at IS NOT NULL");
	ck_assert_uint_eq(rec.recovered, 4);
	ck_has(logged(), "warn");
	ck_has(logged(), "lost 4 acknowledged messages, sequences 3 to 8");
}
END_TEST

START_TEST(only_owners_of_lost_rows_are_rung)
{
	know("S9", 20);
	deliver(1, 2, "'p00'", 10);
	deliver(3, 4, "'p01'", 9);
	fake.state.last = 3;
	ck_assert(look());
	ck_sql("4", WAITING);
	ck_sql("5,5,6", EPOCHS);
}
END_TEST

START_TEST(removed_rows_are_not_lost)
{
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	forget(1, 4);
	fake.state.first = 5;
	if (_i == 1) {
		forget(7, 7);
		fake.state.forgets = true;
	}
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_has(logged(), "9 messages were looked up, none is lost");
}
END_TEST

/* What a limit removes while we read is not a hole. */
static void
limit(void)
{
	fake.state.first = 8;
	forget(1, 7);
}

START_TEST(limit_may_work_meanwhile)
{
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	forget(1, 4);
	fake.state.first = 2;
	fake.during = limit;
	ck_assert(look());
	ck_sql("NULL", WAITING);
}
END_TEST

/* Many rows of one moment, and more than one slice. */
START_TEST(all_slices_are_read)
{
	know("S9", 20);
	sql("INSERT INTO outbox (global_sequence, partition_key, published_at, "
	    "ack_sequence) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
	    "i + 1 FROM n WHERE i < 1000) SELECT a.i + 1000 * b.i, 'p00', "
	    "NOW(6) - INTERVAL (IF(b.i = 2, 10, 30) - b.i) SECOND, "
	    "a.i + 1000 * b.i FROM n AS a JOIN n AS b WHERE b.i < 5");
	for (uint64_t i = 1001; i <= 5000; i++)
		fake.row[i] = i;
	fake.state.last = fake.state.messages = 5000;
	forget(1001, 1001);
	forget(2500, 3600);
	forget(5000, 5000);
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 4000);
	ck_sql("1103 1001 5000", "SELECT COUNT(*), MIN(global_sequence), "
	    "MAX(global_sequence) FROM outbox WHERE published_at IS NULL");
}
END_TEST

/* Sent again meanwhile by somebody else: it has another place. */
static void
move_row(void)
{
	sql("UPDATE outbox SET ack_sequence = 77 WHERE global_sequence = 2");
}

START_TEST(row_that_moved_is_left_alone)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	fake.state.last = 1;
	fake.during = move_row;
	ck_assert(look());
	ck_sql("3", WAITING);
}
END_TEST

/* Nothing is left of the doubtful time: what is older may be gone as well. */
START_TEST(far_jump_back_reads_everything)
{
	know("S9", 20);
	deliver(1, 5, "'p00'", 4000);
	deliver(6, 8, "'p00'", 10);
	fake.state.last = 3;
	ck_assert(look());
	ck_sql("4,5,6,7,8", WAITING);
}
END_TEST

/* One row is lost, and it is the only one in doubt. */
START_TEST(near_jump_back_does_not_read_everything)
{
	know("S9", 20);
	deliver(1, 100, "'p00'", 4000);
	deliver(101, 101, "'p00'", 10);
	fake.state.last = 100;
	ck_assert(look());
	ck_sql("101", WAITING);
	ck_assert_uint_eq(fake.nplaces, 51);
}
END_TEST

/*
 * One checks, the others wait
 */

static void
checker(const char *who, int seconds)
{
	sql("UPDATE outbox_streams SET checker = '%s', checker_until = NOW(6) "
	    "+ INTERVAL %d SECOND", who, seconds);
}

START_TEST(others_wait_for_the_one)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('" OTHER
	    "', NOW(6) + INTERVAL 9 SECOND)");
	checker(OTHER, 10);
	ck_assert(!look());
	ck_assert_uint_eq(fake.nplaces, 0);
	ck_assert_int_le(recover_next(&rec, false), clock_ms() + 500);
	/* It has done it. */
	sql("UPDATE outbox_streams SET servers = 'S1', checker = NULL");
	rec.at = 0;
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 1);
}
END_TEST

START_TEST(check_of_the_dead_is_taken_over)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	if (_i == 0)		/* nobody of that name: its successor is here */
		checker(DEAD, 10);
	else {
		sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES "
		    "('" OTHER "', NOW(6) + INTERVAL 9 SECOND)");
		checker(OTHER, -1);
	}
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 3);
}
END_TEST

/* Asked to leave: somebody else shall do it. */
START_TEST(check_is_broken_off)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	kept = KEEP_FINISH;
	ck_assert(!look());
	ck_sql("S9 NULL", "SELECT servers, checker FROM outbox_streams");
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(lost_connection_ends_the_check)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	fake.closed = true;
	ck_assert(!look());
	ck_assert_str_eq(logged(), "");
	fake.closed = false;
	recover_connected(&rec);
	ck_assert(look());
}
END_TEST

START_TEST(forbidden_look_is_a_warning)
{
	know("S9", 20);
	deliver(1, 3, "'p00'", 10);
	fake.mute = true;
	ck_assert(!look());		/* it may have no leader yet */
	rec.at = 0;
	ck_assert(!look());
	rec.at = 0;
	ck_assert_str_eq(logged(), "");
	ck_assert(look());		/* messages flow */
	ck_has(logged(), "STREAM.MSG.GET.EVENTS");
	servers_write("log", "");
	rec.at = 0;
	ck_assert(look());
	ck_assert_str_eq(logged(), "");	/* once is enough */
	fake.mute = false;
	rec.at = 0;
	ck_assert(look());
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
}
END_TEST

START_TEST(missing_stream_is_told)
{
	know("S9", 20);
	fake.gone = true;
	ck_assert(!look());
	ck_assert(rec.gone);
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * Going back while connected
 */

START_TEST(jump_back_is_found_by_the_period)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	ck_assert(look());
	fake.state.last = 6;
	if (_i == 1)
		fake.row[9] = ALIEN, fake.state.last = 20;
	rec.at = 0;
	ck_assert(look());
	ck_sql(_i == 1 ? "9" : "7,8,9", WAITING);
}
END_TEST

/*
 * A backup of the same name and birth: what it lacks is older than any crash
 * could take.  New ones may have come already.
 */
START_TEST(far_jump_back_is_found_by_the_period)
{
	bool	report = _i == 2;

	if (report)
		again_with("recover: report");
	know("S1", 20);
	deliver(1, 9, "'p00'", 4000);
	ck_assert(look());
	fake.state.last = 6;
	if (_i == 1) {
		sql("INSERT INTO outbox (global_sequence, published_at, "
		    "ack_sequence) VALUES (10, NOW(6), 7)");
		fake.row[7] = 10;
		fake.state.last = 7;
	}
	rec.at = 0;
	ck_assert(look());
	ck_sql(report ? "NULL" : "7,8,9", WAITING);
	ck_assert((rec.alarm.text[0] != '\0') == report);
	/* And it is not missed again. */
	fake.nplaces = 0;
	rec.at = 0;
	ck_assert(look());
	ck_assert_uint_le(fake.nplaces, 1);
}
END_TEST

START_TEST(jump_back_is_found_by_an_ack)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	ck_assert(look());
	fake.state.last = 7;
	relay.top = (struct acked){ 9, 9, 0 };
	ck_assert(relay.watch);
	relay.went_back = true;
	ck_assert(!recover_is_ready(&rec));
	ck_assert_int_eq(recover_next(&rec, false), 0);
	ck_ok(recover_round(&rec, false, &e));
	ck_assert(recover_is_ready(&rec));
	ck_sql("8,9", WAITING);
	ck_assert_uint_eq(relay.top.ack, 0);
}
END_TEST

/* It may take a while, and is not asked for without a pause. */
START_TEST(jump_back_waits_for_the_one)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	ck_assert(look());
	fake.state.last = 7;
	relay.top = (struct acked){ 9, 9, 0 };
	relay.went_back = true;
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('" OTHER
	    "', NOW(6) + INTERVAL 9 SECOND)");
	checker(OTHER, 10);
	ck_ok(recover_round(&rec, false, &e));
	ck_assert(!recover_is_ready(&rec));
	ck_assert_int_gt(recover_next(&rec, false), clock_ms() + 50);
	checker("", -1);
	rec.at = 0;
	ck_ok(recover_round(&rec, false, &e));
	ck_assert(recover_is_ready(&rec));
	ck_sql("8,9", WAITING);
}
END_TEST

/* Deleted and made anew in the middle of it. */
static void
make_anew(void)
{
	strlcpy(fake.state.created, "2026-02-01T00:00:00Z",
	    sizeof(fake.state.created));
	fake.state.first = fake.state.last = 0;
}

START_TEST(stream_may_go_while_it_is_read)
{
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	fake.during = make_anew;
	ck_assert(!look());
	ck_sql("NULL", WAITING);
	rec.at = 0;
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_has(rec.alarm.text, "was made anew");
}
END_TEST

/* The number of a row's replay is part of what is expected at its place. */
START_TEST(lost_replay_is_sent_again)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	sql("UPDATE outbox SET replay_no = 3 WHERE global_sequence IN (5, 8)");
	fake.replay[5] = 3;
	fake.replay[8] = 2;
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	recover_connected(&rec);
	ck_assert(look());
	ck_sql("8", WAITING);
	ck_sql("3", "SELECT replay_no FROM outbox WHERE global_sequence = 8");
}
END_TEST

/* Another worker has dealt with it: its row is not delivered any more. */
START_TEST(what_others_found_is_not_read_again)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	fake.state.last = 7;
	sql("UPDATE outbox SET published_at = NULL, ack_sequence = NULL "
	    "WHERE global_sequence > 7");
	relay.top = (struct acked){ 9, 9, 0 };
	ck_ok(recover_round(&rec, false, &e));
	ck_assert(recover_is_ready(&rec));
	ck_assert_uint_eq(fake.nplaces, 1);
	ck_assert_uint_eq(relay.top.ack, 0);
}
END_TEST

START_TEST(empty_stream_is_an_alarm)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	forget(1, 9);
	fake.state.first = 10;
	fake.state.messages = 0;
	fake.state.expires = _i == 1;
	fake.state.forgets = _i == 2;
	if (_i == 3)		/* the same after a start */
		strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_assert((strstr(logged(), "is empty") != NULL) ==
	    (_i == 0 || _i == 3));
	ck_assert((rec.alarm.text[0] != '\0') == (_i == 0 || _i == 3));
	servers_write("log", "");
	rec.at = 0;
	ck_assert(look());
	if (_i == 0)
		ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * Another Created
 */

START_TEST(stream_made_anew_is_an_alarm)
{
	know("S1", 20);
	deliver(1, 60, "'p00'", 10);
	strlcpy(fake.state.created, "2026-02-01T00:00:00Z",
	    sizeof(fake.state.created));
	memset(fake.row, 0, sizeof(fake.row));
	if (_i == 0) {
		fake.state.first = fake.state.last = 0;
	} else if (_i == 1) {	/* some of ours are in it already */
		sql("INSERT INTO outbox (global_sequence, published_at, "
		    "ack_sequence) VALUES (61, NOW(6), 1), (62, NOW(6), 2)");
		fake.row[1] = 61;
		fake.row[2] = 62;
		fake.state.last = 2;
	} else {		/* others have filled it */
		for (int i = 1; i < 100; i++)
			fake.row[i] = ALIEN;
		fake.state.last = 99;
	}
	ck_assert(look());
	ck_has(rec.alarm.text, "was made anew");
	ck_sql("NULL", WAITING);
	ck_sql("2026-02-01T00:00:00Z 1", "SELECT created, known_since > NOW(6) "
	    "- INTERVAL 9 SECOND FROM outbox_streams");
	/* Nor does the next start of the server miss what was before. */
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	recover_connected(&rec);
	ck_assert(look());
	ck_sql("NULL", WAITING);
}
END_TEST

START_TEST(restored_backup_is_completed)
{
	know("S1", 20);
	deliver(1, 200, "'p00'", 4000);
	deliver(201, 210, "'p00'", 100);
	strlcpy(fake.state.created, "2026-02-01T00:00:00Z",
	    sizeof(fake.state.created));
	fake.state.last = 190;
	if (_i == 1) {		/* and new ones came */
		sql("INSERT INTO outbox (global_sequence, published_at, "
		    "ack_sequence) VALUES (211, NOW(6), 191)");
		fake.row[191] = 211;
		fake.state.last = 191;
	}
	ck_assert(look());
	ck_sql("20 191 210", "SELECT COUNT(*), MIN(global_sequence), "
	    "MAX(global_sequence) FROM outbox WHERE published_at IS NULL");
	ck_has_not(logged(), "made anew");
	ck_sql("2026-02-01T00:00:00Z", "SELECT created FROM outbox_streams");
}
END_TEST

/* Rows with other ids, or of another stream, cannot be told from lost ones. */
START_TEST(other_ids_are_not_lost)
{
	know("S1", 20);
	deliver(1, 9, "'p00'", 10);
	fake.state.last = 2;
	if (_i == 0)
		sql("UPDATE outbox_streams SET prefix = 'mall'");
	else
		sql("INSERT INTO outbox_streams (name, checked_at) "
		    "VALUES ('MORE', NOW(6))");
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_sql("shop 1", "SELECT prefix, known_since > NOW(6) - INTERVAL 9 "
	    "SECOND FROM outbox_streams WHERE name = 'EVENTS'");
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * The configuration, and tables of somebody else
 */

START_TEST(report_sends_nothing)
{
	again_with("recover: report");
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	fake.state.last = 6;
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_has(rec.alarm.text, "lost 3 acknowledged");
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
	ck_assert_uint_eq(rec.recovered, 0);
	/* Told once is enough. */
	rec.alarm.text[0] = '\0';
	rec.at = 0;
	ck_assert(look());
	ck_assert_str_eq(rec.alarm.text, "");
}
END_TEST

static const char *const	offs[] = {
	"recover: off", "stream: \"\"",
};

START_TEST(nothing_is_looked_at)
{
	again_with(offs[_i]);
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	fake.state.last = 6;
	fake.mute = true;
	relay.went_back = true;
	ck_assert(recover_is_ready(&rec));
	ck_assert_int_eq(recover_next(&rec, true), INT64_MAX);
	ck_assert(look());
	ck_assert(!relay.watch);
	ck_sql("NULL", WAITING);
}
END_TEST

START_TEST(refill_takes_all_that_is_not_there)
{
	struct recover_walk	w = { .all = true, .absent = true,
				    .dry = _i == 0 };
	char			from[STORE_TIME] = "1970-01-01 00:00:01.000000";
	char			until[STORE_TIME];

	deliver(1, 9, "'p00'", 90000);
	sql("UPDATE outbox SET ack_sequence = NULL WHERE global_sequence = 6");
	forget(1, 4);
	fake.state.first = 3;
	ck_ok(store_now(st, until, &e));
	ck_assert_int_eq(recover_walk(&rec, &w, from, until, &e), WALK_DONE);
	ck_assert_uint_eq(w.there, 4);
	ck_assert_uint_eq(w.lost, 5);
	ck_sql(_i == 0 ? "NULL" : "1,2,3,4,6", WAITING);
	ck_assert_uint_eq(w.reset, _i == 0 ? 0 : 5);
}
END_TEST

/*
 * Looking before sending again
 */

#define TOKEN	"00000000000000a1-7"

static struct doubt	doubt;
static struct batch	batch;

/* Rows of a batch of ours, unsure for so many seconds; -1: not at all. */
static void
take(uint64_t first, uint64_t last, int unsure_s)
{
	uint64_t	sequences[64];
	size_t		n = 0;

	for (uint64_t i = first; i <= last; i++) {
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "claim_token, unsure_since) VALUES (%llu, 'p00', '" TOKEN
		    "', IF(%d < 0, NULL, NOW(6) - INTERVAL %d SECOND))",
		    (unsigned long long)i, unsure_s, unsure_s);
		sequences[n++] = i;
	}
	strlcpy(batch.token, TOKEN, sizeof(batch.token));
	ck_ok(store_fetch(st, sequences, n, SIZE_MAX, &batch, &e));
	ck_assert_uint_eq(batch.n, n);
	batch.claimed_at = clock_ms();
}

static void
doubt_begin(void)
{
	begin();
	fake.state.window_ms = 120000;
	doubt_init(&doubt, conf, st, &relay);
	deliver(1, 100, "'p00'", 300);
	deliver(101, 900, "'p00'", 50);
}

static void
doubt_end(void)
{
	batch_free(&batch);
	doubt_free(&doubt);
	end();
}

/* The outcomes as letters. */
static const char *
resolve(void)
{
	static char	text[65];
	unsigned	found;

	ck_ok(doubt_resolve(&doubt, &batch, &found, &e));
	memset(text, 0, sizeof(text));
	for (size_t i = 0; i < batch.n; i++) {
		text[i] = "UDRFX?"[batch.msgs[i].outcome];
		found -= batch.msgs[i].outcome == OUT_DELIVERED;
	}
	ck_assert_uint_eq(found, 0);
	return text;
}

static const struct {
	int		 unsure_s;
	const char	*outcome;
} ages[] = { { -1, "U" }, { 1, "U" }, { 80, "U" }, { 100, "D" }, { 500, "D" } };

START_TEST(only_old_doubts_are_looked_for)
{
	take(1000, 1000, ages[_i].unsure_s);
	fake.row[500] = 1000;
	ck_assert_str_eq(resolve(), ages[_i].outcome);
	ck_assert((fake.nplaces > 0) == (ages[_i].outcome[0] == 'D'));
	if (batch.msgs[0].outcome == OUT_DELIVERED)
		ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

START_TEST(found_and_absent_are_told_apart)
{
	take(1000, 1003, 100);
	fake.row[500] = 1002;
	fake.row[600] = 1000;
	fake.row[50] = 1001;	/* below all that could be */
	batch.msgs[3].held = true;
	ck_assert_str_eq(resolve(), "DUDU");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 600);
	ck_assert_uint_eq(batch.msgs[2].ack_sequence, 500);
	/* Above what was delivered before, once for all of them. */
	ck_assert_uint_eq(fake.nplaces, 800);
	/* What is not there starts anew. */
	ck_sql("1001", "SELECT GROUP_CONCAT(global_sequence) FROM outbox "
	    "WHERE claim_token IS NOT NULL AND unsure_since IS NULL");
	ck_assert_uint_eq(doubt.search.n, 0);
}
END_TEST

/* The lease would say it again: from now on, that is. */
START_TEST(absent_rows_under_a_mark_are_unsure_anew)
{
	sql("UPDATE outbox_partitions SET unsure_since = NOW(6) - INTERVAL 1 "
	    "HOUR, unsure_upto = 1001, unsure_epoch = lease_epoch - %d", _i);
	take(1000, 1002, 100);
	ck_assert_str_eq(resolve(), "UUU");
	ck_sql(_i == 1 ? "1000,1001" : "NULL", "SELECT GROUP_CONCAT("
	    "global_sequence) FROM outbox WHERE claim_token IS NOT NULL AND "
	    "unsure_since > NOW(6) - INTERVAL 20 SECOND");
	ck_sql(_i == 1 ? "1" : "3", "SELECT COUNT(*) FROM outbox "
	    "WHERE claim_token IS NOT NULL AND unsure_since IS NULL");
}
END_TEST

/* What was there before it was replayed is not what is looked for. */
START_TEST(replay_is_not_found_by_its_first_message)
{
	take(1000, 1001, 100);
	batch.msgs[0].replay = batch.msgs[1].replay = 2;
	fake.row[500] = fake.row[600] = fake.row[700] = 1000;
	fake.replay[600] = 2;
	fake.row[550] = fake.row[650] = 1001;
	fake.replay[650] = 1;
	ck_assert_str_eq(resolve(), "DU");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 600);
}
END_TEST

START_TEST(all_is_read_where_nothing_is_known)
{
	fake.state.first = 41;
	take(1000, 1000, 100);
	if (_i == 0)
		sql("UPDATE outbox SET ack_sequence = NULL");
	else			/* of a stream before this one */
		sql("UPDATE outbox SET ack_sequence = 5000");
	ck_assert_str_eq(resolve(), "U");
	ck_assert_uint_eq(fake.nplaces, 860);
}
END_TEST

static void
be_slow(void)
{
	struct timespec	ts = { 0, 20000000 };

	nanosleep(&ts, NULL);
}

/* It goes on where it was; no turn is in vain. */
START_TEST(long_look_takes_many_turns)
{
	int	turns = 0;

	take(1000, 1001, 100);
	fake.row[850] = 1000;
	fake.during = be_slow;
	batch.claimed_at -= conf->worker.claim_ttl -
	    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS - 30;
	while (strcmp(resolve(), "DU") != 0) {
		ck_assert_int_lt(turns++, 50);
		ck_assert_int_eq(batch.msgs[1].outcome, OUT_DEFER);
		ck_assert_int_gt(batch.msgs[1].delay_ms, 0);
		batch.msgs[0].outcome = batch.msgs[1].outcome = OUT_UNSENT;
		batch.claimed_at = clock_ms() - (conf->worker.claim_ttl -
		    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS - 30);
	}
	ck_assert_int_gt(turns, 1);
	ck_assert_uint_eq(fake.nplaces, 800);
}
END_TEST

/* Row 1000, which nobody finds before its turn is over. */
static void
begin_to_look(void)
{
	take(1000, 1000, 100);
	fake.during = be_slow;
	batch.claimed_at -= conf->worker.claim_ttl -
	    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS - 2;
	ck_assert_str_eq(resolve(), "F");
	fake.during = NULL;
}

/* One that is in doubt for longer begins before what was read already. */
START_TEST(older_doubt_reaches_farther_back)
{
	begin_to_look();
	batch_free(&batch);
	fake.row[50] = 1001;
	take(1001, 1001, 400);
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 50);
}
END_TEST

/*
 * Somebody else had the partition meanwhile, and sent it without an answer:
 * what was read before that does not count.
 */
START_TEST(younger_doubt_is_looked_for_anew)
{
	begin_to_look();
	fake.row[500] = 1000;
	doubt.search.next = fake.state.last + 1;	/* past that */
	doubt.search.items[0].since -= 200000;	/* long ago */
	batch.msgs[0].outcome = OUT_UNSENT;
	batch.claimed_at = clock_ms();
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

/* Delivered by somebody else, and replayed, while it is remembered here. */
START_TEST(replay_is_looked_for_anew)
{
	begin_to_look();
	fake.row[500] = 1000;
	fake.replay[500] = 1;
	doubt.search.next = fake.state.last + 1;	/* past that */
	batch.msgs[0].outcome = OUT_UNSENT;
	batch.msgs[0].replay = 1;
	batch.claimed_at = clock_ms();
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

/* What was read of a stream that went back is not true any more. */
START_TEST(look_begins_anew_in_an_older_stream)
{
	begin_to_look();
	fake.state.last = doubt.search.next - 5;
	fake.row[fake.state.last] = 1000;
	batch.msgs[0].outcome = OUT_UNSENT;
	batch.claimed_at = clock_ms();
	ck_assert_str_eq(resolve(), "D");
}
END_TEST

/* Who is silent takes no messages either. */
START_TEST(silence_is_waited_for)
{
	fake.mute = fake.silent = true;
	for (int i = 0; i < 20; i++) {
		rec.at = 0;
		ck_assert(!look());
	}
	take(1000, 1000, 100);
	for (int i = 0; i < 20; i++) {
		ck_assert_str_eq(resolve(), "F");
		batch.msgs[0].outcome = OUT_UNSENT;
	}
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* A leader may be missing for a while; an account's export for ever. */
START_TEST(nobody_is_waited_for_a_while)
{
	fake.mute = fake.nobody = true;
	for (int i = 0; i < 5; i++) {
		rec.at = 0;
		ck_assert(!look());
	}
	rec.blind.since -= 31000;
	rec.at = 0;
	ck_assert(look());
	ck_has(logged(), "cannot be found");
}
END_TEST

START_TEST(blind_look_does_not_last_for_ever)
{
	fake.mute = _i == 0;
	fake.closed = _i == 1;
	take(1000, 1000, 100);
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(resolve(), i < 2 || _i == 1 ? "F" : "U");
		batch.msgs[0].outcome = OUT_UNSENT;
	}
	ck_assert((strstr(logged(), "twice") != NULL) == (_i == 0));
	ck_assert_str_eq(resolve(), _i == 0 ? "U" : "F");
}
END_TEST

static const char *const	blind[] = { "recover: off", "stream: \"\"" };

START_TEST(nothing_is_looked_for)
{
	again_with(blind[_i]);
	doubt_init(&doubt, conf, st, &relay);
	take(1000, 1000, 100);
	fake.row[500] = 1000;
	ck_assert_str_eq(resolve(), "U");
	ck_assert_uint_eq(fake.nplaces, 0);
}
END_TEST

/*
 * The suite: every case once for each kind of server
 */

static void
add_tests(TCase *tc)
{
	tcase_add_test(tc, first_look_makes_the_stream_known);
	tcase_add_test(tc, known_start_is_one_question);
	tcase_add_test(tc, new_start_reads_what_is_in_doubt);
	tcase_add_test(tc, lost_rows_wait_again);
	tcase_add_test(tc, only_owners_of_lost_rows_are_rung);
	tcase_add_loop_test(tc, removed_rows_are_not_lost, 0, 2);
	tcase_add_test(tc, limit_may_work_meanwhile);
	tcase_add_test(tc, all_slices_are_read);
	tcase_add_test(tc, row_that_moved_is_left_alone);
	tcase_add_test(tc, far_jump_back_reads_everything);
	tcase_add_test(tc, near_jump_back_does_not_read_everything);
	tcase_add_test(tc, others_wait_for_the_one);
	tcase_add_loop_test(tc, check_of_the_dead_is_taken_over, 0, 2);
	tcase_add_test(tc, check_is_broken_off);
	tcase_add_test(tc, lost_connection_ends_the_check);
	tcase_add_test(tc, forbidden_look_is_a_warning);
	tcase_add_test(tc, missing_stream_is_told);
	tcase_add_loop_test(tc, jump_back_is_found_by_the_period, 0, 2);
	tcase_add_loop_test(tc, far_jump_back_is_found_by_the_period, 0, 3);
	tcase_add_test(tc, jump_back_is_found_by_an_ack);
	tcase_add_test(tc, jump_back_waits_for_the_one);
	tcase_add_test(tc, stream_may_go_while_it_is_read);
	tcase_add_test(tc, lost_replay_is_sent_again);
	tcase_add_test(tc, what_others_found_is_not_read_again);
	tcase_add_loop_test(tc, empty_stream_is_an_alarm, 0, 4);
	tcase_add_loop_test(tc, stream_made_anew_is_an_alarm, 0, 3);
	tcase_add_loop_test(tc, restored_backup_is_completed, 0, 2);
	tcase_add_loop_test(tc, other_ids_are_not_lost, 0, 2);
	tcase_add_test(tc, report_sends_nothing);
	tcase_add_loop_test(tc, nothing_is_looked_at, 0, NROWS(offs));
	tcase_add_loop_test(tc, refill_takes_all_that_is_not_there, 0, 2);
}

static void
add_doubts(TCase *tc)
{
	tcase_add_test(tc, replay_is_not_found_by_its_first_message);
	tcase_add_test(tc, replay_is_looked_for_anew);
	tcase_add_loop_test(tc, only_old_doubts_are_looked_for, 0,
	    NROWS(ages));
	tcase_add_test(tc, found_and_absent_are_told_apart);
	tcase_add_loop_test(tc, absent_rows_under_a_mark_are_unsure_anew, 0, 2);
	tcase_add_loop_test(tc, all_is_read_where_nothing_is_known, 0, 2);
	tcase_add_test(tc, long_look_takes_many_turns);
	tcase_add_test(tc, older_doubt_reaches_farther_back);
	tcase_add_test(tc, younger_doubt_is_looked_for_anew);
	tcase_add_test(tc, look_begins_anew_in_an_older_stream);
	tcase_add_test(tc, silence_is_waited_for);
	tcase_add_test(tc, nobody_is_waited_for_a_while);
	tcase_add_loop_test(tc, blind_look_does_not_last_for_ever, 0, 2);
	tcase_add_loop_test(tc, nothing_is_looked_for, 0, NROWS(blind));
}

static TCase *
add_case(Suite *s, const char *name, void (*start)(void),
    void (*setup)(void), void (*teardown)(void))
{
	TCase	*tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	tcase_add_unchecked_fixture(tc, start, NULL);
	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("recover");
	TCase	*tc = tcase_create("fate");
	SRunner	*sr;
	int	 failed;

	servers_begin();
	tcase_add_loop_test(tc, fate_is_judged, 0, NROWS(fates));
	suite_add_tcase(s, tc);
	add_tests(add_case(s, "mariadb", start_mariadb, begin, end));
	add_doubts(add_case(s, "doubt", start_mariadb, doubt_begin, doubt_end));
	if (getenv("OUTBOX_MYSQL_TREE") != NULL) {
		add_tests(add_case(s, "mysql", start_mysql, begin, end));
		add_doubts(add_case(s, "doubt-mysql", start_mysql, doubt_begin,
		    doubt_end));
	}
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	servers_end();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
