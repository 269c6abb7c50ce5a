/* poll_interval.c - see poll_interval.h; asks no clock and never waits */

#include "worker/poll_interval.h"

#include "util/clock.h"

/* Doubled from a millisecond up to the ceiling. */
static int64_t
longer(const struct poll_interval *p, enum poll_found found, int64_t took,
    int64_t now)
{
	int64_t	ms = p->pause_ms == 0 ? 1 : p->pause_ms * 2;

	if (found == POLL_NOTHING && now < p->linger_until)
		ms = sooner(ms, POLL_SOON_MS);
	if (p->woken)
		ms = later(ms, POLL_SOON_MS);
	return sooner(later(ms, took), p->ceiling_ms);
}

static bool
is_in_vain(const struct poll_interval *p, enum poll_found found)
{
	return p->woken && (found == POLL_NOTHING || found == POLL_WAITING);
}

/*
 * Where rings are expected they tell of the next work.  One that nothing was
 * found for may have come before its row could be read.
 */
static int64_t
pause_after(const struct poll_interval *p, enum poll_found found, int64_t took,
    int64_t now)
{
	if (p->fixed_ms > 0)
		return is_in_vain(p, found) ?
		    sooner(POLL_SOON_MS, p->fixed_ms) : p->fixed_ms;
	if (found == POLL_WORK)
		return 0;
	if (found == POLL_ALL)
		return sooner(p->linger_ms > 0 ? 1 : POLL_WOKEN_MS,
		    p->ceiling_ms);
	return longer(p, found, took, now);
}

/* A look at some partitions says nothing of the others. */
static void
looked_narrowly(struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	bool	vain = l->found == POLL_NOTHING;
	int64_t	soon = vain ? 2 * POLL_SOON_MS : POLL_WOKEN_MS;

	p->at = p->all_at;
	if (p->fixed_ms > 0)
		return;
	/* In vain for good: from here on as if it had been rung for anything. */
	if (vain ? !l->woken : l->found != POLL_WAITING) {
		p->pause_ms = sooner(p->pause_ms, soon);
		p->all_at = sooner(p->all_at, now + soon);
	}
	p->at = l->found == POLL_WORK ? now : p->all_at;
}

void
poll_interval_polled(struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	p->looked_at = now;
	if (l->found == POLL_MORE && p->fixed_ms == 0) {
		p->at = p->all_at = now;    /* the pause comes when all is seen */
		return;
	}
	if (l->found == POLL_WORK || l->found == POLL_ALL) {
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
	    now - p->worked_at > POLL_SOON_MS;
	p->woken = false;
	if (p->fixed_ms == 0)
		p->all_at = sooner(p->all_at, later(l->due, now + 1));
	if (l->woken)
		p->at = sooner(p->at, now + POLL_SOON_MS);
	p->at = sooner(p->at, p->all_at);
}

static int64_t
soonest(const struct poll_interval *p, int64_t now)
{
	return p->in_vain ? later(now, p->looked_at + POLL_SOON_MS) : now;
}

void
poll_interval_wake(struct poll_interval *p, bool all, int64_t now)
{
	p->at = sooner(p->at, soonest(p, now));
	p->woken = true;
	if (!all)
		return;
	p->all_at = sooner(p->all_at, soonest(p, now));
	p->pause_ms = 0;
}

bool
poll_interval_is_narrow(const struct poll_interval *p, int64_t now)
{
	return now < p->all_at;
}

bool
poll_interval_listens(const struct poll_interval *p, int64_t now)
{
	return p->at > soonest(p, now);
}
