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

#include "util/clock.h"
#include "recovery/doubt.h"
#include "util/log.h"
#include "recovery/recover.h"
#include "lib/servers.h"
#include "store/store.h"

#define ME		"here:00:00000000000000a1"
#define OTHER		"here:01:00000000000000b2"
#define DEAD		"here:02:00000000000000c3"
#define CREATED		"2026-01-31T12:00:00Z"
#define ALIEN		UINT64_MAX
#define PLACES		8000

#define DIGITS(name)	"(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT " \
			"2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL "  \
			"SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 "     \
			"UNION ALL SELECT 8 UNION ALL SELECT 9) AS " name

#define ck_ok(call)	\
	ck_assert_msg((call) == 0, #call ": %s", e.text)
#define ck_has(text, part)	\
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", \
	    part, text)
#define ck_has_not(text, part)	\
	ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in \"%s\"", \
	    part, text)

#define ck_near(value, low, high)	do {	\
	ck_assert_int_ge(value, low);		\
	ck_assert_int_le(value, high);		\
} while (0)

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
	uint64_t		 hash[PLACES];	/* 0: an id of before */
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
	p->id = (struct message_id){ .sequence = row,
	    .replay = fake.replay[p->sequence],
	    .hash = fake.hash[p->sequence],
	    .hashed = fake.hash[p->sequence] != 0 };
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
	sql("USE app; DROP TRIGGER IF EXISTS obstacle");
	sql("DELETE FROM outbox; DELETE FROM events; "
	    "DELETE FROM outbox_dead_letters; DELETE FROM outbox_partitions; "
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
				    { .sequence = fates[_i].row } };
	struct acked		row = { { .sequence = 7 }, 15 };

	ck_assert_int_eq(recover_judge(&state, &row, &p), fates[_i].fate);
	/* What it was before it was replayed is somebody else's. */
	row.id.replay = 2;
	ck_assert_int_ne(recover_judge(&state, &row, &p), FATE_THERE);
	p.id.replay = 2;
	ck_assert_int_eq(recover_judge(&state, &row, &p), fates[_i].fate);
	/* And so is another event that had its number. */
	row.id.hashed = true;
	row.id.hash = 5;
	ck_assert_int_ne(recover_judge(&state, &row, &p), FATE_THERE);
	p.id.hashed = true;
	p.id.hash = 5;
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
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
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
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
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

/*
 * A database that goes back gives numbers again: what stands at the place of
 * a row is another event's message then.  Without a hash, or once the event
 * is archived, the number has to do.
 */
START_TEST(place_of_another_event_is_a_lost_message)
{
	deliver(1, 4, "'p00'", 10);
	know("S0", 5);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data) VALUES (1, 'k', 1, 't', ''), "
	    "(2, 'k', 2, 't', ''), (3, 'k', 3, 't', ''); "
	    "UPDATE outbox SET message_hash = 18446744073709551615 - "
	    "global_sequence WHERE global_sequence <> 3");
	for (uint64_t i = 1; i <= 4; i++)
		fake.hash[i] = 77;
	fake.hash[1] = UINT64_MAX - 1;
	ck_assert(look());
	ck_sql("2", WAITING);
	ck_sql("NULL", "SELECT message_hash FROM outbox "
	    "WHERE global_sequence = 2");
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
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
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
 * A database that goes back
 */

#define EVENT_TIME	"2026-01-31 12:00:00.000000"

/* What add_event() makes. */
static uint64_t
hash_of(uint64_t sequence, const char *body)
{
	char		key[24];
	struct msg	m = { .type = { "t", 1 }, .stream_sequence = { "1", 1 },
			    .time = { EVENT_TIME, strlen(EVENT_TIME) },
			    .payload = { body, strlen(body) } };

	snprintf(key, sizeof(key), "k%llu", (unsigned long long)sequence);
	m.key = (struct bytes){ key, strlen(key) };
	return message_hash(&m);
}

static void
add_event(uint64_t sequence, const char *body)
{
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data, occurred_at) VALUES (%llu, 'k%llu', 1, "
	    "'t', '%s', '" EVENT_TIME "')", (unsigned long long)sequence,
	    (unsigned long long)sequence, body);
}

