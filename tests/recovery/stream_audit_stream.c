/*
 * stream_audit_stream.c - a stream is held against the rows that were delivered
 */

#include "recovery/stream_audit_test.h"

#define EPOCHS	"SELECT GROUP_CONCAT(lease_epoch ORDER BY partition_key) " \
		"FROM outbox_partitions"

/*
 * Starts of the server
 */

/* The stream was checked, and then rows 1 to last were delivered. */
static void
delivered_before(const char *server_name, uint64_t last)
{
	know(server_name, 20);
	deliver(1, last, "'p00'", 10);
}

/* Messages may flow after a look, and these rows are sent again. */
static void
ck_waiting(const char *rows)
{
	ck_assert(look());
	ck_sql(rows, WAITING);
}

static void
look_once_more(void)
{
	rec.at = 0;
	ck_assert(look());
}

/* The stream is another one now. */
static void
set_created(void)
{
	strlcpy(fake.state.created, "2026-02-01T00:00:00Z",
	    sizeof(fake.state.created));
}

START_TEST(first_look_makes_the_stream_known)
{
	deliver(1, 3, "'p00'", 60);	/* before: not expected anywhere */
	fake.state.last = 0;
	ck_assert(!stream_audit_is_ready(&rec));
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
	ck_assert_int_gt(stream_audit_next(&rec, true), clock_ms() + 5000);
	ck_assert_int_eq(stream_audit_next(&rec, false), INT64_MAX);
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
	deliver_elsewhere(101, 300, 20);
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 9);
	ck_has(logged(), "9 messages were checked, none is lost");
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
	ck_sql("NULL", WAITING);
	ck_sql("5,5,5", EPOCHS);
	ck_assert_uint_gt(nkept, 0);
}
END_TEST

/*
 * Another server of a cluster is no restart, if the stream is as it was: the
 * latest message is looked up, and the scrub reads all.
 */
static const struct {
	const char	*what;
	uint64_t	 nplaces;	/* looked up before messages flow */
	const char	*waiting;
} changes[] = {
	{ "none", 1, "NULL" },
	{ "leader", 1, "NULL" },
	{ "gaps", 9 + 1, "5" },
	{ "end", 1 + 9 + 8, "9" },
	{ "hole at the end", 2 + 9 + 1, "9" },
	{ "beginning", 8, "1" },
	{ "one server", 9, "NULL" },
};

START_TEST(another_server_is_no_restart)
{
	const char	*what = changes[_i].what;

	know("S9", 20);
	sql("UPDATE outbox_streams SET gaps = 0, damage = 0, leader = 'n1', "
	    "first_sequence = 1");
	deliver(1, 9, "'p00'", 10);
	strlcpy(fake.state.leader, strcmp(what, "leader") == 0 ? "n2" : "n1",
	    sizeof(fake.state.leader));
	fake.state.replicated = strcmp(what, "one server") != 0;
	if (strcmp(what, "gaps") == 0) {
		forget(5, 5);
		fake.state.gaps = 1;
	} else if (strcmp(what, "end") == 0)
		fake.state.last = 8;
	else if (strcmp(what, "hole at the end") == 0)
		forget(9, 9);
	else if (strcmp(what, "beginning") == 0) {
		forget(1, 1);
		fake.state.first = 2;
	}
	ck_waiting(changes[_i].waiting);
	ck_assert_uint_eq(fake.nplaces, changes[_i].nplaces);
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
	ck_sql("1", "SELECT suspicion IN ('" STORE_CHANGE "', '" STORE_LOST "') "
	    "FROM outbox_streams");
}
END_TEST

/* A replica has the same messages at other places, but for one. */
START_TEST(what_has_moved_is_not_lost)
{
	know("S9", 20);
	deliver(1, 9, "'p00'", 10);
	fake.state.replicated = _i == 0;
	for (uint64_t i = 4; i < 9; i++)
		fake.row[i] = i + 1;
	fake.row[9] = 0;
	fake.state.last = 8;
	if (_i > 0) {
		ck_waiting("4,5,6,7,8,9");
		return;
	}
	ck_waiting("4");
	ck_sql("1,2,3,4,5,6,7,8", "SELECT GROUP_CONCAT(ack_sequence ORDER BY "
	    "global_sequence) FROM outbox WHERE published_at IS NOT NULL");
	ck_has(logged(), "5 messages are at other sequences");
	ck_has(logged(), "lost 1 acknowledged messages");
}
END_TEST

