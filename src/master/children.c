/*
 * children.c - which processes run: started, asked to leave, reaped
 *
 * children_converge() compares what runs with what is wanted, so a signal, a
 * death or a reload only changes a few fields.  No MySQL, NATS or threads:
 * children do that.
 */

#include "master/master_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/unistd.h>

#include "drivers/traits/traits.h"
#include "ipc/daemon.h"
#include "janitor/janitor.h"
#include "listener/listener.h"
#include "monitor/monitor.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/sig.h"
#include "util/xalloc.h"
#include "worker/worker.h"

#define STAMP_MS	1000	/* between looks at files of helpers */
#define REPLACE_POLL_MS	50	/* poll interval during a rolling restart */

static int
run_worker(struct master *m, struct slot *s)
{
	struct worker_args	 a = { .conf = m->conf, .line = s->line,
				     .totals = &m->scoreboard->totals[s->index],
				     .figures = &m->scoreboard->figures[
				     s->index],
				     .board = m->scoreboard,
				     .wakeup = &m->wakeup, .slot = s->index,
				     .interval_ms = m->a->interval_ms,
				     .outages = m->scoreboard->outages };
	int			 status;

	log_worker(s->index);
	setproctitle("-outbox-master: worker %u", s->index);
	a.report = m->a->report;
	/* The messages themselves may be on standard output. */
	a.report.silent = m->a->report.silent ||
	    traits_take_stdout(m->conf);
	memcpy(a.id, s->id, sizeof(a.id));
	a.predecessors = xcalloc(s->npredecessors + 1, IDENT_SIZE);
	for (size_t i = 0; i < s->npredecessors; i++)
		memcpy(a.predecessors[i], s->predecessors[i].id, IDENT_SIZE);
	a.npredecessors = s->npredecessors;
	a.respawned = s->has_worked;
	a.repartition = s->line->repartition == SCOREBOARD_REPARTITION_ASKED;
	status = worker_main(&a);
	free(a.predecessors);
	return status;
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
				    .totals = &m->scoreboard->totals[
				    SCOREBOARD_LISTENER],
				    .database = database_outage(m) };

	return listener_main(&a);
}

static int
run_janitor(struct master *m, struct slot *s)
{
	struct janitor_args	a = { .conf = m->conf, .line = s->line,
				    .totals = &m->scoreboard->totals[
				    SCOREBOARD_JANITOR],
				    .backlog = &m->scoreboard->backlog,
				    .scoreboard = m->scoreboard,
				    .database = database_outage(m),
				    .broker = &m->scoreboard->outages[
				    SCOREBOARD_OUTAGE_BROKER] };

	return janitor_main(&a);
}

static int
run_monitor(struct master *m, struct slot *s)
{
	struct monitor_args	a = { .conf = m->conf, .doors = m->doors,
				    .channel = m->agents.monitors,
				    .scoreboard = m->scoreboard,
				    .line = s->line };
	struct err		e;

	/* It parses what strangers send: it keeps nothing that it need not. */
	wakeup_close(&m->wakeup);
	close(m->predecessors_fd);
	daemon_leave_lock();
	if (scoreboard_keep_own(m->scoreboard, m->scoreboard_fd, &e) < 0)
		log_warn("the scoreboard stays writable: %s", e.text);
	return monitor_main(&a);
}

static const struct helper {
	const char	*role;
	unsigned	 line;		/* of the scoreboard */
	int64_t		 silence_ms;	/* longest wait for a server */
	bool		(*is_wanted)(const struct conf *);	/* NULL: always */
	int		(*run)(struct master *, struct slot *);
	size_t		(*files)(const struct conf *,
			    const char *[FILE_STAMP_MAX]);
			/* it is confined: it opens neither the log again nor
			   these once they are others; NULL: it is not */
} helpers[NHELPERS] = {
	[LISTENER] = { "listener", SCOREBOARD_LISTENER, LISTENER_SILENCE_MS,
	    listener_is_wanted, run_listener, listener_files },
	[JANITOR] = { "janitor", SCOREBOARD_JANITOR, JANITOR_SILENCE_MS,
	    NULL, run_janitor, NULL },
	[MONITOR] = { "monitor", SCOREBOARD_MONITOR, MONITOR_SILENCE_MS,
	    NULL, run_monitor, monitor_files },
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
		starter_close(&m->agents.channel, 1);
		if (s != &m->helpers[MONITOR])
			doors_leave(m);
		exit(run(m, s));
	}
	if (pid < 0) {
		err_set(&e, "%s %u: cannot fork, will try again: %s", s->role,
		    s->index, strerror(errno));
		log_error("%s", e.text);
		scoreboard_error(m->line, e.text);
	}
	slot_started(s, pid, m->gen, clock_ms());
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
	/* One that is asked may be through with it at any time: OVER is last. */
	if (m->repartition &&
	    !has_repartition(m, SCOREBOARD_REPARTITION_ASKED) &&
	    !has_repartition(m, SCOREBOARD_REPARTITION_OVER))
		s->line->repartition = SCOREBOARD_REPARTITION_ASKED;
	succession_note(m, s);
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

