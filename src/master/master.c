/*
 * master.c - the loop: converge, reap, reload
 *
 * Signals and deaths change a few fields; converge() then starts and stops
 * children to match.  No MySQL, NATS or threads: children do that.
 */

#include "master/master.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>
#include <bsd/unistd.h>

#include "ipc/wakeup.h"
#include "util/clock.h"
#include "listener/listener.h"
#include "ipc/predecessors.h"
#include "janitor/janitor.h"
#include "util/log.h"
#include "printer/printer.h"
#include "master/notify.h"
#include "master/refused.h"
#include "util/sig.h"
#include "master/log_head.h"
#include "master/slot.h"
#include "worker/worker.h"
#include "util/xalloc.h"

#define SECOND_TERM_MS	5000	/* until SIGKILL, after a second SIGTERM */
#define REPLACE_POLL_MS	50	/* poll interval during a rolling restart */
#define REPLACE_WAIT_MS	10000	/* longest wait until a new worker is ready */
#define ALIVE_MS	1000	/* between its own signs of life */
#define READY_POLL_MS	50	/* while systemd waits for the first worker */
#define REPORT_BUFFER	(1024 * 1024)

/* Helpers hold no leases: each may die or be killed at any moment. */
enum { LISTENER, JANITOR, NHELPERS };

/* Children by index: the workers, the helpers, the printer. */
enum { PRINTER = CONF_MAX_WORKERS + NHELPERS, NCHILDREN };

struct master {
	const struct master_args	*a;
	struct conf			*conf;
	struct conf			*born;		/* at the start */
	struct scoreboard		*scoreboard;
	struct scoreboard_line		*line;		/* its own */
	struct wakeup			 wakeup;
	struct slot			 slots[NCHILDREN];
	struct slot			*helpers, *printer;	/* of slots */
	uint32_t			 gen;
	int64_t				 reloaded_at;	/* seconds, UTC: gen */
	bool				 stopping;
	bool				 wound_up[CONF_MAX_WORKERS];
	int64_t				 stop_by;
	bool				 repartition;	/* is to be made */
	struct refused			 refused;	/* types */
	struct notify			 notify;
	int				 scoreboard_fd;	/* has its lock */
	int				 predecessors_fd;
	int				 report_fds[2];	/* workers write to 1 */
};

static bool
wants_printer(const struct master *m)
{
	return !m->a->report.silent;
}

/* The printer exits when the last write end of the socket is closed. */
static void
close_report(struct master *m, int end)
{
	if (m->report_fds[end] >= 0)
		close(m->report_fds[end]);
	m->report_fds[end] = -1;
}

/* Something the operator must see: in the log, and on the scoreboard. */
static void
fails(struct master *m, const struct err *e)
{
	log_error("%s", e->text);
	scoreboard_error(m->line, e->text);
}

static int
run_worker(struct master *m, struct slot *s)
{
	struct worker_args	 a = { .conf = m->conf, .line = s->line,
				     .wakeup = &m->wakeup, .slot = s->index,
				     .interval_ms = m->a->interval_ms,
				     .outages = m->scoreboard->outages };
	int			 status;

	log_worker(s->index);
	close_report(m, 0);
	a.report = m->a->report;
	a.report.fd = m->report_fds[1];
	memcpy(a.id, s->id, sizeof(a.id));
	a.predecessors = xcalloc(s->npredecessors + 1, IDENT_SIZE);
	for (size_t i = 0; i < s->npredecessors; i++)
		memcpy(a.predecessors[i], s->predecessors[i].id, IDENT_SIZE);
	a.npredecessors = s->npredecessors;
	a.suspect = s->suspect;
	a.respawned = s->has_worked;
	a.repartition = s->line->repartition == SCOREBOARD_REPARTITION_ASKED;
	status = worker_main(&a);
	free(a.predecessors);
	return status;
}

static int
run_printer(struct master *m, struct slot *s)
{
	(void)s;
	close_report(m, 1);
	setproctitle("-outbox-master: printer");
	return printer_main(m->report_fds[0]);
}

