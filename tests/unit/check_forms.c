/*
 * check_forms.c - the forms of a message besides the raw payload
 *
 * Event types as tokens of a subject, JSON that is embedded unparsed, and the
 * envelopes json, cloudevents and cloudevents-binary with rows of any content.
 */
#include "lib/check.h"

#include <ctype.h>

#include <jansson.h>

#include "driver/envelope.h"
#include "util/json_text.h"
#include "util/type_words.h"

/* Bytes in a table. */
#define TEXT(text)	{ (text), sizeof(text) - 1 }

/*
 * type words and tokens
 */

static const struct {
	const char	*type, *kebab, *snake;
} words[] = {
	{ "App\\Events\\OrderCreated", "app.events.order-created",
	  "app.events.order_created" },
	{ "App.Events.OrderCreated", "app.events.order-created",
	  "app.events.order_created" },
	{ "Billing::Invoice::Paid", "billing.invoice.paid",
	  "billing.invoice.paid" },
	{ "orders/OrderCreated", "orders.order-created",
	  "orders.order_created" },
	{ "order_created", "order-created", "order_created" },
	{ "order-created", "order-created", "order_created" },
	{ "Order__Created_", "order-created", "order_created" },
	{ "_Order", "order", "order" },
	{ "HTTPServerError", "http-server-error", "http_server_error" },
	{ "OrderID", "order-id", "order_id" },
	{ "parseJSON", "parse-json", "parse_json" },
	{ "A", "a", "a" },
	{ "AB", "ab", "ab" },
	{ "ABc", "a-bc", "a_bc" },
	{ "Order2Paid", "order2-paid", "order2_paid" },
	{ "OrderV2Created", "order-v2-created", "order_v2_created" },
	{ "V10", "v10", "v10" },
	{ "SHA256Sum", "sha256-sum", "sha256_sum" },
	{ "App\\HTTP\\V2", "app.http.v2", "app.http.v2" },
	{ "\\App\\OrderCreated", "app.order-created", "app.order_created" },
	{ "::Order", "order", "order" },
	{ "/orders/new", "orders.new", "orders.new" },
	{ "a:b", "a:b", "a:b" },
	{ "Outer+Inner", "outer+inner", "outer+inner" },
	{ "\xc3\x89t\xc3\xa9" "Cr", "\xc3\x89t\xc3\xa9-cr",
	  "\xc3\x89t\xc3\xa9_cr" },
	/* Not legal in a subject, and left for its check to find. */
	{ ".order", ".order", ".order" },
	{ "a..b", "a..b", "a..b" },
	{ "App\\", "app.", "app." },
	{ "\\\\App", ".app", ".app" },
	{ "Order Created", "order created", "order created" },
	{ "Order*", "order*", "order*" },
	{ "_", "", "" },
	{ "", "", "" },
};

START_TEST(type_is_split_into_words)
{
	struct buf	b = { 0 };
	size_t		n = strlen(words[_i].type);
	/* With no NUL behind it. */
	char		*type = malloc(n > 0 ? n : 1);

	memcpy(type, words[_i].type, n);
	buf_str(&b, "x");
	type_words_put(&b, type, n, '-');
	ck_assert_str_eq(b.data + 1, words[_i].kebab);
	buf_clear(&b);
	buf_str(&b, "");
	type_words_put(&b, type, n, '_');
	ck_assert_str_eq(b.data, words[_i].snake);
	free(type);
	buf_free(&b);
}
END_TEST

static struct conf_pair	pairs[] = {
	{ .name = (char *)"App\\Events\\OrderCreated",
	  .value = (char *)"orders.new" },
	{ .name = (char *)"plain", .value = (char *)"Any.Case" },
};
static const struct conf_map	aliases = { pairs, 2 };

