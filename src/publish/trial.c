/* trial.c - see trial.h */

#include "publish/trial.h"

#include <string.h>

#include "util/clock.h"

/* If others are taken, or nobody else is refused, a part of blame_after does. */
#define SOON_PART	120
#define SOON_TIMES	3	/* refusals */
#define LONG_TIMES	2	/* and probes of its group: */
#define LONG_PROBES	4

/* So many messages of a group that are refused are not to blame. */
#define MANY		10

/* A refusal counts for blame_after, but so long at least: probes take turns. */
#define OPEN_MS		60000

/* Two outages with less than this between them are one fickle route. */
#define RELENTS_MS	600000

/* The longest wait between two tries is a part of blame_after. */
#define WAIT_MS		1000
#define WAIT_PART	10

/* A silence is its own fault so many times, and for a part of blame_after. */
#define SILENCE_TIMES	5
#define SILENCE_PART	10

/* It waits after one. */
#define SILENCE_MS	1000
#define SILENCE_MAX_MS	5000
#define SILENCE_JITTER	0.2

/* Until the next message to a destination that was silent. */
#define SILENT_FLOOR_MS		1000
#define SILENT_CEILING_MS	30000

/* So many failures in a row, and a destination takes nothing. */
#define FAILURES	5

/*
 * Messages
 */

static struct accused *
find_accused(const struct trial *t, uint64_t sequence)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->accused[i].c.sequence == sequence)
			return (struct accused *)&t->accused[i];
	return NULL;
}

static size_t
count_group(const struct trial *t, uint64_t group)
{
	size_t	n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->accused[i].c.group == group;
	return n;
}

/*
 * All places are taken, perhaps by the flood of an outage.  A message that only
 * got no answer accuses nobody and gives up its place first.  A silence takes
 * no other place: of fewer refusals each would seem to be its message's own
 * fault.  For a refusal of a group that has less than its share, the last
 * message of the largest group gives up its place.
 */
static struct accused *
take_place(struct trial *t, uint64_t group, bool refused)
{
	struct accused	*from = NULL;
	size_t		 most = count_group(t, group) + 1, n;

	for (size_t i = 0; i < t->n; i++)
		if (t->accused[i].times == 0 && (from == NULL ||
		    t->accused[i].silent_last < from->silent_last))
			from = &t->accused[i];
	if (from != NULL || !refused || most > TRIAL_SHARE)
		return from;
	for (size_t i = 0; i < t->n; i++) {
		n = count_group(t, t->accused[i].c.group);
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
place_of(struct trial *t, const struct trial_case *c, bool refused,
    int64_t now)
{
	struct accused	*a = find_accused(t, c->sequence);

	if (a != NULL)
		return a;
	for (size_t i = t->n == TRIAL_MAX ? t->n : 0; i-- > 0;)
		if (later(t->accused[i].last, t->accused[i].silent_last) <
		    now - t->blame_after)
			t->accused[i] = t->accused[--t->n];
	a = t->n < TRIAL_MAX ? &t->accused[t->n++] :
	    take_place(t, c->group, refused);
	if (a != NULL)
		*a = (struct accused){ .c = *c, .first = now };
	return a;
}

/* One of its group was taken that was sent after its first refusal. */
static bool
is_apart(const struct accused *a)
{
	return a->took_at > a->first;
}

/* Refused, and nothing that was sent after it was taken: it accuses all. */
static bool
is_open(const struct trial *t, const struct accused *a, int64_t now)
{
	return a->times > 0 && !is_apart(a) &&
	    now - a->last < later(t->blame_after, OPEN_MS);
}

/* How many others of its group tell that it is not its own fault. */
static size_t
count_others(const struct trial *t, const struct accused *a, int64_t now)
{
	size_t	n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += &t->accused[i] != a &&
		    t->accused[i].c.group == a->c.group &&
		    is_open(t, &t->accused[i], now);
	return n;
}

/* Its destination refuses others, too, and has taken nothing meanwhile. */
static bool
is_closed(const struct trial *t, const struct accused *a, int64_t now)
{
	if (t->to[a->c.destination].taken_at > a->first)
		return false;
	for (size_t i = 0; i < t->n; i++)
		if (&t->accused[i] != a &&
		    t->accused[i].c.destination == a->c.destination &&
		    is_open(t, &t->accused[i], now))
			return true;
	return false;
}

/*
 * What its destination refuses it takes the next time, and not only since an
 * outage ended: behind one name are several servers, and some refuse all.
 */
static bool
is_fickle(const struct trial *t, const struct accused *a, int64_t now)
{
	int64_t	at = t->to[a->c.destination].fickle_at;

	return at != 0 && now - at < t->blame_after;
}

static void
note_relenting(struct trial_to *to, const struct accused *a)
{
	int64_t	now = to->taken_at;

	if (to->relents_at != 0 && a->first > to->relents_at &&
	    now - later(to->relents_at, to->fickle_at) < RELENTS_MS)
		to->fickle_at = now;
	/* The clock begins with the host: 0 may be just now. */
	if (to->relents_at == 0 || now - to->relents_at >= RELENTS_MS)
		to->relents_at = now;
}

/*
 * Nothing as long was taken for blame_after: also if that held for another one,
 * not longer, which may be dead by now.
 */
static bool
is_over_limit(const struct trial *t, const struct trial_case *c, int64_t now)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct accused *w = &t->accused[i];

		if (w->times > 0 && w->c.group == c->group &&
		    w->c.verdict == VERDICT_TOO_LARGE &&
		    w->c.size <= c->size && now - later(w->first,
		    w->longer_at) >= t->blame_after)
			return true;
	}
	return false;
}

