/*
 * stream_audit_in_doubt.c - rows in doubt are looked for before they are sent
 * again
 */

#include "recovery/stream_audit_test.h"

#include <time.h>

#include "recovery/in_doubt.h"

#define TOKEN	"00000000000000a1-7"
#define NOW	1769860800000	/* the broker's clock, in ms */
#define S	1000

static struct in_doubt	in_doubt;
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

/* Rows of a batch of ours, in doubt for so many seconds; -1: not at all. */
static void
take_in_doubt(uint64_t first, uint64_t last, int in_doubt_s)
{
	for (uint64_t i = first; i <= last; i++)
		sql("INSERT INTO outbox (global_sequence, partition_key, "
		    "claim_token, in_doubt_since) VALUES (%llu, 'p00', '" TOKEN
		    "', IF(%d < 0, NULL, NOW(6) - INTERVAL %d SECOND))",
		    (unsigned long long)i, in_doubt_s, in_doubt_s);
	fetch(first, last);
}

static void
doubt_begin(void)
{
	recover_begin();
	fake.state.dedup_window_ms = 120000;
	fake.state.now_at = NOW;
	in_doubt_init(&in_doubt, conf, st, &relay);
	deliver(1, 100, "'p00'", 300);
	deliver(101, 900, "'p00'", 50);
}

static void
doubt_end(void)
{
	batch_free(&batch);
	in_doubt_free(&in_doubt);
	end_store();
}

/* The outcomes as letters. */
static const char *
resolve(void)
{
	static char	text[65];
	unsigned	found;

	ck_ok(in_doubt_resolve(&in_doubt, &batch, &found, &e));
	memset(text, 0, sizeof(text));
	for (size_t i = 0; i < batch.n; i++) {
		text[i] = "UDRFX?"[batch.msgs[i].outcome];
		found -= batch.msgs[i].outcome == OUT_DELIVERED;
	}
	ck_assert_uint_eq(found, 0);
	return text;
}

static const struct {
	int		 in_doubt_s;
	const char	*outcome;
} ages[] = { { -1, "U" }, { 1, "U" }, { 80, "U" }, { 100, "D" }, { 500, "D" } };

START_TEST(only_old_doubts_are_looked_for)
{
	take_in_doubt(1000, 1000, ages[_i].in_doubt_s);
	fake.row[500] = 1000;
	ck_assert_str_eq(resolve(), ages[_i].outcome);
	ck_assert((fake.nplaces > 0) == (ages[_i].outcome[0] == 'D'));
	if (batch.msgs[0].outcome == OUT_DELIVERED)
		ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

START_TEST(found_and_absent_are_told_apart)
{
	take_in_doubt(1000, 1003, 100);
	fake.row[500] = 1002;
	fake.row[600] = 1000;
	fake.row[50] = 1001;	/* below all that could be */
	batch.msgs[3].held = true;
	ck_assert_str_eq(resolve(), "DUDU");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 600);
	ck_assert_uint_eq(batch.msgs[2].ack_sequence, 500);
	/* Above what was delivered before, once for all of them, and that. */
	ck_assert_uint_eq(fake.nplaces, 801);
	/* What is not there starts anew. */
	ck_rows("1001", "claim_token IS NOT NULL AND in_doubt_since IS NULL");
	ck_assert_uint_eq(in_doubt.search.n, 0);
}
END_TEST

