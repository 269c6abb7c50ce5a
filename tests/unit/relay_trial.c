/*
 * relay_trial.c - whose fault a refusal is
 *
 * The rule alone, by tables of what happens in time, and the relay with it.
 */
#include "unit/relay_test.h"

#include "publish/trial.h"
#include "util/clock.h"

#define BLAME	600000

/*
 * What happens, at so many seconds.  Messages are letters, capitals are of
 * another type: m1 refused by its content, 2 size, 3 address; + taken, and
 * another one of 60 bytes, b of 200.  The last one of m tells: o own, a alone,
 * A all.
 */
struct event {
	int	at;
	char	who, what;
	char	say;		/* 0: any */
};

static const struct {
	struct event	events[24];
} stories[] = {
	/* Refused for some seconds while others are taken. */
	{ { { 0, 'm', '1', 'a' }, { 1, 'x', '+', 0 }, { 2, 'm', '1', 'a' },
	    { 3, 'x', '+', 0 }, { 4, 'm', '1', 'a' }, { 5, 'x', '+', 0 },
	    { 6, 'm', '1', 'o' } } },
	/* So it is after an outage, */
	{ { { 0, 'n', '1', 'a' }, { 1, 'k', '1', 'A' }, { 2, 'n', '+', 0 },
	    { 3, 'k', '+', 0 }, { 4, 'm', '1', 'a' }, { 5, 'x', '+', 0 },
	    { 6, 'm', '1', 'a' }, { 8, 'x', '+', 0 }, { 10, 'm', '1', 'o' } } },
	/* and after another one hours later, */
	{ { { 0, 'n', '1', 'a' }, { 1, 'n', '+', 0 }, { 7200, 'k', '1', 'a' },
	    { 7201, 'k', '+', 0 }, { 7202, 'm', '1', 'a' },
	    { 7203, 'x', '+', 0 }, { 7204, 'm', '1', 'a' },
	    { 7206, 'x', '+', 0 }, { 7208, 'm', '1', 'o' } } },
	/* but not if what is refused is taken, time and again. */
	{ { { 0, 'n', '1', 'a' }, { 1, 'n', '+', 0 }, { 2, 'k', '1', 'a' },
	    { 3, 'k', '+', 0 }, { 4, 'm', '1', 'a' }, { 5, 'x', '+', 0 },
	    { 6, 'm', '1', 'a' }, { 8, 'x', '+', 0 }, { 10, 'm', '1', 'a' },
	    { 300, 'm', '1', 'a' }, { 590, 'N', '3', 'a' },
	    { 591, 'N', '+', 0 }, { 600, 'x', '+', 0 }, { 602, 'm', '1', 'a' },
	    { 604, 'm', '1', 'o' } } },
	/* Not of another type, and not by what was sent before it. */
	{ { { 0, 'm', '1', 'a' }, { 1, 'X', '+', 0 }, { 2, 'm', '1', 'A' } } },
	{ { { 9, 'm', '1', 'a' }, { 9, 'x', '-', 0 }, { 10, 'm', '1', 'A' } } },
	/* Alone for a while. */
	{ { { 0, 'm', '1', 'a' }, { 1, 'm', '1', 'A' }, { 4, 'm', '1', 'A' },
	    { 5, 'm', '1', 'o' } } },
	/* All of the type, or of the route, for a while: nobody. */
	{ { { 0, 'm', '1', 'a' }, { 0, 'n', '1', 'A' }, { 2, 'm', '1', 'A' },
	    { 4, 'n', '1', 'A' }, { 6, 'm', '1', 'A' }, { 8, 'm', '1', 'A' } } },
	{ { { 0, 'm', '1', 'a' }, { 0, 'N', '1', 'a' }, { 2, 'm', '1', 'A' },
	    { 6, 'm', '1', 'A' }, { 8, 'm', '1', 'A' }, { 700, 'm', '1', 'o' } } },
	/* Two of a type: each has an end, if the route takes others. */
	{ { { 0, 'm', '1', 'a' }, { 0, 'n', '1', 'A' }, { 2, 'X', '+', 0 },
	    { 300, 'm', '1', 'A' }, { 301, 'n', '1', 'A' },
	    { 400, 'm', '1', 'A' }, { 401, 'n', '1', 'A' },
	    { 599, 'm', '1', 'A' }, { 600, 'm', '1', 'o' },
	    { 601, 'n', '1', 'o' } } },
	/* But not if the route takes nothing. */
	{ { { 0, 'm', '1', 'a' }, { 0, 'n', '1', 'A' }, { 300, 'm', '1', 'A' },
	    { 301, 'n', '1', 'A' }, { 400, 'm', '1', 'A' },
	    { 600, 'm', '1', 'A' }, { 610, 'n', '1', 'A' },
	    { 620, 'm', '1', 'A' } } },
	/* One after the other, as it does with a few messages an hour. */
	{ { { 0, 'm', '1', 'a' }, { 3, 'm', '1', 'A' }, { 7, 'm', '1', 'o' },
	    { 10, 'n', '1', 'A' }, { 13, 'n', '1', 'A' }, { 17, 'n', '1', 'A' },
	    { 60, 'n', '1', 'A' } } },
	/* A limit has to last. */
	{ { { 0, 'm', '2', 'a' }, { 1, 'x', '+', 0 }, { 2, 'm', '2', 'a' },
	    { 599, 'm', '2', 'a' }, { 600, 'm', '2', 'o' },
	    { 700, 'n', '2', 'o' } } },
	{ { { 0, 'm', '2', 'a' }, { 300, 'b', '+', 0 }, { 301, 'm', '2', 'a' },
	    { 601, 'm', '2', 'a' }, { 899, 'm', '2', 'a' },
	    { 900, 'm', '2', 'o' } } },
	/* It is none, if a longer one is taken each time. */
	{ { { 0, 'm', '2', 'a' }, { 100, 'b', '+', 0 }, { 200, 'm', '2', 'a' },
	    { 300, 'b', '+', 0 }, { 400, 'm', '2', 'a' },
	    { 500, 'b', '+', 0 }, { 599, 'm', '2', 'a' },
	    { 599, 'b', '+', 0 }, { 600, 'm', '2', 'o' } } },
	{ { { 0, 'm', '2', 'a' }, { 1, 'b', '+', 0 }, { 2, 'm', '2', 'a' },
	    { 3, 'm', '2', 'a' }, { 500, 'b', '+', 0 }, { 501, 'm', '2', 'a' },
	    { 601, 'm', '2', 'a' }, { 602, 'x', '+', 0 },
	    { 603, 'm', '2', 'a' } } },
	/* Nor is a time in which the answers were of another kind. */
	{ { { 0, 'm', '3', 'a' }, { 600, 'm', '2', 'a' }, { 601, 'm', '2', 'A' },
	    { 1199, 'm', '2', 'A' }, { 1200, 'm', '2', 'o' } } },
	/* An address, if it alone is refused while its route takes others. */
	{ { { 0, 'm', '3', 'a' }, { 1, 'm', '3', 'A' }, { 2, 'm', '3', 'A' },
	    { 598, 'm', '3', 'A' }, { 599, 'X', '+', 0 },
	    { 600, 'm', '3', 'o' } } },
	{ { { 0, 'm', '3', 'a' }, { 1, 'x', '+', 0 }, { 2, 'm', '3', 'a' },
	    { 3, 'm', '3', 'a' }, { 598, 'm', '3', 'a' },
	    { 599, 'x', '+', 0 }, { 600, 'm', '3', 'o' } } },
	/* Not if the route has closed, or takes nothing. */
	{ { { 0, 'm', '3', 'a' }, { 1, 'X', '+', 0 }, { 2, 'm', '3', 'A' },
	    { 3, 'N', '3', 'a' }, { 599, 'm', '3', 'A' },
	    { 600, 'm', '3', 'A' }, { 700, 'm', '3', 'A' } } },
	{ { { 0, 'm', '3', 'a' }, { 1, 'm', '3', 'A' }, { 2, 'm', '3', 'A' },
	    { 600, 'm', '3', 'A' }, { 6000, 'm', '3', 'A' } } },
	/* Two of a type, probed in turn: each has an end at its time. */
	{ { { 0, 'm', '3', 'a' }, { 1, 'n', '3', 'A' }, { 2, 'm', '3', 'A' },
	    { 598, 'n', '3', 'A' }, { 598, 'm', '3', 'A' },
	    { 599, 'X', '+', 0 }, { 600, 'm', '3', 'o' },
	    { 600, 'n', '3', 'A' }, { 601, 'X', '+', 0 },
	    { 602, 'n', '3', 'o' } } },
	/* Once, and once again much later, is not for all that time. */
	{ { { 0, 'm', '3', 'a' }, { 599, 'X', '+', 0 }, { 600, 'm', '3', 'A' },
	    { 601, 'X', '+', 0 }, { 602, 'm', '3', 'A' },
	    { 603, 'X', '+', 0 }, { 604, 'm', '3', 'o' } } },
	/* It was taken, and is a new one then. */
	{ { { 0, 'm', '1', 'a' }, { 1, 'x', '+', 0 }, { 9, 'm', '+', 0 },
	    { 10, 'm', '1', 'a' } } },
};