static struct outage *
database_outage(struct master *m)
{
	return &m->scoreboard->outages[SCOREBOARD_OUTAGE_DATABASE];
}

static int
run_listener(struct master *m, struct slot *s)
{
	struct listener_args	a = { .conf = m->conf,
				    .scoreboard = m->scoreboard,
				    .wakeup = &m->wakeup, .line = s->line,
				    .database = database_outage(m) };

	close_report(m, 0);
	close_report(m, 1);
	return listener_main(&a);
}

static int
run_janitor(struct master *m, struct slot *s)
{
	struct janitor_args	a = { .conf = m->conf, .line = s->line,
				    .backlog = &m->scoreboard->backlog,
				    .database = database_outage(m) };

	close_report(m, 0);
	close_report(m, 1);
	return janitor_main(&a);
}

static const struct helper {
	const char	*role;
	unsigned	 line;		/* of the scoreboard */
	int64_t		 silence_ms;	/* longest wait for a server */
	bool		(*is_wanted)(const struct conf *);	/* NULL: always */
	int		(*run)(struct master *, struct slot *);
} helpers[NHELPERS] = {
	[LISTENER] = { "listener", SCOREBOARD_LISTENER, LISTENER_SILENCE_MS,
	    listener_is_wanted, run_listener },
	[JANITOR] = { "janitor", SCOREBOARD_JANITOR, JANITOR_SILENCE_MS,
	    NULL, run_janitor },
};

static void
start_child(struct master *m, struct slot *s, int (*run)(struct master *,
    struct slot *))
{
	pid_t		master = getpid(), pid;
	struct err	e;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sig_child(master);
		log_role(s->role);
		notify_close(&m->notify);
		exit(run(m, s));
	}
	if (pid < 0) {
		err_set(&e, "%s %u: cannot fork, will try again: %s", s->role,
		    s->index, strerror(errno));
		fails(m, &e);
	}
	slot_started(s, pid, m->gen, clock_ms());
}

/* Save the ids whose leases are to be taken over if we are killed now. */
static void
note_predecessors(struct master *m, const struct slot *s)
{
	char		ids[PREDECESSORS_PER_SLOT][IDENT_SIZE];
	size_t		n = 0;
	struct err	e;

	for (size_t i = 0; i < s->npredecessors; i++)
		memcpy(ids[n++], s->predecessors[i].id, IDENT_SIZE);
	if (s->id[0] != '\0')
		memcpy(ids[n++], s->id, IDENT_SIZE);
	if (predecessors_write(m->predecessors_fd, s->index,
	    (const char (*)[IDENT_SIZE])ids, n, &e) < 0)
		log_warn("%s: if this master is killed, the next one waits "
		    "until leases expire", e.text);
}

/* Has a worker of this generation reached this step of a repartition? */
static bool
has_repartition(const struct master *m, enum scoreboard_repartition r)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		if (m->slots[i].pid != 0 && m->slots[i].gen == m->gen &&
		    m->slots[i].line->repartition == r)
			return true;
	return false;
}

static void
start_worker(struct master *m, struct slot *s)
{
	char	host[256] = "";

	gethostname(host, sizeof(host) - 1);
	memset(s->line, 0, sizeof(*s->line));
	ident_new(s->id, host, s->index);
	memcpy(s->line->id, s->id, sizeof(s->id));
	s->line->started_at = s->line->alive_at = clock_ms();
	scoreboard_state(s->line, SCOREBOARD_STARTING, s->line->alive_at);
	if (m->repartition && !has_repartition(m, SCOREBOARD_REPARTITION_ASKED))
		s->line->repartition = SCOREBOARD_REPARTITION_ASKED;
	note_predecessors(m, s);
	s->line->generation = m->gen;
	start_child(m, s, run_worker);
	if (s->pid == 0) {
		s->id[0] = '\0';
		return;
	}
	s->line->pid = (int32_t)s->pid;
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("worker", s->index),
	    LOG_NUMBER("child_pid", s->pid), LOG_NUMBER("generation", m->gen)),
	    "worker %u: pid %d started as %s", s->index, (int)s->pid, s->id);
}