/* A row that waits, or is dead by now. */
static void
add_row(uint64_t sequence, const char *what)
{
	if (strcmp(what, "dead") == 0)
		sql("INSERT INTO outbox_dead_letters (global_sequence, reason) "
		    "VALUES (%llu, 'message')", (unsigned long long)sequence);
	else
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "claim_token) VALUES (%llu, 'p00', %s)",
		    (unsigned long long)sequence, what);
}

static void
put_message(uint64_t at, uint64_t sequence, uint64_t hash)
{
	fake.row[at] = sequence;
	fake.hash[at] = hash;
	if (at > fake.state.last)
		fake.state.last = fake.state.messages = at;
}

/* Checked a moment ago, up to this message, on this server. */
static void
know_tail(uint64_t tail)
{
	struct db_server	now;

	know("S1", 1);
	ck_ok(store_server(st, &now, &e));
	sql("UPDATE outbox_streams SET tail_sequence = %llu, "
	    "tail_at = NOW(6) - INTERVAL 1 SECOND, database_server = '%s', "
	    "database_started = '%s', first_sequence = 1",
	    (unsigned long long)tail, now.identity, now.started);
}

/* Looks until messages may flow. */
static void
look_on(void)
{
	for (int64_t until = patience(); !look(); )
		wait_more(&until, "the stream to be looked at");
}

#define PHANTOMS	"SELECT phantoms, phantom_first, phantom_last, " \
			"tail_sequence FROM outbox_streams"

static const struct {
	const char	*row;		/* claim_token, "dead" or no row */
	const char	*event, *message;	/* bodies; NULL: none */
	int		 oldest;	/* event number beside it; 0: none */
	bool		 phantom, found;
} tails[] = {		/* of number 50 */
	{ NULL, NULL, "a", 9, true, false },
	{ NULL, NULL, "a", 49, true, false },
	{ NULL, NULL, "a", 51, false, false },		/* archived */
	{ NULL, NULL, "a", 0, false, false },		/* emptied */
	{ "dead", NULL, "a", 9, false, false },
	{ "NULL", NULL, "a", 9, false, false },		/* archived */
	{ NULL, "b", "a", 9, true, false },
	{ NULL, "a", "a", 9, false, false },
	{ "NULL", "b", "a", 9, true, false },
	{ "NULL", "a", "a", 9, false, true },
	{ "'0000000000000077-1'", "a", "a", 9, false, false },
};

START_TEST(tail_is_held_against_events)
{
	char	want[64];

	know_tail(8);
	recover_database_opened(&rec, true);
	if (tails[_i].oldest != 0)
		add_event((uint64_t)tails[_i].oldest, "x");
	if (tails[_i].event != NULL)
		add_event(50, tails[_i].event);
	if (tails[_i].row != NULL)
		add_row(50, tails[_i].row);
	put_message(8, 49000, 1);	/* below: it was compared before */
	put_message(9, 50, hash_of(50, tails[_i].message));
	fake.row[10] = ALIEN;
	fake.state.last = 11;
	look_on();
	snprintf(want, sizeof(want), tails[_i].phantom ? "1 9 9 11" :
	    "0 NULL NULL 11");
	ck_assert_str_eq(sql_text(PHANTOMS), want);
	ck_assert((strstr(logged(), "1 messages in the stream have no event") !=
	    NULL) == tails[_i].phantom);
	ck_sql(tails[_i].found ? "9" : "NULL", "SELECT MAX(ack_sequence) "
	    "FROM outbox WHERE published_at IS NOT NULL AND "
	    "message_hash IS NOT NULL");
	/* Once. */
	recover_database_opened(&rec, true);
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), want);
}
END_TEST

/* The hash of a delivered row tells without its event, which is another. */
START_TEST(delivered_rows_tell_without_their_events)
{
	know_tail(0);
	recover_database_opened(&rec, true);
	deliver(1, 3, "'p00'", 1);
	for (uint64_t i = 1; i <= 3; i++) {
		add_event(i, "other");
		fake.hash[i] = 100 + i;
	}
	sql("UPDATE outbox SET message_hash = 100 + global_sequence "
	    "WHERE global_sequence < 3");
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "1 3 3 3");
}
END_TEST