/*
 * A leader that stood still keeps what others have stored again since, far
 * behind, in the place of another message.
 */
START_TEST(what_has_moved_far_is_not_lost)
{
	know("S9", 20);
	deliver(1, 1200, "'p00'", 10);
	fake.state.replicated = true;
	fake.row[4] = 1190;
	for (uint64_t i = 1190; i < 1200; i++)
		fake.row[i] = i + 1;
	fake.row[1200] = 0;
	fake.state.last = 1199;
	ck_waiting("4");
	ck_sql("4 1190 1199", "SELECT (SELECT ack_sequence FROM outbox WHERE "
	    "global_sequence = 1190), (SELECT ack_sequence FROM outbox WHERE "
	    "global_sequence = 1191), (SELECT ack_sequence FROM outbox WHERE "
	    "global_sequence = 1200)");
	ck_has(logged(), "11 messages are at other sequences");
}
END_TEST

START_TEST(lost_rows_wait_again)
{
	delivered_before("S9", 4);
	deliver(5, 6, "'p01'", 9);
	deliver(7, 7, "NULL", 9);
	deliver(8, 8, "'p01'", 8);
	sql("UPDATE outbox SET claim_token = 'x'");
	forget(3, 3);		/* a hole */
	fake.row[6] = ALIEN;	/* given away again */
	forget(7, 8);		/* the end */
	fake.state.last = 6;
	ck_waiting("3,6,7,8");
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
	delivered_before("S9", 2);
	deliver(3, 4, "'p01'", 9);
	fake.state.last = 3;
	ck_waiting("4");
	ck_sql("5,5,6", EPOCHS);
}
END_TEST

START_TEST(removed_rows_are_not_lost)
{
	delivered_before("S9", 9);
	forget(1, 4);
	fake.state.first = 5;
	if (_i == 1) {
		forget(7, 7);
		sequence_set_add(&fake.deleted, 7, 7);
		fake.state.gaps = fake.state.deleted = 1;
		fake.state.forgets = true;
	}
	ck_waiting("NULL");
	ck_has(logged(), "9 messages were checked, none is lost");
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
	delivered_before("S9", 9);
	forget(1, 4);
	fake.state.first = 2;
	fake.during = limit;
	ck_waiting("NULL");
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
	ck_assert_uint_eq(fake.nplaces, 4000 + 1103);	/* holes: twice */
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
	delivered_before("S9", 3);
	fake.state.last = 1;
	fake.during = move_row;
	ck_waiting("3");
}
END_TEST

/* Nothing is left of the doubtful time: what is older may be gone as well. */
START_TEST(far_jump_back_reads_everything)
{
	know("S9", 20);
	deliver(1, 5, "'p00'", 4000);
	deliver(6, 8, "'p00'", 10);
	fake.state.last = 3;
	ck_waiting("4,5,6,7,8");
}
END_TEST