/*
 * The worker was handing over when the master was told to stop: its row and
 * leases still exist.  One last worker takes them over and releases them.
 */
static void
wind_up(struct master *m, struct slot *s)
{
	if (!m->stopping || !s->handed_over || m->wound_up[s->index])
		return;
	m->wound_up[s->index] = true;
	start_worker(m, s);
}

/* Is a worker being replaced?  A reload replaces one at a time. */
static bool
is_replacing(const struct master *m, int64_t now)
{
	for (unsigned i = 0; i < m->conf->master.workers; i++) {
		const struct slot *s = &m->slots[i];

		/* A slot in backoff after crashes does not delay others. */
		if (s->pid == 0 && s->start_at <= now + REPLACE_POLL_MS)
			return true;
		if (s->pid == 0)
			continue;
		if (s->asked == ASK_HANDOVER)
			return true;
		if (!slot_is_ready(s) && now - s->started_at < REPLACE_WAIT_MS)
			return true;
	}
	return false;
}

static void
converge_worker(struct master *m, struct slot *s, int64_t now)
{
	bool	want = !m->stopping && s->index < m->conf->master.workers;

	if (s->pid != 0 && !want)
		slot_ask(s, ASK_LEAVE, m->stopping ? m->stop_by :
		    now + m->conf->master.stop_timeout);
	else if (s->pid != 0 && s->gen != m->gen && !is_replacing(m, now))
		slot_ask(s, ASK_HANDOVER, now + m->conf->master.stop_timeout);
	else if (want && slot_is_due(s, now))
		start_worker(m, s);
	slot_prune_predecessors(s, m->conf->worker.claim_ttl, now);
	slot_check(s, m->conf->master.hang_timeout, now);
}

/* Does one of the first n children run? */
static bool
has_children(const struct master *m, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (m->slots[i].pid != 0)
			return true;
	return false;
}

static void
converge_printer(struct master *m, int64_t now)
{
	struct slot	*s = m->printer;

	if (!m->stopping && wants_printer(m) && slot_is_due(s, now))
		start_child(m, s, run_printer);
	if (m->stopping && !has_children(m, CONF_MAX_WORKERS)) {
		/* The printer exits after it has written the last line. */
		close_report(m, 1);
		s->asked = ASK_LEAVE;
		if (m->stop_by < s->kill_at)
			s->kill_at = m->stop_by;
	}
	slot_check(s, 0, now);
}

static bool
wants_helper(const struct master *m, unsigned i)
{
	return !m->stopping && (helpers[i].is_wanted == NULL ||
	    helpers[i].is_wanted(m->conf));
}

static void
start_helper(struct master *m, unsigned i)
{
	struct slot	*s = &m->helpers[i];

	memset(s->line, 0, sizeof(*s->line));
	s->line->started_at = s->line->alive_at = clock_ms();
	scoreboard_state(s->line, SCOREBOARD_STARTING, s->line->alive_at);
	s->line->generation = m->gen;
	start_child(m, s, helpers[i].run);
	s->line->pid = (int32_t)s->pid;
}

/* A helper may be silent for as long as its longest wait for a server. */
static int64_t
helper_hang(const struct master *m, unsigned i)
{
	int64_t	hang = m->conf->master.hang_timeout;

	return hang > 0 && hang < helpers[i].silence_ms ?
	    helpers[i].silence_ms : hang;
}

static void
converge_helper(struct master *m, unsigned i, int64_t now)
{
	struct slot	*s = &m->helpers[i];
	bool		 want = wants_helper(m, i);

	if (s->pid != 0 && (!want || s->gen != m->gen))
		slot_ask(s, ASK_LEAVE, now + m->conf->master.stop_timeout);
	else if (want && slot_is_due(s, now))
		start_helper(m, i);
	slot_check(s, helper_hang(m, i), now);
}

/* Make the children match what is wanted.  Safe to call at any time. */
static void
converge(struct master *m, int64_t now)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		converge_worker(m, &m->slots[i], now);
	converge_printer(m, now);
	for (unsigned i = 0; i < NHELPERS; i++)
		converge_helper(m, i, now);
	if (has_repartition(m, SCOREBOARD_REPARTITION_OVER))
		m->repartition = false;
}

