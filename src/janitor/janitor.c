/*
 * janitor.c - see janitor.h
 *
 * Its duties, and the loop that runs the one that is due.  A server that is
 * away or busy is retried with backoff.  A duty that the server refuses is
 * retried each minute, logged once, and does not stop the other ones.
 */

#include "janitor/janitor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/unistd.h>

#include "util/clock.h"
#include "util/reconnect.h"
#include "util/log.h"
#include "ipc/vanishing.h"
#include "janitor/retention.h"
#include "drivers/drivers.h"
#include "recovery/scrub.h"
#include "recovery/topic_audit.h"
#include "util/sig.h"
#include "store/store_sql.h"
#include "store/reconcile.h"

#define REST		9	/* rest, as a multiple of a step's time; */
#define SHORT_REST	1	/* if the scrub has a suspicion */
#define ANSWER_MS	20000	/* timeout for an answer */
#define BUSY_MS		60000	/* longest backoff of a busy server */
#define REFUSED_MS	60000	/* retry interval after a refusal */
#define SILENT_S	300	/* until the server closes a connection: the
				   locks of a host that vanished must end */
#define WAIT_MAX_MS	1000	/* between signs of life */
#define MOVED_MS	2000	/* between looks at the workers' server */

/* Rows made in one transaction; workers wait for its locks. */
#define PIECE		100
#define REFUSED_MAX	100	/* more rows are refused: it is not the rows */

struct janitor;

struct duty {
	const char	*name;
	/* *delay_ms: when to call it again; NEVER: it has finished. */
	int		(*step)(struct janitor *, int64_t *delay_ms,
			    struct err *);
	int64_t		 at;		/* clock_ms() */
	struct reconnect busy;		/* the server was, for this one */
	struct err	 refusal;	/* the last one logged */
	bool		 relearnt;	/* because of it, since it worked */
};

#define NEVER		INT64_MAX

enum { RECONCILE, RETENTION, SCRUB, TOPICS, SAMPLE, NEWEST, NDUTIES };

struct janitor {
	const struct janitor_args	*a;
	struct store			*store;
	struct reconnect		 reconnect;
	struct duty			 duties[NDUTIES];
	int64_t				 rest_until;	/* of changes to rows */
	int64_t				 moved_at;	/* next look at the workers'
							   server */

	struct reconcile		 reconcile;
	bool				 searched;
	size_t				 done;		/* of reconcile.list */
	uint64_t			 made;
	size_t				 nrefused;	/* rows that cannot be */
	struct retention		*retention;
	struct vanishing		 vanishing;
	struct scrub			 scrub;
	struct topic_audit		 topics;
};

static void
janitor_sign_of_life(struct janitor *j, int64_t now)
{
	struct err	e;

	scoreboard_alive(j->a->line, now);
	if (sig_took(&got_usr1) && log_reopen(&e) < 0)
		log_error("cannot reopen the log: %s; still writing to the old "
		    "file", e.text);
}

static int
make_missing_rows(struct janitor *j, struct err *e)
{
	size_t		 left = j->reconcile.n - j->done;
	size_t		 n = left < PIECE ? left : PIECE;
	const uint64_t	*list = j->reconcile.list + j->done;
	struct isolate	 i = isolate_rows(n, 0);
	int		 rc;

	for (; isolate_next(&i); j->made += i.changed) {
		rc = store_begin(j->store, e);
		if (rc == 0)
			rc = store_end(j->store, reconcile_make(&j->reconcile,
			    list + i.from, i.n, &i.changed, e), e);
		if (!store_isolate(j->store, &i, rc))
			continue;
		store_say_kept(j->store, list[i.from], "made, and its "
		    "message is not sent", e);
		if (++j->nrefused >= REFUSED_MAX)
			return err_in(e, "%zu rows cannot be made",
			    j->nrefused);
	}
	j->done += i.rc == 0 ? n : 0;
	return i.rc;
}

