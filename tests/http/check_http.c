/*
 * check_http.c - what answers mean, addresses, paths and lines of JSON; pure
 *
 * What goes over the network is in tests/driver and tests/system/run_http.sh.
 */
#include "lib/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/traits/url_path.h"
#include "http/http_impl.h"
#include "local/ndjson.h"

static const struct {
	struct outcome_of_request	 o;
	enum verdict			 verdict;
	enum error_class		 class;
	int64_t				 retry_after_ms;
	const char			*text;
} answers[] = {
	{ { .status = 200 }, VERDICT_STORED, CLASS_NONE, 0, "" },
	{ { .status = 204 }, VERDICT_STORED, CLASS_NONE, 0, "" },
	{ { .status = 299, .retry_after = 9 }, VERDICT_STORED, CLASS_NONE, 0,
	  "" },
	{ { .status = 300 }, VERDICT_DESTINATION, CLASS_PERMISSION, 0,
	  "HTTP 300" },
	{ { .status = 307, .said = "gone" }, VERDICT_DESTINATION,
	  CLASS_PERMISSION, 0, "HTTP 307: gone" },
	{ { .status = 400, .said = "no" }, VERDICT_MESSAGE, CLASS_OTHER, 0,
	  "HTTP 400: no" },
	{ { .status = 401 }, VERDICT_DESTINATION, CLASS_PERMISSION, 0,
	  "HTTP 401" },
	{ { .status = 402 }, VERDICT_ADDRESS, CLASS_OTHER, 0, "HTTP 402" },
	{ { .status = 403 }, VERDICT_ADDRESS, CLASS_OTHER, 0, "HTTP 403" },
	{ { .status = 404, .retry_after = 5 }, VERDICT_ADDRESS, CLASS_OTHER, 0,
	  "HTTP 404" },
	{ { .status = 407 }, VERDICT_DESTINATION, CLASS_PERMISSION, 0,
	  "HTTP 407" },
	{ { .status = 408 }, VERDICT_TRANSIENT, CLASS_OTHER, 0, "HTTP 408" },
	{ { .status = 409 }, VERDICT_TRANSIENT, CLASS_OTHER, 0, "HTTP 409" },
	{ { .status = 410 }, VERDICT_ADDRESS, CLASS_OTHER, 0, "HTTP 410" },
	{ { .status = 413 }, VERDICT_TOO_LARGE, CLASS_TOO_LARGE, 0,
	  "HTTP 413" },
	{ { .status = 414 }, VERDICT_MESSAGE, CLASS_OTHER, 0, "HTTP 414" },
	{ { .status = 415 }, VERDICT_MESSAGE, CLASS_OTHER, 0, "HTTP 415" },
	{ { .status = 422 }, VERDICT_MESSAGE, CLASS_OTHER, 0, "HTTP 422" },
	{ { .status = 431 }, VERDICT_MESSAGE, CLASS_OTHER, 0, "HTTP 431" },
	{ { .status = 425 }, VERDICT_TRANSIENT, CLASS_OTHER, 0, "HTTP 425" },
	{ { .status = 429, .retry_after = 7 }, VERDICT_TRANSIENT,
	  CLASS_OVERLOAD, 7000, "HTTP 429" },
	{ { .status = 499 }, VERDICT_ADDRESS, CLASS_OTHER, 0, "HTTP 499" },
	{ { .status = 500 }, VERDICT_TRANSIENT, CLASS_OTHER, 0, "HTTP 500" },
	{ { .status = 503, .retry_after = 60 }, VERDICT_TRANSIENT, CLASS_OTHER,
	  60000, "HTTP 503" },
	{ { .status = 600 }, VERDICT_TRANSIENT, CLASS_OTHER, 0, "HTTP 600" },
	/* Too long a body: the status is known all the same. */
	{ { .code = CURLE_WRITE_ERROR, .status = 200, .started = true,
	  .long_body = true }, VERDICT_STORED, CLASS_NONE, 0, "" },
	{ { .code = CURLE_WRITE_ERROR, .status = 400, .started = true,
	  .long_body = true }, VERDICT_MESSAGE, CLASS_OTHER, 0, "HTTP 400" },
	/* Nothing was written. */
	{ { .code = CURLE_COULDNT_CONNECT, .os_error = 111 },
	  VERDICT_DESTINATION, CLASS_OFFLINE, 0, "Connection refused" },
	{ { .code = CURLE_COULDNT_RESOLVE_HOST,
	  .detail = "Could not resolve host: x" }, VERDICT_DESTINATION,
	  CLASS_OFFLINE, 0, "http://h: Could not resolve host: x" },
	{ { .code = CURLE_PEER_FAILED_VERIFICATION,
	  .detail = "SSL certificate problem" }, VERDICT_DESTINATION,
	  CLASS_OFFLINE, 0, "SSL certificate problem" },
	{ { .code = CURLE_OPERATION_TIMEDOUT, .detail = "after 3001 ms" },
	  VERDICT_DESTINATION, CLASS_OFFLINE, 0, "http://h: Timeout" },
	{ { .code = CURLE_COULDNT_CONNECT, .private = true },
	  VERDICT_DESTINATION, CLASS_PERMISSION, 0, "address is private" },
	{ { .code = CURLE_ABORTED_BY_CALLBACK, .late = true },
	  VERDICT_DESTINATION, CLASS_TIMEOUT, 0, "time to send was over" },
	/* Something was: nobody knows. */
	{ { .code = CURLE_GOT_NOTHING, .started = true }, VERDICT_LOST,
	  CLASS_LOST, 0, "no complete answer" },
	{ { .code = CURLE_PARTIAL_FILE, .started = true, .status = 200 },
	  VERDICT_LOST, CLASS_LOST, 0, "no complete answer" },
	{ { .code = CURLE_SEND_ERROR, .started = true, .late = true },
	  VERDICT_LOST, CLASS_LOST, 0, "no complete answer" },
	/* A connection with several requests; and one of its streams alone. */
	{ { .code = CURLE_PARTIAL_FILE, .started = true, .together = true },
	  VERDICT_LOST_TOGETHER, CLASS_LOST, 0, "no complete answer" },
	{ { .code = CURLE_HTTP2, .started = true, .together = true },
	  VERDICT_LOST_TOGETHER, CLASS_LOST, 0, "no complete answer" },
	{ { .code = CURLE_HTTP2_STREAM, .started = true, .together = true },
	  VERDICT_LOST, CLASS_LOST, 0, "no complete answer" },
	{ { .code = CURLE_WRITE_ERROR, .started = true, .status = 200,
	  .long_head = true }, VERDICT_LOST, CLASS_LOST, 0,
	  "longer than 16 KiB" },
};

