/*
 * stream_audit_rival.c - another database publishes under the same outbox id
 */
#include "recovery/stream_audit_test.h"

#define GRACE_MS	20000

/* Checked a moment ago, up to this message; the server is in use since 100. */
static void
use_server(void)
{
	struct db_server	now;

	know("S1", 1);
	ck_ok(store_server(st, &now, &e));
	sql("UPDATE outbox_streams SET tail_sequence = 200, "
	    "tail_at = NOW(6) - INTERVAL 1 SECOND, database_server = '%s', "
	    "database_started = '%s', first_sequence = 1, server_since = 100",
	    now.identity, now.started);
	fake.state.last = fake.state.messages = 200;
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data, occurred_at) VALUES (1, 'k', 1, 't', 'x', "
	    "'2026-01-31 12:00:00')");
}

static void
look_again(void)
{
	rec.at = 0;
	for (int64_t until = patience(); !look(); )
		wait_more(&until, "the stream to be looked at");
}

/* A connection, since which claims are over, and which has seen the stream. */
static void
watch(void)
{
	stream_audit_database_opened(&rec, false);
	look_again();
	ck_near(rec.watch_at - clock_ms(), conf->worker.claim_ttl - 10000,
	    conf->worker.claim_ttl);
	rec.watch_at = clock_ms();
	look_again();
	ck_assert_uint_eq(rec.watched, 200);
}

/* Messages whose events may be here or not. */
static void
publish(uint64_t first, uint64_t last, const char *origin)
{
	for (uint64_t i = first; i <= last; i++) {
		fake.row[i] = 40 + i;
		fake.origin[i] = origin;
	}
	fake.state.last = fake.state.messages = last;
	rec.watch_at = clock_ms();
	look_again();
}

static void
grace_is_over(void)
{
	rec.watch_at = clock_ms();
	rec.foreign_at -= GRACE_MS;
	look_again();
}

#define RIVAL	"SELECT rival, phantoms, phantom_first, phantom_last, " \
		"tail_sequence FROM outbox_streams"
#define PAUSED	"SELECT COUNT(*), COUNT(DISTINCT lease_owner), " \
		"MIN(lease_epoch) FROM outbox_partitions " \
		"WHERE lease_owner = 'paused'"

static const struct {
	const char	*origin;
	bool		 rival, stops;
} origins[] = {
	{ "db2:3306/99", true, true },
	{ "db2:3306/100", true, true },		/* nothing tells */
	{ "db2:3306", true, true },
	{ "db2:3306/101", true, false },
	{ "", false, false },			/* of a former version */
	{ NULL, false, false },			/* our own */
};

START_TEST(who_came_later_stops)
{
	char	own[MESSAGE_ORIGIN];

	use_server();
	watch();
	strlcpy(own, rec.origin, sizeof(own));
	ck_has(own, "/100");
	publish(201, 203, origins[_i].origin == NULL ? own :
	    origins[_i].origin);
	ck_sql("NULL 0", "SELECT rival, phantoms FROM outbox_streams");
	grace_is_over();
	ck_assert_str_eq(sql_text(RIVAL), origins[_i].rival ?
	    "db2:3306 3 201 203 203" : "NULL 0 NULL NULL 203");
	ck_assert_str_eq(sql_text(PAUSED), origins[_i].stops ? "3 1 6" :
	    "0 0 NULL");
	ck_assert((strstr(logged(), "split brain: db2:3306 publishes") !=
	    NULL) == origins[_i].rival);
	ck_assert((strstr(logged(), "all partitions are paused") != NULL) ==
	    origins[_i].stops);
	ck_assert_ptr_null(strstr(logged(), "delete"));
}
END_TEST

/* It is told once, and counted on; what was paused before stays so. */
START_TEST(rival_that_goes_on_is_counted)
{
	use_server();
	watch();
	publish(201, 201, "db2:3306/1");
	grace_is_over();
	rec.alarm.text[0] = '\0';
	publish(202, 205, "db2:3306/1");
	grace_is_over();
	ck_assert_str_eq(sql_text(RIVAL), "db2:3306 5 201 205 205");
	ck_assert_str_eq(rec.alarm.text, "");
	ck_sql("6", "SELECT MAX(lease_epoch) FROM outbox_partitions");
}
END_TEST

/* A member of our cluster, whose events come late. */
START_TEST(event_that_comes_late_is_fine)
{
	use_server();
	watch();
	publish(201, 203, "db2:3306/1");
	ck_assert_uint_eq(rec.nforeign, 3);
	sql("INSERT INTO events (sequence, stream_id, stream_sequence, "
	    "event_type, event_data, occurred_at) VALUES (241, 'k', 2, 't', "
	    "'x', NOW()), (242, 'k', 3, 't', 'x', NOW()), "
	    "(243, 'k', 4, 't', 'x', NOW())");
	grace_is_over();
	ck_assert_uint_eq(rec.nforeign, 0);
	ck_assert_str_eq(sql_text(RIVAL), "NULL 0 NULL NULL 203");
}
END_TEST

