/*
 * relay_outcome.c - what becomes of each message
 *
 * By the script, and whatever happens; and what is told of the dead.
 */
#include "unit/relay_test.h"

#include "publish/advisory.h"

static const struct {
	const char	*keys, *acts;
	const char	*outcomes;	/* Unsent Delivered Retry deFer X ? */
	const char	*sent;
	int64_t		 window;	/* 0: as configured */
	bool		 no_dead, down;
	size_t		 lose_send, lose_wait, keep_at;
	enum keep	 keep;
	const char	*complaint, *why;
} flights[] = {
	/* All is well. */
	{ "", "", "", .sent = "" },
	{ "a", "A", "D", .sent = "0" },
	{ "aabbc", "AAAAA", "DDDDD", .sent = "02413" },
	{ "aabbc", "AAAAA", "DDDDD", .sent = "02413", .window = 2 },
	{ "abc", "AAA", "DDD", .sent = "012", .window = 1 },
	{ "aab", "DAD", "DDD", .sent = "021" },
	{ "--", "AA", "DD", .sent = "01" },
	{ "aAab", "AAAA", "DUDD", .sent = "032" },
	{ "AB", "AA", "UU", .sent = "" },

	/* The message's fault: it dies and its lane goes on. */
	{ "aab", "RAA", "XDD", .sent = "21", .why = "refused by the fake" },
	{ "aab", "bAA", "XDD", .sent = "21", .why = "not legal" },
	{ "aab", "bAA", "XDD", .sent = "21", .why = "not legal" },
	{ "aab", "oAA", "XDD", .sent = "21", .why = "6000 bytes are more than"
	  " the server's max_payload of 5000" },
	{ "aab", "lAA", "XDD", .sent = "21", .why = "6000 bytes are more than"
	  " the server's max_payload of 5000" },
	{ "aab", "hAA", "XDD", .sent = "21", .why = "header size exceeds" },
	{ "aab", "mAA", "XDD", .sent = "21", .why = "metadata of 1048577 bytes"
	  " is longer than 1048576" },
	{ "aaaa", "RRbb", "XXXX", .sent = "" },
	{ "aaaaa", "RbbRA", "XXXXD", .sent = "4", .window = 1 },
	/* With nowhere to die it waits, and so does its lane. */
	{ "aab", "RAA", "RUD", .sent = "2", .no_dead = true },
	{ "aab", "bAA", "RUD", .sent = "2", .no_dead = true },
	{ "aab", "bAA", "RUD", .sent = "2", .no_dead = true },

	/* An answer that is perhaps about it alone: see relay_trial.c. */
	{ "aab", "MAA", "FUD", .sent = "02", .why = "answer M" },
	{ "aab", "BAA", "FUD", .sent = "02", .why = "answer B" },
	{ "aab", "CAA", "FUD", .sent = "02", .why = "answer C" },
	{ "a", "M", "F", .sent = "0" },
	{ "ab", "MM", "FF", .sent = "01", .down = true },

	/* Nobody's: it is tried again, its lane waits, others go on. */
	{ "aab", "TAA", "RUD", .sent = "02", .why = "answer T" },
	{ "aaabab", "ATAAAA", "DRUDUD", .sent = "0315" },
	{ "ab", "TT", "RR", .sent = "01" },
	{ "aab", "JAA", "FUD", .sent = "02", .why = "answer J" },
	{ "a", "J", "F", .sent = "0" },
	{ "a", "T", "R", .sent = "0" },
	{ "abc", "sAA", "FDD", .sent = "012",
	  .why = "no answer within 100 ms" },
	{ "aabb", "sAAA", "FUDD", .sent = "023" },

	/* The destination's: nobody is to blame. */
	{ "abc", "sss", "FFF", .sent = "012", .down = true,
	  .why = "no answer" },
	{ "a", "s", "F", .sent = "0", .down = true },
	{ "aab", "sAs", "FUF", .sent = "02", .down = true },
	{ "a", "X", "F", .sent = "0", .down = true, .why = "answer X" },
	{ "aab", "XAX", "FUF", .sent = "02", .down = true },
	{ "abs", "XsX", "FFF", .sent = "012", .down = true },
	{ "aab", "XAA", "FUD", .sent = "02", .why = "answer X" },
	{ "abc", "XAX", "FDF", .sent = "012" },
	{ "abc", "AXX", "DFF", .sent = "012", .window = 1 },
	/* Somebody else answers; so does the stream, or it does not. */
	{ "aab", "EAA", "DDD", .sent = "021" },
	{ "a", "Q", "F", .sent = "0", .down = true, .why = "answer Q" },
	{ "aab", "QAA", "FUD", .sent = "02", .why = "answer Q" },
	{ "abc", "QQA", "FFD", .sent = "012" },
	/* Nobody says which; when all others have answers it shows. */
	{ "a", "N", "F", .sent = "0000", .down = true,
	  .why = "no stream takes subject \"events.T\" (type T)" },
	{ "aab", "NAN", "FUF", .sent = "02020202", .down = true },
	{ "aab", "NAA", "FUD", .sent = "02000",
	  .why = "no stream takes" },
	{ "abc", "ANA", "DFD", .sent = "012111" },
	{ "abcd", "NANT", "FDFR", .sent = "0123020202" },
	{ "abab", "NAAA", "FDUD", .sent = "000013", .window = 1 },
	{ "a", "P", "F", .sent = "0000", .down = true,
	  .why = "no stream takes" },
	{ "aabc", "PNAN", "FUDF", .sent = "023030303" },
	/* Nobody was there for a moment: as if nothing had happened. */
	{ "a", "1", "D", .sent = "00" },
	{ "a", "3", "D", .sent = "0000" },
	{ "aab", "1AA", "DDD", .sent = "0201" },
	{ "aaab", "3ANA", "DDFD", .sent = "0300012" },
	{ "abc", "123", "DDD", .sent = "012012122" },
	{ "abab", "2AAA", "DDDD", .sent = "000123", .window = 1 },
	{ "aab", "1MT", "DFR", .sent = "0201" },
	/* But this one is named too late. */
	{ "ab", "Ns", "FF", .sent = "01", .down = true },
	/* Too late, or nothing more is to be sent: it counts. */
	{ "a", "N", "F", .sent = "0", .down = true, .keep_at = 3,
	  .keep = KEEP_FINISH },
	{ "aa", "NA", "UU", .sent = "0", .keep_at = 3,
	  .keep = KEEP_ABANDON },
	{ "ab", "NN", "UU", .sent = "010", .lose_send = 4, .down = true,
	  .why = "connection" },
	{ "ab", "NN", "UU", .sent = "01", .lose_wait = 2, .down = true,
	  .why = "connection" },
	/* A fault is a fault, with the destination up or down. */
	{ "abc", "XMT", "FFR", .sent = "012", .down = true,
	  .why = "answer X" },
	{ "abc", "sRb", "FXX", .sent = "0", .down = true },
	/* What was said explains the silence. */
	{ "ab", "ss", "FF", .sent = "01", .down = true,
	  .complaint = "no permission", .why = "no permission" },
	{ "ab", "sA", "FD", .sent = "01", .complaint = "no permission",
	  .why = "no permission" },
	{ "ab", "AA", "DD", .sent = "01", .complaint = "no permission" },
	/* The server forbids it, which is an answer: the batch goes on. */
	{ "abc", "sss", "FFF", .sent = "012", .window = 1, .down = true,
	  .complaint = "Permissions Violation", .why = "Violation" },
	/* Another complaint is none: the next would be in doubt as well. */
	{ "abc", "sss", "FUU", .sent = "0", .window = 1, .down = true,
	  .complaint = "slow consumer", .why = "slow consumer" },

	/* The connection goes: what has no answer is sent again. */
	{ "abc", "AAA", "UUU", .sent = "", .lose_send = 1, .down = true,
	  .why = "connection" },
	{ "abcd", "AAAA", "UUUU", .sent = "01", .lose_send = 3, .down = true,
	  .why = "connection" },
	{ "abcd", "AAAA", "DDUU", .sent = "01", .lose_send = 3, .window = 1,
	  .down = true },
	{ "abc", "AAA", "UUU", .sent = "012", .lose_wait = 1, .down = true },
	{ "aabc", "AAAA", "DUDD", .sent = "0231", .lose_wait = 2,
	  .down = true },
	{ "abc", "AAA", "UUU", .sent = "012", .lose_wait = 1, .down = true,
	  .complaint = "not written", .why = "lost: not written" },
	{ "aab", "TAA", "RUU", .sent = "02", .lose_wait = 2, .window = 1,
	  .down = true },
	{ "ab", "XA", "FD", .sent = "01", .lose_wait = 3, .window = 1 },
	{ "abc", "XAA", "FDU", .sent = "012", .lose_wait = 3, .window = 1,
	  .down = true },

	/* The owner wants to go. */
	{ "abc", "AAA", "DUU", .sent = "0", .window = 1, .keep_at = 2,
	  .keep = KEEP_FINISH },
	{ "aab", "AAA", "DUD", .sent = "02", .keep_at = 2,
	  .keep = KEEP_FINISH },
	{ "abc", "AsA", "DFU", .sent = "01", .window = 2, .keep_at = 2,
	  .keep = KEEP_FINISH },
	{ "ab", "AA", "UU", .sent = "", .keep_at = 1, .keep = KEEP_FINISH },
	{ "ab", "AA", "UU", .sent = "", .keep_at = 1, .keep = KEEP_ABANDON },
	{ "aabc", "AAss", "DU??", .sent = "023", .keep_at = 2,
	  .keep = KEEP_ABANDON },
	{ "abc", "XsA", "F?U", .sent = "01", .window = 2, .keep_at = 2,
	  .keep = KEEP_ABANDON, .down = true },
};

