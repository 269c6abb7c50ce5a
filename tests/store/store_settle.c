/* store_settle.c - the outcome of each row is written back */

#include "store/claim_test.h"

#include "store/store_sql.h"

static struct settled	done;		/* counts of all calls of the test */

/* Five rows of every outcome but "in doubt", which is the sixth. */
static void
decide(void)
{
	take(&b, 1, 6);
	b.msgs[0].outcome = OUT_DELIVERED;
	msg_fail(&b.msgs[1], OUT_RETRY, "no luck");
	b.msgs[1].delay_ms = 20500;
	msg_fail(&b.msgs[2], OUT_DEFER, "stream full");
	b.msgs[2].delay_ms = 5000;
	msg_fail(&b.msgs[3], OUT_DEAD, "too big");
	b.msgs[3].reason = "message";
	b.msgs[4].outcome = OUT_UNSENT;
	b.msgs[5].outcome = OUT_KEEP_CLAIM;
}

static void
settle_begin(void)
{
	claim_begin();
	memset(&done, 0, sizeof(done));
	own_rows(6);
	sql("UPDATE outbox SET attempts = 3");
}

static void
settle(void)
{
	ck_ok(store_settle(st, &b, &done, &e));
}

/* Check the counts: those that are not named are 0. */
#define ck_done(...)	ck_counts(&(struct settled){ __VA_ARGS__ })

