/* silence.c - see silence.h */

#include "publish/silence.h"

#define FLOOR_MS	1000
#define CEILING_MS	5000
#define FORGET_MS	60000	/* after the last one */

/* Until the next message to a destination that was silent. */
#define SILENT_FLOOR_MS		1000
#define SILENT_CEILING_MS	30000

void
silence_met(struct silence *s, int64_t now)
{
	s->backoff.floor_ms = FLOOR_MS;
	s->backoff.ceiling_ms = CEILING_MS;
	if (now - s->at >= FORGET_MS)
		backoff_reset(&s->backoff);
	s->at = now;
	s->ms = backoff_next(&s->backoff);
}

int64_t
silence_wait(const struct silence *s)
{
	return s->ms == 0 ? FLOOR_MS : s->ms;
}

static struct passed *
find_passed(struct silence *s, uint64_t sequence)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->passed[i].sequence == sequence)
			return &s->passed[i];
	return NULL;
}

/* A free place, or that of the one that was passed longest ago. */
static struct passed *
take_place(struct silence *s)
{
	struct passed	*oldest = &s->passed[0];

	if (s->n < SILENCE_MAX)
		return &s->passed[s->n++];
	for (size_t i = 1; i < s->n; i++)
		if (s->passed[i].last < oldest->last)
			oldest = &s->passed[i];
	return oldest;
}

static struct passed *
place_of(struct silence *s, uint64_t sequence, int64_t now)
{
	struct passed	*p = find_passed(s, sequence);

	if (p == NULL) {
		p = take_place(s);
		*p = (struct passed){ .sequence = sequence, .first = now,
		    .last = now };
	}
	return p;
}

bool
silence_again(struct silence *s, uint64_t sequence, int64_t taken_at,
    int64_t now)
{
	struct passed	*p = place_of(s, sequence, now);
	bool		 passed = taken_at > p->last;

	p->last = now;
	return passed;
}

bool
silence_is_own(struct silence *s, uint64_t sequence, int64_t blame_after,
    int64_t now)
{
	struct passed	*p = place_of(s, sequence, now);

	p->last = now;
	p->times++;
	return p->times >= SILENCE_TIMES &&
	    now - p->first >= blame_after / SILENCE_PART;
}

void
silence_begins(struct silence *s, unsigned destination, const char *why,
    int64_t now)
{
	struct silent	*to = &s->to[destination];

	if (!to->silent)
		to->since = now;
	to->silent = true;
	to->backoff.floor_ms = SILENT_FLOOR_MS;
	to->backoff.ceiling_ms = SILENT_CEILING_MS;
	to->until = now + backoff_next(&to->backoff);
	err_set(&to->why, "%s", why);
	s->changes++;
}

void
silence_heard(struct silence *s, unsigned destination)
{
	struct silent	*to = &s->to[destination];

	s->changes += to->silent;
	to->silent = false;
	backoff_reset(&to->backoff);
}

void
silence_over(struct silence *s, uint64_t sequence)
{
	struct passed	*p = s->n == 0 ? NULL : find_passed(s, sequence);

	if (p != NULL)
		*p = s->passed[--s->n];
}