START_TEST(answer_has_its_verdict)
{
	struct outcome_of_request	o = answers[_i].o;
	struct pub_answer		a;

	memset(&a, 0xff, sizeof(a));
	o.endpoint = "http://h";
	o.detail = o.detail == NULL ? "" : o.detail;
	ck_assert(http_judge(&o, &a));
	ck_assert_int_eq(a.verdict, answers[_i].verdict);
	ck_assert_int_eq(a.class, answers[_i].class);
	ck_assert_int_eq(a.retry_after_ms, answers[_i].retry_after_ms);
	ck_assert_uint_eq(a.ack_sequence, 0);
	if (answers[_i].text[0] == '\0')
		ck_assert_str_eq(a.text, "");
	holds(a.text, answers[_i].text);
}
END_TEST

/* The relay has the same time-out, and says it. */
START_TEST(silence_is_no_answer)
{
	struct outcome_of_request	o = {
	    .code = CURLE_OPERATION_TIMEDOUT, .started = true,
	    .detail = "", .said = "", .endpoint = "" };
	struct pub_answer		a;

	ck_assert(!http_judge(&o, &a));
}
END_TEST

static const struct {
	const char	*address;
	bool		 private;
} addresses[] = {
	{ "0.0.0.0", true }, { "0.1.2.3", true }, { "1.1.1.1", false },
	{ "9.255.255.255", false }, { "10.0.0.0", true },
	{ "10.255.255.255", true }, { "11.0.0.0", false },
	{ "100.63.255.255", false }, { "100.64.0.0", true },
	{ "100.127.255.255", true }, { "100.128.0.0", false },
	{ "126.255.255.255", false }, { "127.0.0.1", true },
	{ "127.255.255.255", true }, { "128.0.0.1", false },
	{ "169.253.255.255", false }, { "169.254.169.254", true },
	{ "169.255.0.0", false }, { "172.15.255.255", false },
	{ "172.16.0.1", true }, { "172.31.255.255", true },
	{ "172.32.0.0", false }, { "192.0.0.1", true },
	{ "192.167.255.255", false }, { "192.168.0.1", true },
	{ "192.169.0.0", false }, { "198.18.0.1", true },
	{ "198.20.0.0", false }, { "223.255.255.255", false },
	{ "224.0.0.1", true }, { "240.0.0.1", true },
	{ "255.255.255.255", true }, { "8.8.8.8", false },
	{ "::", true }, { "::1", true }, { "::127.0.0.1", true },
	{ "::ffff:127.0.0.1", true }, { "::ffff:10.0.0.1", true },
	{ "::ffff:8.8.8.8", false }, { "64:ff9b::7f00:1", true },
	{ "64:ff9b::808:808", false }, { "64:ff9b:1::808:808", true },
	{ "2002:7f00:1::1", true }, { "2002:808:808::1", false },
	{ "2001:0:1234::1", true }, { "2001:4860:4860::8888", false },
	{ "fc00::1", true }, { "fdff::1", true }, { "fe80::1", true },
	{ "febf::1", true }, { "fec0::1", true }, { "ff02::1", true },
	{ "2a00::1", false },
	{ "192.0.2.1", true }, { "192.0.3.1", false }, { "192.88.99.1", true },
	{ "198.51.100.1", true }, { "203.0.113.1", true },
	{ "::ffff:0:127.0.0.1", true }, { "::ffff:0:8.8.8.8", true },
	{ "2a00::5efe:10.0.0.1", true }, { "2a00::200:5efe:127.0.0.1", true },
	{ "2a00::5efe:8.8.8.8", false }, { "100::1", true },
	{ "4000::1", true }, { "5f00::1", true }, { "3fff::1", true },
	{ "3fff:1000::1", false }, { "3ffe::1", true }, { "2001:db8::1", true },
	{ "2001:2::1", true }, { "2001:20::1", true }, { "2001:200::1", false },
};

