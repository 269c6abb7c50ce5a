/* worker_tick.c - a worker's tick: run it, count it, say what it met, plan */

#include "worker/worker_impl.h"

#include <time.h>

#include <bsd/string.h>
#include <bsd/unistd.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/printable.h"

#define ALONE_MS	5000	/* without an answer, or at a server without
				   a leader, until the only name may lead
				   elsewhere */

/* Copy what fits, and no half of a character. */
static void
copy_cut(char *to, size_t size, const char *text)
{
	struct err	e;

	err_set(&e, "%.*s", (int)size - 1, text);
	strlcpy(to, e.text, size);
}

/* Readers may see a half: the rows are few, and change rarely. */
static void
show_rows(struct worker *w)
{
	const struct refusals	*l = store_refusals(w->store);
	struct scoreboard_line	*line = w->line;

	line->nrows = 0;
	for (size_t i = 0; i < l->n && i < SCOREBOARD_ROWS; i++) {
		struct scoreboard_row	*r = &line->rows[i];

		r->sequence = l->items[i].sequence;
		r->since = l->items[i].since;
		copy_cut(r->why, sizeof(r->why), l->items[i].why.text);
	}
	line->nrows = (uint32_t)l->n;
}

static void
show_silent_destination(struct scoreboard_refused *r,
    const struct trial_to *destination, const char *name)
{
	r->since = destination->since;
	copy_cut(r->class, sizeof(r->class), error_class_word(CLASS_TIMEOUT));
	copy_cut(r->type, sizeof(r->type), name);
	copy_cut(r->subject, sizeof(r->subject), "");
	copy_cut(r->why, sizeof(r->why), destination->why.text);
}

static void
show_refused_type(struct scoreboard_refused *r,
    const struct type_breaker_item *item)
{
	char		type[PRINTABLE_SIZE];
	struct err	e;

	r->since = item->since;
	copy_cut(r->class, sizeof(r->class), error_class_word(item->class));
	printable_text(type, item->type, item->len);
	err_set(&e, "%s%s%s", item->route, item->route[0] == '\0' ? "" :
	    ", type ", type);
	copy_cut(r->type, sizeof(r->type), e.text);
	copy_cut(r->subject, sizeof(r->subject), item->subject);
	copy_cut(r->why, sizeof(r->why), item->why.text);
}

/*
 * The destinations that take nothing, and the types that are refused, while
 * others are taken; the master logs them.  The list has room for the first
 * ones; all are counted.
 */
static void
show_refused(struct worker *w)
{
	const struct type_breaker	*k = &w->relay.breaker;
	const struct trial		*t = &w->relay.trial;
	struct scoreboard_refused	*list = w->line->refused.list;
	uint32_t			 nfound = 0;

	if (k->changes + t->changes == w->types_shown)
		return;
	w->types_shown = k->changes + t->changes;
	scoreboard_refused_begin(w->line);
	for (unsigned i = 0; i < ROUTE_DESTINATIONS; i++) {
		if (!t->to[i].silent)
			continue;
		if (nfound < SCOREBOARD_REFUSED_TYPES)
			show_silent_destination(&list[nfound], &t->to[i],
			    route_name(&w->relay.routes, i));
		nfound++;
	}
	for (size_t i = 0; i < k->n; i++) {
		if (!k->items[i].blamed)
			continue;
		if (nfound < SCOREBOARD_REFUSED_TYPES)
			show_refused_type(&list[nfound], &k->items[i]);
		nfound++;
	}
	w->line->refused.n = nfound;
	scoreboard_refused_end(w->line);
}

/* Without a scoreboard nothing but this log tells of it. */
static void
complain_of_types(const struct worker *w)
{
	const struct type_breaker	*k = &w->relay.breaker;

	for (size_t i = 0; w->line == &w->no_line && i < k->n; i++)
		if (k->items[i].blamed)
			log_warn("%s", k->items[i].why.text);
}

