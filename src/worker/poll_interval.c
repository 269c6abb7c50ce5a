/* poll_interval.c - see poll_interval.h; asks no clock and never waits */

#include "worker/poll_interval.h"

#include "util/clock.h"

static bool
is_vain(const struct poll_result *l)
{
	return l->found == POLL_NOTHING || l->found == POLL_WAITING;
}

/*
 * Doubled up to the ceiling, and no shorter than the scan took.  Where nobody
 * wakes the worker, rows that come as often as before wait for a part of the
 * time between them.
 */
static int64_t
longer(const struct poll_interval *p, const struct poll_result *l, int64_t now)
{
	int64_t	ms = later(p->pause_ms * 2,
		    p->polls && !p->woken ? 1 : POLL_SOON_MS);

	if (p->polls && l->found == POLL_NOTHING)
		ms = sooner(ms, later(POLL_SOON_MS,
		    (now - p->worked_at) / POLL_PART));
	return sooner(later(ms, now - l->began), p->ceiling_ms);
}

/* With a fixed pause a wake-up may come before its row is visible, too. */
static int64_t
pause_after(const struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	if (p->fixed_ms > 0)
		return p->woken && is_vain(l) ?
		    sooner(POLL_SOON_MS, p->fixed_ms) : p->fixed_ms;
	if (l->found == POLL_WORK)
		return 0;
	if (l->found == POLL_ALL)
		return sooner(p->polls ? 1 : POLL_WOKEN_MS,
		    p->ceiling_ms);
	return longer(p, l, now);
}

/* A wake-up for rows that were found before it came is not in vain. */
static int64_t
earliest_after(const struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	bool	vain = p->woken && is_vain(l) &&
		    now - p->worked_at > POLL_SOON_MS;

	return later(vain ? now + POLL_SOON_MS : now,
	    l->began + p->linger_ms);
}

/* A narrow scan does not change when all partitions are scanned. */
static void
plan_scan_of_all(struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	/* Unless the row of a wake-up was not found where it should be. */
	bool	lost = !l->all && l->found == POLL_NOTHING && !l->woken &&
		    p->fixed_ms == 0;

	if (lost) {
		p->pause_ms = POLL_SOON_MS;
		p->all_at = sooner(p->all_at, now + p->pause_ms);
	} else if (l->all) {
		p->pause_ms = pause_after(p, l, now);
		p->all_at = now + p->pause_ms;
	}
	if (p->fixed_ms == 0)
		p->all_at = sooner(p->all_at, later(l->due, now + 1));
}

void
poll_interval_polled(struct poll_interval *p, const struct poll_result *l,
    int64_t now)
{
	if (l->found == POLL_MORE && p->fixed_ms == 0) {
		p->at = p->all_at = now;    /* the pause comes when all is seen */
		return;
	}
	if (l->found == POLL_WORK || l->found == POLL_ALL)
		p->worked_at = now;
	plan_scan_of_all(p, l, now);
	p->earliest = earliest_after(p, l, now);
	p->woken = false;
	p->at = p->all_at;
	if (l->woken)
		p->at = sooner(p->at, now + POLL_SOON_MS);
	p->at = later(p->at, l->began + p->linger_ms);
	if (l->found == POLL_WORK && p->fixed_ms == 0)
		p->at = now;
}

void
poll_interval_wake(struct poll_interval *p, bool all, int64_t now)
{
	int64_t	at = later(now, p->earliest);

	p->woken = true;
	p->at = sooner(p->at, at);
	if (!all)
		return;
	p->all_at = sooner(p->all_at, at);
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
	return p->at > later(now, p->earliest);
}
