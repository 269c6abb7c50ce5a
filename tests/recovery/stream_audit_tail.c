/*
 * stream_audit_tail.c - the end of a stream is held against a database that may
 * have gone back
 */
#include "recovery/stream_audit_test.h"

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

/* Look until messages may flow. */
static void
look_on(void)
{
	for (int64_t until = patience(); !look(); )
		wait_more(&until, "the stream to be looked at");
}

static void
look_again(void)
{
	rec.at = 0;
	look_on();
}

/* A new connection to the database, and a look. */
static void
look_at_tail(bool first_start)
{
	stream_audit_database_opened(&rec, first_start);
	look_on();
}

/* Nothing was compared yet, and no worker watched the database before. */
static void
open_tail(void)
{
	know_tail(0);
	stream_audit_database_opened(&rec, true);
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
	stream_audit_database_opened(&rec, true);
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
	look_at_tail(true);
	ck_assert_str_eq(sql_text(PHANTOMS), want);
}
END_TEST

/* The hash of a delivered row tells without its event, which is another. */
START_TEST(delivered_rows_tell_without_their_events)
{
	open_tail();
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
	open_tail();
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
	open_tail();
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
	open_tail();
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

/* The catalogue has whole seconds: the table is older than the tail for sure. */
static void
let_table_age(void)
{
	for (int64_t until = patience(); strcmp(sql_text("SELECT create_time < "
	    "NOW() - INTERVAL 3 SECOND FROM information_schema.tables WHERE "
	    "table_schema = DATABASE() AND table_name = 'outbox'"), "1") != 0; )
		wait_more(&until, "the table to be older");
}

START_TEST(tail_is_compared_when_the_database_may_be_another)
{
	if (!occasions[_i].compared)
		let_table_age();
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	sql("%s", occasions[_i].change);
	stream_audit_database_opened(&rec, occasions[_i].first_start);
	look_on();
	ck_sql(occasions[_i].compared ? "1" : "0",
	    "SELECT phantoms FROM outbox_streams");
	/* Then it is known. */
	rec.again_at = 0;
	put_message(2, 51, 1);
	sql("UPDATE outbox_streams SET phantoms = 0, tail_sequence = 1");
	look_at_tail(false);
	ck_sql("0 2", "SELECT phantoms, tail_sequence FROM outbox_streams");
}
END_TEST

/* The first connection may be lost before anything was looked at. */
START_TEST(first_start_outlives_its_connection)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	stream_audit_database_opened(&rec, true);
	look_at_tail(false);
	ck_sql("1", "SELECT phantoms FROM outbox_streams");
}
END_TEST

/*
 * This host is left for another one if it lacks the event of the newest message,
 * and of that alone; whatever follows from another outbox does not count.
 */
START_TEST(newest_message_tells_who_is_behind)
{
	bool	behind = _i == 0;

	open_tail();
	add_event(1, "a");
	put_message(behind ? 2 : 1, 1, hash_of(1, "a"));
	put_message(behind ? 1 : 2, 50, 1);
	if (!behind)
		put_message(3, 1, hash_of(1, "a"));
	else
		put_message(3, 51, 1);
	fake.row[4] = ALIEN;
	fake.state.last = 4;
	rec.may_leave = true;
	ck_assert_int_eq(stream_audit_round(&rec, true, &e), behind ? -1 : 0);
	ck_assert(rec.behind == behind);
	if (behind) {
		ck_has(e.text, "lacks the event of message 3");
		ck_sql("0 0 NULL", "SELECT phantoms, tail_sequence, checker "
		    "FROM outbox_streams");
		/* There is no other one. */
		rec.may_leave = rec.behind = false;
		stream_audit_database_opened(&rec, false);
	}
	look_on();
	ck_assert(!rec.behind);
	ck_sql(behind ? "2 4" : "1 4",
	    "SELECT phantoms, tail_sequence FROM outbox_streams");
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
	look_at_tail(false);
	ck_assert_int_eq(rec.again_at, 0);
	if (_i == 0)
		sql("UPDATE outbox_streams SET database_server = 'another'");
	else
		strlcpy(rec.server.identity, "former",
		    sizeof(rec.server.identity));
	look_at_tail(false);
	ck_near(rec.again_at - clock_ms(), conf->worker.claim_ttl - 10000,
	    conf->worker.claim_ttl);
	put_message(1, 50, 1);
	look_again();
	ck_assert_str_eq(sql_text(PHANTOMS), "0 NULL NULL 0");
	rec.again_at = clock_ms();
	look_again();
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
	stream_audit_database_opened(&rec, true);
	fake.during = go_after_one;
	for (int64_t until = patience(); !fake.closed; rec.at = 0) {
		ck_ok(stream_audit_round(&rec, true, &e));
		wait_more(&until, "the broker to go");
	}
	ck_assert_str_eq(sql_text(PHANTOMS), "1000 1 1000 1000");
	ck_has(logged(), "1000 messages in the stream have no event");
	fake.closed = false;
	fake.during = NULL;
	fake.nplaces = 0;
	look_again();
	ck_assert_str_eq(sql_text(PHANTOMS), "1500 1 1500 1500");
	ck_assert_uint_le(fake.nplaces, 501);
}
END_TEST