/*
 * Some texts have the subject or the size of one message, and another try has
 * another one first: the class tells whether it is the same pause.
 */
static void
pause_route(struct worker *w, const struct relay_result *r)
{
	bool		one = r->class == CLASS_NO_STREAM ||
			    r->class == CLASS_PERMISSION ||
			    r->class == CLASS_TOO_LARGE;
	struct err	e;

	err_set(&e, "%s", r->why.text);
	err_in(&e, "publishing paused, no message gets through");
	worker_pause(w, r->class, one ? error_class_word(r->class) : e.text,
	    e.text);
}

static void
complain(struct worker *w, const struct tick_result *res)
{
	const struct relay_result	*r = &res->relay;
	int64_t				 since = w->relay.trial.to[
					     ROUTE_STREAM].unheard_since;
	struct err			 e;

	if (res->settled.fenced > 0)
		log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_TEXT("error_class",
		    "fenced"), LOG_NUMBER("rows", res->settled.fenced)),
		    "fenced: %llu rows lost their claim before the "
		    "write-back: they may be sent twice",
		    (unsigned long long)res->settled.fenced);
	/* Whose message is there under an author's id: see relay_look.c. */
	if (r->renamed > 0)
		log_throttle_event(&w->renamed, LOG_FIELDS(LOG_TEXT(
		    "error_class", "message"), LOG_NUMBER("messages",
		    r->renamed)), r->renamed_why.text, clock_ms());
	if (r->unread > 0)
		log_throttle_event(&w->unread, LOG_FIELDS(LOG_TEXT(
		    "error_class", "message"), LOG_NUMBER("messages",
		    r->unread)), r->unread_why.text, clock_ms());
	if (r->elsewhere && (w->conf->nats.servers.n > 1 || clock_ms() -
	    later(since, w->lines[w->relay.stream].opened_at) >= ALONE_MS))
		worker_change_server(w);
	if (r->down) {
		pause_route(w, r);
		return;
	}
	if (res->settled.delivered > 0 || r->stream_fits) {
		worker_unpause(w);
		/* Which of several took them is not told: reconnect_lasts(). */
		for (size_t i = 0; pub_next(w->relay.pubs, &i) != NULL; i++)
			if (!w->relay.routes.several)
				reconnect_works(&w->lines[i], clock_ms());
	}
	w->clean = w->clean && r->failed == 0;
	if (r->refused > 0)
		complain_of_types(w);
	if (r->failed <= r->refused)
		return;
	/* The fields are of the first message that failed. */
	err_set(&e, "%u message(s) failed, %llu of them dead: %s",
	    r->failed - r->refused,
	    (unsigned long long)res->settled.dead, r->why.text);
	log_throttle_event(&w->failures,
	    LOG_FIELDS(LOG_TEXT("error_class", "message"),
	    LOG_NUMBER("failed", r->failed - r->refused),
	    LOG_NUMBER("dead", res->settled.dead),
	    LOG_NUMBER("sequence", r->first.sequence),
	    LOG_TEXT("key", r->first.key), LOG_TEXT("type", r->first.type),
	    LOG_TEXT("partition", r->first.partition)), e.text, clock_ms());
	scoreboard_error(w->line, r->why.text);
}

static void
plan_next(struct worker *w, const struct tick_result *res, int64_t began)
{
	struct candidates	*c = &w->tick.backlog.candidates;
	struct lanes		*lanes = w->tick.backlog.lanes;
	struct poll_result	 r = { .found = res->picked,
				     .worked = res->claimed > 0,
				     .began = began };

	r.more = r.worked ? res->left : res->more;
	r.waiting = lanes_count(lanes) > 0;
	r.due = sooner(candidates_next_due(c),
	    type_breaker_wants_at(&w->relay.breaker, c->heads_at));
	/*
	 * If nothing waits for the destination any more, because rows were
	 * discarded or the partition has moved, whether it works is not known.
	 * Keys that wait for something else do not count: they are halted, or
	 * their first message is due later or has a type that is refused.
	 */
	if (!r.worked && !r.more && w->route.throttle.active &&
	    !lanes_wait_for_route(lanes)) {
		log_info("no message waits here any more, so nothing is tried, "
		    "and whether the destination takes any is not known");
		w->route.throttle.active = false;
		w->route.throttle.nkeys = 0;
		worker_unpause(w);
	}
	poll_interval_polled(&w->poll, &r, clock_ms());
}

