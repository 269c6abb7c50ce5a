/*
 * check_envelope.c - a message as it goes out, and the answer that comes back
 *
 * envelope, verdict, and how the bus reads an ack.
 */
#include "lib/check.h"

#include <jansson.h>

#include "nats/bus.h"
#include "driver/envelope.h"
#include "drivers/traits/traits.h"
#include "nats/nats_verdict.h"

static struct envelope		env;
static struct envelope_form	form;
static struct msg		row;
static struct err		err;

static void
envelope_setup(void)
{
	form = (struct envelope_form){
	    .subject = "events.{event_type}", .id_prefix = "shop",
	    .stream = "EVENTS" };
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

/* Of mode inline: the id of its author, and ours beside it. */
START_TEST(author_names_the_message)
{
	row.id = BYTES("m-1");
	row.content_type = BYTES("text/plain");
	row.metadata = BYTES("{\"content-type\":\"a/b\", \"tenant\":\"a\"}");
	must_fill();
	ck_assert_str_eq(header("Nats-Msg-Id"), "m-1");
	ck_assert_str_eq(header("Outbox-Id"), "shop-7-0f8d41f3ef8ddf34");
	ck_assert_str_eq(header("Content-Type"), "text/plain");
	ck_assert_ptr_null(header("content-type"));
	ck_assert_uint_eq(env.skipped, 1);
	row.replay = 2;
	must_fill();
	ck_assert_str_eq(header("Nats-Msg-Id"), "m-1-r2");
	ck_assert_str_eq(header("Outbox-Id"), "shop-7-0f8d41f3ef8ddf34-r2");
	ck_assert_ptr_null(header("Outbox-Message-Id"));
	/* Another's message has it. */
	row.renamed = true;
	must_fill();
	ck_assert_str_eq(header("Nats-Msg-Id"), "shop-7-0f8d41f3ef8ddf34-r2");
	ck_assert_str_eq(header("Outbox-Id"), "shop-7-0f8d41f3ef8ddf34-r2");
	ck_assert_str_eq(header("Outbox-Message-Id"), "m-1-r2");
	row.renamed = false;
	row.id = BYTES("");
	must_fill();
	ck_assert_str_eq(header("Nats-Msg-Id"), "shop-7-0f8d41f3ef8ddf34-r2");
	ck_assert_ptr_null(header("Outbox-Id"));
	ck_assert_ptr_null(header("Outbox-Message-Id"));
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

/* Of NATS alone: no other destination is searched. */
START_TEST(origin_has_a_header)
{
	form.origin = "db1:3306/17";
	must_fill();
	ck_assert_str_eq(header("Outbox-Source"), "db1:3306/17");
	form.origin = "";
	must_fill();
	ck_assert_ptr_null(header("Outbox-Source"));
	form.origin = "db1:3306/17";
	form.driver = DRIVER_HTTP;
	form.subject = "x";
	must_fill();
	ck_assert_ptr_null(header("Outbox-Source"));
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
	/* of an application's column that is a text, and anybody's */
	{ "a\r\nNats-Rollup: all", "0x610d0a4e6174732d526f6c6c75703a20616c6c" },
	{ "a\x7f", "0x617f" }, { "\xff", "0xff" }, { "x", "xZ" },
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
	static char	type[SUBJECT_MAX + 1];

	form.subject = "{event_type}";
	memset(type, 'x', sizeof(type));
	row.type = (struct bytes){ type, SUBJECT_MAX };
	must_fill();
	ck_assert_uint_eq(strlen(envelope_subject(&env)),
	    SUBJECT_MAX);
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
	{ 10054, VERDICT_TOO_LARGE },
	{ 10097, VERDICT_MESSAGE },
	{ 10070, VERDICT_MESSAGE },
	{ 10071, VERDICT_MESSAGE },
	{ 10111, VERDICT_MESSAGE },
	{ 10166, VERDICT_MESSAGE },
	{ 10158, VERDICT_PENDING },
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
	ck_assert_int_eq(nats_verdict_of_error(verdicts[_i].code, "any"),
	    verdicts[_i].verdict);
}
END_TEST

/* Texts of the server for codes whose text matters. */
static const struct {
	int			 code;
	const char		*text;
	enum error_class	 class;
	const char		*word;
} classes[] = {
	{ 10077, "maximum messages exceeded", CLASS_FULL, "full" },
	{ 10077, "maximum messages per subject exceeded", CLASS_FULL,
	  "full" },
	{ 10077, "message too large", CLASS_TOO_LARGE, "too_large" },
	{ 10047, "any", CLASS_FULL, "full" },
	{ 10109, "any", CLASS_SEALED, "sealed" },
	{ 10059, "any", CLASS_NO_STREAM, "no_stream" },
	{ 10060, "any", CLASS_WRONG_STREAM, "wrong_stream" },
	{ 10118, "any", CLASS_OFFLINE, "offline" },
	{ 99999, "any", CLASS_OTHER, "other" },
};

START_TEST(code_has_its_class)
{
	enum error_class	class = nats_verdict_class(classes[_i].code,
				    classes[_i].text);

	ck_assert_int_eq(class, classes[_i].class);
	ck_assert_str_eq(error_class_word(class), classes[_i].word);
}
END_TEST

/* Each class has a word, and no row of destinations is without a class. */
START_TEST(no_class_is_forgotten)
{
	size_t				 n;
	const struct nats_verdict_row	*rows = nats_verdict_table(&n);

	for (int c = CLASS_NONE; c < CLASSES; c++)
		ck_assert_ptr_nonnull(error_class_word((enum error_class)c));
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(rows[i].verdict != VERDICT_DESTINATION ||
		    rows[i].class != CLASS_NONE, "code %d", rows[i].code);
	ck_assert_int_eq(nats_verdict_class_of_complaint("Permissions Violation "
	    "for Publish to \"events.x\""), CLASS_PERMISSION);
	ck_assert_int_eq(nats_verdict_class_of_complaint("slow consumer"),
	    CLASS_OTHER);
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
	{ "{\"stream\":\"T\", \"seq\":05}", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":}", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":5}x", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\", \"seq\":", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"T\",", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":\"TT\", \"seq\":5}", "T", VERDICT_ELSEWHERE, 5,
	  "TT" },
	{ "{\"stream\":\"T\", \"domain\":\"d\", \"seq\":9007199254740993}",
	  "T", VERDICT_STORED, 9007199254740993u, "" },
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\": true}", "T",
	  VERDICT_DUPLICATE, 5, "" },
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\": false}", "T",
	  VERDICT_STORED, 5, "" },
	/* A duplicate of a message that was not stored. */
	{ "{\"stream\":\"T\",\"seq\":0,\"duplicate\": true}", "T",
	  VERDICT_PENDING, 0, "no stored message" },
	{ "{\"stream\":\"T\",\"seq\":0}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"stream\":\"T\"}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"stream\":\"T\",\"seq\":-5}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	/* Some other service answers: not one message is at fault. */
	{ "{\"seq\":5}", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "{\"stream\":\"\",\"seq\":5}", "", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"stream\":5,\"seq\":5}", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "{\"ok\":true}", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "{}", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "{\"stream\":\"T\",\"seq\":\"5\"}", "T", VERDICT_TRANSIENT, 0,
	  "no stored message" },
	{ "{\"stream\":\"OTHER\",\"seq\":5}", "T", VERDICT_ELSEWHERE, 5,
	  "OTHER" },
	{ "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":"
	  "\"maximum messages exceeded\"},\"stream\":\"T\",\"seq\":0}", "T",
	  VERDICT_DESTINATION, 0, "maximum messages exceeded (10077)" },
	{ "{\"error\":{\"code\":400,\"err_code\":10054,\"description\":"
	  "\"message size exceeds maximum allowed\"},\"stream\":\"T\","
	  "\"seq\":0}", "T", VERDICT_TOO_LARGE, 0,
	  "message size exceeds maximum allowed (10054)" },
	{ "{\"error\":{\"code\":409,\"err_code\":10158,\"description\":"
	  "\"duplicate message id is in process\"},\"stream\":\"T\","
	  "\"seq\":0}", "T", VERDICT_PENDING, 0, "in process (10158)" },
	/* An error wins over whatever stands beside it. */
	{ "{\"error\":{\"err_code\":10047},\"stream\":\"T\",\"seq\":5,"
	  "\"duplicate\":true}", "T", VERDICT_DESTINATION, 0, "(10047)" },
	{ "{\"error\":\"x\"}", "T", VERDICT_DESTINATION, 0, "error" },
	{ "{\"error\":{}}", "T", VERDICT_DESTINATION, 0, "error" },
	{ "{\"error\":{\"err_code\":10060,\"description\":\"expected stream "
	  "does not match\"},\"stream\":\"U\",\"seq\":0}", "T",
	  VERDICT_ELSEWHERE, 0, "match (10060), says stream U, " },
	{ "{\"error\":{\"err_code\":10054},\"stream\":\"U\"}", "",
	  VERDICT_TOO_LARGE, 0, "(10054)" },
	{ "", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "+OK", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "{\"stream\":\"T\",\"seq\":5", "T", VERDICT_ELSEWHERE, 0,
	  "not a PubAck" },
	{ "[]", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "5", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
	{ "null", "T", VERDICT_ELSEWHERE, 0, "not a PubAck" },
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
	bus_read_ack(body, (int)len, acks[_i].stream, NULL, "", &a);
	free(body);
	ck_assert_int_eq(a.verdict, acks[_i].verdict);
	ck_assert_uint_eq(a.ack_sequence, acks[_i].sequence);
	ck_assert_int_eq(a.retry_after_ms, 0);
	/* Named where any may answer. */
	if (acks[_i].stream[0] != '\0' && a.class != CLASS_WRONG_STREAM)
		ck_assert_uint_eq(a.stream, 0);
	else if (acks[_i].sequence != 0)
		ck_assert_uint_ne(a.stream, 0);
	if (acks[_i].text[0] == '\0')
		ck_assert_str_eq(a.text, "");
	else
		holds(a.text, acks[_i].text);
}
END_TEST

static const struct {
	const char	*body, *domain;
	enum verdict	 verdict;
} domains[] = {
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5}", NULL,
	  VERDICT_STORED },
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5}", "d",
	  VERDICT_STORED },
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5,\"duplicate\":true}",
	  "d", VERDICT_DUPLICATE },
	{ "{\"stream\":\"T\",\"seq\":5}", "", VERDICT_STORED },
	{ "{\"stream\":\"T\",\"seq\":5}", "d", VERDICT_ELSEWHERE },
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5}", "",
	  VERDICT_ELSEWHERE },
	{ "{\"stream\":\"T\",\"domain\":\"D\",\"seq\":5,\"duplicate\":true}",
	  "d", VERDICT_ELSEWHERE },
};