/* before: what was known until this refusal */
static bool
is_own(const struct trial *t, const struct accused *a,
    const struct accused *before, int64_t now)
{
	int64_t	waited = now - a->first;
	size_t	others = count_others(t, a, now);

	/*
	 * The probes of its group are counted, for they come one at a time: if
	 * each of many needed some of its own, they would wait for each other.
	 */
	bool	refused_long = a->times >= LONG_TIMES &&
		    a->probes >= LONG_PROBES && waited >= t->blame_after;
	bool	soon = a->times >= SOON_TIMES &&
		    waited >= t->blame_after / SOON_PART &&
		    !is_fickle(t, a, now);

	switch (a->c.verdict) {
	case VERDICT_TOO_LARGE:
		/* No limit, if longer ones are taken all the time. */
		return is_over_limit(t, &a->c, now) || (refused_long &&
		    before->longer_at >= before->c.sent_at);
	case VERDICT_ADDRESS:
		/*
		 * Its destination has taken one, of any type, since the try
		 * before: what it took long ago tells nothing of an endpoint
		 * that is away now.
		 */
		return refused_long && others < MANY &&
		    t->to[a->c.destination].taken_at >= before->c.sent_at;
	default:
		/* Another one was taken, and this one was sent after that. */
		if (before->took_at > before->last && soon)
			return true;
		if (is_closed(t, a, now))
			return false;
		return (refused_long && others < MANY) ||
		    (others == 0 && soon);
	}
}

enum trial_say
trial_refused(struct trial *t, const struct trial_case *c, int64_t now)
{
	struct accused	*a = place_of(t, c, true, now), before;

	if (a == NULL)
		return c->verdict == VERDICT_TOO_LARGE &&
		    is_over_limit(t, c, now) ? TRIAL_OWN : TRIAL_ALL;
	/* A size is an accusation of its own. */
	if (a->times > 0 && (a->c.verdict == VERDICT_TOO_LARGE) !=
	    (c->verdict == VERDICT_TOO_LARGE))
		*a = (struct accused){ .c = *c };
	before = *a;
	if (a->times++ == 0)
		a->first = now;
	/* Those of one batch are one: sent before the first was refused. */
	for (size_t i = 0; i < t->n; i++)
		t->accused[i].probes += t->accused[i].c.group == c->group &&
		    t->accused[i].times > 0 && c->sent_at > t->accused[i].last;
	a->c = *c;
	a->last = now;
	if (is_own(t, a, &before, now))
		return TRIAL_OWN;
	if (count_others(t, a, now) > 0)
		return TRIAL_ALL;
	return is_apart(a) || a->times == 1 ? TRIAL_ALONE : TRIAL_ALL;
}

unsigned
trial_turns(const struct trial *t, uint64_t sequence, int64_t now)
{
	const struct accused	*a = find_accused(t, sequence);
	size_t			 others = a == NULL || a->times == 0 ? 0 :
				     count_others(t, a, now);

	return others < MANY ? (unsigned)others + 1 : 1;
}

