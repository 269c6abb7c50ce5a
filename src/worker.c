/*
 * worker.c - connect, relay until told to stop, leave tidily
 *
 * The loop has no state of its own beyond "what is due when": database away,
 * broker away and destination down are each a time at which to try again.
 * Nothing here ends the process except being told to.
 */

#include "worker.h"

#include <string.h>

#include <bsd/string.h>
#include <bsd/unistd.h>

#include "bus.h"
#include "clock.h"
#include "link.h"
#include "log.h"
#include "pace.h"
#include "recover.h"
#include "sig.h"

#define REFUSED_CEILING_MS	1000
#define BUSY_PAUSE_MS		1000
#define WAIT_MAX_MS		1000
#define CHECK_MS		(5 * 60 * 1000)	/* between looks at the stream */
#define LEAVE_MS		5000	/* to write back what is published */

struct worker {
	const struct worker_args	*a;
	const struct conf		*conf;
	struct store			*store;
	struct hold			*hold;
	struct member			 member;
	struct relay			 relay;
	struct tick			 tick;
	struct recover			 recover;
	struct report			 report;
	struct board_line		 no_line;
	struct board_line		*line;

	struct link			 db, broker, route;
	struct trouble			 failures;	/* of single messages */
	struct trouble			 busy;		/* statements that wait */
	struct trouble			 advisory;	/* is forbidden */
	struct trouble			 deaf;		/* wake.subject is */
	int64_t				 busy_since;	/* 0: they do not */
	int64_t				 check_at;	/* the stream, again */
	char				 warned[sizeof(struct err)];
	bool				 announced;	/* taken over or registered */
	bool				 changed_count;
	bool				 warned_count;
	char				 prefix[STORE_PREFIX];	/* of message ids */
	struct pace			 pace;		/* of ticks */
	unsigned			 moves_seen;	/* of the member */
	bool				 clean;		/* the last tick was */
	size_t				 failures_seen;	/* of links */
	unsigned			 ticks;
};

static void
set_state(struct worker *w, enum board_state state)
{
	w->line->state = state;
}

static void
sign_of_life(struct worker *w)
{
	w->line->alive_at = clock_ms();
}

/* A link is away: it is tried again later, and everybody may see why. */
static void
is_away(struct worker *w, struct link *l, const char *text,
    enum board_state state)
{
	link_failed(l, text, clock_ms());
	w->failures_seen++;
	set_state(w, state);
	strlcpy(w->line->last_error, text, sizeof(w->line->last_error));
	w->clean = false;
}

/* Nothing happened, but for how long already?  Leases do not wait. */
static void
db_is_busy(struct worker *w, const struct err *e)
{
	int64_t	now = clock_ms();

	link_pause(&w->db, BUSY_PAUSE_MS, now);
	w->clean = false;
	if (w->busy_since == 0)
		w->busy_since = now;
	if (now - w->busy_since < w->conf->worker.lease_renew)
		log_debug("%s; tried again", e->text);
	else
		trouble_met(&w->busy, e->text, now);
}

static void
db_is_not_busy(struct worker *w)
{
	w->busy_since = 0;
	trouble_over(&w->busy, "statements", clock_ms());
}

/* A statement failed; e tells which and how. */
static void
db_failed(struct worker *w, struct err *e)
{
	switch (store_fault(w->store)) {
	case DB_FINE:
	case DB_BUSY:
		db_is_busy(w, e);
		return;
	case DB_LOST:
	case DB_CLOSED:
	case DB_READONLY:
	case DB_WRONG:
		/* A fresh connection looks at the schema afresh, too. */
		store_close(w->store);
		is_away(w, &w->db, e->text, BOARD_NO_DATABASE);
	}
}

