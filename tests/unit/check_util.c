/*
 * check_util.c - the small modules that all others stand on
 *
 * err, buf, backoff, isolate, trouble, link, log, secret and plain.  No clock:
 * time is a number that the test passes in.
 */
#include "lib/check.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <jansson.h>
#include <bsd/string.h>

#include "mysql/password_hash.h"
#include "util/backoff.h"
#include "util/buf.h"
#include "util/isolate.h"
#include "util/reconnect.h"
#include "util/printable.h"
#include "util/secret.h"
#include "util/log_throttle.h"

/* As strict SQL and JSON see it. */
static bool
is_utf8(const char *text)
{
	json_t	*j = json_string(text);
	bool	 good = j != NULL;

	json_decref(j);
	return good;
}

/*
 * err
 */

static const char *const characters[] = {
	"x", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x90\x87"
};

/* As many as will surely be cut, shifted by up to a character. */
static void
fill(char *text, size_t size, const char *character, size_t shift)
{
	memset(text, 'a', shift);
	text[shift] = '\0';
	while (strlcat(text, character, size) < size - 8)
		continue;
}

START_TEST(err_is_cut_at_a_character)
{
	struct err	e = { "" };
	char		text[sizeof(e.text) * 2];
	const char	*c = characters[_i / 4];

	fill(text, sizeof(text), c, (size_t)_i % 4);
	ck_assert_int_eq(err_set(&e, "%s", text), -1);
	ck_assert(is_utf8(e.text));
	ck_assert_uint_ge(strlen(e.text), sizeof(e.text) - strlen(c));
	ck_assert_int_eq(strncmp(e.text, text, strlen(e.text)), 0);

	ck_assert_int_eq(err_in(&e, "in"), -1);
	ck_assert(is_utf8(e.text));
	ck_assert_int_eq(strncmp(e.text, "in: a", _i % 4 > 0 ? 5 : 4), 0);

	err_set(&e, "leaf");
	ck_assert_int_eq(err_in(&e, "%s", text), -1);
	ck_assert(is_utf8(e.text));
	ck_assert_uint_ge(strlen(e.text), sizeof(e.text) - strlen(c));
}
END_TEST

START_TEST(err_fits_to_the_last_byte)
{
	struct err	e;
	char		text[sizeof(e.text)];

	memset(text, 'a', sizeof(text) - 3);
	strcpy(text + sizeof(text) - 3, "\xc3\xb6");
	err_set(&e, "%s", text);
	ck_assert_str_eq(e.text, text);
}
END_TEST

START_TEST(err_is_built_inside_out)
{
	struct err	e = { "old" };

	ck_assert_int_eq(err_set(&e, "%d is not %s", 900, "legal"), -1);
	ck_assert_str_eq(e.text, "900 is not legal");
	ck_assert_int_eq(err_in(&e, "line %u: workers", 12u), -1);
	ck_assert_int_eq(err_in(&e, "outbox.yml"), -1);
	ck_assert_str_eq(e.text,
	    "outbox.yml: line 12: workers: 900 is not legal");
	err_set(&e, "new");
	ck_assert_str_eq(e.text, "new");
	err_set(&e, "near '%s' at line 1", "\nx\r\n\ty");
	ck_assert_str_eq(e.text, "near ' x  \ty' at line 1");
	err_in(&e, "a\nb");
	ck_assert_str_eq(e.text, "a b: near ' x  \ty' at line 1");
}
END_TEST

/*
 * buf
 */

static const uint64_t numbers[] = {
	0, 1, 9, 10, 11, 99, 100, UINT32_MAX, INT64_MAX,
	(uint64_t)INT64_MAX + 1, 9999999999999999999u, 10000000000000000000u,
	UINT64_MAX - 1, UINT64_MAX
};

START_TEST(buf_writes_any_number)
{
	struct buf	b = { 0 };
	char		text[32];

	snprintf(text, sizeof(text), "n=%" PRIu64, numbers[_i]);
	buf_str(&b, "n=");
	buf_u64(&b, numbers[_i]);
	ck_assert_str_eq(b.data, text);
	ck_assert_uint_eq(b.len, strlen(text));
	buf_free(&b);
}
END_TEST

START_TEST(buf_grows)
{
	struct buf	b = { 0 };
	size_t		len = 0;

	for (int n = 0; n < 3000; n++) {
		buf_printf(&b, "%0*d", n, 7);
		len += n == 0 ? 1 : (size_t)n;
		ck_assert_uint_eq(b.len, len);
		ck_assert_int_eq(b.data[len - 1], '7');
		ck_assert_int_eq(b.data[len], '\0');
		ck_assert_uint_gt(b.size, b.len);
	}
	ck_assert_uint_eq(strspn(b.data, "07"), len);
	buf_free(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.len + b.size, 0);
	buf_printf(&b, "%s", "");
	ck_assert_str_eq(b.data, "");
	buf_free(&b);
}
END_TEST

START_TEST(buf_keeps_its_memory)
{
	struct buf	b = { 0 };
	char		*data;
	size_t		 size;

	buf_clear(&b);
	ck_assert_uint_eq(b.len, 0);
	buf_printf(&b, "%1000s", "");
	data = b.data;
	size = b.size;
	buf_clear(&b);
	ck_assert_str_eq(b.data, "");
	memset(buf_reserve(&b, size - 1), 'x', size - 1);
	ck_assert_ptr_eq(b.data, data);
	ck_assert_uint_eq(b.size, size);
	ck_assert_uint_eq(b.len, 0);
	buf_free(&b);
}
END_TEST

