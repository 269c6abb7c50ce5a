/* worker_stream.c - is the stream fit, and does it keep what it acknowledged? */

#include "worker/worker_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "store/store_sql.h"
#include "util/clock.h"
#include "util/log.h"

#define CHECK_MS		(5 * 60 * 1000)	/* between stream checks */
#define UNAUDITED_MS		30000	/* until an audit is tried again */
#define UNFIT_CHECK_MS		1000	/* while others take messages */
#define AUDIT_FAILURES		6	/* so many, and another server is asked */

/*
 * One of several destinations takes nothing: no pause for all.  The relay
 * refuses what is for it, and status shows that.
 */
static void
destination_is_unfit(struct worker *w, enum error_class class,
    const char *text)
{
	if (!w->relay.routes.several) {
		worker_pause(w, class, text, text);
		return;
	}
	scoreboard_error(w->line, text);
	log_throttle_warn(&w->partial, text, clock_ms());
}

/* Log warnings and advice once, and by one worker. */
static void
tell_of_stream(struct worker *w, const struct stream_report *r)
{
	const char	*stream = w->conf->nats.stream;
	const char	*first = r->unheard.text[0] != '\0' ?
			    r->unheard.text : r->warnings.n > 0 ?
			    r->warnings.list[0].text : r->advice.n > 0 ?
			    r->advice.list[0].text : "";

	if (w->a->slot != 0 || strcmp(w->told, first) == 0)
		return;
	if (r->unheard.text[0] != '\0')
		log_warn("stream %s %s", stream, r->unheard.text);
	for (size_t i = 0; i < r->warnings.n; i++)
		log_warn("stream %s %s", stream, r->warnings.list[i].text);
	for (size_t i = 0; i < r->advice.n; i++)
		log_info("stream %s %s", stream, r->advice.list[i].text);
	strlcpy(w->told, first, sizeof(w->told));
}

void
worker_check_stream(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);
	struct stream_report	 r;
	struct err		 e;

	if (!p->ops->check(p->arg, &r, &e)) {
		/* A user that may not ask may still be allowed to publish. */
		log_debug("stream not checked: %s", e.text);
	} else if (r.unfit) {
		err_set(&e, "%s", r.why.text);
		err_in(&e, "publishing paused: stream %s",
		    w->conf->nats.stream);
		destination_is_unfit(w, r.class, e.text);
		w->unfit = true;
		/* This server may be cut off; if none leads, ever more rarely. */
		if (r.class == CLASS_OFFLINE && !w->relay.routes.several &&
		    clock_ms() - w->lines[w->relay.stream].opened_at >=
		    later(RELAY_ELECTION_MS, (clock_ms() -
		    w->route.throttle.since) / 2))
			worker_change_server(w);
		w->check_at = w->relay.routes.several ?
		    clock_ms() + UNFIT_CHECK_MS : w->route.try_at;
		return;
	} else {
		tell_of_stream(w, &r);
		if (w->unfit)	/* also if no message waits to show it */
			worker_unpause(w);
		w->unfit = false;
	}
	w->check_at = clock_ms() + CHECK_MS;
}

/*
 * What refuses the audit alone, and will not heal by itself or not soon, does
 * not keep messages: they go unaudited, as without its columns.  If somebody
 * has locked its rows, the next try would wait for him again.  A stream that
 * was audited before need not wait for that, others do for a while.
 */
static void
audit_failed(struct worker *w, struct err *e)
{
	int64_t		now = clock_ms();
	enum db_fault	fault = store_fault(w->store);
	bool		missed = false;

	if (fault == DB_WRONG)
		missed = store_is_open(w->store) &&
		    !(db_learnt_wrong(store_db(w->store)) && w->db.proven);
	else if (fault == DB_BUSY) {
		if (w->audit_busy_since == 0)
			w->audit_busy_since = now;
		missed = stream_audit_is_ready(&w->audit) ||
		    now - w->audit_busy_since >= UNAUDITED_MS;
	}
	if (!missed) {
		worker_db_failed(w, e);
		return;
	}
	stream_audit_pass(&w->audit, now + UNAUDITED_MS);
	err_in(e, "the stream is not checked for lost messages");
	scoreboard_error(w->line, e->text);
	log_throttle_warn(&w->unaudited_why, e->text, now);
}

void
worker_audit_stream(struct worker *w)
{
	struct stream_audit	*r = &w->audit;
	bool			 first = w->fleet.rank == 0;
	bool			 due = clock_ms() >= stream_audit_next(r, first);
	struct err		 e;

	if (stream_audit_round(r, first, &e) < 0) {
		if (r->behind)
			worker_leave_behind(w, &e);
		else
			audit_failed(w, &e);
	} else if (due)
		w->audit_busy_since = 0;
	if (stream_audit_is_ready(r))	/* it stays with this host */
		r->may_leave = false;
	w->line->recovered += r->recovered;
	w->totals->recovered += r->recovered;
	if (r->recovered > 0)	/* their partitions have new epochs */
		fleet_reread(&w->fleet);
	r->recovered = 0;
	if (r->alarm.text[0] != '\0')
		scoreboard_error(w->line, r->alarm.text);
	r->alarm.text[0] = '\0';
	if (r->gone)		/* the check logs it and pauses */
		w->check_at = 0;
	r->gone = false;
	if (r->waits_for.text[0] != '\0') {
		err_in(&r->waits_for, "publishing paused until the stream is "
		    "checked for lost messages");
		destination_is_unfit(w, CLASS_AUDIT, r->waits_for.text);
		w->unaudited = true;
		/* Audits have a pace of their own. */
		if (!w->relay.routes.several)
			w->route.try_at = r->at;
		if (r->failures >= AUDIT_FAILURES)
			worker_change_server(w);
	} else if (w->unaudited && stream_audit_is_ready(r)) {
		worker_unpause(w);
		w->unaudited = false;
	}
	r->waits_for.text[0] = '\0';
}
