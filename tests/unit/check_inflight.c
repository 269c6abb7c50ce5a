/*
 * check_inflight.c - the messages of a batch that may be under way at a time
 *
 * The window, and the memory budget for the bodies.
 */
#include "unit/batch.h"

#include "publish/memory_budget.h"
#include "publish/inflight.h"

static struct conf	*conf;

/*
 * window
 */

static struct inflight	win;

static void
win_teardown(void)
{
	inflight_free(&win);
}

/* A window of so many messages over a batch. */
static void
open_window(const char *keys, size_t max)
{
	batch_of(keys);
	inflight_init(&win, &batch, ORDER_KEY, max, SIZE_MAX);
}

/* As it was sent: a header of 10 bytes, and twice the payload. */
static size_t
sent_size(size_t i)
{
	return 10 + 2 * msgs[i].payload.len;
}

/* These messages are delivered, and then those are sent: digits. */
static void
ck_next(const char *delivered, const char *want)
{
	char	sent[64];
	size_t	i, n = 0;

	for (; *delivered != '\0'; delivered++)
		inflight_resolved(&win, (size_t)(*delivered - '0'), true);
	while (inflight_next(&win, &i)) {
		inflight_sent(&win, i, sent_size(i));
		sent[n++] = (char)('0' + i);
	}
	sent[n] = '\0';
	ck_assert_str_eq(sent, want);
}

START_TEST(window_sends_one_of_a_lane)
{
	open_window("abaacab", 100);
	ck_next("", "014");
	ck_assert_uint_eq(win.unresolved, 3);
	ck_next("4", "");
	ck_next("0", "2");
	ck_next("12", "63");
	ck_next("3", "5");
	ck_assert(inflight_has_work(&win));
	ck_next("56", "");
	ck_assert(!inflight_has_work(&win));
}
END_TEST

START_TEST(window_stops_at_max)
{
	open_window("abcdea", 2);
	ck_next("", "01");
	ck_next("1", "2");
	ck_next("02", "34");
}
END_TEST

/* One may go beyond: a message larger than all that may be out must go. */
START_TEST(window_stops_at_max_bytes)
{
	batch_of("abcdefa");
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].payload.len = i == 4 ? 2500 : 15;
	msgs[0].payload.len = 35;
	inflight_init(&win, &batch, ORDER_KEY, 100, 100);
	ck_next("", "01");
	ck_next("1", "2");
	ck_next("02", "34");
	ck_next("3", "");
	ck_next("4", "56");
}
END_TEST

START_TEST(window_closes_a_lane)
{
	open_window("abaab", 100);
	ck_next("", "01");
	inflight_resolved(&win, 0, false);
	ck_next("", "");
	ck_next("1", "4");
	ck_next("4", "");
	ck_assert(!inflight_has_work(&win));
}
END_TEST

START_TEST(window_skips_what_was_not_sent)
{
	size_t	i;

	open_window("aaabb", 1);
	ck_assert(inflight_next(&win, &i));
	ck_assert_uint_eq(i, 0);
	inflight_skipped(&win, 0, true);
	ck_assert(inflight_next(&win, &i));
	ck_assert_uint_eq(i, 3);
	inflight_skipped(&win, 3, false);
	ck_assert_uint_eq(win.unresolved, 0);
	ck_assert(inflight_has_work(&win));
	ck_next("", "1");
	ck_next("1", "2");
	ck_next("2", "");
	ck_assert(!inflight_has_work(&win));
}
END_TEST

static const struct {
	const char		*keys;
	enum conf_ordering	 ordering;
	const char		*first;		/* what may be sent at once */
} firsts[] = {
	{ "", ORDER_KEY, "" },
	{ "ABC", ORDER_KEY, "" },
	{ "Abab", ORDER_KEY, "12" },
	{ "AaB", ORDER_KEY, "1" },
	{ "aAb", ORDER_KEY, "02" },
	{ "---", ORDER_KEY, "012" },
	{ "aa-a", ORDER_KEY, "02" },
	{ "abab", ORDER_PARTITION, "0" },
	{ "Abab", ORDER_PARTITION, "1" },
	{ "aaaa", ORDER_NONE, "0123" },
	{ "aAaa", ORDER_NONE, "023" },
};

START_TEST(window_leaves_out_what_is_held)
{
	batch_of(firsts[_i].keys);
	inflight_init(&win, &batch, firsts[_i].ordering, 100, SIZE_MAX);
	ck_next("", firsts[_i].first);
	ck_assert(inflight_has_work(&win) == (firsts[_i].first[0] != '\0'));
}
END_TEST

START_TEST(held_message_does_not_break_the_lane)
{
	open_window("aAa", 100);
	ck_next("", "0");
	ck_next("0", "2");
}
END_TEST

START_TEST(keys_are_compared_as_bytes)
{
	batch_of("abcdef");
	msgs[0].key = BYTES("k");
	msgs[1].key = BYTES("K");
	msgs[2].key = BYTES("k\0");
	msgs[3].key = BYTES("k ");
	msgs[4].key = BYTES("");
	msgs[5].key = BYTES("k");
	inflight_init(&win, &batch, ORDER_KEY, 100, SIZE_MAX);
	ck_next("", "01234");
}
END_TEST