/* A replay that the database knows nothing of, and the one it waits for. */
START_TEST(replay_that_is_there_is_delivered)
{
	know_tail(0);
	recover_database_opened(&rec, true);
	add_event(1, "a");
	add_row(1, "NULL");
	sql("UPDATE outbox SET replay_no = 2");
	for (uint64_t at = 1; at <= 3; at++) {
		put_message(at, 1, hash_of(1, "a"));
		fake.replay[at] = (unsigned)at;
	}
	look_on();
	ck_sql("2 2", "SELECT ack_sequence, replay_no FROM outbox "
	    "WHERE published_at IS NOT NULL");
	ck_assert_str_eq(sql_text(PHANTOMS), "0 NULL NULL 3");
}
END_TEST

/* Ids of before the hash had 16 digits. */
START_TEST(numbers_have_to_do_for_old_ids)
{
	know_tail(0);
	recover_database_opened(&rec, true);
	add_event(1, "a");
	add_event(2, "a");
	add_row(1, "NULL");
	put_message(1, 1, 0);
	put_message(2, 3, 0);
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "1 2 2 2");
	ck_sql("1", WAITING);
}
END_TEST

/* Many, some of them large: the payloads do not come all at once. */
START_TEST(long_tail_is_compared)
{
	know_tail(0);
	recover_database_opened(&rec, true);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data, occurred_at) SELECT n, CONCAT('k', n), 1, "
	    "'t', IF(n %% 500 = 0, REPEAT('x', 5000000), 'a'), '" EVENT_TIME
	    "' FROM (SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n "
	    "FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c") ", "
	    "(SELECT 0 AS n UNION ALL SELECT 1) AS d) AS numbers");
	sql("INSERT INTO outbox (global_sequence, partition_key) "
	    "SELECT sequence, 'p00' FROM events");
	for (uint64_t i = 1; i <= 2000; i++)
		put_message(i, i, hash_of(i, "a"));
	fake.row[1500] = 1501;		/* twice in the stream */
	fake.hash[1500] = hash_of(1501, "a");
	look_on();
	/* 500, 1000 and 2000 have another body. */
	ck_assert_str_eq(sql_text(PHANTOMS), "3 500 2000 2000");
	ck_sql("4", "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL");
	ck_sql("1500", "SELECT ack_sequence FROM outbox "
	    "WHERE global_sequence = 1501");
}
END_TEST

/* When it is compared, and when not: a phantom stands behind the tail. */
static const struct {
	const char	*change;
	bool		 first_start, compared;
} occasions[] = {
	{ "DO 0", false, false },
	{ "DO 0", true, true },
	{ "UPDATE outbox_streams SET database_server = 'another'", false,
	  true },
	{ "UPDATE outbox_streams SET database_server = NULL", false, true },
	{ "UPDATE outbox_streams SET database_started = "
	  "database_started + INTERVAL 4 SECOND", false, false },
	{ "UPDATE outbox_streams SET database_started = "
	  "database_started - INTERVAL 8 SECOND", false, true },
	/* Without a tail nobody knows where to begin. */
	{ "UPDATE outbox_streams SET tail_sequence = NULL", true, false },
	/* In another stream its numbers mean nothing. */
	{ "UPDATE outbox_streams SET created = 'then'", true, false },
};

START_TEST(tail_is_compared_when_the_database_may_be_another)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	sql("%s", occasions[_i].change);
	recover_database_opened(&rec, occasions[_i].first_start);
	look_on();
	ck_sql(occasions[_i].compared ? "1" : "0",
	    "SELECT phantoms FROM outbox_streams");
	/* Then it is known. */
	rec.again_at = 0;
	put_message(2, 51, 1);
	sql("UPDATE outbox_streams SET phantoms = 0, tail_sequence = 1");
	recover_database_opened(&rec, false);
	look_on();
	ck_sql("0 2", "SELECT phantoms, tail_sequence FROM outbox_streams");
}
END_TEST

/* The first connection may be lost before anything was looked at. */
START_TEST(first_start_outlives_its_connection)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	recover_database_opened(&rec, true);
	recover_database_opened(&rec, false);
	look_on();
	ck_sql("1", "SELECT phantoms FROM outbox_streams");
}
END_TEST