static void
happens(struct trial *t, const struct event *e, int64_t start)
{
	bool		other = e->who < 'a';
	int64_t		now = start + e->at * 1000;
	uint64_t	group = other ? 2 : 1;
	enum trial_say	say;

	if (e->what == '+' || e->what == '-') {
		/* Sent just now, or a second ago. */
		trial_route_took(t, 0, now);
		trial_took(t, group, (uint64_t)e->who, e->who == 'b' ? 200 : 60,
		    e->what == '+' ? now : now - 1000);
		return;
	}
	say = trial_refused(t, &(struct trial_case){ .sequence =
	    (uint64_t)e->who, .group = group, .verdict = VERDICT_MESSAGE +
	    (enum verdict)(e->what - '1'), .size = 100, .sent_at = now }, now);
	ck_assert_msg(e->say == 0 || "oaA"[say] == e->say,
	    "story %d, %d s: %c, not %c", e->at, e->at, "oaA"[say], e->say);
}

START_TEST(rule_is_kept)
{
	static struct trial	t;

	/* Also on a host that has just booted. */
	for (int64_t start = 1000; start <= START_MS; start += START_MS - 1000) {
		t = (struct trial){ .blame_after = BLAME };
		for (const struct event *e = stories[_i].events; e->who != 0;
		    e++)
			happens(&t, e, start);
	}
}
END_TEST