static uint64_t
stamp_of(const struct master *m, unsigned i)
{
	const char	*files[FILE_STAMP_MAX];

	return helpers[i].files == NULL ? 0 :
	    file_stamp(files, helpers[i].files(m->conf, files));
}

static void
start_helper(struct master *m, unsigned i, int64_t now)
{
	struct slot	*s = &m->helpers[i];
	struct err	 e;

	memset(s->line, 0, sizeof(*s->line));
	s->line->started_at = s->line->alive_at = now;
	scoreboard_state(s->line, SCOREBOARD_STARTING, now);
	s->line->generation = m->gen;
	if (i == MONITOR && agents_open(&m->agents, &e) < 0) {
		log_error("monitor 0: %s", e.text);
		slot_started(s, -1, m->gen, now);
		return;
	}
	m->kept[i] = (struct kept){ .log = log_opens(),
	    .files = stamp_of(m, i), .seen_at = now };
	start_child(m, s, helpers[i].run);
	if (i == MONITOR)
		agents_opened(&m->agents);
	s->line->pid = (int32_t)s->pid;
}

/*
 * What is confined keeps what it was born with, log, tokens, certificates; for
 * others another one is needed.
 */
static bool
is_outdated(struct master *m, unsigned i, int64_t now)
{
	struct kept	*b = &m->kept[i];

	if (helpers[i].files == NULL)
		return false;
	if (b->log != log_opens())
		return true;
	if (now - b->seen_at < STAMP_MS)
		return false;
	b->seen_at = now;
	/* Nor can it connect to a system's log that was started again. */
	return b->files != stamp_of(m, i) || (log_is_syslog() &&
	    m->helpers[i].line->log_lost > 0 && log_works());
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

static bool
wants_helper(const struct master *m, unsigned i)
{
	return !m->stopping && (helpers[i].is_wanted == NULL ||
	    helpers[i].is_wanted(m->conf));
}

/* A helper may be silent for as long as its longest wait for a server. */
static int64_t
helper_hang(const struct master *m, unsigned i)
{
	int64_t	hang = m->conf->master.hang_timeout;

	return hang > 0 && hang < helpers[i].silence_ms ?
	    helpers[i].silence_ms : hang;
}

/* Make the children match what is wanted.  Safe to call at any time. */
void
children_converge(struct master *m, int64_t now)
{
	int64_t	stop_by = now + m->conf->master.stop_timeout;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		struct slot	*s = &m->slots[i];
		bool		 want = !m->stopping &&
				    i < m->conf->master.workers;

		if (s->pid != 0 && !want)
			slot_ask(s, ASK_LEAVE, m->stopping ? m->stop_by :
			    stop_by);
		else if (s->pid != 0 && s->gen != m->gen &&
		    !is_replacing(m, now))
			slot_ask(s, ASK_HANDOVER, stop_by);
		else if (want && slot_is_due(s, now))
			start_worker(m, s);
		slot_prune_predecessors(s, m->conf->worker.claim_ttl, now);
		slot_check(s, m->conf->master.hang_timeout, now);
	}
	/* A monitor has the sockets that it was born with. */
	if (!m->stopping && doors_open(m, now))
		slot_ask(&m->helpers[MONITOR], ASK_LEAVE, stop_by);
	for (unsigned i = 0; i < NHELPERS; i++) {
		struct slot	*s = &m->helpers[i];
		bool		 want = wants_helper(m, i);

		if (s->pid != 0 && (!want || s->gen != m->gen ||
		    is_outdated(m, i, now)))
			slot_ask(s, ASK_LEAVE, stop_by);
		else if (want && slot_is_due(s, now))
			start_helper(m, i, now);
		slot_check(s, helper_hang(m, i), now);
	}
	if (has_repartition(m, SCOREBOARD_REPARTITION_OVER))
		m->repartition = false;
}

