/*
 * check_relay.c - from a batch of rows to the outcome of each
 *
 * lane, window, envelope, verdict and relay, and how the bus reads answers.
 * The publisher is a fake that follows a script, and so is the clock: it
 * moves when the fake waits and never else.
 */
#include "lib/check.h"

#include <inttypes.h>

#include <jansson.h>
#include <bsd/string.h>

#include "publish/advisory.h"
#include "nats/bus.h"
#include "util/clock.h"
#include "nats/envelope.h"
#include "common/lane.h"
#include "publish/relay.h"
#include "publish/room.h"
#include "nats/streams.h"
#include "nats/verdict.h"
#include "publish/window.h"

#define MANY		1000
#define FIRST_ACK	7000	/* of the first that is stored */
#define FAKE_MAX_PAYLOAD	5000

/* Ours comes before the library's, which then stays out of the program. */
static int64_t	now_ms;

int64_t
clock_ms(void)
{
	return now_ms;
}

int64_t
clock_us(void)
{
	return now_ms * 1000;
}

/*
 * lane
 */

static const struct {
	enum conf_ordering	 ordering;
	struct bytes		 key, partition;
	const char		*lane;		/* NULL: the sequence */
} lanes[] = {
	{ ORDER_KEY, { "k", 1 }, { "p01", 3 }, "k" },
	{ ORDER_KEY, { "", 0 }, { "p01", 3 }, "" },
	{ ORDER_KEY, { NULL, 0 }, { "p01", 3 }, NULL },
	{ ORDER_PARTITION, { "k", 1 }, { "p01", 3 }, "p01" },
	{ ORDER_PARTITION, { "k", 1 }, { NULL, 0 }, "" },
	{ ORDER_PARTITION, { NULL, 0 }, { "p01", 3 }, "p01" },
	{ ORDER_NONE, { "k", 1 }, { "p01", 3 }, NULL },
};

START_TEST(lane_is_what_stays_in_order)
{
	uint64_t	sequence = 42;
	struct bytes	l = lane_of(lanes[_i].ordering, lanes[_i].key,
			    lanes[_i].partition, &sequence);

	ck_assert_ptr_nonnull(l.data);
	if (lanes[_i].lane == NULL) {
		ck_assert_uint_eq(l.len, sizeof(sequence));
		ck_assert_mem_eq(l.data, &sequence, sizeof(sequence));
	} else {
		ck_assert_uint_eq(l.len, strlen(lanes[_i].lane));
		ck_assert_mem_eq(l.data, lanes[_i].lane, l.len);
	}
}
END_TEST

/*
 * window
 */

static struct msg	msgs[MANY];
static struct batch	batch;
static struct window	win;

/* One message for each letter; '-' has no key, an upper case one is held. */
static void
batch_of(const char *keys)
{
	static char	lower[MANY];

	ck_assert_uint_le(strlen(keys), MANY);
	memset(msgs, 0, sizeof(msgs));
	batch = (struct batch){ .msgs = msgs, .n = strlen(keys) };
	for (size_t i = 0; i < batch.n; i++) {
		bool held = keys[i] >= 'A' && keys[i] <= 'Z';

		lower[i] = (char)(held ? keys[i] - 'A' + 'a' : keys[i]);
		msgs[i].sequence = 100 + i;
		msgs[i].has_event = true;
		msgs[i].held = held;
		msgs[i].type = BYTES("T");
		msgs[i].payload = BYTES("{}");
		msgs[i].partition = BYTES("p01");
		if (keys[i] != '-')
			msgs[i].key = (struct bytes){ lower + i, 1 };
	}
}

/* Takes what may be sent now and sends it; as digits. */
static const char *
take_all(void)
{
	static char	text[64];
	size_t		i, n = 0;

	while (window_next(&win, &i)) {
		window_sent(&win, i);
		text[n++] = (char)('0' + i);
	}
	text[n] = '\0';
	return text;
}

START_TEST(window_sends_one_of_a_lane)
{
	batch_of("abaacab");
	window_init(&win, &batch, ORDER_KEY, 100, SIZE_MAX);
	ck_assert_str_eq(take_all(), "014");
	ck_assert_uint_eq(win.unresolved, 3);
	window_resolved(&win, 4, true);
	ck_assert_str_eq(take_all(), "");
	window_resolved(&win, 0, true);
	ck_assert_str_eq(take_all(), "2");
	window_resolved(&win, 1, true);
	window_resolved(&win, 2, true);
	ck_assert_str_eq(take_all(), "63");
	window_resolved(&win, 3, true);
	ck_assert_str_eq(take_all(), "5");
	ck_assert(window_has_work(&win));
	window_resolved(&win, 5, true);
	window_resolved(&win, 6, true);
	ck_assert(!window_has_work(&win));
	window_free(&win);
}
END_TEST

START_TEST(window_stops_at_max)
{
	batch_of("abcdea");
	window_init(&win, &batch, ORDER_KEY, 2, SIZE_MAX);
	ck_assert_str_eq(take_all(), "01");
	window_resolved(&win, 1, true);
	ck_assert_str_eq(take_all(), "2");
	window_resolved(&win, 0, true);
	window_resolved(&win, 2, true);
	ck_assert_str_eq(take_all(), "34");
	window_free(&win);
}
END_TEST

/* One may go beyond: a message larger than all that may be out must go. */
START_TEST(window_stops_at_max_bytes)
{
	batch_of("abcdefa");
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].payload.len = i == 4 ? 5000 : 40;
	msgs[0].metadata.len = 30;
	window_init(&win, &batch, ORDER_KEY, 100, 100);
	ck_assert_str_eq(take_all(), "01");
	window_resolved(&win, 1, true);
	ck_assert_str_eq(take_all(), "2");
	window_resolved(&win, 0, true);
	window_resolved(&win, 2, true);
	ck_assert_str_eq(take_all(), "34");
	window_resolved(&win, 3, true);
	ck_assert_str_eq(take_all(), "");
	window_resolved(&win, 4, true);
	ck_assert_str_eq(take_all(), "56");
	window_free(&win);
}
END_TEST

START_TEST(window_closes_a_lane)
{
	batch_of("abaab");
	window_init(&win, &batch, ORDER_KEY, 100, SIZE_MAX);
	ck_assert_str_eq(take_all(), "01");
	window_resolved(&win, 0, false);
	ck_assert_str_eq(take_all(), "");
	window_resolved(&win, 1, true);
	ck_assert_str_eq(take_all(), "4");
	window_resolved(&win, 4, true);
	ck_assert(!window_has_work(&win));
	window_free(&win);
}
END_TEST

START_TEST(window_skips_what_was_not_sent)
{
	size_t	i;

	batch_of("aaabb");
	window_init(&win, &batch, ORDER_KEY, 1, SIZE_MAX);
	ck_assert(window_next(&win, &i));
	ck_assert_uint_eq(i, 0);
	window_skipped(&win, 0, true);
	ck_assert(window_next(&win, &i));
	ck_assert_uint_eq(i, 3);
	window_skipped(&win, 3, false);
	ck_assert_uint_eq(win.unresolved, 0);
	ck_assert(window_has_work(&win));
	ck_assert_str_eq(take_all(), "1");
	window_resolved(&win, 1, true);
	ck_assert_str_eq(take_all(), "2");
	window_resolved(&win, 2, true);
	ck_assert(!window_has_work(&win));
	window_free(&win);
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
	window_init(&win, &batch, firsts[_i].ordering, 100, SIZE_MAX);
	ck_assert_str_eq(take_all(), firsts[_i].first);
	ck_assert(window_has_work(&win) == (firsts[_i].first[0] != '\0'));
	window_free(&win);
}
END_TEST

START_TEST(held_message_does_not_break_the_lane)
{
	batch_of("aAa");
	window_init(&win, &batch, ORDER_KEY, 100, SIZE_MAX);
	ck_assert_str_eq(take_all(), "0");
	window_resolved(&win, 0, true);
	ck_assert_str_eq(take_all(), "2");
	window_free(&win);
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
	window_init(&win, &batch, ORDER_KEY, 100, SIZE_MAX);
	ck_assert_str_eq(take_all(), "01234");
	window_free(&win);
}
END_TEST

/* Mostly lower case letters, of the first n of the alphabet. */
static void
draw_keys(char *keys, size_t len, int n, int one_held_in)
{
	for (size_t i = 0; i < len; i++) {
		keys[i] = (char)('a' + rand() % n);
		if (rand() % one_held_in == 0)
			keys[i] = (char)(keys[i] - 'a' + 'A');
	}
	keys[len] = '\0';
}

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
	window_init(&win, &batch, ORDER_KEY, max, SIZE_MAX);
	while (window_has_work(&win)) {
		while (rand() % 8 != 0 && window_next(&win, &i)) {
			check_turn(is, i);
			if (rand() % 10 == 0) {
				is[i] = rand() % 4 == 0 ? BAD : GOOD;
				window_skipped(&win, i, is[i] == GOOD);
				continue;
			}
			is[i] = FLYING;
			window_sent(&win, i);
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
		window_resolved(&win, i, is[i] == GOOD);
	}
	ck_assert_uint_eq(nout, 0);
	/* All are done, but for the held ones and those behind a bad one. */
	for (i = 0; i < batch.n; i++) {
		unsigned char key = (unsigned char)msgs[i].key.data[0];

		ck_assert((is[i] == WAITING) == (msgs[i].held || bad[key]));
		if (is[i] == BAD)
			bad[key] = true;
	}
	window_free(&win);
}
END_TEST

/*
 * envelope
 */

static struct envelope		env;
static struct envelope_form	form;
static struct msg		row;
static struct err		err;

static void
envelope_setup(void)
{
	form = (struct envelope_form){ "events.{event_type}", "shop",
	    "EVENTS" };
	row = (struct msg){
		.sequence = 7, .has_event = true,
		.partition = BYTES("p03"), .key = BYTES("order-1"),
		.type = BYTES("12345"), .payload = BYTES("6789"),
		.metadata = BYTES("{\"tenant\":\"a\"}"),
		.correlation = BYTES("c-1"), .version = BYTES("2"),
		.stream_sequence = BYTES("11"),
		.time = BYTES("2026-01-31 12:00:00.123456")
	};
	err.text[0] = '\0';
}

static void
envelope_teardown(void)
{
	envelope_free(&env);
	memset(&env, 0, sizeof(env));
}

static void
must_fill(void)
{
	int	rc = envelope_fill(&env, &form, &row, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
}

static void
must_not_fill(const char *why)
{
	ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
	holds(err.text, why);
}

/* NULL: there is none.  A second one of a name is a failure. */
static const char *
header(const char *name)
{
	const char	*value = NULL;

	for (size_t i = 0; i < env.nheaders; i++) {
		if (strcmp(envelope_name(&env, i), name) != 0)
			continue;
		ck_assert_ptr_null(value);
		value = envelope_value(&env, i);
	}
	return value;
}

static const struct {
	const char	*name, *value;
	size_t		 column;	/* in struct msg; 0: always there */
} contract[] = {
	{ "Nats-Msg-Id", "shop-7-0f8d41f3ef8ddf34", 0 },
	{ "Nats-Expected-Stream", "EVENTS", 0 },
	{ "Outbox-Sequence", "7", 0 },
	{ "Outbox-Partition", "p03", offsetof(struct msg, partition) },
	{ "Outbox-Key", "order-1", offsetof(struct msg, key) },
	{ "Outbox-Type", "12345", offsetof(struct msg, type) },
	{ "Outbox-Time", "2026-01-31T12:00:00.123456Z",
	  offsetof(struct msg, time) },
	{ "Outbox-Stream-Sequence", "11",
	  offsetof(struct msg, stream_sequence) },
	{ "Outbox-Version", "2", offsetof(struct msg, version) },
	{ "Outbox-Correlation-Id", "c-1",
	  offsetof(struct msg, correlation) },
	{ "tenant", "a", offsetof(struct msg, metadata) },
};

static struct bytes *
column(int i)
{
	return (struct bytes *)(void *)((char *)&row + contract[i].column);
}

START_TEST(envelope_has_the_headers_of_the_contract)
{
	must_fill();
	ck_assert_uint_eq(env.nheaders, (size_t)NROWS(contract));
	for (int i = 0; i < NROWS(contract); i++) {
		ck_assert_ptr_nonnull(header(contract[i].name));
		ck_assert_str_eq(header(contract[i].name), contract[i].value);
	}
	ck_assert_str_eq(envelope_subject(&env), "events.12345");
	ck_assert_uint_eq(env.payload.len, 4);
	ck_assert_mem_eq(env.payload.data, "6789", 4);
	ck_assert_uint_eq(env.skipped, 0);
}
END_TEST

START_TEST(null_column_has_no_header)
{
	form.subject = "events";
	if (contract[_i].column != 0)
		*column(_i) = NO_BYTES;
	must_fill();
	for (int i = 0; i < NROWS(contract); i++) {
		const char *value = header(contract[i].name);

		if (i == _i && contract[i].column != 0)
			ck_assert_ptr_null(value);
		else
			ck_assert_ptr_nonnull(value);
	}
}
END_TEST

START_TEST(empty_column_has_no_header)
{
	form.subject = "events";
	row.correlation = BYTES("");
	must_fill();
	ck_assert_ptr_null(header("Outbox-Correlation-Id"));
}
END_TEST

START_TEST(no_stream_no_expectation)
{
	form.stream = "";
	must_fill();
	ck_assert_ptr_null(header("Nats-Expected-Stream"));
	ck_assert_uint_eq(env.nheaders, (size_t)NROWS(contract) - 1);
}
END_TEST

/* Made by another implementation of XXH3, see message_id.h. */
static const struct {
	struct bytes	 key, stream_sequence, type;
	const char	*time;
	struct bytes	 payload;
	const char	*hash;
} ids[] = {
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "6789", 4 },
	  "0f8d41f3ef8ddf34" },
	{ { "order-2", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "6789", 4 },
	  "61b150a0b7c015e7" },
	{ { "order-1", 7 }, { "12", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "6789", 4 },
	  "5a2aac81d170685f" },
	{ { "order-1", 7 }, { "11", 2 }, { "123456", 6 }, "2026-01-31 12:00:00.123456", { "789", 3 },
	  "44f4359bf952da10" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00", { "6789", 4 },
	  "fd241f2c8ecb32cc" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.000", { "6789", 4 },
	  "fd241f2c8ecb32cc" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "1969-12-31 23:59:59.5", { "6789", 4 },
	  "be3381da4d5e5f0d" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2024-02-29 00:00:00", { "6789", 4 },
	  "6b828964550788bb" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, NULL, { "6789", 4 },
	  "8166763775a8ce26" },
	{ { "order-1", 7 }, { NULL, 0 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "6789", 4 },
	  "34ea0ccf43c2fc7f" },
	{ { "order-1", 7 }, { "", 0 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "6789", 4 },
	  "90a6bb895fe194c8" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { NULL, 0 },
	  "5ab94f74c58c1a93" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "", 0 },
	  "7eb48d5955119df6" },
	{ { "order-1", 7 }, { "11", 2 }, { "12345", 5 }, "2026-01-31 12:00:00.123456", { "a\0b", 3 },
	  "ef4d527d84876f58" },
};

