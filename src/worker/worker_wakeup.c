/* worker_wakeup.c - wake-ups: from the listener and from the broker */

#include "worker/worker_impl.h"

#include <string.h>

#include "util/clock.h"

/*
 * If wake-ups are closer than this, a delivered batch waits so long for the
 * next one: one statement settles it and claims the next batch.
 */
#define SETTLE_WAIT_MS	4
#define GAPS		8	/* weight of the mean gap between wake-ups */
#define GAP_MAX_US	100000	/* a longer one counts as this */

/* A listener that is refused or hangs is as good as none. */
bool
worker_expects_wakeups(const struct worker *w)
{
	const struct scoreboard_line	*l = w->a->listener;

	return w->conf->wake.subject[0] != '\0' || (l != NULL &&
	    l->state == SCOREBOARD_RUNNING &&
	    clock_ms() - l->alive_at <= LISTENER_SILENCE_MS);
}

/* A wake-up that would change nothing must not end the wait. */
int
worker_wakeup_fd(const struct worker *w)
{
	return w->a->wakeup == NULL || !poll_interval_listens(&w->poll,
	    clock_ms()) ? -1 :
	    wakeup_fd(w->a->wakeup, w->a->slot);
}

static void
note_gap(struct worker *w, int64_t now)
{
	int64_t	gap = sooner(now - w->woken_at_us, GAP_MAX_US);

	w->wakeup_gap_us += (gap - w->wakeup_gap_us) / GAPS;
	w->woken_at_us = now;
}

static bool
is_woken_often(const struct worker *w)
{
	int64_t	wait = SETTLE_WAIT_MS * 1000;

	return w->woken_at_us != 0 && w->wakeup_gap_us < wait &&
	    clock_us() - w->woken_at_us < GAPS * wait;
}

/* A wake-up that names no partition of ours is for another worker. */
bool
worker_take_wakeups(struct worker *w)
{
	struct pub		*p = &w->relay.pub;
	struct label_set	 which;
	bool			 all = p->ops->woken(p->arg), some = false;

	w->totals->wakeups[TOTALS_BY_SUBJECT] += all;
	if (w->a->wakeup != NULL && wakeup_take(w->a->wakeup, w->a->slot,
	    &which)) {
		w->totals->wakeups[TOTALS_BY_BINLOG]++;
		if (label_set_is_full(&which))
			all = true;
		else
			some = candidates_wake(&w->tick.backlog.candidates,
			    &which, clock_ms());
	}
	if (all || some) {
		poll_interval_wake(&w->poll, all, clock_ms());
		note_gap(w, clock_us());
	}
	return all || some;
}

bool
worker_wait_wakeup(void *arg)
{
	struct worker	*w = arg;
	struct pub	*p = &w->relay.pub;
	bool		 woken;

	/* Planned now, not after the tick: else its other scans, after one of
	   all partitions, would not be narrow. */
	worker_polled(w, POLL_ALL, clock_ms());
	woken = worker_take_wakeups(w);
	if (!woken && is_woken_often(w)) {
		pub_wait(p, 1, w->a->wakeup == NULL ? -1 :
		    wakeup_fd(w->a->wakeup, w->a->slot), SETTLE_WAIT_MS);
		woken = worker_take_wakeups(w);
	}
	candidates_go_narrow(&w->tick.backlog.candidates,
	    poll_interval_is_narrow(&w->poll, clock_ms()));
	return woken;
}

/*
 * The listener wakes this worker for the labels that the scoreboard shows.  The
 * scan comes after that: it finds the rows that were inserted before, and for
 * the others there are wake-ups.
 */
void
worker_show_labels(struct worker *w)
{
	struct label_set	served = { { 0 } };

	if (w->version_seen == w->fleet.parts.version)
		return;
	w->version_seen = w->fleet.parts.version;
	for (size_t i = 0; i < w->fleet.nowned; i++)
		label_set_add(&served, w->fleet.owned[i],
		    strlen(w->fleet.owned[i]));
	w->line->served = served;
	poll_interval_wake(&w->poll, true, clock_ms());
}