/* What was there before it was replayed is not what is looked for. */
START_TEST(replay_is_not_found_by_its_first_message)
{
	take_in_doubt(1000, 1001, 100);
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

	take_in_doubt(1000, 1002, 100);
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

#define AT	"2026-01-31 12:00:00.500000"

/*
 * The time of their events changes with each write, so ids leave it out.  An
 * earlier version did not, and a duplicate window is of no use then.
 */
START_TEST(ids_of_an_earlier_version_are_found)
{
	struct msg	before[4];

	take_in_doubt(1000, 1003, 1);
	for (size_t i = 0; i < 4; i++) {
		batch.msgs[i].has_event = true;
		before[i] = batch.msgs[i];
		before[i].time = (struct bytes){ AT, strlen(AT) };
		batch.msgs[i].left_out = MSG_TIME;
	}
	fake.state.last = fake.state.messages = 950;
	fake.row[905] = 1000;
	fake.time[905] = AT;
	fake.hash[905] = message_hash(&before[0]);
	fake.row[910] = 1001;	/* of an event that does not exist any more */
	fake.hash[910] = 77;
	fake.row[915] = 1001;
	fake.hash[915] = message_hash(&batch.msgs[1]);
	fake.row[920] = 1002;	/* the same, and no other one */
	fake.hash[920] = message_hash(&before[2]);
	fake.time[920] = "2026-01-31 12:00:01";
	ck_assert_str_eq(resolve(), "DDUU");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 905);
	ck_assert_uint_eq(batch.msgs[0].hash, fake.hash[905]);
	ck_assert_uint_eq(batch.msgs[1].ack_sequence, 915);
}
END_TEST

START_TEST(all_is_read_where_nothing_is_known)
{
	fake.state.first = 41;
	fake.state.first_at = NOW - 165 * S;	/* before the doubt */
	take_in_doubt(1000, 1000, 100);
	if (_i == 0)
		sql("UPDATE outbox SET ack_sequence = NULL");
	else			/* of a stream before this one */
		sql("UPDATE outbox SET ack_sequence = 5000");
	ck_assert_str_eq(resolve(), "U");
	ck_assert_uint_eq(fake.nplaces, 16 + 860);
}
END_TEST

/* No row shows where to begin; the broker tells when messages were stored. */
START_TEST(times_tell_where_to_begin)
{
	sql("UPDATE outbox SET ack_sequence = NULL");
	fake.began_at = NOW - 900 * S;
	take_in_doubt(1000, 1001, 100);
	fake.row[741] = 1000;	/* within what clocks may differ by */
	ck_assert_str_eq(resolve(), "DU");
	ck_assert_uint_le(fake.nplaces, 4 * 16 + 260);
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
	take_in_doubt(1000, 1000, 100);
	update_row(1000, "in_doubt_since = @t + INTERVAL 500000 MICROSECOND");
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

	take_in_doubt(1000, 1001, 100);
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
	ck_assert_uint_eq(fake.nplaces, 801);
}
END_TEST

/* Row 1000, which nobody finds before its turn is over. */
static void
begin_to_look(void)
{
	take_in_doubt(1000, 1000, 100);
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
	take_in_doubt(1001, 1001, 400);
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
	in_doubt.search.next = in_doubt.search.sure =
	    fake.state.last + 1;	/* past that */
	in_doubt.search.items[0].since -= 200000;	/* long ago */
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
	in_doubt.search.next = in_doubt.search.sure =
	    fake.state.last + 1;	/* past that */
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
	take_in_doubt(first, last, 0);
	batch_free(&batch);
	sql("UPDATE outbox SET in_doubt_since = NOW(6) + INTERVAL 1 HOUR "
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
	    "YEAR(in_doubt_since) FROM outbox WHERE claim_token IS NOT NULL");
}
END_TEST

START_TEST(doubts_to_come_do_not_hide_others)
{
	take_in_doubt(1000, 1000, 100);
	batch_free(&batch);
	take_from_the_future(1001, 1001);
	batch_free(&batch);
	update_row(1000, "in_doubt_since = NOW(6) - INTERVAL 100 SECOND");
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
	in_doubt.search.next = in_doubt.search.sure =
	    fake.state.last + 1;	/* past that */
	batch_free(&batch);
	sql("UPDATE outbox SET in_doubt_since = NOW(6) + INTERVAL 1 HOUR "
	    "WHERE claim_token IS NOT NULL");
	fetch(1000, 1000);
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 500);
}
END_TEST

