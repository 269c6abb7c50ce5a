/* master.c - see master.h */

#include "ctl/daemon/master.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/daemon.h"
#include "util/xalloc.h"

void
master_find(const struct ctl *c, struct master_here *m)
{
	char		*prefix = daemon_run_prefix(c->conf->master.pidfile);
	char		*path = xasprintf("%s.scoreboard", prefix);
	bool		 alive;

	memset(m, 0, sizeof(*m));
	m->board = scoreboard_find(path, &alive, &m->pid, &m->why);
	/*
	 * The kernel tells the pid of the lock's holder as it is seen here.
	 * The pid on the scoreboard is of the master's own namespace, and here
	 * may be that of any process.
	 */
	m->elsewhere = alive && (m->pid == 0 ||
	    (m->board != NULL && m->board->master != m->pid));
	if (m->elsewhere) {
		m->pid = 0;
		err_set(&m->why, "outbox-master runs in another pid namespace "
		    "(a container), so it cannot be signalled from here");
	}
	if (!alive && m->board != NULL)
		err_set(&m->why, "%s: its daemon has ended", path);
	free(path);
	free(prefix);
}

void
master_release(struct master_here *m)
{
	scoreboard_close(m->board);
	m->board = NULL;
}

bool
master_lives(const struct ctl *c, pid_t pid)
{
	struct master_here	m;

	master_find(c, &m);
	master_release(&m);
	return m.pid == pid;
}

int
master_missing(const struct master_here *m)
{
	if (m->elsewhere)
		return ctl_refuse("run this command there", "%s", m->why.text);
	return ctl_refuse("start it, or correct master.pidfile",
	    "outbox-master does not run on this host (%s)", m->why.text);
}

char *
master_conf_path(pid_t pid, struct conf_override *options)
{
	char	*text, *workers, *path = daemon_file_of(pid, &text);

	if (path == NULL)
		return NULL;
	/* What the master's title has behind the file. */
	workers = strstr(text, " --workers ");
	memset(options, 0, sizeof(*options));
	if (workers != NULL)
		options->workers = strtol(workers + strlen(" --workers "),
		    NULL, 10);
	options->no_leasing = strstr(text, " --no-leasing") != NULL;
	free(text);
	return path;
}

int
master_signal(pid_t pid, int signo)
{
	if (kill(pid, signo) == 0)
		return CTL_DONE;
	return ctl_refuse(errno == EPERM ? "run this command as root, or as "
	    "the daemon's user" : NULL, "outbox-master with pid %d: %s",
	    (int)pid, strerror(errno));
}