int64_t
trial_wait(const struct trial *t, uint64_t sequence)
{
	const struct accused	*a = find_accused(t, sequence);

	return backoff_retry(WAIT_MS, later(t->blame_after / WAIT_PART, 1), 0,
	    a == NULL ? 1 : a->times);
}

void
trial_took(struct trial *t, uint64_t group, uint64_t sequence, size_t size,
    int64_t sent_at)
{
	for (size_t i = t->n; i-- > 0;) {
		struct accused *a = &t->accused[i];

		if (a->c.sequence == sequence) {
			if (a->times > 0 &&
			    a->c.verdict != VERDICT_TOO_LARGE)
				note_relenting(&t->to[a->c.destination], a);
			*a = t->accused[--t->n];
			continue;
		}
		if (a->c.group != group || a->times == 0)
			continue;
		a->took_at = later(a->took_at, sent_at);
		if (size >= a->c.size)
			a->longer_at = later(a->longer_at, sent_at);
	}
}

/*
 * Silence
 */

bool
trial_unanswered(struct trial *t, const struct trial_case *c, int64_t now)
{
	struct accused	*a = place_of(t, c, false, now);
	int64_t		 taken_at = t->to[c->destination].taken_at;
	bool		 passed;

	if (a == NULL)
		return false;
	passed = a->silent_last != 0 && taken_at > a->silent_last;
	/* If none was taken meanwhile, all begins anew. */
	if (a->silent_last == 0 || taken_at < a->silent_last) {
		a->unanswered = 0;
		a->silent_first = now;
	}
	a->unanswered++;
	a->silent_last = now;
	return passed;
}

bool
trial_goes_on(const struct trial *t, uint64_t sequence, int64_t now)
{
	const struct accused	*a = find_accused(t, sequence);

	return a != NULL && a->unanswered >= SILENCE_TIMES &&
	    now - a->silent_first >= t->blame_after / SILENCE_PART;
}

int64_t
trial_silence_wait(const struct trial *t, uint64_t sequence)
{
	const struct accused	*a = find_accused(t, sequence);

	return backoff_retry(SILENCE_MS, SILENCE_MAX_MS, SILENCE_JITTER,
	    a == NULL ? 1 : a->unanswered);
}

/*
 * Destinations
 */

void
trial_route_silent(struct trial *t, unsigned destination, const char *why,
    int64_t now)
{
	struct trial_to	*to = &t->to[destination];

	if (!to->silent)
		to->since = now;
	to->silent = true;
	to->backoff.floor_ms = SILENT_FLOOR_MS;
	to->backoff.ceiling_ms = SILENT_CEILING_MS;
	to->until = now + backoff_next(&to->backoff);
	err_set(&to->why, "%s", why);
	t->changes++;
}

void
trial_route_took(struct trial *t, unsigned destination, int64_t now)
{
	struct trial_to	*to = &t->to[destination];

	to->taken_at = now;
	to->nfailed = 0;
	t->changes += to->silent;
	to->silent = false;
	backoff_reset(&to->backoff);
}

void
trial_route_heard(struct trial *t, unsigned destination, bool heard,
    int64_t now)
{
	struct trial_to	*to = &t->to[destination];

	if (heard)
		to->unheard_since = 0;
	else if (to->unheard_since == 0)
		to->unheard_since = now;
	if (!heard)
		to->unheard_at = now;
}

bool
trial_failed(struct trial *t, unsigned destination, uint64_t sequence)
{
	struct trial_to	*to = &t->to[destination];

	to->nfailed += to->nfailed == 0 || to->failed != sequence;
	to->failed = sequence;
	return to->nfailed >= FAILURES;
}

/*
 * Bursts of dead letters
 */

bool
trial_may_bury(struct trial *t, uint64_t cause, int64_t burst,
    int64_t burst_time, int64_t now)
{
	size_t	i = 0, oldest = 0;
	bool	held;

	if (burst == 0)
		return true;
	/* Its place, or the oldest one. */
	for (; i < TRIAL_CAUSES && t->causes[i].cause != cause; i++)
		if (t->causes[i].since < t->causes[oldest].since)
			oldest = i;
	if (i == TRIAL_CAUSES)
		i = oldest;
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
