/* master.c - see master.h */

#include "ctl/daemon/master.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/daemon.h"
#include "util/xalloc.h"

#define TITLE	"outbox-master: master ["

/* Only if its scoreboard cannot be read: the scoreboard has the pid, too. */
static pid_t
read_pid_file(const char *path)
{
	FILE	*f = fopen(path, "re");
	int	 pid = 0;

	if (f != NULL && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f != NULL)
		fclose(f);
	return pid > 0 ? pid : 0;
}

void
master_find(const struct ctl *c, struct master_here *m)
{
	const char	*pidfile = c->conf->master.pidfile;
	char		*prefix = daemon_run_prefix(pidfile);
	char		*path = xasprintf("%s.scoreboard", prefix);
	bool		 alive;

	memset(m, 0, sizeof(*m));
	m->board = scoreboard_open(path, &alive, &m->why);
	if (alive)
		m->pid = m->board != NULL ? m->board->master :
		    read_pid_file(pidfile);
	else if (m->board != NULL)
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

int
master_missing(const struct master_here *m)
{
	return ctl_refuse("start it, or correct master.pidfile",
	    "outbox-master does not run on this host (%s)", m->why.text);
}

char *
master_conf_path(pid_t pid)
{
	char	*proc = xasprintf("/proc/%d/cmdline", (int)pid), *end;
	char	 title[4096] = "";
	FILE	*f = fopen(proc, "re");
	size_t	 n = f == NULL ? 0 : fread(title, 1, sizeof(title) - 1, f);

	if (f != NULL)
		fclose(f);
	free(proc);
	title[n] = '\0';
	if (strncmp(title, TITLE, strlen(TITLE)) != 0 ||
	    (end = strrchr(title, ']')) == NULL)
		return NULL;
	*end = '\0';
	return xstrdup(title + strlen(TITLE));
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