/* The settings may differ from the file: the database wins. */
static int
agree_on_count(struct worker *w, struct err *e)
{
	unsigned	ours = (unsigned)w->conf->outbox.partition_count;
	unsigned	count = ours;
	bool		change = w->a->change_count && !w->changed_count;

	if (store_settings(w->store, change, &count, e) < 0)
		return -1;
	w->changed_count = true;
	/* One of them is enough to say it. */
	if (count != ours && !w->warned_count && w->a->slot == 0) {
		log_warn("outbox.partition_count is %u here and %u in the "
		    "database, which wins", ours, count);
		w->warned_count = true;
	}
	return store_fill_partitions(w->store, count, e);
}

/* Take the place of the dead, or just one's own. */
static int
announce(struct worker *w, struct err *e)
{
	if (w->announced) {
		if (store_register(w->store, e) < 0)
			return -1;
		return store_raise_epochs(w->store, e);
	}
	for (size_t i = 0; i < w->a->nheirs; i++) {
		if (store_take_over(w->store, w->a->heirs[i], e) < 0)
			return -1;
		store_void_claims_of(w->store, ident_nonce(w->a->heirs[i]));
	}
	if (w->a->nheirs == 0 && store_register(w->store, e) < 0)
		return -1;
	w->announced = true;
	return 0;
}

static int
prepare(struct worker *w, struct err *e)
{
	if (store_learn(w->store, e) < 0 || agree_on_count(w, e) < 0 ||
	    announce(w, e) < 0)
		return -1;
	store_prefix(w->store, w->prefix);
	w->relay.has_dead = store_has_dead(w->store);
	member_restart(&w->member);
	return 0;
}

static void
open_db(struct worker *w)
{
	struct err	e;

	if (store_open(w->store, &e) < 0 || prepare(w, &e) < 0) {
		store_close(w->store);
		is_away(w, &w->db, e.text, BOARD_NO_DATABASE);
		return;
	}
	link_opened(&w->db, clock_ms());
}

static void
open_broker(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	struct err	 e;

	if (p->ops->open(p->arg, &e) < 0) {
		is_away(w, &w->broker, e.text, BOARD_NO_BROKER);
		return;
	}
	link_opened(&w->broker, clock_ms());
	w->check_at = 0;
	/* Nobody could ring while it was away. */
	pace_ring(&w->pace, clock_ms());
	recover_connected(&w->recover);
}

/* It was open and is not any more. */
static void
broker_lost(struct worker *w)
{
	bool	proven = w->broker.proven;

	w->broker.opened_at = 0;
	if (proven)
		log_info("broker: the connection was lost");
	else
		is_away(w, &w->broker, "broker: hangs up on us",
		    BOARD_NO_BROKER);
}

/* Each warning once, and not from every worker. */
static void
warn_of_stream(struct worker *w, const struct stream_report *r)
{
	const char	*stream = w->conf->nats.stream;

	if (r->nwarnings == 0 || w->a->slot != 0 ||
	    strcmp(w->warned, r->warnings[0].text) == 0)
		return;
	for (size_t i = 0; i < r->nwarnings; i++)
		log_warn("stream %s %s", stream, r->warnings[i].text);
	strlcpy(w->warned, r->warnings[0].text, sizeof(w->warned));
}

/*
 * Look at the stream after each connect and now and then. What cannot work
 * keeps the route paused, and no message is tried.
 */
static void
check_stream(struct worker *w)
{
	struct pub		*p = &w->relay.pub;
	struct stream_report	 r;
	struct err		 e;

	if (!p->ops->check(p->arg, &r, &e)) {
		/* Who may not ask may still be allowed to publish. */
		log_debug("stream not checked: %s", e.text);
	} else if (r.unfit) {
		err_set(&e, "%s", r.why.text);
		err_in(&e, "destination paused: stream %s",
		    w->conf->nats.stream);
		is_away(w, &w->route, e.text, BOARD_PAUSED);
		w->check_at = w->route.try_at;
		return;
	} else
		warn_of_stream(w, &r);
	w->check_at = clock_ms() + CHECK_MS;
}

static bool
can_ask_db(const struct worker *w)
{
	return store_is_open(w->store) && clock_ms() >= w->db.try_at;
}