/* One row is lost, and it is the only one in doubt. */
START_TEST(near_jump_back_does_not_read_everything)
{
	know("S9", 20);
	deliver(1, 100, "'p00'", 4000);
	deliver(101, 101, "'p00'", 10);
	fake.state.last = 100;
	ck_waiting("101");
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

/* Another worker lives, and has begun a check. */
static void
check_of_other(int seconds)
{
	sql("INSERT INTO outbox_workers (id, heartbeat_until) VALUES ('" OTHER
	    "', NOW(6) + INTERVAL 9 SECOND)");
	checker(OTHER, seconds);
}

START_TEST(others_wait_for_the_one)
{
	delivered_before("S9", 3);
	check_of_other(10);
	ck_assert(!look());
	ck_assert_uint_eq(fake.nplaces, 0);
	ck_assert_int_le(stream_audit_next(&rec, false), clock_ms() + 500);
	/* It has done it. */
	sql("UPDATE outbox_streams SET servers = 'S1', checker = NULL");
	look_once_more();
	ck_assert_uint_eq(fake.nplaces, 1);
}
END_TEST

START_TEST(check_of_the_dead_is_taken_over)
{
	delivered_before("S9", 3);
	if (_i == 0)		/* nobody of that name: its successor is here */
		checker(DEAD, 10);
	else {
		check_of_other(-1);
	}
	ck_assert(look());
	ck_assert_uint_eq(fake.nplaces, 3);
}
END_TEST

/* Asked to leave: somebody else shall do it. */
START_TEST(check_is_broken_off)
{
	delivered_before("S9", 3);
	kept = KEEP_FINISH;
	ck_assert(!look());
	ck_sql("S9 NULL", "SELECT servers, checker FROM outbox_streams");
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(lost_connection_ends_the_check)
{
	delivered_before("S9", 3);
	fake.closed = true;
	ck_assert(!look());
	ck_assert_str_eq(logged(), "");
	fake.closed = false;
	stream_audit_connected(&rec);
	ck_assert(look());
}
END_TEST

START_TEST(forbidden_look_is_a_warning)
{
	delivered_before("S9", 3);
	fake.mute = true;
	ck_assert(!look());		/* it may have no leader yet */
	rec.at = 0;
	ck_assert(!look());
	rec.at = 0;
	ck_assert_str_eq(logged(), "");
	ck_assert(look());		/* messages flow */
	ck_has(logged(), "STREAM.MSG.GET.EVENTS");
	servers_write("log", "");
	look_once_more();
	ck_assert_str_eq(logged(), "");	/* once is enough */
	fake.mute = false;
	look_once_more();
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
	delivered_before("S1", 9);
	ck_assert(look());
	fake.state.last = 6;
	if (_i == 1)
		fake.row[9] = ALIEN, fake.state.last = 20;
	rec.at = 0;
	ck_waiting(_i == 1 ? "9" : "7,8,9");
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
	ck_waiting(report ? "NULL" : "7,8,9");
	ck_assert((rec.alarm.text[0] != '\0') == report);
	/* And it is not missed again. */
	fake.nplaces = 0;
	look_once_more();
	ck_assert_uint_le(fake.nplaces, 1);
}
END_TEST

START_TEST(jump_back_is_found_by_an_ack)
{
	delivered_before("S1", 9);
	ck_assert(look());
	fake.state.last = 7;
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
	ck_assert(relay.watch);
	relay.went_back = true;
	ck_assert(!stream_audit_is_ready(&rec));
	ck_assert_int_eq(stream_audit_next(&rec, false), 0);
	ck_ok(stream_audit_round(&rec, false, &e));
	ck_assert(stream_audit_is_ready(&rec));
	ck_sql("8,9", WAITING);
	ck_assert_uint_eq(relay.top.ack, 0);
}
END_TEST

/* It may take a while, and is not asked for without a pause. */
START_TEST(jump_back_waits_for_the_one)
{
	delivered_before("S1", 9);
	ck_assert(look());
	fake.state.last = 7;
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
	relay.went_back = true;
	check_of_other(10);
	ck_ok(stream_audit_round(&rec, false, &e));
	ck_assert(!stream_audit_is_ready(&rec));
	ck_assert_int_gt(stream_audit_next(&rec, false), clock_ms() + 50);
	checker("", -1);
	rec.at = 0;
	ck_ok(stream_audit_round(&rec, false, &e));
	ck_assert(stream_audit_is_ready(&rec));
	ck_sql("8,9", WAITING);
}
END_TEST

/* Deleted and made anew in the middle of it. */
static void
make_anew(void)
{
	set_created();
	fake.state.first = fake.state.last = 0;
}

START_TEST(stream_may_go_while_it_is_read)
{
	delivered_before("S9", 9);
	fake.during = make_anew;
	ck_assert(!look());
	ck_sql("NULL", WAITING);
	rec.at = 0;
	ck_waiting("NULL");
	ck_has(rec.alarm.text, "was created again");
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
	ck_waiting("2");
	ck_sql("NULL", "SELECT message_hash FROM outbox "
	    "WHERE global_sequence = 2");
}
END_TEST

/* The number of a row's replay is part of what is expected at its place. */
START_TEST(lost_replay_is_sent_again)
{
	delivered_before("S1", 9);
	sql("UPDATE outbox SET replay_no = 3 WHERE global_sequence IN (5, 8)");
	fake.replay[5] = 3;
	fake.replay[8] = 2;
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	stream_audit_connected(&rec);
	ck_waiting("8");
	ck_sql("3", "SELECT replay_no FROM outbox WHERE global_sequence = 8");
}
END_TEST

/* Another worker has dealt with it: its row is not delivered any more. */
START_TEST(what_others_found_is_not_read_again)
{
	delivered_before("S1", 9);
	fake.state.last = 7;
	sql("UPDATE outbox SET published_at = NULL, ack_sequence = NULL "
	    "WHERE global_sequence > 7");
	relay.top = (struct acked){ { .sequence = 9 }, 9 };
	ck_ok(stream_audit_round(&rec, false, &e));
	ck_assert(stream_audit_is_ready(&rec));
	ck_assert_uint_eq(fake.nplaces, 1);
	ck_assert_uint_eq(relay.top.ack, 0);
}
END_TEST

START_TEST(empty_stream_is_an_alarm)
{
	delivered_before("S1", 9);
	forget(1, 9);
	fake.state.first = 10;
	fake.state.messages = 0;
	fake.state.expires = _i == 1;
	fake.state.forgets = _i == 2;
	if (_i == 3)		/* the same after a start */
		strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	ck_waiting("NULL");
	ck_assert((strstr(logged(), "is empty") != NULL) ==
	    (_i == 0 || _i == 3));
	ck_assert((rec.alarm.text[0] != '\0') == (_i == 0 || _i == 3));
	servers_write("log", "");
	look_once_more();
	if (_i == 0)
		ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * Another Created
 */

START_TEST(stream_made_anew_is_an_alarm)
{
	delivered_before("S1", 60);
	set_created();
	memset(fake.row, 0, sizeof(fake.row));
	if (_i == 0) {
		fake.state.first = fake.state.last = 0;
	} else if (_i == 1) {	/* some of ours are in it already */
		sql("INSERT INTO outbox (global_sequence, published_at, "
		    "ack_sequence) VALUES (61, NOW(6), 1), (62, NOW(6), 2)");
		fake.row[1] = 61;
		fake.row[2] = 62;
		fake.state.last = 2;
	} else if (_i == 2) {	/* more went elsewhere, before and after */
		deliver_elsewhere(101, 300, 15);
		deliver_elsewhere(301, 500, 9);
		fake.state.first = fake.state.last = 0;
	} else {		/* others have filled it */
		for (int i = 1; i < 100; i++)
			fake.row[i] = ALIEN;
		fake.state.last = 99;
	}
	ck_assert(look());
	ck_has(rec.alarm.text, "was created again");
	ck_sql("NULL", WAITING);
	ck_sql("2026-02-01T00:00:00Z 1", "SELECT created, known_since > NOW(6) "
	    "- INTERVAL 9 SECOND FROM outbox_streams");
	/* Nor does the next start of the server miss what was before. */
	strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	stream_audit_connected(&rec);
	ck_waiting("NULL");
}
END_TEST

START_TEST(restored_backup_is_completed)
{
	know("S1", 20);
	deliver(1, 200, "'p00'", 4000);
	deliver(201, 210, "'p00'", 100);
	set_created();
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
	ck_has_not(logged(), "created again");
	ck_sql("2026-02-01T00:00:00Z", "SELECT created FROM outbox_streams");
}
END_TEST

/*
 * What went to another destination, before all others and since: no message of
 * it is missing, whatever is asked of it.
 */
START_TEST(rows_of_other_destinations_are_not_missed)
{
	know("S1", 20);
	deliver_elsewhere(301, 320, 5000);
	deliver(1, 60, "'p00'", 4000);
	if (_i > 0)
		deliver_elsewhere(321, 330, 9);
	if (_i < 2)		/* another Created of the same stream */
		set_created();
	else
		strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
	ck_assert(look());
	ck_sql("NULL", WAITING);
	ck_has_not(logged(), "created again");
	ck_has_not(logged(), "acknowledged messages");
	ck_assert_str_eq(rec.alarm.text, "");
}
END_TEST

/* Rows with other ids, or of another stream, cannot be told from lost ones. */
START_TEST(other_ids_are_not_lost)
{
	delivered_before("S1", 9);
	fake.state.last = 2;
	if (_i == 0)
		sql("UPDATE outbox_streams SET prefix = 'mall'");
	else
		sql("INSERT INTO outbox_streams (name, checked_at) "
		    "VALUES ('MORE', NOW(6))");
	ck_waiting("NULL");
	ck_sql("shop 1", "SELECT prefix, known_since > NOW(6) - INTERVAL 9 "
	    "SECOND FROM outbox_streams WHERE name = 'EVENTS'");
	ck_assert_str_eq(logged(), "");
}
END_TEST

/*
 * The configuration, and tables of somebody else
 */

#define LOSS "SELECT lost, lost_first, lost_last, " \
	"lost_at > NOW(6) - INTERVAL 1 MINUTE FROM outbox_streams"

START_TEST(report_sends_nothing)
{
	again_with("recover: report");
	delivered_before("S9", 9);
	fake.state.last = 6;
	ck_waiting("NULL");
	ck_has(rec.alarm.text, "lost 3 acknowledged");
	ck_sql("S1,S9", "SELECT servers FROM outbox_streams");
	ck_assert_uint_eq(rec.recovered, 0);
	ck_sql("3 7 9 1", LOSS);
	/* Told once is enough. */
	rec.alarm.text[0] = '\0';
	look_once_more();
	ck_assert_str_eq(rec.alarm.text, "");
	ck_sql("3 7 9 1", LOSS);
}
END_TEST

static const char *const	offs[] = {
	"recover: off", "stream: \"\"",
};

START_TEST(nothing_is_looked_at)
{
	again_with(offs[_i]);
	delivered_before("S9", 9);
	fake.state.last = 6;
	fake.mute = true;
	relay.went_back = true;
	ck_assert(stream_audit_is_ready(&rec));
	ck_assert_int_eq(stream_audit_next(&rec, true), INT64_MAX);
	ck_assert(look());
	ck_assert(!relay.watch);
	ck_sql("NULL", WAITING);
}
END_TEST

START_TEST(refill_takes_all_that_is_not_there)
{
	struct stream_audit_rows	w = { .absent = true,
					    .unknown_below = UINT64_MAX,
					    .dry = _i == 0 };
	char				until[STORE_TIME];
	struct store_period		all = { "1970-01-01 00:00:01.000000",
					    until };

	deliver(1, 9, "'p00'", 90000);
	sql("UPDATE outbox SET ack_sequence = NULL WHERE global_sequence = 6");
	forget(1, 4);
	fake.state.first = 3;
	ck_ok(store_now(st, until, &e));
	ck_assert_int_eq(stream_audit_rows(&rec, &w, &all, &e), AUDIT_DONE);
	ck_assert_uint_eq(w.there, 4);
	ck_assert_uint_eq(w.lost, 5);
	ck_sql(_i == 0 ? "NULL" : "1,2,3,4,6", WAITING);
	ck_assert_uint_eq(w.reset, _i == 0 ? 0 : 5);
}
END_TEST

void
add_streams(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "stream", k, k->start, recover_begin,
		    end_store);

	tcase_add_test(tc, first_look_makes_the_stream_known);
	tcase_add_test(tc, known_start_is_one_question);
	tcase_add_test(tc, new_start_reads_what_is_in_doubt);
	tcase_add_loop_test(tc, another_server_is_no_restart, 0,
	    NROWS(changes));
	tcase_add_loop_test(tc, what_has_moved_is_not_lost, 0, 2);
	tcase_add_test(tc, what_has_moved_far_is_not_lost);
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
	tcase_add_test(tc, lost_replay_is_sent_again);
	tcase_add_test(tc, what_others_found_is_not_read_again);
	tcase_add_loop_test(tc, empty_stream_is_an_alarm, 0, 4);
	tcase_add_loop_test(tc, stream_made_anew_is_an_alarm, 0, 4);
	tcase_add_loop_test(tc, restored_backup_is_completed, 0, 2);
	tcase_add_loop_test(tc, rows_of_other_destinations_are_not_missed, 0,
	    3);
	tcase_add_loop_test(tc, other_ids_are_not_lost, 0, 2);
	tcase_add_test(tc, report_sends_nothing);
	tcase_add_loop_test(tc, nothing_is_looked_at, 0, NROWS(offs));
	tcase_add_loop_test(tc, refill_takes_all_that_is_not_there, 0, 2);
}
