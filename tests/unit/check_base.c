/*
 * check_base.c - the small modules that all others stand on
 *
 * err, buf, backoff, pace, ident, trouble, link, log, secret, heirs,
 * label_set, board, bell and slot.  No clock: time is a number that the test passes in.
 */
#include "lib/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <jansson.h>
#include <bsd/string.h>

#include "util/backoff.h"
#include "ipc/bell.h"
#include "ipc/board.h"
#include "util/buf.h"
#include "ipc/heirs.h"
#include "common/exits.h"
#include "common/ident.h"
#include "util/link.h"
#include "worker/pace.h"
#include "util/plain.h"
#include "util/secret.h"
#include "master/slot.h"
#include "util/trouble.h"

#define ID	"host:07:0123456789abcdef"
#define ID2	"host:200:fedcba9876543210"

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
 * pace
 */

/* A look at all partitions. */
static void
looked(struct pace *p, enum pace_found found, int64_t due, int64_t began,
    int64_t now)
{
	pace_looked(p, &(struct pace_look){ .found = found, .all = true,
	    .due = due, .began = began }, now);
}

/* Looks at each moment that comes; what is found, and the pauses. */
static const struct {
	struct pace	before;
	enum pace_found	found;
	int64_t		due;
	int64_t		pauses[8];
} paces[] = {
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 10 }, PACE_NOTHING, INT64_MAX,
	    { 1, 2, 4, 8, 10, 10, 10, 10 } },
	{ { .ceiling_ms = 1 }, PACE_NOTHING, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, PACE_WORK, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .ceiling_ms = 1000, .linger_ms = 1000 }, PACE_ALL, INT64_MAX,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, PACE_ALL, INT64_MAX,
	    { 50, 50, 50, 50, 50, 50, 50, 50 } },
	{ { .ceiling_ms = 3 }, PACE_ALL, INT64_MAX,
	    { 3, 3, 3, 3, 3, 3, 3, 3 } },
	{ { .ceiling_ms = 1000, .pause_ms = 500 }, PACE_MORE, INT64_MAX,
	    { 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_NOTHING, INT64_MAX,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_WORK, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	{ { .fixed_ms = 70, .ceiling_ms = 1000 }, PACE_MORE, 0,
	    { 70, 70, 70, 70, 70, 70, 70, 70 } },
	/* What is due is not waited for longer; but nothing spins over it. */
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, 5010,
	    { 1, 2, 4, 3, 1, 1, 1, 1 } },
	{ { .ceiling_ms = 1000 }, PACE_NOTHING, 0,
	    { 1, 1, 1, 1, 1, 1, 1, 1 } },
	/* Had work lately. */
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, PACE_NOTHING,
	    INT64_MAX, { 1, 2, 4, 5, 5, 5, 10, 20 } },
	{ { .ceiling_ms = 1000, .linger_until = 5020 }, PACE_WAITING,
	    INT64_MAX, { 1, 2, 4, 8, 16, 32, 64, 128 } },
	{ { .ceiling_ms = 3, .linger_until = 5010 }, PACE_NOTHING,
	    INT64_MAX, { 1, 2, 3, 3, 3, 3, 3, 3 } },
};

START_TEST(pauses_follow_what_was_found)
{
	struct pace	p = paces[_i].before;
	int64_t		now = 5000;

	ck_assert_int_le(p.at, now);
	for (size_t i = 0; i < NROWS(paces[0].pauses); i++) {
		looked(&p, paces[_i].found, paces[_i].due, now, now);
		ck_assert_int_eq(p.at - now, paces[_i].pauses[i]);
		now = p.at;
	}
}
END_TEST

/* The last of many looks that found nothing begins no new series. */
START_TEST(unfinished_look_keeps_the_pause)
{
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = 1000, .pause_ms = 400 };

	looked(&p, PACE_MORE, INT64_MAX, 5000, 5000);
	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 5800);
}
END_TEST

/* Half of the time at most goes to looks that are dear. */
START_TEST(dear_look_is_not_repeated_soon)
{
	struct pace	p = { .ceiling_ms = 100, .linger_until = 9000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5030);
	ck_assert_int_eq(p.at, 5060);
	looked(&p, PACE_NOTHING, INT64_MAX, 5060, 5260);
	ck_assert_int_eq(p.at, 5360);
	looked(&p, PACE_ALL, INT64_MAX, 5360, 5400);
	ck_assert_int_eq(p.at, 5400 + PACE_RUNG_MS);
}
END_TEST

START_TEST(work_makes_it_linger)
{
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = PACE_LINGER_MS };
	int64_t		now = 5000;

	looked(&p, PACE_WORK, INT64_MAX, now, now);
	while (now < 5000 + PACE_LINGER_MS) {
		looked(&p, PACE_NOTHING, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now);
		ck_assert_int_le(p.at, now + PACE_SOON_MS);
		now = p.at;
	}
	looked(&p, PACE_NOTHING, INT64_MAX, now, now);
	ck_assert_int_gt(p.at, now + PACE_SOON_MS);
}
END_TEST