static void
ck_counts(const struct settled *want)
{
	ck_assert_uint_eq(done.delivered, want->delivered);
	ck_assert_uint_eq(done.retried, want->retried);
	ck_assert_uint_eq(done.deferred, want->deferred);
	ck_assert_uint_eq(done.dead, want->dead);
	ck_assert_uint_eq(done.returned, want->returned);
	ck_assert_uint_eq(done.fenced, want->fenced);
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

/* The rows of decide() are counted. */
static void
ck_counted(void)
{
	ck_done(.delivered = 1, .retried = 1, .deferred = 1, .dead = 1,
	    .returned = 1);
}

/* And written. */
static void
ck_settled(void)
{
	ck_counted();
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
	decide();
	settle();
	ck_settled();
	/* Once more does nothing at all. */
	sql("UPDATE outbox SET published_at = NULL, claim_token = '%s' "
	    "WHERE global_sequence = 1", b.token);
	settle();
	ck_sql("NULL", "SELECT published_at FROM outbox "
	    "WHERE global_sequence = 1");
	ck_counted();
}
END_TEST

/* Without the column only replays are not possible, so nothing is logged. */
START_TEST(nobody_may_count_replays)
{
	sql("ALTER TABLE outbox DROP COLUMN replay_no");
	ck_ok(store_learn(st, &e));
	ck_assert(!store_has_word(st, "replay_no"));
	ck_has_not(logged(), "replay_no");
	decide();
	settle();
	ck_counted();
	batch_free(&b);
	sql("ALTER TABLE outbox ADD COLUMN replay_no INT UNSIGNED NOT NULL "
	    "DEFAULT 0");
}
END_TEST

/* The number goes with the message, to the dead as well. */
START_TEST(replays_are_counted)
{
	sql("UPDATE outbox SET replay_no = global_sequence");
	decide();
	for (size_t i = 0; i < b.n; i++)
		ck_assert_uint_eq(b.msgs[i].replay, b.msgs[i].sequence);
	settle();
	ck_sql("4", "SELECT replay_no FROM outbox_dead_letters");
}
END_TEST

/* Sent and not answered: since the claim, or since an earlier time. */
START_TEST(in_doubt_is_kept)
{
	update_row(3, "in_doubt_since = '2026-01-31'");
	decide();
	for (size_t i = 0; i < b.n; i++)
		b.msgs[i].in_doubt = i != 4;
	b.claimed_at -= 4000;
	settle();
	ck_settled();
	ck_sql("1 NULL\n2 1\n3 0\n5 NULL\n6 NULL", "SELECT global_sequence, "
	    "in_doubt_since BETWEEN NOW(6) - INTERVAL 14 SECOND AND NOW(6) - "
	    "INTERVAL 4 SECOND FROM outbox ORDER BY 1");
}
END_TEST

/* The place of each in the stream, whatever the number and the order. */
START_TEST(acks_are_kept)
{
	add_rows(7, 60, "'p00'");
	take(&b, 1, 60);
	for (size_t i = 0; i < 60; i++) {
		if (i % 7 != 0)
			b.msgs[i].outcome = OUT_DELIVERED;
		b.msgs[i].ack_sequence = 18446744073709551615u - 11 * i % 60;
		b.msgs[i].hashed = i % 5 != 0;
		b.msgs[i].hash = 18446744073709551615u - 7 * i % 60;
	}
	b.msgs[1].ack_sequence = 0;	/* not in the stream: no place */
	settle();
	ck_sql("50 10", "SELECT SUM(ack_sequence = 18446744073709551615 - "
	    "11 * (global_sequence - 1) %% 60), SUM(ack_sequence IS NULL) "
	    "FROM outbox");
	/* And the hash of the message, if it is known. */
	ck_sql("41 19", "SELECT SUM(message_hash = 18446744073709551615 - "
	    "7 * (global_sequence - 1) %% 60), SUM(message_hash IS NULL) "
	    "FROM outbox");
}
END_TEST

/* Where no stream is named, and where there is no column. */
START_TEST(acks_are_not_always_kept)
{
	struct conf	*c = NULL;

	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	b.msgs[0].ack_sequence = b.msgs[1].ack_sequence = 7;
	if (_i == 0) {
		c = servers_conf("mysql: {socket: \"%s\", user: outbox, "
		    "password_env: OUTBOX_PW, database: app}\n"
		    "nats: {stream: ''}\n", conf->mysql.socket);
		store_free(st);
		st = store_of(c, ME);
	} else {
		sql("ALTER TABLE outbox DROP COLUMN ack_sequence");
		ck_ok(store_learn(st, &e));
	}
	settle();
	ck_done(.delivered = 2);
	if (_i == 1)
		sql("ALTER TABLE outbox ADD COLUMN ack_sequence "
		    "BIGINT UNSIGNED NULL");
	ck_sql("0", "SELECT COUNT(ack_sequence) FROM outbox");
	store_free(st);
	st = store_of(conf, ME);
	conf_free(c);
}
END_TEST

START_TEST(many_of_a_kind_are_one_statement)
{
	add_rows(7, 60, "'p00'");
	take(&b, 1, 60);
	for (size_t i = 0; i < 60; i++) {
		msg_fail(&b.msgs[i], i % 2 ? OUT_RETRY : OUT_DEAD, "x");
		b.msgs[i].delay_ms = 1000 * (int64_t)i;
		b.msgs[i].reason = "attempts";
	}
	log_statements();
	settle();
	sql("SET GLOBAL general_log = 0");
	ck_done(.retried = 30, .dead = 30);
	/* One update; begin, lock, insert, delete and commit. */
	ck_sql("6", "SELECT COUNT(*) " STATEMENTS);
	ck_sql("30", "SELECT COUNT(*) FROM outbox_dead_letters "
	    "WHERE global_sequence %% 2 = 1");
	ck_sql("30", "SELECT COUNT(*) FROM outbox WHERE last_error = 'x' AND "
	    "available_at BETWEEN NOW(6) + INTERVAL global_sequence SECOND - "
	    "INTERVAL 5 SECOND AND NOW(6) + INTERVAL global_sequence SECOND");
}
END_TEST

/* Another worker may have claimed the rows: each outcome leaves them alone. */
START_TEST(lost_claims_are_left_alone)
{
	const char	*before;

	decide();
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence <= 3; UPDATE outbox SET claim_token = NULL "
	    "WHERE global_sequence = 4; DELETE FROM outbox "
	    "WHERE global_sequence = 5");
	before = sql_text("SELECT * FROM outbox ORDER BY global_sequence");
	settle();
	ck_sql(before, "SELECT * FROM outbox ORDER BY global_sequence");
	ck_sql("0", "SELECT COUNT(*) FROM outbox_dead_letters");
	ck_done(.fenced = 5);
}
END_TEST