static int64_t
helpers_deadline(const struct master *m)
{
	int64_t	at = INT64_MAX;

	for (unsigned i = 0; i < NHELPERS; i++) {
		const struct slot *s = &m->helpers[i];

		at = sooner(at, slot_deadline(s, helper_hang(m, i)));
		if (wants_helper(m, i) && s->pid == 0)
			at = sooner(at, s->start_at);
	}
	return at;
}

/* The earliest time at which converge() has something to do, in ms. */
static int64_t
next_deadline(const struct master *m, int64_t now)
{
	int64_t	at = sooner(slot_deadline(m->printer, 0),
		    helpers_deadline(m));

	if (!m->stopping && m->printer->pid == 0 && wants_printer(m))
		at = sooner(at, m->printer->start_at);
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct slot *s = &m->slots[i];

		at = sooner(at, slot_deadline(s,
		    m->conf->master.hang_timeout));
		if (!m->stopping && i < m->conf->master.workers &&
		    s->pid == 0)
			at = sooner(at, s->start_at);
		if (s->pid != 0 && s->gen != m->gen)
			at = sooner(at, now + REPLACE_POLL_MS);
	}
	return m->repartition ? sooner(at, now + REPLACE_POLL_MS) : at;
}

static struct slot *
find_slot(struct master *m, pid_t pid)
{
	for (unsigned i = 0; i < NCHILDREN; i++)
		if (m->slots[i].pid == pid)
			return &m->slots[i];
	return NULL;
}

static void
reap(struct master *m, int64_t now)
{
	struct slot	*s;
	pid_t		 pid;
	int		 status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if ((s = find_slot(m, pid)) != NULL) {
			slot_exited(s, status, now);
			if (s->died.text[0] != '\0')
				scoreboard_error(m->line, s->died.text);
			if (s >= m->helpers)	/* no worker */
				continue;
			note_predecessors(m, s);
			wind_up(m, s);
		}
}

/* Log the changed keys that need a restart, and list them in *why. */
static void
warn_restart_keys(const struct conf *born, const struct conf *fresh,
    struct err *why)
{
	const char	*name;
	size_t		 i = 0, size = sizeof(why->text);

	why->text[0] = '\0';
	while ((name = conf_changed_restart(born, fresh, &i)) != NULL) {
		log_warn("reload: %s has changed, but needs a restart to take "
		    "effect", name);
		strlcat(why->text, why->text[0] == '\0' ?
		    "needs a restart to take effect: " : ", ", size);
		strlcat(why->text, name, size);
	}
}

/* What the workers report about the tables on the scoreboard: only a hint. */
struct told {
	bool	table, file;	/* where the partition counts are declared */
	bool	strangers;	/* workers of another program are alive */
};

static struct told
ask_scoreboard(const struct master *m)
{
	struct told	t = { false };

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line *l = m->slots[i].line;

		if (m->slots[i].pid == 0)
			continue;
		t.table = t.table || l->counts_in == SCOREBOARD_COUNTS_TABLE;
		t.file = t.file || l->counts_in == SCOREBOARD_COUNTS_FILE;
		t.strangers = t.strangers || l->strangers > 0;
	}
	return t;
}

/*
 * Without a settings table the file declares the partition counts of producers.
 * Rows with labels of a count that it does not name would get out of order.
 */
static int
check_reload_counts(const struct master *m, const struct conf *fresh,
    struct err *e)
{
	struct told	t = ask_scoreboard(m);
	int64_t		was = m->conf->outbox.partition_count;
	struct counts	c;

	/* No worker has seen the tables: none has used the former count. */
	if (fresh->outbox.partition_count == was || t.table || !t.file)
		return 0;
	if (t.strangers)
		return err_set(e, "outbox.partition_count: a worker of another "
		    "program shares the tables, and under two counts it would "
		    "break the order of keys: stop it first");
	conf_counts(fresh, &c);
	if (counts_have(&c, (unsigned)was))
		return 0;
	return err_set(e, "outbox.partition_count: without a settings table "
	    "the file must name the count that producers still use: add "
	    "outbox.former_counts: [%lld]", (long long)was);
}