START_TEST(message_id_tells_events_of_one_number_apart)
{
	char	want[64];

	form.subject = "events";
	row.key = ids[_i].key;
	row.stream_sequence = ids[_i].stream_sequence;
	row.type = ids[_i].type;
	row.time = ids[_i].time == NULL ? NO_BYTES : bytes_of(ids[_i].time);
	row.payload = ids[_i].payload;
	must_fill();
	snprintf(want, sizeof(want), "shop-7-%s", ids[_i].hash);
	ck_assert_str_eq(header("Nats-Msg-Id"), want);
}
END_TEST

static const struct {
	const char	*text;
	bool		 ours;
	struct message_id id;
} read_ids[] = {
	{ "shop-7-00000000000000ff", true, { 7, 255, 0, true } },
	{ "shop-7-ffffffffffffffff-r12", true, { 7, UINT64_MAX, 12, true } },
	{ "shop-18446744073709551615-0123456789abcdef", true,
	  { UINT64_MAX, 0x0123456789abcdef, 0, true } },
	{ "shop-7-cbf43926", true, { 7, 0, 0, false } },	/* of before */
	{ "shop-7-cbf43926-r2", true, { 7, 0, 2, false } },
	{ "shop-7", false, { 0 } },
	{ "shop-", false, { 0 } },
	{ "shop-x-00000000000000ff", false, { 0 } },
	{ "shopping-7-00000000000000ff", false, { 0 } },
	{ "sho", false, { 0 } },
	/* Of another outbox, whose id is longer. */
	{ "shop-1-57-00000000000000ff", false, { 0 } },
	{ "shop-1-00000000-7-00000000000000ff", false, { 0 } },
	{ "shop-7-00000000000000ff-r", false, { 0 } },
	{ "shop-7-00000000000000ff-r1x", false, { 0 } },
	{ "shop-7-00000000000000ff-r1\r", true, { 7, 255, 1, true } },
	{ "shop-7-00000000000000ff\r\n", true, { 7, 255, 0, true } },
};

START_TEST(message_id_is_read)
{
	struct message_id	id = { 0 };

	ck_assert(message_id_read(&id, "shop", read_ids[_i].text) ==
	    read_ids[_i].ours);
	if (!read_ids[_i].ours)
		return;
	ck_assert_uint_eq(id.sequence, read_ids[_i].id.sequence);
	ck_assert_uint_eq(id.hash, read_ids[_i].id.hash);
	ck_assert_uint_eq(id.replay, read_ids[_i].id.replay);
	ck_assert(id.hashed == read_ids[_i].id.hashed);
}
END_TEST

static const struct {
	struct message_id	found;
	bool			same, same_without_hash;
} compared[] = {		/* with row 7, hash 5, replay 2 */
	{ { 7, 5, 2, true }, true, true },
	{ { 7, 6, 2, true }, false, true },
	{ { 7, 0, 2, false }, false, true },
	{ { 7, 5, 1, true }, false, false },
	{ { 8, 5, 2, true }, false, false },
};

START_TEST(message_ids_are_compared_whole)
{
	struct message_id	wanted = { 7, 5, 2, true };

	ck_assert(message_id_is(&wanted, &compared[_i].found) ==
	    compared[_i].same);
	wanted.hashed = false;
	ck_assert(message_id_is(&wanted, &compared[_i].found) ==
	    compared[_i].same_without_hash);
}
END_TEST

/* What cannot stand in a header goes as hex. */
START_TEST(type_with_a_nul_is_hex)
{
	form.subject = "events";
	row.type = (struct bytes){ "a\0b", 3 };
	must_fill();
	ck_assert_str_eq(header("Outbox-Type"), "0x610062");
}
END_TEST

/* Or the stream would take it for a duplicate. */
START_TEST(replay_has_an_id_and_a_header)
{
	must_fill();
	ck_assert_ptr_null(header("Outbox-Replay"));
	row.replay = 12;
	must_fill();
	ck_assert_str_eq(header("Nats-Msg-Id"), "shop-7-0f8d41f3ef8ddf34-r12");
	ck_assert_str_eq(header("Outbox-Replay"), "12");
}
END_TEST

static const char *const times[][2] = {
	{ "2026-01-31 12:00:00.123456", "2026-01-31T12:00:00.123456Z" },
	{ "2026-01-31 12:00:00.000000", "2026-01-31T12:00:00.000000Z" },
	{ "2026-01-31 12:00:00", "2026-01-31T12:00:00Z" },
};

START_TEST(time_is_rfc_3339)
{
	row.time = bytes_of(times[_i][0]);
	must_fill();
	ck_assert_str_eq(header("Outbox-Time"), times[_i][1]);
}
END_TEST

#define TRACE	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static const struct {
	const char	*json, *name, *value;	/* value NULL: no such header */
	unsigned	 skipped;
} entries[] = {
	{ "{\"traceparent\":\"" TRACE "\"}", "traceparent", TRACE, 0 },
	{ "{\"a\":\"\"}", "a", NULL, 1 },
	{ "{\"a\":\" x \"}", "a", " x ", 0 },
	{ "{\"a\":\"\\u00f6 \\ud83d\\udc07\"}", "a",
	  "\xc3\xb6 \xf0\x9f\x90\x87", 0 },
	{ "{\"a\":0}", "a", "0", 0 },
	{ "{\"a\":-7}", "a", "-7", 0 },
	{ "{\"a\":9007199254740993}", "a", "9007199254740993", 0 },
	{ "{\"a\":9223372036854775807}", "a", "9223372036854775807", 0 },
	{ "{\"a\":-9223372036854775808}", "a", "-9223372036854775808", 0 },
	{ "{\"a\":1.5}", "a", "1.5", 0 },
	{ "{\"a\":true}", "a", "true", 0 },
	{ "{\"a\":false}", "a", "false", 0 },
	{ "{\"!#$%&'*+-.^_`|~\":1}", "!#$%&'*+-.^_`|~", "1", 0 },
	{ "{\"natsy\":1}", "natsy", "1", 0 },
	{ "{\"outbox\":1}", "outbox", "1", 0 },
	{ "{\"a\":1,\"a\":2}", "a", "2", 0 },
	{ " \n{ } ", "a", NULL, 0 },

	{ "{\"a\":null}", "a", NULL, 1 },
	{ "{\"a\":{\"b\":1},\"c\":1}", "a", NULL, 1 },
	{ "{\"a\":{\"b\":1},\"c\":1}", "b", NULL, 1 },
	{ "{\"a\":{\"b\":1},\"c\":1}", "c", "1", 1 },
	{ "{\"a\":[1],\"b\":[],\"c\":{}}", "a", NULL, 3 },
	{ "{\"a\":\"x\\ny\"}", "a", NULL, 1 },
	{ "{\"a\":\"x\\r\\nNats-Rollup: all\"}", "a", NULL, 1 },
	{ "{\"a\":\"x\\r\"}", "a", NULL, 1 },
	{ "{\"a\":\"x\\u0000y\"}", "a", NULL, 1 },
	{ "{\"Nats-Msg-Id\":\"x\"}", "Nats-Msg-Id", "shop-7-0f8d41f3ef8ddf34", 1 },
	{ "{\"nats-msg-id\":\"x\"}", "nats-msg-id", NULL, 1 },
	{ "{\"NATS-Rollup\":\"all\"}", "NATS-Rollup", NULL, 1 },
	{ "{\"Outbox-Key\":\"x\"}", "Outbox-Key", "order-1", 1 },
	{ "{\"outbox-anything\":\"x\"}", "outbox-anything", NULL, 1 },
	{ "{\"\":1}", "", NULL, 1 },
	{ "{\"a b\":1}", "a b", NULL, 1 },
	{ "{\"a:b\":1}", "a:b", NULL, 1 },
	{ "{\"a\\r\\nb\":1}", "a\r\nb", NULL, 1 },
	{ "{\"\\u00f6\":1}", "\xc3\xb6", NULL, 1 },
	{ "{\"a\\u007f\":1}", "a\x7f", NULL, 1 },
};

START_TEST(metadata_becomes_headers)
{
	const char	*value;

	row.metadata = bytes_of(entries[_i].json);
	must_fill();
	ck_assert_uint_eq(env.skipped, entries[_i].skipped);
	value = header(entries[_i].name);
	if (entries[_i].value == NULL)
		ck_assert_ptr_null(value);
	else {
		ck_assert_ptr_nonnull(value);
		ck_assert_str_eq(value, entries[_i].value);
	}
}
END_TEST

/* Another spelling is all right, another value is not. */
static const struct {
	const char	*json;
	double		 value;
	bool		 huge;		/* may be left out */
} reals[] = {
	{ "{\"a\":0.1}", 0.1, false },
	{ "{\"a\":-1e-7}", -1e-7, false },
	{ "{\"a\":1E300}", 1e300, false },
	{ "{\"a\":9223372036854775808}", 9223372036854775808.0, true },
	{ "{\"a\":99999999999999999999}", 1e20, true },
	{ "{\"a\":-123456789012345678901234567890}",
	  -123456789012345678901234567890.0, true },
};

START_TEST(number_keeps_its_value)
{
	row.metadata = bytes_of(reals[_i].json);
	must_fill();
	if (reals[_i].huge && header("a") == NULL) {
		ck_assert_uint_eq(env.skipped, 1);
		return;
	}
	ck_assert_ptr_nonnull(header("a"));
	ck_assert(strtod(header("a"), NULL) == reals[_i].value);
}
END_TEST

/* Left out or right, but never another number. */
START_TEST(huge_number_leaves_the_others_alone)
{
	row.metadata = BYTES("{\"id\":9007199254740993,\"n\":5,"
	    "\"huge\":99999999999999999999}");
	must_fill();
	ck_assert_str_eq(header("n"), "5");
	if (header("id") != NULL)
		ck_assert_str_eq(header("id"), "9007199254740993");
}
END_TEST

static const char *const empties[] = { "", "null", "[]", "{}", " [ ] " };

START_TEST(metadata_may_be_empty)
{
	row.metadata = bytes_of(empties[_i]);
	must_fill();
	ck_assert_uint_eq(env.nheaders, (size_t)NROWS(contract) - 1);
	ck_assert_uint_eq(env.skipped, 0);
}
END_TEST

static const char *const bad_metadata[] = {
	"[1]", "[{}]", "\"text\"", "5", "true", "1.5", "{", "{}x", "{} {}",
	"{a:1}", "{\"a\":}", "{'a':1}", "nonsense", " ", "NaN",
	"99999999999999999999", "{\"a\":\"\xff\"}", "{\"a\":\"x\ny\"}"
};

START_TEST(metadata_of_the_wrong_shape_is_refused)
{
	row.metadata = bytes_of(bad_metadata[_i]);
	must_not_fill("metadata is not ");
}
END_TEST