/* A flood of refusals has no place for all, and blames nobody. */
START_TEST(flood_accuses_nobody)
{
	static struct trial	t;

	t = (struct trial){ .blame_after = BLAME };
	for (int at = 0; at < 30; at++)
		for (unsigned i = 1; i < 4 * TRIAL_MAX; i++)
			ck_assert_int_ne(trial_refused(&t, &(struct trial_case){
			    .sequence = i, .group = 1, .verdict =
			    VERDICT_MESSAGE }, START_MS + at * 60000),
			    TRIAL_OWN);
	ck_assert_uint_eq(t.n, TRIAL_MAX);
}
END_TEST

/*
 * Groups that are refused as a whole, one after the other or in turn, leave
 * places: one of another group has its end, and a flood's own is never dead.
 */
static enum trial_say
refused_at(struct trial *t, uint64_t sequence, uint64_t group,
    enum verdict verdict, int64_t now)
{
	return trial_refused(t, &(struct trial_case){ .sequence = sequence,
	    .group = group, .verdict = verdict, .size = 100, .sent_at = now },
	    now);
}

static const struct {
	unsigned	groups, each;
	bool		in_turn;
} floods[] = {
	{ 1, 300, false }, { 1, TRIAL_MAX, false }, { 1, 5000, false },
	{ 2, 300, false }, { 2, 300, true }, { 9, 300, false },
	{ 20, 100, true }, { 20, 100, false },
};

static void
flood(struct trial *t, unsigned groups, unsigned each, bool in_turn,
    int64_t now)
{
	for (unsigned k = 0; k < groups * each; k++)
		ck_assert_int_ne(refused_at(t, 1000 + k, 10 + (in_turn ?
		    k % groups : k / each), VERDICT_ADDRESS, now), TRIAL_OWN);
}

