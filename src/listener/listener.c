/*
 * listener.c - see listener.h
 *
 * Errors are of two kinds.  A server that is away is retried with the workers'
 * backoff.  A server that refuses, for lack of a right or of a binlog, is
 * retried each minute, and the refusal is logged once.  With wake.binlog: auto
 * it is no fault, and nothing is wrong.  After either, all workers are woken,
 * because commits were missed.
 */

#include "listener/listener.h"

#include <string.h>
#include <time.h>

#include <bsd/unistd.h>

#include "ipc/vanishing.h"
#include "mysql/binlog.h"
#include "mysql/binlog_event.h"
#include "util/clock.h"
#include "util/reconnect.h"
#include "util/log.h"
#include "util/sig.h"

#define REFUSED_MS	60000	/* retry interval after a refusal */
#define WAIT_MAX_MS	1000	/* between signs of life */
#define MOVED_MS	2000	/* between looks at the workers' server */

/*
 * An event that cannot be decoded wakes all workers, at most this often (ms).
 * One that comes sooner waits for the next event or heartbeat.
 */
#define ALL_MS		10

struct listener {
	const struct listener_args	*a;
	struct binlog			*binlog;
	struct binlog_watch		 watch;
	struct reconnect		 reconnect;
	bool				 open;
	bool				 heard;		/* stream has begun */
	bool				 ever_heard;	/* since the start */
	int64_t				 moved_at;	/* next such look */
	int64_t				 notified_all_at;
	bool				 owes_all;
	uint64_t			 commits;	/* since told_at */
	int64_t				 told_at;
	struct err			 refusal;	/* last one logged */
	struct vanishing_share		 share;
	bool				 told_vanished;	/* in the log */
};

static void
listener_sign_of_life(struct listener *d, int64_t now)
{
	scoreboard_alive(d->a->line, now);
}

static void
notify_all(struct listener *d, int64_t now)
{
	if (now - d->notified_all_at < ALL_MS) {
		d->owes_all = true;
		return;
	}
	d->owes_all = false;
	d->notified_all_at = now;
	for (unsigned i = 0; i < d->a->conf->master.workers; i++)
		wakeup_notify(d->a->wakeup, i);
}

static void
notify_workers(struct listener *d, const struct binlog_labels *labels,
    int64_t now)
{
	struct label_set	which = { { 0 } };
	bool			ours = false;

	if (labels->all) {
		notify_all(d, now);
		d->commits++;
		return;
	}
	for (size_t i = 0; i < labels->n; i++)
		label_set_add(&which, labels->list[i].text,
		    labels->list[i].len);
	/* Labels that no worker of this host serves belong to another host. */
	for (unsigned i = 0; i < d->a->conf->master.workers; i++)
		if (label_set_meets(&d->a->scoreboard->lines[i].served,
		    &which)) {
			wakeup_notify(d->a->wakeup, i);
			ours = true;
		}
	d->commits += ours;
}

/*
 * Rows that came and went in one transaction: their events are committed, and
 * nothing is ever sent.  Programs that read the binlog work like that.  Some may
 * be messages that the application took back.
 */
static void
note_vanished(struct listener *d, const struct vanish *v)
{
	struct scoreboard_line	*l = d->a->line;
	bool			 most;

	most = vanishing_share_add(&d->share, v->n, v->gone);
	l->inserted_last = d->share.rows;
	l->vanished_last = d->share.gone;
	if (v->gone == 0)
		return;
	l->vanished_at = time(NULL);
	l->vanished += v->gone;
	if (!most || d->told_vanished)
		return;
	d->told_vanished = true;
	log_warn("rows of %s are inserted and deleted in one transaction: no "
	    "worker can see them, so their messages are lost; see PROBLEMS in "
	    "outboxctl(1)", conf_outbox_table(d->a->conf));
}

static bool
is_optional(const struct listener *d)
{
	return d->a->conf->wake.binlog == WAKE_AUTO;
}

/* Logged once: the right may be missing on purpose. */
static void
binlog_refused(struct listener *d, const struct err *e, int64_t now)
{
	struct scoreboard_line	*l = d->a->line;
	bool			 optional = is_optional(d);

	/* The state before the reason, and no time of an error: see
	   scoreboard.h. */
	scoreboard_state(l, optional ? SCOREBOARD_NO_BINLOG :
	    SCOREBOARD_REFUSED, now);
	if (optional)
		scoreboard_reason(l, e->text);
	else
		scoreboard_error(l, e->text);
	d->reconnect.try_at = now + REFUSED_MS;
	if (strcmp(e->text, d->refusal.text) == 0) {
		log_debug("%s", e->text);
		return;
	}
	if (optional)
		log_info("workers poll: %s", e->text);
	else
		log_warn("wake.binlog: %s: workers poll until this is repaired",
		    e->text);
	d->refusal = *e;
}