/* What the model knows of a message. */
enum model { WAITING, FLYING, GOOD, BAD };

/* The next one to be sent must be the first of its lane that is not done. */
static void
check_turn(const enum model *is, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!msgs[j].held && msgs[j].key.data[0] == msgs[i].key.data[0])
			ck_assert_msg(is[j] == GOOD,
			    "%zu overtakes %zu", i, j);
	ck_assert(is[i] == WAITING);
	ck_assert(!msgs[i].held);
}

START_TEST(window_keeps_order_whatever_happens)
{
	char		keys[MANY + 1];
	enum model	is[MANY] = { WAITING };
	size_t		out[MANY], nout = 0, i, k, max;
	bool		bad[256] = { false };

	srand((unsigned)_i);
	draw_keys(keys, MANY, 1 + _i * 3, 10);
	batch_of(keys);
	max = 1 + (size_t)rand() % 20;
	inflight_init(&win, &batch, ORDER_KEY, max, SIZE_MAX);
	while (inflight_has_work(&win)) {
		while (rand() % 8 != 0 && inflight_next(&win, &i)) {
			check_turn(is, i);
			if (rand() % 10 == 0) {
				is[i] = rand() % 4 == 0 ? BAD : GOOD;
				inflight_skipped(&win, i, is[i] == GOOD);
				continue;
			}
			is[i] = FLYING;
			inflight_sent(&win, i, sent_size(i));
			out[nout++] = i;
			ck_assert_uint_le(nout, max);
		}
		ck_assert_uint_eq(win.unresolved, nout);
		if (nout == 0)
			continue;
		k = (size_t)rand() % nout;
		i = out[k];
		out[k] = out[--nout];
		is[i] = rand() % 50 == 0 ? BAD : GOOD;
		inflight_resolved(&win, i, is[i] == GOOD);
	}
	ck_assert_uint_eq(nout, 0);
	/* All are done, but for the held ones and those behind a bad one. */
	for (i = 0; i < batch.n; i++) {
		unsigned char key = (unsigned char)msgs[i].key.data[0];

		ck_assert((is[i] == WAITING) == (msgs[i].held || bad[key]));
		if (is[i] == BAD)
			bad[key] = true;
	}
}
END_TEST

/*
 * room
 */

/*
 * Messages of so many hundred bytes, one for each digit; 0 is 5000 and '!'
 * more than the server takes.  away is 'x' for those that did not come with
 * their rows.  What becomes of each: taken, left, or neither.
 */
static const struct {
	enum conf_ordering	 ordering;
	const char		*keys, *sizes, *away, *taken;
} rooms[] = {
	{ ORDER_KEY, "", "", "", "" },
	{ ORDER_KEY, "aab", "111", "---", "..." },
	{ ORDER_KEY, "abc", "444", "xxx", "ttl" },
	{ ORDER_KEY, "abcd", "4442", "xxx-", "ttl." },
	{ ORDER_KEY, "abcd", "9991", "xxxx", "tllt" },
	/* The first is always taken, also beside others, and then no more. */
	{ ORDER_KEY, "abc", "011", "xxx", "tll" },
	{ ORDER_KEY, "abcd", "1101", "--xx", "..tl" },
	{ ORDER_KEY, "abcd", "4515", "x-xx", "t.tl" },
	{ ORDER_KEY, "abcd", "4414", "x-xx", "t.tl" },
	/* What is behind one that is left is left: away, long or short. */
	{ ORDER_KEY, "bbaab", "58111", "xx-x-", "tl.tl" },
	{ ORDER_KEY, "abaab", "59115", "xx--x", "tl..l" },
	{ ORDER_KEY, "ababab", "999999", "xxxxxx", "tlllll" },
	{ ORDER_NONE, "aaba", "9911", "xx--", "tl.." },
	{ ORDER_PARTITION, "aabc", "9911", "xx--", "tlll" },
	/* Without a key nothing is in order. */
	{ ORDER_KEY, "---", "995", "xx-", "tl." },
	/* Held ones stay away; who is behind them is held by others. */
	{ ORDER_KEY, "Aab", "999", "xxx", ".tl" },
	{ ORDER_KEY, "AAA", "999", "xxx", "..." },
	/* What is too long is not waited for. */
	{ ORDER_KEY, "aab", "!99", "xxx", ".tl" },
	{ ORDER_KEY, "ab", "!!", "xx", ".." },
};

static size_t
size_of(char size)
{
	return size == '!' ? 6000 : size == '0' ? 5000 :
	    (size_t)(size - '0') * 100;
}

static void
room_batch(const char *keys, const char *sizes, const char *away)
{
	batch_of(keys);
	for (size_t i = 0; i < batch.n; i++) {
		msgs[i].payload.len = size_of(sizes[i]);
		msgs[i].away = away[i] == 'x';
		batch.naway += msgs[i].away;
	}
}