static int
reconcile(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	char	text[RECONCILE_TEXT];

	if (j->searched && j->done < j->reconcile.n)
		return make_missing_rows(j, e);
	if (j->searched) {
		reconcile_tell(text, j->made, false);
		log_info("%s", text);
		*delay_ms = NEVER;
		return 0;
	}
	j->reconcile.n = j->done = j->nrefused = 0;
	if (reconcile_begin(&j->reconcile, e) < 0)
		return -1;
	if (!j->reconcile.watermark.known) {
		log_warn("reconcile: %s", e->text);
		*delay_ms = NEVER;
		return 0;
	}
	if (reconcile_search_newest(&j->reconcile, RECONCILE_LIMIT, e) < 0)
		return -1;
	j->searched = true;
	return 0;
}

static int
retain(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	return retention_step(j->retention, delay_ms, e);
}

static enum keep
keep(void *arg)
{
	janitor_sign_of_life(arg, clock_ms());
	return KEEP_ON;
}

static int
scrub(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	int	rc = scrub_step(&j->scrub, delay_ms, e);

	j->a->line->recovered += j->scrub.recovered;
	j->a->totals->recovered += j->scrub.recovered;
	j->scrub.recovered = 0;
	return rc;
}

static int
audit_topics(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	int	rc = topic_audit_step(&j->topics, delay_ms, e);

	j->a->line->recovered += j->topics.recovered;
	j->a->totals->recovered += j->topics.recovered;
	j->topics.recovered = 0;
	return rc;
}

static int
take_sample(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	struct store_backlog	b;
	struct backlog_sample	sample;

	if (store_backlog(j->store, &b, e) < 0)
		return -1;
	*delay_ms = b.known ? BACKLOG_INTERVAL_MS : REFUSED_MS;
	if (!b.known)
		return 0;
	sample = (struct backlog_sample){ clock_ms(), b.waiting, b.exact };
	backlog_ring_add(j->a->backlog, &sample);
	return 0;
}

/*
 * Where the binlog is not read, only the numbers hint that rows vanish.  With
 * publish.types events of other types have no row.
 */
static int
watch_numbers(struct janitor *j, int64_t *delay_ms, struct err *e)
{
	struct scoreboard_line	*l = j->a->line;
	struct store_newest	 n = { .known = false };
	struct vanishing_sample	 s;
	uint64_t		 gone;
	bool			 may = true;

	*delay_ms = BACKLOG_INTERVAL_MS;
	if ((store_is_inline(j->store) || j->a->conf->publish.types.n == 0) &&
	    store_newest(j->store, &n, e) < 0)
		return -1;
	if (!n.known) {
		*delay_ms = REFUSED_MS;
		return 0;
	}
	s = (struct vanishing_sample){ clock_ms(), n.next, n.row, 0 };
	/* What the workers of this host had; it moves with each new one. */
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		s.handled += j->a->scoreboard->lines[i].delivered +
		    j->a->scoreboard->lines[i].dead;
	gone = vanishing_add(&j->vanishing, &s);
	if (gone > 0 && l->vanished == 0 && store_may_vanish(j->store, &n,
	    j->vanishing.from, &may, e) < 0)
		return -1;
	if (!may)
		gone = 0;
	if (gone > 0 && l->vanished == 0) {
		log_info("%s: %llu numbers were given, and no row has them: "
		    "see PROBLEMS in outboxctl(1), rows_unseen",
		    conf_outbox_table(j->a->conf), (unsigned long long)gone);
		l->vanished_at = time(NULL) - (clock_ms() -
		    j->vanishing.since) / 1000;
	}
	l->vanished = gone;
	return 0;
}

/* For a janitor that is connected. */
static void
show_state(struct janitor *j)
{
	bool	refused = false;

	for (size_t i = 0; i < NDUTIES; i++)
		refused = refused || j->duties[i].refusal.text[0] != '\0';
	if (!refused && j->topics.trouble.text[0] != '\0') {
		scoreboard_error(j->a->line, j->topics.trouble.text);
		scoreboard_state(j->a->line, SCOREBOARD_NO_BROKER, clock_ms());
		return;
	}
	scoreboard_state(j->a->line, refused ? SCOREBOARD_REFUSED :
	    SCOREBOARD_RUNNING, clock_ms());
}

/* Close the connection, which also releases the named lock. */
static void
close_store(struct janitor *j)
{
	store_close(j->store);
	retention_reset(j->retention);
	scoreboard_state(j->a->line, SCOREBOARD_NO_DATABASE, clock_ms());
}