START_TEST(flood_leaves_places_to_others)
{
	static struct trial	t;
	unsigned		groups = floods[_i].groups;
	unsigned		each = floods[_i].each;
	bool			in_turn = floods[_i].in_turn;
	int64_t			now = START_MS;

	t = (struct trial){ .blame_after = BLAME };
	flood(&t, groups, each, in_turn, now);
	ck_assert_int_eq(refused_at(&t, 1, 2, VERDICT_MESSAGE, now),
	    TRIAL_ALONE);
	ck_assert_int_eq(refused_at(&t, 2, 3, VERDICT_TOO_LARGE, now), TRIAL_ALONE);
	now += 60000;
	flood(&t, groups, each, in_turn, now);
	trial_took(&t, 2, 9, 60, now);
	ck_assert_int_ne(refused_at(&t, 1, 2, VERDICT_MESSAGE, now + 1000),
	    TRIAL_OWN);
	trial_took(&t, 2, 9, 60, now + 2000);
	ck_assert_int_eq(refused_at(&t, 1, 2, VERDICT_MESSAGE, now + 3000),
	    TRIAL_OWN);
	ck_assert_int_ne(refused_at(&t, 2, 3, VERDICT_TOO_LARGE, now), TRIAL_OWN);
	now += BLAME - 60000;
	flood(&t, groups, each, in_turn, now);
	ck_assert_int_eq(refused_at(&t, 2, 3, VERDICT_TOO_LARGE, now), TRIAL_OWN);
	ck_assert_uint_le(t.n, TRIAL_MAX);
}
END_TEST

/* Sizes that have no place are judged by those of their group that have. */
START_TEST(size_without_a_place_has_an_end)
{
	static struct trial	t;
	enum trial_say		say = TRIAL_ALL;

	t = (struct trial){ .blame_after = BLAME };
	for (int64_t at = 0; at <= BLAME; at += BLAME / 4)
		for (unsigned i = 0; i < TRIAL_MAX; i++) {
			say = refused_at(&t, i, 1, VERDICT_TOO_LARGE, START_MS + at);
			ck_assert_int_eq(say == TRIAL_OWN, at == BLAME);
		}
	/* But not one that is shorter than all of them. */
	ck_assert_int_ne(trial_refused(&t, &(struct trial_case){ .sequence =
	    9999, .group = 1, .verdict = VERDICT_TOO_LARGE, .size = 99 },
	    START_MS + BLAME), TRIAL_OWN);
}
END_TEST

/* Who got no answer is no accused: neither others nor itself count it. */
START_TEST(silence_accuses_nobody)
{
	static struct trial	t;
	int64_t			now = START_MS;

	t = (struct trial){ .blame_after = BLAME };
	ck_assert(!trial_unanswered(&t, &(struct trial_case){ .sequence = 1,
	    .group = 1 }, now));
	ck_assert_int_eq(refused_at(&t, 2, 1, VERDICT_MESSAGE, now),
	    TRIAL_ALONE);
	trial_took(&t, 1, 9, 60, now + 1);
	ck_assert_int_eq(refused_at(&t, 1, 1, VERDICT_MESSAGE, now + 2),
	    TRIAL_ALONE);
}
END_TEST

/*
 * In an outage many of many types get no answer: they leave their places to
 * those of a type whose endpoint refuses all, and take none of these back.
 */
START_TEST(silences_leave_places_to_refusals)
{
	static struct trial	t;
	struct trial_case	silent = { 0 };

	t = (struct trial){ .blame_after = BLAME };
	for (unsigned i = 0; i < TRIAL_MAX; i++) {
		silent.sequence = 1000 + i;
		silent.group = 1000 + i / 2;
		ck_assert(!trial_unanswered(&t, &silent, START_MS));
	}
	for (int at = 0; at < 60; at += 5)
		for (uint64_t i = 1; i <= TRIAL_MAX; i++)
			ck_assert_int_ne(refused_at(&t, i, 1, VERDICT_MESSAGE,
			    START_MS + at * 1000), TRIAL_OWN);
	ck_assert(!trial_unanswered(&t, &silent, START_MS));
	for (size_t i = 0; i < TRIAL_MAX; i++)
		ck_assert_uint_eq(t.accused[i].c.group, 1);
}
END_TEST

/* However long nobody gets an answer; but if others are taken meanwhile. */
START_TEST(silence_of_all_is_nobodys_fault)
{
	static struct trial	t;
	struct trial_case	c = { .sequence = 1, .group = 1 };
	int64_t			now = START_MS;

	t = (struct trial){ .blame_after = BLAME };
	for (int i = 0; i < 20; i++, now += 20000) {
		ck_assert(!trial_unanswered(&t, &c, now));
		ck_assert(!trial_goes_on(&t, 1, now));
	}
	for (int i = 0; i < 20; i++, now += 20000) {
		trial_route_took(&t, 0, now - 1);
		ck_assert(trial_unanswered(&t, &c, now));
		ck_assert_int_eq(trial_goes_on(&t, 1, now), i >= 3);
	}
}
END_TEST