/*
 * A worker may still send what it claimed on the former server: the tail stays
 * until its claims are over, and is compared once more then.  So does whoever
 * comes to the new server later, or becomes the first of the fleet.
 */
START_TEST(tail_is_compared_again_when_claims_are_over)
{
	know_tail(0);
	add_event(1, "x");
	recover_database_opened(&rec, false);
	look_on();
	ck_assert_int_eq(rec.again_at, 0);
	if (_i == 0)
		sql("UPDATE outbox_streams SET database_server = 'another'");
	else
		strlcpy(rec.server.identity, "former",
		    sizeof(rec.server.identity));
	recover_database_opened(&rec, false);
	look_on();
	ck_near(rec.again_at - clock_ms(), conf->worker.claim_ttl - 10000,
	    conf->worker.claim_ttl);
	put_message(1, 50, 1);
	rec.at = 0;
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "0 NULL NULL 0");
	rec.again_at = clock_ms();
	rec.at = 0;
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "1 1 1 1");
	ck_assert_int_eq(rec.again_at, 0);
}
END_TEST

/* The broker goes in the second slice: the first is not read again. */
static void
go_after_one(void)
{
	fake.closed = fake.nplaces >= 1000;
}

START_TEST(slices_of_a_tail_are_kept)
{
	know_tail(0);
	add_event(1, "x");
	for (uint64_t i = 1; i <= 1500; i++)
		put_message(i, 5000 + i, 1);
	recover_database_opened(&rec, true);
	fake.during = go_after_one;
	for (int64_t until = patience(); !fake.closed; rec.at = 0) {
		ck_ok(recover_round(&rec, true, &e));
		wait_more(&until, "the broker to go");
	}
	ck_assert_str_eq(sql_text(PHANTOMS), "1000 1 1000 1000");
	ck_has(logged(), "1000 messages in the stream have no event");
	fake.closed = false;
	fake.during = NULL;
	fake.nplaces = 0;
	rec.at = 0;
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "1500 1 1500 1500");
	ck_assert_uint_le(fake.nplaces, 501);
}
END_TEST

/* A dump that is loaded into a running server: what was known is not. */
START_TEST(tail_that_goes_back_is_noticed)
{
	know_tail(0);
	recover_database_opened(&rec, false);
	look_on();
	add_event(1, "x");
	put_message(1, 50, 1);
	sql("UPDATE outbox_streams SET tail_at = tail_at - INTERVAL 1 MINUTE");
	rec.at = 0;
	look_on();
	ck_sql("1", "SELECT phantoms FROM outbox_streams");
}
END_TEST

/* What somebody else compared since we connected need not be read again. */
START_TEST(comparison_of_another_worker_will_do)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	fake.mute = fake.silent = true;
	recover_database_opened(&rec, true);
	ck_ok(recover_round(&rec, true, &e));
	fake.mute = false;
	sql("UPDATE outbox_streams SET checker = '" OTHER "', "
	    "checker_until = NOW(6) + INTERVAL 10 SECOND; "
	    "INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('" OTHER
	    "', NOW(6) + INTERVAL 10 SECOND)");
	rec.at = 0;
	ck_assert(!look());
	ck_assert_uint_eq(fake.nplaces, 0);
	sql("UPDATE outbox_streams SET checker = NULL, tail_sequence = 1, "
	    "tail_at = NOW(6)");
	rec.at = 0;
	ck_assert(look());
	ck_sql("0", "SELECT phantoms FROM outbox_streams");
}
END_TEST

/* A broker that goes in the middle: nothing is written down, and again. */
START_TEST(broken_comparison_is_made_again)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	recover_database_opened(&rec, true);
	kept = KEEP_FINISH;
	ck_assert(!look());
	ck_assert_str_eq(sql_text(PHANTOMS), "0 NULL NULL 0");
	kept = KEEP_ON;
	rec.at = 0;
	look_on();
	ck_assert_str_eq(sql_text(PHANTOMS), "1 1 1 1");
}
END_TEST

