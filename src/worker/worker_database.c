/*
 * worker_database.c - the connection to the database
 *
 * How it is opened, what is learnt then, and what an error of a statement means
 * for it: try again, connect anew, or use another server.
 */

#include "worker/worker_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "store/store_sql.h"
#include "util/clock.h"
#include "util/log.h"

#define BUSY_PAUSE_MS		1000
#define LOCK_WAIT		1205	/* a lock was waited for too long */
#define MEMBER_STATE		3796	/* MySQL: the member is not ONLINE, */
#define CONSISTENCY_WAIT	3797	/* or lags too far behind its group */

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

void
worker_leave_behind(struct worker *w, struct err *why)
{
	w->audit.behind = false;
	err_in(why, "mysql %s", store_peer(w->store));
	scoreboard_error(w->line, why->text);
	/* Only one worker logs it, and what is used then. */
	reconnect_failed(&w->db, why->text, clock_ms());
	w->server[0] = '\0';
	db_demote(store_db(w->store));
	connect_anew(w);
	w->announced = false;
}