START_TEST(lost_claims_do_not_hide_the_others)
{
	take(&b, 1, 6);
	for (size_t i = 0; i < 6; i++) {
		msg_fail(&b.msgs[i], i < 3 ? OUT_DEAD : OUT_DELIVERED, "why");
		b.msgs[i].reason = "message";
	}
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence IN (2, 5)");
	settle();
	ck_done(.delivered = 2, .dead = 2, .fenced = 2);
	ck_sql("1,3", "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "
	    "FROM outbox_dead_letters");
	ck_rows("2,4,5,6", "TRUE");
	ck_rows("4,6", "published_at IS NOT NULL");
}
END_TEST

/* Settling fails in the middle, at each outcome in turn, and is repeated. */
START_TEST(settling_is_repeated)
{
	char		which[48];

	decide();
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
	settle();
	ck_settled();
}
END_TEST

/*
 * The database refuses row 4 alone: the others are written all the same, and
 * row 4 waits for half a minute, its attempts as they are.
 */
static const struct {
	enum outcome	 outcome;
	const char	*what;
	const char	*verb, *table, *row;
	struct settled	 done;
} refusals[] = {
	{ OUT_DELIVERED, "marked as delivered", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.published_at IS NOT NULL",
	  { .delivered = 5, .deferred = 1 } },
	{ OUT_RETRY, "scheduled for a retry", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.attempts > OLD.attempts",
	  { .retried = 5, .deferred = 1 } },
	{ OUT_DEAD, "moved to the dead letters", "INSERT",
	  "outbox_dead_letters", "NEW.global_sequence = 4",
	  { .dead = 5, .deferred = 1 } },
	{ OUT_DEAD, "moved to the dead letters", "DELETE", "outbox",
	  "OLD.global_sequence = 4", { .dead = 5, .deferred = 1 } },
	{ OUT_UNSENT, "released from its claim", "UPDATE", "outbox",
	  "NEW.global_sequence = 4 AND NEW.last_error IS NULL",
	  { .returned = 5, .deferred = 1 } },
};

/* All six rows come to the same end. */
static void
decide_all(enum outcome outcome)
{
	take(&b, 1, 6);
	for (size_t i = 0; i < 6; i++) {
		if (outcome == OUT_UNSENT || outcome == OUT_DELIVERED)
			b.msgs[i].outcome = outcome;
		else
			msg_fail(&b.msgs[i], outcome, "why");
		b.msgs[i].reason = "message";
		b.msgs[i].delay_ms = 5000;
	}
}

START_TEST(refused_row_is_set_aside)
{
	enum outcome	 outcome = refusals[_i].outcome;

	decide_all(outcome);
	put_obstacle("23000", refusals[_i].verb, refusals[_i].table,
	    refusals[_i].row);
	settle();
	ck_counts(&refusals[_i].done);
	ck_assert_int_eq(b.msgs[3].outcome, OUT_DEFER);
	ck_sql("3 NULL 1 1", "SELECT attempts, claim_token, available_at "
	    "BETWEEN NOW(6) AND NOW(6) + INTERVAL 5 "
	    "SECOND, last_error LIKE 'cannot be %s:%%obstacle%%' FROM outbox "
	    "WHERE global_sequence = 4", refusals[_i].what);
	/* It was sent, and no column says so: it is in doubt. */
	ck_rows(outcome == OUT_DELIVERED ? "4" : "NULL",
	    "in_doubt_since IS NOT NULL");
	ck_sql(outcome == OUT_DEAD ? "5" : "0", "SELECT COUNT(*) "
	    "FROM outbox_dead_letters WHERE global_sequence <> 4");
	ck_sql(outcome == OUT_DELIVERED ? "5" : "0", "SELECT "
	    "COUNT(published_at) FROM outbox");
	ck_assert_uint_eq(times_logged("sequence 4 cannot be"), 1);
}
END_TEST