START_TEST(ring_ends_the_pause)
{
	struct pace	p = { .ceiling_ms = 60000, .pause_ms = 30000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	ck_assert(pace_listens(&p, 5100));
	pace_ring(&p, true, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(!pace_listens(&p, 5100));
	/* Whoever rang a moment too soon is not waited for long. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5101, 5101);
	ck_assert_int_eq(p.at, 5101 + PACE_SOON_MS);
	looked(&p, PACE_NOTHING, INT64_MAX, 5106, 5106);
	ck_assert_int_eq(p.at, 5106 + 2 * PACE_SOON_MS);
}
END_TEST

/* Only one that was in vain delays the next. */
START_TEST(rings_for_work_are_heard_at_once)
{
	struct pace	p = { .ceiling_ms = 1000 };

	for (int64_t now = 5000; now < 5010; now++) {
		looked(&p, PACE_ALL, INT64_MAX, now, now);
		ck_assert_int_gt(p.at, now + 1);
		pace_ring(&p, true, now + 1);
		ck_assert_int_eq(p.at, now + 1);
	}
	/* Nor a late one for what was found before it came. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5010, 5010);
	pace_ring(&p, true, 5011);
	ck_assert_int_eq(p.at, 5011);
	looked(&p, PACE_NOTHING, INT64_MAX, 5015, 5015);
	pace_ring(&p, true, 5016);
	ck_assert_int_eq(p.at, 5015 + PACE_SOON_MS);
}
END_TEST

START_TEST(ring_makes_no_look_later)
{
	struct pace	p = { .ceiling_ms = 1000 };

	looked(&p, PACE_WORK, INT64_MAX, 5000, 5000);
	pace_ring(&p, true, 5000);
	ck_assert_int_eq(p.at, 5000);
	pace_ring(&p, true, 5010);
	looked(&p, PACE_NOTHING, 5012, 5010, 5010);
	pace_ring(&p, true, 5011);
	ck_assert_int_eq(p.at, 5012);
}
END_TEST

/* Rung all the time: no more than 200 empty looks a second. */
START_TEST(rings_have_their_measure)
{
	struct pace	p = { .ceiling_ms = 1000, .linger_ms = PACE_LINGER_MS };
	unsigned	looks = 0;

	for (int64_t now = 5000; now < 6000; now++) {
		for (int i = 0; i < 3; i++)
			pace_ring(&p, true, now);
		if (now < p.at)
			continue;
		looked(&p, PACE_NOTHING, INT64_MAX, now, now);
		pace_ring(&p, true, now);
		looks++;
	}
	ck_assert_uint_le(looks, 1000 / PACE_SOON_MS);
	ck_assert_uint_ge(looks, 1000 / PACE_SOON_MS - 1);
}
END_TEST

/* A look where somebody has rung, which took no time. */
static void
looked_narrowly(struct pace *p, enum pace_found found, int64_t due,
    int64_t now)
{
	pace_looked(p, &(struct pace_look){ .found = found, .due = due,
	    .began = now }, now);
}

/* The look at all partitions comes when it would have come. */
START_TEST(narrow_looks_come_between)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 6000);
	for (int64_t now = 5100; now < 5990; now += 10) {
		pace_ring(&p, false, now);
		ck_assert_int_eq(p.at, now);
		ck_assert(pace_is_narrow(&p, now));
		looked_narrowly(&p, PACE_WAITING, INT64_MAX, now);
		ck_assert_int_eq(p.at, 6000);
	}
	ck_assert(!pace_is_narrow(&p, 6000));
	looked(&p, PACE_NOTHING, INT64_MAX, 6000, 6000);
	ck_assert_int_eq(p.at, 7000);
}
END_TEST

/* Where there is work there is more of it, and rings may be lost. */
START_TEST(narrow_work_asks_for_a_look_at_all)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	looked_narrowly(&p, PACE_WORK, INT64_MAX, 5100);
	ck_assert_int_eq(p.at, 5100);
	ck_assert(pace_is_narrow(&p, 5100));
	looked_narrowly(&p, PACE_ALL, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5100 + PACE_RUNG_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	/* Which is the first of its kind again. */
	looked(&p, PACE_NOTHING, INT64_MAX, 5150, 5150);
	ck_assert_int_eq(p.at, 5150 + 2 * PACE_RUNG_MS);
}
END_TEST

/* What is due has its time, and it is not where the ring was for. */
START_TEST(narrow_look_forgets_nothing_that_is_due)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_WAITING, 5300, 5000, 5000);
	ck_assert_int_eq(p.at, 5300);
	pace_ring(&p, false, 5100);
	looked_narrowly(&p, PACE_WAITING, 5200, 5100);
	ck_assert_int_eq(p.at, 5200);
	ck_assert(!pace_is_narrow(&p, 5200));
	pace_ring(&p, false, 5110);
	looked_narrowly(&p, PACE_MORE, INT64_MAX, 5110);
	ck_assert_int_eq(p.at, 5110);
	ck_assert(!pace_is_narrow(&p, 5110));
}
END_TEST