/* Called by the relay while a batch is out. */
static enum keep
keep(void *arg)
{
	struct worker	*w = arg;
	struct err	 e;

	sign_of_life(w);
	if (got_orphaned || got_term > 1)
		return KEEP_ABANDON;
	/* A lost database does not stop what is out: settle decides. */
	if (can_ask_db(w) &&
	    member_keep_alive(&w->member, clock_ms(), &e) < 0)
		db_failed(w, &e);
	return got_term || got_handover || !store_is_open(w->store) ?
	    KEEP_FINISH : KEEP_ON;
}

static void
count_tick(struct worker *w, const struct tick_result *res)
{
	struct board_line	*l = w->line;

	w->ticks++;
	l->ticks++;
	l->delivered += res->settled.delivered;
	l->duplicates += res->relay.duplicates;
	l->failed += res->relay.failed;
	l->dead += res->settled.dead;
	l->fenced += res->settled.fenced;
	l->skipped += res->relay.skipped;
	l->owned = (uint32_t)w->member.nparts;
	l->desired = (uint32_t)w->member.ndesired;
	l->waiting = (uint32_t)hold_nlanes(w->hold);
}

static void
complain(struct worker *w, const struct tick_result *res)
{
	struct err	e;

	if (res->settled.fenced > 0)
		log_warn("fenced: %llu rows were no longer ours when they were "
		    "to be written back",
		    (unsigned long long)res->settled.fenced);
	if (res->relay.down) {
		err_set(&e, "%s", res->relay.why.text);
		err_in(&e, "destination paused, no message is to blame");
		/* Answers that come at once cost little to ask for again. */
		w->route.backoff.ceiling_ms = res->relay.silent ?
		    LINK_CEILING_MS : REFUSED_CEILING_MS;
		is_away(w, &w->route, e.text, BOARD_PAUSED);
		return;
	}
	if (res->settled.delivered > 0) {
		link_works(&w->route, clock_ms());
		link_works(&w->broker, clock_ms());
	}
	if (res->relay.failed > 0) {
		w->clean = false;
		err_set(&e, "%u message(s) failed, %llu of them dead: %s",
		    res->relay.failed, (unsigned long long)res->settled.dead,
		    res->relay.why.text);
		trouble_met(&w->failures, e.text, clock_ms());
		strlcpy(w->line->last_error, res->relay.why.text,
		    sizeof(w->line->last_error));
	}
}

static void
plan_next(struct worker *w, const struct tick_result *res, int64_t began)
{
	enum pace_found	found = PACE_NOTHING;

	if (res->claimed > 0)
		found = res->left ? PACE_WORK : PACE_ALL;
	else if (res->more)
		found = PACE_MORE;
	else if (hold_nlanes(w->hold) > 0)
		found = PACE_WAITING;
	pace_looked(&w->pace, found, look_next_due(&w->tick.look), began,
	    clock_ms());
}

/* What does not want to hear it does not spin over it either. */
static int
bell_to_wait_for(const struct worker *w)
{
	return w->a->bell == NULL || !pace_listens(&w->pace, clock_ms()) ? -1 :
	    bell_fd(w->a->bell, w->a->slot);
}

/* Before each look: a ring that comes during one means another. */
static void
hear(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	bool		 rung = p->ops->woken(p->arg);

	if (w->a->bell != NULL && bell_heard(w->a->bell, w->a->slot))
		rung = true;
	if (rung)
		pace_ring(&w->pace, clock_ms());
}

/* Somebody will say when there is work. */
static bool
expects_rings(const struct conf *conf)
{
	return conf->wake.subject[0] != '\0' || conf->wake.binlog;
}

/*
 * For those who ring.  Shown first, looked at then: what was inserted before
 * it was shown is found by the look, and what is inserted later is rung for.
 */
