/* view.c - see view.h */

#include "master/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/unistd.h>

#include "master/keeper.h"

#define END_MS	4000	/* longest wait for the keeper */

struct pipes {
	int	life[2], reports[2], log[2];	/* log: -1: it goes elsewhere */
};

bool
view_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static void
close_pair(int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int
open_pipes(struct pipes *p, struct err *e)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->life) < 0 ||
	    pipe2(p->reports, O_CLOEXEC) < 0 ||
	    (isatty(STDERR_FILENO) && pipe2(p->log, O_CLOEXEC) < 0))
		return err_set(e, "%s", strerror(errno));
	fcntl(p->reports[1], F_SETFL, O_NONBLOCK);
	return 0;
}

static void
close_pipes(struct pipes *p)
{
	close_pair(p->life);
	close_pair(p->reports);
	close_pair(p->log);
}

/*
 * Keep these alone: with the lock of the pid file, or an end of another pipe,
 * this process could be in the way of the daemon or its successor.
 */
static void
become_keeper(struct pipes *p, const char *conf_path, int64_t window_ms)
{
	int		fds[] = { p->life[1], p->reports[0], p->log[0] };
	int		n = p->log[0] < 0 ? 2 : 3, base = STDERR_FILENO + 1;
	struct keeper	k = { .life = base, .reports = base + 1,
			    .log = n < 3 ? -1 : base + 2,
			    .conf_path = conf_path, .window_ms = window_ms };

	/*
	 * Above those that are to be written over.  The view has the first one,
	 * too: view_end() waits for both.
	 */
	for (int i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, base + n);
	for (int i = 0; i < n; i++)
		if (fds[i] < 0 || dup3(fds[i], base + i, i == 0 ? 0 :
		    O_CLOEXEC) != base + i)
			_exit(1);
	closefrom(base + n);
	_exit(keeper_main(&k));
}

int
view_begin(struct view *v, const char *conf_path, int64_t window_ms,
    struct err *e)
{
	struct pipes	p;
	pid_t		pid;

	if (open_pipes(&p, e) < 0) {
		close_pipes(&p);
		return -1;
	}
	fflush(NULL);
	if ((pid = fork()) < 0) {
		err_set(e, "fork: %s", strerror(errno));
		close_pipes(&p);
		return -1;
	}
	if (pid == 0)
		become_keeper(&p, conf_path, window_ms);
	if (p.log[1] >= 0)
		dup2(p.log[1], STDERR_FILENO);
	close_pair(p.log);
	close(p.life[1]);
	close(p.reports[0]);
	v->keeper = pid;
	v->life = p.life[0];
	v->reports = p.reports[1];
	return 0;
}

void
view_end(struct view *v)
{
	struct pollfd	p = { v->life, POLLIN, 0 };

	/* For all processes that have a copy, not only for this one. */
	shutdown(v->life, SHUT_WR);
	if (poll(&p, 1, END_MS) == 0) {
		/* It hangs: then the view ends, and cleans the terminal. */
		kill(v->keeper, SIGKILL);
		poll(&p, 1, END_MS);
	}
	close(v->life);
	close(v->reports);
}