static const struct {
	struct bytes		 type;
	enum conf_type_case	 type_case;
	const char		*subject;	/* NULL: not legal */
} tokens[] = {
	{ TEXT("App\\Events\\OrderCreated"), CASE_KEBAB, "e.orders.new" },
	{ TEXT("App\\Events\\OrderCreated"), CASE_NONE, "e.orders.new" },
	{ TEXT("App\\Events\\OrderCreatedX"), CASE_KEBAB,
	  "e.app.events.order-created-x" },
	{ TEXT("App\\Events\\OrderCreate"), CASE_SNAKE,
	  "e.app.events.order_create" },
	{ TEXT("App\\Events\\Order"), CASE_NONE, "e.App\\Events\\Order" },
	{ TEXT("plain"), CASE_KEBAB, "e.Any.Case" },
	{ TEXT("plain\0"), CASE_NONE, NULL },
	{ TEXT("plain\0x"), CASE_KEBAB, NULL },
	{ TEXT("Order Created"), CASE_KEBAB, NULL },
	{ TEXT("a..b"), CASE_KEBAB, NULL },
	{ TEXT("_"), CASE_KEBAB, NULL },
	{ TEXT("*"), CASE_SNAKE, NULL },
	{ TEXT(""), CASE_KEBAB, NULL },
	{ { NULL, 0 }, CASE_KEBAB, NULL },
};

/*
 * A row and its envelope
 */

static struct envelope		env;
static struct envelope_form	form;
static struct msg		row;
static struct err		err;

#define TRACE	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void
setup(void)
{
	form = (struct envelope_form){ .subject = "e.{event_type}",
	    .id_prefix = "shop", .stream = "EVENTS" };
	row = (struct msg){
		.sequence = 9007199254740993, .has_event = true,
		.partition = BYTES("p03"), .key = BYTES("order-1"),
		.type = BYTES("OrderPlaced"), .payload = BYTES("{\"n\":1}"),
		.metadata = BYTES("{\"tenant\":\"a\",\"traceparent\":\""
		    TRACE "\"}"),
		.correlation = BYTES("c-1"), .version = BYTES("2"),
		.stream_sequence = BYTES("11"),
		.time = BYTES("2026-01-31 12:00:00.123456")
	};
	err.text[0] = '\0';
}

static void
teardown(void)
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

/* NULL: there is none.  A second one of a name, in any case, is a failure. */
static const char *
header(const char *name)
{
	const char	*value = NULL;

	for (size_t i = 0; i < env.nheaders; i++) {
		if (strcasecmp(envelope_name(&env, i), name) != 0)
			continue;
		ck_assert_ptr_null(value);
		value = envelope_value(&env, i);
	}
	return value;
}

static void
ck_header(const char *name, const char *want)
{
	const char	*value = header(name);

	if (want == NULL)
		ck_assert_msg(value == NULL, "%s: %s", name, value);
	else {
		ck_assert_msg(value != NULL, "no %s", name);
		ck_assert_str_eq(value, want);
	}
}

START_TEST(alias_wins_over_the_rule)
{
	form.types = (struct type_tokens){ tokens[_i].type_case, &aliases };
	row.type = tokens[_i].type;
	if (tokens[_i].subject == NULL) {
		ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
		holds(err.text, "subject");
		return;
	}
	must_fill();
	ck_assert_str_eq(envelope_subject(&env), tokens[_i].subject);
	ck_assert_uint_eq(strlen(header("Outbox-Type")), row.type.len);
	ck_assert_mem_eq(header("Outbox-Type"), row.type.data, row.type.len);
	ck_assert_str_eq(envelope_subject_of(&env, &form, &row),
	    tokens[_i].subject);
}
END_TEST

/* Other placeholders, and a key like a type, stay as they are. */
START_TEST(only_types_are_mapped)
{
	form.subject = "{partition}.{stream_id}.{event_type}";
	form.types.type_case = CASE_KEBAB;
	row.key = BYTES("OrderPlaced");
	must_fill();
	ck_assert_str_eq(envelope_subject(&env),
	    "p03.OrderPlaced.order-placed");
}
END_TEST

/*
 * JSON that is checked and written
 */

static const char *const good_json[] = {
	"0", "-0", "1", "-1.5e+10", "1E400", "123456789012345678901234567890",
	"0.0", "\"\"", "\"\\u0000\"", "\"\\ud83d\\udc07\"", "\"\\\"\\\\\\/\\b\"",
	"\"\xc3\xb6\x7f\"", "true", "false", "null", "[]", "{}", " [ ] ",
	"[1,[2,{}],{\"a\":[]}]", "{\"a\":{\"b\":null},\"a\":2}",
	" { \"a\" : 1 , \"b\" : [ 1 , 2 ] } \r\n\t", "[[[[]]]]", "{\"\":0}",
};