START_TEST(each_gets_its_outcome)
{
	script(flights[_i].keys, flights[_i].acts);
	if (flights[_i].window != 0)
		conf->publish.window = flights[_i].window;
	relay.has_dead = !flights[_i].no_dead;
	fake.lose_send = flights[_i].lose_send;
	fake.lose_wait = flights[_i].lose_wait;
	fake.keep_at = flights[_i].keep_at;
	fake.keep = flights[_i].keep;
	fake.complaint = flights[_i].complaint;
	fake.leaderless = UNFIT;	/* so it may be the stream */
	publish_as(flights[_i].outcomes);
	expect_sent(flights[_i].sent);
	ck_assert(res.down == flights[_i].down);
	if (flights[_i].why != NULL)
		holds(res.why.text, flights[_i].why);
	ck_assert_uint_le(fake.most_out, (size_t)conf->publish.window);
}
END_TEST

/* What another stream says leaves open whether it is stored where it should. */
START_TEST(answer_of_another_leaves_doubt)
{
	script("abcde", "QxEAX");
	publish_as("FFDDF");
	ck_assert(msgs[0].in_doubt && msgs[1].in_doubt);
	ck_assert(!msgs[2].in_doubt && !msgs[4].in_doubt);
	ck_assert_int_eq(res.failures.refused[CLASS_WRONG_STREAM], 1);
}
END_TEST