/* A dump that is loaded into a running server: what was known is not. */
START_TEST(tail_that_goes_back_is_noticed)
{
	know_tail(0);
	look_at_tail(false);
	add_event(1, "x");
	put_message(1, 50, 1);
	sql("UPDATE outbox_streams SET tail_at = tail_at - INTERVAL 1 MINUTE");
	look_again();
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
	stream_audit_database_opened(&rec, true);
	ck_ok(stream_audit_round(&rec, true, &e));
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

static bool	before_we_began;

static void
compare_as_another(void)
{
	if (fake.asked == 1)	/* the second time: the check is ours by then */
		sql("UPDATE outbox_streams SET tail_sequence = 2, %s "
		    "phantoms = 1, phantom_first = 2, phantom_last = 2",
		    before_we_began ? "" : "tail_at = NOW(6),");
}

/*
 * Two workers begin at once, and the outbox is newer than the tail: what one has
 * found, and saved when the other takes its turn, is not counted twice.
 */
START_TEST(phantoms_are_counted_once)
{
	know_tail(0);
	add_event(1, "x");
	deliver(1, 1, "'p00'", 60);
	put_message(2, 50, 1);
	sql("UPDATE outbox_streams SET tail_at = tail_at - INTERVAL 1 HOUR");
	stream_audit_database_opened(&rec, true);
	fake.asked = 0;
	fake.before_state = compare_as_another;
	before_we_began = _i == 1;
	look_on();
	ck_assert_uint_ge(fake.asked, 2);
	fake.before_state = NULL;
	ck_sql("1 2", "SELECT phantoms, tail_sequence FROM outbox_streams");
	/* Nor is it after claim_ttl, when all compare again. */
	rec.again_at = clock_ms();
	look_again();
	ck_assert_int_eq(rec.again_at, 0);
	ck_sql("1 2", "SELECT phantoms, tail_sequence FROM outbox_streams");
}
END_TEST

/* The outbox alone is loaded into a running server: the tail is newer. */
START_TEST(rows_that_go_back_are_noticed)
{
	know_tail(0);
	deliver(1, 1, "'p00'", 60);
	look_at_tail(false);
	add_event(2, "a");
	add_row(2, "NULL");
	put_message(2, 2, hash_of(2, "a"));
	sql("UPDATE outbox_streams SET tail_sequence = 2, tail_at = NOW(6)");
	relay.top = (struct acked){ { .sequence = 2 }, 2 };
	look_again();
	ck_sql("2", "SELECT ack_sequence FROM outbox "
	    "WHERE global_sequence = 2 AND published_at IS NOT NULL");
}
END_TEST

/* A broker that goes in the middle: nothing is written down, and again. */
START_TEST(broken_comparison_is_made_again)
{
	know_tail(0);
	add_event(1, "x");
	put_message(1, 50, 1);
	stream_audit_database_opened(&rec, true);
	kept = KEEP_FINISH;
	ck_assert(!look());
	ck_assert_str_eq(sql_text(PHANTOMS), "0 NULL NULL 0");
	kept = KEEP_ON;
	look_again();
	ck_assert_str_eq(sql_text(PHANTOMS), "1 1 1 1");
}
END_TEST

/* A dump that is younger than the tail: our latest message is not known. */
START_TEST(latest_message_that_is_not_known_is_noticed)
{
	know_tail(0);
	look_at_tail(false);
	add_event(1, "x");
	put_message(1, 50, 1);
	deliver(2, 2, "'p00'", 1);
	/* What was compared since we connected does not count. */
	sql("UPDATE outbox_streams SET tail_sequence = 0, tail_at = NOW(6)");
	relay.top = (struct acked){ { .sequence = _i == 0 ? 50 : 2 },
	    _i == 0 ? 1 : 2 };
	look_again();
	ck_sql(_i == 0 ? "1 2" : "0 2",
	    "SELECT phantoms, tail_sequence FROM outbox_streams");
	/* Once. */
	fake.nplaces = 0;
	look_again();
	ck_assert_uint_le(fake.nplaces, 1);
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
	stream_audit_database_opened(&rec, true);
	kept = KEEP_FINISH;
	ck_assert(!look());
	kept = KEEP_ON;
	look_again();
	ck_sql("1,2,3", WAITING);
}
END_TEST

/*
 * What the database refuses of one row
 */

START_TEST(row_that_cannot_be_found_holds_up_no_other)
{
	open_tail();
	for (uint64_t i = 1; i <= 5; i++) {
		add_event(i, "a");
		add_row(i, "NULL");
		put_message(i, i, hash_of(i, "a"));
	}
	put_obstacle("45000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4");
	look_on();
	sql("DROP TRIGGER obstacle");
	ck_sql("4", WAITING);
	ck_has(logged(), "sequence 4 cannot be marked as delivered");
	ck_has(logged(), "4 waiting rows are in the stream");
}
END_TEST

START_TEST(row_that_cannot_be_reset_holds_up_no_other)
{
	know("S0", 5);
	deliver(1, 5, "'p00'", 1);
	forget(1, 5);
	put_obstacle("45000", "UPDATE", "outbox",
	    "NEW.global_sequence = 2");
	look_on();
	sql("DROP TRIGGER obstacle");
	ck_sql("1,3,4,5", WAITING);
	ck_has(logged(), "sequence 2 is lost and cannot be sent again");
	ck_has(logged(), "lost 5 acknowledged messages, sequences 1 to 5 of "
	    "the stream: 4 are sent again");
}
END_TEST

void
add_tails(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "tail", k, k->start, recover_begin,
		    end_store);

	tcase_add_loop_test(tc, tail_is_held_against_events, 0, NROWS(tails));
	tcase_add_test(tc, delivered_rows_tell_without_their_events);
	tcase_add_test(tc, replay_that_is_there_is_delivered);
	tcase_add_test(tc, numbers_have_to_do_for_old_ids);
	tcase_add_test(tc, long_tail_is_compared);
	tcase_add_loop_test(tc, tail_is_compared_when_the_database_may_be_another,
	    0, NROWS(occasions));
	tcase_add_test(tc, first_start_outlives_its_connection);
	tcase_add_loop_test(tc, newest_message_tells_who_is_behind, 0, 2);
	tcase_add_loop_test(tc, tail_is_compared_again_when_claims_are_over, 0,
	    2);
	tcase_add_test(tc, slices_of_a_tail_are_kept);
	tcase_add_test(tc, tail_that_goes_back_is_noticed);
	tcase_add_loop_test(tc, phantoms_are_counted_once, 0, 2);
	tcase_add_test(tc, rows_that_go_back_are_noticed);
	tcase_add_test(tc, comparison_does_not_hide_a_lost_beginning);
	tcase_add_test(tc, row_that_cannot_be_found_holds_up_no_other);
	tcase_add_test(tc, row_that_cannot_be_reset_holds_up_no_other);
	tcase_add_test(tc, comparison_of_another_worker_will_do);
	tcase_add_test(tc, broken_comparison_is_made_again);
	tcase_add_loop_test(tc, latest_message_that_is_not_known_is_noticed, 0,
	    2);
	tcase_add_loop_test(tc, lost_beginning_is_sent_again, 0,
	    NROWS(beginnings));
}