START_TEST(too_many_entries_are_left_out)
{
	char	json[4096] = "{";

	for (int i = 0; i < 100; i++)
		sprintf(json + strlen(json), "\"k%d\":%d,", i, i);
	strcpy(json + strlen(json) - 1, "}");
	row.metadata = bytes_of(json);
	must_fill();
	ck_assert_uint_eq(env.nheaders, ENVELOPE_MAX_HEADERS);
	ck_assert_uint_eq(env.skipped,
	    100 - (ENVELOPE_MAX_HEADERS - (unsigned)NROWS(contract) + 1));
}
END_TEST

static const struct {
	const char	*template, *type, *key, *partition, *subject;
} subjects[] = {
	{ "events", "T", "k", "p01", "events" },
	{ "events.{event_type}", "OrderPlaced", "k", "p01",
	  "events.OrderPlaced" },
	{ "{stream_id}", "T", "k", "p01", "k" },
	{ "{partition}.x", "T", "k", "p01", "p01.x" },
	{ "a.{partition}.{stream_id}-{event_type}.z", "T", "k", "p01",
	  "a.p01.k-T.z" },
	{ "{event_type}{event_type}", "T", "k", "p01", "TT" },
	{ "a.{event_type}", "b.c", "k", "p01", "a.b.c" },
	{ "a.{event_type}", "{stream_id}", "k", "p01", "a.{stream_id}" },
	{ "a.{event_type}", "\xc3\xb6", "k", "p01", "a.\xc3\xb6" },
	{ "a{event_type}", NULL, "k", "p01", "a" },
	{ "a.x{partition}", "T", "k", NULL, "a.x" },
};

START_TEST(subject_follows_the_template)
{
	form.subject = subjects[_i].template;
	row.type = bytes_of(subjects[_i].type);
	row.key = bytes_of(subjects[_i].key);
	row.partition = bytes_of(subjects[_i].partition);
	must_fill();
	ck_assert_str_eq(envelope_subject(&env), subjects[_i].subject);
}
END_TEST

static const struct {
	const char	*template;
	struct bytes	 type;
} bad_subjects[] = {
	{ "events.{event_type}", { "a b", 3 } },
	{ "events.{event_type}", { " ", 1 } },
	{ "events.{event_type}", { "a\tb", 3 } },
	{ "events.{event_type}", { "a\nb", 3 } },
	{ "events.{event_type}", { "a\rb", 3 } },
	{ "events.{event_type}", { "a 5\r\nhello\r\nPUB x 0\r\n", 22 } },
	{ "events.{event_type}", { "a\0b", 3 } },
	{ "events.{event_type}", { "a\0", 2 } },
	{ "events.{event_type}", { "a\x01", 2 } },
	{ "events.{event_type}", { "a\x7f", 2 } },
	{ "events.{event_type}", { "*", 1 } },
	{ "events.{event_type}", { ">", 1 } },
	{ "events.{event_type}", { "a*b", 3 } },
	{ "events.{event_type}", { "a.>", 3 } },
	{ "events.{event_type}", { "", 0 } },
	{ "events.{event_type}", { NULL, 0 } },
	{ "events.{event_type}", { ".a", 2 } },
	{ "events.{event_type}", { "a.", 2 } },
	{ "events.{event_type}", { "a..b", 4 } },
	{ "events.{event_type}", { ".", 1 } },
	{ "{event_type}.events", { "", 0 } },
	{ "{event_type}.events", { ".a", 2 } },
	{ "{event_type}", { NULL, 0 } },
	{ "a.{event_type}.b", { NULL, 0 } },
};

START_TEST(illegal_subject_is_refused)
{
	form.subject = bad_subjects[_i].template;
	row.type = bad_subjects[_i].type;
	must_not_fill("subject");
}
END_TEST

START_TEST(subject_has_a_longest_length)
{
	static char	type[ENVELOPE_MAX_SUBJECT + 1];

	form.subject = "{event_type}";
	memset(type, 'x', sizeof(type));
	row.type = (struct bytes){ type, ENVELOPE_MAX_SUBJECT };
	must_fill();
	ck_assert_uint_eq(strlen(envelope_subject(&env)),
	    ENVELOPE_MAX_SUBJECT);
	row.type.len++;
	must_not_fill("longer than");
}
END_TEST

static const struct {
	struct bytes	 value;
	const char	*header;
} breaks[] = {
	{ { "a\r\nNats-Rollup: all", 19 },
	  "0x610d0a4e6174732d526f6c6c75703a20616c6c" },
	{ { "a\n", 2 }, "0x610a" }, { { "\r", 1 }, "0x0d" },
	{ { "a\0b", 3 }, "0x610062" }, { { "\0", 1 }, "0x00" },
	{ { "\x7f", 1 }, "0x7f" }, { { "a ", 2 }, "0x6120" },
	{ { " a", 2 }, "0x2061" }, { { "\xc3\x28", 2 }, "0xc328" },
	{ { "a b", 3 }, "a b" }, { { "\xf0\x9f\x90\x87", 4 },
	  "\xf0\x9f\x90\x87" }, { { "\xf0\x9f\x90", 3 }, "0xf09f90" },
	{ { "\xed\xa0\x80", 3 }, "0xeda080" }, { { "0x00", 4 }, "0x00" },
};

/* The subject is constant here: only the headers are in danger. */
START_TEST(header_cannot_be_broken)
{
	static const int	columns[] = { 3, 4, 5, 7, 8, 9 };
	int			i = columns[_i / NROWS(breaks)];

	form.subject = "events";
	*column(i) = breaks[_i % NROWS(breaks)].value;
	must_fill();
	ck_assert_str_eq(header(contract[i].name),
	    breaks[_i % NROWS(breaks)].header);
}
END_TEST

static const struct {
	struct bytes	 key;
	const char	*subject;
} any_keys[] = {
	{ { "order-17", 8 }, "e.order-17" }, { { "a.b", 3 }, "e.a.b" },
	{ { "\0\xff", 2 }, "e.0x00ff" }, { { "a b", 3 }, "e.0x612062" },
	{ { "*", 1 }, "e.0x2a" }, { { "a>", 2 }, "e.0x613e" },
	{ { "a..b", 4 }, "e.0x612e2e62" }, { { ".a", 2 }, "e.0x2e61" },
	{ { "a.", 2 }, "e.0x612e" }, { { "", 0 }, "e.0x" },
	{ { "\xc3\xb6", 2 }, "e.\xc3\xb6" },
};

START_TEST(any_key_has_a_subject)
{
	form.subject = "e.{stream_id}";
	row.key = any_keys[_i].key;
	must_fill();
	ck_assert_str_eq(envelope_subject(&env), any_keys[_i].subject);
}
END_TEST

/* "NATS/1.0", the headers and an empty line; the payload behind them. */
static size_t
size_on_wire(void)
{
	size_t	size = strlen("NATS/1.0\r\n") + strlen("\r\n");

	for (size_t i = 0; i < env.nheaders; i++)
		size += strlen(envelope_name(&env, i)) + strlen(": ") +
		    strlen(envelope_value(&env, i)) + strlen("\r\n");
	return size + env.payload.len;
}

static const char *const sized[] = {
	"{}", "{\"a\":\"\"}", "{\"a\":\"x\",\"bc\":12.5,\"d\":true}",
	"{\"skipped\":[1],\"a\":\"x\"}", "{\"a\":\"x\\ny\",\"b\":1}"
};

START_TEST(size_is_counted_as_on_the_wire)
{
	row.metadata = bytes_of(sized[_i]);
	must_fill();
	ck_assert_uint_eq(env.size, size_on_wire());
	row.metadata = row.correlation = row.payload = NO_BYTES;
	row.type = BYTES("T");
	must_fill();
	ck_assert_uint_eq(env.size, size_on_wire());
}
END_TEST

START_TEST(envelope_is_used_again)
{
	size_t	len;

	row.metadata = BYTES("{}");
	must_fill();
	len = env.text.len;
	row.metadata = BYTES("{\"a\":[],\"b\":\"x\\ny\"}");
	must_fill();
	ck_assert_uint_eq(env.text.len, len);
	row.metadata = BYTES("{\"a\":[],\"b\":{},\"c\":1}");
	must_fill();
	ck_assert_uint_eq(env.skipped, 2);
	row.metadata = BYTES("{\"a\":[],\"b\":");
	must_not_fill("metadata");
	envelope_setup();
	must_fill();
	ck_assert_uint_eq(env.skipped, 0);
	ck_assert_uint_eq(env.nheaders, (size_t)NROWS(contract));
	ck_assert_str_eq(envelope_subject(&env), "events.12345");
	ck_assert_uint_eq(env.size, size_on_wire());
}
END_TEST

/*
 * verdict
 */

static const struct {
	int		code;
	enum verdict	verdict;
} verdicts[] = {
	{ 10054, VERDICT_MESSAGE },
	{ 10097, VERDICT_MESSAGE },
	{ 10070, VERDICT_MESSAGE },
	{ 10071, VERDICT_MESSAGE },
	{ 10111, VERDICT_MESSAGE },
	{ 10166, VERDICT_MESSAGE },
	{ 10158, VERDICT_TRANSIENT },
	{ 10167, VERDICT_DESTINATION },
	{ 10023, VERDICT_DESTINATION },	/* insufficient resources */
	{ 10039, VERDICT_DESTINATION },	/* JetStream not enabled for account */
	{ 10047, VERDICT_DESTINATION },	/* out of storage */
	{ 10059, VERDICT_DESTINATION },	/* stream not found */
	{ 10060, VERDICT_DESTINATION },	/* expected stream does not match */
	{ 10076, VERDICT_DESTINATION },	/* JetStream not enabled */
	{ 10077, VERDICT_DESTINATION },	/* maximum messages exceeded */
	{ 10109, VERDICT_DESTINATION },	/* sealed */
	{ 99999, VERDICT_DESTINATION },	/* not invented yet */
	{ 0, VERDICT_DESTINATION },
	{ -1, VERDICT_DESTINATION },
};

START_TEST(code_has_its_verdict)
{
	ck_assert_int_eq(verdict_of_error(verdicts[_i].code, "any"),
	    verdicts[_i].verdict);
}
END_TEST

/*
 * bus_read_ack
 */

static const struct {
	const char	*body, *stream;
	enum verdict	 verdict;
	uint64_t	 sequence;
	const char	*text;
} acks[] = {
	{ "{\"stream\":\"T\", \"seq\":5}", "T", VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"T\", \"seq\":5}", "", VERDICT_STORED, 5, "" },
	{ "{\"stream\":\"T\",\"seq\":10}", "T", VERDICT_STORED, 10, "" },
	{ "{\"stream\":\"T\", \"seq\":1234567890123456789}", "T",
	  VERDICT_STORED, 1234567890123456789u, "" },
	{ "{\"stream\":\"T\", \"seq\":05}", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":}", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":5}x", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\",", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"TT\", \"seq\":5}", "T", VERDICT_DESTINATION, 5,
	  "TT" },
	{ "{\"stream\":\"T\", \"domain\":\"d\", \"seq\":9007199254740993}",
	  "T", VERDICT_STORED, 9007199254740993u, "" },
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\": true}", "T",
	  VERDICT_DUPLICATE, 5, "" },
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\": false}", "T",
	  VERDICT_STORED, 5, "" },
	/* A duplicate of a message that was not stored. */
	{ "{\"stream\":\"T\",\"seq\":0,\"duplicate\": true}", "T",
	  VERDICT_TRANSIENT, 0, "no stored message" },
	{ "{\"stream\":\"T\",\"seq\":0}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"stream\":\"T\"}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"seq\":5}", "T", VERDICT_TRANSIENT, 5, "no stored message" },
	{ "{}", "T", VERDICT_TRANSIENT, 0, "no stored message" },
	{ "{\"stream\":\"T\",\"seq\":\"5\"}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"stream\":\"OTHER\",\"seq\":5}", "T", VERDICT_DESTINATION, 5,
	  "OTHER" },
	{ "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":"
	  "\"maximum messages exceeded\"},\"stream\":\"T\",\"seq\":0}", "T",
	  VERDICT_DESTINATION, 0, "maximum messages exceeded (10077)" },
	{ "{\"error\":{\"code\":400,\"err_code\":10054,\"description\":"
	  "\"message size exceeds maximum allowed\"},\"stream\":\"T\","
	  "\"seq\":0}", "T", VERDICT_MESSAGE, 0,
	  "message size exceeds maximum allowed (10054)" },
	{ "{\"error\":{\"code\":409,\"err_code\":10158,\"description\":"
	  "\"duplicate message id is in process\"},\"stream\":\"T\","
	  "\"seq\":0}", "T", VERDICT_TRANSIENT, 0, "in process (10158)" },
	/* An error wins over whatever stands beside it. */
	{ "{\"error\":{\"err_code\":10047},\"stream\":\"T\",\"seq\":5,"
	  "\"duplicate\":true}", "T", VERDICT_DESTINATION, 0, "(10047)" },
	{ "{\"error\":\"x\"}", "T", VERDICT_DESTINATION, 0, "error" },
	{ "{\"error\":{}}", "T", VERDICT_DESTINATION, 0, "error" },
	{ "", "T", VERDICT_DESTINATION, 0, "not a PubAck" },
	{ "+OK", "T", VERDICT_DESTINATION, 0, "not a PubAck" },
	{ "{\"stream\":\"T\",\"seq\":5", "T", VERDICT_DESTINATION, 0,
	  "not a PubAck" },
	{ "[]", "T", VERDICT_DESTINATION, 0, "not a PubAck" },
	{ "5", "T", VERDICT_DESTINATION, 0, "not a PubAck" },
	{ "null", "T", VERDICT_DESTINATION, 0, "not a PubAck" },
};