static void
show_served(struct worker *w)
{
	uint64_t	served[BOARD_SERVED / 64] = { 0 };

	if (w->moves_seen == w->member.moves)
		return;
	w->moves_seen = w->member.moves;
	for (size_t i = 0; i < w->member.nparts; i++)
		board_serve(served, w->member.parts[i]->label);
	for (size_t i = 0; i < BOARD_SERVED / 64; i++)
		w->line->served[i] = served[i];
	pace_ring(&w->pace, clock_ms());
}

static void
show_partitions(struct worker *w)
{
	log_info("holds %zu of the %zu partitions it wants; %zu workers",
	    w->member.nparts, w->member.ndesired, w->member.active);
	if (w->line != &w->no_line)
		setproctitle("-outbox-master: worker %u [%zu partitions]",
		    w->a->slot, w->member.nparts);
}

/* Everything of a batch is written back, with the tick or afterwards. */
static void
tick_is_over(struct worker *w, const struct tick_result *res, int64_t start)
{
	db_is_not_busy(w);
	count_tick(w, res);
	complain(w, res);
	report_tick(&w->report, &w->member, res, (clock_us() - start) / 1000,
	    w->pace.pause_ms, clock_ms());
}

static void
run_tick(struct worker *w)
{
	struct tick_result	res;
	struct err		e;
	int64_t			start = clock_us();
	bool			paused = w->route.trouble.active;
	size_t			owned = w->line->owned;

	w->clean = true;
	set_state(w, paused ? BOARD_PAUSED : BOARD_RUNNING);
	if (tick_run(&w->tick, (size_t)w->conf->worker.batch_size, &res,
	    &e) < 0) {
		db_failed(w, &e);
		return;
	}
	link_works(&w->db, clock_ms());
	plan_next(w, &res, start / 1000);
	tick_is_over(w, &res, start);
	if (owned != w->line->owned)
		show_partitions(w);
}

static void
settle(struct worker *w)
{
	struct tick_result	res = { 0 };
	struct err		e;
	int64_t			start = clock_us();

	if (tick_settle(&w->tick, &res, &e) < 0)
		db_failed(w, &e);
	else
		tick_is_over(w, &res, start);
}

/* Look whether the stream has lost what it acknowledged. */
static void
recover(struct worker *w)
{
	struct recover	*r = &w->recover;
	struct err	 e;

	if (recover_round(r, w->member.place == 0, &e) < 0)
		db_failed(w, &e);
	w->line->recovered += r->recovered;
	if (r->recovered > 0)	/* some of our epochs may be old now */
		member_look_now(&w->member);
	r->recovered = 0;
	if (r->alarm.text[0] != '\0')
		strlcpy(w->line->last_error, r->alarm.text,
		    sizeof(w->line->last_error));
	r->alarm.text[0] = '\0';
	if (r->gone)		/* says so, and pauses the route */
		w->check_at = 0;
	r->gone = false;
	if (r->waits_for.text[0] != '\0') {
		err_in(&r->waits_for, "destination paused until the stream was "
		    "looked at");
		is_away(w, &w->route, r->waits_for.text, BOARD_PAUSED);
	}
	r->waits_for.text[0] = '\0';
}

/*
 * A look for rows that is due before the next look at the leases goes with
 * this one: an idle worker has one statement a second then instead of two.
 * Only if nothing comes between it and the tick.
 */
static bool
is_nearly_due(const struct worker *w, int64_t now)
{
	return w->pace.fixed_ms == 0 && w->pace.at < now + MEMBER_LOOK_MS &&
	    now >= w->route.try_at && look_would_ask(&w->tick.look) &&
	    now < recover_next(&w->recover, w->member.place == 0);
}

static void
round_of_member(struct worker *w)
{
	int64_t		now = clock_ms();
	struct err	e;

	w->member.ask = is_nearly_due(w, now);
	/* Leases move between batches only. */
	if ((w->tick.unsettled ?
	    member_keep_alive(&w->member, now, &e) :
	    member_round(&w->member, now, &e)) < 0)
		db_failed(w, &e);
	else
		link_lasts(&w->db, clock_ms());
	show_served(w);
	if (w->member.rows != MEMBER_NOT_ASKED)
		w->pace.at = now;
}