/* The doubts of one row cannot be written: only that row may have to wait. */
START_TEST(refused_doubt_holds_up_no_other)
{
	if (_i == 0)
		take_in_doubt(1000, 1002, 100);
	else
		take_from_the_future(1000, 1002);
	put_obstacle("45000", "UPDATE", "outbox",
	    "NEW.global_sequence = 1001");
	ck_assert_str_eq(resolve(), _i == 0 ? "UUU" : "UFU");
	sql("DROP TRIGGER obstacle");
	ck_rows("1001", "claim_token IS NOT NULL AND in_doubt_since IS NOT "
	    "NULL");
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
	fake.state.last = in_doubt.search.next - 5;
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
	take_in_doubt(1000, 1000, 100);
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
	rec.nobody_since -= 31000;
	rec.at = 0;
	ck_assert(look());
	ck_has(logged(), "publishing goes on without a check");
}
END_TEST

/*
 * A question without an answer, and one that is answered with an error, tell
 * nothing of what is there: neither the first nor any later one.
 */
START_TEST(error_is_no_empty_stream)
{
	take_in_doubt(1000, 1001, 100);
	fake.row[850] = 1000;
	fake.error_at = (unsigned)_i;
	if (_i == 0)
		fake.gone = true;
	ck_assert_str_eq(resolve(), "FF");
	ck_assert(batch.msgs[0].unsolved && batch.msgs[1].unsolved);
	ck_rows("1000,1001", "in_doubt_since IS NOT NULL");
	fake.gone = false;
	batch.msgs[0].outcome = batch.msgs[1].outcome = OUT_UNSENT;
	ck_assert_str_eq(resolve(), "DU");
}
END_TEST

/* A leader that has just got its replicas back does not know all at once. */
START_TEST(replicas_settle_first)
{
	fake.state.replicated = true;
	take_in_doubt(1000, 1000, 100);
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(resolve(), "F");
		ck_assert(!batch.msgs[0].unsolved);
		batch.msgs[0].outcome = OUT_UNSENT;
	}
	in_doubt.search.same_since -= 2000;
	fake.error_at = fake.asked + 1;		/* begin anew */
	ck_assert_str_eq(resolve(), "F");
	batch.msgs[0].outcome = OUT_UNSENT;
	ck_assert_str_eq(resolve(), "F");
	in_doubt.search.same_since -= 2000;
	fake.row[850] = 1000;
	batch.msgs[0].outcome = OUT_UNSENT;
	ck_assert_str_eq(resolve(), "D");
}
END_TEST

START_TEST(all_messages_must_come)
{
	take_in_doubt(1000, 1000, 100);
	fake.cut = true;
	ck_assert_str_eq(resolve(), "F");
	ck_rows("1000", "in_doubt_since IS NOT NULL");
}
END_TEST

/* For a while it is tried often; then the operator is told. */
START_TEST(lasting_trouble_is_told)
{
	take_in_doubt(1000, 1000, 100);
	fake.error_at = 1;
	ck_assert_str_eq(resolve(), "F");
	ck_assert_int_le(batch.msgs[0].delay_ms, 2000);
	batch.msgs[0].outcome = OUT_UNSENT;
	in_doubt.failures[0].since -= 20000;
	fake.error_at = fake.asked + 1;
	ck_assert_str_eq(resolve(), "F");
	ck_assert_int_gt(batch.msgs[0].delay_ms, 2000);
	ck_has(batch.msgs[0].error, "the fake is silent");
	/* But a trouble that is long past is no part of a new one. */
	batch.msgs[0].outcome = OUT_UNSENT;
	in_doubt.failures[0].since -= 600000;
	in_doubt.failures[0].at -= 600000;
	fake.error_at = fake.asked + 1;
	ck_assert_str_eq(resolve(), "F");
	ck_assert_int_le(batch.msgs[0].delay_ms, 2000);
}
END_TEST