START_TEST(ack_is_read)
{
	/* As it comes from the network: with no NUL behind it. */
	size_t			 len = strlen(acks[_i].body);
	char			*body = malloc(len + 1);
	struct pub_answer	 a;

	memset(&a, 'x', sizeof(a));
	memcpy(body, acks[_i].body, len);
	body = realloc(body, len > 0 ? len : 1);
	bus_read_ack(body, (int)len, acks[_i].stream, &a);
	free(body);
	ck_assert_int_eq(a.verdict, acks[_i].verdict);
	ck_assert_uint_eq(a.stream_sequence, acks[_i].sequence);
	/* Named where any may answer. */
	if (acks[_i].stream[0] != '\0')
		ck_assert_uint_eq(a.stream, 0);
	else if (acks[_i].sequence != 0)
		ck_assert_uint_ne(a.stream, 0);
	if (acks[_i].text[0] == '\0')
		ck_assert_str_eq(a.text, "");
	else
		holds(a.text, acks[_i].text);
}
END_TEST

START_TEST(ack_names_its_stream)
{
	static const char	 first[] = "{\"stream\":\"A\",\"seq\":1}";
	static const char	 second[] = "{\"stream\":\"B\", \"seq\":1}";
	struct pub_answer	 a, b;

	bus_read_ack(first, (int)strlen(first), "", &a);
	bus_read_ack(second, (int)strlen(second), "", &b);
	ck_assert_uint_ne(a.stream, b.stream);
	ck_assert_uint_eq(a.stream, streams_hash("A"));
	ck_assert_uint_eq(b.stream, streams_hash("B"));
}
END_TEST

/*
 * relay: the fake publisher
 */

#define TIMEOUT_MS	100
#define START_MS	1000000

/*
 * What becomes of each message, one letter each: A stored, D duplicate,
 * M the message's fault, T try again, X the destination's fault, N nobody is
 * there without a word on which message, P the same with its name, 1 to 4
 * like N so many times and then like A, s silence, R refused by the
 * publisher; and before it gets there: b a subject that is not legal, e no
 * event.
 */
struct fake {
	const char	*acts;
	int64_t		 delay[MANY];	/* from the send to the answer */
	int64_t		 sent_at[MANY];	/* 0: not sent */
	bool		 answered[MANY], stored[MANY];
	int		 absent[MANY];	/* how often nobody was there */
	size_t		 order[5 * MANY], nsent;
	bool		 open;
	size_t		 lose_send, lose_wait;	/* the n-th call; 0: never */
	bool		 pretend;	/* a lost one looks open */
	size_t		 nsends, nwaits, nbegins, nopens;
	size_t		 most_out;
	int64_t		 last_send;
	const char	*complaint;	/* told once; NULL: none */
	unsigned	 ntold;
	bool		 blind;		/* is not told what is handled */
	const char	*text;		/* of answers; NULL: the letter */
	uint32_t	 strange[8];	/* answers nobody waits for */
	size_t		 nstrange;
	int64_t		 strange_at;	/* not before */
	int64_t		 unread;	/* bytes, of earlier ones */
	const char	*streams;	/* that take each; NULL: one does */
	uint64_t	 place[MANY];	/* in the stream; 0: none yet */
	size_t		 nplaces;

	size_t		 keep_at;	/* the call from which on; 0: never */
	enum keep	 keep;
	size_t		 nkeeps;
	int64_t		 kept_at;
};

static struct fake		fake;
static struct conf		*conf;
static struct relay		relay;
static struct relay_result	res;
static uint64_t			handling;

/* What comes next: a letter, no digit. */
static char
act(size_t i)
{
	char	c = fake.acts[i];

	if (c < '0' || c > '9')
		return c;
	return fake.absent[i] < c - '0' ? 'N' : 'A';
}

static bool
is_out(size_t i)
{
	return fake.sent_at[i] != 0 && !fake.answered[i] &&
	    now_ms < fake.sent_at[i] + conf->publish.timeout_ms;
}

static size_t
nout(void)
{
	size_t	n = 0;

	/* What was given up on before its time has an error. */
	for (size_t i = 0; i < batch.n; i++)
		n += is_out(i) && msgs[i].error == NULL;
	return n;
}