START_TEST(buf_takes_nul_and_chops)
{
	struct buf	b = { 0 };

	buf_add(&b, "a\0b,", 4);
	ck_assert_uint_eq(b.len, 4);
	buf_chop(&b, 1);
	ck_assert_mem_eq(b.data, "a\0b\0", 4);
	buf_str(&b, "c");
	ck_assert_mem_eq(b.data, "a\0bc\0", 5);
	buf_chop(&b, 4);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_str_eq(b.data, "");
	buf_chop(&b, 0);
	ck_assert_uint_eq(b.len, 0);
	buf_free(&b);
}
END_TEST

/*
 * backoff
 */

static const struct {
	int64_t	floor, ceiling, before, after;
} steps[] = {
	{ 100, 60000, 0, 100 },
	{ 100, 60000, 100, 200 },
	{ 100, 60000, 200, 400 },
	{ 100, 60000, 29999, 59998 },
	{ 100, 60000, 30000, 60000 },
	{ 100, 60000, 40000, 60000 },
	{ 100, 60000, 60000, 60000 },
	{ 1, 2, 0, 1 },
	{ 500, 500, 0, 500 },
	{ 500, 500, 500, 500 },
	{ 500, 200, 0, 200 },
};

START_TEST(backoff_doubles_up_to_the_ceiling)
{
	struct backoff	b = { steps[_i].floor, steps[_i].ceiling,
			    steps[_i].before };
	int64_t		delay = backoff_next(&b), after = steps[_i].after;

	ck_assert_int_eq(b.delay_ms, after);
	ck_assert_int_ge(delay, after - after / 5);
	ck_assert_int_le(delay, after + after / 5);
}
END_TEST

START_TEST(backoff_starts_anew)
{
	struct backoff	b = { 100, 60000, 0 };

	for (int i = 0; i < 20; i++)
		backoff_next(&b);
	ck_assert_int_eq(b.delay_ms, 60000);
	backoff_reset(&b);
	ck_assert_int_eq(b.delay_ms, 0);
	backoff_next(&b);
	ck_assert_int_eq(b.delay_ms, 100);
	ck_assert_int_eq(b.floor_ms, 100);
	ck_assert_int_eq(b.ceiling_ms, 60000);
}
END_TEST

#define DRAWS	4000

/* Draws around middle: in bounds, at both ends, and even. */
static void
check_spread(const int64_t *draws, int64_t middle, double jitter)
{
	int64_t	reach = (int64_t)((double)middle * jitter);
	int64_t	low = INT64_MAX, high = INT64_MIN, sum = 0;

	for (int i = 0; i < DRAWS; i++) {
		low = draws[i] < low ? draws[i] : low;
		high = draws[i] > high ? draws[i] : high;
		sum += draws[i] - middle;
	}
	ck_assert_int_ge(low, middle - reach);
	ck_assert_int_le(high, middle + reach);
	/* That so many draws all miss a twentieth does not happen. */
	ck_assert_int_le(low, middle - reach * 9 / 10);
	ck_assert_int_ge(high, middle + reach * 9 / 10);
	/* Eleven times the deviation of the mean. */
	ck_assert_int_le(llabs(sum) / DRAWS, reach / 10 + 1);
}

START_TEST(backoff_jitters_by_a_fifth)
{
	int64_t	draws[DRAWS];

	for (int i = 0; i < DRAWS; i++) {
		struct backoff b = { 10000, 60000, 0 };

		draws[i] = backoff_next(&b);
	}
	check_spread(draws, 10000, 0.2);
}
END_TEST

static const double jitters[] = { 0, 0.01, 0.2, 0.5, 1 };

START_TEST(retry_jitters_as_told)
{
	int64_t	draws[DRAWS];

	for (int i = 0; i < DRAWS; i++)
		draws[i] = backoff_retry(1000, 300000, jitters[_i], 5);
	check_spread(draws, 16000, jitters[_i]);
	for (int i = 0; i < DRAWS; i++)
		draws[i] = backoff_retry(1000, 10000, jitters[_i], 500);
	check_spread(draws, 10000, jitters[_i]);
}
END_TEST

static const struct {
	int64_t		base, max;
	unsigned	attempts;
	int64_t		delay;
} retries[] = {
	{ 1000, 300000, 1, 1000 },
	{ 1000, 300000, 2, 2000 },
	{ 1000, 300000, 3, 4000 },
	{ 1000, 300000, 9, 256000 },
	{ 1000, 300000, 10, 300000 },
	{ 1000, 300000, 1000, 300000 },
	{ 1000, 300000, UINT32_MAX, 300000 },
	{ 1000, 256000, 9, 256000 },
	{ 5000, 5000, 1, 5000 },
	{ 5000, 5000, 7, 5000 },
	{ 5000, 1000, 1, 1000 },
	{ 100, 86400000, 1000, 86400000 },
};

START_TEST(retry_doubles_up_to_max)
{
	ck_assert_int_eq(backoff_retry(retries[_i].base, retries[_i].max, 0,
	    retries[_i].attempts), retries[_i].delay);
}
END_TEST