static unsigned	looks;

/* After the message that shows where to begin, and some slices. */
static bool
is_in_the_middle(void)
{
	return ++looks == 4;
}

static void
make_anew(void)
{
	if (is_in_the_middle())
		strlcpy(fake.state.created, "2026-02-01T00:00:00Z",
		    sizeof(fake.state.created));
}

static void
change_leader(void)
{
	if (is_in_the_middle())
		strlcpy(fake.state.leader, "n3", sizeof(fake.state.leader));
}

static void
start_anew(void)
{
	if (is_in_the_middle())
		strlcpy(fake.state.server, "S2", sizeof(fake.state.server));
}

static void	(*const changes[])(void) = { make_anew, change_leader,
			    start_anew };

/*
 * What is read of one stream and then of another is a look at neither.  The
 * message of 1000 is where it was read already.
 */
START_TEST(look_is_at_one_stream)
{
	take_in_doubt(1000, 1002, 100);
	looks = 0;
	fake.during = changes[_i];
	fake.row[850] = 1002;
	ck_assert_str_eq(resolve(), "FFF");
	ck_rows("1000,1001,1002", "in_doubt_since IS NOT NULL");
	for (size_t i = 0; i < 3; i++)
		batch.msgs[i].outcome = OUT_UNSENT;
	fake.row[110] = 1000;
	fake.row[850] = 850;
	ck_assert_str_eq(resolve(), "DUU");
}
END_TEST

/*
 * The rows delivered before are of another stream, which had other messages
 * under their sequences.
 */
START_TEST(known_rows_may_be_of_another_stream)
{
	sql("DELETE FROM outbox WHERE global_sequence > 100");
	take_in_doubt(1000, 1000, 100);
	for (size_t i = 1; i <= 200; i++)
		fake.row[i] = ALIEN;
	fake.state.last = fake.state.messages = 200;
	if (_i == 1) {		/* it has some of them again */
		fake.row[10] = 10;
		fake.row[11] = 12;
	}
	fake.row[50] = 1000;
	ck_assert_str_eq(resolve(), "D");
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 50);
}
END_TEST

static void
purge(void)
{
	if (!is_in_the_middle())
		return;
	fake.state.first = fake.state.last + 1;
	fake.state.messages = 0;
	forget(1, fake.state.last);
}

/* By a limit: the first that is left is of that age. */
static void
cut_beginning(void)
{
	if (!is_in_the_middle())
		return;
	fake.state.first = 800;
	forget(1, 799);
}

static const struct {
	void		(*cut)(void);
	int64_t		 first_at, last_at;
	bool		 forgets;
	const char	*outcome;
} cuts[] = {
	{ purge, 0, 0, false, "F" },
	{ purge, 0, NOW - 20 * S, false, "F" },
	{ purge, 0, NOW - 150 * S, false, "F" },	/* clocks differ */
	{ purge, 0, NOW - 200 * S, false, "U" },
	{ cut_beginning, 0, NOW, false, "F" },
	{ cut_beginning, NOW - 20 * S, NOW, false, "F" },
	{ cut_beginning, NOW - 200 * S, NOW, false, "U" },
	/* Where messages leave as they are read, nobody could ever tell. */
	{ cut_beginning, NOW - 20 * S, NOW, true, "U" },
};

/*
 * What has left the stream before it was read may have been the message,
 * unless it is older than the doubt.  A second look does not know more.
 */