static bool
same_lane(size_t i, size_t j)
{
	enum conf_ordering	o = (enum conf_ordering)conf->outbox.ordering;
	struct bytes		a, b;

	a = lane_of(o, msgs[i].key, msgs[i].partition, &msgs[i].sequence);
	b = lane_of(o, msgs[j].key, msgs[j].partition, &msgs[j].sequence);
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* The promises that hold at each send, whatever the script says. */
static void
check_send(const struct envelope *v, size_t i)
{
	char	sequence[24];
	int64_t	deadline = batch.claimed_at + conf->worker.claim_ttl -
		    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS;

	ck_assert_uint_lt(i, batch.n);
	ck_assert_msg(!msgs[i].held, "%zu is held", i);
	ck_assert_msg(fake.sent_at[i] == 0 || (fake.absent[i] > 0 &&
	    fake.answered[i]), "%zu was sent before", i);
	ck_assert_int_lt(now_ms, deadline);
	ck_assert_uint_lt(nout(), (size_t)conf->publish.window);
	for (size_t j = 0; j < i; j++)
		ck_assert_msg(msgs[j].held || !same_lane(i, j) ||
		    msgs[j].outcome == OUT_DELIVERED ||
		    msgs[j].outcome == OUT_DEAD, "%zu overtakes %zu", i, j);
	snprintf(sequence, sizeof(sequence), "%" PRIu64, msgs[i].sequence);
	for (size_t k = 0; k < v->nheaders; k++)
		if (strcmp(envelope_name(v, k), "Outbox-Sequence") == 0)
			ck_assert_str_eq(envelope_value(v, k), sequence);
	if (!fake.blind)
		ck_assert_uint_eq(handling, msgs[i].sequence);
}

static int
fake_open(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	fake.nopens++;
	return 0;
}

static void
fake_close(void *arg)
{
	(void)arg;
}

static bool
fake_is_open(void *arg)
{
	(void)arg;
	return fake.open || fake.pretend;
}

static int64_t
fake_max_payload(void *arg)
{
	(void)arg;
	return FAKE_MAX_PAYLOAD;
}

static int64_t
fake_unread(void *arg)
{
	(void)arg;
	return fake.unread;
}

static void
fake_begin(void *arg, int64_t until)
{
	(void)arg;
	fake.nbegins++;
	/* Written before the claim's margin is half over. */
	ck_assert_int_eq(until, batch.claimed_at + conf->worker.claim_ttl -
	    conf->publish.timeout_ms - CONF_CLAIM_MARGIN_MS + 500);
}

static enum pub_sent
fake_send(void *arg, const struct envelope *v, uint32_t slot, struct err *e)
{
	(void)arg;
	if (++fake.nsends == fake.lose_send)
		fake.open = false;
	if (!fake.open) {
		err_set(e, "not connected");
		return PUB_LOST;
	}
	check_send(v, slot);
	fake.answered[slot] = false;
	if (act(slot) == 'R') {
		err_set(e, "refused by the fake");
		return PUB_REFUSED;
	}
	fake.sent_at[slot] = fake.last_send = now_ms;
	fake.order[fake.nsent++] = slot;
	if (nout() > fake.most_out)
		fake.most_out = nout();
	return PUB_SENT;
}

static bool
has_answer(size_t i)
{
	return fake.sent_at[i] != 0 && !fake.answered[i] &&
	    fake.acts[i] != 's';
}

/* The message whose answer comes first; batch.n: none will come. */
static size_t
first_answer(void)
{
	size_t	first = batch.n;

	for (size_t i = 0; i < batch.n; i++)
		if (has_answer(i) && (first == batch.n ||
		    fake.sent_at[i] + fake.delay[i] <
		    fake.sent_at[first] + fake.delay[first]))
			first = i;
	return first;
}

static void
fake_wait(void *arg, int64_t timeout_ms)
{
	size_t	i = first_answer();
	int64_t	at = now_ms + timeout_ms;

	(void)arg;
	ck_assert_uint_eq(handling, 0);
	ck_assert_int_ge(timeout_ms, 0);
	ck_assert_int_le(timeout_ms, RELAY_KEEP_MS);
	ck_assert_uint_lt(++fake.nwaits, 100000);
	if (fake.nwaits == fake.lose_wait)
		fake.open = false;
	if (!fake_is_open(NULL))
		return;
	if (i < batch.n && fake.sent_at[i] + fake.delay[i] < at)
		at = fake.sent_at[i] + fake.delay[i];
	if (at > now_ms)
		now_ms = at;
}

/* With one stream, nats.stream, a PubAck does not tell which it was. */
static uint64_t
stream_of(size_t i)
{
	char	name[] = "?";

	if (fake.streams == NULL || i >= batch.n)
		return 0;
	name[0] = fake.streams[i];
	return streams_hash(name);
}

/* The first acknowledgement of a message gives it its place. */
static uint64_t
give_place(size_t i)
{
	if (fake.place[i] == 0)
		fake.place[i] = FIRST_ACK + fake.nplaces++;
	return fake.place[i];
}

static bool
fake_answer(void *arg, struct pub_answer *a)
{
	size_t	i = first_answer();
	char	answered;

	(void)arg;
	*a = (struct pub_answer){ .verdict = VERDICT_STORED };
	if (fake.nstrange > 0 && now_ms >= fake.strange_at) {
		a->slot = fake.strange[--fake.nstrange];
		if (a->slot < batch.n && fake.sent_at[a->slot] != 0)
			fake.stored[a->slot] = true;
		a->stream_sequence = a->slot < MANY ?
		    give_place(a->slot) : FIRST_ACK;
		a->stream = stream_of(a->slot);
		return true;
	}
	if (i == batch.n || now_ms < fake.sent_at[i] + fake.delay[i])
		return false;
	a->slot = (uint32_t)i;
	fake.answered[i] = true;
	/* It is there from now on, but this answer is an older one. */
	answered = act(i);
	switch (answered) {
	case 'N':
		a->slot = PUB_SOME_SLOT;
		/* FALLTHROUGH */
	case 'P':
		a->verdict = VERDICT_ABSENT;
		fake.absent[i]++;
		break;
	case 'D':
		a->verdict = VERDICT_DUPLICATE;
		break;
	case 'M':
		a->verdict = VERDICT_MESSAGE;
		break;
	case 'T':
		a->verdict = VERDICT_TRANSIENT;
		break;
	case 'X':
		a->verdict = VERDICT_DESTINATION;
		break;
	}
	fake.stored[i] = strchr("AD", answered) != NULL;
	if (fake.stored[i]) {
		a->stream_sequence = give_place(i);
		a->stream = stream_of(i);
		return true;
	}
	if (fake.text != NULL)
		strlcpy(a->text, fake.text, sizeof(a->text));
	else
		snprintf(a->text, sizeof(a->text), "answer %c", answered);
	return true;
}

static bool
fake_complaint(void *arg, enum pub_about about, struct err *e)
{
	(void)arg;
	if (fake.complaint == NULL || about != PUB_MESSAGES)
		return false;
	err_set(e, "%s", fake.complaint);
	fake.complaint = NULL;
	return true;
}

static void
fake_tell(void *arg, const char *subject, const char *text)
{
	(void)arg;
	ck_assert_str_eq(subject, conf->nats.advisory);
	holds(text, "\"outbox\":\"shop\"");
	fake.ntold++;
}

static enum keep
fake_keep(void *arg)
{
	(void)arg;
	ck_assert_int_le(now_ms - fake.kept_at, RELAY_KEEP_MS);
	fake.kept_at = now_ms;
	fake.nkeeps++;
	return fake.keep_at != 0 && fake.nkeeps >= fake.keep_at ?
	    fake.keep : KEEP_ON;
}

static const struct pub_ops fake_ops = {
	.open = fake_open,
	.close = fake_close,
	.is_open = fake_is_open,
	.max_payload = fake_max_payload,
	.unread = fake_unread,
	.begin = fake_begin,
	.send = fake_send,
	.wait = fake_wait,
	.answer = fake_answer,
	.complaint = fake_complaint,
	.tell = fake_tell,
};

static void
relay_setup(void)
{
	now_ms = START_MS;
	conf = conf_with("publish: {timeout_ms: 100}\n");
	memset(&fake, 0, sizeof(fake));
	fake.open = true;
	fake.kept_at = START_MS;
	relay = (struct relay){ .conf = conf, .pub = { &fake_ops, NULL },
	    .form = { "events.{event_type}", "shop", "EVENTS" },
	    .has_dead = true, .keep = fake_keep, .handling = &handling,
	    .watch = true };
}

static void
free_errors(void)
{
	for (size_t i = 0; i < batch.n; i++)
		free(msgs[i].error);
	batch.n = 0;
}

static void
relay_teardown(void)
{
	free_errors();
	envelope_free(&relay.envelope);
	kinds_free(&relay.kinds);
	conf_free(conf);
}

/* A batch that was claimed just now, and what will become of it. */
static void
script(const char *keys, const char *acts)
{
	batch_of(keys);
	batch.claimed_at = now_ms;
	ck_assert_uint_eq(strlen(acts), batch.n);
	fake.acts = acts;
	for (size_t i = 0; i < batch.n; i++) {
		fake.delay[i] = 1;
		if (acts[i] == 'b')
			msgs[i].type = BYTES("not legal");
		msgs[i].has_event = acts[i] != 'e';
		msgs[i].away = acts[i] == 'o';
		if (msgs[i].away)
			msgs[i].payload = (struct bytes){ NULL, 6000 };
	}
}

/* Another batch after the first. */
static void
next_script(const char *keys, const char *acts)
{
	size_t	nplaces = fake.nplaces;		/* the stream is the same */

	free_errors();
	memset(&fake, 0, sizeof(fake));
	fake.open = true;
	fake.kept_at = now_ms;
	fake.nplaces = nplaces;
	script(keys, acts);
}

static char
letter_of(const struct msg *m)
{
	return "UDRFX?"[m->outcome];
}

static bool
has_failed(const struct msg *m)
{
	return m->outcome == OUT_RETRY || m->outcome == OUT_DEFER ||
	    m->outcome == OUT_DEAD;
}

/* Given up before its time, because a later one was answered long ago. */
static bool
is_overtaken(size_t i)
{
	if (kinds_is_blamed(&relay.kinds, msgs[i].type))
		return true;
	/* With several streams also those that only seem to be. */
	if (fake.streams != NULL && msgs[i].outcome == OUT_DEFER)
		return true;
	if (msgs[i].outcome != OUT_RETRY)
		return false;
	for (size_t j = 0; j < batch.n; j++)
		if (fake.stored[j] && fake.sent_at[j] >= fake.sent_at[i] &&
		    now_ms >= fake.sent_at[j] + 250)
			return true;
	return false;
}

/* Silence uses an attempt only if its own stream stored a later one. */
static void
check_silence(size_t i)
{
	bool	later = false;

	for (size_t j = 0; j < batch.n; j++)
		later = later || (fake.stored[j] &&
		    fake.sent_at[j] >= fake.sent_at[i] &&
		    fake.streams[j] == fake.streams[i]);
	ck_assert_msg(later, "%zu is blamed for its stream", i);
}

/* What must be true of any batch afterwards. */
static void
check_outcomes(void)
{
	unsigned	delivered = 0, failed = 0, duplicates = 0;
	unsigned	deferred = 0;

	for (size_t i = 0; i < batch.n; i++) {
		const struct msg *m = &msgs[i];
		bool stored = fake.stored[i];

		delivered += m->outcome == OUT_DELIVERED;
		duplicates += m->outcome == OUT_DELIVERED &&
		    fake.acts[i] == 'D';
		failed += has_failed(m);
		deferred += m->outcome == OUT_DEFER;
		ck_assert_uint_eq(m->ack_sequence,
		    m->outcome == OUT_DELIVERED ? fake.place[i] : 0);
		if (m->outcome == OUT_DELIVERED)
			ck_assert_msg(stored, "%zu has no ack", i);
		else if (m->outcome != OUT_DEAD)
			ck_assert_msg(!stored, "%zu was acked", i);
		/* Sent, and nobody knows. */
		ck_assert(m->unsure <= (fake.sent_at[i] != 0));
		if (fake.sent_at[i] != 0 && !fake.answered[i] &&
		    m->outcome != OUT_DELIVERED)
			ck_assert(m->unsure);
		if (fake.streams != NULL && m->unsure &&
		    (m->outcome == OUT_RETRY || m->outcome == OUT_DEAD))
			check_silence(i);
		if (has_failed(m))
			ck_assert_str_ne(m->error, "");
		if (m->outcome == OUT_RETRY || m->outcome == OUT_DEFER)
			ck_assert_int_gt(m->delay_ms, 0);
		ck_assert((m->outcome == OUT_DEAD) == (m->reason != NULL));
		if (m->outcome == OUT_UNKNOWN)
			ck_assert(fake.keep == KEEP_ABANDON &&
			    fake.sent_at[i] != 0 && (!fake.answered[i] ||
			    fake.absent[i] > 0));
		else if (fake.open && !is_overtaken(i))
			ck_assert(!is_out(i));
	}
	ck_assert_uint_eq(res.delivered, delivered);
	ck_assert_uint_eq(res.duplicates, duplicates);
	/* If the route is down, no message has failed. */
	if (!res.down || delivered > 0)
		ck_assert_uint_eq(res.failed, failed);
	else if (relay.kinds.n == 0)
		ck_assert_uint_eq(res.failed, failed - deferred);
	ck_assert((res.failed > 0 || res.down) <= (res.why.text[0] != '\0'));
	ck_assert_uint_eq(handling, 0);
	ck_assert_uint_eq(fake.nbegins, 1);
	ck_assert_uint_eq(fake.nopens, 0);
}

static void
publish(void)
{
	/* What was in there before does not count. */
	memset(&res, 'x', sizeof(res));
	relay_publish(&relay, &batch, &res);
	check_outcomes();
}

static void
expect(const char *outcomes)
{
	char	got[MANY + 1];
	size_t	i;

	for (i = 0; i < batch.n; i++)
		got[i] = letter_of(&msgs[i]);
	got[i] = '\0';
	ck_assert_str_eq(got, outcomes);
}

static void
expect_sent(const char *order)
{
	char	got[NROWS(fake.order) + 1];
	size_t	i;

	for (i = 0; i < fake.nsent; i++)
		got[i] = (char)('0' + fake.order[i]);
	got[i] = '\0';
	ck_assert_str_eq(got, order);
}

/*
 * relay: what becomes of each
 */

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
	{ "aab", "MAA", "XDD", .sent = "021", .why = "answer M" },
	{ "aab", "RAA", "XDD", .sent = "21", .why = "refused by the fake" },
	{ "aab", "bAA", "XDD", .sent = "21", .why = "not legal" },
	{ "aab", "eAA", "XDD", .sent = "21", .why = "does not exist" },
	{ "aab", "oAA", "XDD", .sent = "21", .why = "6000 bytes are more than"
	  " the server's max_payload of 5000" },
	{ "aaaa", "MReb", "XXXX", .sent = "0" },
	{ "aaaaa", "RebRA", "XXXXD", .sent = "4", .window = 1 },
	/* With nowhere to die it waits, and so does its lane. */
	{ "aab", "MAA", "RUD", .sent = "02", .no_dead = true },
	{ "aab", "RAA", "RUD", .sent = "2", .no_dead = true },
	{ "aab", "bAA", "RUD", .sent = "2", .no_dead = true },
	{ "aab", "eAA", "RUD", .sent = "2", .no_dead = true },

	/* Nobody's: it is tried again, its lane waits, others go on. */
	{ "aab", "TAA", "RUD", .sent = "02", .why = "answer T" },
	{ "aaabab", "ATAAAA", "DRUDUD", .sent = "0315" },
	{ "ab", "TT", "RR", .sent = "01" },
	{ "a", "T", "R", .sent = "0" },
	{ "abc", "sAA", "RDD", .sent = "012",
	  .why = "no answer within 100 ms" },
	{ "aabb", "sAAA", "RUDD", .sent = "023" },

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
	/* Nobody says which; when all others have answers it shows. */
	{ "a", "N", "F", .sent = "0000", .down = true, .why = "answer N" },
	{ "aab", "NAN", "FUF", .sent = "02020202", .down = true },
	{ "aab", "NAA", "FUD", .sent = "02000", .why = "answer N" },
	{ "abc", "ANA", "DFD", .sent = "012111" },
	{ "abcd", "NANT", "FDFR", .sent = "0123020202" },
	{ "abab", "NAAA", "FDUD", .sent = "000013", .window = 1 },
	{ "a", "P", "F", .sent = "0000", .down = true, .why = "answer P" },
	{ "aabc", "PNAN", "FUDF", .sent = "023030303" },
	/* Nobody was there for a moment: as if nothing had happened. */
	{ "a", "1", "D", .sent = "00" },
	{ "a", "3", "D", .sent = "0000" },
	{ "aab", "1AA", "DDD", .sent = "0201" },
	{ "aaab", "3ANA", "DDFD", .sent = "0300012" },
	{ "abc", "123", "DDD", .sent = "012012122" },
	{ "abab", "2AAA", "DDDD", .sent = "000123", .window = 1 },
	{ "aab", "1MT", "DXR", .sent = "0201" },
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
	{ "abc", "XMT", "FXR", .sent = "012", .down = true,
	  .why = "answer X" },
	{ "abc", "sRe", "FXX", .sent = "0", .down = true },
	/* What was said explains the silence. */
	{ "ab", "ss", "FF", .sent = "01", .down = true,
	  .complaint = "no permission", .why = "no permission" },
	{ "ab", "sA", "FD", .sent = "01", .complaint = "no permission",
	  .why = "no permission" },
	{ "ab", "AA", "DD", .sent = "01", .complaint = "no permission" },

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
	publish();
	expect(flights[_i].outcomes);
	expect_sent(flights[_i].sent);
	ck_assert(res.down == flights[_i].down);
	if (flights[_i].why != NULL)
		holds(res.why.text, flights[_i].why);
	ck_assert_uint_le(fake.most_out, (size_t)conf->publish.window);
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
	publish();
	expect(orderings[_i].outcomes);
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

	script("abc", "TsA");
	msgs[0].attempts = msgs[1].attempts = delays[_i].attempts;
	publish();
	expect("RRD");
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
	{ 's', 23, false, "RUD" },
	{ 's', 24, false, "XUD" },
	{ 'T', 24, true, "RUD" },
	{ 's', 24, true, "RUD" },
	{ 'X', 24, false, "FUD" },
};

START_TEST(last_attempt_is_the_last)
{
	char	acts[] = "?AA";

	acts[0] = deaths[_i].act;
	script("aab", acts);
	relay.has_dead = !deaths[_i].no_dead;
	msgs[0].attempts = deaths[_i].attempts;
	publish();
	expect(deaths[_i].outcomes);
	if (msgs[0].outcome == OUT_DEAD)
		ck_assert_str_eq(msgs[0].reason, "attempts");
	if (deaths[_i].no_dead)
		ck_assert_int_eq(msgs[0].delay_ms, conf->retry.max_backoff);
}
END_TEST

static const char	faults[] = "MRbe";

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

/* n messages without lanes, all with the same fate. */
static void
script_many(size_t n, char act)
{
	static char	acts[MANY + 1], keys[MANY + 1];

	memset(keys, '-', n);
	memset(acts, act, n);
	keys[n] = acts[n] = '\0';
	script(keys, acts);
}

/* Refusals cost little, and a later message may be welcome. */
START_TEST(refusals_do_not_stop_the_batch)
{
	conf->publish.window = 1;
	script_many(40, 'X');
	publish();
	ck_assert(res.down);
	ck_assert(!res.silent);
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
	ck_assert(res.silent);
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
	ck_assert(res.down && res.silent);
	holds(res.why.text, "does not read");
	ck_assert_uint_eq(res.failed, 0);
	ck_assert_uint_eq(fake.nsends, 0);
	next_script("ab", "AA");
	fake.unread = 8191;
	publish();
	expect("DD");
}
END_TEST

START_TEST(bytes_out_are_bounded)
{
	static const char	page[4096];

	conf->worker.batch_bytes = 65536;
	script("abcdefgh", "AAAAAAAA");
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].payload = (struct bytes){ page, sizeof(page) };
	publish();
	expect("DDDDDDDD");
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
	publish();
	expect(_i == 0 ? "DD" : "UU");
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
	publish();
	expect("DF");
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
	{ "ab", "sA", "RD", { 0, 1 }, 1 + 250, 250 },
	{ "ab", "sA", "RD", { 0, 100 }, 100 + 400, 400 },
	{ "ab", "sA", "RD", { 0, 2000 }, 5000, 3000 },
	{ "abc", "ssA", "RRD", { 0, 0, 1 }, 1 + 250, 250 },
	{ "aabc", "sAAA", "RUDD", { 0, 1, 1, 1 }, 1 + 250, 250 },
	{ "abb", "sAA", "RDD", { 0, 1, 200 }, 201 + 800, 800 },
	{ "abb", "sAs", "RDF", { 0, 100, 0 }, 5100, 4900 },
	{ "abc", "AAA", "DDD", { 1, 240, 1 }, 240, 0 },
	/* A duplicate is answered at once, and overtakes what is stored. */
	{ "ab", "sD", "FD", { 0, 1 }, 5000, 0 },
	{ "ab", "AD", "DD", { 2000, 1 }, 2000, 0 },
	{ "abc", "ssD", "FFD", { 0, 0, 1 }, 5000, 0 },
	{ "abc", "sDA", "RDD", { 0, 1, 1 }, 1 + 250, 250 },
};