/* Another stream of the same name, behind a leaf node. */
START_TEST(ack_comes_from_the_domain)
{
	struct pub_answer	a;

	bus_read_ack(domains[_i].body, (int)strlen(domains[_i].body), "T",
	    domains[_i].domain, "", &a);
	ck_assert_int_eq(a.verdict, domains[_i].verdict);
	ck_assert_uint_eq(a.stream, 0);
	if (a.verdict == VERDICT_ELSEWHERE) {
		ck_assert_int_eq(a.class, CLASS_WRONG_STREAM);
		holds(a.text, "domain");
	}
}
END_TEST

static const struct {
	const char	*body, *stream, *api, *where;
} wheres[] = {
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\":true}", "T", "", "" },
	{ "{\"stream\":\"T\",\"seq\":5,\"duplicate\":true}", "", "",
	  "$JS.API.STREAM.MSG.GET.T" },
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5,\"duplicate\":true}",
	  "", "", "$JS.d.API.STREAM.MSG.GET.T" },
	{ "{\"stream\":\"T\",\"domain\":\"d\",\"seq\":5,\"duplicate\":true}",
	  "", "from.A.API", "from.A.API.STREAM.MSG.GET.T" },
	{ "{\"stream\":\"T\",\"seq\":5}", "", "", "" },
};