static const struct {
	int		 ordering;
	const char	*keys, *acts, *outcomes;
} orderings[] = {
	{ ORDER_KEY, "abab", "TAAA", "RDUD" },
	{ ORDER_PARTITION, "abab", "ATAA", "DRUU" },
	{ ORDER_NONE, "aaaa", "TAAA", "RDDD" },
};

START_TEST(failure_closes_its_lane_only)
{
	conf->outbox.ordering = orderings[_i].ordering;
	script(orderings[_i].keys, orderings[_i].acts);
	publish_as(orderings[_i].outcomes);
}
END_TEST

static const struct {
	unsigned	attempts;
	int64_t		delay;
} delays[] = {
	{ 0, 1000 }, { 1, 2000 }, { 2, 4000 }, { 7, 128000 }, { 8, 256000 },
	{ 9, 300000 }, { 23, 300000 },
};

START_TEST(retry_waits_longer_each_time)
{
	int64_t	delay = delays[_i].delay;

	script("abc", "TTA");
	msgs[0].attempts = msgs[1].attempts = delays[_i].attempts;
	publish_as("RRD");
	for (int i = 0; i < 2; i++) {
		ck_assert_int_ge(msgs[i].delay_ms, delay - delay / 5);
		ck_assert_int_le(msgs[i].delay_ms, delay + delay / 5);
		ck_assert_uint_eq(msgs[i].attempts, delays[_i].attempts);
	}
}
END_TEST