START_TEST(address_is_private_or_not)
{
	const char		*text = addresses[_i].address;
	struct sockaddr_in	 in = { .sin_family = AF_INET };
	struct sockaddr_in6	 in6 = { .sin6_family = AF_INET6 };
	bool			 got;

	if (strchr(text, ':') != NULL) {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
		got = http_is_private((struct sockaddr *)&in6);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
		got = http_is_private((struct sockaddr *)&in);
	}
	ck_assert_msg(got == addresses[_i].private, "%s", text);
}
END_TEST

static const struct {
	const char	*value;
	size_t		 n;
	const char	*segment;
} segments[] = {
	{ "order.paid", 10, "order.paid" },
	{ "a-b_c~1Z", 8, "a-b_c~1Z" },
	{ "a/b", 3, "a%2Fb" },
	{ "a b?c#d%", 8, "a%20b%3Fc%23d%25" },
	{ "..", 2, ".." },
	{ "\xc3\xbc", 2, "%C3%BC" },
	{ "a\0b", 3, "0x610062" },
	{ "\xff", 1, "0xff" },
	{ " a", 2, "0x2061" },
	{ "", 0, "" },
};

START_TEST(value_becomes_a_segment)
{
	struct buf	b = { 0 };

	buf_str(&b, "");
	url_path_put(&b, segments[_i].value, segments[_i].n);
	ck_assert_str_eq(b.data, segments[_i].segment);
	buf_free(&b);
}
END_TEST