START_TEST(burst_is_held)
{
	static struct trial	t;
	int64_t			now = START_MS;

	t = (struct trial){ .blame_after = BLAME };
	for (int i = 0; i < 3; i++)
		ck_assert(trial_may_bury(&t, 7, 3, 60000, now));
	ck_assert(!trial_may_bury(&t, 7, 3, 60000, now));
	/* Another cause, and no limit. */
	ck_assert(trial_may_bury(&t, 8, 3, 60000, now));
	ck_assert(trial_may_bury(&t, 7, 0, 60000, now));
	/* As long as there are more. */
	for (int i = 0; i < 10; i++) {
		now += 50000;
		ck_assert(!trial_may_bury(&t, 7, 3, 60000, now));
	}
	now += 60000;
	ck_assert(trial_may_bury(&t, 7, 3, 60000, now));
	/* Ten spread over a day are no burst. */
	for (int i = 0; i < 10; i++) {
		now += 60000;
		ck_assert(trial_may_bury(&t, 7, 1, 60000, now));
	}
	for (uint64_t i = 100; i < 1000; i++)
		ck_assert(trial_may_bury(&t, i, 1, 60000, now + (int64_t)i));
}
END_TEST

/* Refused for some seconds while others are taken: its lane goes on. */
START_TEST(message_at_fault_is_dead_soon)
{
	for (int64_t wait = 1000; wait <= 4000; wait *= 2) {
		next_script("aab", "MAA");
		publish_as("FUD");
		ck_assert_int_eq(msgs[0].delay_ms, wait);
		ck_assert_int_eq(msgs[0].hold_ms, wait);
		now_ms += wait / 2;
		next_script("Abb", "AAA");
		publish_as("UDD");
		now_ms += wait / 2;
	}
	next_script("aab", "MAA");
	publish_as("XDD");
	ck_assert_str_eq(msgs[0].reason, "message");
	ck_assert(!res.down);
	ck_assert_uint_eq(relay.breaker.n, 0);
}
END_TEST

/*
 * Alone of its type it has an end, by any answer, and its key goes on; by one
 * that may be about the destination only if that takes others.
 */
static const struct {
	const char	*acts, *types;
	int		 from, to;	/* s; 0: never */
} alone[] = {
	{ "M", "x", 5, 20 }, { "MA", "xy", 5, 20 }, { "MA", "xx", 5, 20 },
	{ "B", "x", 600, 660 }, { "BA", "xy", 600, 660 },
	{ "BA", "xx", 600, 660 },
	{ "CA", "xy", 600, 660 }, { "CA", "xx", 600, 660 },
	{ "C", "x", 0, 0 }, { "CC", "xy", 0, 0 },
};

START_TEST(message_alone_has_an_end)
{
	int64_t	start = now_ms, s = 0;

	do {
		next_script(alone[_i].acts[1] == '\0' ? "a" : "ab",
		    alone[_i].acts);
		types(alone[_i].types);
		publish();
		s = (now_ms - start) / 1000;
		now_ms += 1000;
	} while (msgs[0].outcome != OUT_DEAD && s < 2000);
	ck_assert_int_eq(msgs[0].outcome == OUT_DEAD, alone[_i].to != 0);
	if (alone[_i].to == 0)
		return;
	ck_assert_int_ge(s, alone[_i].from);
	ck_assert_int_le(s, alone[_i].to);
	ck_assert_str_eq(msgs[0].reason, "message");
}
END_TEST

/*
 * Many messages of one type are refused, while the route takes others.  Each
 * has its end in time, if they are not so many that it must be the type.  They
 * come and go as in a worker that looks every 100 ms: those that are held when
 * one is wanted, or all.
 */
#define CROWD		12
#define LOOK_MS		100

static const struct {
	int	n;
	char	act;
	int	from, to;	/* ms; 0: never */
	int	every;		/* ms from one to the next; 0: all at once */
} crowds[] = {
	{ 2, 'C', 8000, 12000, 0 }, { 5, 'C', 8000, 12000, 0 },
	{ 10, 'C', 8000, 14000, 0 }, { 11, 'C', 0, 0, 0 },
	{ 12, 'C', 0, 0, 0 }, { 5, 'M', 8000, 12000, 0 },
	{ 10, 'M', 8000, 14000, 0 }, { 5, 'B', 8000, 12000, 0 },
	{ 10, 'B', 8000, 14000, 0 }, { 10, 'C', 8000, 22000, 1000 },
	{ 10, 'M', 8000, 22000, 1000 },
};