static const struct {
	char		 act;
	unsigned	 attempts;
	bool		 no_dead;
	const char	*outcomes;
} deaths[] = {
	{ 'T', 23, false, "RUD" },
	{ 'T', 24, false, "XUD" },
	{ 'T', 25, false, "XUD" },
	{ 's', 24, false, "FUD" },
	{ 'T', 24, true, "RUD" },
	{ 't', 24, false, "RUD" },	/* too many requests */
	{ 'X', 24, false, "FUD" },
};

START_TEST(last_attempt_is_the_last)
{
	char	acts[] = "?AA";

	acts[0] = deaths[_i].act;
	script("aab", acts);
	relay.has_dead = !deaths[_i].no_dead;
	msgs[0].attempts = deaths[_i].attempts;
	publish_as(deaths[_i].outcomes);
	if (msgs[0].outcome == OUT_DEAD)
		ck_assert_str_eq(msgs[0].reason, "attempts");
	if (deaths[_i].no_dead)
		ck_assert_int_eq(msgs[0].delay_ms, conf->retry.max_backoff);
}
END_TEST

/* Tables may be loaded one after the other. */
START_TEST(event_may_still_come)
{
	static const struct {
		int64_t		 after;		/* the one before */
		const char	*outcomes;
		int64_t		 delay_ms;
	} tries[] = {
		{ 0, "FD", 1000 }, { 20000, "FD", 5000 }, { 40000, "FD", 15000 },
		{ 50000, "FD", 27500 }, { 61000, "FD", 1000 },
		{ 58000, "FD", 14500 }, { 58000, "XD", 0 },
		{ 61000, "FD", 1000 },
	};

	conf->retry.blame_after = 115000;
	for (size_t i = 0; i < NROWS(tries); i++) {
		now_ms += tries[i].after;
		next_script("ab", "eA");
		publish_as(tries[i].outcomes);
		ck_assert_int_eq(msgs[0].delay_ms, tries[i].delay_ms);
		holds(msgs[0].error, "an event that does not exist");
	}
}
END_TEST

static const char	faults[] = "Rb";

START_TEST(fault_has_its_reason)
{
	char	acts[] = "?";

	acts[0] = faults[_i];
	script("a", acts);
	publish();
	ck_assert_str_eq(msgs[0].reason, "message");
	ck_assert_ptr_nonnull(strstr(res.why.text, msgs[0].error));
	ck_assert_ptr_nonnull(strstr(res.why.text, "sequence 100"));
	relay_teardown();
	relay_setup();
	script("a", acts);
	relay.has_dead = false;
	publish();
	ck_assert_int_eq(msgs[0].delay_ms, conf->retry.max_backoff);
}
END_TEST

/* Refusals cost little, and a later message may be welcome. */
START_TEST(refusals_do_not_stop_the_batch)
{
	conf->publish.window = 1;
	script_many(40, 'X');
	publish();
	ck_assert(res.down);
	ck_assert(!res.elsewhere);
	ck_assert_uint_eq(fake.nsent, 40);
	ck_assert_uint_eq(res.failed, 0);
	for (size_t i = 0; i < batch.n; i++)
		ck_assert_int_eq(msgs[i].outcome, OUT_DEFER);
}
END_TEST

