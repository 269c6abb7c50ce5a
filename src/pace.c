/* pace.c - see pace.h; asks no clock and never waits */

#include "pace.h"

#include "clock.h"

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

/* Where rings are expected they tell of the next work. */
static int64_t
pause_after(const struct pace *p, enum pace_found found, int64_t took,
    int64_t now)
{
	if (p->fixed_ms > 0)
		return p->fixed_ms;
	if (found == PACE_WORK)
		return 0;
	if (found == PACE_ALL)
		return sooner(p->linger_ms > 0 ? 1 : PACE_RUNG_MS,
		    p->ceiling_ms);
	return longer(p, found, took, now);
}

void
pace_looked(struct pace *p, enum pace_found found, int64_t due, int64_t began,
    int64_t now)
{
	p->looked_at = now;
	if (found == PACE_MORE && p->fixed_ms == 0) {
		p->at = now;	/* the pause comes when all is seen */
		return;
	}
	if (found == PACE_WORK || found == PACE_ALL) {
		p->worked_at = now;
		p->linger_until = now + p->linger_ms;
	}
	p->pause_ms = pause_after(p, found, now - began, now);
	p->at = now + p->pause_ms;
	/* Rings for what was found before they came say nothing of the next. */
	p->in_vain = p->rung && now - p->worked_at > PACE_SOON_MS &&
	    (found == PACE_NOTHING || found == PACE_WAITING);
	p->rung = false;
	if (p->fixed_ms == 0)
		p->at = sooner(p->at, later(due, now + 1));
}

static int64_t
soonest(const struct pace *p, int64_t now)
{
	return p->in_vain ? later(now, p->looked_at + PACE_SOON_MS) : now;
}

void
pace_ring(struct pace *p, int64_t now)
{
	p->at = sooner(p->at, soonest(p, now));
	p->pause_ms = 0;
	p->rung = true;
}

bool
pace_listens(const struct pace *p, int64_t now)
{
	return p->at > soonest(p, now);
}