/* The number of processes that are not of this configuration yet. */
static unsigned
count_outdated(const struct master *m)
{
	unsigned	n = 0;

	for (unsigned i = 0; i < PRINTER; i++) {
		const struct slot *s = &m->slots[i];

		if (s->gen != m->gen &&
		    (s->pid != 0 || i < m->conf->master.workers))
			n++;
	}
	return n;
}

/* Show it on the scoreboard; renew_ms: until all processes are new. */
static void
show_reload(struct master *m, enum scoreboard_reload_result result,
    const struct err *why, int64_t began_at, int64_t renew_ms)
{
	struct scoreboard_reload	*r = &m->scoreboard->reload;
	int64_t				 now = time(NULL);

	r->result = result;
	r->at = now;
	r->began_at = began_at;
	if (result == SCOREBOARD_RELOAD_ACCEPTED) {
		m->reloaded_at = now;
		r->renew_by = now + (renew_ms + 999) / 1000;
		r->renewed_at = 0;
	}
	strlcpy(r->why, why->text, sizeof(r->why));
	__atomic_add_fetch(&r->count, 1, __ATOMIC_RELEASE);
}

/* Workers are replaced one at a time: each leaves, and the next gets ready. */
static int64_t
longest_renewal(const struct master *m)
{
	return count_outdated(m) *
	    (m->conf->master.stop_timeout + REPLACE_WAIT_MS);
}

/* Is the last reload that was accepted complete now?  Then say so, once. */
static void
note_renewed(struct master *m)
{
	struct scoreboard_reload	*r = &m->scoreboard->reload;

	if (r->renew_by == 0 || r->renewed_at != 0 || count_outdated(m) > 0)
		return;
	r->renewed_at = time(NULL);
	log_info("reload: all workers are of generation %u after %lld s",
	    m->gen, (long long)(r->renewed_at - m->reloaded_at));
}

/* A log file that is new begins with the settings, as the first one does. */
static int
open_next_log(const struct master *m, const struct conf *fresh, struct err *e)
{
	const char	*target = fresh->log.target;

	if (master_open_log(fresh, m->a->log_to_syslog, e) < 0)
		return -1;
	if (target[0] == '/' && strcmp(target, m->conf->log.target) != 0)
		log_head_write("the log goes on here", fresh, m->a->conf_path,
		    m->gen + 1);
	return 0;
}

static void
refuse_reload(struct master *m, enum scoreboard_reload_result result,
    int64_t began_at, struct err *e)
{
	show_reload(m, result, e, began_at, 0);
	err_in(e, "reload");
	scoreboard_error(m->line, e->text);
	log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_NUMBER("generation", m->gen),
	    LOG_TEXT("error_class", "configuration")), "%s; keeping the old "
	    "configuration (generation %u)", e->text, m->gen);
}

/* The new configuration, if it can be used; NULL: it was refused. */
static struct conf *
load_again(struct master *m, int64_t began_at)
{
	struct err	 e;
	struct conf	*fresh = conf_load(m->a->conf_path, m->a->override, &e);

	if (fresh == NULL || conf_check_mysql_secret(fresh, &e) < 0 ||
	    conf_check_nats_secret(fresh, &e) < 0) {
		refuse_reload(m, SCOREBOARD_RELOAD_WRONG, began_at, &e);
		conf_free(fresh);
		return NULL;
	}
	if (check_reload_counts(m, fresh, &e) == 0 &&
	    open_next_log(m, fresh, &e) == 0)
		return fresh;
	refuse_reload(m, SCOREBOARD_RELOAD_REFUSED, began_at, &e);
	conf_free(fresh);
	return NULL;
}

