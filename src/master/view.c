/* view.c - see view.h */

#include "master/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bsd/unistd.h>

#include "ipc/daemon.h"
#include "util/display.h"
#include "util/environment.h"
#include "util/xalloc.h"

#define END_MS	4000	/* longest wait for the view */

/* In the view, as its environment tells it. */
#define REPORTS_FD	3
#define LOG_FD		4

struct pipes {
	int	reports[2], log[2];	/* log: -1: it goes elsewhere */
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

/*
 * Of all descriptors it gets its ends of the pipes alone: with the lock of the
 * pid file it could be in the way of the daemon's successor.
 */
static int
hand_over_pipes(const struct pipes *p)
{
	int	reports = fcntl(p->reports[0], F_DUPFD, LOG_FD + 1);
	int	log = p->log[0] < 0 ? -1 : fcntl(p->log[0], F_DUPFD,
		    LOG_FD + 1);

	if (dup2(reports, REPORTS_FD) < 0 ||
	    setenv("OUTBOX_TOP_REPORTS", "3", 1) < 0)
		return -1;
	close(LOG_FD);
	if (p->log[0] >= 0 && (dup2(log, LOG_FD) < 0 ||
	    setenv("OUTBOX_TOP_LOG", "4", 1) < 0))
		return -1;
	closefrom(LOG_FD + 1);
	return 0;
}

static void
become_view(const struct pipes *p, char *path, const char *conf_path,
    int64_t window_ms, pid_t master)
{
	static char	 option[] = "-c", top[] = "top", window[] = "--window";
	char		*minutes = xasprintf("%lld",
			    (long long)(window_ms + 59999) / 60000);
	char	       **variables;
	sigset_t	 none;
	int		 fd;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	/* Ctrl-C is for the daemon. */
	signal(SIGINT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (getppid() != master || hand_over_pipes(p) < 0 ||
	    (variables = environment_hand_over(&fd)) == NULL ||
	    environment_keep(fd) < 0)
		_exit(1);
	execve(path, (char *const[]){ path, option, xstrdup(conf_path), top,
	    window_ms > 0 ? window : NULL, minutes, NULL }, variables);
	display_print(stderr, "outbox-master: %s: %s\n", path, strerror(errno));
	_exit(1);
}

int
view_begin(struct view *v, const char *conf_path, int64_t window_ms,
    struct err *e)
{
	char		*path = daemon_find_outboxctl();
	pid_t		 master = getpid();
	struct pipes	 p = { { -1, -1 }, { -1, -1 } };

	/* A view that hangs must not hold up who writes. */
	if (pipe2(p.reports, O_CLOEXEC) < 0 ||
	    fcntl(p.reports[1], F_SETFL, O_NONBLOCK) < 0 ||
	    (isatty(STDERR_FILENO) && pipe2(p.log, O_CLOEXEC) < 0))
		v->pid = err_set(e, "%s", strerror(errno));
	else if (access(path, X_OK) < 0)
		v->pid = err_set(e, "%s: %s", path, strerror(errno));
	else if (fflush(NULL), (v->pid = fork()) < 0)
		err_set(e, "fork: %s", strerror(errno));
	if (v->pid == 0)
		become_view(&p, path, conf_path, window_ms, master);
	free(path);
	if (v->pid < 0) {
		close_pair(p.reports);
		close_pair(p.log);
		return -1;
	}
	if (p.log[1] >= 0)
		dup2(p.log[1], STDERR_FILENO);
	close_pair(p.log);
	close(p.reports[0]);
	v->reports = p.reports[1];
	return 0;
}

void
view_end(struct view *v)
{
	/* It alone reads the pipe, which fails when it has ended. */
	struct pollfd	p = { v->reports, 0, 0 };

	if (poll(&p, 1, 0) == 0) {
		kill(v->pid, SIGTERM);
		kill(v->pid, SIGCONT);
		if (poll(&p, 1, END_MS) == 0)
			kill(v->pid, SIGKILL);
	}
	close(v->reports);
}