START_TEST(removed_messages_are_not_absent)
{
	take_in_doubt(1000, 1000, 100);
	looks = 0;
	fake.during = cuts[_i].cut;
	fake.state.first_at = cuts[_i].first_at;
	fake.state.last_at = cuts[_i].last_at;
	fake.state.forgets = cuts[_i].forgets;
	ck_assert_str_eq(resolve(), cuts[_i].outcome);
	if (cuts[_i].outcome[0] == 'U')
		return;
	ck_assert(batch.msgs[0].unsolved);
	ck_has(batch.msgs[0].error, "left the stream");
	for (int i = 0; i < 2; i++) {
		batch.msgs[0].outcome = OUT_UNSENT;
		ck_assert_str_eq(resolve(), "F");
		search_clear(&in_doubt.search);	/* another worker's look */
	}
	ck_rows("1000", "in_doubt_since IS NOT NULL");
}
END_TEST

/* What was read before it was removed is known. */
START_TEST(read_messages_may_be_removed)
{
	begin_to_look();
	fake.state.first = in_doubt.search.sure;
	fake.state.first_at = NOW;
	forget(1, fake.state.first - 1);
	batch.msgs[0].outcome = OUT_UNSENT;
	batch.claimed_at = clock_ms();
	ck_assert_str_eq(resolve(), "U");
}
END_TEST

/*
 * The account may not ask, nobody answers in it, or there is no answer at all:
 * however long that lasts, and whatever is stored meanwhile, nothing shows that
 * the message is absent.  As soon as the right is there it is used.
 */
static const struct {
	bool		 silent, nobody;
	const char	*why;
} blindness[] = {
	{ false, false, "the fake has no ear: the user in the section nats "
	  "lacks this right" },
	{ false, true, "the fake is silent" },
	{ true, false, "the fake is silent" },
};

START_TEST(blind_look_is_no_answer)
{
	bool	absent = _i % 2 == 1;

	fake.mute = true;
	fake.silent = blindness[_i / 2].silent;
	fake.nobody = blindness[_i / 2].nobody;
	take_in_doubt(1000, 1000, 100);
	for (int i = 0; i < 8; i++) {
		ck_assert_str_eq(resolve(), "F");
		ck_assert(batch.msgs[0].unsolved);
		ck_has(batch.msgs[0].error, blindness[_i / 2].why);
		batch.msgs[0].outcome = OUT_UNSENT;
		in_doubt.failures[0].since -= 31000;
	}
	ck_assert_int_gt(batch.msgs[0].delay_ms, 2000);
	ck_rows("1000", "in_doubt_since IS NOT NULL");
	ck_has_not(logged(), "sent again");
	fake.mute = false;
	if (!absent)
		fake.row[500] = 1000;
	ck_assert_str_eq(resolve(), absent ? "U" : "D");
}
END_TEST

/*
 * Several destinations
 */

static bool
always(void *arg)
{
	(void)arg;
	return true;
}

static const struct pub_ops	endpoint_ops = { .is_open = always };
static const struct bytes	hook = { "hook", 4 };

/* Messages of the type hook go to an endpoint, which is there. */
static void
doubt_begin_with_an_endpoint(void)
{
	static struct conf_route	rule = { .name = "hook", .subject = "",
					    .type = "hook", .topic = "",
					    .header = "", .endpoint = "",
					    .path = "", .driver = DRIVER_HTTP,
					    .envelope = CONF_INHERIT,
					    .max_attempts = CONF_INHERIT,
					    .backoff = CONF_INHERIT,
					    .max_backoff = CONF_INHERIT };

	doubt_begin();
	conf->publish.routes.items = &rule;
	conf->publish.routes.n = 1;
	route_set_init(&relay.routes, conf, &relay.form);
	ck_assert(relay.routes.several);
	relay.pubs[DRIVER_HTTP].ops = &endpoint_ops;
}

static void
doubt_end_with_an_endpoint(void)
{
	conf->publish.routes.items = NULL;
	conf->publish.routes.n = 0;
	doubt_end();
}

