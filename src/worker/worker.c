/*
 * worker.c - the loop: connect, relay until a signal, leave
 *
 * Database, broker and destination each have a time of the next try.  The loop
 * does what is due and waits for the nearest of these times.  No failure ends
 * the process.
 */

#include "worker/worker_impl.h"

#include <string.h>

#include "drivers/drivers.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/sig.h"

#define WAIT_MAX_MS		1000
#define VOID_MS			1000	/* look for workers that died */
#define LEAVE_MS		5000	/* to write back the last outcomes */
#define AUDIT_FIRST_MS		1000	/* after a connect, before all else */

static bool
can_ask_db(const struct worker *w)
{
	return store_is_open(w->store) && clock_ms() >= w->db.try_at;
}

/* Called by the relay while it publishes a batch. */
static enum keep
keep(void *arg)
{
	struct worker	*w = arg;
	struct err	 e;

	w->asked_at = w->line->alive_at = clock_ms();
	if (got_orphaned || got_term > 1)
		return KEEP_ABANDON;
	/* Without a database, still wait for the PubAcks: settle tries again. */
	if (can_ask_db(w) &&
	    fleet_keep_alive(&w->fleet, clock_ms(), &e) < 0) {
		w->fleet_waits = true;
		worker_db_failed(w, &e);
	}
	return got_term || got_handover || !store_is_open(w->store) ?
	    KEEP_FINISH : KEEP_ON;
}

/* Heartbeat, renewal, and the leases that are to be taken or released. */
static void
stay_in_fleet(struct worker *w)
{
	struct fleet	*f = &w->fleet;
	struct err	 e;
	int		 rc;

	w->asked_at = clock_ms();
	/* Leases are taken and released only between two batches. */
	if (tick_is_open(&w->tick))
		rc = fleet_keep_alive(f, w->asked_at, &e);
	else {
		rc = fleet_round(f, w->asked_at, &e);
		tick_adopt(&w->tick);
	}
	if (rc < 0) {
		w->fleet_waits = true;
		worker_db_failed(w, &e);
	} else {
		worker_not_busy(w, true);
		reconnect_lasts(&w->db, clock_ms());
	}
	if (f->none_why.text[0] != '\0')
		scoreboard_error(w->line, f->none_why.text);
	f->none_why.text[0] = '\0';
	if (f->ntaken > 0 || clock_ms() - w->voided_at >= VOID_MS)
		worker_void_claims(w);
	/* The fleet counts since it was last cleared. */
	w->totals->leases_taken += f->ntaken;
	w->totals->leases_released += f->ngiven;
	w->totals->leases_lost += f->nlost;
	f->ntaken = f->ngiven = f->nlost = 0;
	worker_show_labels(w);
	worker_show_leases(w);
	worker_stand_back(w);
}

static bool
can_publish(const struct worker *w)
{
	return can_ask_db(w) && !tick_is_open(&w->tick) &&
	    pub_any_open(w->relay.pubs) && clock_ms() >= w->route.try_at;
}

static bool
is_broker_open(const struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);

	return p != NULL && pub_is_open(p);
}

/*
 * Nothing goes to a stream that has to be audited first.  With several
 * destinations the relay sees to that, and the others go on.  But most audits
 * take a moment after a connect: the others wait for them, or each start would
 * refuse what is for the stream.
 */
static bool
may_tick(const struct worker *w)
{
	int64_t	connected_at = later(w->db.opened_at,
		    w->lines[w->relay.stream].opened_at);
	bool	all_wait = is_broker_open(w) && w->audit.failures == 0 &&
		    (w->a->once || clock_ms() - connected_at < AUDIT_FIRST_MS);

	return stream_audit_is_ready(&w->audit) ||
	    (w->relay.routes.several && !all_wait);
}