struct one {
	int64_t	due;
	bool	held, dead;
};

/* What is offered now, and not only because it is due. */
static void
offer_held(struct one *crowd, int n)
{
	uint64_t	 groups[TYPE_BREAKER_MAX];
	struct one	*first = NULL;
	bool		 all;

	for (int i = 0; i < n; i++)
		if (!crowd[i].dead && crowd[i].held && (first == NULL ||
		    crowd[i].due < first->due))
			first = &crowd[i];
	if (type_breaker_wanted(&relay.breaker, 0, now_ms, groups) > 0 &&
	    first != NULL)
		first->due = sooner(first->due, now_ms);
	all = relay.breaker.released;
	relay.breaker.released = false;
	for (int i = 0; all && i < n; i++)
		if (crowd[i].held)
			crowd[i].due = sooner(crowd[i].due, now_ms);
}

/* One batch: those that are due, and another one of another type. */
static void
publish_due(struct one *crowd, int n, char act)
{
	static char	keys[CROWD + 2], acts[CROWD + 2], kinds[CROWD + 2];
	int		who[CROWD], m = 0;

	memset(keys, 0, sizeof(keys));
	memset(acts, 0, sizeof(acts));
	memset(kinds, 0, sizeof(kinds));
	for (int i = 0; i < n; i++)
		if (!crowd[i].dead && crowd[i].due <= now_ms)
			who[m++] = i;
	memset(keys, '-', (size_t)m + 1);
	memset(acts, act, (size_t)m);
	acts[m] = 'A';
	memset(kinds, 'x', (size_t)m);
	kinds[m] = 'y';
	next_script(keys, acts);
	types(kinds);
	for (int i = 0; i < m; i++)
		msgs[i].sequence = 100 + (uint64_t)who[i];
	msgs[m].sequence = 1000 + (uint64_t)now_ms;
	publish();
	ck_assert_uint_eq(res.delivered, 1);
	for (int i = 0; i < m; i++) {
		struct one *c = &crowd[who[i]];

		c->dead = msgs[i].outcome == OUT_DEAD;
		c->held = msgs[i].hold_ms > 0;
		c->due = now_ms + (msgs[i].hold_ms > 0 ? msgs[i].hold_ms :
		    msgs[i].delay_ms);
	}
}

START_TEST(each_of_many_has_an_end)
{
	struct one	crowd[CROWD] = { 0 };
	int64_t		start = now_ms, at = 0;
	int		n = crowds[_i].n, dead = 0;

	conf->retry.blame_after = 8000;
	for (int i = 0; i < n; i++)
		crowd[i].due = start + i * crowds[_i].every;
	while (dead < n && at < 60000) {
		offer_held(crowd, n);
		publish_due(crowd, n, crowds[_i].act);
		at = now_ms - start;
		dead = 0;
		for (int i = 0; i < n; i++)
			dead += crowd[i].dead;
		ck_assert(dead == 0 || (crowds[_i].to != 0 &&
		    at >= crowds[_i].from));
		now_ms += LOOK_MS;
	}
	ck_assert_int_eq(dead, crowds[_i].to == 0 ? 0 : n);
	if (dead > 0)
		ck_assert_int_le(at, crowds[_i].to);
}
END_TEST

/* All are refused for seconds, by any answer: nobody is dead. */
static const char	refusals[] = "MBC";

START_TEST(refusal_of_all_kills_nobody)
{
	char	acts[9] = "";

	memset(acts, refusals[_i], 8);
	for (int round = 0; round < 20; round++) {
		next_script("abcdefgh", acts);
		types(round % 2 == 0 ? "xxxxyyyy" : "yyyyxxxx");
		publish();
		for (size_t i = 0; i < batch.n; i++)
			ck_assert_int_eq(msgs[i].outcome, OUT_DEFER);
		now_ms += 2000;
	}
	next_script("abcdefgh", "AAAAAAAA");
	types("xxxxyyyy");
	publish();
	ck_assert_uint_eq(res.delivered, 8);
}
END_TEST