static void
show_state(struct worker *w)
{
	enum scoreboard_state	state = SCOREBOARD_RUNNING;

	if (w->db.throttle.active && !w->db.proven)
		return;		/* so far it is no better than before */
	if (w->route.throttle.active)
		state = SCOREBOARD_PAUSED;
	else if (fleet_stands_by(&w->fleet))
		state = SCOREBOARD_STANDBY;
	scoreboard_state(w->line, state, clock_ms());
}

/* Also of a worker that stands back and has no ticks. */
void
worker_show_leases(struct worker *w)
{
	const struct fleet	*f = &w->fleet;
	size_t			 owned = w->line->owned;

	w->line->owned = (uint32_t)f->nowned;
	w->line->desired = (uint32_t)f->ndesired;
	w->line->strangers = (uint32_t)f->strangers;
	if (owned == f->nowned)
		return;
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("owned", f->nowned),
	    LOG_NUMBER("desired", f->ndesired),
	    LOG_NUMBER("workers", f->active)),
	    "holds %zu of the %zu partitions it wants; workers: %zu",
	    f->nowned, f->ndesired, f->active);
	if (w->line != &w->no_line)
		setproctitle("-outbox-master: worker %u [%zu partitions]",
		    w->a->slot, f->nowned);
}

/* The batch is written back, by the tick or after it. */
static void
tick_is_over(struct worker *w, const struct tick_result *res, int64_t start)
{
	struct scoreboard_line	*l = w->line;
	int64_t			 took = clock_us() - start;

	histogram_add(&w->totals->tick, histogram_us, took);
	worker_not_busy(w, false);
	w->ticks++;
	l->ticks++;
	l->delivered += res->settled.delivered;
	l->duplicates += res->relay.duplicates;
	l->failed += res->relay.failed;
	l->dead += res->settled.dead;
	l->fenced += res->settled.fenced;
	l->skipped += res->relay.skipped;
	l->former_labels += res->former;
	if (res->former > 0)
		l->former_label_at = time(NULL);
	if (l->repartition == SCOREBOARD_REPARTITION_ASKED &&
	    w->fleet.wish == 0)
		l->repartition = SCOREBOARD_REPARTITION_OVER;
	l->waiting = (uint32_t)lanes_count(w->tick.backlog.lanes);
	complain(w, res);
	show_refused(w);
	show_rows(w);
	report_tick(&w->report, &w->fleet, res, took / 1000,
	    w->poll.pause_ms, clock_ms());
}

void
worker_tick(struct worker *w)
{
	struct tick_result	res;
	struct err		e;
	int64_t			start = clock_us();

	w->clean = true;
	w->asked_at = start / 1000;
	show_state(w);
	if (tick_run(&w->tick, (size_t)w->conf->worker.batch_size, &res,
	    &e) < 0) {
		/* The rows of the last wake-up may still wait. */
		w->poll.at = clock_ms();
		w->fleet_waits = false;
		show_rows(w);
		worker_db_failed(w, &e);
		return;
	}
	reconnect_works(&w->db, clock_ms());
	plan_next(w, &res, start / 1000);
	tick_is_over(w, &res, start);
	show_state(w);
}

void
worker_settle(struct worker *w)
{
	struct tick_result	res = { 0 };
	struct err		e;
	int64_t			start = clock_us();

	w->fleet_waits = false;
	w->asked_at = start / 1000;
	if (tick_settle(&w->tick, &res, &e) < 0)
		worker_db_failed(w, &e);
	else
		tick_is_over(w, &res, start);
}
