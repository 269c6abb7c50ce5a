/*
 * worker_reconnect.c - the connections to the destinations, and their pause
 *
 * If one of them fails, that is logged once and shown on the scoreboard line,
 * and it is tried again after a backoff.
 */

#include "worker/worker_impl.h"

#include <bsd/string.h>

#include "util/clock.h"
#include "util/duration.h"
#include "util/log.h"

#define REFUSED_CEILING_MS	1000

static void
is_away(struct worker *w, struct reconnect *l, const char *key,
    const char *text, enum scoreboard_state state)
{
	reconnect_failed_keyed(l, key, text, clock_ms());
	w->failures_seen++;
	scoreboard_state(w->line, state, clock_ms());
	scoreboard_error(w->line, text);
	w->clean = false;
}

void
worker_is_away(struct worker *w, struct reconnect *l, const char *text,
    enum scoreboard_state state)
{
	is_away(w, l, text, text, state);
}

void
worker_pause(struct worker *w, enum error_class class, const char *key,
    const char *text)
{
	struct scoreboard_pause	*p = &w->line->pause;

	/* A refusal costs little: try again sooner than a silence. */
	w->route.backoff.ceiling_ms = class == CLASS_TIMEOUT ||
	    class == CLASS_LOST ? RECONNECT_CEILING_MS : REFUSED_CEILING_MS;
	is_away(w, &w->route, key, text, SCOREBOARD_PAUSED);
	strlcpy(p->class, error_class_word(class), sizeof(p->class));
	strlcpy(p->why, text, sizeof(p->why));
	p->since = w->route.throttle.since;
}

void
worker_unpause(struct worker *w)
{
	reconnect_works(&w->route, clock_ms());
	w->line->pause.since = 0;
}

/* When it connects, and while it is open: an account's limit comes later. */
static void
note_limit(struct worker *w, enum conf_driver driver, bool connects)
{
	const struct pub	*p = &w->relay.pubs[driver];
	struct limit		*l = &w->relay.reach[driver].limit;
	int64_t			 max = p->ops->max_payload(p->arg);

	if (connects)
		limit_connected(l, max, clock_ms());
	else
		limit_seen(l, max, clock_ms());
	/* The others do not learn it from a server. */
	if (driver != w->relay.stream)
		l->connected = clock_ms();
	if (l->news)
		log_warn("%s: max_payload is %lld and was %lld before: set "
		    "the same on all servers, or the account's higher; longer "
		    "messages wait, and are dead after %s",
		    p->ops->peer, (long long)l->max, (long long)l->largest,
		    duration_words(w->conf->retry.blame_after).text);
	l->news = false;
}

void
worker_keep_line(struct worker *w, enum conf_driver driver)
{
	const struct pub	*p = &w->relay.pubs[driver];
	struct reconnect	*line = &w->lines[driver];
	struct err		*why = &w->relay.reach[driver].away;

	if (pub_is_open(p)) {
		reconnect_lasts(line, clock_ms());
		note_limit(w, driver, false);
		if (!limit_is_old(&w->relay.reach[driver].limit, clock_ms()))
			return;
		p->ops->close(p->arg);
		line->opened_at = 0;
	}
	if (line->opened_at != 0 && line->proven)
		reconnect_lost(line, clock_ms());
	else if (line->opened_at != 0)
		worker_is_away(w, line, "broker: connection closed right "
		    "after connect: wrong port, or TLS required?",
		    SCOREBOARD_NO_BROKER);
	if (clock_ms() < line->try_at)
		return;
	if (p->ops->open(p->arg, why) < 0) {
		w->totals->connects_failed[TOTALS_BROKER]++;
		worker_is_away(w, line, why->text, SCOREBOARD_NO_BROKER);
		return;
	}
	why->text[0] = '\0';
	w->totals->connects[TOTALS_BROKER]++;
	reconnect_opened(line, clock_ms());
	note_limit(w, driver, true);
	if (driver != w->relay.stream)
		return;
	w->check_at = 0;
	w->deaf = false;
	/* Wake-ups by wake.subject were lost while it was away. */
	poll_interval_wake(&w->poll, 1, clock_ms());
	stream_audit_connected(&w->audit);
}

/*
 * The server in use gives no answers, or does not find a leader, and another
 * one of the list may, or one that the only name leads to next time; or this
 * one, if it has forgotten us.  That is no loss of the connection, so nothing
 * tells it; the reason is told as that of the pause.
 */
void
worker_change_server(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);

	if (!pub_is_open(p))
		return;
	log_debug("broker: another server of nats.servers is tried");
	p->ops->close(p->arg);
	w->lines[w->relay.stream].opened_at = 0;
}

void
worker_pass_on_complaints(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);
	struct err		 e;

	if (p == NULL)
		return;
	if (p->ops->complaint(p->arg, PUB_MESSAGES, &e))
		log_warn("broker: %s", e.text);
	if (p->ops->complaint(p->arg, PUB_TOLD, &e)) {
		err_in(&e, "nats.advisory: dead messages are not announced");
		log_throttle_warn(&w->advisory, e.text, clock_ms());
	}
	if (!p->ops->complaint(p->arg, PUB_WAKE, &e))
		return;
	w->deaf = true;
	/* Only one worker logs it. */
	if (w->a->slot == 0) {
		err_in(&e, "wake.subject: wake-ups cannot be received");
		log_throttle_warn(&w->refusal, e.text, clock_ms());
	}
}