static void
binlog_failed(struct listener *d, struct err *e)
{
	enum db_fault	fault = db_last_fault(binlog_db(d->binlog));
	int64_t		now = clock_ms();

	/* The workers lose the server as well; other faults are its own. */
	d->reconnect.outage = fault == DB_LOST || fault == DB_CLOSED ||
	    fault == DB_READONLY ? d->a->database : NULL;

	/*
	 * Refused?  With auto also if the request for the stream has ended the
	 * connection, and none has brought one yet: some proxies do that.
	 */
	if (!d->heard && (fault == DB_WRONG ||
	    (is_optional(d) && d->open && !d->ever_heard)))
		binlog_refused(d, e, now);
	else {
		scoreboard_state(d->a->line, SCOREBOARD_NO_DATABASE, now);
		scoreboard_error(d->a->line, e->text);
		reconnect_failed(&d->reconnect, e->text, now);
	}
	binlog_close(d->binlog);
	d->open = d->heard = false;
}

static void
open_stream(struct listener *d)
{
	const struct conf	*c = d->a->conf;
	char			 server[SCOREBOARD_SERVER];
	struct err		 e;

	if (scoreboard_server(d->a->scoreboard, "", server))
		(void)db_prefer(binlog_db(d->binlog), server);
	if (binlog_open(d->binlog, &e) < 0) {
		d->a->totals->connects_failed[TOTALS_DATABASE]++;
		binlog_failed(d, &e);
		return;
	}
	d->a->totals->connects[TOTALS_DATABASE]++;
	d->open = true;
	d->moved_at = clock_ms() + MOVED_MS;
	binlog_watch_init(&d->watch, c->mysql.database,
	    conf_outbox_table(c), binlog_column(d->binlog));
	d->watch.keys = binlog_keys(d->binlog);
}

/* The workers choose the server: their heartbeats find out soonest. */
static void
follow_workers(struct listener *d, int64_t now)
{
	const char	*peer = db_peer(binlog_db(d->binlog));
	char		 server[SCOREBOARD_SERVER];
	struct err	 e;

	if (now < d->moved_at)
		return;
	d->moved_at = now + MOVED_MS;
	if (!scoreboard_server(d->a->scoreboard, peer, server) ||
	    strcmp(server, peer) == 0 ||
	    !db_prefer(binlog_db(d->binlog), server))
		return;
	err_set(&e, "binlog: %s is no longer the server of the workers: they "
	    "use %s", peer, server);
	binlog_failed(d, &e);
}

static void
listen(struct listener *d)
{
	const uint8_t	*event;
	size_t		 len;
	struct err	 e;
	int64_t		 now;

	if (binlog_next(d->binlog, &event, &len, &e) < 0) {
		binlog_failed(d, &e);
		return;
	}
	now = clock_ms();
	listener_sign_of_life(d, now);
	if (!d->heard) {
		/* The server took the request: no commit is missed from now. */
		d->heard = d->ever_heard = true;
		d->refusal.text[0] = '\0';
		scoreboard_state(d->a->line, SCOREBOARD_RUNNING, now);
		reconnect_opened(&d->reconnect, now);
		setproctitle("-outbox-master: listener [%s]",
		    db_peer(binlog_db(d->binlog)));
		log_debug("the binlog stream has begun: all workers are woken");
		notify_all(d, now);
	}
	reconnect_lasts(&d->reconnect, now);
	switch (binlog_event(&d->watch, event, len)) {
	case BINLOG_NOTHING:
		break;
	case BINLOG_COMMITTED:
		note_vanished(d, &d->watch.vanish);
		notify_workers(d, &d->watch.labels, now);
		break;
	case BINLOG_DAMAGED:
		err_set(&e, "binlog: %s sent a damaged event",
		    db_peer(binlog_db(d->binlog)));
		binlog_failed(d, &e);
		return;
	}
	if (d->owes_all)
		notify_all(d, now);
	if (d->commits > 0 && now - d->told_at >= WAIT_MAX_MS) {
		log_debug("woke workers for %llu commits",
		    (unsigned long long)d->commits);
		d->commits = 0;
		d->told_at = now;
	}
	follow_workers(d, now);
}

bool
listener_is_wanted(const struct conf *conf)
{
	return conf->wake.binlog != WAKE_OFF;
}

int
listener_main(const struct listener_args *a)
{
	struct listener	d = { .a = a };

	sig_leave_at_once();
	setproctitle("-outbox-master: listener");
	listener_confine(a);
	reconnect_init(&d.reconnect, "binlog");
	d.reconnect.backoff.ceiling_ms = DB_PAUSE_MS;
	d.reconnect.follows = true;
	d.binlog = binlog_new(a->conf);
	db_observe(binlog_db(d.binlog), totals_statement, a->totals);
	for (;;) {
		int64_t	wait = d.reconnect.try_at - clock_ms();

		if (d.open)
			listen(&d);
		else if (wait <= 0)
			open_stream(&d);
		else {
			sig_wait(NULL, 0, sooner(wait, WAIT_MAX_MS));
			listener_sign_of_life(&d, clock_ms());
		}
	}
}