START_TEST(overtaken_ones_are_not_waited_for)
{
	conf->publish.timeout_ms = 5000;
	script(overtaken[_i].keys, overtaken[_i].acts);
	for (size_t i = 0; i < strlen(overtaken[_i].keys); i++)
		fake.delay[i] = overtaken[_i].delay[i];
	publish();
	expect(overtaken[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + overtaken[_i].took);
	ck_assert_int_eq(res.stalled_ms, overtaken[_i].stalled);
	ck_assert(!res.down);
}
END_TEST

/* Event types, a letter each. */
static void
types(const char *letters)
{
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].type = (struct bytes){ letters + i, 1 };
}

/*
 * The limit of this server, of one before (0: there was none), how long the
 * connection lasts, and what becomes of a message of 6000 bytes or so.
 */
static const struct {
	int64_t		 max, before, lasts;
	const char	*outcomes;
	bool		 news;
} limits[] = {
	{ 5000, 0, 0, "XDD", false },
	{ 5000, 5000, 0, "XDD", false },
	{ 5000, 5999, 0, "XDD", true },
	{ 5000, 8000, 0, "FUD", true },
	{ 5000, 8000, 10 * 60 * 1000 - 1, "FUD", true },
	{ 5000, 8000, 10 * 60 * 1000, "XDD", true },
	{ 5000, 8000, 24 * 3600 * 1000, "XDD", true },
};

/* The first message has 6000 bytes, which were fetched or not. */
static void
script_large(bool away)
{
	static char	large[6000];

	now_ms += 10000;
	if (away)
		next_script("aab", "oAA");
	else {
		next_script("aab", "RAA");
		memset(large, ' ', sizeof(large));
		msgs[0].payload = (struct bytes){ large, sizeof(large) };
	}
}

START_TEST(smaller_limit_has_to_last)
{
	struct limit	*l = &relay.limit;

	for (int away = 0; away < 2; away++) {
		memset(l, 0, sizeof(*l));
		if (limits[_i].before != 0)
			ck_assert(!limit_connected(l, limits[_i].before,
			    now_ms));
		ck_assert(limit_connected(l, limits[_i].max, now_ms) ==
		    limits[_i].news);
		/* It is said once. */
		ck_assert(!limit_connected(l, limits[_i].max, now_ms + 10000));
		now_ms += limits[_i].lasts;
		script_large(away != 0);
		msgs[0].attempts = 24;
		publish();
		expect(limits[_i].outcomes);
		ck_assert(!res.down);
		ck_assert_uint_eq(relay.kinds.n, 0);
		if (msgs[0].outcome == OUT_DEFER)
			holds(msgs[0].error, "was 8000 before");
	}
}
END_TEST

/* A better server in between, and it begins anew. */
START_TEST(larger_limit_ends_the_wait)
{
	struct limit	*l = &relay.limit;

	limit_connected(l, 8000, now_ms);
	limit_connected(l, 5000, now_ms);
	now_ms += 9 * 60 * 1000;
	ck_assert(!limit_connected(l, 8000, now_ms));
	script_large(false);
	fake.acts = "AAA";
	publish();
	expect("DDD");
	ck_assert(limit_connected(l, 5000, now_ms));
	now_ms += 9 * 60 * 1000;
	script_large(false);
	publish();
	expect("FUD");
}
END_TEST

/* It says nothing of the type: the next of it is sent. */
START_TEST(smaller_limit_is_not_the_type)
{
	script("ab", "XA");
	types("xy");
	publish();
	limit_connected(&relay.limit, 8000, now_ms);
	limit_connected(&relay.limit, 5000, now_ms);
	now_ms += 2000;
	next_script("abc", "oAA");
	types("xxy");
	publish();
	expect("FDD");
}
END_TEST

/*
 * Several streams: what they are named, a letter for each message.  A message
 * without an answer is measured by those of its own stream; without any it
 * has its whole time, and is not to blame.
 */
static void
several(const char *letters, const char *names)
{
	relay.form.stream = "";
	relay.watch = false;
	fake.streams = names;
	types(letters);
}

static const struct {
	const char	*keys, *types, *streams, *acts, *outcomes;
	int64_t		 delay[5];
	int64_t		 took;
} company[] = {
	/* Slow or silent, while another one is fast. */
	{ "ab", "xy", "12", "AA", "DD", { 3000, 1 }, 3000 },
	{ "ab", "xy", "12", "sA", "FD", { 0, 1 }, 5000 },
	{ "abb", "xyy", "122", "sAA", "FDD", { 0, 1, 1 }, 5000 },
	{ "abcd", "xxyy", "1122", "AsAA", "DFDD", { 1, 0, 1, 1 }, 5000 },
	{ "abcd", "xyxy", "1212", "AAsA", "DDFD", { 1, 1, 0, 1 }, 5000 },
	/* Of the same stream, but nobody has told that yet. */
	{ "ab", "xy", "11", "sA", "FD", { 0, 1 }, 5000 },
	/* Overtaken, as with one stream. */
	{ "ab", "xx", "11", "sA", "RD", { 0, 1 }, 500 },
	{ "ab", "xx", "11", "sA", "RD", { 0, 600 }, 600 + 2400 },
	{ "ab", "xx", "11", "sD", "FD", { 0, 1 }, 5000 },
	{ "abc", "xyx", "111", "AsA", "DFD", { 1, 0, 1 }, 5000 },
	{ "abcd", "xyxy", "1111", "AAsA", "DDRD", { 1, 1, 0, 1 }, 500 },
	{ "abcde", "xxyxy", "11212", "AsAAA", "DRDDD", { 1, 0, 1, 1, 1 },
	  500 },
	/* Both at once: the one waits, the other one failed. */
	{ "abcd", "xxyy", "1122", "sAAs", "RDDF", { 0, 1, 1, 0 }, 5000 },
	/* A subject that goes now here, now there, tells nothing. */
	{ "abc", "xxx", "112", "sAA", "FDD", { 0, 1, 1 }, 5000 },
};

START_TEST(streams_are_judged_by_themselves)
{
	conf->publish.timeout_ms = 5000;
	script(company[_i].keys, company[_i].acts);
	several(company[_i].types, company[_i].streams);
	for (size_t i = 0; i < batch.n; i++)
		fake.delay[i] = company[_i].delay[i];
	publish();
	expect(company[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + company[_i].took);
	ck_assert(!res.down);
}
END_TEST

/* Nobody dies of it, as often as it may happen. */
START_TEST(outage_of_one_of_two_streams_kills_nothing)
{
	conf->publish.timeout_ms = 5000;
	for (int round = 0; round < 30; round++) {
		next_script("abcd", "sAsA");
		several("xyxy", "1212");
		msgs[0].attempts = msgs[2].attempts = 24;
		publish();
		ck_assert_uint_eq(res.delivered, 2);
		for (size_t i = 0; i < 4; i += 2) {
			ck_assert_int_eq(msgs[i].outcome, OUT_DEFER);
			ck_assert_int_gt(msgs[i].delay_ms, 0);
		}
		now_ms += 5000;
	}
}
END_TEST

/* Known from before, it shortens the wait; it is not held against anybody. */
START_TEST(what_was_learned_before_only_saves_time)
{
	int64_t	start;

	conf->publish.timeout_ms = 5000;
	script("ab", "AA");
	several("xy", "11");
	publish();
	expect("DD");
	start = now_ms;
	next_script("ab", "sA");
	several("xy", "11");
	msgs[0].attempts = 24;
	publish();
	expect("FD");
	ck_assert_int_eq(now_ms, start + 500);
	/* Another one of its type has its turn before it. */
	ck_assert_int_ge(msgs[0].delay_ms, 2 * 5000);
}
END_TEST

/* It has moved to another stream, which is silent now. */
START_TEST(subject_that_has_moved_uses_no_attempt)
{
	int64_t	start;

	conf->publish.timeout_ms = 5000;
	script("ab", "AA");
	several("xy", "11");
	publish();
	next_script("ab", "AA");
	several("xy", "21");
	publish();
	expect("DD");
	start = now_ms;
	next_script("aby", "sAA");
	several("xyx", "212");
	msgs[0].attempts = 24;
	publish();
	expect("FDD");
	ck_assert_int_eq(now_ms, start + 5000);
}
END_TEST

/* It costs the others a time-out once, and then little. */
START_TEST(silent_stream_is_remembered)
{
	int64_t	start;

	conf->publish.timeout_ms = 5000;
	script("abc", "AsA");
	several("xzy", "112");
	/* One type, so that it is not the type that is to blame. */
	types("xxy");
	publish();
	expect("DFD");
	ck_assert_int_eq(now_ms, START_MS + 5000);
	start = now_ms;
	next_script("abc", "ssA");
	several("xxy", "112");
	publish();
	expect("FFD");
	ck_assert_int_eq(now_ms, start + 500);
	/* Alone it is not taken for the route. */
	now_ms += 60000;
	next_script("a", "s");
	several("x", "1");
	publish();
	expect("F");
	ck_assert(!res.down && !res.silent);
	/* And it is as others again when it answers. */
	now_ms += 60000;
	next_script("ab", "AA");
	several("xx", "11");
	publish();
	expect("DD");
	start = now_ms;
	next_script("abc", "AsA");
	several("xxy", "112");
	publish();
	expect("DFD");
	ck_assert_int_eq(now_ms, start + 5000);
}
END_TEST

/* More subjects and streams than are remembered. */
START_TEST(many_streams_do_no_harm)
{
	static struct streams	s;

	streams_begin(&s);
	for (uint64_t i = 1; i <= 100000; i++) {
		streams_took(&s, i, i);
		streams_stored(&s, i, (size_t)i);
	}
	for (uint64_t i = 1; i <= 100000; i++) {
		bool known = i > 100000 - STREAMS_SUBJECTS;
		bool seen = i > 100000 - STREAMS_MAX;

		ck_assert(streams_is_sure(&s, i) == known);
		if (known && seen)
			ck_assert(streams_overtook(&s, i, 0));
		ck_assert(!streams_overtook(&s, i, (size_t)100001));
		if (!known)
			ck_assert(!streams_overtook(&s, i, 0));
	}
	streams_begin(&s);
	ck_assert(!streams_overtook(&s, 100000, 0));
	ck_assert(!streams_is_sure(&s, 100000));
}
END_TEST

/* One of a type that was not taken goes first, and not at once. */
START_TEST(type_not_taken_is_tried_with_one)
{
	script("abcd", "XXAA");
	types("xxyy");
	publish();
	expect("FFDD");
	ck_assert_uint_eq(relay.kinds.n, 1);

	next_script("abcdaa", "AAAAAA");
	types("xxxyyx");
	publish();
	expect("FFFDUU");
	expect_sent("3");
	ck_assert(!res.down);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_ge(msgs[i].delay_ms, 700);

	now_ms += 2000;
	next_script("abcdd", "XAAAA");
	types("xxxyx");
	publish();
	expect("FFFDF");
	expect_sent("03");

	now_ms += 40000;
	next_script("abcd", "AAAA");
	types("xxxy");
	publish();
	expect("DDDD");
	expect_sent("0312");
	ck_assert_uint_eq(relay.kinds.n, 0);
}
END_TEST

/* Was it the route?  Then nothing waits, but of each type one goes first. */
START_TEST(types_are_sampled_after_a_silence)
{
	script("abcde", "sssss");
	types("xxyyy");
	publish();
	expect("FFFFF");
	ck_assert(res.down && res.silent);

	next_script("abcdeff", "ssAAAAX");
	types("xxyyyzz");
	publish();
	expect("RFDDDDF");
	expect_sent("025346");
	ck_assert(!res.down);
}
END_TEST

/* One that stood aside in front of it is told why it was not sent. */
START_TEST(silence_is_told_to_those_aside)
{
	script("a", "s");
	publish();
	next_script("ab", "As");
	relay.suspect = (struct suspect){ msgs[1].sequence, 1 };
	relay.suspect_met = true;
	publish();
	expect("FF");
	expect_sent("1");
	holds(msgs[0].error, "not sent");
}
END_TEST

/* A connection that goes says nothing of those that stood aside. */
START_TEST(lost_connection_is_not_the_type)
{
	script("ab", "ss");
	types("xx");
	publish();
	next_script("abc", "AAA");
	types("yxx");
	fake.delay[1] = 20;
	fake.lose_wait = 2;
	publish();
	expect("DUU");
	expect_sent("01");
	ck_assert(!kinds_is_blamed(&relay.kinds, BYTES("x")));
}
END_TEST

START_TEST(type_at_fault_says_nothing_of_the_route)
{
	conf->publish.timeout_ms = 5000;
	script("ab", "XA");
	types("xy");
	publish();
	now_ms += 2000;
	next_script("abc", "sAA");
	types("xxx");
	publish();
	expect("FFF");
	ck_assert_int_eq(res.delivered, 0);
	ck_assert(!res.down && !res.silent);
	ck_assert_int_eq(now_ms, START_MS + 1 + 2000 + 500);
}
END_TEST

/* Its refusal may come before the others' answers: it is to blame as well. */
START_TEST(type_refused_before_others_are_taken)
{
	script("a", "X");
	types("x");
	publish();
	ck_assert(res.down);
	next_script("ab", "XA");
	types("xy");
	fake.delay[1] = 20;
	publish();
	expect("FD");
	ck_assert(kinds_is_blamed(&relay.kinds, BYTES("x")));
	now_ms += 2000;
	next_script("a", "X");
	types("x");
	publish();
	expect("F");
	ck_assert(!res.down);
}
END_TEST

/* A message at its own fault tells nothing of its type: the next is tried. */
START_TEST(own_fault_tells_nothing_of_the_type)
{
	script("ab", "XA");
	types("xy");
	publish();
	now_ms += 2000;
	next_script("abcd", "MRAA");
	types("xxxx");
	publish();
	expect("XXDD");
	expect_sent("023");
}
END_TEST

/* Nor does it with nowhere to die, nor does what is in process elsewhere. */
START_TEST(own_fault_without_dead_letters_tells_nothing)
{
	relay.has_dead = _i != 0;
	script("ab", _i == 0 ? "MA" : "TA");
	types("xy");
	publish();
	expect("RD");
	ck_assert_uint_eq(relay.kinds.n, 0);
}
END_TEST

/* Only so many are remembered; more do no harm. */
START_TEST(many_types_do_no_harm)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	    "abcdefghijklmnopqrstuvwxyz!#$%&";

	script_many(sizeof(legal) - 1, 'X');
	types(legal);
	publish();
	ck_assert_uint_eq(relay.kinds.n, KINDS_MAX);
	next_script("ab", "AA");
	types("A&");
	publish();
	expect("DD");
}
END_TEST