/* Silence costs a time-out and leaves doubt: one is enough. */
START_TEST(silence_stops_the_batch)
{
	conf->publish.window = 1;
	script_many(40, 's');
	publish();
	ck_assert(res.down);
	ck_assert(res.elsewhere);
	ck_assert_uint_eq(fake.nsent, 1);
	ck_assert_int_eq(msgs[0].outcome, OUT_DEFER);
	ck_assert_int_eq(msgs[1].outcome, OUT_UNSENT);
}
END_TEST

START_TEST(an_ack_makes_refusals_bearable)
{
	conf->publish.window = 1;
	script_many(40, 'X');
	((char *)(uintptr_t)fake.acts)[15] = 'A';
	publish();
	ck_assert(!res.down);
	ck_assert_uint_eq(fake.nsent, 40);
	ck_assert_uint_eq(res.failed, 39);
}
END_TEST

/* Who does not read what was sent gets no more of it. */
START_TEST(nothing_is_added_to_what_is_unread)
{
	conf->worker.batch_bytes = 65536;
	script("ab", "AA");
	fake.unread = 8192;
	relay_publish(&relay, &batch, &res);
	expect("UU");
	ck_assert(res.down);
	holds(res.why.text, "does not read");
	ck_assert_uint_eq(res.failed, 0);
	ck_assert_uint_eq(fake.nsends, 0);
	next_script("ab", "AA");
	fake.unread = 8191;
	publish_as("DD");
}
END_TEST

START_TEST(bytes_out_are_bounded)
{
	static const char	page[4096];

	conf->worker.batch_bytes = 65536;
	script("abcdefgh", "AAAAAAAA");
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].payload = (struct bytes){ page, sizeof(page) };
	publish_as("DDDDDDDD");
	ck_assert_uint_eq(fake.most_out, 2);
}
END_TEST

START_TEST(nothing_is_sent_after_the_deadline)
{
	int64_t	spare = conf->worker.claim_ttl - TIMEOUT_MS -
		    CONF_CLAIM_MARGIN_MS;

	script("ab", "AA");
	/* The last millisecond, the first one too late, and much too late. */
	batch.claimed_at = now_ms - spare + 1 - (_i == 2 ? 100000 : _i);
	publish_as(_i == 0 ? "DD" : "UU");
	expect_sent(_i == 0 ? "01" : "");
	ck_assert(!res.down);
}
END_TEST

START_TEST(deadline_may_come_in_between)
{
	int64_t	spare = conf->worker.claim_ttl - TIMEOUT_MS -
		    CONF_CLAIM_MARGIN_MS;

	script("aaabb", "AAAAA");
	batch.claimed_at = now_ms - spare + 160;
	for (size_t i = 0; i < 3; i++)
		fake.delay[i] = 80;
	fake.delay[3] = fake.delay[4] = 90;
	publish();
	/* Sent at 0 and 80; at 160 it is too late, but not to listen. */
	expect("DDUDD");
	expect_sent("0314");
	ck_assert(!res.down);
}
END_TEST

START_TEST(silence_costs_one_timeout)
{
	script("abc", _i == 0 ? "sss" : "sAs");
	publish();
	ck_assert_int_eq(now_ms, START_MS + TIMEOUT_MS);
}
END_TEST

/* The owner has leases to renew meanwhile; the fake checks how often. */
START_TEST(owner_is_asked_while_it_is_quiet)
{
	conf->publish.timeout_ms = 5000;
	script("ab", "As");
	publish_as("DF");
	ck_assert_uint_ge(fake.nkeeps, 10);
	ck_assert_int_eq(now_ms, START_MS + 5000);
	ck_assert_int_eq(res.stalled_ms, 0);
}
END_TEST

/*
 * Those without an answer behind which all have theirs: the slowest answer of
 * the others, when the last of them came, and how long they are waited for.
 */