/* Where there are domains, it may be that of a stream of the same name. */
START_TEST(error_is_of_one_or_another)
{
	static const char	text[] = "{\"error\":{\"err_code\":10077},"
				    "\"stream\":\"T\",\"seq\":0}";
	static const char *const	domains_of[] = { NULL, "", "d" };
	struct pub_answer	a;

	bus_read_ack(text, (int)strlen(text), "T", domains_of[_i], "", &a);
	ck_assert_int_eq(a.verdict, VERDICT_DESTINATION);
	ck_assert(a.in_doubt == (_i == 2));
}
END_TEST

START_TEST(duplicate_names_its_place)
{
	struct pub_answer	a;

	memset(&a, 'x', sizeof(a));
	bus_read_ack(wheres[_i].body, (int)strlen(wheres[_i].body),
	    wheres[_i].stream, NULL, wheres[_i].api, &a);
	ck_assert_str_eq(a.where, wheres[_i].where);
}
END_TEST

START_TEST(ack_names_its_stream)
{
	static const char	 first[] = "{\"stream\":\"A\",\"seq\":1}";
	static const char	 second[] = "{\"stream\":\"B\", \"seq\":1}";
	struct pub_answer	 a, b;

	bus_read_ack(first, (int)strlen(first), "", NULL, "", &a);
	bus_read_ack(second, (int)strlen(second), "", NULL, "", &b);
	ck_assert_uint_ne(a.stream, b.stream);
	ck_assert_uint_eq(a.stream, text_hash("A"));
	ck_assert_uint_eq(b.stream, text_hash("B"));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("envelope");
	TCase	*tc = add_case(s, "envelope");

	tcase_add_checked_fixture(tc, envelope_setup, envelope_teardown);
	tcase_add_test(tc, envelope_has_the_headers_of_the_contract);
	tcase_add_loop_test(tc, null_column_has_no_header, 0, NROWS(contract));
	tcase_add_test(tc, empty_column_has_no_header);
	tcase_add_test(tc, author_names_the_message);
	tcase_add_test(tc, origin_has_a_header);
	tcase_add_test(tc, no_stream_no_expectation);
	tcase_add_test(tc, replay_has_an_id_and_a_header);
	tcase_add_loop_test(tc, message_id_tells_events_of_one_number_apart, 0,
	    NROWS(ids));
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

	tc = add_case(s, "answer");
	tcase_add_loop_test(tc, code_has_its_verdict, 0, NROWS(verdicts));
	tcase_add_loop_test(tc, code_has_its_class, 0, NROWS(classes));
	tcase_add_test(tc, no_class_is_forgotten);
	tcase_add_loop_test(tc, ack_is_read, 0, NROWS(acks));
	tcase_add_loop_test(tc, error_is_of_one_or_another, 0, 3);
	tcase_add_loop_test(tc, ack_comes_from_the_domain, 0,
	    NROWS(domains));
	tcase_add_loop_test(tc, duplicate_names_its_place, 0, NROWS(wheres));
	tcase_add_test(tc, ack_names_its_stream);
	return run_suite(s);
}