/* A dump that is younger than the tail: our latest message is not known. */
START_TEST(latest_message_that_is_not_known_is_noticed)
{
	know_tail(0);
	recover_database_opened(&rec, false);
	look_on();
	add_event(1, "x");
	put_message(1, 50, 1);
	deliver(2, 2, "'p00'", 1);
	/* What was compared since we connected does not count. */
	sql("UPDATE outbox_streams SET tail_sequence = 0, tail_at = NOW(6)");
	relay.top = (struct acked){ { .sequence = _i == 0 ? 50 : 2 },
	    _i == 0 ? 1 : 2 };
	rec.at = 0;
	look_on();
	ck_sql(_i == 0 ? "1 2" : "0 2",
	    "SELECT phantoms, tail_sequence FROM outbox_streams");
	/* Once. */
	fake.nplaces = 0;
	rec.at = 0;
	look_on();
	ck_assert_uint_le(fake.nplaces, 1);
}
END_TEST

/* Columns that an older schema lacks. */
START_TEST(comparison_needs_its_columns)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	sql("ALTER TABLE outbox_streams DROP COLUMN phantom_at");
	ck_ok(store_learn(st, &e));
	ck_has(logged(), "outboxctl schema upgrade");
	recover_database_opened(&rec, true);
	look_on();
	sql("ALTER TABLE outbox_streams ADD COLUMN phantom_at TIMESTAMP(6) "
	    "NULL DEFAULT NULL");
	ck_sql("0", "SELECT phantoms FROM outbox_streams");
}
END_TEST

/*
 * A store that lost its beginning looks as if a limit had cut it; without a
 * limit it is a loss, however old.
 */
static const struct {
	uint64_t	first_known;
	bool		limited, empty;
	const char	*waiting;
} beginnings[] = {
	{ 1, false, false, "1,2,3" }, { 3, false, false, "3" },
	{ 1, true, false, "NULL" }, { 0, false, false, "NULL" },
	{ 4, false, false, "NULL" }, { 1, false, true, "NULL" },
};

START_TEST(lost_beginning_is_sent_again)
{
	deliver(1, 6, "'p00'", 3600);
	know("S0", 5);
	sql("UPDATE outbox_streams SET first_sequence = NULLIF(%llu, 0)",
	    (unsigned long long)beginnings[_i].first_known);
	forget(1, beginnings[_i].empty ? 6 : 3);
	fake.state.first = beginnings[_i].empty ? 7 : 4;
	if (beginnings[_i].empty)
		fake.state.messages = 0;
	fake.state.limited = beginnings[_i].limited;
	look_on();
	ck_sql(beginnings[_i].waiting, WAITING);
}
END_TEST

/* The database may have come with it: then the events are compared first. */
START_TEST(comparison_does_not_hide_a_lost_beginning)
{
	deliver(1, 6, "'p00'", 3600);
	know_tail(6);
	sql("UPDATE outbox_streams SET servers = 'S0'");
	forget(1, 3);
	fake.state.first = 4;
	recover_database_opened(&rec, true);
	kept = KEEP_FINISH;
	ck_assert(!look());
	kept = KEEP_ON;
	rec.at = 0;
	look_on();
	ck_sql("1,2,3", WAITING);
}
END_TEST

/*
 * What the database refuses of one row
 */

static void
obstruct(uint64_t sequence)
{
	sql("CREATE TRIGGER obstacle BEFORE UPDATE ON outbox FOR EACH ROW "
	    "IF NEW.global_sequence = %llu THEN SIGNAL SQLSTATE '45000' "
	    "SET MESSAGE_TEXT = 'not this one'; END IF",
	    (unsigned long long)sequence);
}

START_TEST(row_that_cannot_be_found_holds_up_no_other)
{
	know_tail(0);
	recover_database_opened(&rec, true);
	for (uint64_t i = 1; i <= 5; i++) {
		add_event(i, "a");
		add_row(i, "NULL");
		put_message(i, i, hash_of(i, "a"));
	}
	obstruct(4);
	look_on();
	sql("DROP TRIGGER obstacle");
	ck_sql("4", WAITING);
	ck_has(logged(), "sequence 4 cannot be marked as delivered");
	ck_has(logged(), "4 rows that wait are in the stream");
}
END_TEST