static const struct {
	const char	*keys, *acts, *outcomes;
	int64_t		 delay[4];
	int64_t		 took, stalled;
} overtaken[] = {
	{ "ab", "sA", "FD", { 0, 1 }, 1 + 250, 250 },
	{ "ab", "sA", "FD", { 0, 100 }, 100 + 400, 400 },
	{ "ab", "sA", "FD", { 0, 2000 }, 5000, 3000 },
	{ "abc", "ssA", "FFD", { 0, 0, 1 }, 1 + 250, 250 },
	{ "aabc", "sAAA", "FUDD", { 0, 1, 1, 1 }, 1 + 250, 250 },
	{ "abb", "sAA", "FDD", { 0, 1, 200 }, 201 + 800, 800 },
	{ "abb", "sAs", "FDF", { 0, 100, 0 }, 5100, 4900 },
	{ "abc", "AAA", "DDD", { 1, 240, 1 }, 240, 0 },
	/* A duplicate is answered at once, and overtakes what is stored. */
	{ "ab", "sD", "FD", { 0, 1 }, 5000, 0 },
	{ "ab", "AD", "DD", { 2000, 1 }, 2000, 0 },
	{ "abc", "ssD", "FFD", { 0, 0, 1 }, 5000, 0 },
	{ "abc", "sDA", "FDD", { 0, 1, 1 }, 1 + 250, 250 },
};

/*
 * A leader that goes takes some with it, in each of some elections: that uses
 * no attempt, and they come again soon.  What nobody ever answers has an end.
 */
START_TEST(attempts_are_for_silence_that_lasts)
{
	const char	*acts = _i == 0 ? "sA" : "JA";
	int64_t		 start = now_ms;
	size_t		 i;

	for (i = 0; now_ms - start < conf->retry.blame_after / 10; i++) {
		next_script("ab", acts);
		msgs[0].attempts = 24;
		publish_as("FD");
		ck_assert_int_le(msgs[0].delay_ms, i == 0 ? 1200 : 6000);
		ck_assert(msgs[0].in_doubt);
		ck_assert_uint_eq(res.failures.transient, 1);
		now_ms += msgs[0].delay_ms;
	}
	ck_assert_uint_ge(i, 4);
	next_script("ab", acts);
	publish_as("RD");
	next_script("ab", acts);
	msgs[0].attempts = 24;
	publish_as("XD");
	ck_assert_str_eq(msgs[0].reason, "attempts");
	/* Once it was delivered, all of that is over. */
	next_script("ab", "AA");
	publish_as("DD");
	next_script("ab", acts);
	publish_as("FD");
}
END_TEST

/*
 * An outage that begins amid a batch, after some of it was taken: the rest need
 * not wait for longer than it lasts.
 */
START_TEST(silence_amid_a_batch_is_soon_over)
{
	script("abcd", "AAss");
	relay.form.stream = _i == 0 ? "EVENTS" : "";
	publish_as("DDFF");
	ck_assert(!res.down);
	for (int i = 2; i < 4; i++)
		ck_assert_int_le(msgs[i].delay_ms, _i == 0 ? 1200 : 3200);
	/* But what never answers costs less and less. */
	for (int i = 0; i < 5; i++) {
		now_ms += msgs[2].delay_ms;
		next_script("abcd", "AAss");
		publish_as("DDFF");
	}
	ck_assert_int_ge(msgs[2].delay_ms, 4000);
	/* And not others. */
	next_script("abcd", "AAss");
	msgs[2].sequence++;
	msgs[3].sequence++;
	publish();
	ck_assert_int_le(msgs[3].delay_ms, _i == 0 ? 1200 : 3200);
}
END_TEST