/* It takes no change at all: its claim stays, and it is in doubt. */
START_TEST(row_that_takes_nothing_keeps_its_claim)
{
	decide_all(_i == 0 ? OUT_DELIVERED : OUT_RETRY);
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.claim_token IS NULL");
	settle();
	ck_counts(_i == 0 ? &(struct settled){ .delivered = 5 } :
	    &(struct settled){ .retried = 5 });
	ck_assert_int_eq(b.msgs[3].outcome, OUT_KEEP_CLAIM);
	ck_assert_int_eq(b.msgs[3].delay_ms, 5000);
	ck_sql("3 1", "SELECT attempts, claim_token = '%s' FROM outbox "
	    "WHERE global_sequence = 4", b.token);
	ck_rows(_i == 0 ? "4" : "NULL", "in_doubt_since IS NOT NULL");
	ck_assert_uint_eq(times_logged("sequence 4 cannot be"), 1);
}
END_TEST

/* The moment since when it is in doubt cannot be written: its claim stays. */
START_TEST(row_that_cannot_be_in_doubt_keeps_its_claim)
{
	decide_all(OUT_RETRY);
	for (size_t i = 0; i < 6; i++)
		b.msgs[i].in_doubt = true;
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.in_doubt_since IS NOT NULL");
	settle();
	ck_done(.retried = 5);
	ck_assert_int_eq(b.msgs[3].outcome, OUT_KEEP_CLAIM);
	ck_assert_int_eq(b.msgs[3].delay_ms, 5000);
	ck_sql("1", "SELECT claim_token = '%s' FROM outbox "
	    "WHERE global_sequence = 4", b.token);
	ck_rows("1,2,3,5,6", "in_doubt_since IS NOT NULL AND attempts = 4");
}
END_TEST

START_TEST(refused_row_is_not_claimed)
{
	if (_i == 1)		/* left by another worker */
		sql("UPDATE outbox SET claim_token = 'gone-1', available_at = "
		    "NOW(6) - INTERVAL 1 SECOND");
	put_obstacle("23000", "UPDATE", "outbox",
	    "NEW.global_sequence = 4 AND NEW.available_at > NOW()");
	ck_assert_uint_eq(claim(st, &b, 1, 6), 5);
	ck_rows("1,2,3,5,6", "claim_token = '%s'", b.token);
	ck_assert(batch_is_refused(&b, 4));
	ck_assert(!batch_is_refused(&b, 3));
	batch_free(&b);
	ck_assert_uint_eq(claim(st, &b, 4, 4), 0);
	ck_assert_uint_eq(times_logged("sequence 4 cannot be claimed"), 1);
}
END_TEST

/* Errors about values, by SQLSTATE and by codes without a class. */
static const char *const	value_errors[] = {
	"SIGNAL SQLSTATE '22001'", "SIGNAL SQLSTATE '23000'",
	"SIGNAL SQLSTATE '45000'", "SIGNAL SQLSTATE '45123'",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1265",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1300",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1366",
	"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3819",
	/* And errors that are not about values. */
	"SIGNAL SQLSTATE 'HY000'",
	"SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1142",
	"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213",
};

START_TEST(refused_values_are_known)
{
	decide_all(OUT_DELIVERED);
	sql("CREATE TRIGGER obstacle BEFORE UPDATE ON outbox FOR EACH ROW "
	    "IF NEW.global_sequence = 4 AND NEW.published_at IS NOT NULL "
	    "THEN %s; END IF", value_errors[_i]);
	if (_i < 8) {
		settle();
		ck_done(.delivered = 5, .deferred = 1);
	} else
		ck_fails(store_settle(st, &b, &done, &e));
}
END_TEST

/*
 * The connection broke: it is unknown whether the rows were written.  If they
 * were, our own statement has removed the token, which is no fenced write.
 */
START_TEST(lost_answer_is_no_fence)
{
	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	kill_latest();
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(store_fault(st), DB_LOST);
	if (_i == 1)
		sql("UPDATE outbox SET published_at = NOW(6), "
		    "claim_token = NULL WHERE claim_token IS NOT NULL");
	ck_ok(store_open(st, &e));
	settle();
	ck_done(.delivered = 2);
	ck_sql("2", "SELECT COUNT(*) FROM outbox "
	    "WHERE published_at IS NOT NULL AND claim_token IS NULL");
}
END_TEST