static const char *const bad_json[] = {
	"", " ", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN",
	"Infinity", "tru", "nul", "True", "\"", "\"a", "\"\\\"", "\"\\", "\"\\x\"",
	"\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
	"\"\\udc00\"", "\"\\ud800x\"", "\"a\nb\"", "\"a\tb\"", "'a'", "[", "]", "{", "}",
	"[1", "[1,]", "[,1]", "[1 2]", "[1}", "{1}", "{\"a\"}", "{\"a\":}",
	"{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{,}", "{\"a\":1]", "1 2", "{} {}", "[]]",
	"{}x", "// x\n1", "\xef\xbb\xbf{}", "\"\xff\"", "\"\xc3\"",
	"\"\xed\xa0\x80\"", "[1,2", "{\"a\":[}",
};

/* From memory without a byte more, for the sanitizers. */
static bool
is_valid(const char *text, size_t n)
{
	char	*copy = malloc(n > 0 ? n : 1);
	bool	 valid;

	memcpy(copy, text, n);
	valid = json_text_is_valid(copy, n);
	free(copy);
	return valid;
}

START_TEST(json_is_valid)
{
	ck_assert(is_valid(good_json[_i], strlen(good_json[_i])));
}
END_TEST

START_TEST(json_is_not_valid)
{
	ck_assert(!is_valid(bad_json[_i], strlen(bad_json[_i])));
}
END_TEST

START_TEST(json_with_a_nul_is_not_valid)
{
	ck_assert(!is_valid("1\0", 2));
	ck_assert(!is_valid("\"a\0b\"", 5));
	ck_assert(!is_valid("\"\\\0\"", 4));
	ck_assert(!is_valid("\0", 1));
}
END_TEST

START_TEST(json_has_a_depth)
{
	char	text[2 * JSON_TEXT_DEEPEST + 3];
	size_t	n;

	for (n = JSON_TEXT_DEEPEST; n <= JSON_TEXT_DEEPEST + 1; n++) {
		memset(text, '[', n);
		memset(text + n, ']', n);
		ck_assert(is_valid(text, 2 * n) == (n == JSON_TEXT_DEEPEST));
	}
	/* Many beside each other are not deep. */
	strcpy(text, "[[],[],[],{},{\"a\":[]}");
	for (n = 0; n < 900; n++)
		strcat(text, n % 3 == 0 ? "," : n % 3 == 1 ? "{" : "}");
	strcat(text, "]");
	ck_assert(is_valid(text, strlen(text)));
}
END_TEST