START_TEST(overtaken_ones_are_not_waited_for)
{
	conf->publish.timeout_ms = 5000;
	script(overtaken[_i].keys, overtaken[_i].acts);
	for (size_t i = 0; i < strlen(overtaken[_i].keys); i++)
		fake.delay[i] = overtaken[_i].delay[i];
	publish_as(overtaken[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + overtaken[_i].took);
	ck_assert_int_eq(res.stalled_ms, overtaken[_i].stalled);
	ck_assert(!res.down);
}
END_TEST

/* Subjects may move to another stream between two batches. */
static void
draw_streams(size_t n)
{
	static char	names[MANY];
	int		shift = rand() % 4 == 0 ? rand() % 3 : 0;

	relay.form.stream = "";
	relay.watch = false;
	fake.streams = names;
	for (size_t i = 0; i < n; i++)
		names[i] = (char)('1' + (msgs[i].type.data[0] + shift) % 3);
}

/* Whatever happens, the fake sees order, bound and deadline kept. */
START_TEST(promise_is_kept_whatever_happens)
{
	static const char	fates[] = "AAAAAAAAAAAADDMTXNP123sRbe";
	char			keys[301], acts[301];

	srand((unsigned)_i);
	draw_keys(keys, 300, 1 + _i, 20);
	for (size_t i = 0; i < 300; i++)
		acts[i] = fates[(size_t)rand() % (sizeof(fates) - 1)];
	acts[300] = '\0';
	script(keys, acts);
	batch.claimed_at = now_ms - 27900 + rand() % 1000;
	conf->publish.window = 1 + rand() % 30;
	conf->outbox.ordering = rand() % 3;
	relay.has_dead = rand() % 4 != 0;
	if (_i % 2 == 1)
		draw_streams(300);
	fake.lose_send = rand() % 3 == 0 ? (size_t)rand() % 300 : 0;
	fake.lose_wait = rand() % 3 == 0 ? (size_t)rand() % 300 : 0;
	fake.keep_at = rand() % 3 == 0 ? (size_t)rand() % 100 : 0;
	fake.keep = rand() % 2 == 0 ? KEEP_FINISH : KEEP_ABANDON;
	for (size_t i = 0; i < 300; i++) {
		msgs[i].attempts = (unsigned)rand() % 26;
		fake.delay[i] = rand() % 20 == 0 ? 80 + rand() % 40 :
		    rand() % 5;
	}
	publish();
}
END_TEST

/* Types come and go: in each batch some of them are not taken. */
static void
draw_types(char *letters, char *acts, size_t n)
{
	static const char	fates[] = "AAAXsNPT";
	char			of[4];

	for (size_t k = 0; k < sizeof(of); k++)
		of[k] = fates[(size_t)rand() % (sizeof(fates) - 1)];
	for (size_t i = 0; i < n; i++) {
		int k = rand() % 4;

		letters[i] = (char)('w' + k);
		if (of[k] != 'A' || rand() % 4 != 0)
			acts[i] = of[k];
	}
}

START_TEST(promise_is_kept_with_many_types)
{
	static const char	fates[] = "AAAADDMTXNP123sR";
	char			keys[61], acts[61], letters[60];

	srand((unsigned)_i);
	conf->publish.window = 1 + rand() % 30;
	conf->publish.timeout_ms = rand() % 2 == 0 ? 100 : 5000;
	conf->outbox.ordering = rand() % 3;
	for (int round = 0; round < 30; round++) {
		draw_keys(keys, 60, 1 + rand() % 26, 20);
		for (size_t i = 0; i < 60; i++)
			acts[i] = fates[(size_t)rand() % (sizeof(fates) - 1)];
		acts[60] = '\0';
		draw_types(letters, acts, 60);
		now_ms += rand() % 3000;
		next_script(keys, acts);
		types(letters);
		if (_i % 2 == 1)
			draw_streams(60);
		batch.claimed_at = now_ms - rand() % 25000;
		relay.has_dead = rand() % 4 != 0;
		relay.went_back = false;
		fake.lose_send = rand() % 6 == 0 ? (size_t)rand() % 60 : 0;
		fake.lose_wait = rand() % 6 == 0 ? (size_t)rand() % 60 : 0;
		fake.keep_at = rand() % 6 == 0 ? (size_t)rand() % 20 : 0;
		fake.keep = rand() % 2 == 0 ? KEEP_FINISH : KEEP_ABANDON;
		for (size_t i = 0; i < 60; i++)
			fake.delay[i] = rand() % 5;
		publish();
		ck_assert_uint_lt(fake.nwaits, 1000);
	}
}
END_TEST

/*
 * advisory
 */

static const struct {
	struct bytes	 key;
	const char	*reason, *text;
} advisories[] = {
	{ { "k\"1", 3 }, "message", "{\"outbox\":\"shop\",\"sequence\":7,"
	  "\"partition\":\"p01\",\"key\":\"k\\\"1\",\"type\":\"T\","
	  "\"reason\":\"message\",\"class\":\"message\",\"attempts\":3,"
	  "\"error\":\"why\",\"time\":\"2026-01-31T12:00:00.042Z\"}" },
	{ { NULL, 0 }, "attempts", "\"key\":null,\"type\":\"T\","
	  "\"reason\":\"attempts\",\"class\":\"transient\"" },
	{ { "a\0\xff" "b", 4 }, "message", "\"key\":\"0x6100ff62\"" },
};

START_TEST(advisory_tells_all)
{
	char		why[] = "why", *text;
	struct msg	m = { .sequence = 7, .partition = BYTES("p01"),
			    .key = advisories[_i].key, .type = BYTES("T"),
			    .attempts = 2, .reason = advisories[_i].reason,
			    .error = why };

	text = advisory_text(&m, "shop", INT64_C(1769860800042));
	holds(text, advisories[_i].text);
	free(text);
}
END_TEST

/* Rows that were somebody else's by then: nobody knows which. */
static const struct {
	const char	*subject;
	uint64_t	 buried;
	unsigned	 told;
} tellings[] = {
	{ "ops.dead", 2, 2 }, { "ops.dead", 1, 0 }, { "ops.dead", 0, 0 },
	{ "", 2, 0 },
};

START_TEST(advisory_is_for_the_buried)
{
	char	why[] = "why";

	batch_of("abc");
	for (int i = 0; i < 2; i++) {
		msgs[i].outcome = OUT_DEAD;
		msgs[i].reason = "message";
		msgs[i].error = why;
	}
	free(conf->nats.advisory);
	conf->nats.advisory = strdup(tellings[_i].subject);
	advisory_tell(&relay, &batch, tellings[_i].buried);
	ck_assert_uint_eq(fake.ntold, tellings[_i].told);
	batch.n = 0;
}
END_TEST

void
add_outcomes(TCase *tc)
{
	tcase_add_loop_test(tc, each_gets_its_outcome, 0, NROWS(flights));
	tcase_add_test(tc, answer_of_another_leaves_doubt);
	tcase_add_loop_test(tc, failure_closes_its_lane_only, 0,
	    NROWS(orderings));
	tcase_add_loop_test(tc, retry_waits_longer_each_time, 0,
	    NROWS(delays));
	tcase_add_loop_test(tc, last_attempt_is_the_last, 0, NROWS(deaths));
	tcase_add_test(tc, event_may_still_come);
	tcase_add_loop_test(tc, fault_has_its_reason, 0,
	    (int)strlen(faults));
	tcase_add_test(tc, refusals_do_not_stop_the_batch);
	tcase_add_test(tc, silence_stops_the_batch);
	tcase_add_test(tc, an_ack_makes_refusals_bearable);
	tcase_add_test(tc, nothing_is_added_to_what_is_unread);
	tcase_add_test(tc, bytes_out_are_bounded);
	tcase_add_loop_test(tc, nothing_is_sent_after_the_deadline, 0, 3);
	tcase_add_test(tc, deadline_may_come_in_between);
	tcase_add_loop_test(tc, silence_costs_one_timeout, 0, 2);
	tcase_add_test(tc, owner_is_asked_while_it_is_quiet);
	tcase_add_loop_test(tc, attempts_are_for_silence_that_lasts, 0, 2);
	tcase_add_loop_test(tc, silence_amid_a_batch_is_soon_over, 0, 2);
	tcase_add_loop_test(tc, overtaken_ones_are_not_waited_for, 0,
	    NROWS(overtaken));
	tcase_add_loop_test(tc, promise_is_kept_with_many_types, 0, 60);
	tcase_add_loop_test(tc, promise_is_kept_whatever_happens, 0, 25);
}

void
add_advisories(TCase *tc)
{
	tcase_add_loop_test(tc, advisory_tells_all, 0, NROWS(advisories));
	tcase_add_loop_test(tc, advisory_is_for_the_buried, 0,
	    NROWS(tellings));
}
