/* trial.c - see trial.h */

#include "publish/trial.h"

#include <string.h>

#include "util/clock.h"

/* If nobody else is refused, a part of blame_after will do. */
#define SOON_PART	120
#define SOON_TIMES	3	/* refusals */
#define LONG_TIMES	2	/* and probes of its group: */
#define LONG_PROBES	4

/* A refusal counts for blame_after, but so long at least: probes take turns. */
#define OPEN_MS		60000

/* The longest wait between two tries is a part of blame_after. */
#define WAIT_MS		1000
#define WAIT_PART	10

static struct accused *
find_accused(const struct trial *t, uint64_t sequence)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->accused[i].sequence == sequence)
			return (struct accused *)&t->accused[i];
	return NULL;
}

static void
forget_old(struct trial *t, int64_t before)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->accused[i].last < before)
			t->accused[i] = t->accused[--t->n];
}

static size_t
count_group(const struct trial *t, uint64_t group)
{
	size_t	n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->accused[i].group == group;
	return n;
}

/*
 * All places are taken, perhaps by the flood of an outage: a group that has
 * less than its share gets that of the last one of the largest group.
 */
static struct accused *
take_place(struct trial *t, uint64_t group)
{
	struct accused	*from = NULL;
	size_t		 most = count_group(t, group) + 1, n;

	if (most > TRIAL_SHARE)
		return NULL;
	for (size_t i = 0; i < t->n; i++) {
		n = count_group(t, t->accused[i].group);
		if (n < most || (n == most && (from == NULL ||
		    t->accused[i].first < from->first)))
			continue;
		from = &t->accused[i];
		most = n;
	}
	return from;
}

/* NULL: no place is left for it. */
static struct accused *
add_accused(struct trial *t, const struct accused *new, int64_t blame_after)
{
	struct accused	*a;

	if (t->n == TRIAL_MAX)
		forget_old(t, new->first - blame_after);
	a = t->n < TRIAL_MAX ? &t->accused[t->n++] : take_place(t, new->group);
	if (a != NULL)
		*a = *new;
	return a;
}

/* Refused, and nothing that was sent after it was taken: it accuses all. */
static bool
is_open(const struct accused *a, int64_t now, int64_t blame_after)
{
	return !a->apart && now - a->last < later(blame_after, OPEN_MS);
}

/* How many others of its group tell that it is not its own fault. */
static size_t
count_others(const struct trial *t, const struct accused *a, int64_t now,
    int64_t blame_after)
{
	size_t	n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += &t->accused[i] != a && t->accused[i].group == a->group &&
		    is_open(&t->accused[i], now, blame_after);
	return n;
}

/* Its destination refuses others, too, and has taken nothing meanwhile. */
static bool
is_closed(const struct trial *t, const struct accused *a, int64_t now,
    int64_t blame_after)
{
	if (t->routes[a->destination].taken_at > a->first)
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (&t->accused[i] != a &&
		    t->accused[i].destination == a->destination &&
		    is_open(&t->accused[i], now, blame_after))
			return true;
	return false;
}

/*
 * For blame_after.  The probes of its group are counted, for they come one at a
 * time: if each of many needed some of its own, they would wait for each other.
 */
static bool
is_refused_long(const struct accused *a, int64_t now, int64_t blame_after)
{
	return a->times >= LONG_TIMES && a->probes >= LONG_PROBES &&
	    now - a->first >= blame_after;
}

static bool
is_own_content(const struct trial *t, const struct accused *a, bool between,
    int64_t now, int64_t blame_after)
{
	int64_t	lasts = now - a->first;
	size_t	others = count_others(t, a, now, blame_after);

	if (between)
		return true;
	if (is_closed(t, a, now, blame_after))
		return false;
	if (others == 0 && a->times >= SOON_TIMES &&
	    lasts >= blame_after / SOON_PART)
		return true;
	return others < TRIAL_MANY && is_refused_long(a, now, blame_after);
}

/* Also if it held for another one, not longer, which may be dead by now. */
static bool
is_own_size(const struct trial *t, const struct accused *a, int64_t now,
    int64_t blame_after)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct accused *w = &t->accused[i];

		if (w->group == a->group && w->kind == TRIAL_SIZE &&
		    w->size <= a->size && now - w->held_since >= blame_after)
			return true;
	}
	return false;
}

/* Longer ones are taken all the time: it is refused for another reason. */
static bool
is_no_size(const struct accused *a, const struct accused *before, int64_t now,
    int64_t blame_after)
{
	return before->longer && is_refused_long(a, now, blame_after);
}

/*
 * Its destination has taken one, of any type, since the try before: what it
 * took long ago tells nothing of an endpoint that is away now.
 */
static bool
is_own_address(const struct trial *t, const struct accused *a,
    const struct accused *before, int64_t now, int64_t blame_after)
{
	return t->routes[a->destination].taken_at >= before->sent_at &&
	    is_refused_long(a, now, blame_after) &&
	    count_others(t, a, now, blame_after) < TRIAL_MANY;
}