/* Do the steps that are due; each needs those before it. */
static void
step(struct worker *w)
{
	int64_t	now = clock_ms();

	worker_follow_listener(w);
	for (size_t i = 0; pub_next(w->relay.pubs, &i) != NULL; i++)
		worker_keep_line(w, (enum conf_driver)i);
	worker_note_reach(w);	/* before it registers */
	if (!store_is_open(w->store) && now >= w->db.try_at)
		worker_open_db(w);
	if (is_broker_open(w) && clock_ms() >= w->check_at)
		worker_check_stream(w);
	if (can_ask_db(w) && clock_ms() >= w->server_at) {
		struct err	e;

		if (worker_look_at_server(w, &e) < 0)
			worker_db_failed(w, &e);
	}
	if (can_ask_db(w))
		stay_in_fleet(w);
	if (can_ask_db(w) && tick_is_open(&w->tick))
		worker_settle(w);
	if (can_publish(w) && is_broker_open(w))
		worker_audit_stream(w);
	if (!can_publish(w))
		return;
	w->relay.unaudited = !stream_audit_is_ready(&w->audit);
	if (may_tick(w) && clock_ms() >= w->poll.at)
		worker_tick(w);
}

/* When a step is due; the database comes before all of them. */
static int64_t
next_step(const struct worker *w)
{
	const struct pub	*p;
	int64_t			 at = w->db.try_at;

	if (store_is_open(w->store)) {
		int64_t work = fleet_next(&w->fleet), tick = w->poll.at;

		if (is_broker_open(w)) {
			int64_t audit = stream_audit_next(&w->audit,
			    w->fleet.rank == 0);

			tick = may_tick(w) ? sooner(audit, tick) : audit;
			work = sooner(work, w->check_at);
		}
		if (pub_any_open(w->relay.pubs))
			work = sooner(work, later(tick, w->route.try_at));
		if (tick_is_open(&w->tick))
			work = 0;
		at = later(at, work);
	}
	for (size_t i = 0; (p = pub_next(w->relay.pubs, &i)) != NULL; i++)
		if (!pub_is_open(p))
			at = sooner(at, w->lines[i].try_at);
	return at;
}

static void
wait_for_work(struct worker *w)
{
	struct err	e;
	int64_t		ms;

	scoreboard_alive(w->line, clock_ms());
	report_write(&w->report);
	worker_take_wakeups(w);	/* wake-ups that came during other waits */
	ms = next_step(w) - clock_ms();
	pub_wait(w->relay.pubs, CONF_DRIVERS, worker_wakeup_fd(w),
	    ms < 0 ? 0 : ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms);
	worker_take_wakeups(w);
	worker_pass_on_complaints(w);
	if (sig_took(&got_usr1) && log_reopen(&e) < 0)
		log_error("cannot reopen the log: %s; still writing to the old "
		    "file", e.text);
}

static bool
is_over(const struct worker *w)
{
	if (got_term || got_handover || got_orphaned)
		return true;
	/* --once: after a tick, or after a failure for each NATS server. */
	return w->a->once && (w->ticks > 0 ||
	    w->failures_seen >= w->conf->nats.servers.n);
}

/* Returns whether nothing of this worker is left in the database. */
static bool
leave(struct worker *w)
{
	const struct batch	*b = &w->tick.settle.batch;
	int64_t			 until = clock_ms() + LEAVE_MS;
	size_t			 nsent = 0;
	struct err		 e;

	scoreboard_state(w->line, SCOREBOARD_STOPPING, clock_ms());
	/* Write back the outcomes of published messages. */
	while (tick_is_open(&w->tick) && clock_ms() < until && !got_orphaned &&
	    got_term < 2) {
		if (!store_is_open(w->store) && clock_ms() >= w->db.try_at)
			worker_open_db(w);
		if (store_is_open(w->store))
			worker_settle(w);
		if (tick_is_open(&w->tick))
			sig_wait(NULL, 0, RECONNECT_FLOOR_MS);
	}
	for (size_t i = 0; i < b->n; i++)
		nsent += b->msgs[i].outcome == OUT_DELIVERED;
	if (tick_is_open(&w->tick))
		log_warn("%zu published messages could not be written back: "
		    "they will be sent again with the same ids", nsent);
	/* Take a SIGTERM that came right after SIGUSR2. */
	sig_wait(NULL, 0, 0);
	if (store_is_open(w->store) && fleet_note_former(&w->fleet, &e) < 0)
		log_debug("%s", e.text);
	if (got_orphaned || (got_handover && !got_term))
		return false;
	/* A failed statement closed it, but our row and leases remain. */
	if (!store_is_open(w->store) &&
	    (w->announced || w->a->npredecessors > 0))
		worker_open_db(w);
	if (!store_is_open(w->store))
		return !w->announced && w->a->npredecessors == 0;
	if (store_leave(w->store, &e) < 0) {
		log_warn("cannot release the leases: %s: they expire by "
		    "themselves", e.text);
		return false;
	}
	return true;
}