static void
duty_failed(struct janitor *j, struct duty *d, struct err *e)
{
	bool	wrong = db_learnt_wrong(store_db(j->store));

	/*
	 * What was learnt of the tables is wrong: learn it again at once, by a
	 * new connection; once until the duty works.
	 */
	if (wrong && !d->relearnt) {
		log_info("%s: the tables have changed and are read again: %s",
		    d->name, e->text);
		d->relearnt = true;
		d->at = clock_ms();
		close_store(j);
		return;
	}
	scoreboard_error(j->a->line, e->text);
	switch (store_fault(j->store)) {
	case DB_FINE:
	case DB_WRONG:
		d->at = clock_ms() + REFUSED_MS;
		if (strcmp(e->text, d->refusal.text) == 0)
			log_debug("%s: %s", d->name, e->text);
		else
			log_warn("%s: %s: tried again each minute", d->name,
			    e->text);
		d->refusal = *e;
		show_state(j);
		/* The next connection learns what has changed. */
		if (wrong)
			close_store(j);
		return;
	case DB_BUSY:
		err_in(e, "%s", d->name);
		reconnect_failed(&d->busy, e->text, clock_ms());
		d->at = d->busy.try_at;
		return;
	default:
		close_store(j);
		err_in(e, "%s", d->name);
		reconnect_failed(&j->reconnect, e->text, clock_ms());
	}
}

/*
 * A wait for the settings row blocks all producers behind it: keep it short and
 * retry later.  The server's timeout ends the connection, and so the lock, of a
 * janitor whose host has vanished.
 */
static int
prepare_session(void *arg, struct err *e)
{
	struct janitor		*j = arg;
	const struct conf	*conf = j->a->conf;
	unsigned		 count = (unsigned)conf->outbox.partition_count;

	store_sql(j->store, "SET SESSION wait_timeout = :silent",
	    SQL_NUMBER("silent", SILENT_S));
	if (store_exec(j->store, "session", NULL, e) < 0 ||
	    store_hurry(j->store, true, e) < 0 || store_learn(j->store, e) < 0)
		return -1;
	/* Or does it only take samples? */
	return conf_wants_reconcile(conf) || conf_wants_retention(conf) ||
	    scrub_is_wanted(&j->scrub) || topic_audit_is_wanted(&j->topics) ?
	    store_settings(j->store, &count, e) : 0;
}

/* The workers choose the server, see db_open(). */
static void
follow_workers(struct janitor *j, int64_t now)
{
	const char	*peer = store_is_open(j->store) ?
			    store_peer(j->store) : "";
	char		 server[SCOREBOARD_SERVER];

	if (now < j->moved_at && peer[0] != '\0')
		return;
	j->moved_at = now + MOVED_MS;
	if (!scoreboard_server(j->a->scoreboard, peer, server) ||
	    strcmp(server, peer) == 0 ||
	    !db_prefer(store_db(j->store), server) || peer[0] == '\0')
		return;
	log_info("database: the workers use %s, no longer %s", server, peer);
	close_store(j);
}

static void
open_store(struct janitor *j)
{
	struct err	e;

	/* The test of the server may end with longer waits for locks. */
	if (store_open(j->store, &e) < 0 ||
	    store_hurry(j->store, true, &e) < 0) {
		j->a->totals->connects_failed[TOTALS_DATABASE]++;
		scoreboard_error(j->a->line, e.text);
		close_store(j);
		reconnect_failed(&j->reconnect, e.text, clock_ms());
		return;
	}
	j->a->totals->connects[TOTALS_DATABASE]++;
	show_state(j);
	reconnect_opened(&j->reconnect, clock_ms());
}

static void
run_duty(struct janitor *j, struct duty *d)
{
	int64_t		began = clock_ms(), now, delay_ms = 0;
	struct err	e;
	int		rc = d->step(j, &delay_ms, &e);

	now = clock_ms();
	if (d < &j->duties[SAMPLE])
		j->rest_until = now + (now - began + 1) *
		    (d == &j->duties[TOPICS] || (d == &j->duties[SCRUB] &&
		    j->scrub.urgent) ? SHORT_REST : REST);
	if (rc < 0) {
		duty_failed(j, d, &e);
		return;
	}
	d->at = delay_ms == NEVER ? NEVER : now + delay_ms;
	d->refusal.text[0] = '\0';
	d->relearnt = false;
	show_state(j);
	reconnect_works(&j->reconnect, now);
	reconnect_works(&d->busy, now);
}