static bool
can_publish(const struct worker *w)
{
	const struct pub	*p = &w->relay.pub;

	return can_ask_db(w) && !w->tick.unsettled &&
	    p->ops->is_open(p->arg) && clock_ms() >= w->route.try_at;
}

/* Do what is due, in the order in which one thing needs the other. */
static void
step(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	int64_t		 now = clock_ms();

	if (!p->ops->is_open(p->arg) && w->broker.opened_at != 0)
		broker_lost(w);
	if (!p->ops->is_open(p->arg) && now >= w->broker.try_at)
		open_broker(w);
	else if (p->ops->is_open(p->arg))
		link_lasts(&w->broker, clock_ms());
	if (!store_is_open(w->store) && now >= w->db.try_at)
		open_db(w);
	if (p->ops->is_open(p->arg) && clock_ms() >= w->check_at)
		check_stream(w);
	w->member.rows = MEMBER_NOT_ASKED;
	if (can_ask_db(w))
		round_of_member(w);
	if (can_ask_db(w) && w->tick.unsettled)
		settle(w);
	if (can_publish(w))
		recover(w);
	now = clock_ms();
	if (can_publish(w) && recover_is_ready(&w->recover) &&
	    now >= w->pace.at)
		run_tick(w);
}

static int64_t
next_work(const struct worker *w)
{
	const struct recover	*r = &w->recover;
	int64_t			 look = recover_next(r, w->member.place == 0);

	return recover_is_ready(r) ? sooner(look, w->pace.at) : look;
}

static int64_t
next_step(const struct worker *w)
{
	const struct pub	*p = &w->relay.pub;
	bool			 broker = p->ops->is_open(p->arg);
	int64_t			 at = w->db.try_at;

	if (store_is_open(w->store)) {
		int64_t work = member_next(&w->member);

		if (broker)
			work = sooner(sooner(work, w->check_at),
			    later(next_work(w), w->route.try_at));
		if (w->tick.unsettled)
			work = 0;
		at = later(at, work);
	}
	return broker ? at : sooner(at, w->broker.try_at);
}

/* What the broker complained of meanwhile. */
static void
pass_on_complaints(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	struct err	 e;

	if (p->ops->complaint(p->arg, PUB_MESSAGES, &e))
		log_warn("broker: %s", e.text);
	if (p->ops->complaint(p->arg, PUB_TOLD, &e)) {
		err_in(&e, "nats.advisory: nobody is told of dead messages");
		trouble_met(&w->advisory, e.text, clock_ms());
	}
	/* One of them is enough to say it. */
	if (p->ops->complaint(p->arg, PUB_WAKE, &e) && w->a->slot == 0) {
		err_in(&e, "wake.subject: nobody can wake us");
		trouble_met(&w->deaf, e.text, clock_ms());
	}
}

static void
wait_for_work(struct worker *w)
{
	struct pub	*p = &w->relay.pub;
	struct err	 e;
	int64_t		 ms;

	sign_of_life(w);
	hear(w);	/* what another wait has noticed */
	ms = next_step(w) - clock_ms();
	p->ops->idle(p->arg, bell_to_wait_for(w),
	    ms < 0 ? 0 : ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms);
	hear(w);
	pass_on_complaints(w);
	if (sig_took(&got_usr1) && log_reopen(&e) < 0)
		log_error("%s; the old one stays", e.text);
}

static bool
is_over(const struct worker *w)
{
	size_t	hosts = w->conf->mysql.hosts.n;

	if (got_term || got_handover || got_orphaned)
		return true;
	/* --once: a tick, or what kept it from happening on every server. */
	return w->a->once && (w->ticks > 0 ||
	    w->failures_seen >= (hosts > 0 ? hosts : 1) +
	    w->conf->nats.servers.n - 1);
}

