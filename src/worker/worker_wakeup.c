/* worker_wakeup.c - wake-ups: from the listener and from the broker */

#include "worker/worker_impl.h"

#include <string.h>

#include "util/clock.h"
#include "util/sig.h"

/*
 * If wake-ups are closer than this, a delivered batch waits so long for the
 * next one: one statement settles it and claims the next batch.
 */
#define SETTLE_WAIT_MS	4
#define LINGER_WAIT_MS	25	/* the same where rows are collected anyway */
#define GAPS		8	/* weight of the mean gap between wake-ups */
#define GAP_MAX_US	100000	/* a longer one counts as this */

/* A listener that is refused or hangs is as good as none. */
static bool
listener_hears(const struct scoreboard *board)
{
	const struct scoreboard_line	*l;

	if (board == NULL)
		return false;
	l = &board->lines[SCOREBOARD_LISTENER];
	return l->state == SCOREBOARD_RUNNING &&
	    clock_ms() - l->alive_at <= LISTENER_SILENCE_MS;
}

bool
worker_expects_wakeups(const struct worker *w)
{
	return (w->conf->wake.subject[0] != '\0' && !w->deaf) ||
	    listener_hears(w->a->board);
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

static void
note_gap(struct worker *w, int64_t now)
{
	int64_t	gap = sooner(now - w->woken_at_us, GAP_MAX_US);

	w->wakeup_gap_us += (gap - w->wakeup_gap_us) / GAPS;
	w->woken_at_us = now;
}

static int64_t
settle_wait(const struct worker *w)
{
	return w->poll.linger_ms > 0 ? LINGER_WAIT_MS : SETTLE_WAIT_MS;
}

static bool
is_woken_often(const struct worker *w)
{
	int64_t	wait = settle_wait(w) * 1000;

	return w->woken_at_us != 0 && w->wakeup_gap_us < wait &&
	    clock_us() - w->woken_at_us < GAPS * wait;
}

/* A wake-up that names no partition of ours is for another worker. */
bool
worker_take_wakeups(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);
	struct label_set	 which;
	bool			 all = p != NULL && p->ops->woken(p->arg);
	bool			 some = false;

	w->totals->wakeups[TOTALS_BY_SUBJECT] += all;
	if (w->a->wakeup != NULL && wakeup_take(w->a->wakeup, w->a->slot,
	    &which)) {
		if (label_set_is_full(&which))
			all = true;
		else
			some = candidates_wake(&w->tick.backlog.candidates,
			    &which, clock_ms());
		w->totals->wakeups[TOTALS_BY_BINLOG] += all || some;
	}
	if (all || some) {
		poll_interval_wake(&w->poll, all, clock_ms());
		note_gap(w, clock_us());
	}
	return all || some;
}

/* False: something else is to be done first. */
static bool
may_go_on(const struct worker *w)
{
	return pub_any_open(w->relay.pubs) && !got_term && !got_handover &&
	    !got_orphaned;
}

static bool
may_wait(const struct worker *w, int64_t until)
{
	return clock_ms() < until && may_go_on(w);
}

/* True if one came. */
static bool
wait_wakeup(struct worker *w, int64_t until)
{
	bool	woken = worker_take_wakeups(w);

	while (!woken && may_wait(w, until)) {
		pub_wait(w->relay.pubs, CONF_DRIVERS, w->a->wakeup == NULL ?
		    -1 : wakeup_fd(w->a->wakeup, w->a->slot), until - clock_ms());
		woken = worker_take_wakeups(w);
	}
	return woken;
}

/*
 * Let rows gather until a scan may begin (poll.at may be much later), or until
 * leases are to be renewed.
 */
static void
wait_linger(struct worker *w)
{
	int64_t	until = sooner(w->poll.earliest, fleet_next(&w->fleet));

	while (may_wait(w, until))
		pub_wait(w->relay.pubs, CONF_DRIVERS, -1, until - clock_ms());
	worker_take_wakeups(w);
}

/* Without wake-ups a scan has to show whether there are more rows. */
static bool
are_more_expected(struct worker *w)
{
	int64_t	now = clock_ms();

	if (!worker_expects_wakeups(w))
		return true;
	return wait_wakeup(w, is_woken_often(w) ? now + settle_wait(w) : now);
}

bool
worker_wait_rows(void *arg)
{
	struct worker	*w = arg;
	int64_t		 began = clock_us();
	bool		 more;

	worker_follow_listener(w);
	/* Planned now, not after the tick: else its other scans, after one of
	   all partitions, would not be narrow. */
	worker_polled(w, POLL_ALL,
	    candidates_began(&w->tick.backlog.candidates));
	more = are_more_expected(w);
	if (more && w->poll.linger_ms > 0)
		wait_linger(w);
	w->waited_us += clock_us() - began;
	if (!more || !may_go_on(w))
		return false;
	candidates_go_narrow(&w->tick.backlog.candidates,
	    poll_interval_is_narrow(&w->poll, clock_ms()));
	return true;
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
