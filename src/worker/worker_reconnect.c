/*
 * worker_reconnect.c - the state of database, broker and destination
 *
 * If one of them fails, that is logged once and shown on the scoreboard line,
 * and it is tried again after a backoff.
 */

#include "worker/worker_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "store/store_sql.h"
#include "util/clock.h"
#include "util/duration.h"
#include "util/log.h"

#define BUSY_PAUSE_MS		1000
#define LOCK_WAIT		1205	/* a lock was waited for too long */
#define MEMBER_STATE		3796	/* MySQL: the member is not ONLINE, */
#define CONSISTENCY_WAIT	3797	/* or lags too far behind its group */
#define CHECK_MS		(5 * 60 * 1000)	/* between stream checks */
#define UNAUDITED_MS		30000	/* until an audit is tried again */
#define UNFIT_CHECK_MS		1000	/* while others take messages */
#define REFUSED_CEILING_MS	1000
#define AUDIT_FAILURES		6	/* so many, and another server is asked */

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

void
worker_not_busy(struct worker *w, bool fleet)
{
	if (w->fleet_waits != fleet)
		return;
	w->line->wait.since = 0;
	log_throttle_over(&w->busy, "statements", clock_ms());
}

/* The statement did nothing.  Warn after a while: leases may expire. */
static void
db_is_busy(struct worker *w, const struct err *e)
{
	struct scoreboard_wait	*wait = &w->line->wait;
	int64_t			 now = clock_ms();

	reconnect_pause(&w->db, BUSY_PAUSE_MS, now);
	w->clean = false;
	strlcpy(wait->why, e->text, sizeof(wait->why));
	if (wait->since == 0)
		wait->since = db_last_code(store_db(w->store)) == LOCK_WAIT ||
		    w->fleet_waits ? w->asked_at : now;
	if (now - wait->since < SCOREBOARD_WAIT_MS)
		log_debug("%s; tried again", e->text);
	else
		log_throttle_warn(&w->busy, e->text, now);
}

/*
 * A statement has waited in vain.  With other hosts to choose from: has somebody
 * locked a row, or does the server block all that is written, as the donor of a
 * state transfer, or by FLUSH TABLES WITH READ LOCK?  The heartbeat tells.
 */
static bool
blocks_writes(struct worker *w)
{
	unsigned	code = db_last_code(store_db(w->store));
	bool		known;
	struct err	e;

	return w->conf->mysql.hosts.n > 1 && (code == LOCK_WAIT ||
	    code == MEMBER_STATE || code == CONSISTENCY_WAIT) &&
	    store_beat(w->store, &known, &e) < 0;
}

/* At once if it has worked: the pause is for what fails again and again. */
static void
reconnect_db(struct worker *w, struct err *e)
{
	bool	worked = w->db.proven;

	w->line->server[0] = '\0';
	if (w->conf->mysql.hosts.n > 1)
		err_in(e, "mysql %s", store_peer(w->store));
	w->line->wait.since = 0;
	worker_is_away(w, &w->db, e->text, SCOREBOARD_NO_DATABASE);
	if (worked)
		w->db.try_at = 0;
}

/* A new connection, at once: this one has not failed. */
static void
connect_anew(struct worker *w)
{
	store_close(w->store);
	w->line->server[0] = '\0';
	w->db.opened_at = w->db.try_at = 0;
	w->db.proven = false;
	w->clean = false;
}

void
worker_db_failed(struct worker *w, struct err *e)
{
	/*
	 * What was learnt of the tables is not so any more: learn it again at
	 * once, by a new connection.  Only if this one did some work; else it
	 * is no news.
	 */
	if (db_learnt_wrong(store_db(w->store)) && w->db.proven) {
		log_info("database: the tables have changed and are read "
		    "again: %s", e->text);
		connect_anew(w);
		return;
	}
	switch (store_fault(w->store)) {
	case DB_FINE:
		db_is_busy(w, e);
		return;
	case DB_BUSY:
		if (blocks_writes(w)) {
			db_leave(store_db(w->store));
			reconnect_db(w, e);
		} else
			db_is_busy(w, e);
		return;
	case DB_LOST:
	case DB_CLOSED:
	case DB_READONLY:
	case DB_WRONG:
		/* A new connection reads the schema again, too. */
		store_close(w->store);
		reconnect_db(w, e);
	}
}

/* If the partition count of the file is another one, the database wins. */
static int
agree_on_count(struct worker *w, struct err *e)
{
	unsigned	ours = (unsigned)w->conf->outbox.partition_count;
	unsigned	count = ours;
	struct counts	c;

	if (store_settings(w->store, &count, e) < 0 ||
	    store_read_counts(w->store, &c, e) < 0)
		return -1;
	w->line->counts_in = !store_is_pillar(w->store) ?
	    SCOREBOARD_COUNTS_TABLE : SCOREBOARD_COUNTS_FILE;
	if (w->a->repartition && !w->changed_count && count != ours)
		w->fleet.wish = ours;
	w->changed_count = true;
	/* Only one worker logs it. */
	if (count != ours && w->fleet.wish == 0 && !w->warned_count &&
	    w->a->slot == 0) {
		log_warn("outbox.partition_count is %u in the file and %u in "
		    "the database, which is used: correct the file", ours,
		    count);
		w->warned_count = true;
	}
	return store_fill_declared(w->store, &c, e);
}

/*
 * A partition of a worker that died on this host may come to this one, with rows
 * that the dead one has claimed.  They need not wait until the claims expire:
 * the epoch of our lease fences whatever it had begun.  The master may be
 * writing its list: half an id is nobody's.
 */
