/* guard.c - see guard.h */

#include "ctl/top/guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/top/terminal.h"
#include "util/clock.h"
#include "util/sig.h"

#define PATIENCE_MS	2000	/* for the end, once it was asked for */

static int
draw_in_child(struct ctl *c, int (*draw)(struct ctl *), pid_t guard)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != guard)
		return CTL_FAILED;
	return draw(c);
}

/* The terminal's owner sees us stopped, too; later both go on. */
static void
stop_with(pid_t child)
{
	terminal_repair();
	raise(SIGSTOP);
	kill(child, SIGCONT);
}

/* Has it ended?  Then *status is that of waitpid. */
static bool
reap(pid_t child, int *status)
{
	while (waitpid(child, status, WNOHANG | WUNTRACED) == child) {
		if (!WIFSTOPPED(*status))
			return true;
		stop_with(child);
	}
	return false;
}

static int
finish(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	terminal_repair();
	return ctl_error("the view was ended by signal %d (%s)",
	    WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static int
wait_for_child(pid_t child)
{
	int64_t	kill_at = 0, left = -1;
	int	status;

	while (!reap(child, &status)) {
		if (kill_at != 0) {
			left = kill_at - clock_ms();
			if (left <= 0)
				kill(child, SIGKILL);
			left = left < 0 ? PATIENCE_MS : left;
		}
		sig_wait(NULL, 0, left);
		if (sig_took(&got_term) || sig_took(&got_hup)) {
			kill(child, SIGTERM);
			kill_at = clock_ms() + PATIENCE_MS;
		}
	}
	return finish(status);
}

int
guard_run(struct ctl *c, int (*draw)(struct ctl *))
{
	pid_t	guard = getpid(), child;

	/* Else this process may be stopped before the picture is gone. */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	fflush(NULL);
	if ((child = fork()) < 0)
		return ctl_error("fork: %s", strerror(errno));
	if (child == 0)
		_exit(draw_in_child(c, draw, guard));
	return wait_for_child(child);
}