START_TEST(row_that_cannot_be_reset_holds_up_no_other)
{
	know("S0", 5);
	deliver(1, 5, "'p00'", 1);
	forget(1, 5);
	obstruct(2);
	look_on();
	sql("DROP TRIGGER obstacle");
	ck_sql("1,3,4,5", WAITING);
	ck_has(logged(), "sequence 2 is lost and cannot be sent again");
	ck_has(logged(), "lost 5 acknowledged messages, sequences 1 to 5 of "
	    "the stream: 4 are sent again");
}
END_TEST

/*
 * Looking before sending again
 */

#define TOKEN	"00000000000000a1-7"

static struct doubt	doubt;
static struct batch	batch;

static void
fetch(uint64_t first, uint64_t last)
{
	uint64_t	sequences[64];
	size_t		n = 0;

	for (uint64_t i = first; i <= last; i++)
		sequences[n++] = i;
	strlcpy(batch.token, TOKEN, sizeof(batch.token));
	ck_ok(store_fetch(st, sequences, n, SIZE_MAX, &batch, &e));
	ck_assert_uint_eq(batch.n, n);
	batch.claimed_at = clock_ms();
}

/* Rows of a batch of ours, unsure for so many seconds; -1: not at all. */
static void
take(uint64_t first, uint64_t last, int unsure_s)
{
	for (uint64_t i = first; i <= last; i++)
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "claim_token, unsure_since) VALUES (%llu, 'p00', '" TOKEN
		    "', IF(%d < 0, NULL, NOW(6) - INTERVAL %d SECOND))",
		    (unsigned long long)i, unsure_s, unsure_s);
	fetch(first, last);
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

/*
 * A database that went back gave numbers again: the messages under 1000 and
 * 1001 are those of events that do not exist any more.
 */
START_TEST(another_event_of_the_same_number_is_not_found)
{
	struct message_id	id;

	take(1000, 1002, 100);
	for (size_t i = 0; i < 3; i++)
		batch.msgs[i].has_event = true;
	fake.row[500] = 1000;
	fake.hash[500] = 77;
	fake.row[600] = 1001;	/* of before the hash had 16 digits */
	id = msg_id(&batch.msgs[2]);
	fake.row[700] = 1002;
	fake.hash[700] = id.hash;
	ck_assert_str_eq(resolve(), "UUD");
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

/*
 * Delivered after the claim in doubt, in the same second, as tables have it
 * that keep no fractions.
 */
START_TEST(moments_may_be_whole_seconds)
{
	sql("SET @t = FROM_UNIXTIME(UNIX_TIMESTAMP() - 100); "
	    "UPDATE outbox SET published_at = @t WHERE ack_sequence = 400");
	take(1000, 1000, 100);
	sql("UPDATE outbox SET unsure_since = @t + INTERVAL 500000 MICROSECOND "
	    "WHERE global_sequence = 1000");
	fake.row[350] = 1000;
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 350);
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

/*
 * A moment that is still to come, for the clock was put back, says nothing of
 * how long ago it was.  So they are in doubt since ever, from now on: when the
 * moment has come it says no more than that.
 */
static void
take_from_the_future(uint64_t first, uint64_t last)
{
	take(first, last, 0);
	batch_free(&batch);
	sql("UPDATE outbox SET unsure_since = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE claim_token IS NOT NULL");
	fetch(first, last);
}

START_TEST(doubts_to_come_are_looked_for_everywhere)
{
	take_from_the_future(1000, 1002);
	fake.row[50] = 1000;	/* delivered before it, as it seems */
	batch.msgs[2].held = true;
	ck_assert_str_eq(resolve(), "DUU");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 50);
	ck_assert_uint_eq(fake.nplaces, 900);
	ck_sql("1000 1970\n1001 NULL\n1002 1970", "SELECT global_sequence, "
	    "YEAR(unsure_since) FROM outbox WHERE claim_token IS NOT NULL");
}
END_TEST

