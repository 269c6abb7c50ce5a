/* worker_wakeup.c - wake-ups: from the listener and from the broker */

#include "worker/worker_impl.h"

#include <string.h>

#include "util/clock.h"

bool
worker_expects_wakeups(const struct worker *w)
{
	const struct scoreboard_line	*l;

	if (w->conf->wake.subject[0] != '\0' && !w->deaf)
		return true;
	if (w->a->board == NULL)
		return false;
	/* A listener that is refused or hangs is as good as none. */
	l = &w->a->board->lines[SCOREBOARD_LISTENER];
	return l->state == SCOREBOARD_RUNNING &&
	    clock_ms() - l->alive_at <= LISTENER_SILENCE_MS;
}

/* A wake-up may be lost: scan all the same. */
#define SAFETY_MS	1000

/* It may come and go, for instance with the right that it needs. */
void
worker_follow_listener(struct worker *w)
{
	bool	expects = worker_expects_wakeups(w);
	int64_t	pause = w->conf->worker.idle_backoff_ms;

	w->poll.polls = !expects;
	w->poll.ceiling_ms = expects ? later(pause, SAFETY_MS) : pause;
}

/* A wake-up that would change nothing must not end the wait. */
int
worker_wakeup_fd(const struct worker *w)
{
	return w->a->wakeup == NULL || !poll_interval_listens(&w->poll,
	    clock_ms()) ? -1 :
	    wakeup_fd(w->a->wakeup, w->a->slot);
}

bool
worker_take_wakeups(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);
	bool			 by_subject = p != NULL &&
				     p->ops->woken(p->arg);
	size_t			 n = w->a->wakeup == NULL ? 0 :
				     wakeup_take(w->a->wakeup, w->a->slot);

	w->totals->wakeups[TOTALS_BY_SUBJECT] += by_subject;
	w->totals->wakeups[TOTALS_BY_BINLOG] += n > 0;
	if (by_subject && n == 0)
		n = 1;
	if (n > 0)
		poll_interval_wake(&w->poll, n, clock_ms());
	return n > 0;
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
	poll_interval_wake(&w->poll, 1, clock_ms());
}