/* What is published must be written back, if that can be done in time. */
static void
settle_at_last(struct worker *w)
{
	int64_t	until = clock_ms() + LEAVE_MS;

	while (w->tick.unsettled && clock_ms() < until && !got_orphaned &&
	    got_term < 2) {
		if (!store_is_open(w->store) && clock_ms() >= w->db.try_at)
			open_db(w);
		if (store_is_open(w->store))
			settle(w);
		if (w->tick.unsettled)
			sig_wait(NULL, 0, LINK_FLOOR_MS);
	}
	if (w->tick.unsettled)
		log_warn("%u published messages could not be written back: "
		    "they will be sent again with the same ids",
		    w->tick.relayed.delivered);
}

/* Returns whether nothing of this worker is left in the database. */
static bool
leave(struct worker *w)
{
	struct err	e;

	set_state(w, BOARD_STOPPING);
	settle_at_last(w);
	/* Asked to leave right after having been asked to hand over? */
	sig_wait(NULL, 0, 0);
	if (got_orphaned || (got_handover && !got_term))
		return false;
	/* A failed statement has closed it; our row and leases are there. */
	if (!store_is_open(w->store) && (w->announced || w->a->nheirs > 0))
		open_db(w);
	if (!store_is_open(w->store))
		return !w->announced && w->a->nheirs == 0;
	if (store_leave(w->store, &e) < 0) {
		log_warn("%s: the leases run out by themselves", e.text);
		return false;
	}
	return true;
}

static void
init(struct worker *w, const struct worker_args *a)
{
	memset(w, 0, sizeof(*w));
	w->a = a;
	w->conf = a->conf;
	w->line = a->line != NULL ? a->line : &w->no_line;
	w->clean = true;
	w->pace = (struct pace){ .fixed_ms = a->interval_ms,
	    .ceiling_ms = w->conf->worker.idle_backoff_ms,
	    .linger_ms = expects_rings(w->conf) ? 0 : PACE_LINGER_MS };
	link_init(&w->db, "database");
	link_init(&w->broker, "broker");
	link_init(&w->route, "destination");
	w->failures.any_text = true;	/* each names its message */
	/* The publisher first: see bus.h. */
	w->relay.pub = bus_new(w->conf, a->id);
	w->store = store_new(w->conf, a->id);
	w->hold = hold_new();
	member_init(&w->member, w->conf, w->store, w->hold);
	w->relay.conf = w->conf;
	w->relay.form = (struct envelope_form){ w->conf->nats.subject,
	    w->prefix, w->conf->nats.stream };
	w->relay.keep = keep;
	w->relay.keep_arg = w;
	w->relay.handling = &w->line->handling;
	w->relay.suspect = a->suspect;
	recover_init(&w->recover, w->conf, w->store, &w->relay);
	tick_init(&w->tick, w->conf, w->store, &w->member, w->hold, &w->relay);
	report_init(&w->report, &a->report, a->id, clock_ms());
}

static void
fini(struct worker *w)
{
	tick_free(&w->tick);
	report_free(&w->report);
	member_free(&w->member);
	hold_free(w->hold);
	store_free(w->store);
	kinds_free(&w->relay.kinds);
	envelope_free(&w->relay.envelope);
	bus_free(&w->relay.pub);
}

int
worker_main(const struct worker_args *a)
{
	struct worker	w;
	bool		left, clean;

	init(&w, a);
	set_state(&w, BOARD_STARTING);
	sign_of_life(&w);
	while (!is_over(&w)) {
		step(&w);
		if (!is_over(&w))
			wait_for_work(&w);
	}
	if (a->once && w.clean && w.member.nparts == 0)
		log_warn("owns no partition: other workers hold the leases");
	left = leave(&w);
	clean = w.clean && !w.tick.unsettled;
	fini(&w);
	if (a->once)
		return clean ? 0 : 1;
	return left ? 0 : SLOT_HANDED_OVER;
}