START_TEST(doubts_to_come_do_not_hide_others)
{
	take(1000, 1000, 100);
	batch_free(&batch);
	take_from_the_future(1001, 1001);
	batch_free(&batch);
	sql("UPDATE outbox SET unsure_since = NOW(6) - INTERVAL 100 SECOND "
	    "WHERE global_sequence = 1000");
	fetch(1000, 1001);
	fake.row[50] = 1001;
	ck_assert_str_eq(resolve(), "UD");
}
END_TEST

/* What was read before the moment was written is of no use. */
START_TEST(doubt_to_come_is_looked_for_anew)
{
	begin_to_look();
	fake.row[500] = 1000;
	doubt.search.next = fake.state.last + 1;	/* past that */
	batch_free(&batch);
	sql("UPDATE outbox SET unsure_since = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE claim_token IS NOT NULL");
	fetch(1000, 1000);
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

/* But what was read since then is. */
START_TEST(doubt_to_come_takes_many_turns)
{
	int	turns = 0;

	take_from_the_future(1000, 1000);
	fake.row[850] = 1000;
	fake.during = be_slow;
	for (;;) {
		batch.claimed_at = clock_ms() - (conf->worker.claim_ttl -
		    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS - 30);
		if (strcmp(resolve(), "D") == 0)
			break;
		ck_assert_int_lt(turns++, 50);
		batch_free(&batch);
		fetch(1000, 1000);
	}
	ck_assert_int_gt(turns, 1);
	ck_assert_uint_eq(fake.nplaces, 900);
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
	tcase_add_test(tc, place_of_another_event_is_a_lost_message);
	tcase_add_loop_test(tc, tail_is_held_against_events, 0, NROWS(tails));
	tcase_add_test(tc, delivered_rows_tell_without_their_events);
	tcase_add_test(tc, replay_that_is_there_is_delivered);
	tcase_add_test(tc, numbers_have_to_do_for_old_ids);
	tcase_add_test(tc, long_tail_is_compared);
	tcase_add_loop_test(tc, tail_is_compared_when_the_database_may_be_another,
	    0, NROWS(occasions));
	tcase_add_test(tc, first_start_outlives_its_connection);
	tcase_add_loop_test(tc, tail_is_compared_again_when_claims_are_over, 0,
	    2);
	tcase_add_test(tc, slices_of_a_tail_are_kept);
	tcase_add_test(tc, tail_that_goes_back_is_noticed);
	tcase_add_test(tc, comparison_does_not_hide_a_lost_beginning);
	tcase_add_test(tc, row_that_cannot_be_found_holds_up_no_other);
	tcase_add_test(tc, row_that_cannot_be_reset_holds_up_no_other);
	tcase_add_test(tc, comparison_of_another_worker_will_do);
	tcase_add_test(tc, broken_comparison_is_made_again);
	tcase_add_loop_test(tc, latest_message_that_is_not_known_is_noticed, 0,
	    2);
	tcase_add_test(tc, comparison_needs_its_columns);
	tcase_add_loop_test(tc, lost_beginning_is_sent_again, 0,
	    NROWS(beginnings));
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
	tcase_add_test(tc, another_event_of_the_same_number_is_not_found);
	tcase_add_test(tc, replay_is_not_found_by_its_first_message);
	tcase_add_test(tc, replay_is_looked_for_anew);
	tcase_add_loop_test(tc, only_old_doubts_are_looked_for, 0,
	    NROWS(ages));
	tcase_add_test(tc, found_and_absent_are_told_apart);
	tcase_add_loop_test(tc, absent_rows_under_a_mark_are_unsure_anew, 0, 2);
	tcase_add_loop_test(tc, all_is_read_where_nothing_is_known, 0, 2);
	tcase_add_test(tc, moments_may_be_whole_seconds);
	tcase_add_test(tc, long_look_takes_many_turns);
	tcase_add_test(tc, older_doubt_reaches_farther_back);
	tcase_add_test(tc, younger_doubt_is_looked_for_anew);
	tcase_add_test(tc, doubts_to_come_are_looked_for_everywhere);
	tcase_add_test(tc, doubts_to_come_do_not_hide_others);
	tcase_add_test(tc, doubt_to_come_is_looked_for_anew);
	tcase_add_test(tc, doubt_to_come_takes_many_turns);
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
