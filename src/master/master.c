/*
 * master.c - the master's start, its loop over signals, and its end
 *
 * Signals and deaths change a few fields; children_converge() then starts and
 * stops children to match.
 */

#include "master/master_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/unistd.h>

#include "ipc/daemon.h"
#include "ipc/predecessors.h"
#include "ipc/usage.h"
#include "master/log_head.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define SECOND_TERM_MS	5000	/* until SIGKILL, after a second SIGTERM */
#define ALIVE_MS	1000	/* between its own signs of life */
#define READY_POLL_MS	50	/* while systemd waits for the first worker */

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
	doors_close(m);
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
		log_error("%s", e.text);
		scoreboard_error(m->line, e.text);
	} else if (m->conf->log.target[0] == '/')
		log_head_write("the log was opened again", m->conf,
		    m->a->conf_path, m->gen);
	/* The master first: its line is the first one of a new file. */
	children_reopen_logs(m);
}

static void
loop(struct master *m)
{
	while (!m->stopping || children_run(m)) {
		int64_t		now = clock_ms(), at;
		struct pollfd	monitor = { .events = POLLIN };

		if (now - m->noted_at >= ALIVE_MS) {
			usage_note(m->scoreboard);
			m->noted_at = now;
		}
		scoreboard_alive(m->line, now);
		agents_turn(&m->agents, &m->starter, now);
		children_converge(m, now);
		reload_note_renewed(m);
		refused_look(&m->refused, m->scoreboard, now);
		if (!m->stopping)
			notify_look(&m->notify, m->scoreboard,
			    m->conf->master.workers);
		notify_alive(&m->notify, now);
		at = sooner(children_deadline(m, now), now +
		    (notify_is_awaited(&m->notify) ? READY_POLL_MS : ALIVE_MS));
		at = sooner(at, agents_deadline(&m->agents, now));
		monitor.fd = agents_input(&m->agents, now);
		sig_wait(&monitor, 1, at > now ? at - now : 0);
		if (sig_took(&got_term))
			ask_to_stop(m, clock_ms());
		if (sig_took(&got_hup) && !m->stopping) {
			notify_reloading(&m->notify);
			reload_now(m);
			notify_reloaded(&m->notify);
		}
		if (sig_took(&got_usr1))
			reopen_logs(m);
		if (sig_took(&got_chld))
			children_reap(m, clock_ms());
		sig_took(&got_handover);	/* no meaning for a master */
	}
}

struct master *
master_new(const struct master_args *a, struct conf *conf, struct err *e)
{
	struct master	*m = xcalloc(1, sizeof(*m));
	char		*board = xasprintf("%s.scoreboard", a->run_prefix);
	char		*workers = xasprintf("%s.workers", a->run_prefix);
	bool		 opened;

	m->a = a;
	m->conf = m->born = conf;
	m->gen = 1;
	m->scoreboard = scoreboard_create(board, &m->scoreboard_fd, e);
	opened = m->scoreboard != NULL &&
	    (m->predecessors_fd = predecessors_open(workers, e)) >= 0 &&
	    wakeup_open(&m->wakeup, e) == 0;
	free(board);
	free(workers);
	if (!opened) {
		scoreboard_close(m->scoreboard);
		free(m);
		return NULL;
	}
	m->line = &m->scoreboard->lines[SCOREBOARD_MASTER];
	m->scoreboard->generation = m->line->generation = m->gen;
	m->agents = (struct agents){ .channel = -1, .monitors = -1 };
	for (int i = 0; i < NDOORS; i++)
		m->doors[i].fd = -1;
	m->outboxctl = daemon_find_outboxctl();
	m->starter = (struct starter){ .program = m->outboxctl,
	    .conf_path = a->conf_path, .pidfile = conf->master.pidfile };
	children_init(m);
	return m;
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
	setproctitle("-outbox-master: master [%s]%s%s%s%s", m->a->conf_path,
	    workers, o->no_leasing ? " --no-leasing" : "",
	    o->pidfile == NULL ? "" : " --pidfile ",
	    o->pidfile == NULL ? "" : o->pidfile);
}

/* For who looks for the log when we have ended. */
static void
note_stderr(struct scoreboard *b)
{
	ssize_t		n = readlink("/proc/self/fd/2", b->stderr_file,
			    sizeof(b->stderr_file) - 1);
	struct stat	st;

	/* What fills the buffer may have been cut off. */
	if (n < 0 || n == (ssize_t)sizeof(b->stderr_file) - 1 ||
	    fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
		n = 0;
	b->stderr_file[n] = '\0';
}

int
master_run(struct master *m)
{
	struct err	 e;
	char		*text;

	m->line->pid = (int32_t)getpid();
	m->line->started_at = m->line->alive_at = clock_ms();
	scoreboard_state(m->line, SCOREBOARD_RUNNING, m->line->alive_at);
	if (scoreboard_live(m->scoreboard, m->scoreboard_fd, &e) < 0)
		log_error("%s: outboxctl will say that no daemon runs here",
		    e.text);
	note_stderr(m->scoreboard);
	set_title(m);
	text = xasprintf("started with %lld worker%s",
	    (long long)m->conf->master.workers,
	    m->conf->master.workers == 1 ? "" : "s");
	log_head_write(text, m->conf, m->a->conf_path, m->gen);
	log_head_warn(m->conf);
	free(text);
	notify_open(&m->notify);
	succession_inherit(m);
	loop(m);
	succession_forget(m);
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
	free(m->outboxctl);
	free(m);
	return 0;
}