/*
 * Reconcile comes first, unless it is refused: the watermark must not pass
 * events whose rows are still missing.  A sample is taken when it is due,
 * between two changes to rows.  *at is when to run the duty.
 */
static struct duty *
next_duty(struct janitor *j, int64_t *at)
{
	struct duty	*sample = &j->duties[SAMPLE];
	struct duty	*first = &j->duties[RECONCILE], *next = first;

	if (first->at == NEVER || first->refusal.text[0] != '\0')
		for (struct duty *d = first + 1; d < &j->duties[SAMPLE]; d++)
			if (d->at < next->at)
				next = d;
	if (j->duties[NEWEST].at < sample->at)
		sample = &j->duties[NEWEST];
	*at = later(next->at, j->rest_until);
	if (sample->at <= later(*at, clock_ms())) {
		next = sample;
		*at = sample->at;
	}
	*at = later(*at, j->reconnect.try_at);
	return next;
}

int
janitor_main(const struct janitor_args *a)
{
	const struct conf	*conf = a->conf;
	struct janitor		 j = { .a = a };
	struct pub		 asked, searched[CONF_DRIVERS];

	sig_leave_at_once();
	setproctitle("-outbox-master: janitor");
	/* The library of NATS must be first, see nats/bus.h. */
	asked = drivers_new_asked(conf, "janitor");
	drivers_new_searched(searched, conf, "janitor");
	j.store = store_new(conf, "janitor", ANSWER_MS);
	db_observe(store_db(j.store), totals_statement, a->totals);
	db_set_test(store_db(j.store), prepare_session, &j);
	reconnect_init(&j.reconnect, "database");
	j.reconnect.backoff.ceiling_ms = DB_PAUSE_MS;
	j.reconnect.outage = a->database;
	j.reconnect.follows = true;
	j.reconcile.store = j.store;
	j.reconcile.types = &conf->publish.types;
	j.retention = retention_new(conf, j.store);
	scrub_init(&j.scrub, conf, j.store, asked, keep, &j, a->broker);
	topic_audit_init(&j.topics, conf, j.store, searched, keep, &j,
	    a->broker);
	j.duties[RECONCILE] = (struct duty){ .name = "reconcile",
	    .step = reconcile, .at = conf_wants_reconcile(conf) ? 0 : NEVER };
	j.duties[RETENTION] = (struct duty){ .name = "retention",
	    .step = retain, .at = conf_wants_retention(conf) ? 0 : NEVER };
	j.duties[SCRUB] = (struct duty){ .name = "scrub",
	    .step = scrub, .at = scrub_is_wanted(&j.scrub) ? 0 : NEVER };
	j.duties[TOPICS] = (struct duty){ .name = "audit of topics",
	    .step = audit_topics,
	    .at = topic_audit_is_wanted(&j.topics) ? 0 : NEVER };
	j.duties[SAMPLE] = (struct duty){ .name = "sample of the backlog",
	    .step = take_sample };
	j.duties[NEWEST] = (struct duty){ .name = "sample of the numbers",
	    .step = watch_numbers };
	for (size_t i = 0; i < NDUTIES; i++) {
		reconnect_init(&j.duties[i].busy, "database");
		j.duties[i].busy.backoff.ceiling_ms = BUSY_MS;
	}

	for (;;) {
		int64_t		 at, now;
		struct duty	*d = next_duty(&j, &at);

		for (now = clock_ms(); now < at; now = clock_ms()) {
			janitor_sign_of_life(&j, now);
			sig_wait(NULL, 0, sooner(at - now, WAIT_MAX_MS));
		}
		janitor_sign_of_life(&j, now);
		follow_workers(&j, now);
		if (!store_is_open(j.store))
			open_store(&j);
		else
			run_duty(&j, d);
	}
}