static void
reload(struct master *m)
{
	int64_t		 began_at = clock_ms();
	struct conf	*fresh = load_again(m, began_at);
	struct err	 e;

	if (fresh == NULL)
		return;
	warn_restart_keys(m->born, fresh, &e);
	if (fresh->outbox.partition_count != m->conf->outbox.partition_count)
		m->repartition = true;
	if (m->conf != m->born)
		conf_free(m->conf);
	m->conf = fresh;
	m->gen++;
	m->scoreboard->generation = m->line->generation = m->gen;
	/* Children that crashed may work with the new configuration. */
	for (unsigned i = 0; i < PRINTER; i++)
		m->slots[i].start_at = 0;
	show_reload(m, SCOREBOARD_RELOAD_ACCEPTED, &e, began_at,
	    longest_renewal(m));
	log_event(LOG_LVL_INFO, LOG_FIELDS(LOG_NUMBER("generation", m->gen),
	    LOG_NUMBER("workers", fresh->master.workers)),
	    "reload: generation %u, %lld workers, replaced one at a time",
	    m->gen, (long long)fresh->master.workers);
}

static void
ask_to_stop(struct master *m, int64_t now)
{
	int64_t	by = now + (m->stopping ? SECOND_TERM_MS :
	    m->conf->master.stop_timeout);

	log_info(m->stopping ? "asked again to stop: what still runs is killed "
	    "after at most %d s" : "stopping", SECOND_TERM_MS / 1000);
	if (!m->stopping || by < m->stop_by)
		m->stop_by = by;
	m->stopping = true;
	scoreboard_state(m->line, SCOREBOARD_STOPPING, now);
	notify_stopping(&m->notify, m->stop_by - now);
}

static void
reopen_logs(struct master *m)
{
	struct err	e, why;

	if (log_reopen(&why) < 0) {
		err_set(&e, "cannot reopen the log: %s; still writing to the "
		    "old file", why.text);
		fails(m, &e);
	} else if (m->conf->log.target[0] == '/')
		log_head_write("the log was opened again", m->conf,
		    m->a->conf_path, m->gen);
	/* The master first: its line is the first one of a new file. */
	for (unsigned i = 0; i < NCHILDREN; i++)
		if (m->slots[i].pid != 0)
			kill(m->slots[i].pid, SIGUSR1);
}

static void
loop(struct master *m)
{
	while (!m->stopping || has_children(m, NCHILDREN)) {
		int64_t now = clock_ms(), at;

		scoreboard_alive(m->line, now);
		converge(m, now);
		note_renewed(m);
		refused_look(&m->refused, m->scoreboard, now);
		if (!m->stopping)
			notify_look(&m->notify, m->scoreboard,
			    m->conf->master.workers);
		notify_alive(&m->notify, now);
		at = sooner(next_deadline(m, now), now +
		    (notify_is_awaited(&m->notify) ? READY_POLL_MS : ALIVE_MS));
		sig_wait(NULL, 0, at > now ? at - now : 0);
		if (sig_took(&got_term))
			ask_to_stop(m, clock_ms());
		if (sig_took(&got_hup) && !m->stopping) {
			notify_reloading(&m->notify);
			reload(m);
			notify_reloaded(&m->notify);
		}
		if (sig_took(&got_usr1))
			reopen_logs(m);
		if (sig_took(&got_chld))
			reap(m, clock_ms());
		sig_took(&got_handover);	/* no meaning for a master */
	}
}

static int
open_report(struct master *m, struct err *e)
{
	int	size = REPORT_BUFFER;

	m->report_fds[0] = m->report_fds[1] = -1;
	if (!wants_printer(m))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    m->report_fds) < 0)
		return err_set(e, "socketpair: %s", strerror(errno));
	setsockopt(m->report_fds[1], SOL_SOCKET, SO_SNDBUF, &size,
	    sizeof(size));
	return 0;
}

static int
open_files(struct master *m, struct err *e)
{
	char	*path = xasprintf("%s.scoreboard", m->a->run_prefix);

	m->scoreboard = scoreboard_create(path, &m->scoreboard_fd, e);
	free(path);
	if (m->scoreboard == NULL)
		return -1;
	path = xasprintf("%s.workers", m->a->run_prefix);
	m->predecessors_fd = predecessors_open(path, e);
	free(path);
	return m->predecessors_fd < 0 ? -1 : 0;
}

