/*
 * worker_reach.c - which destinations this worker does not reach
 *
 * The broker is reached while its connection is open.  Any destination is not
 * if it gave no answer at all to what was sent: an error is an answer, and all
 * workers get the same.  One that stands back sends nothing, so it tries to
 * connect to the endpoints that are away.
 */

#include "worker/worker_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "util/buf.h"
#include "util/clock.h"
#include "util/duration.h"
#include "util/log.h"

/* Longer than any wait of a message for a destination that does not answer. */
#define UNHEARD_MS	90000

#define TRY_MS		1000	/* between two tries to connect */
#define TELL_MS		1000	/* between two changes of what all are told */

/* After a failure a connection has to last a while before it counts. */
static bool
is_reached(const struct worker *w, const struct route *r, int64_t now)
{
	const struct reconnect	*line = &w->lines[r->driver];
	const struct trial_to	*to = &w->relay.trial.to[r->destination];

	return pub_is_open(&w->relay.pubs[r->driver]) &&
	    !line->throttle.active && (to->unheard_since == 0 ||
	    now - to->unheard_at >= UNHEARD_MS);
}

static const char *
name_of(const struct route *r)
{
	if (r->destination == ROUTE_STREAM)
		return "NATS";	/* no name of a route: these are small */
	return r->rule == NULL ? "publish.driver" : r->rule->name;
}

void
worker_begin_reach(struct worker *w)
{
	if (relay_broker(&w->relay) != NULL)
		absence_begin(&w->absences[ROUTE_STREAM], clock_ms());
}

void
worker_note_reach(struct worker *w)
{
	const struct route_set	*set = &w->relay.routes;
	int64_t			 now = clock_ms();
	char			 list[AWAY_SIZE];
	bool			 broker = false, doubt;

	away_begin(list, w->fleet.stands_back);
	for (size_t i = 0; i <= set->n; i++) {
		const struct route	*r = &set->routes[i];
		struct absence		*a = &w->absences[r->destination];

		if (w->relay.pubs[r->driver].ops == NULL ||
		    (r->destination == ROUTE_STREAM && broker))
			continue;
		broker = broker || r->destination == ROUTE_STREAM;
		absence_note(a, is_reached(w, r, now), w->fleet.stands_back,
		    w->conf, now);
		doubt = absence_is_doubt(a, w->conf, now);
		if (a->away || doubt)
			away_add(list, name_of(r), doubt);
	}
	if (strcmp(list, w->away) == 0 || now < w->away_told_at + TELL_MS)
		return;
	strlcpy(w->away, list, sizeof(w->away));
	w->away_told_at = now;
	fleet_say_away(&w->fleet, w->away);
}

/* One of those that are away, in turns: it may block. */
static void
try_to_connect(struct worker *w)
{
	const struct route_set	*set = &w->relay.routes;
	struct err		 e;

	for (size_t k = 0; k <= set->n; k++) {
		size_t i = (w->tried + 1 + k) % (set->n + 1);
		const struct route	*r = &set->routes[i];
		const struct pub	*p = &w->relay.pubs[r->driver];

		if (p->ops == NULL || !w->absences[r->destination].away)
			continue;
		w->tried = i;
		trial_route_heard(&w->relay.trial, r->destination,
		    p->ops->reach(p->arg, r->form.endpoint, &e), clock_ms());
		break;
	}
	w->try_at = clock_ms() + TRY_MS;
}

void
worker_stand_back(struct worker *w)
{
	bool		back = w->fleet.stands_back;
	const char	*at = w->away, *name;
	size_t		 len;
	struct buf	 names = { 0 };

	if (back && w->fleet.nowned == 0 && clock_ms() >= w->try_at)
		try_to_connect(w);
	if (back == w->stood_back)
		return;
	w->stood_back = back;
	if (!back) {
		log_info("takes part again: no other worker reaches more");
		return;
	}
	while ((name = away_next(&at, &len)) != NULL)
		buf_printf(&names, "%s%.*s", names.len > 0 ? ", " : "",
		    (int)len, name);
	log_warn("stands back: others reach what this worker does not reach "
	    "any more (%s): its partitions are theirs, until it has reached "
	    "that for %s", names.len > 0 ? names.data : "",
	    duration_words(w->conf->worker.lease_ttl).text);
	buf_free(&names);
}