START_TEST(room_is_given_in_order)
{
	uint64_t		sequences[16];
	char			taken[17] = "................";
	struct memory_budget	budget;
	size_t			n;

	conf->worker.batch_bytes = 1000;
	conf->outbox.ordering = (int)rooms[_i].ordering;
	memory_budget_init(&budget, conf);
	room_batch(rooms[_i].keys, rooms[_i].sizes, rooms[_i].away);
	n = memory_budget_choose(&budget, &batch, FAKE_MAX_PAYLOAD, sequences);
	for (size_t i = 0; i < n; i++)
		taken[sequences[i] - 100] = 't';
	taken[batch.n] = '\0';
	for (size_t i = 0; i < batch.n; i++)
		if (msgs[i].left) {
			ck_assert_int_eq(taken[i], '.');
			taken[i] = 'l';
		}
	ck_assert_str_eq(taken, rooms[_i].taken);
}
END_TEST

/* Metadata counts, as long as it is. */
START_TEST(room_is_for_metadata_too)
{
	uint64_t		sequences[16];
	struct memory_budget	budget;

	conf->worker.batch_bytes = 1000;
	memory_budget_init(&budget, conf);
	ck_assert_uint_eq(memory_budget_share(&budget, 4), 250);
	room_batch("abc", "111", "-xx");
	msgs[0].metadata.len = 600;
	msgs[1].metadata.len = 100;
	msgs[2].metadata.len = 1;
	ck_assert_uint_eq(memory_budget_choose(&budget, &batch,
	    FAKE_MAX_PAYLOAD, sequences), 1);
	ck_assert(msgs[2].left);
	/* What is too long is not fetched, and nothing waits for it. */
	msgs[1].metadata.len = FAKE_MAX_PAYLOAD + 1;
	msgs[2].metadata.len = MSG_METADATA_MAX + 1;
	msgs[2].left = false;
	ck_assert_uint_eq(memory_budget_choose(&budget, &batch, INT64_MAX,
	    sequences), 1);
	ck_assert_uint_eq(memory_budget_choose(&budget, &batch,
	    FAKE_MAX_PAYLOAD, sequences), 0);
	ck_assert(!msgs[1].left && !msgs[2].left);
}
END_TEST

static void
learn(struct memory_budget *budget, size_t n, size_t size)
{
	batch_of("abcdefgh");
	batch.n = n;
	for (size_t i = 0; i < n; i++)
		msgs[i].payload.len = size;
	memory_budget_learn(budget, &batch);
}

START_TEST(batches_fit_their_room)
{
	struct memory_budget	budget;

	conf->worker.batch_bytes = 100000;
	memory_budget_init(&budget, conf);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 300);
	learn(&budget, 8, 10);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 300);
	/* Large ones: three quarters of the room, and never nothing. */
	learn(&budget, 8, 1000);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 74);
	learn(&budget, 1, 1000000);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 1);
	/* Step by step they may be more again; none says nothing. */
	learn(&budget, 0, 0);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 1);
	for (size_t rows = 2; rows < 300; rows *= 2) {
		learn(&budget, 1, 10);
		ck_assert_uint_eq(memory_budget_rows(&budget, 300), rows);
	}
	learn(&budget, 8, 0);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 300);
	/* What failed may have been too much. */
	memory_budget_failed(&budget, 200);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 50);
	for (size_t n = 50; n > 0; n /= 4)
		memory_budget_failed(&budget, n);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 1);
	memory_budget_failed(&budget, 1);
	ck_assert_uint_eq(memory_budget_rows(&budget, 300), 1);
}
END_TEST

static void
room_setup(void)
{
	conf = conf_with("publish: {timeout_ms: 100}\n");
}

static void
room_teardown(void)
{
	conf_free(conf);
}

int
main(void)
{
	Suite	*s = suite_create("window");
	TCase	*tc = add_case(s, "window");

	tcase_add_checked_fixture(tc, NULL, win_teardown);
	tcase_add_test(tc, window_sends_one_of_a_lane);
	tcase_add_test(tc, window_stops_at_max);
	tcase_add_test(tc, window_stops_at_max_bytes);
	tcase_add_test(tc, window_closes_a_lane);
	tcase_add_test(tc, window_skips_what_was_not_sent);
	tcase_add_loop_test(tc, window_leaves_out_what_is_held, 0,
	    NROWS(firsts));
	tcase_add_test(tc, held_message_does_not_break_the_lane);
	tcase_add_test(tc, keys_are_compared_as_bytes);
	tcase_add_loop_test(tc, window_keeps_order_whatever_happens, 0, 9);

	tc = add_case(s, "room");
	tcase_add_checked_fixture(tc, room_setup, room_teardown);
	tcase_add_loop_test(tc, room_is_given_in_order, 0, NROWS(rooms));
	tcase_add_test(tc, room_is_for_metadata_too);
	tcase_add_test(tc, batches_fit_their_room);
	return run_suite(s);
}