START_TEST(refusal_without_a_name_costs_no_timeout)
{
	script("abc", "NAN");
	relay.absent_until = START_MS + 2;	/* it was in vain just now */
	publish();
	expect("FDF");
	ck_assert_int_eq(now_ms, START_MS + 1);
}
END_TEST

/* 50, 100 and 200 ms, each with the way there and back. */
static const struct {
	const char	*acts, *outcomes;
	int64_t		 took;
} absences[] = {
	{ "1A", "DD", 1 + 50 + 1 },
	{ "2A", "DD", 1 + 50 + 1 + 100 + 1 },
	{ "3A", "DD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "NA", "FD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "PA", "FD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
	{ "33", "DD", 1 + 50 + 1 + 100 + 1 + 200 + 1 },
};

START_TEST(nobody_there_is_asked_again)
{
	script("ab", absences[_i].acts);
	publish();
	expect(absences[_i].outcomes);
	ck_assert_int_eq(now_ms, START_MS + absences[_i].took);
	ck_assert(!res.down);
}
END_TEST

/* In vain once, it does not hold up the batches that follow; for a while. */
START_TEST(in_vain_is_remembered)
{
	int64_t	start = now_ms;

	script("ab", "NA");
	publish();
	ck_assert_int_eq(now_ms, start + 354);
	now_ms += 9000;
	start = now_ms;
	next_script("ab", "NA");
	publish();
	expect("FD");
	ck_assert_int_eq(now_ms, start + 1);
	now_ms += 1000;
	start = now_ms;
	next_script("ab", "1A");
	publish();
	expect("DD");
	ck_assert_int_eq(now_ms, start + 52);
}
END_TEST

/* The claim's end is near: not a single send more. */
START_TEST(no_round_after_the_deadline)
{
	int64_t	spare = conf->worker.claim_ttl - TIMEOUT_MS -
		    CONF_CLAIM_MARGIN_MS;

	script("a", "N");
	batch.claimed_at = now_ms - spare + 60;
	publish();
	expect("F");
	expect_sent("00");
	ck_assert_int_eq(now_ms, START_MS + 52);
}
END_TEST

/* Others are out meanwhile, for longer than the rounds take. */
START_TEST(others_go_on_between_the_rounds)
{
	script("abbb", "PAAA");
	for (size_t i = 1; i < 4; i++)
		fake.delay[i] = 80;
	publish();
	expect("FDDD");
	ck_assert_int_eq(fake.sent_at[3], START_MS + 160);
	ck_assert_uint_eq(fake.nsent, 7);
}
END_TEST

/* Sent again, it has its whole time once more. */
START_TEST(a_round_begins_a_timeout)
{
	script("ab", "PA");
	fake.delay[0] = 70;
	publish();
	expect("FD");
	holds(msgs[0].error, "answer P");
	ck_assert_int_eq(now_ms, START_MS + 4 * 70 + 350);
}
END_TEST

/* And is no reason to wait for another one for longer than its own time. */
START_TEST(a_round_delays_no_timeout)
{
	script("abcdefgh", "sPsAAAAA");
	conf->publish.window = 4;
	fake.delay[1] = 45;
	fake.delay[3] = 60;
	fake.delay[4] = 50;
	publish();
	/*
	 * b is out again from 95 on.  The time of a and c is over at 100 all
	 * the same, so two may go then.
	 */
	expect("RFRDDDDD");
	ck_assert_int_eq(fake.sent_at[5], START_MS + 100);
	ck_assert_int_eq(fake.sent_at[6], START_MS + 100);
}
END_TEST

/* Its answer was under way: it was another one that nobody took. */
START_TEST(answer_in_between_the_rounds)
{
	script("aab", "1AA");
	fake.strange[0] = 0;
	fake.nstrange = 1;
	fake.strange_at = START_MS + 20;
	publish();
	expect("DDD");
	expect_sent("021");
	ck_assert_uint_eq(res.failed, 0);
}
END_TEST

/* With nothing out there is no answer to wait for. */
/*
 * Dead by attempts, perhaps stored: until it is buried its successor, if we
 * are killed now, would send it again, behind what follows it.
 */
START_TEST(lane_waits_for_the_burial)
{
	script("aab", "sAA");
	msgs[0].attempts = 24;
	publish();
	expect("XUD");
	ck_assert_int_eq(fake.sent_at[1], 0);
}
END_TEST

/* The place of one whose time is over is taken at once. */
START_TEST(timeout_makes_room)
{
	script("abcd", "sAsA");
	conf->publish.window = 2;
	fake.delay[1] = 10;
	publish();
	expect("RDRD");
	ck_assert_int_eq(fake.sent_at[2], START_MS + 10);
	ck_assert_int_eq(fake.sent_at[3], START_MS + 100);
}
END_TEST

START_TEST(timeouts_run_one_by_one)
{
	script("abbb", "sAsA");
	fake.delay[1] = 60;
	publish();
	/*
	 * The third is sent at 60 and has until 160.  No ack came after it:
	 * the silence may be the destination's.
	 */
	expect("RDFU");
	ck_assert_int_eq(fake.sent_at[2], START_MS + 60);
	ck_assert_int_ge(now_ms, START_MS + 160);
	ck_assert(!res.down);
}
END_TEST

/* A long lane keeps the batch out for long enough to hear of it. */
START_TEST(late_ack_is_an_ack)
{
	script("aabbb", _i == 0 ? "AAAAA" : "DAAAA");
	fake.delay[0] = 150;
	for (size_t i = 2; i < 5; i++)
		fake.delay[i] = 80;
	publish();
	expect("DUDDD");
	ck_assert_int_eq(fake.sent_at[1], 0);
	ck_assert_uint_eq(res.failed, 0);
}
END_TEST

static const char	late_failures[] = "TXM";

START_TEST(late_failure_changes_nothing)
{
	char	acts[] = "?AAAA";

	acts[0] = late_failures[_i];
	script("aabbb", acts);
	fake.delay[0] = 150;
	for (size_t i = 2; i < 5; i++)
		fake.delay[i] = 80;
	publish();
	expect("RUDDD");
	ck_assert_uint_eq(res.failed, 1);
	holds(msgs[0].error, "no answer");
}
END_TEST

/* One late ack, and the silence was not the destination's. */
START_TEST(late_ack_shows_that_the_route_works)
{
	script("abcc", "AsMT");
	fake.delay[0] = 150;
	fake.delay[2] = fake.delay[3] = 90;
	publish();
	expect("DFXR");
	ck_assert(!res.down);
	ck_assert_uint_eq(res.failed, 3);
}
END_TEST

START_TEST(strange_answers_do_no_harm)
{
	script("aabB", "AsTA");
	conf->publish.window = 1;
	/* Not sent yet, sent by nobody, held. */
	fake.strange[0] = 1;
	fake.strange[1] = 4;
	fake.strange[2] = UINT32_MAX - 1;
	fake.strange[3] = 3;
	fake.nstrange = 4;
	publish();
	expect("DFRU");
}
END_TEST

START_TEST(second_answer_counts_once)
{
	script("aab", "AAA");
	fake.delay[1] = fake.delay[2] = 50;
	fake.strange[0] = 0;
	fake.strange[1] = 0;
	fake.nstrange = 2;
	/* The fake's own answer is the third. */
	publish();
	expect("DDD");
	expect_sent("021");
}
END_TEST

static const struct {
	uint64_t	 ack;		/* the highest before */
	const char	*acts, *outcomes;
	uint64_t	 top;		/* and after */
} tops[] = {
	{ 0, "AAAA", "DDDD", FIRST_ACK + 3 },
	{ FIRST_ACK - 1, "ADAA", "DDDD", FIRST_ACK + 3 },
	{ FIRST_ACK, "DAAA", "DDDD", FIRST_ACK + 3 },	/* an old one again */
	{ FIRST_ACK, "AAAA", "DUUU", FIRST_ACK },
	{ FIRST_ACK + 50, "DTDA", "DRDD", FIRST_ACK + 50 },
};

START_TEST(stream_that_goes_back_is_noticed)
{
	bool	back = strchr(tops[_i].outcomes, 'U') != NULL ||
		    tops[_i].ack > FIRST_ACK;

	script("abcd", tops[_i].acts);
	conf->publish.window = 1;
	relay.top = (struct acked){ { .sequence = 1 }, tops[_i].ack };
	publish();
	expect(tops[_i].outcomes);
	ck_assert(relay.went_back == back);
	ck_assert_uint_eq(relay.top.ack, tops[_i].top);
	if (!back)
		ck_assert_uint_eq(relay.top.id.sequence, msgs[3].sequence);
}
END_TEST

START_TEST(nobody_watches_places)
{
	script("abcd", "AAAA");
	relay.watch = false;
	relay.top = (struct acked){ { .sequence = 1 }, FIRST_ACK + 50 };
	publish();
	expect("DDDD");
	ck_assert(!relay.went_back);
}
END_TEST

/*
 * The publisher says lost, even if the connection looks open: nobody may
 * take this for a batch without trouble and start the next one at once.
 */
START_TEST(lost_is_lost)
{
	script("abc", "AAA");
	fake.lose_send = 1;
	fake.pretend = true;
	publish();
	expect("UUU");
	ck_assert(res.down);
	ck_assert_str_ne(res.why.text, "");
}
END_TEST

/*
 * Others are always out until the time of the refused one is over.  Then its
 * refusal must not be left for one of them, nor count as its own failure.
 */
START_TEST(refusal_without_a_name_may_time_out)
{
	script("abcbc", "NAAAA");
	fake.delay[1] = 60;
	fake.delay[2] = 70;
	fake.delay[3] = fake.delay[4] = 80;
	publish();
	ck_assert_int_eq(msgs[4].outcome, OUT_DELIVERED);
	expect("FDDDD");
}
END_TEST

/* It goes into a column, where strict SQL refuses half a character. */
START_TEST(error_is_utf8)
{
	static const char	acts[] = "TXM";
	char			act[] = "??";
	json_t			*j;

	act[0] = act[1] = acts[_i];
	script("ab", act);
	fake.text = "stream \xff \xe2\x82";
	publish();
	j = json_string(msgs[0].error);
	ck_assert_msg(j != NULL, "no UTF-8: %s", msgs[0].error);
	json_decref(j);
	holds(msgs[0].error, "stream ");
}
END_TEST

START_TEST(left_out_metadata_is_counted)
{
	script("aab", "A1R");
	msgs[0].metadata = BYTES("{\"a\":[],\"b\":{},\"c\":1}");
	msgs[1].metadata = BYTES("{\"a\":null}");
	publish();
	ck_assert_uint_eq(res.skipped, 3);
}
END_TEST

/* What ended workers waits for the others once, and then goes first. */
START_TEST(suspect_goes_alone)
{
	script("abbcb", "AAAAA");
	relay.suspect = (struct suspect){ msgs[2].sequence, 1 + _i };
	publish();
	expect("DDFDU");
	expect_sent("013");
	holds(msgs[2].error, "its worker died");
	ck_assert_uint_eq(res.failed, 1);
	ck_assert_int_eq(msgs[2].delay_ms, 1000);
	next_script("abbcb", "AAAAA");
	/* The same row in another place. */
	msgs[2].sequence = 200;
	msgs[3].sequence = relay.suspect.sequence;
	publish();
	expect("DDDDD");
	expect_sent("30124");
}
END_TEST

/* Its lane waits for the burial. */
static const struct {
	unsigned	 deaths;
	bool		 no_dead;
	const char	*outcomes;
} killers[] = {
	{ 24, false, "DFUD" }, { 25, false, "DXUD" }, { 26, false, "DXUD" },
	{ 25, true, "DRUD" },
};

START_TEST(killer_is_dead)
{
	script("abbc", "AAAA");
	relay.suspect = (struct suspect){ msgs[1].sequence,
	    killers[_i].deaths };
	relay.has_dead = !killers[_i].no_dead;
	publish();
	expect(killers[_i].outcomes);
	expect_sent("03");
	if (killers[_i].outcomes[1] != 'X')
		return;
	ck_assert_str_eq(msgs[1].reason, "killer");
	holds(msgs[1].error, "killed its worker 2");
	/* Brought back by hand it is tried. */
	next_script("abbc", "AAAA");
	publish();
	expect("DDDD");
}
END_TEST

START_TEST(no_suspect_is_no_message)
{
	script("ab", "AA");
	msgs[0].sequence = 0;
	publish();
	expect("DD");
}
END_TEST

START_TEST(handling_need_not_be_told)
{
	script("ab", "Ae");
	relay.handling = NULL;
	fake.blind = true;
	memset(&res, 'x', sizeof(res));
	relay_publish(&relay, &batch, &res);
	expect("DX");
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
	uint64_t	sequences[16];
	char		taken[17] = "................";
	struct room	room;
	size_t		n;

	conf->worker.batch_bytes = 1000;
	conf->outbox.ordering = (int)rooms[_i].ordering;
	room_init(&room, conf);
	room_batch(rooms[_i].keys, rooms[_i].sizes, rooms[_i].away);
	n = room_choose(&room, &batch, FAKE_MAX_PAYLOAD, sequences);
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
	uint64_t	sequences[16];
	struct room	room;

	conf->worker.batch_bytes = 1000;
	room_init(&room, conf);
	ck_assert_uint_eq(room_share(&room, 4), 250);
	room_batch("abc", "111", "-xx");
	msgs[0].metadata.len = 600;
	msgs[1].metadata.len = 100;
	msgs[2].metadata.len = 1;
	ck_assert_uint_eq(room_choose(&room, &batch, FAKE_MAX_PAYLOAD,
	    sequences), 1);
	ck_assert(msgs[2].left);
}
END_TEST

static void
learn(struct room *room, size_t n, size_t size)
{
	batch_of("abcdefgh");
	batch.n = n;
	for (size_t i = 0; i < n; i++)
		msgs[i].payload.len = size;
	room_learn(room, &batch);
}

START_TEST(batches_fit_their_room)
{
	struct room	room;

	conf->worker.batch_bytes = 100000;
	room_init(&room, conf);
	ck_assert_uint_eq(room_rows(&room, 300), 300);
	learn(&room, 8, 10);
	ck_assert_uint_eq(room_rows(&room, 300), 300);
	/* Large ones: three quarters of the room, and never nothing. */
	learn(&room, 8, 1000);
	ck_assert_uint_eq(room_rows(&room, 300), 74);
	learn(&room, 1, 1000000);
	ck_assert_uint_eq(room_rows(&room, 300), 1);
	/* Step by step they may be more again; none says nothing. */
	learn(&room, 0, 0);
	ck_assert_uint_eq(room_rows(&room, 300), 1);
	for (size_t rows = 2; rows < 300; rows *= 2) {
		learn(&room, 1, 10);
		ck_assert_uint_eq(room_rows(&room, 300), rows);
	}
	learn(&room, 8, 0);
	ck_assert_uint_eq(room_rows(&room, 300), 300);
	/* What failed may have been too much. */
	room_failed(&room, 200);
	ck_assert_uint_eq(room_rows(&room, 300), 50);
	for (size_t n = 50; n > 0; n /= 4)
		room_failed(&room, n);
	ck_assert_uint_eq(room_rows(&room, 300), 1);
	room_failed(&room, 1);
	ck_assert_uint_eq(room_rows(&room, 300), 1);
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

static void
add_window_tests(Suite *s)
{
	TCase	*tc = tcase_create("window");

	tcase_add_loop_test(tc, lane_is_what_stays_in_order, 0, NROWS(lanes));
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
	suite_add_tcase(s, tc);
}

static void
add_room_tests(Suite *s)
{
	TCase	*tc = tcase_create("room");

	tcase_add_checked_fixture(tc, room_setup, room_teardown);
	tcase_add_loop_test(tc, room_is_given_in_order, 0, NROWS(rooms));
	tcase_add_test(tc, room_is_for_metadata_too);
	tcase_add_test(tc, batches_fit_their_room);
	suite_add_tcase(s, tc);
}

static void
add_envelope_tests(Suite *s)
{
	TCase	*tc = tcase_create("envelope");

	tcase_add_checked_fixture(tc, envelope_setup, envelope_teardown);
	tcase_add_test(tc, envelope_has_the_headers_of_the_contract);
	tcase_add_loop_test(tc, null_column_has_no_header, 0, NROWS(contract));
	tcase_add_test(tc, empty_column_has_no_header);
	tcase_add_test(tc, no_stream_no_expectation);
	tcase_add_test(tc, replay_has_an_id_and_a_header);
	tcase_add_loop_test(tc, message_id_tells_events_of_one_number_apart, 0,
	    NROWS(ids));
	tcase_add_loop_test(tc, message_id_is_read, 0, NROWS(read_ids));
	tcase_add_loop_test(tc, message_ids_are_compared_whole, 0,
	    NROWS(compared));
	tcase_add_test(tc, type_with_a_nul_is_hex);
	tcase_add_loop_test(tc, time_is_rfc_3339, 0, NROWS(times));
	tcase_add_loop_test(tc, metadata_becomes_headers, 0, NROWS(entries));
	tcase_add_loop_test(tc, number_keeps_its_value, 0, NROWS(reals));
	tcase_add_test(tc, huge_number_leaves_the_others_alone);
	tcase_add_loop_test(tc, metadata_may_be_empty, 0, NROWS(empties));
	tcase_add_loop_test(tc, metadata_of_the_wrong_shape_is_refused, 0,
	    NROWS(bad_metadata));
	tcase_add_test(tc, too_many_entries_are_left_out);
	tcase_add_loop_test(tc, subject_follows_the_template, 0,
	    NROWS(subjects));
	tcase_add_loop_test(tc, illegal_subject_is_refused, 0,
	    NROWS(bad_subjects));
	tcase_add_test(tc, subject_has_a_longest_length);
	tcase_add_loop_test(tc, any_key_has_a_subject, 0, NROWS(any_keys));
	tcase_add_loop_test(tc, header_cannot_be_broken, 0,
	    6 * NROWS(breaks));
	tcase_add_loop_test(tc, size_is_counted_as_on_the_wire, 0,
	    NROWS(sized));
	tcase_add_test(tc, envelope_is_used_again);
	suite_add_tcase(s, tc);
}

static void
add_answer_tests(Suite *s)
{
	TCase	*tc = tcase_create("answer");

	tcase_add_loop_test(tc, code_has_its_verdict, 0, NROWS(verdicts));
	tcase_add_loop_test(tc, ack_is_read, 0, NROWS(acks));
	tcase_add_test(tc, ack_names_its_stream);
	suite_add_tcase(s, tc);
}

static void
add_relay_tests(Suite *s)
{
	TCase	*tc = tcase_create("relay");

	tcase_add_unchecked_fixture(tc, dir_make, dir_remove);
	tcase_add_checked_fixture(tc, relay_setup, relay_teardown);
	tcase_add_loop_test(tc, each_gets_its_outcome, 0, NROWS(flights));
	tcase_add_loop_test(tc, failure_closes_its_lane_only, 0,
	    NROWS(orderings));
	tcase_add_loop_test(tc, retry_waits_longer_each_time, 0,
	    NROWS(delays));
	tcase_add_loop_test(tc, last_attempt_is_the_last, 0, NROWS(deaths));
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
	tcase_add_test(tc, type_not_taken_is_tried_with_one);
	tcase_add_test(tc, types_are_sampled_after_a_silence);
	tcase_add_test(tc, silence_is_told_to_those_aside);
	tcase_add_test(tc, lost_connection_is_not_the_type);
	tcase_add_test(tc, type_at_fault_says_nothing_of_the_route);
	tcase_add_test(tc, type_refused_before_others_are_taken);
	tcase_add_test(tc, own_fault_tells_nothing_of_the_type);
	tcase_add_loop_test(tc, own_fault_without_dead_letters_tells_nothing,
	    0, 2);
	tcase_add_test(tc, many_types_do_no_harm);
	tcase_add_loop_test(tc, overtaken_ones_are_not_waited_for, 0,
	    NROWS(overtaken));
	tcase_add_loop_test(tc, smaller_limit_has_to_last, 0, NROWS(limits));
	tcase_add_test(tc, larger_limit_ends_the_wait);
	tcase_add_test(tc, smaller_limit_is_not_the_type);
	tcase_add_loop_test(tc, streams_are_judged_by_themselves, 0,
	    NROWS(company));
	tcase_add_test(tc, outage_of_one_of_two_streams_kills_nothing);
	tcase_add_test(tc, what_was_learned_before_only_saves_time);
	tcase_add_test(tc, subject_that_has_moved_uses_no_attempt);
	tcase_add_test(tc, silent_stream_is_remembered);
	tcase_add_test(tc, many_streams_do_no_harm);
	tcase_add_test(tc, refusal_without_a_name_costs_no_timeout);
	tcase_add_loop_test(tc, nobody_there_is_asked_again, 0,
	    NROWS(absences));
	tcase_add_test(tc, in_vain_is_remembered);
	tcase_add_test(tc, no_round_after_the_deadline);
	tcase_add_test(tc, others_go_on_between_the_rounds);
	tcase_add_test(tc, a_round_begins_a_timeout);
	tcase_add_test(tc, a_round_delays_no_timeout);
	tcase_add_test(tc, answer_in_between_the_rounds);
	tcase_add_test(tc, lane_waits_for_the_burial);
	tcase_add_test(tc, timeout_makes_room);
	tcase_add_test(tc, timeouts_run_one_by_one);
	tcase_add_loop_test(tc, late_ack_is_an_ack, 0, 2);
	tcase_add_loop_test(tc, late_failure_changes_nothing, 0,
	    (int)strlen(late_failures));
	tcase_add_test(tc, late_ack_shows_that_the_route_works);
	tcase_add_test(tc, strange_answers_do_no_harm);
	tcase_add_test(tc, second_answer_counts_once);
	tcase_add_loop_test(tc, stream_that_goes_back_is_noticed, 0,
	    NROWS(tops));
	tcase_add_test(tc, nobody_watches_places);
	tcase_add_test(tc, lost_is_lost);
	tcase_add_test(tc, refusal_without_a_name_may_time_out);
	tcase_add_loop_test(tc, error_is_utf8, 0, 3);
	tcase_add_test(tc, left_out_metadata_is_counted);
	tcase_add_loop_test(tc, suspect_goes_alone, 0, 2);
	tcase_add_loop_test(tc, killer_is_dead, 0, NROWS(killers));
	tcase_add_test(tc, no_suspect_is_no_message);
	tcase_add_loop_test(tc, promise_is_kept_with_many_types, 0, 60);
	tcase_add_test(tc, handling_need_not_be_told);
	tcase_add_loop_test(tc, promise_is_kept_whatever_happens, 0, 25);
	suite_add_tcase(s, tc);
}

static void
add_advisory_tests(Suite *s)
{
	TCase	*tc = tcase_create("advisory");

	tcase_add_unchecked_fixture(tc, dir_make, dir_remove);
	tcase_add_checked_fixture(tc, relay_setup, relay_teardown);
	tcase_add_loop_test(tc, advisory_tells_all, 0, NROWS(advisories));
	tcase_add_loop_test(tc, advisory_is_for_the_buried, 0,
	    NROWS(tellings));
	suite_add_tcase(s, tc);
}

int
main(void)
{
	Suite	*s = suite_create("relay");

	add_window_tests(s);
	add_room_tests(s);
	add_envelope_tests(s);
	add_answer_tests(s);
	add_relay_tests(s);
	add_advisory_tests(s);
	return run_suite(s);
}