static const struct {
	const char	*path;
	bool		 legal;
} paths[] = {
	{ "", true }, { "a", true }, { "a/b.c", true }, { "...", true },
	{ ".a/b..", true }, { ".", false }, { "..", false }, { "a/..", false },
	{ "../a", false }, { "a/./b", false }, { "a//b", false },
	{ "a/", false }, { "/a", false },
};

START_TEST(path_leads_nowhere_else)
{
	struct err	e;
	int		rc = url_path_check(paths[_i].path,
			    strlen(paths[_i].path), &e);

	ck_assert_msg((rc == 0) == paths[_i].legal, "%s", paths[_i].path);
}
END_TEST

static const struct {
	const char	*payload;
	size_t		 n;
	const char	*member;
} payloads[] = {
	{ "{\"a\":1}", 7, "\"payload\":{\"a\":1}}\n" },
	{ "{\"a\":\n\r1}", 9, "\"payload\":{\"a\":  1}}\n" },
	{ "12345678901234567890123", 23,
	  "\"payload\":12345678901234567890123}\n" },
	{ "1.10", 4, "\"payload\":1.10}\n" },
	{ "\"\\u0000\"", 8, "\"payload\":\"\\u0000\"}\n" },
	{ "null", 4, "\"payload\":null}\n" },
	{ "{} x", 4, "\"payload_base64\":\"e30geA==\"}\n" },
	{ "\"\xff\"", 3, "\"payload_base64\":\"Iv8i\"}\n" },
	{ "[\t1]", 4, "\"payload\":[ 1]}\n" },
	/* DEL, a CSI of one character, a mark that turns the direction */
	{ "\"\x7f\xc2\x9b" "2J\xe2\x80\xae\xc3\xa4\"", 12,
	  "\"payload\":\"\\u007F\\u009B2J\\u202E\xc3\xa4\"}\n" },
	{ "", 0, "\"payload_base64\":\"\"}\n" },
	{ "\0\1", 2, "\"payload_base64\":\"AAE=\"}\n" },
};

START_TEST(line_has_the_payload)
{
	struct envelope		v = { .nheaders = 0 };
	struct envelope_form	form = { .subject = "{event_type}",
				    .id_prefix = "abc", .stream = "",
				    .driver = DRIVER_STDOUT };
	struct msg		m = { .sequence = 7, .has_event = true,
				    .key = BYTES("\"k\\"),
				    .type = BYTES("t") };
	struct buf		b = { 0 };
	struct err		e;

	m.payload = (struct bytes){ payloads[_i].payload, payloads[_i].n };
	m.time = BYTES("2026-01-31 12:00:00.5");
	ck_assert_int_eq(envelope_fill(&v, &form, &m, &e), 0);
	ndjson_put(&b, &v);
	holds(b.data, payloads[_i].member);
	holds(b.data, "\"key\":\"\\\"k\\\\\",\"type\":\"t\","
	    "\"time\":\"2026-01-31T12:00:00.5Z\",\"headers\":{"
	    "\"Outbox-Sequence\":\"7\"}");
	holds(b.data, "{\"id\":\"abc-7-");
	ck_assert_ptr_eq(strchr(b.data, '\n'), b.data + b.len - 1);
	buf_free(&b);
	envelope_free(&v);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http");
	TCase	*tc = tcase_create("pure");

	suite_add_tcase(s, tc);
	tcase_add_loop_test(tc, answer_has_its_verdict, 0, NROWS(answers));
	tcase_add_test(tc, silence_is_no_answer);
	tcase_add_loop_test(tc, address_is_private_or_not, 0,
	    NROWS(addresses));
	tcase_add_loop_test(tc, value_becomes_a_segment, 0, NROWS(segments));
	tcase_add_loop_test(tc, path_leads_nowhere_else, 0, NROWS(paths));
	tcase_add_loop_test(tc, line_has_the_payload, 0, NROWS(payloads));
	return run_suite(s);
}