/* The earliest time at which children_converge() has something to do, in ms. */
int64_t
children_deadline(const struct master *m, int64_t now)
{
	int64_t	at = INT64_MAX;

	for (unsigned i = 0; i < NHELPERS; i++) {
		const struct slot *s = &m->helpers[i];

		at = sooner(at, slot_deadline(s, helper_hang(m, i)));
		if (wants_helper(m, i) && s->pid == 0)
			at = sooner(at, s->start_at);
	}
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
	if (!m->stopping)
		at = sooner(at, doors_deadline(m));
	return m->repartition ? sooner(at, now + REPLACE_POLL_MS) : at;
}

/* Those that end with the master do not count. */
static void
count_end(struct master *m, const struct slot *s, int status)
{
	bool	reload = s->asked != ASK_NONE && s->gen != m->gen;
	enum totals_end	end = reload ? TOTALS_RELOAD :
			    s->killed ? TOTALS_HANG :
			    WIFSIGNALED(status) ? TOTALS_SIGNAL : TOTALS_EXIT;
	unsigned	role = 0;

	if (m->stopping || (s->asked != ASK_NONE && !reload))
		return;
	while (role < TOTALS_ROLES - 1 && strcmp(s->role,
	    totals_role_word((enum totals_role)role)) != 0)
		role++;
	m->scoreboard->restarts[role][end]++;
}

void
children_reap(struct master *m, int64_t now)
{
	struct slot	*s, *end = m->slots + NCHILDREN;
	pid_t		 pid;
	int		 status;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		for (s = m->slots; s < end && s->pid != pid; s++)
			;
		if (s == end) {
			if (!WIFSTOPPED(status))
				agents_reap(&m->agents, pid, status, now);
			continue;
		}
		if (WIFSTOPPED(status)) {
			/*
			 * Such a monitor keeps its clients waiting, and has
			 * nothing to lose.  Other processes are stopped on
			 * purpose, by an operator or a debugger.
			 */
			if (s == &m->helpers[MONITOR]) {
				log_warn("monitor 0: pid %d was stopped by a "
				    "signal: replaced", (int)s->pid);
				kill(s->pid, SIGKILL);
			}
			continue;
		}
		if (s == &m->helpers[MONITOR])
			agents_close(&m->agents);
		count_end(m, s, status);
		slot_exited(s, status, now);
		if (s->died.text[0] != '\0')
			scoreboard_error(m->line, s->died.text);
		if (s >= m->helpers)	/* no worker */
			continue;
		succession_note(m, s);
		/*
		 * It was handing over when the master was told to stop: its row
		 * and leases still exist.  One last worker takes them over and
		 * releases them.
		 */
		if (m->stopping && s->handed_over && !m->wound_up[s->index]) {
			m->wound_up[s->index] = true;
			start_worker(m, s);
		}
	}
}

void
children_reopen_logs(const struct master *m)
{
	for (unsigned i = 0; i < NCHILDREN; i++) {
		const struct slot *s = &m->slots[i];

		if (s->pid != 0 && (s < m->helpers ||
		    helpers[s - m->helpers].files == NULL))
			kill(s->pid, SIGUSR1);
	}
}

bool
children_run(const struct master *m)
{
	for (unsigned i = 0; i < NCHILDREN; i++)
		if (m->slots[i].pid != 0)
			return true;
	return false;
}

void
children_init(struct master *m)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		slot_init(&m->slots[i], i, "worker", &m->scoreboard->lines[i]);
		m->slots[i].suspects = m->scoreboard->suspects;
	}
	m->helpers = &m->slots[CONF_MAX_WORKERS];
	for (unsigned i = 0; i < NHELPERS; i++)
		slot_init(&m->helpers[i], 0, helpers[i].role,
		    &m->scoreboard->lines[helpers[i].line]);
}
