/* poll_interval.c - see poll_interval.h; asks no clock and never waits */

#include "worker/poll_interval.h"

#include "util/clock.h"

/*
 * Without work the pause doubles, up to the ceiling.  Where nobody wakes the
 * worker, it is no longer than a part of the time since the last work: rows
 * that keep coming as often wait for that part.  Where it is woken, there is
 * nothing to look for before r->due.  After a vain look the pause is no shorter
 * than the look was.
 */
static int64_t
pause_after(const struct poll_interval *p, const struct poll_result *r,
    int64_t now)
{
	int64_t	ms = later(p->pause_ms * 2, p->polls ? 1 : POLL_SOON_MS);

	if (p->fixed_ms > 0)
		return p->woken > 0 ? sooner(POLL_SOON_MS, p->fixed_ms) :
		    p->fixed_ms;
	if (r->worked && p->polls)
		ms = 1;
	else if (p->woken > 0)
		ms = POLL_SOON_MS;
	else if (r->worked || (!p->polls && r->waiting))
		ms = p->ceiling_ms;
	else if (p->polls && !r->waiting)
		ms = sooner(ms, later(POLL_SOON_MS,
		    (now - p->worked_at) / POLL_PART));
	return sooner(r->worked ? ms : later(ms, now - r->began),
	    p->ceiling_ms);
}

void
poll_interval_polled(struct poll_interval *p, const struct poll_result *r,
    int64_t now)
{
	int64_t	earliest = now;
	bool	vain;

	if (r->worked)
		p->worked_at = now;
	p->woken -= p->woken < r->found ? p->woken : r->found;
	if (r->more && p->fixed_ms == 0) {
		/* The pause comes when all is seen. */
		p->pause_ms = r->worked ? 0 : p->pause_ms;
		p->at = now;
		return;
	}
	/* Rows are collected after work; polls are that far apart always. */
	if (r->worked || p->polls)
		earliest = r->began + p->linger_ms;
	p->pause_ms = pause_after(p, r, now);
	p->at = now + p->pause_ms;
	if (p->fixed_ms == 0)
		p->at = sooner(p->at, later(r->due, now + 1));
	p->at = later(p->at, earliest);
	/* A wake-up may come after its rows were found; soon after work it is
	   not vain. */
	vain = p->woken > 0 && now - p->worked_at > POLL_SOON_MS;
	p->earliest = later(earliest, vain ? now + POLL_SOON_MS : now);
	p->woken = 0;
}

void
poll_interval_wake(struct poll_interval *p, size_t n, int64_t now)
{
	p->woken += n;
	p->at = sooner(p->at, later(now, p->earliest));
}

bool
poll_interval_listens(const struct poll_interval *p, int64_t now)
{
	return p->at > later(now, p->earliest);
}