/* The stream tells nothing of what is in doubt there, and is not asked. */
START_TEST(doubt_at_an_endpoint_is_none_of_the_stream)
{
	take_in_doubt(1000, 1001, 100);
	fake.row[500] = 1000;
	fake.row[600] = 1001;
	batch.msgs[0].type = hook;
	ck_assert_str_eq(resolve(), "UD");
	batch.msgs[1].outcome = OUT_UNSENT;
	fake.closed = true;
	ck_assert_str_eq(resolve(), "UF");
	fake.asked = 0;
	batch.msgs[1].type = hook;
	batch.msgs[1].outcome = OUT_UNSENT;
	ck_assert_str_eq(resolve(), "UU");
	ck_assert_uint_eq(fake.asked, 0);
}
END_TEST

/*
 * However long the broker is away, and whatever others take meanwhile: its
 * messages are not taken for absent, and no second copy is sent.
 */
START_TEST(broker_that_is_away_tells_nothing)
{
	take_in_doubt(1000, 1000, 100);
	fake.row[850] = 1000;
	fake.mute = fake.nobody = true;
	fake.closed = true;
	for (int i = 0; i < 5; i++) {
		ck_assert_str_eq(resolve(), "F");
		batch.msgs[0].outcome = OUT_UNSENT;
		in_doubt.failures[0].since -= 31000;
		rec.at = 0;
		ck_assert(!look());
		rec.nobody_since -= 31000;
	}
	ck_rows("1000", "in_doubt_since IS NOT NULL");
	ck_has_not(logged(), "sent again");
	ck_has_not(logged(), "without a check");
	fake.mute = fake.closed = false;
	ck_assert_str_eq(resolve(), "D");
}
END_TEST

/*
 * The endpoint keeps what it takes and remembers no id: it answers what the
 * test says, row by row from 1000 on.
 */
static struct {
	enum found		 what[4];
	struct pub_sought	 asked[4];
	size_t			 n;		/* asked for last */
	struct message_id	 id;		/* found instead of the wanted */
} finder;

static void
fake_find(void *arg, const char *prefix, struct pub_sought *x, size_t n,
    int64_t end, const struct pub_go_on *go_on)
{
	(void)arg;
	ck_assert_str_eq(prefix, "shop");
	ck_assert_int_le(end, clock_ms() + 2000);
	ck_assert(go_on->ask(go_on->arg));
	finder.n = n;
	for (size_t i = 0; i < n; i++, x++) {
		ck_assert_str_eq(x->where, "s");
		finder.asked[i] = *x;
		x->found = finder.what[x->id.sequence - 1000];
		x->stored.sequence = x->id.sequence + 7;
		x->stored.id = finder.id.sequence != 0 ? finder.id : x->id;
		x->again_ms = 700;
		err_set(&x->why, "the fake may not read");
	}
}

static const struct pub_ops	finder_ops = { .finds_in = "shelf",
				    .is_open = always, .find = fake_find };

static void
take_for_the_shelf(uint64_t first, uint64_t last, int in_doubt_s)
{
	memset(&finder, 0, sizeof(finder));
	relay.pubs[DRIVER_HTTP].ops = &finder_ops;
	relay.routes.routes[0].form.subject = "s";
	take_in_doubt(first, last, in_doubt_s);
	for (size_t i = 0; i < batch.n; i++) {
		batch.msgs[i].type = hook;
		batch.msgs[i].has_event = true;
	}
}