static const char *const base64[][2] = {
	{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfb", "//77" },
};

START_TEST(base64_is_that_of_rfc_4648)
{
	struct buf	b = { 0 };

	buf_str(&b, "x");
	json_text_put_base64(&b, base64[_i][0], strlen(base64[_i][0]));
	ck_assert_str_eq(b.data + 1, base64[_i][1]);
	ck_assert_uint_eq(b.len, strlen(b.data));
	buf_free(&b);
}
END_TEST

START_TEST(string_is_read_back)
{
	struct buf	 b = { 0 };
	char		 text[] = "\"\\\x01\x1f\n\t/\xc3\xb6\x7f\0z";
	json_t		*j;

	json_text_put(&b, text, sizeof(text) - 1);
	j = json_loadb(b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	ck_assert_ptr_nonnull(j);
	ck_assert_uint_eq(json_string_length(j), sizeof(text) - 1);
	ck_assert_mem_eq(json_string_value(j), text, sizeof(text) - 1);
	json_decref(j);
	buf_free(&b);
}
END_TEST

/*
 * json
 */

static json_t *
body(void)
{
	json_t	*o = json_loadb(env.payload.data, env.payload.len,
		    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	ck_assert_msg(json_is_object(o), "%.*s", (int)env.payload.len,
	    env.payload.data);
	return o;
}

START_TEST(json_has_the_row_and_the_payload)
{
	form.kind = ENVELOPE_JSON;
	row.content_type = BYTES("application/json");
	must_fill();
	ck_assert_str_eq(env.payload.data, "{\"id\":"
	    "\"shop-9007199254740993-af4b6ee17ee1ead0\","
	    "\"sequence\":9007199254740993,"
	    "\"key\":\"order-1\",\"type\":\"OrderPlaced\",\"version\":2,"
	    "\"time\":\"2026-01-31T12:00:00.123456Z\","
	    "\"partition\":\"p03\",\"stream_sequence\":11,"
	    "\"correlation_id\":\"c-1\","
	    "\"metadata\":{\"tenant\":\"a\",\"traceparent\":\"" TRACE "\"},"
	    "\"content_type\":\"application/json\",\"payload\":{\"n\":1}}");
	json_decref(body());
	ck_header("Content-Type", "application/json");
	ck_header("Nats-Msg-Id", "shop-9007199254740993-af4b6ee17ee1ead0");
	ck_header("Outbox-Key", "order-1");
	ck_header("tenant", "a");
}
END_TEST

START_TEST(json_leaves_out_what_is_null)
{
	form.kind = ENVELOPE_JSON;
	form.subject = "e";
	row = (struct msg){ .sequence = 7, .has_event = true };
	must_fill();
	ck_assert_str_eq(env.payload.data, "{\"id\":\"shop-7-b14ebd86434b89c0\","
	    "\"sequence\":7,\"metadata\":{}}");
}
END_TEST

/* Payloads, and how they stand in an object: as JSON, or base64. */
static const struct {
	struct bytes	 payload;
	const char	*type;		/* NULL: unknown */
	const char	*json;		/* NULL: base64 */
} payloads[] = {
	{ TEXT("{\"a\":1}"), NULL, "{\"a\":1}" },
	{ TEXT("5"), NULL, "5" },
	{ TEXT("null"), NULL, "null" },
	{ TEXT("\"\""), NULL, "\"\"" },
	{ TEXT(" [ 1.50 , 1E2 ] "), NULL, " [ 1.50 , 1E2 ] " },
	{ TEXT("{\"n\":123456789012345678901234567890}"), NULL,
	  "{\"n\":123456789012345678901234567890}" },
	{ TEXT("{\"n\":9007199254740993}"), NULL,
	  "{\"n\":9007199254740993}" },
	{ TEXT("{\"b\":1,\"a\":\"\\u00f6\\/\"}"), NULL,
	  "{\"b\":1,\"a\":\"\\u00f6\\/\"}" },
	{ TEXT("{\"a\":1}"), "application/json", "{\"a\":1}" },
	{ TEXT("{\"a\":1}"), "text/JSON; charset=utf-8", "{\"a\":1}" },
	{ TEXT("{\"a\":1}"), "application/vnd.shop.v1+json ;x=1", "{\"a\":1}" },
	{ TEXT("{\"a\":1}"), "", "{\"a\":1}" },
	{ TEXT("true"), "text/plain", NULL },
	{ TEXT("1"), "application/jsonx", NULL },
	{ TEXT("1"), "json", NULL },
	{ TEXT("<a/>"), "application/xml", NULL },
	{ TEXT("<a/>"), "application/json", NULL },
	{ TEXT(""), NULL, NULL },
	{ TEXT("a\0b"), NULL, NULL },
	{ TEXT("\"a\0b\""), NULL, NULL },
	{ TEXT("\xff\xfe\x00"), NULL, NULL },
	{ TEXT("\"\xc3\x28\""), NULL, NULL },
	{ TEXT("\"\\ud800\""), NULL, NULL },
	{ TEXT("{\"a\":1}{"), NULL, NULL },
	{ TEXT("},\"id\":\"x\",\"a\":{"), NULL, NULL },
};

static void
ck_payload(struct bytes payload, const char *json, const char *name,
    const char *name64)
{
	char		 want[200];
	json_t		*o;
	struct buf	 b = { 0 };

	if (json != NULL) {
		snprintf(want, sizeof(want), ",\"%s\":%s", name, json);
		ck_assert_msg(strstr(env.payload.data, want) != NULL, "%s",
		    env.payload.data);
		return;
	}
	o = body();
	json_text_put_base64(&b, payload.data, payload.len);
	ck_assert_str_eq(json_string_value(json_object_get(o, name64)),
	    b.data);
	ck_assert_ptr_null(json_object_get(o, name));
	buf_free(&b);
	json_decref(o);
}

START_TEST(payload_is_embedded_unchanged)
{
	row.payload = payloads[_i].payload;
	row.content_type = bytes_of(payloads[_i].type);
	form.kind = ENVELOPE_JSON;
	must_fill();
	ck_payload(row.payload, payloads[_i].json, "payload",
	    "payload_base64");
	form.kind = ENVELOPE_CLOUDEVENTS;
	must_fill();
	ck_payload(row.payload, payloads[_i].json, "data", "data_base64");
	form.kind = ENVELOPE_CLOUDEVENTS_BINARY;
	must_fill();
	ck_assert_ptr_eq(env.payload.data, row.payload.data);
	ck_assert_uint_eq(env.payload.len, row.payload.len);
	ck_header("Content-Type", payloads[_i].type == NULL ||
	    payloads[_i].type[0] == '\0' ? NULL : payloads[_i].type);
}
END_TEST

static const struct {
	const char	*metadata, *embedded;	/* NULL: refused */
} metadatas[] = {
	{ "[]", "{}" }, { " [ ] ", "{}" }, { "null", "{}" }, { "", "{}" },
	{ NULL, "{}" }, { " {} ", " {} " },
	{ "{\"n\":123456789012345678901234567890, \"a\":{\"b\":[1]}}",
	  "{\"n\":123456789012345678901234567890, \"a\":{\"b\":[1]}}" },
	{ "{\"Content-Type\":\"x\",\"content-type\":\"y\"}",
	  "{\"Content-Type\":\"x\",\"content-type\":\"y\"}" },
	{ "[1]", NULL }, { "5", NULL }, { "{", NULL },
};

/* The parser takes it, readers may not. */
START_TEST(metadata_may_be_too_deep)
{
	char	deep[2048];
	size_t	n = JSON_TEXT_DEEPEST;

	form.kind = ENVELOPE_JSON;
	strcpy(deep, "{\"a\":");
	memset(deep + 5, '[', n);
	memset(deep + 5 + n, ']', n);
	strcpy(deep + 5 + 2 * n, "}");
	row.metadata = bytes_of(deep);
	ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
	holds(err.text, "nested deeper than 500");
	form.kind = ENVELOPE_CLOUDEVENTS;
	must_fill();
}
END_TEST

START_TEST(metadata_is_an_object)
{
	char	want[200];

	form.kind = ENVELOPE_JSON;
	row.metadata = bytes_of(metadatas[_i].metadata);
	if (metadatas[_i].embedded == NULL) {
		ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
		holds(err.text, "metadata is not");
		return;
	}
	must_fill();
	snprintf(want, sizeof(want), ",\"metadata\":%s,\"payload\":",
	    metadatas[_i].embedded);
	ck_assert_msg(strstr(env.payload.data, want) != NULL, "%s",
	    env.payload.data);
	ck_header("Content-Type", "application/json");
}
END_TEST

static const struct {
	const char	*stored, *json;
} integers[] = {
	{ "2", "2" }, { "0", "0" }, { "-1", "-1" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "01", "\"01\"" }, { "1.1", "\"1.1\"" }, { "-", "\"-\"" },
	{ "v2", "\"v2\"" }, { "2 ", "\"0x3220\"" }, { "\"", "\"\\\"\"" },
};

START_TEST(version_is_a_number_if_it_is_one)
{
	char	want[200];

	form.kind = ENVELOPE_JSON;
	row.version = bytes_of(integers[_i].stored);
	must_fill();
	snprintf(want, sizeof(want), ",\"version\":%s,", integers[_i].json);
	ck_assert_msg(strstr(env.payload.data, want) != NULL, "%s",
	    env.payload.data);
}
END_TEST

/*
 * CloudEvents: what the JSON schema of version 1.0 asks of each attribute
 */

static void
ck_uri(const char *s)
{
	ck_assert(*s != '\0');
	for (; *s != '\0'; s++)
		ck_assert(isalnum((unsigned char)*s) || (*s == '%' &&
		    isxdigit((unsigned char)s[1]) &&
		    isxdigit((unsigned char)s[2])) ||
		    (*s != '%' && strchr("-._~:/?#[]@!$&'()*+,;=", *s) != NULL));
}

/* RFC 3339: "2026-01-31T12:00:00.123456Z" */
static void
ck_time(const char *s)
{
	int	month, day, n = 0;

	ck_assert_int_eq(sscanf(s, "%*4d-%2d-%2dT%*2d:%*2d:%*2d%n", &month,
	    &day, &n), 2);
	ck_assert_int_eq(n, 19);
	ck_assert(month >= 1 && month <= 12 && day >= 1 && day <= 31);
	if (s[n] == '.') {
		ck_assert_uint_ge(strspn(s + n + 1, "0123456789"), 1);
		n += 1 + (int)strspn(s + n + 1, "0123456789");
	}
	ck_assert_str_eq(s + n, "Z");
}

static void
ck_attribute(const char *name, const char *value)
{
	for (const char *p = name; *p != '\0'; p++)
		ck_assert(islower((unsigned char)*p) ||
		    isdigit((unsigned char)*p));
	ck_assert_str_ne(value, "");
	if (strcmp(name, "source") == 0)
		ck_uri(value);
	if (strcmp(name, "time") == 0)
		ck_time(value);
	if (strcmp(name, "sequence") == 0) {
		ck_assert_uint_eq(strlen(value), 20);
		ck_assert_uint_eq(strspn(value, "0123456789"), 20);
	}
}

static void
ck_event_body(void)
{
	static const char *const required[] =
	    { "specversion", "id", "source", "type" };
	json_t		*o = json_loadb(env.payload.data, env.payload.len,
			    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
			    JSON_DECODE_INT_AS_REAL, NULL), *value;
	const char	*name;

	ck_assert_msg(json_is_object(o), "%s", env.payload.data);
	for (int i = 0; i < NROWS(required); i++)
		ck_assert(json_is_string(json_object_get(o, required[i])));
	ck_assert(json_object_get(o, "data") == NULL ||
	    json_object_get(o, "data_base64") == NULL);
	json_object_foreach(o, name, value) {
		if (strcmp(name, "data") == 0)
			continue;
		ck_assert_msg(json_is_string(value), "%s", name);
		if (strcmp(name, "data_base64") != 0)
			ck_attribute(name, json_string_value(value));
	}
	json_decref(o);
}

static void
ck_event_headers(void)
{
	static const char *const required[] =
	    { "ce-specversion", "ce-id", "ce-source", "ce-type" };

	for (int i = 0; i < NROWS(required); i++)
		ck_assert_ptr_nonnull(header(required[i]));
	for (size_t i = 0; i < env.nheaders; i++) {
		const char *value = envelope_value(&env, i);

		if (strncmp(envelope_name(&env, i), "ce-", 3) != 0)
			continue;
		ck_attribute(envelope_name(&env, i) + 3, value);
		for (; *value != '\0'; value++)
			ck_assert(*value > ' ' && *value < 0x7f &&
			    *value != '"');
	}
}

START_TEST(event_has_its_attributes)
{
	form.kind = ENVELOPE_CLOUDEVENTS;
	row.metadata = BYTES("{\"tracestate\":\"a=1, b=2\",\"traceparent\":\""
	    TRACE "\"}");
	must_fill();
	ck_assert_str_eq(env.payload.data, "{\"specversion\":\"1.0\","
	    "\"id\":\"shop-9007199254740993-af4b6ee17ee1ead0\","
	    "\"source\":\"urn:outbox:shop\",\"type\":\"OrderPlaced\","
	    "\"subject\":\"order-1\","
	    "\"time\":\"2026-01-31T12:00:00.123456Z\","
	    "\"partitionkey\":\"order-1\","
	    "\"sequence\":\"00009007199254740993\","
	    "\"traceparent\":\"" TRACE "\",\"tracestate\":\"a=1, b=2\","
	    "\"data\":{\"n\":1},\"datacontenttype\":\"application/json\"}");
	ck_header("Content-Type", "application/cloudevents+json");
	ck_header("ce-id", NULL);
	ck_header("Nats-Msg-Id", "shop-9007199254740993-af4b6ee17ee1ead0");

	form.kind = ENVELOPE_CLOUDEVENTS_BINARY;
	form.source = "//shop/a";
	row.content_type = BYTES("application/json");
	must_fill();
	ck_header("ce-specversion", "1.0");
	ck_header("ce-id", "shop-9007199254740993-af4b6ee17ee1ead0");
	ck_header("ce-source", "//shop/a");
	ck_header("ce-type", "OrderPlaced");
	ck_header("ce-subject", "order-1");
	ck_header("ce-time", "2026-01-31T12:00:00.123456Z");
	ck_header("ce-partitionkey", "order-1");
	ck_header("ce-sequence", "00009007199254740993");
	ck_header("ce-traceparent", TRACE);
	ck_header("ce-tracestate", "a=1,%20b=2");
	ck_header("traceparent", TRACE);
	ck_header("Content-Type", "application/json");
	ck_header("ce-datacontenttype", NULL);
	ck_header("Nats-Msg-Id", "shop-9007199254740993-af4b6ee17ee1ead0");
}
END_TEST

/* Rows of any content are events by the schema. */
static const struct {
	struct bytes	 key, type, payload;
	const char	*metadata, *time, *prefix;
} events[] = {
	{ TEXT("\x00\xff\x01"), TEXT("t"), TEXT("\xff\x00"), "[]",
	  "2026-01-31 12:00:00", "shop" },
	{ TEXT(""), TEXT("t"), TEXT(""), "", "0000-00-00 00:00:00", "shop" },
	{ { NULL, 0 }, TEXT("t"), { NULL, 0 }, NULL, NULL, "shop" },
	{ TEXT("k"), TEXT("a\0b"), TEXT("{\"n\":12345678901234567890123}"),
	  "{\"traceparent\":5,\"tracestate\":\"\"}",
	  "2026-01-31 12:00:00.1", "shop" },
	{ TEXT("\xe2\x82\xac \"%\xf0\x9f\x98\x80"), TEXT("\xc3\xb6 b"),
	  TEXT("\"\\\"\""),
	  "{\"traceparent\":\"a\\nb\",\"tracestate\":\"x\\u0000y\"}",
	  "2026-13-00 12:00:00", "my db%\xc3\xb6\"" },
	{ TEXT("k\r\nce-id: x"), TEXT("t\",\"id\":\"x"), TEXT("1}"),
	  "{\"ce-id\":\"x\",\"CE-foo\":\"y\",\"Content-Type\":\"z/z\"}",
	  "now", "shop" },
};

START_TEST(any_row_is_an_event)
{
	form.subject = "e";
	form.id_prefix = events[_i].prefix;
	row.key = events[_i].key;
	row.type = events[_i].type;
	row.payload = events[_i].payload;
	row.metadata = bytes_of(events[_i].metadata);
	row.time = bytes_of(events[_i].time);
	form.kind = ENVELOPE_CLOUDEVENTS;
	must_fill();
	ck_event_body();
	ck_header("ce-id", NULL);
	ck_header("ce-foo", NULL);
	ck_header("Content-Type", "application/cloudevents+json");
	form.kind = ENVELOPE_CLOUDEVENTS_BINARY;
	must_fill();
	ck_event_headers();
	ck_header("ce-foo", NULL);
	form.kind = ENVELOPE_JSON;
	must_fill();
	ck_assert(json_text_is_valid(env.payload.data, env.payload.len));
	ck_assert_uint_eq(strlen(env.payload.data), env.payload.len);
}
END_TEST

START_TEST(header_is_percent_encoded)
{
	form.kind = ENVELOPE_CLOUDEVENTS_BINARY;
	form.subject = "e";
	row.type = BYTES("Euro \xe2\x82\xac \xf0\x9f\x98\x80");
	row.key = BYTES("50%\"");
	must_fill();
	ck_header("ce-type", "Euro%20%E2%82%AC%20%F0%9F%98%80");
	ck_header("ce-subject", "50%25%22");
	form.id_prefix = "my db";
	must_fill();
	ck_header("ce-source", "urn:outbox:my%2520db");
}
END_TEST

START_TEST(event_needs_a_type)
{
	form.subject = "e";
	for (int kind = ENVELOPE_CLOUDEVENTS;
	    kind <= ENVELOPE_CLOUDEVENTS_BINARY; kind++) {
		form.kind = (enum conf_envelope)kind;
		row.type = kind == ENVELOPE_CLOUDEVENTS ? NO_BYTES : BYTES("");
		ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
		holds(err.text, "event type");
	}
	form.kind = ENVELOPE_JSON;
	must_fill();
}
END_TEST

/*
 * All forms
 */

static const char *const bad_types[] = {
	"text/plain\r\nNats-Rollup: all", "a\tb", "a/b ", " a/b", "\xc3\xb6", "a\x7f"
};

START_TEST(content_type_must_be_legal)
{
	row.content_type = bytes_of(bad_types[_i]);
	for (int kind = 0; kind <= ENVELOPE_CLOUDEVENTS_BINARY; kind++) {
		form.kind = (enum conf_envelope)kind;
		ck_assert_int_eq(envelope_fill(&env, &form, &row, &err), -1);
		holds(err.text, "content_type");
	}
}
END_TEST

/* The column is known better than an entry of the metadata. */
START_TEST(raw_has_the_content_type_of_the_row)
{
	row.metadata = BYTES("{\"content-type\":\"a/b\",\"ce-id\":\"1\"}");
	must_fill();
	ck_header("Content-Type", "a/b");
	ck_header("ce-id", "1");
	row.content_type = BYTES("text/plain; charset=utf-8");
	must_fill();
	ck_header("Content-Type", "text/plain; charset=utf-8");
	ck_assert_uint_eq(env.skipped, 1);
	ck_assert_ptr_eq(env.payload.data, row.payload.data);
}
END_TEST

/* The id of a message, and so the search for it, know no form. */
START_TEST(id_is_that_of_the_row)
{
	char	id[100];

	must_fill();
	strcpy(id, header("Nats-Msg-Id"));
	for (int kind = ENVELOPE_JSON; kind <= ENVELOPE_CLOUDEVENTS_BINARY;
	    kind++) {
		form.kind = (enum conf_envelope)kind;
		row.hashed = false;
		must_fill();
		ck_header("Nats-Msg-Id", id);
		ck_header("Outbox-Sequence", "9007199254740993");
		ck_header("Outbox-Type", "OrderPlaced");
	}
}
END_TEST

START_TEST(size_is_that_of_the_form)
{
	for (int kind = 0; kind <= ENVELOPE_CLOUDEVENTS_BINARY; kind++) {
		size_t	size = strlen("NATS/1.0\r\n\r\n");

		form.kind = (enum conf_envelope)kind;
		must_fill();
		for (size_t i = 0; i < env.nheaders; i++)
			size += strlen(envelope_name(&env, i)) +
			    strlen(envelope_value(&env, i)) + 4;
		ck_assert_uint_eq(env.size, size + env.payload.len);
	}
}
END_TEST

/* One message after the other: nothing of the one before is left. */
START_TEST(large_body_is_given_back)
{
	static char	large[3 * 1024 * 1024];

	form.kind = ENVELOPE_JSON;
	row.payload = (struct bytes){ large, sizeof(large) };
	must_fill();
	ck_assert_uint_gt(env.payload.len, sizeof(large) / 3 * 4);
	row.payload = BYTES("1");
	must_fill();
	ck_assert_uint_lt(env.body.size, 4096);
	form.kind = ENVELOPE_RAW;
	must_fill();
	ck_header("Content-Type", NULL);
	ck_assert_uint_eq(env.payload.len, 1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("forms");
	TCase	*tc = add_case(s, "types");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, type_is_split_into_words, 0, NROWS(words));
	tcase_add_loop_test(tc, alias_wins_over_the_rule, 0, NROWS(tokens));
	tcase_add_test(tc, only_types_are_mapped);

	tc = add_case(s, "text");
	tcase_add_loop_test(tc, json_is_valid, 0, NROWS(good_json));
	tcase_add_loop_test(tc, json_is_not_valid, 0, NROWS(bad_json));
	tcase_add_test(tc, json_with_a_nul_is_not_valid);
	tcase_add_test(tc, json_has_a_depth);
	tcase_add_loop_test(tc, base64_is_that_of_rfc_4648, 0, NROWS(base64));
	tcase_add_test(tc, string_is_read_back);

	tc = add_case(s, "json");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, json_has_the_row_and_the_payload);
	tcase_add_test(tc, json_leaves_out_what_is_null);
	tcase_add_loop_test(tc, payload_is_embedded_unchanged, 0,
	    NROWS(payloads));
	tcase_add_loop_test(tc, metadata_is_an_object, 0, NROWS(metadatas));
	tcase_add_test(tc, metadata_may_be_too_deep);
	tcase_add_loop_test(tc, version_is_a_number_if_it_is_one, 0,
	    NROWS(integers));

	tc = add_case(s, "events");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, event_has_its_attributes);
	tcase_add_loop_test(tc, any_row_is_an_event, 0, NROWS(events));
	tcase_add_test(tc, header_is_percent_encoded);
	tcase_add_test(tc, event_needs_a_type);

	tc = add_case(s, "forms");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, content_type_must_be_legal, 0,
	    NROWS(bad_types));
	tcase_add_test(tc, raw_has_the_content_type_of_the_row);
	tcase_add_test(tc, id_is_that_of_the_row);
	tcase_add_test(tc, size_is_that_of_the_form);
	tcase_add_test(tc, large_body_is_given_back);
	return run_suite(s);
}