static void
init(struct worker *w, const struct worker_args *a)
{
	const struct pub	*p;
	struct err		 e;

	memset(w, 0, sizeof(*w));
	w->a = a;
	w->conf = a->conf;
	w->line = a->line != NULL ? a->line : &w->no_line;
	w->line->server[0] = '\0';
	w->totals = a->totals != NULL ? a->totals : &w->no_totals;
	w->clean = true;
	w->poll = (struct poll_interval){ .fixed_ms = a->interval_ms,
	    .linger_ms = a->interval_ms > 0 ? 0 : w->conf->worker.linger_ms };
	/* Each text names its message. */
	w->failures.any_text = w->renamed.any_text = w->unread.any_text = true;

	/* The publisher first: see drivers.h. */
	w->relay.stream = drivers_new(w->relay.pubs, w->conf, a->id);
	reconnect_init(&w->db, "database");
	reconnect_init(&w->route, "publishing");
	w->route.each_text = true;
	for (size_t i = 0; (p = pub_next(w->relay.pubs, &i)) != NULL; i++) {
		reconnect_init(&w->lines[i], p->ops->peer);
		/* Only one worker logs it. */
		if (a->slot == 0 && p->ops->caution(p->arg, &e))
			log_warn("%s", e.text);
	}
	/* Workers of one master lose a server together: one of them logs it. */
	if (a->outages != NULL) {
		w->db.outage = &a->outages[SCOREBOARD_OUTAGE_DATABASE];
		w->route.outage = &a->outages[SCOREBOARD_OUTAGE_PUBLISHING];
		for (size_t i = 0; pub_next(w->relay.pubs, &i) != NULL; i++)
			w->lines[i].outage =
			    &a->outages[SCOREBOARD_OUTAGE_BROKER + i];
	}

	w->store = store_new(w->conf, a->id, w->conf->worker.lease_renew);
	db_observe(store_db(w->store), totals_statement, w->totals);
	db_set_test(store_db(w->store), worker_test_server, w);
	w->db.backoff.ceiling_ms = DB_PAUSE_MS;
	if (a->board != NULL)
		store_say_instance(w->store, a->board->instance);
	fleet_init(&w->fleet, w->conf, w->store);
	w->relay.conf = w->conf;
	w->relay.form = envelope_form_of(w->conf, w->prefix);
	w->relay.form.origin = w->audit.origin;
	route_set_init(&w->relay.routes, w->conf, &w->relay.form);
	w->relay.figures = a->figures != NULL ? a->figures : &w->no_figures;
	figures_begin(w->relay.figures, w->conf, w->relay.routes.several);
	w->relay.keep = keep;
	w->relay.keep_arg = w;
	w->relay.handling = &w->line->handling;
	if (a->board != NULL)
		w->relay.suspects = a->board->suspects;
	w->relay.commit_to_ack = &w->totals->commit_to_ack;
	w->relay.publish_to_ack = &w->totals->publish_to_ack;
	worker_begin_reach(w);
	stream_audit_init(&w->audit, w->conf, w->store, &w->relay);
	tick_init(&w->tick, w->conf, w->store, &w->fleet, &w->relay);
	w->tick.totals = w->totals;
	report_init(&w->report, &a->report, a->id, clock_ms());
}

int
worker_main(const struct worker_args *a)
{
	struct worker	w;
	bool		left, clean;

	init(&w, a);
	w.line->alive_at = clock_ms();
	scoreboard_state(w.line, SCOREBOARD_STARTING, w.line->alive_at);
	while (!is_over(&w)) {
		step(&w);
		if (!is_over(&w))
			wait_for_work(&w);
	}
	if (a->once && w.clean && w.fleet.parts.n == 0)
		log_warn("owns no partition: other workers hold the leases");
	left = leave(&w);
	clean = w.clean && !tick_is_open(&w.tick);

	tick_free(&w.tick);
	report_free(&w.report);
	fleet_free(&w.fleet);
	store_free(w.store);
	type_breaker_free(&w.relay.breaker);
	envelope_free(&w.relay.envelope);
	for (size_t i = 0; i < CONF_DRIVERS; i++)
		pub_free(&w.relay.pubs[i]);
	if (a->once)
		return clean ? 0 : 1;
	return left ? 0 : EXIT_HANDED_OVER;
}