/* before: what was known until this refusal */
static bool
is_own(const struct trial *t, const struct accused *a,
    const struct accused *before, int64_t now, int64_t blame_after)
{
	switch (a->kind) {
	case TRIAL_SIZE:
		return is_own_size(t, a, now, blame_after) ||
		    is_no_size(a, before, now, blame_after);
	case TRIAL_ADDRESS:
		return is_own_address(t, a, before, now, blame_after);
	default:
		/* By a batch before this one, so that it was sent after it. */
		return is_own_content(t, a, before->times > 0 &&
		    before->taken_at > before->last, now, blame_after);
	}
}

/* Those of one batch are one: sent before the first of them was refused. */
static void
count_probe(struct trial *t, const struct trial_case *c)
{
	for (size_t i = 0; i < t->n; i++)
		t->accused[i].probes += t->accused[i].group == c->group &&
		    c->sent_at > t->accused[i].last;
}

enum trial_say
trial_refused(struct trial *t, const struct trial_case *c, int64_t now)
{
	struct accused	*a = find_accused(t, c->sequence);
	struct accused	 before = { .sequence = c->sequence, .group = c->group,
			    .destination = c->destination, .size = c->size,
			    .first = now };

	if (a == NULL && (a = add_accused(t, &before, c->blame_after)) == NULL)
		return c->kind == TRIAL_SIZE && is_own_size(t, &before, now,
		    c->blame_after) ? TRIAL_OWN : TRIAL_ALL;
	before = *a;
	count_probe(t, c);
	if (a->times == 0 || a->kind != TRIAL_SIZE)
		a->held_since = now;
	a->longer = false;
	a->kind = c->kind;
	a->size = c->size;
	a->last = now;
	a->sent_at = c->sent_at;
	a->times++;
	if (is_own(t, a, &before, now, c->blame_after))
		return TRIAL_OWN;
	if (count_others(t, a, now, c->blame_after) > 0)
		return TRIAL_ALL;
	return a->apart || a->times == 1 ? TRIAL_ALONE : TRIAL_ALL;
}

unsigned
trial_turns(const struct trial *t, uint64_t sequence, int64_t blame_after,
    int64_t now)
{
	const struct accused	*a = find_accused(t, sequence);
	size_t			 others = a == NULL ? 0 :
				     count_others(t, a, now, blame_after);

	return others < TRIAL_MANY ? (unsigned)others + 1 : 1;
}

int64_t
trial_wait(const struct trial *t, uint64_t sequence, int64_t blame_after)
{
	const struct accused	*a = find_accused(t, sequence);
	int64_t			 longest = later(blame_after / WAIT_PART, 1);
	int64_t			 ms = WAIT_MS;

	for (unsigned k = 1; a != NULL && k < a->times && ms < longest; k++)
		ms *= 2;
	return sooner(ms, longest);
}

void
trial_route_took(struct trial *t, unsigned destination, int64_t now)
{
	t->routes[destination].taken_at = now;
	t->routes[destination].nfailed = 0;
	t->routes[destination].differ = false;
}

void
trial_took(struct trial *t, uint64_t group, uint64_t sequence, size_t size,
    int64_t sent_at, int64_t now)
{
	for (size_t i = t->n; i-- > 0;) {
		struct accused *a = &t->accused[i];

		if (a->group != group)
			continue;
		if (a->sequence == sequence) {
			*a = t->accused[--t->n];
			continue;
		}
		a->apart = a->apart || sent_at >= a->sent_at;
		if (sent_at > a->last)
			a->taken_at = now;
		a->longer |= size >= a->size && sent_at >= a->sent_at;
		/* The limit is not there, or not any more. */
		if (size >= a->size && sent_at > a->held_since)
			a->held_since = now;
	}
}

bool
trial_failed(struct trial *t, unsigned destination, uint64_t sequence)
{
	t->routes[destination].differ |=
	    t->routes[destination].nfailed > 0 &&
	    t->routes[destination].failed != sequence;
	t->routes[destination].failed = sequence;
	return ++t->routes[destination].nfailed >= TRIAL_FAILURES &&
	    t->routes[destination].differ;
}

bool
trial_took_since(const struct trial *t, unsigned destination, int64_t since)
{
	return t->routes[destination].taken_at != 0 &&
	    t->routes[destination].taken_at >= since;
}

/* The place of this cause, or the one that is oldest. */
static size_t
place_of_cause(const struct trial *t, uint64_t cause)
{
	size_t	oldest = 0;

	for (size_t i = 0; i < TRIAL_CAUSES; i++) {
		if (t->causes[i].cause == cause)
			return i;
		if (t->causes[i].since < t->causes[oldest].since)
			oldest = i;
	}
	return oldest;
}

bool
trial_may_bury(struct trial *t, uint64_t cause, int64_t burst,
    int64_t burst_time, int64_t now)
{
	size_t	i = place_of_cause(t, cause);
	bool	held;

	if (burst == 0)
		return true;
	held = t->causes[i].cause == cause && t->causes[i].held_at != 0 &&
	    now - t->causes[i].held_at < burst_time;
	if (t->causes[i].cause != cause || (!held &&
	    now - t->causes[i].since >= burst_time)) {
		memset(&t->causes[i], 0, sizeof(t->causes[i]));
		t->causes[i].cause = cause;
		t->causes[i].since = now;
	}
	if (!held && ++t->causes[i].n <= burst)
		return true;
	t->causes[i].held_at = now;
	return false;
}