/* A route that takes nothing kills nobody, and is tried with one. */
START_TEST(failing_route_kills_nobody)
{
	script("abcdefgh", "TTTTTTTT");
	for (size_t i = 0; i < batch.n; i++)
		msgs[i].attempts = 30;
	publish_as("RRRRRRRR");
	for (size_t i = 0; i < batch.n; i++)
		ck_assert_int_eq(msgs[i].delay_ms, conf->retry.max_backoff);
	next_script("abcdefgh", "TTTTTTTT");
	publish_as("FFFFFFFF");
	expect_sent("");
	now_ms += 2500;
	next_script("abcdefgh", "TTTTTTTT");
	msgs[0].attempts = 30;
	publish_as("RFFFFFFF");
	expect_sent("0");
	ck_assert(!res.down);
	/* It works again: the one that fails on is dead. */
	now_ms += 2500;
	next_script("abcdefgh", "AAAAAAAA");
	publish_as("DDDDDDDD");
	next_script("abcdefgh", "TAAAAAAA");
	msgs[0].attempts = 30;
	publish_as("XDDDDDDD");
}
END_TEST

/* A single one uses its attempts, whatever else there is. */
START_TEST(single_failure_does_not_pause)
{
	for (unsigned i = 0; i < 40; i++) {
		next_script("a", "T");
		msgs[0].attempts = i;
		publish_as("R");
		ck_assert(!res.down);
		now_ms += 300000;
	}
}
END_TEST

START_TEST(burst_of_the_dead_is_held)
{
	conf->retry.burst = 2;
	script("abcde", "TTTTA");
	for (size_t i = 0; i < 4; i++)
		msgs[i].attempts = 24;
	publish_as("XXRRD");
	holds(msgs[2].error, "held: more than 2 of its type");
	ck_assert_int_eq(msgs[2].delay_ms, conf->retry.max_backoff);
}
END_TEST

/* Each of several workers has a share, and one at least. */
static const struct {
	unsigned	 workers;
	int		 burst;
	const char	*outcomes;
} shares[] = {
	{ 0, 2, "XXRRD" }, { 1, 3, "XXXRD" }, { 2, 4, "XXRRD" },
	{ 2, 5, "XXRRD" }, { 4, 4, "XRRRD" }, { 9, 4, "XRRRD" },
	{ 9, 0, "XXXXD" },
};

START_TEST(burst_is_of_all_workers)
{
	conf->retry.burst = shares[_i].burst;
	relay.nworkers = shares[_i].workers;
	script("abcde", "TTTTA");
	for (size_t i = 0; i < 4; i++)
		msgs[i].attempts = 24;
	publish_as(shares[_i].outcomes);
}
END_TEST

/* Also of what cannot be sent, as after a reload with another template. */
static const char	unfit[] = "Rbohlm";

START_TEST(burst_of_the_unsent_is_held)
{
	char	acts[] = "????A";

	memset(acts, unfit[_i], 4);
	conf->retry.burst = 2;
	script("abccd", acts);
	publish_as("XXRUD");
	holds(msgs[2].error, "held: more than 2 of its type");
	ck_assert_int_eq(msgs[2].delay_ms, conf->retry.max_backoff);
	ck_assert_uint_eq(res.failed, 3);
	ck_assert_uint_eq(relay.breaker.n, 0);
}
END_TEST

void
add_trials(TCase *tc)
{
	tcase_add_loop_test(tc, rule_is_kept, 0, NROWS(stories));
	tcase_add_test(tc, flood_accuses_nobody);
	tcase_add_loop_test(tc, flood_leaves_places_to_others, 0,
	    NROWS(floods));
	tcase_add_test(tc, size_without_a_place_has_an_end);
	tcase_add_test(tc, silence_accuses_nobody);
	tcase_add_test(tc, silences_leave_places_to_refusals);
	tcase_add_test(tc, silence_of_all_is_nobodys_fault);
	tcase_add_test(tc, burst_is_held);
	tcase_add_test(tc, message_at_fault_is_dead_soon);
	tcase_add_loop_test(tc, message_alone_has_an_end, 0, NROWS(alone));
	tcase_add_loop_test(tc, each_of_many_has_an_end, 0, NROWS(crowds));
	tcase_add_loop_test(tc, refusal_of_all_kills_nobody, 0,
	    sizeof(refusals) - 1);
	tcase_add_test(tc, failing_route_kills_nobody);
	tcase_add_test(tc, single_failure_does_not_pause);
	tcase_add_test(tc, burst_of_the_dead_is_held);
	tcase_add_loop_test(tc, burst_is_of_all_workers, 0, NROWS(shares));
	tcase_add_loop_test(tc, burst_of_the_unsent_is_held, 0,
	    sizeof(unfit) - 1);
}