/* A worker of the dead server sends what it had claimed, and others publish. */
START_TEST(straggler_is_no_rival)
{
	use_server();
	stream_audit_database_opened(&rec, false);
	look_again();
	fake.row[201] = 241;
	fake.origin[201] = "db2:3306/1";
	fake.row[202] = ALIEN;
	fake.state.last = fake.state.messages = 202;
	look_again();
	rec.watch_at = clock_ms();
	look_again();
	ck_assert_uint_eq(rec.watched, 202);
	fake.row[203] = ALIEN;
	fake.state.last = fake.state.messages = 203;
	look_again();
	ck_assert_uint_eq(rec.nforeign, 0);
}
END_TEST

/* The workers' own messages of before, whose events are gone with the rest. */
START_TEST(dump_that_is_loaded_is_no_rival)
{
	char	own[MESSAGE_ORIGIN];

	use_server();
	watch();
	strlcpy(own, rec.origin, sizeof(own));
	sql("UPDATE outbox_streams SET tail_at = NOW(6) - INTERVAL 1 HOUR");
	publish(201, 203, own);
	rec.watch_at = clock_ms();
	look_again();
	grace_is_over();
	ck_assert_uint_eq(rec.watched, 203);
	ck_assert_str_eq(sql_text(RIVAL), "NULL 3 201 203 203");
	ck_sql("203", "SELECT server_since FROM outbox_streams");
	ck_assert_str_eq(sql_text(PAUSED), "0 0 NULL");
}
END_TEST

/* Another worker was the first meanwhile; their rows may be deleted by now. */
START_TEST(old_messages_are_no_rivals)
{
	use_server();
	watch();
	publish(201, 202, "db2:3306/1");
	ck_assert_uint_eq(rec.nforeign, 2);
	publish(203, 204, "db2:3306/1");
	rec.foreign_at -= GRACE_MS;
	rec.watch_at = clock_ms() - 60000;
	look_again();
	ck_assert_uint_eq(rec.nforeign, 0);
	ck_assert_uint_eq(rec.watched, 204);
	ck_sql("NULL 0", "SELECT rival, phantoms FROM outbox_streams");
}
END_TEST

/* However many come: a constant number is read, of all of them. */
START_TEST(only_some_are_read)
{
	size_t	before;

	use_server();
	watch();
	before = fake.nplaces;
	publish(201, 5000, "db2:3306/1");
	/* And the message of the short audit. */
	ck_assert_uint_le(fake.nplaces - before, STREAM_AUDIT_SPREAD + 1);
	ck_assert_uint_eq(rec.nforeign, STREAM_AUDIT_SPREAD);
	for (uint64_t i = 0; i < STREAM_AUDIT_SPREAD; i++)
		ck_near((int64_t)rec.foreign[i].sequence,
		    (int64_t)(201 + 96 * i), (int64_t)(201 + 96 * i + 95));
}
END_TEST

static const struct {
	const char	*change, *since;
} uses[] = {
	{ "DO 0", "100" },
	{ "UPDATE outbox_streams SET database_server = 'another'", "200" },
	{ "UPDATE outbox_streams SET database_started = "
	  "database_started - INTERVAL 8 SECOND", "200" },
	{ "UPDATE outbox_streams SET tail_at = NOW(6) - INTERVAL 1 HOUR",
	  "200" },
	{ "UPDATE outbox_streams SET server_since = NULL", "200" },
};

START_TEST(server_comes_into_use)
{
	char	own[MESSAGE_ORIGIN];

	use_server();
	sql("%s", uses[_i].change);
	stream_audit_database_opened(&rec, true);
	look_again();
	ck_sql(uses[_i].since, "SELECT server_since FROM outbox_streams");
	snprintf(own, sizeof(own), "/%s", uses[_i].since);
	ck_has(rec.origin, own);
	ck_has(rec.origin, rec.server.name);
}
END_TEST

void
add_rivals(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "rival", k, k->start, recover_begin,
		    end_store);

	tcase_add_loop_test(tc, who_came_later_stops, 0, NROWS(origins));
	tcase_add_test(tc, rival_that_goes_on_is_counted);
	tcase_add_test(tc, event_that_comes_late_is_fine);
	tcase_add_test(tc, straggler_is_no_rival);
	tcase_add_test(tc, dump_that_is_loaded_is_no_rival);
	tcase_add_test(tc, old_messages_are_no_rivals);
	tcase_add_test(tc, only_some_are_read);
	tcase_add_loop_test(tc, server_comes_into_use, 0, NROWS(uses));
}