/* However young the doubt is; and what is not in doubt is not asked for. */
START_TEST(no_id_is_remembered_so_each_doubt_is_looked_for)
{
	int64_t	now = clock_ms();

	take_for_the_shelf(1000, 1003, 1);
	finder.what[0] = FOUND_THERE;
	finder.what[1] = FOUND_ABSENT;
	finder.what[2] = FOUND_LATER;
	finder.what[3] = FOUND_UNKNOWN;
	ck_assert_str_eq(resolve(), "DUFF");
	/* It would be taken for one of the stream. */
	ck_assert_uint_eq(batch.msgs[0].ack_sequence, 0);
	ck_assert(!batch.msgs[2].unsolved && batch.msgs[3].unsolved);
	ck_assert_int_eq(batch.msgs[2].delay_ms, 700);
	ck_has(batch.msgs[3].error, "may be stored already, and the shelf "
	    "cannot be searched for it: the fake may not read");
	ck_rows("1001", "claim_token IS NOT NULL AND in_doubt_since IS NULL");
	ck_assert_int_le(finder.asked[0].since, now - 1000 + 200);
	ck_assert_int_ge(finder.asked[0].since, now - 10000);
	ck_assert_uint_eq(fake.asked, 0);
	batch_free(&batch);
	sql("DELETE FROM outbox WHERE claim_token IS NOT NULL");
	take_for_the_shelf(1000, 1000, -1);
	ck_assert_str_eq(resolve(), "U");
	ck_assert_uint_eq(finder.n, 0);
}
END_TEST

START_TEST(each_destination_is_searched_in_its_way)
{
	take_for_the_shelf(1000, 1003, 100);
	finder.what[0] = finder.what[3] = FOUND_ABSENT;
	batch.msgs[1].type = batch.msgs[2].type = (struct bytes){ NULL, 0 };
	batch.msgs[1].has_event = batch.msgs[2].has_event = false;
	fake.row[500] = 1000;		/* another one, of the stream */
	fake.row[600] = 1001;
	ck_assert_str_eq(resolve(), "UDUU");
	ck_assert_uint_eq(finder.n, 2);
	ck_rows("1000,1002,1003",
	    "claim_token IS NOT NULL AND in_doubt_since IS NULL");
}
END_TEST

/* For a while it is tried often; each destination has its own troubles. */
START_TEST(trouble_of_one_destination_is_none_of_the_other)
{
	take_for_the_shelf(1000, 1001, 100);
	finder.what[0] = FOUND_UNKNOWN;
	batch.msgs[1].type = (struct bytes){ NULL, 0 };
	ck_assert_str_eq(resolve(), "FU");
	ck_assert_int_le(batch.msgs[0].delay_ms, 2000);
	in_doubt.failures[DRIVER_HTTP].since -= 20000;
	batch.msgs[0].outcome = OUT_UNSENT;
	ck_assert_str_eq(resolve(), "FU");
	ck_assert_int_gt(batch.msgs[0].delay_ms, 2000);
	ck_assert_int_eq(in_doubt.failures[DRIVER_NATS].since, 0);
	batch.msgs[0].outcome = OUT_UNSENT;
	finder.what[0] = FOUND_LATER;
	ck_assert_str_eq(resolve(), "FU");
	ck_assert_int_eq(in_doubt.failures[DRIVER_HTTP].since, 0);
}
END_TEST

/* The time of the event may be another one now: it is found without it. */
START_TEST(found_by_row_alone_it_is_judged)
{
	struct msg	before;

	take_for_the_shelf(1000, 1000, 1);
	before = batch.msgs[0];
	batch.msgs[0].left_out = MSG_TIME;
	batch.msgs[0].time = (struct bytes){ AT, strlen(AT) };
	finder.what[0] = FOUND_THERE;
	finder.id = (struct message_id){ .sequence = 1000, .hash = 77,
	    .hashed = true };
	ck_assert_str_eq(resolve(), "U");
	ck_assert(!finder.asked[0].id.hashed);
	finder.id.hash = message_hash(&batch.msgs[0]);
	ck_assert_str_eq(resolve(), "D");
	batch.msgs[0] = before;
}
END_TEST

/* Its clock was put back: nobody knows since when. */
START_TEST(doubt_to_come_is_looked_for_everywhere_there)
{
	take_for_the_shelf(1000, 1000, 1);
	batch.msgs[0].in_doubt_ms = INT64_MAX;
	finder.what[0] = FOUND_THERE;
	ck_assert_str_eq(resolve(), "D");
	ck_assert_int_eq(finder.asked[0].since, INT64_MIN);
	ck_sql("1970", "SELECT YEAR(in_doubt_since) FROM outbox WHERE "
	    "claim_token IS NOT NULL");
}
END_TEST

