/* pace.c - see pace.h; asks no clock and never waits */

#include "worker/pace.h"

#include "util/clock.h"

/* Doubled from a millisecond up to the ceiling. */
static int64_t
longer(const struct pace *p, enum pace_found found, int64_t took, int64_t now)
{
	int64_t	ms = p->pause_ms == 0 ? 1 : p->pause_ms * 2;

	if (found == PACE_NOTHING && now < p->linger_until)
		ms = sooner(ms, PACE_SOON_MS);
	if (p->rung)
		ms = later(ms, PACE_SOON_MS);
	return sooner(later(ms, took), p->ceiling_ms);
}

static bool
is_in_vain(const struct pace *p, enum pace_found found)
{
	return p->rung && (found == PACE_NOTHING || found == PACE_WAITING);
}

/*
 * Where rings are expected they tell of the next work.  One that nothing was
 * found for may have come before its row could be read.
 */
static int64_t
pause_after(const struct pace *p, enum pace_found found, int64_t took,
    int64_t now)
{
	if (p->fixed_ms > 0)
		return is_in_vain(p, found) ?
		    sooner(PACE_SOON_MS, p->fixed_ms) : p->fixed_ms;
	if (found == PACE_WORK)
		return 0;
	if (found == PACE_ALL)
		return sooner(p->linger_ms > 0 ? 1 : PACE_RUNG_MS,
		    p->ceiling_ms);
	return longer(p, found, took, now);
}

/* A look at some partitions says nothing of the others. */
static void
looked_narrowly(struct pace *p, const struct pace_look *l, int64_t now)
{
	bool	vain = l->found == PACE_NOTHING;
	int64_t	soon = vain ? 2 * PACE_SOON_MS : PACE_RUNG_MS;

	p->at = p->all_at;
	if (p->fixed_ms > 0)
		return;
	/* In vain for good: from here on as if it had been rung for anything. */
	if (vain ? !l->rung : l->found != PACE_WAITING) {
		p->pause_ms = sooner(p->pause_ms, soon);
		p->all_at = sooner(p->all_at, now + soon);
	}
	p->at = l->found == PACE_WORK ? now : p->all_at;
}

void
pace_looked(struct pace *p, const struct pace_look *l, int64_t now)
{
	p->looked_at = now;
	if (l->found == PACE_MORE && p->fixed_ms == 0) {
		p->at = p->all_at = now;    /* the pause comes when all is seen */
		return;
	}
	if (l->found == PACE_WORK || l->found == PACE_ALL) {
		p->worked_at = now;
		p->linger_until = now + p->linger_ms;
	}
	if (l->all) {
		p->pause_ms = pause_after(p, l->found, now - l->began, now);
		p->at = p->all_at = now + p->pause_ms;
	} else
		looked_narrowly(p, l, now);
	/* Rings for what was found before they came say nothing of the next. */
	p->in_vain = is_in_vain(p, l->found) &&
	    now - p->worked_at > PACE_SOON_MS;
	p->rung = false;
	if (p->fixed_ms == 0)
		p->all_at = sooner(p->all_at, later(l->due, now + 1));
	if (l->rung)
		p->at = sooner(p->at, now + PACE_SOON_MS);
	p->at = sooner(p->at, p->all_at);
}

static int64_t
soonest(const struct pace *p, int64_t now)
{
	return p->in_vain ? later(now, p->looked_at + PACE_SOON_MS) : now;
}

void
pace_ring(struct pace *p, bool all, int64_t now)
{
	p->at = sooner(p->at, soonest(p, now));
	p->rung = true;
	if (!all)
		return;
	p->all_at = sooner(p->all_at, soonest(p, now));
	p->pause_ms = 0;
}

bool
pace_is_narrow(const struct pace *p, int64_t now)
{
	return now < p->all_at;
}

bool
pace_listens(const struct pace *p, int64_t now)
{
	return p->at > soonest(p, now);
}