/* A connection that was closed before has surely written nothing. */
START_TEST(unsent_settling_is_fenced)
{
	take(&b, 1, 2);
	b.msgs[0].outcome = b.msgs[1].outcome = OUT_DELIVERED;
	store_close(st);
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(store_fault(st), DB_CLOSED);
	sql("UPDATE outbox SET claim_token = '" OTHER_NONCE "-1' "
	    "WHERE global_sequence = 2");
	ck_ok(store_open(st, &e));
	settle();
	ck_done(.delivered = 1, .fenced = 1);
}
END_TEST

/* The letter is written and the row cannot be deleted: the letter goes, too. */
START_TEST(death_is_one_transaction)
{
	decide();
	put_obstacle("HY000", "DELETE", "outbox", "OLD.global_sequence = 4");
	ck_fails(store_settle(st, &b, &done, &e));
	ck_assert_int_eq(strncmp(e.text, "bury: ", 6), 0);
	ck_sql("0", "SELECT COUNT(*) FROM outbox_dead_letters");
	/* And the transaction is over: the rows are not locked. */
	sql("SET innodb_lock_wait_timeout = 1; "
	    "SELECT * FROM outbox FOR UPDATE; "
	    "SELECT * FROM outbox_dead_letters FOR UPDATE");
}
END_TEST

START_TEST(dead_may_die_again)
{
	sql("INSERT INTO outbox_dead_letters (global_sequence, reason, "
	    "attempts, last_error) VALUES (4, 'attempts', 1, 'old')");
	decide();
	settle();
	ck_sql("4 4 message too big", "SELECT global_sequence, attempts, "
	    "reason, last_error FROM outbox_dead_letters");
	ck_counted();
}
END_TEST

/* No event, no label: a letter without a key. */
START_TEST(dead_without_event_is_buried)
{
	struct range	r = range("", 1);
	uint64_t	seven = 7, n;

	add_lease("", ME, 1);
	sql("INSERT INTO outbox (global_sequence) VALUES (7)");
	ck_ok(store_claim(st, &(struct claim_set){ &r, 1, &seven, 1 }, &b, &n,
	    &e));
	ck_ok(store_fetch(st, &seven, 1, SIZE_MAX, &b, &e));
	msg_fail(&b.msgs[0], OUT_DEAD, "no event");
	b.msgs[0].reason = "message";
	settle();
	ck_sql("7 NULL NULL NULL 1 message no event", "SELECT global_sequence,"
	    " partition_key, order_key, event_type, attempts, reason, "
	    "last_error FROM outbox_dead_letters");
}
END_TEST

/* sql/schema.sql says so. */
START_TEST(letter_keeps_the_age_of_its_row)
{
	sql("UPDATE outbox SET created_at = '2026-01-31 12:00:00.5'");
	decide();
	settle();
	ck_sql("2026-01-31 12:00:00.500000",
	    "SELECT created_at FROM outbox_dead_letters");
}
END_TEST

/* No error text of a broker may keep the batch from being settled. */
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

	while (from == NULL && strlen(text) < 2000)
		strcat(text, "\xc3\xbc 1234567890");
	if (from == NULL)
		from = text;
	take(&b, 1, 3);
	msg_fail(&b.msgs[0], OUT_RETRY, from);
	msg_fail(&b.msgs[1], OUT_DEFER, from);
	msg_fail(&b.msgs[2], OUT_DEAD, from);
	b.msgs[2].reason = "message";
	settle();
	ck_done(.retried = 1, .deferred = 1, .dead = 1);
	ck_sql("3 1", "SELECT COUNT(*), COUNT(DISTINCT last_error) FROM ("
	    "SELECT last_error FROM outbox WHERE global_sequence < 3 UNION ALL "
	    "SELECT last_error FROM outbox_dead_letters) AS a "
	    "WHERE last_error IS NOT NULL");
}
END_TEST

void
add_settling(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "settle", k, k->start, settle_begin,
		    claim_end);

	tcase_add_test(tc, outcomes_are_written);
	tcase_add_test(tc, nobody_may_count_replays);
	tcase_add_test(tc, replays_are_counted);
	tcase_add_test(tc, acks_are_kept);
	tcase_add_loop_test(tc, acks_are_not_always_kept, 0, 2);
	tcase_add_test(tc, in_doubt_is_kept);
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
}