static const char *const	blind[] = { "recover: off", "stream: \"\"" };

START_TEST(nothing_is_looked_for)
{
	again_with(blind[_i]);
	in_doubt_init(&in_doubt, conf, st, &relay);
	take_in_doubt(1000, 1000, 100);
	fake.row[500] = 1000;
	ck_assert_str_eq(resolve(), "U");
	ck_assert_uint_eq(fake.nplaces, 0);
}
END_TEST

void
add_doubts(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "doubt", k, k->start, doubt_begin, doubt_end);

	tcase_add_test(tc, another_event_of_the_same_number_is_not_found);
	tcase_add_test(tc, ids_of_an_earlier_version_are_found);
	tcase_add_test(tc, replay_is_not_found_by_its_first_message);
	tcase_add_test(tc, replay_is_looked_for_anew);
	tcase_add_loop_test(tc, only_old_doubts_are_looked_for, 0,
	    NROWS(ages));
	tcase_add_test(tc, found_and_absent_are_told_apart);
	tcase_add_loop_test(tc, all_is_read_where_nothing_is_known, 0, 2);
	tcase_add_test(tc, times_tell_where_to_begin);
	tcase_add_test(tc, moments_may_be_whole_seconds);
	tcase_add_test(tc, long_look_takes_many_turns);
	tcase_add_test(tc, older_doubt_reaches_farther_back);
	tcase_add_test(tc, younger_doubt_is_looked_for_anew);
	tcase_add_test(tc, doubts_to_come_are_looked_for_everywhere);
	tcase_add_test(tc, doubts_to_come_do_not_hide_others);
	tcase_add_test(tc, doubt_to_come_is_looked_for_anew);
	tcase_add_loop_test(tc, refused_doubt_holds_up_no_other, 0, 2);
	tcase_add_test(tc, doubt_to_come_takes_many_turns);
	tcase_add_test(tc, look_begins_anew_in_an_older_stream);
	tcase_add_test(tc, silence_is_waited_for);
	tcase_add_test(tc, nobody_is_waited_for_a_while);
	tcase_add_loop_test(tc, blind_look_is_no_answer, 0,
	    2 * NROWS(blindness));
	/* The state, what was before, six slices, and the state. */
	tcase_add_loop_test(tc, error_is_no_empty_stream, 0, 10);
	tcase_add_test(tc, all_messages_must_come);
	tcase_add_test(tc, replicas_settle_first);
	tcase_add_test(tc, lasting_trouble_is_told);
	tcase_add_loop_test(tc, look_is_at_one_stream, 0, NROWS(changes));
	tcase_add_loop_test(tc, known_rows_may_be_of_another_stream, 0, 2);
	tcase_add_loop_test(tc, removed_messages_are_not_absent, 0,
	    NROWS(cuts));
	tcase_add_test(tc, read_messages_may_be_removed);
	tcase_add_loop_test(tc, nothing_is_looked_for, 0, NROWS(blind));
	tc = add_case(s, "endpoint", k, k->start, doubt_begin_with_an_endpoint,
	    doubt_end_with_an_endpoint);
	tcase_add_test(tc, doubt_at_an_endpoint_is_none_of_the_stream);
	tcase_add_test(tc, broker_that_is_away_tells_nothing);
	tcase_add_test(tc, no_id_is_remembered_so_each_doubt_is_looked_for);
	tcase_add_test(tc, each_destination_is_searched_in_its_way);
	tcase_add_test(tc, trouble_of_one_destination_is_none_of_the_other);
	tcase_add_test(tc, found_by_row_alone_it_is_judged);
	tcase_add_test(tc, doubt_to_come_is_looked_for_everywhere_there);
}