/*
 * trouble
 */

static struct log_throttle	throttle;

static void
throttle_setup(void)
{
	memset(&throttle, 0, sizeof(throttle));
	log_to_file(LOG_LVL_INFO, false);
}

/* Meet trouble every step ms; at: when each line was logged. */
static size_t
meet_for(const char *const *texts, size_t ntexts, int64_t step, int64_t until,
    int64_t *at, size_t max)
{
	size_t	n = 0;

	for (int64_t now = 0; now < until; now += step) {
		int before = nlogged();

		log_throttle_warn(&throttle,
		    texts[(size_t)(now / step) % ntexts], now);
		if (nlogged() == before)
			continue;
		ck_assert_int_eq(nlogged(), before + 1);
		ck_assert_uint_lt(n, max);
		at[n++] = now;
	}
	return n;
}

START_TEST(trouble_is_logged_at_a_growing_pace)
{
	static const char *const	text[] = { "no broker" };
	static const int64_t		gaps[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	int64_t				at[20];
	size_t				n;

	n = meet_for(text, 1, 100, 200000, at, 20);
	ck_assert_uint_ge(n, 1);
	ck_assert_int_eq(at[0], 0);
	for (size_t i = 1; i < n; i++)
		ck_assert_int_eq(at[i] - at[i - 1], gaps[i - 1] * 1000);
	ck_assert_uint_eq(n, (size_t)NROWS(gaps) + 1);
	holds(logged(), " warn ");
	holds(logged(), ": no broker\n");
}
END_TEST

START_TEST(news_do_not_wait)
{
	for (int64_t now = 0; now <= 40000; now += 500)
		log_throttle_warn(&throttle, "no broker", now);
	log_throttle_warn(&throttle, "no stream", 40500);
	holds(logged(), "no stream");
}
END_TEST

START_TEST(news_come_once_a_second)
{
	static const char *const	texts[] = { "one", "two", "three" };
	int64_t				at[200];
	size_t				n;

	n = meet_for(texts, 3, 70, 10000, at, 200);
	ck_assert_uint_ge(n, 5);
	for (size_t i = 1; i < n; i++)
		ck_assert_int_ge(at[i] - at[i - 1], 1000);
}
END_TEST

/* Several servers that are away, each named in its turn. */
START_TEST(texts_in_turn_are_no_news)
{
	static const char *const	texts[] = { "one", "two", "three" };
	int64_t				at[200];

	ck_assert_uint_le(meet_for(texts, 3, 3500, 600000, at, 200), 20);
	for (size_t i = 0; i < 3; i++)
		holds(logged(), texts[i]);
	log_throttle_warn(&throttle, "four", 601000);
	holds(logged(), "four");
}
END_TEST

/* Each text names a message, and the key what is wrong. */
START_TEST(texts_of_one_key_are_no_news)
{
	char	text[40];
	int	n = 0;

	for (int64_t now = 0; now < 10000; now += 100) {
		int before = nlogged();

		snprintf(text, sizeof(text), "no stream for %d", (int)now);
		log_throttle_keyed(&throttle, "no_stream", text, now);
		n += nlogged() > before;
	}
	ck_assert_int_eq(n, 4);		/* at 0, 1, 3 and 7 s */
	log_throttle_keyed(&throttle, "permission", "not allowed", 10000);
	holds(logged(), "not allowed");
}
END_TEST

START_TEST(trouble_is_over_once)
{
	log_throttle_over(&throttle, "broker", 500);
	ck_assert_int_eq(nlogged(), 0);
	log_throttle_warn(&throttle, "no broker", 1000);
	log_throttle_over(&throttle, "broker", 8000);
	ck_assert_int_eq(nlogged(), 2);
	holds(logged(), " info ");
	holds(logged(), ": broker: works again after 7 s [duration_ms=7000]\n");
	log_throttle_over(&throttle, "broker", 9000);
	ck_assert_int_eq(nlogged(), 2);
	/* It is new again, whatever the pace was. */
	log_throttle_warn(&throttle, "no broker", 9001);
	ck_assert_int_eq(nlogged(), 3);
}
END_TEST

/*
 * link
 */

static struct reconnect	l;

static void
link_setup(void)
{
	reconnect_init(&l, "database");
}

START_TEST(link_that_fails_waits_longer)
{
	int64_t	waits[3];

	reconnect_opened(&l, 1000);
	for (size_t i = 0; i < NROWS(waits); i++) {
		reconnect_failed(&l, "gone", 2000);
		waits[i] = l.try_at - 2000;
	}
	ck_assert_int_eq(l.opened_at, 0);
	ck_assert_int_ge(waits[0], RECONNECT_FLOOR_MS * 8 / 10);
	ck_assert_int_gt(waits[1], waits[0]);
	ck_assert_int_gt(waits[2], waits[1]);
}
END_TEST

/* A server that takes connections and hangs up is not tried at full speed. */
START_TEST(link_is_not_trusted_when_it_opens)
{
	reconnect_failed(&l, "gone", 1000);
	reconnect_opened(&l, 1100);
	reconnect_lasts(&l, 1200);
	ck_assert(!l.proven && l.throttle.active);
	ck_assert_int_gt(l.backoff.delay_ms, 0);
	reconnect_lasts(&l, 1100 + 5000);
	ck_assert(l.proven && !l.throttle.active);
	ck_assert_int_eq(l.backoff.delay_ms, 0);
	ck_assert_int_eq(l.try_at, 0);
}
END_TEST

START_TEST(link_pauses_for_so_long_at_most)
{
	reconnect_opened(&l, 1000);
	for (size_t i = 0; i < 10; i++) {
		reconnect_pause(&l, 1000, 5000);
		ck_assert_int_gt(l.try_at, 5000);
		ck_assert_int_le(l.try_at, 6000);
	}
	ck_assert_int_eq(l.opened_at, 1000);
}
END_TEST

/*
 * log
 */

#define EIGHT(s)	s s s s s s s s
#define LONG(s)		EIGHT(EIGHT(EIGHT(s)))

static const struct {
	const char	*text, *msg;	/* msg NULL: only that it is JSON */
} texts[] = {
	{ "plain", "plain" },
	{ "", "" },
	{ "a \"quoted\" \\ word", "a \"quoted\" \\ word" },
	{ "\\", "\\" },
	{ "line\nfeed\r\n", "line feed  " },
	{ "\x01\x1b[31mred\t\x7f", "  [31mred  " },
	{ "\xc3\xb6\xe2\x82\xac\xf0\x9f\x90\x87",
	  "\xc3\xb6\xe2\x82\xac\xf0\x9f\x90\x87" },
	{ "{\"a\":[1,2]}", "{\"a\":[1,2]}" },
	{ "100% %s %n", "100% %s %n" },
	{ LONG("\""), LONG("\"") },
	{ LONG("0123456789"), NULL },
	{ LONG("\"\\"), NULL },
	{ LONG("\xc3\xb6"), NULL },
	{ "x" LONG("\xc3\xb6"), NULL },
	{ "\xc2\x9b" "31m\xe2\x80\xaetxt\xc2\x85", "?31m?txt?" },
	{ "caf\xe9 \xff \xc3", NULL },	/* a server may speak Latin-1 */
};

START_TEST(json_line_is_json)
{
	const char	*line, *msg;
	json_error_t	 je;
	json_t		*j;

	log_to_file(LOG_LVL_INFO, true);
	log_role("worker 2");
	log_warn("%s", texts[_i].text);
	line = logged();
	ck_assert_int_eq(count_lines(line), 1);
	ck_assert_int_eq(line[strlen(line) - 1], '\n');
	j = json_loads(line, JSON_REJECT_DUPLICATES, &je);
	ck_assert_msg(j != NULL, "%s: %s", je.text, line);
	msg = json_string_value(json_object_get(j, "msg"));
	ck_assert_ptr_nonnull(msg);
	if (texts[_i].msg != NULL)
		ck_assert_str_eq(msg, texts[_i].msg);
	ck_assert_str_eq(json_string_value(json_object_get(j, "level")),
	    "warn");
	ck_assert_str_eq(json_string_value(json_object_get(j, "role")),
	    "worker 2");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "pid")),
	    getpid());
	ck_assert_uint_eq(strlen(json_string_value(json_object_get(j, "ts"))),
	    strlen("2026-01-31T12:00:00.123Z"));
	json_decref(j);
}
END_TEST