/* A row that cannot be read yet is looked for again soon, and only there. */
START_TEST(ring_that_came_too_soon_is_repeated)
{
	struct pace		p = { .ceiling_ms = 1000, .pause_ms = 500 };
	struct pace_look	again = { .found = PACE_NOTHING, .rung = true,
				    .due = INT64_MAX, .began = 5100 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	pace_looked(&p, &again, 5100);
	ck_assert_int_eq(p.at, 5100 + PACE_SOON_MS);
	ck_assert(pace_is_narrow(&p, p.at));
	again.all = true;
	pace_looked(&p, &again, 6000);
	ck_assert_int_eq(p.at, 6000 + PACE_SOON_MS);
	ck_assert(pace_is_narrow(&p, p.at));
	/* And if it is not there either, everywhere, later and later. */
	pace_ring(&p, false, 6005);
	looked_narrowly(&p, PACE_NOTHING, INT64_MAX, 6005);
	ck_assert_int_eq(p.at, 6005 + 2 * PACE_SOON_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	looked(&p, PACE_NOTHING, INT64_MAX, 6015, 6015);
	ck_assert_int_eq(p.at, 6015 + 4 * PACE_SOON_MS);
}
END_TEST

/* Who rings for everything means it. */
START_TEST(ring_for_all_widens_the_look)
{
	struct pace	p = { .ceiling_ms = 1000, .pause_ms = 500 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	pace_ring(&p, false, 5100);
	pace_ring(&p, true, 5100);
	pace_ring(&p, false, 5100);
	ck_assert(!pace_is_narrow(&p, 5100));
}
END_TEST

/* With a fixed pause too, but once. */
START_TEST(ring_for_all_that_came_too_soon_is_repeated)
{
	struct pace	p = { .fixed_ms = 60000, .ceiling_ms = 1000 };

	looked(&p, PACE_NOTHING, INT64_MAX, 5000, 5000);
	ck_assert_int_eq(p.at, 65000);
	pace_ring(&p, true, 5100);
	looked(&p, PACE_NOTHING, INT64_MAX, 5100, 5100);
	ck_assert_int_eq(p.at, 5100 + PACE_SOON_MS);
	ck_assert(!pace_is_narrow(&p, p.at));
	looked(&p, PACE_NOTHING, INT64_MAX, 5105, 5105);
	ck_assert_int_eq(p.at, 65105);
	pace_ring(&p, true, 5200);
	looked(&p, PACE_ALL, INT64_MAX, 5200, 5200);
	ck_assert_int_eq(p.at, 65200);
}
END_TEST

/* A fixed pause is one between looks at all. */
START_TEST(rings_shift_no_fixed_pause)
{
	struct pace	p = { .fixed_ms = 70, .ceiling_ms = 1000 };

	looked(&p, PACE_ALL, INT64_MAX, 5000, 5000);
	for (int64_t now = 5010; now < 5070; now += 10) {
		pace_ring(&p, false, now);
		ck_assert_int_eq(p.at, now);
		looked_narrowly(&p, PACE_WORK, now, now);
		ck_assert_int_eq(p.at, 5070);
	}
	ck_assert(!pace_is_narrow(&p, 5070));
}
END_TEST

/*
 * ident
 */

static const struct {
	const char	*host;
	unsigned	 slot;
	const char	*start;
} names[] = {
	{ "host", 0, "host:00:" },
	{ "host", 7, "host:07:" },
	{ "db-1.example", 99, "db-1.example:99:" },
	{ "host", 100, "host:100:" },
	{ "host", 999, "host:999:" },
	{ "abcdefghijklmn", 1, "abcdefghijklmn:01:" },
	{ "abcdefghijklmno", 1, "abcdefghijklmn:01:" },
	{ "abcdefghijklmn.example.com", 999, "abcdefghijklmn:999:" },
	{ "my host", 1, "my_host:01:" },
	{ "a:b'c\"d\\e", 1, "a_b_c_d_e:01:" },
	{ "h\xc3\xb6st\n", 1, "h__st_:01:" },
	{ "", 1, ":01:" },
};

START_TEST(id_has_its_form)
{
	char		id[IDENT_SIZE];
	const char	*start = names[_i].start, *nonce;

	ident_new(id, names[_i].host, names[_i].slot);
	ck_assert_int_eq(strncmp(id, start, strlen(start)), 0);
	nonce = ident_nonce(id);
	ck_assert_ptr_eq(nonce, id + strlen(start));
	ck_assert_uint_eq(strlen(nonce), IDENT_NONCE - 1);
	ck_assert_uint_eq(strspn(nonce, "0123456789abcdef"), IDENT_NONCE - 1);
	ck_assert(ident_is_valid(id));
	ck_assert_uint_eq(heirs_slot(id), names[_i].slot);
}
END_TEST

START_TEST(id_is_new_each_time)
{
	char	id[IDENT_SIZE] = "", of_child[IDENT_SIZE];
	int	fds[2], status;

	ident_new(id, "host", 1);
	ck_assert_int_eq(pipe(fds), 0);
	if (fork() == 0) {
		ident_new(id, "host", 1);
		_exit(write(fds[1], id, sizeof(id)) != sizeof(id));
	}
	ident_new(id, "host", 1);
	ck_assert_int_eq(read(fds[0], of_child, sizeof(of_child)),
	    sizeof(of_child));
	wait(&status);
	ck_assert_int_eq(status, 0);
	ck_assert_str_ne(of_child, id);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(successors_sort_to_the_same_place)
{
	static const char *const	hosts[] = { "a", "a-b", "a.c", "b" };
	static const unsigned		slots[] = { 0, 2, 9, 10, 31, 99 };
	char				ids[24][IDENT_SIZE];
	const char			*sorted[24], *again[24];

	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < 24; i++) {
			ident_new(ids[i], hosts[i * 7 % 24 / 6],
			    slots[i * 7 % 24 % 6]);
			again[i] = ids[i];
		}
		qsort(again, 24, sizeof(again[0]), ident_cmp);
		for (size_t i = 0; round > 0 && i < 24; i++)
			ck_assert_ptr_eq(again[i], sorted[i]);
		memcpy(sorted, again, sizeof(sorted));
	}
	for (size_t i = 1; i < 24; i++)
		ck_assert_int_lt(strcmp(sorted[i - 1], sorted[i]), 0);
}
END_TEST

START_TEST(ids_are_compared_as_bytes)
{
	const char	*a = "B:01", *b = "a:01", *c = "\xc3\xb6:01";

	ck_assert_int_lt(ident_cmp(&a, &b), 0);
	ck_assert_int_lt(ident_cmp(&b, &c), 0);
	ck_assert_int_gt(ident_cmp(&c, &a), 0);
	ck_assert_int_eq(ident_cmp(&a, &a), 0);
}
END_TEST

static const char *const invalid[] = {
	"", "x", ":", "host:07:",
	"0123456789abcdef",			/* a nonce alone */
	":0123456789abcdef",			/* no slot */
	"host:0123456789abcdef",
	"host:07:0123456789abcde",
	"host:07:0123456789abcdeg",
	"host:07:0123456789ABCDEF",
	"host:07-0123456789abcdef",
	"host:07:0123456789abcdef ",
	"host:07:0123456789abcdef\n",
	"ho st:07:0123456789abcdef",
	"ho'st:07:0123456789abcdef",
	"ho\"st:07:0123456789abcdef",
	"ho\\st:07:0123456789abcdef",
	"ho\nst:07:0123456789abcdef",
	"h\xc3\xb6st:07:0123456789abcdef",
	"a-host-with-name:007:0123456789abcdef",	/* 37 */
};

START_TEST(what_is_no_id_is_refused)
{
	ck_assert(!ident_is_valid(invalid[_i]));
}
END_TEST

START_TEST(longest_id_is_valid)
{
	ck_assert(ident_is_valid(ID));
	ck_assert(ident_is_valid("a-host-with-nam:007:0123456789abcdef"));
	ck_assert_ptr_null(ident_nonce(""));
	ck_assert_ptr_null(ident_nonce("0123456789abcdef"));
	ck_assert_str_eq(ident_nonce(ID), "0123456789abcdef");
}
END_TEST

/*
 * trouble
 */

/* Meets trouble every step ms; notes when each line came out. */
static size_t
meet_for(struct trouble *t, const char *const *texts, size_t ntexts,
    int64_t step, int64_t until, int64_t *at, size_t max)
{
	size_t	n = 0;

	for (int64_t now = 0; now < until; now += step) {
		int before = nlogged();

		trouble_met(t, texts[(size_t)(now / step) % ntexts], now);
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
	struct trouble			t = { 0 };
	int64_t				at[20];
	size_t				n;

	log_to_file(LOG_LVL_INFO, false);
	n = meet_for(&t, text, 1, 100, 200000, at, 20);
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
	struct trouble	t = { 0 };

	log_to_file(LOG_LVL_INFO, false);
	for (int64_t now = 0; now <= 40000; now += 500)
		trouble_met(&t, "no broker", now);
	trouble_met(&t, "no stream", 40500);
	holds(logged(), "no stream");
}
END_TEST

START_TEST(news_come_once_a_second)
{
	static const char *const	texts[] = { "one", "two", "three" };
	struct trouble			t = { 0 };
	int64_t				at[200];
	size_t				n;

	log_to_file(LOG_LVL_INFO, false);
	n = meet_for(&t, texts, 3, 70, 10000, at, 200);
	ck_assert_uint_ge(n, 5);
	for (size_t i = 1; i < n; i++)
		ck_assert_int_ge(at[i] - at[i - 1], 1000);
}
END_TEST

/* Several servers that are away, each named in its turn. */
START_TEST(texts_in_turn_are_no_news)
{
	static const char *const	texts[] = { "one", "two", "three" };
	struct trouble			t = { 0 };
	int64_t				at[200];

	log_to_file(LOG_LVL_INFO, false);
	ck_assert_uint_le(meet_for(&t, texts, 3, 3500, 600000, at, 200), 20);
	for (size_t i = 0; i < 3; i++)
		holds(logged(), texts[i]);
	trouble_met(&t, "four", 601000);
	holds(logged(), "four");
}
END_TEST

START_TEST(trouble_is_over_once)
{
	struct trouble	t = { 0 };

	log_to_file(LOG_LVL_INFO, false);
	trouble_over(&t, "broker", 500);
	ck_assert_int_eq(nlogged(), 0);
	trouble_met(&t, "no broker", 1000);
	trouble_over(&t, "broker", 8000);
	ck_assert_int_eq(nlogged(), 2);
	holds(logged(), " info ");
	holds(logged(), ": broker: works again after 7 s\n");
	trouble_over(&t, "broker", 9000);
	ck_assert_int_eq(nlogged(), 2);
	/* It is new again, whatever the pace was. */
	trouble_met(&t, "no broker", 9001);
	ck_assert_int_eq(nlogged(), 3);
}
END_TEST

/*
 * link
 */

START_TEST(link_that_fails_waits_longer)
{
	struct link	l;
	int64_t		waits[3];

	link_init(&l, "broker");
	link_opened(&l, 1000);
	for (size_t i = 0; i < NROWS(waits); i++) {
		link_failed(&l, "gone", 2000);
		waits[i] = l.try_at - 2000;
	}
	ck_assert_int_eq(l.opened_at, 0);
	ck_assert_int_ge(waits[0], LINK_FLOOR_MS * 8 / 10);
	ck_assert_int_gt(waits[1], waits[0]);
	ck_assert_int_gt(waits[2], waits[1]);
}
END_TEST

/* A server that takes connections and hangs up is not tried at full speed. */
START_TEST(link_is_not_trusted_when_it_opens)
{
	struct link	l;

	link_init(&l, "database");
	link_failed(&l, "gone", 1000);
	link_opened(&l, 1100);
	link_lasts(&l, 1200);
	ck_assert(!l.proven && l.trouble.active);
	ck_assert_int_gt(l.backoff.delay_ms, 0);
	link_lasts(&l, 1100 + 5000);
	ck_assert(l.proven && !l.trouble.active);
	ck_assert_int_eq(l.backoff.delay_ms, 0);
	ck_assert_int_eq(l.try_at, 0);
}
END_TEST

START_TEST(link_pauses_for_so_long_at_most)
{
	struct link	l;

	link_init(&l, "database");
	link_opened(&l, 1000);
	for (size_t i = 0; i < 10; i++) {
		link_pause(&l, 1000, 5000);
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

static const struct {
	const char	*file, *secret;		/* NULL: cannot be read */
} secrets[] = {
	{ "hunter2", "hunter2" },
	{ "hunter2\n", "hunter2" },
	{ "hunter2\r\n", "hunter2" },
	{ "hunter2\nsecond\n", "hunter2" },
	{ " with blanks \n", " with blanks " },
	{ "\nsecond\n", "" },
	{ "", NULL },
	{ LONG("0123456") "\n", LONG("0123456") },
};

START_TEST(secret_is_the_first_line)
{
	struct err	 e = { "" };
	char		*s;

	write_file(in_dir("secret").text, secrets[_i].file,
	    strlen(secrets[_i].file));
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
	struct err		e = { "" };
	char			*s;

	write_file(in_dir("secret").text, text, sizeof(text) - 1);
	s = secret_read(in_dir("secret").text, "", &e);
	if (s != NULL)
		ck_assert_uint_eq(strlen(s), sizeof(text) - 1);
	else
		ck_assert_ptr_null(strstr(e.text, "0123456789"));
	secret_free(s);
}
END_TEST

START_TEST(secret_that_is_not_there)
{
	struct err	e = { "" };

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
	struct err			e = { "" };
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
 * heirs
 */

static int
open_heirs(void)
{
	struct err	e = { "" };
	int		fd = heirs_open(in_dir("heirs").text, &e);

	ck_assert_msg(fd >= 0, "%s", e.text);
	return fd;
}

/* What is read back, one after the other with a comma behind each. */
static const char *
heirs_of(int fd)
{
	static char	text[CONF_MAX_WORKERS * HEIRS_PER_SLOT * IDENT_SIZE];
	size_t		n;
	char		(*ids)[IDENT_SIZE] = heirs_read(fd, &n);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		strlcat(text, ids[i], sizeof(text));
		strlcat(text, ",", sizeof(text));
	}
	free(ids);
	return text;
}

/* The first n of two ids. */
static void
write_heirs(int fd, unsigned slot, size_t n)
{
	static const char	both[2][IDENT_SIZE] = { ID, ID2 };
	struct err		e = { "" };

	ck_assert_msg(heirs_write(fd, slot, both, n, &e) == 0, "%s", e.text);
}

static int
open_new_heirs(void)
{
	unlink(in_dir("heirs").text);
	return open_heirs();
}

START_TEST(heirs_are_read_back)
{
	int	fd = open_new_heirs();

	ck_assert_str_eq(heirs_of(fd), "");
	write_heirs(fd, 3, 1);
	ck_assert_str_eq(heirs_of(fd), ID ",");
	write_heirs(fd, CONF_MAX_WORKERS - 1, 2);
	write_heirs(fd, 0, 2);
	close(fd);
	fd = open_heirs();
	ck_assert_str_eq(heirs_of(fd), ID "," ID2 "," ID "," ID "," ID2 ",");
	write_heirs(fd, 0, 1);
	ck_assert_str_eq(heirs_of(fd), ID "," ID "," ID "," ID2 ",");
	write_heirs(fd, 3, 0);
	write_heirs(fd, 0, 0);
	ck_assert_str_eq(heirs_of(fd), ID "," ID2 ",");
	close(fd);
}
END_TEST

START_TEST(heirs_are_cut_off)
{
	int	fd = open_new_heirs();

	write_heirs(fd, 0, 1);
	write_heirs(fd, 2, 2);
	write_heirs(fd, 5, 2);
	heirs_cut(fd, 3);
	ck_assert_str_eq(heirs_of(fd), ID "," ID "," ID2 ",");
	heirs_cut(fd, 2);
	ck_assert_str_eq(heirs_of(fd), ID ",");
	heirs_cut(fd, CONF_MAX_WORKERS);
	ck_assert_str_eq(heirs_of(fd), ID ",");
	heirs_cut(fd, 0);
	ck_assert_str_eq(heirs_of(fd), "");
	close(fd);
}
END_TEST

/* As many and as long as can be, in every place there is. */
START_TEST(heirs_have_room)
{
	char		ids[HEIRS_PER_SLOT][IDENT_SIZE];
	struct err	e = { "" };
	int		fd = open_new_heirs();
	char		(*back)[IDENT_SIZE];
	size_t		n;

	for (size_t i = 0; i < HEIRS_PER_SLOT; i++)
		ident_new(ids[i], "a-very-long-host", 999);
	for (unsigned i = CONF_MAX_WORKERS; i-- > 0; )
		ck_assert_int_eq(heirs_write(fd, i,
		    (const char (*)[IDENT_SIZE])ids, HEIRS_PER_SLOT, &e), 0);
	back = heirs_read(fd, &n);
	ck_assert_uint_eq(n, CONF_MAX_WORKERS * HEIRS_PER_SLOT);
	for (size_t i = 0; i < n; i++)
		ck_assert_str_eq(back[i], ids[i % HEIRS_PER_SLOT]);
	free(back);
	close(fd);
}
END_TEST

/* Records, as put_record has them, and plain text. */
static const struct {
	const char	*file, *read;
} files[] = {
	{ "garbage", "" },
	{ "%1%2", ID "," ID2 "," },
	{ "%1%g%2", ID "," ID2 "," },
	{ "%g%1", ID "," },
	{ "%0%1", ID "," },			/* NULs: a hole */
	{ "%1%2%t", ID "," ID2 "," },		/* torn */
	{ "%t", "" },
	{ "%1%c", ID "," },
	{ "%c%2", ID2 "," },
};

/* 40 bytes: an id with blanks, NULs, garbage of two kinds; or a torn one. */
static void
put_record(FILE *f, char kind)
{
	char	record[41];

	memset(record, kind == '0' ? '\0' : kind == 'g' ? '#' : ' ', 40);
	if (kind == '1' || kind == 't')
		memcpy(record, ID, strlen(ID));
	else if (kind == '2')
		memcpy(record, ID2, strlen(ID2));
	else if (kind == 'c')
		memcpy(record, ":0123456789abcdef", 17);
	if (kind != '0')
		record[39] = '\n';
	ck_assert_uint_ge(fwrite(record, 1, kind == 't' ? 30 : 40, f), 30);
}

START_TEST(garbage_is_no_heir)
{
	FILE	*f = fopen(in_dir("heirs").text, "w");
	int	 fd;

	ck_assert_ptr_nonnull(f);
	for (const char *p = files[_i].file; *p != '\0'; p++)
		if (*p == '%')
			put_record(f, *++p);
		else
			putc(*p, f);
	fclose(f);
	fd = open_heirs();
	ck_assert_str_eq(heirs_of(fd), files[_i].read);
	close(fd);
}
END_TEST

START_TEST(heirs_file_that_cannot_be)
{
	struct err	e = { "" };
	int		fd;

	ck_assert_int_eq(heirs_open(in_dir("no/heirs").text, &e), -1);
	holds(e.text, in_dir("no/heirs").text);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(heirs_write(fd, 0, NULL, 0, &e), -1);
	holds(e.text, strerror(EBADF));
	close(fd);
}
END_TEST

static const struct {
	const char	*id;
	unsigned	 slot;
} slots[] = {
	{ ID, 7 },
	{ ID2, 200 },
	{ "a:b:31:0123456789abcdef", 31 },
	{ ":00:0123456789abcdef", 0 },
	{ "host:999:0123456789abcdef", 999 },
	{ "9:08:0123456789abcdef", 8 },
};

START_TEST(slot_of_an_id)
{
	ck_assert_uint_eq(heirs_slot(slots[_i].id), slots[_i].slot);
}
END_TEST

/*
 * label_set
 */

START_TEST(set_has_what_was_added)
{
	struct label_set	s = { { 0 } };

	ck_assert(!label_set_has(&s, "07", 2));
	ck_assert(!label_set_has(&s, NULL, 0));
	label_set_add(&s, "07", 2);
	label_set_add(&s, "other", 5);
	ck_assert(label_set_has(&s, "07", 2));
	ck_assert(label_set_has(&s, "07 and more", 2));
	ck_assert(label_set_has(&s, "other", 5));
	ck_assert(!label_set_has(&s, "08", 2));
	ck_assert(!label_set_has(&s, "", 0));
	ck_assert(!label_set_is_full(&s));
	label_set_fill(&s);
	ck_assert(label_set_is_full(&s));
	ck_assert(label_set_has(&s, "08", 2) && label_set_has(&s, "", 0));
}
END_TEST

START_TEST(no_label_is_a_label)
{
	struct label_set	s = { { 0 } };

	label_set_add(&s, "", 0);
	ck_assert(label_set_has(&s, NULL, 0));
	ck_assert(!label_set_has(&s, "00", 2));
}
END_TEST

/* In whatever word of them the label is. */
START_TEST(sets_meet_in_a_label)
{
	struct label_set	some = { { 0 } }, other = { { 0 } };
	char			label[8];

	ck_assert(!label_set_meets(&some, &some));
	for (int i = 0; i < 64; i++) {
		snprintf(label, sizeof(label), "p%02d", i);
		memset(&other, 0, sizeof(other));
		label_set_add(&other, label, strlen(label));
		ck_assert(label_set_meets(&other, &other));
		ck_assert(!label_set_meets(&some, &other) ||
		    label_set_has(&some, label, strlen(label)));
		label_set_add(&some, label, strlen(label));
		ck_assert(label_set_meets(&some, &other));
	}
}
END_TEST

/* Each bit has its place: a label takes one of all, not of some words. */
START_TEST(labels_spread_over_the_set)
{
	struct label_set	s = { { 0 } };
	char			label[8];
	unsigned		bits = 0;

	for (unsigned i = 0; i < 4096; i++) {
		snprintf(label, sizeof(label), "%02u", i);
		label_set_add(&s, label, strlen(label));
	}
	for (unsigned i = 0; i < LABEL_BITS; i++)
		bits += s.bits[i / 64] >> i % 64 & 1;
	ck_assert_uint_ge(bits, LABEL_BITS * 9 / 10);
}
END_TEST

/*
 * board
 */

START_TEST(board_is_read_by_others)
{
	const char	*path = in_dir("board").text;
	struct err	 e = { "" };
	struct board	*ours, *theirs;

	ck_assert_ptr_null(board_open(path, &e));
	holds(e.text, "No such file");
	ck_assert_ptr_nonnull(ours = board_create(path, &e));
	ck_assert_ptr_nonnull(theirs = board_open(path, &e));
	ck_assert(!board_is_alive(theirs));
	ours->master = (int32_t)getpid();
	ours->lines[3].delivered = 7;
	ck_assert(board_is_alive(theirs));
	ck_assert_uint_eq(theirs->lines[3].delivered, 7);
	board_close(theirs);
	ours->magic++;
	ck_assert_ptr_null(board_open(path, &e));
	holds(e.text, "not of this version");
	ours->magic--;
	board_close(ours);
	ck_assert_int_eq(truncate(path, sizeof(struct board) - 1), 0);
	ck_assert_ptr_null(board_open(path, &e));
	holds(e.text, "not of this version");
	remove(path);
}
END_TEST

/*
 * bell
 */

static bool
can_hear(const struct bell *b, unsigned slot)
{
	struct pollfd	p = { bell_fd(b, slot), POLLIN, 0 };

	return poll(&p, 1, 0) == 1;
}

static bool
hears(const struct bell *b, unsigned slot)
{
	struct label_set	which;

	return bell_heard(b, slot, &which);
}

static void
ring_for(const struct bell *b, unsigned slot, const char *label)
{
	struct label_set	which = { { 0 } };

	label_set_add(&which, label, strlen(label));
	bell_ring(b, slot, &which);
}

START_TEST(bell_is_heard_once)
{
	struct bell	b;
	struct err	e;

	ck_assert_int_eq(bell_open(&b, &e), 0);
	ck_assert(!can_hear(&b, 5) && !hears(&b, 5));
	for (int i = 0; i < 3; i++)
		ring_for(&b, 5, "p07");
	ck_assert(can_hear(&b, 5));
	ck_assert(!can_hear(&b, 4) && !hears(&b, 4));
	ck_assert(hears(&b, 5));
	ck_assert(!can_hear(&b, 5) && !hears(&b, 5));
	ring_for(&b, 5, "p07");
	ck_assert(hears(&b, 5));
	bell_close(&b);
}
END_TEST

/* All that was named since it was heard, to whom it was named, and once. */
START_TEST(bell_tells_what_it_rang_for)
{
	struct bell		b;
	struct err		e;
	struct label_set	which;

	ck_assert_int_eq(bell_open(&b, &e), 0);
	ring_for(&b, 5, "p07");
	ring_for(&b, 5, "p33");
	ring_for(&b, 6, "p08");
	ck_assert(bell_heard(&b, 5, &which));
	ck_assert(label_set_has(&which, "p07", 3));
	ck_assert(label_set_has(&which, "p33", 3));
	ck_assert(!label_set_has(&which, "p08", 3));
	ring_for(&b, 5, "p33");
	ck_assert(bell_heard(&b, 5, &which));
	ck_assert(!label_set_has(&which, "p07", 3));
	ck_assert(label_set_has(&which, "p33", 3));
	ck_assert(!bell_heard(&b, 5, &which));
	ck_assert(!label_set_has(&which, "p33", 3));
	bell_close(&b);
}
END_TEST

/* Rung in one process, heard in another; not handed to what is executed. */
START_TEST(bell_is_inherited)
{
	unsigned		last = CONF_MAX_WORKERS - 1;
	struct label_set	which;
	struct bell		b;
	struct err		e;
	int			status;
	pid_t			pid;

	ck_assert_int_eq(bell_open(&b, &e), 0);
	if ((pid = fork()) == 0) {
		ring_for(&b, last, "p07");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(bell_heard(&b, last, &which));
	ck_assert(label_set_has(&which, "p07", 3));
	ck_assert(fcntl(bell_fd(&b, last), F_GETFD) & FD_CLOEXEC);
	bell_close(&b);
}
END_TEST

START_TEST(bell_leaves_nothing_open)
{
	struct rlimit	all, few;
	struct bell	b;
	struct err	e;
	int		before = open("/dev/null", O_RDONLY), after;

	close(before);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = (struct rlimit){ 64, all.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(bell_open(&b, &e), -1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
	ck_assert_str_ne(e.text, "");
	after = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(after, before);
	close(after);
}
END_TEST

/*
 * slot: whom the deaths of its children make suspect
 */

#define EXITED(code)	((code) << 8)

static const struct {
	enum slot_ask	 asked;
	int		 status;	/* of the last of three deaths */
	uint64_t	 handling;	/* by each of the three */
	uint64_t	 before;
	uint64_t	 suspect;	/* and how often */
	unsigned	 deaths;
} strikes[] = {
	{ ASK_NONE, SIGSEGV, 7, 7, 7, 3 },
	{ ASK_NONE, SIGKILL, 7, 7, 7, 3 },
	{ ASK_NONE, EXITED(1), 7, 7, 7, 3 },
	{ ASK_NONE, SIGABRT, 8, 7, 8, 1 },
	{ ASK_NONE, SIGABRT, 7, 8, 7, 1 },
	/* Not while it sent one: the row is over. */
	{ ASK_NONE, SIGABRT, 0, 7, 0, 0 },
	{ ASK_NONE, EXITED(0), 7, 7, 0, 0 },
	{ ASK_LEAVE, SIGKILL, 7, 7, 0, 0 },
	{ ASK_HANDOVER, EXITED(EXIT_HANDED_OVER), 0, 7, 0, 0 },
};

static void
live_and_die(struct slot *s, uint64_t handling, enum slot_ask asked,
    int status)
{
	slot_started(s, 1, 1, 1000);
	s->line->handling = handling;
	s->asked = asked;
	slot_exited(s, status, 1500);
}

START_TEST(deaths_in_a_row_make_a_suspect)
{
	struct board_line	 line = { 0 };
	struct slot		 s;

	slot_init(&s, 0, "worker", &line);
	live_and_die(&s, strikes[_i].handling, ASK_NONE, SIGSEGV);
	live_and_die(&s, strikes[_i].before, ASK_NONE, SIGKILL);
	live_and_die(&s, strikes[_i].handling, strikes[_i].asked,
	    strikes[_i].status);
	ck_assert_uint_eq(s.suspect.sequence, strikes[_i].suspect);
	ck_assert_uint_eq(s.suspect.deaths, strikes[_i].deaths);
}
END_TEST

START_TEST(no_board_no_suspect)
{
	struct slot	s;

	slot_init(&s, 0, "printer", NULL);
	slot_started(&s, 1, 1, 1000);
	slot_exited(&s, SIGSEGV, 1500);
	ck_assert_uint_eq(s.suspect.deaths, 0);
}
END_TEST

START_TEST(who_has_finished_is_not_started_again)
{
	struct slot	s;

	slot_init(&s, 0, "janitor", NULL);
	slot_started(&s, 1, 1, 1000);
	slot_exited(&s, EXITED(EXIT_FINISHED), 1500);
	ck_assert(!slot_is_due(&s, INT64_MAX - 1));
	s.start_at = 0;
	ck_assert(slot_is_due(&s, 1500));
}
END_TEST

/*
 * plain.h
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
	char	text[PLAIN_SIZE + 8];

	memset(text, '#', sizeof(text));
	plain_text(text, plains[_i].bytes.data, plains[_i].bytes.len);
	ck_assert_str_eq(text, plains[_i].text);
	ck_assert_int_eq(text[PLAIN_SIZE], '#');
}
END_TEST

/* 98 bytes are 0x and 196 digits; of 99 there are 97 and a mark. */
START_TEST(many_bytes_are_cut)
{
	char	bytes[99], text[PLAIN_SIZE];

	memset(bytes, 0xff, sizeof(bytes));
	plain_text(text, bytes, 98);
	ck_assert_uint_eq(strlen(text), 198);
	ck_assert_str_eq(text + 190, "ffffffff");
	plain_text(text, bytes, 99);
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

	ck_assert(plain_parse_hex(&b, hexes[_i].text) == (hexes[_i].len >= 0));
	if (hexes[_i].len > 0) {
		ck_assert_uint_eq(b.len, (size_t)hexes[_i].len);
		ck_assert_mem_eq(b.data, hexes[_i].bytes, b.len);
	}
	buf_free(&b);
}
END_TEST

static TCase *
add_case(Suite *s, const char *name)
{
	TCase	*tc = tcase_create(name);

	tcase_add_unchecked_fixture(tc, dir_make, dir_remove);
	suite_add_tcase(s, tc);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("base");
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

	tc = add_case(s, "pace");
	tcase_add_loop_test(tc, pauses_follow_what_was_found, 0,
	    NROWS(paces));
	tcase_add_test(tc, unfinished_look_keeps_the_pause);
	tcase_add_test(tc, dear_look_is_not_repeated_soon);
	tcase_add_test(tc, work_makes_it_linger);
	tcase_add_test(tc, ring_ends_the_pause);
	tcase_add_test(tc, rings_for_work_are_heard_at_once);
	tcase_add_test(tc, ring_makes_no_look_later);
	tcase_add_test(tc, rings_have_their_measure);
	tcase_add_test(tc, narrow_looks_come_between);
	tcase_add_test(tc, narrow_work_asks_for_a_look_at_all);
	tcase_add_test(tc, narrow_look_forgets_nothing_that_is_due);
	tcase_add_test(tc, ring_that_came_too_soon_is_repeated);
	tcase_add_test(tc, ring_for_all_widens_the_look);
	tcase_add_test(tc, ring_for_all_that_came_too_soon_is_repeated);
	tcase_add_test(tc, rings_shift_no_fixed_pause);

	tc = add_case(s, "ident");
	tcase_add_loop_test(tc, id_has_its_form, 0, NROWS(names));
	tcase_add_test(tc, id_is_new_each_time);
	tcase_add_test(tc, successors_sort_to_the_same_place);
	tcase_add_test(tc, ids_are_compared_as_bytes);
	tcase_add_loop_test(tc, what_is_no_id_is_refused, 0, NROWS(invalid));
	tcase_add_test(tc, longest_id_is_valid);

	tc = add_case(s, "trouble");
	tcase_add_test(tc, trouble_is_logged_at_a_growing_pace);
	tcase_add_test(tc, news_do_not_wait);
	tcase_add_test(tc, news_come_once_a_second);
	tcase_add_test(tc, texts_in_turn_are_no_news);
	tcase_add_test(tc, trouble_is_over_once);

	tc = add_case(s, "link");
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
	tcase_add_loop_test(tc, secret_is_the_first_line, 0, NROWS(secrets));
	tcase_add_test(tc, long_secret_is_not_cut);
	tcase_add_test(tc, secret_that_is_not_there);
	tcase_add_loop_test(tc, secret_of_the_environment, 0, 3);

	tc = add_case(s, "heirs");
	tcase_add_test(tc, heirs_are_read_back);
	tcase_add_test(tc, heirs_are_cut_off);
	tcase_add_test(tc, heirs_have_room);
	tcase_add_loop_test(tc, garbage_is_no_heir, 0, NROWS(files));
	tcase_add_test(tc, heirs_file_that_cannot_be);
	tcase_add_loop_test(tc, slot_of_an_id, 0, NROWS(slots));

	tc = add_case(s, "label_set");
	tcase_add_test(tc, set_has_what_was_added);
	tcase_add_test(tc, no_label_is_a_label);
	tcase_add_test(tc, sets_meet_in_a_label);
	tcase_add_test(tc, labels_spread_over_the_set);

	tc = add_case(s, "board");
	tcase_add_test(tc, board_is_read_by_others);

	tc = add_case(s, "bell");
	tcase_add_test(tc, bell_is_heard_once);
	tcase_add_test(tc, bell_tells_what_it_rang_for);
	tcase_add_test(tc, bell_is_inherited);
	tcase_add_test(tc, bell_leaves_nothing_open);

	tc = add_case(s, "slot");
	tcase_add_loop_test(tc, deaths_in_a_row_make_a_suspect, 0,
	    NROWS(strikes));
	tcase_add_test(tc, no_board_no_suspect);
	tcase_add_test(tc, who_has_finished_is_not_started_again);
	return run_suite(s);
}