void
worker_void_claims(struct worker *w)
{
	struct predecessor	p;
	int64_t			now = clock_ms();

	if (w->a->board == NULL)
		return;
	w->voided_at = now;
	store_forget_dead(w->store);
	for (size_t i = 0; i < CONF_MAX_WORKERS * SLOT_PREDECESSORS; i++) {
		p = w->a->board->predecessors[i / SLOT_PREDECESSORS]
		    [i % SLOT_PREDECESSORS];
		if (now - p.died_at < w->conf->worker.claim_ttl &&
		    ident_is_valid(p.id))
			store_note_dead(w->store, ident_nonce(p.id));
	}
}

/* Take over the rows and leases of the predecessors, or register. */
static int
announce(struct worker *w, struct err *e)
{
	if (w->announced) {
		if (store_register(w->store, e) < 0)
			return -1;
		return store_bump_own_epochs(w->store, e);
	}
	for (size_t i = 0; i < w->a->npredecessors; i++)
		if (store_take_over(w->store, w->a->predecessors[i], e) < 0)
			return -1;
	worker_void_claims(w);
	if (w->a->npredecessors == 0 && store_register(w->store, e) < 0)
		return -1;
	w->announced = true;
	return 0;
}

/* One that is behind is no last resort while others here use another one. */
static int
refuse_demoted(const struct worker *w, struct err *e)
{
	const char	*peer = store_peer(w->store);
	char		 used[SCOREBOARD_SERVER];

	if (w->a->board == NULL || !db_is_demoted(store_db(w->store)) ||
	    !scoreboard_server(w->a->board, peer, used) ||
	    strcmp(used, peer) == 0)
		return 0;
	return err_set(e, "it lacks events of messages in the stream, and "
	    "other workers use %s", used);
}

/*
 * What makes a server good for a worker, see db_set_test().  announce() writes,
 * so it also waits, on a node of Galera, for all that was ordered before it:
 * what is read after it is no older than what this worker has seen elsewhere.
 */
int
worker_test_server(void *arg, struct err *e)
{
	struct worker	*w = arg;
	struct server	 s;	/* its name is registered */

	return refuse_demoted(w, e) < 0 ||
	    store_learn(w->store, e) < 0 || agree_on_count(w, e) < 0 ||
	    store_cluster(w->store, &s, e) < 0 || announce(w, e) < 0 ? -1 : 0;
}

/* Only one worker logs it. */
static void
tell_of_server(struct worker *w)
{
	const char	*others = db_passed_over(store_db(w->store));

	if (w->a->slot != 0 || w->conf->mysql.hosts.n < 2 ||
	    strcmp(w->server, store_peer(w->store)) == 0)
		return;
	strlcpy(w->server, store_peer(w->store), sizeof(w->server));
	if (others[0] == '\0')
		log_info("database: %s is used", w->server);
	else
		log_warn("database: %s is used, passed over: %s", w->server,
		    others);
}

void
worker_open_db(struct worker *w)
{
	char		used[SCOREBOARD_SERVER];
	struct err	e;

	w->line->server[0] = '\0';
	/* The first of the list may be an old primary that is back. */
	if (w->a->respawned && !w->opened_db && w->a->board != NULL &&
	    scoreboard_server(w->a->board, "", used))
		db_prefer(store_db(w->store), used);
	if (store_open(w->store, &e) < 0) {
		w->totals->connects_failed[TOTALS_DATABASE]++;
		worker_is_away(w, &w->db, e.text, SCOREBOARD_NO_DATABASE);
		return;
	}
	strlcpy(w->line->server, store_peer(w->store),
	    sizeof(w->line->server));
	tell_of_server(w);
	w->server_at = w->a->slot == 0 ? 0 : INT64_MAX;
	if (w->a->slot == 0)	/* only one logs it */
		store_warn_of_unstable(w->store);
	store_prefix(w->store, w->prefix);
	w->relay.has_dead = !store_is_pillar(w->store);
	/* What a scan of the connection before has left may be old. */
	candidates_drop(&w->tick.backlog.candidates);
	fleet_restart(&w->fleet);
	w->totals->connects[TOTALS_DATABASE]++;
	reconnect_opened(&w->db, clock_ms());
	/* One that is behind, and used all the same, is compared for the alarm. */
	stream_audit_database_opened(&w->audit,
	    db_is_demoted(store_db(w->store)) || (!w->a->respawned &&
	    !w->opened_db));
	if (db_is_demoted(store_db(w->store)))
		w->audit.may_leave = false;
	w->opened_db = true;
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
 * one of the list may.  That is no loss of the connection, so nothing tells it;
 * the reason is told as that of the pause.
 */
void
worker_change_server(struct worker *w)
{
	const struct pub	*p = relay_broker(&w->relay);

	if (w->conf->nats.servers.n < 2 || !pub_is_open(p))
		return;
	log_debug("broker: another server of nats.servers is tried");
	p->ops->close(p->arg);
	w->lines[w->relay.stream].opened_at = 0;
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
		if (r->behind) {
			/* Is it an old primary that is back?  Another one is
			   used, if there is one.  What this worker had taken
			   here expires. */
			w->audit.behind = false;
			err_in(&e, "mysql %s", store_peer(w->store));
			scoreboard_error(w->line, e.text);
			/* Only one worker logs it, and what is used then. */
			reconnect_failed(&w->db, e.text, clock_ms());
			w->server[0] = '\0';
			db_demote(store_db(w->store));
			connect_anew(w);
			w->announced = false;
		} else
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