START_TEST(text_line_has_its_form)
{
	char	rest[100];
	int	y, mo, d, h, mi, s, ms, n = 0;

	log_to_file(LOG_LVL_INFO, false);
	log_role("worker 2");
	log_info("a\nb %s", "c");
	ck_assert_int_eq(sscanf(logged(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n",
	    &y, &mo, &d, &h, &mi, &s, &ms, &n), 7);
	snprintf(rest, sizeof(rest), "info worker 2[%d]: a b c\n",
	    (int)getpid());
	ck_assert_str_eq(logged() + n, rest);
}
END_TEST

START_TEST(log_has_levels)
{
	log_to_file((enum log_level)_i, false);
	errno = E2BIG;
	log_error("one");
	log_warn("two");
	log_info("three");
	log_debug("four");
	ck_assert_int_eq(errno, E2BIG);
	ck_assert_int_eq(nlogged(), _i + 1);
}
END_TEST

START_TEST(full_disk_stops_nobody)
{
	struct err	e = { "" };

	ck_assert_int_eq(log_open("/dev/full", LOG_LVL_INFO, false, &e), 0);
	errno = E2BIG;
	log_error("one");
	ck_assert_int_eq(errno, E2BIG);
}
END_TEST

START_TEST(log_is_reopened)
{
	struct err	e = { "" };
	struct stat	st;

	umask(022);
	log_to_file(LOG_LVL_INFO, false);
	ck_assert_int_eq(stat(in_dir("log").text, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	log_info("one");
	ck_assert_int_eq(rename(in_dir("log").text, in_dir("log.1").text), 0);
	log_info("two");
	ck_assert_int_eq(log_reopen(&e), 0);
	log_info("three");
	ck_assert_int_eq(count_lines(read_file(in_dir("log.1").text)), 2);
	ck_assert_int_eq(nlogged(), 1);
	holds(logged(), "three");
	/* An existing file is appended to. */
	ck_assert_int_eq(log_reopen(&e), 0);
	log_info("four");
	ck_assert_int_eq(nlogged(), 2);
}
END_TEST

START_TEST(old_log_stays_when_the_new_fails)
{
	struct err	e = { "" };

	ck_assert_int_eq(mkdir(in_dir("logs").text, 0700), 0);
	ck_assert_int_eq(log_open(in_dir("logs/log").text, LOG_LVL_INFO, false,
	    &e), 0);
	ck_assert_int_eq(rename(in_dir("logs").text, in_dir("gone").text), 0);
	ck_assert_int_eq(log_reopen(&e), -1);
	holds(e.text, "logs/log");
	log_info("one");
	ck_assert_int_eq(log_open(in_dir("no/log").text, LOG_LVL_ERROR, true,
	    &e), -1);
	holds(e.text, "log.target");
	log_info("two");
	ck_assert_int_eq(count_lines(read_file(in_dir("gone/log").text)), 2);
	holds(read_file(in_dir("gone/log").text), "]: two\n");
	remove(in_dir("gone/log").text);
}
END_TEST

static void
note_line(void *arg, enum log_level level, const char *text)
{
	struct err	*e = arg;

	err_set(e, "%d %s", (int)level, text);
}

START_TEST(log_goes_to_a_function)
{
	struct err	e = { "" };

	log_to_file(LOG_LVL_DEBUG, false);
	log_to(note_line, &e, LOG_LVL_WARN);
	log_warn("one\ntwo");
	log_info("three");
	ck_assert_str_eq(e.text, "1 one two");
	log_to(NULL, NULL, LOG_LVL_WARN);
	log_warn("four");
	ck_assert_str_eq(e.text, "1 one two");
	ck_assert_int_eq(nlogged(), 1);
}
END_TEST

START_TEST(fatal_logs_and_exits)
{
	int	status;

	log_to_file(LOG_LVL_ERROR, false);
	if (fork() == 0)
		fatal(78, "no %s", "way");
	wait(&status);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 78);
	holds(logged(), "no way\n");
	if (fork() == 0)
		panic("lost");
	wait(&status);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	holds(logged(), "lost\n");
}
END_TEST

/*
 * secret
 */

static struct err	e;

/*
 * What MySQL 9.7 has kept of passwords of so many letters, with 5000 rounds, in
 * hex: a prefix of 7 bytes, a salt of 20, the digest.
 */
static const struct {
	size_t		 n;
	const char	*kept;
} kept[] = {
	{ 1, "244124303035243C2A226F770753206112457D161B212A0D36541A"
	    "585432746C626C635055784D3879376A6E465A744A6C596C423545"
	    "75476D4E4A2E53656A7262327335342F" },
	{ 8, "244124303035247716254D4962232C60232A6243235E5670255D4D"
	    "335A3366782E686D4846447949524E3179563343304E6833323733"
	    "723455304C396365526F6F7855346239" },
	{ 31, "244124303035247B0234487E14637525067319521A5C7E2D701D60"
	    "5030784849504B6A5A424F6A4334575937325A4A2F62576B544973"
	    "6D63595A30304C53795851696F524141" },
	{ 32, "24412430303524570D78605002493E2F45095566393C6D27235369"
	    "384257545A79703453314F3979724844596843375952784737414F"
	    "2F322E55335449544A6C7A652E307A32" },
	{ 33, "24412430303524156A360D03031716536E18430C147C2E67074548"
	    "2E4E4775317062584D527A6273596844726754596B506C622F7377"
	    "336D516A782F615772463472764E5036" },
	{ 65, "244124303035245B0E651D3F1677106C050C49613112651E480D10"
	    "6C596D4A5566384D6B33505A764F4C6A77384642654A3479774D6D"
	    "7167383452716153312E6B4330457042" },
	{ 128, "2441243030352426763A786C6D49154B29311B0A4442097B236074"
	    "516A4A46574E7A4A4B344F79394E3945666848475031594D6D7A67"
	    "34644E4E4E71304A67526A4241775232" },
};

START_TEST(password_is_kept_as_by_mysql)
{
	char		password[200] = "pass'\\\"w", hash[PASSWORD_HASH_SIZE];
	struct buf	whole = { 0 }, hex = { 0 };

	if (kept[_i].n != 8)
		for (size_t i = 0; i < kept[_i].n; i++)
			password[i] = (char)('a' + i * 7 % 26);
	if (kept[_i].n == 1)
		password[0] = 'x';
	password[kept[_i].n] = '\0';
	buf_printf(&hex, "0x%s", kept[_i].kept);
	ck_assert(printable_parse_hex(&whole, hex.data));
	buf_str(&whole, "");
	password_hash_sha2(hash, password, whole.data + 7);
	ck_assert_str_eq(hash, whole.data);
	buf_free(&whole);
	buf_free(&hex);
}
END_TEST

/* As PASSWORD() of MariaDB 10.11 has them; a server has no hash of "". */
START_TEST(password_is_kept_as_by_mariadb)
{
	char	hash[PASSWORD_HASH_SIZE];

	password_hash_native(hash, "password");
	ck_assert_str_eq(hash, "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
	password_hash_native(hash, "Sch\xc3\xb6n'\\");
	ck_assert_str_eq(hash, "*848DB2E158C382E061DA4FC271232219748DACC3");
	password_hash_native(hash, "");
	ck_assert_str_eq(hash, "");
	password_hash_sha2(hash, "", "abcdefghijklmnopqrst");
	ck_assert_str_eq(hash, "");
}
END_TEST

static const struct {
	const char	*file, *secret;		/* NULL: cannot be read */
} secrets[] = {
	{ "hunter2", "hunter2" },
	{ "hunter2\n", "hunter2" },
	{ "hunter2\r\n", "hunter2" },
	{ "hunter2\nsecond\n", "hunter2" },
	{ " with blanks \n", " with blanks " },
	{ "\nsecond\n", NULL },
	{ "\n", NULL },
	{ "", NULL },
	{ LONG("0123456") "\n", LONG("0123456") },
};

START_TEST(secret_is_the_first_line)
{
	char		*s;

	write_file(in_dir("secret").text, secrets[_i].file,
	    strlen(secrets[_i].file));
	chmod(in_dir("secret").text, 0600);
	s = secret_read(in_dir("secret").text, "", &e);
	if (secrets[_i].secret == NULL) {
		ck_assert_ptr_null(s);
		holds(e.text, in_dir("secret").text);
	} else {
		ck_assert_msg(s != NULL, "%s", e.text);
		ck_assert_str_eq(s, secrets[_i].secret);
	}
	secret_free(s);
}
END_TEST

/* Whole or not at all: half a token is refused by a server, silently. */
START_TEST(long_secret_is_not_cut)
{
	static const char	text[] = LONG("0123456789");
	char			*s;

	write_file(in_dir("secret").text, text, sizeof(text) - 1);
	chmod(in_dir("secret").text, 0600);
	s = secret_read(in_dir("secret").text, "", &e);
	if (s != NULL)
		ck_assert_uint_eq(strlen(s), sizeof(text) - 1);
	else
		ck_assert_ptr_null(strstr(e.text, "0123456789"));
	secret_free(s);
}
END_TEST

static const struct {
	mode_t	mode;
	bool	good;
} modes[] = {
	{ 0600, true }, { 0400, true }, { 0640, true }, { 0440, true },
	{ 0644, false }, { 0604, false }, { 0602, false }, { 0666, false },
	{ 0777, false },
};

/* Root, too, is told: the others can read it as long as it is so. */
START_TEST(secret_of_all_is_refused)
{
	struct path	 path = in_dir("secret");
	char		*s;

	write_file(path.text, "hunter2\n", 8);
	ck_assert_int_eq(chmod(path.text, modes[_i].mode), 0);
	ck_assert_int_eq(secret_check_file(path.text, &e),
	    modes[_i].good ? 0 : -1);
	s = secret_read(path.text, "", &e);
	if (modes[_i].good) {
		ck_assert_str_eq(s, "hunter2");
	} else {
		ck_assert_ptr_null(s);
		holds(e.text, "gives all users access");
		holds(e.text, "chmod o= /");
		holds(e.text, path.text);
	}
	secret_free(s);
	remove(path.text);
}
END_TEST

/* What is printed to be pasted has no word of the path in it. */
START_TEST(path_of_secret_is_one_word)
{
	struct path	 path = in_dir("secret; it's");

	write_file(path.text, "hunter2\n", 8);
	ck_assert_int_eq(chmod(path.text, 0644), 0);
	ck_assert_ptr_null(secret_read(path.text, "", &e));
	holds(e.text, "chmod o= '/");
	holds(e.text, "secret; it'\\''s'");
	remove(path.text);
}
END_TEST

START_TEST(secret_that_is_not_there)
{
	ck_assert_ptr_null(secret_read(in_dir("none").text, "", &e));
	holds(e.text, in_dir("none").text);
	holds(e.text, strerror(ENOENT));
	ck_assert_ptr_null(secret_read(dir, "", &e));
	holds(e.text, dir);
	unsetenv("CHECK_SECRET");
	ck_assert_ptr_null(secret_read("", "CHECK_SECRET", &e));
	holds(e.text, "CHECK_SECRET");
	secret_free(NULL);
}
END_TEST

START_TEST(secret_of_the_environment)
{
	static const char *const	values[] = { "", "hunter2", " a\nb" };
	char				*s;

	setenv("CHECK_SECRET", values[_i], 1);
	s = secret_read("", "CHECK_SECRET", &e);
	ck_assert_ptr_nonnull(s);
	ck_assert_str_eq(s, values[_i]);
	secret_free(s);
	/* Read anew each time. */
	setenv("CHECK_SECRET", "rotated", 1);
	s = secret_read("", "CHECK_SECRET", &e);
	ck_assert_str_eq(s, "rotated");
	secret_free(s);
	s = secret_read("", "", &e);
	ck_assert_str_eq(s, "");
	secret_free(s);
}
END_TEST

/*
 * printable.h
 */

#define TEN	"0123456789"
#define FIFTY	TEN TEN TEN TEN TEN
#define MANY	FIFTY FIFTY FIFTY TEN TEN TEN TEN	/* 190 */

static const struct {
	struct bytes	 bytes;
	const char	*text;
} plains[] = {
#define ROW(bytes, text)	{ { bytes, sizeof(bytes) - 1 }, text }
	{ { NULL, 0 }, "" }, ROW("", ""), ROW("order-17", "order-17"),
	ROW("a b", "a b"), ROW(" a", "0x2061"), ROW("a ", "0x6120"),
	ROW(" ", "0x20"), ROW("a\tb", "0x610962"), ROW("a\nb", "0x610a62"),
	ROW("\0", "0x00"), ROW("a\0b", "0x610062"), ROW("\x1f", "0x1f"),
	ROW("\x7f", "0x7f"), ROW("\xff\x0a", "0xff0a"),
	ROW("\xc3\xa4", "\xc3\xa4"), ROW("\xc3\x28", "0xc328"),
	ROW("\xc3", "0xc3"), ROW("\xc0\xaf", "0xc0af"),
	ROW("\xed\xa0\x80", "0xeda080"), ROW("0x00", "0x00"),
	/* 199 bytes have room; of 200 there are 196 and a mark. */
	ROW(MANY "012345678", MANY "012345678"),
	ROW(MANY TEN, MANY "012345..."),
	/* Not in the middle of a character. */
	ROW(MANY "01234\xc3\xa4" "789", MANY "01234..."),
	ROW(MANY "0123\xc3\xa4" "6789", MANY "0123\xc3\xa4..."),
	ROW(MANY "0123\xf0\x9f\x98\x80" "89", MANY "0123..."),
#undef ROW
};

START_TEST(bytes_are_shown_as_text)
{
	char	text[PRINTABLE_SIZE + 8];

	memset(text, '#', sizeof(text));
	printable_text(text, plains[_i].bytes.data, plains[_i].bytes.len);
	ck_assert_str_eq(text, plains[_i].text);
	ck_assert_int_eq(text[PRINTABLE_SIZE], '#');
}
END_TEST

/* 98 bytes are 0x and 196 digits; of 99 there are 97 and a mark. */
START_TEST(many_bytes_are_cut)
{
	char	bytes[99], text[PRINTABLE_SIZE];

	memset(bytes, 0xff, sizeof(bytes));
	printable_text(text, bytes, 98);
	ck_assert_uint_eq(strlen(text), 198);
	ck_assert_str_eq(text + 190, "ffffffff");
	printable_text(text, bytes, 99);
	ck_assert_uint_eq(strlen(text), 199);
	ck_assert_str_eq(text + 192, "ffff...");
}
END_TEST

static const struct {
	const char	*text;
	int		 len;		/* -1: not of that form */
	const char	*bytes;
} hexes[] = {
	{ "0x", 0, "" }, { "0x00", 1, "\0" }, { "0xfF0a", 2, "\xff\n" },
	{ "0x0", -1, NULL }, { "0xg0", -1, NULL }, { "0X00", -1, NULL },
	{ "", -1, NULL }, { "00", -1, NULL }, { " 0x00", -1, NULL },
};

START_TEST(hex_is_read_back)
{
	struct buf	b = { 0 };

	ck_assert(printable_parse_hex(&b,
	    hexes[_i].text) == (hexes[_i].len >= 0));
	if (hexes[_i].len > 0) {
		ck_assert_uint_eq(b.len, (size_t)hexes[_i].len);
		ck_assert_mem_eq(b.data, hexes[_i].bytes, b.len);
	}
	buf_free(&b);
}
END_TEST

/*
 * isolate
 */

#define ROWS	1000

/* A table whose rows are written from the first to the last. */
static struct {
	bool	bad[ROWS];		/* refused, with others and alone */
	size_t	at;			/* rows written or refused so far */
	size_t	nrefused, changed;
	size_t	nwrites, fails_at;	/* this write gets no answer */
} table;

static int
write_rows(struct isolate *i)
{
	ck_assert_uint_eq(i->from, table.at);
	ck_assert_uint_gt(i->n, 0);
	i->changed = i->n;		/* of the first statement of two */
	if (++table.nwrites == table.fails_at)
		return -1;
	for (size_t k = i->from; k < i->from + i->n; k++)
		if (table.bad[k])
			return -1;
	table.at += i->n;
	return 0;
}

static int
write_table(size_t n, size_t max)
{
	struct isolate	i = isolate_rows(n, max);
	int		rc;

	table.at = table.nrefused = table.changed = table.nwrites = 0;
	for (; isolate_next(&i); table.changed += i.changed) {
		rc = write_rows(&i);
		if (!isolate_judge(&i, rc, table.nwrites != table.fails_at))
			continue;
		ck_assert(table.bad[i.from] && i.n == 1);
		table.at++;
		table.nrefused++;
	}
	ck_assert_uint_eq(i.nrefused, table.nrefused);
	ck_assert_uint_eq(table.changed, table.at - table.nrefused);
	return i.rc;
}

static void
good_rows(void)
{
	memset(&table, 0, sizeof(table));
}

/* Each set of bad rows in lists of up to ten. */
START_TEST(refused_rows_are_found)
{
	size_t	n = (size_t)_i, nbad;

	for (unsigned bits = 0; bits < 1u << n; bits++) {
		nbad = 0;
		for (size_t k = 0; k < n; k++)
			nbad += table.bad[k] = bits >> k & 1;
		ck_assert_int_eq(write_table(n, 0), 0);
		ck_assert_uint_eq(table.at, n);
		ck_assert_uint_eq(table.nrefused, nbad);
		ck_assert_uint_le(table.nwrites, n == 0 ? 0 :
		    nbad == 0 ? 1 : 2 * n - 1);
	}
}
END_TEST

START_TEST(one_of_many_takes_few_writes)
{
	for (size_t k = 0; k < ROWS; k++) {
		table.bad[k] = true;
		ck_assert_int_eq(write_table(ROWS, 0), 0);
		ck_assert_uint_eq(table.at, ROWS);
		ck_assert_uint_eq(table.nrefused, 1);
		ck_assert_uint_le(table.nwrites, 21);
		table.bad[k] = false;
	}
}
END_TEST

START_TEST(all_of_many_end_at_the_most)
{
	memset(table.bad, true, sizeof(table.bad));
	ck_assert_int_eq(write_table(ROWS, 0), 0);
	ck_assert_uint_eq(table.nrefused, ROWS);
	ck_assert_uint_eq(table.nwrites, 2 * ROWS - 1);
	ck_assert_int_eq(write_table(ROWS, 50), 0);
	ck_assert_uint_eq(table.nrefused, 50);
	ck_assert_uint_eq(table.at, 50);
	ck_assert_uint_le(table.nwrites, 2 * 50 + 10);
}
END_TEST

/* A connection that is lost, or a lock: no row is to blame, and it is over. */
START_TEST(failure_ends_the_search)
{
	size_t	nwrites;

	table.bad[3] = table.bad[4] = table.bad[8] = true;
	ck_assert_int_eq(write_table(10, 0), 0);
	nwrites = table.nwrites;
	for (size_t k = 1; k <= nwrites; k++) {
		table.fails_at = k;
		ck_assert_int_eq(write_table(10, 0), -1);
		ck_assert_uint_eq(table.nwrites, k);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("util");
	TCase	*tc;

	tc = add_case(s, "err");
	tcase_add_loop_test(tc, err_is_cut_at_a_character, 0, 16);
	tcase_add_test(tc, err_fits_to_the_last_byte);
	tcase_add_test(tc, err_is_built_inside_out);

	tc = add_case(s, "buf");
	tcase_add_loop_test(tc, buf_writes_any_number, 0, NROWS(numbers));
	tcase_add_test(tc, buf_grows);
	tcase_add_test(tc, buf_keeps_its_memory);
	tcase_add_test(tc, buf_takes_nul_and_chops);

	tc = add_case(s, "backoff");
	tcase_add_loop_test(tc, backoff_doubles_up_to_the_ceiling, 0,
	    NROWS(steps));
	tcase_add_test(tc, backoff_starts_anew);
	tcase_add_test(tc, backoff_jitters_by_a_fifth);
	tcase_add_loop_test(tc, retry_jitters_as_told, 0, NROWS(jitters));
	tcase_add_loop_test(tc, retry_doubles_up_to_max, 0, NROWS(retries));

	tc = add_case(s, "isolate");
	tcase_add_checked_fixture(tc, good_rows, NULL);
	tcase_add_loop_test(tc, refused_rows_are_found, 0, 11);
	tcase_add_test(tc, one_of_many_takes_few_writes);
	tcase_add_test(tc, all_of_many_end_at_the_most);
	tcase_add_test(tc, failure_ends_the_search);

	tc = add_case(s, "trouble");
	tcase_add_checked_fixture(tc, throttle_setup, NULL);
	tcase_add_test(tc, trouble_is_logged_at_a_growing_pace);
	tcase_add_test(tc, news_do_not_wait);
	tcase_add_test(tc, news_come_once_a_second);
	tcase_add_test(tc, texts_in_turn_are_no_news);
	tcase_add_test(tc, texts_of_one_key_are_no_news);
	tcase_add_test(tc, trouble_is_over_once);

	tc = add_case(s, "link");
	tcase_add_checked_fixture(tc, link_setup, NULL);
	tcase_add_test(tc, link_that_fails_waits_longer);
	tcase_add_test(tc, link_is_not_trusted_when_it_opens);
	tcase_add_test(tc, link_pauses_for_so_long_at_most);

	tc = add_case(s, "plain");
	tcase_add_loop_test(tc, bytes_are_shown_as_text, 0, NROWS(plains));
	tcase_add_test(tc, many_bytes_are_cut);
	tcase_add_loop_test(tc, hex_is_read_back, 0, NROWS(hexes));

	tc = add_case(s, "log");
	tcase_add_loop_test(tc, json_line_is_json, 0, NROWS(texts));
	tcase_add_test(tc, text_line_has_its_form);
	tcase_add_loop_test(tc, log_has_levels, 0, 4);
	tcase_add_test(tc, full_disk_stops_nobody);
	tcase_add_test(tc, log_is_reopened);
	tcase_add_test(tc, old_log_stays_when_the_new_fails);
	tcase_add_test(tc, log_goes_to_a_function);
	tcase_add_test(tc, fatal_logs_and_exits);

	tc = add_case(s, "secret");
	tcase_add_loop_test(tc, secret_of_all_is_refused, 0, NROWS(modes));
	tcase_add_test(tc, path_of_secret_is_one_word);
	tcase_add_loop_test(tc, secret_is_the_first_line, 0, NROWS(secrets));
	tcase_add_test(tc, long_secret_is_not_cut);
	tcase_add_loop_test(tc, password_is_kept_as_by_mysql, 0, NROWS(kept));
	tcase_add_test(tc, password_is_kept_as_by_mariadb);
	tcase_add_test(tc, secret_that_is_not_there);
	tcase_add_loop_test(tc, secret_of_the_environment, 0, 3);
	return run_suite(s);
}