/* The pid file's lock was free, so the former master's workers are dead. */
static void
inherit_workers(struct master *m)
{
	size_t	n;
	char	(*ids)[IDENT_SIZE] = predecessors_read(m->predecessors_fd, &n);

	unsigned	workers = (unsigned)m->conf->master.workers;

	for (size_t i = 0; i < n; i++)
		slot_inherit(&m->slots[predecessors_slot(ids[i]) % workers],
		    ids[i], clock_ms());
	for (unsigned i = 0; i < workers; i++)
		note_predecessors(m, &m->slots[i]);
	predecessors_cut(m->predecessors_fd, workers);
	if (n > 0)
		log_info("taking over from %zu workers of a former master", n);
	free(ids);
}

/* Remove the list: workers that left need no successor. */
static void
forget_predecessors(struct master *m)
{
	char	*path;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		if (m->slots[i].npredecessors > 0)
			return;
	path = xasprintf("%s.workers", m->a->run_prefix);
	unlink(path);
	free(path);
}

int
master_open_log(const struct conf *conf, bool to_syslog, struct err *e)
{
	const char	*target = conf->log.target;

	if (to_syslog && strcmp(target, "stderr") == 0)
		target = "syslog";
	return log_open(target, (enum log_level)conf->log.level,
	    conf->log.format == FORMAT_JSON, e);
}

struct master *
master_new(const struct master_args *a, struct conf *conf, struct err *e)
{
	struct master	*m = xcalloc(1, sizeof(*m));

	m->a = a;
	m->conf = m->born = conf;
	m->gen = 1;
	if (open_files(m, e) < 0 || open_report(m, e) < 0 ||
	    wakeup_open(&m->wakeup, e) < 0) {
		scoreboard_close(m->scoreboard);
		free(m);
		return NULL;
	}
	m->line = &m->scoreboard->lines[SCOREBOARD_MASTER];
	m->scoreboard->generation = m->line->generation = m->gen;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		slot_init(&m->slots[i], i, "worker", &m->scoreboard->lines[i]);
	m->helpers = &m->slots[CONF_MAX_WORKERS];
	m->printer = &m->slots[PRINTER];
	slot_init(m->printer, 0, "printer", NULL);
	for (unsigned i = 0; i < NHELPERS; i++)
		slot_init(&m->helpers[i], 0, helpers[i].role,
		    &m->scoreboard->lines[helpers[i].line]);
	return m;
}

static void
log_start(const struct master *m)
{
	char	*text = xasprintf("started with %lld workers",
		    (long long)m->conf->master.workers);

	log_head_write(text, m->conf, m->a->conf_path, m->gen);
	free(text);
}

/* With the options that bear on the configuration: a reload applies them. */
static void
set_title(const struct master *m)
{
	const struct conf_override	*o = m->a->override;
	char				 workers[32] = "";

	if (o->workers != 0)
		snprintf(workers, sizeof(workers), " --workers %lld",
		    (long long)o->workers);
	setproctitle("-outbox-master: master [%s]%s%s", m->a->conf_path,
	    workers, o->no_leasing ? " --no-leasing" : "");
}

int
master_run(struct master *m)
{
	struct err	e;

	m->line->pid = (int32_t)getpid();
	m->line->started_at = m->line->alive_at = clock_ms();
	scoreboard_state(m->line, SCOREBOARD_RUNNING, m->line->alive_at);
	if (scoreboard_live(m->scoreboard, m->scoreboard_fd, &e) < 0)
		log_error("%s: outboxctl will say that no daemon runs here",
		    e.text);
	set_title(m);
	log_start(m);
	notify_open(&m->notify);
	inherit_workers(m);
	loop(m);
	forget_predecessors(m);
	scoreboard_state(m->line, SCOREBOARD_FREE, clock_ms());
	log_info("stopped");
	close(m->predecessors_fd);
	wakeup_close(&m->wakeup);
	notify_close(&m->notify);
	scoreboard_close(m->scoreboard);
	close(m->scoreboard_fd);
	if (m->conf != m->born)
		conf_free(m->conf);
	conf_free(m->born);
	free(m);
	return 0;
}
