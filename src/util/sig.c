/* sig.c - handlers set flags and nothing else */

#include "util/sig.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/log.h"

volatile sig_atomic_t got_term, got_hup, got_usr1, got_chld;
volatile sig_atomic_t got_handover, got_orphaned;

static sigset_t	unblocked;

static const struct {
	int			 signo;
	volatile sig_atomic_t	*flag;
} ours[] = {
	{ SIGTERM, &got_term },
	{ SIGINT, &got_term },
	{ SIGHUP, &got_hup },
	{ SIGUSR1, &got_usr1 },
	{ SIGUSR2, &got_handover },
	{ SIGCHLD, &got_chld },
};

#define NOURS	(sizeof(ours) / sizeof(ours[0]))

static void
on_signal(int signo)
{
	for (size_t i = 0; i < NOURS; i++)
		if (ours[i].signo == signo)
			(*ours[i].flag)++;
}

/*
 * The master died.  This signal is never blocked, because a worker may be in a
 * database call that takes too long.  The alarm ends the process if it does
 * not exit by itself.
 */
static void
on_orphaned(int signo)
{
	(void)signo;
	got_orphaned = 1;
	alarm(1);
}

static void
handle(int signo, void (*handler)(int))
{
	struct sigaction	sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	sigfillset(&sa.sa_mask);
	if (sigaction(signo, &sa, NULL) < 0)
		panic("sigaction %d: %s", signo, strerror(errno));
}

void
sig_init(void)
{
	sigset_t	blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < NOURS; i++) {
		handle(ours[i].signo, on_signal);
		sigaddset(&blocked, ours[i].signo);
	}
	handle(SIGPIPE, SIG_IGN);
	handle(SIGXFSZ, SIG_IGN);	/* a log at its limit: EFBIG */
	if (sigprocmask(SIG_BLOCK, &blocked, &unblocked) < 0)
		panic("sigprocmask: %s", strerror(errno));
	for (size_t i = 0; i < NOURS; i++)
		sigdelset(&unblocked, ours[i].signo);
}

void
sig_child(pid_t master)
{
	for (size_t i = 0; i < NOURS; i++)
		*ours[i].flag = 0;
	/* A terminal signals its whole group; only the master may stop us. */
	handle(SIGHUP, SIG_IGN);
	handle(SIGINT, SIG_IGN);
	handle(SIGCHLD, SIG_DFL);
	handle(SIGALRM, SIG_DFL);
	handle(SIGURG, on_orphaned);
	if (prctl(PR_SET_PDEATHSIG, SIGURG) < 0)
		panic("prctl: %s", strerror(errno));
	if (getppid() != master)	/* it died before prctl */
		on_orphaned(0);
}

static void
on_leave(int signo)
{
	(void)signo;
	_exit(0);
}

void
sig_leave_at_once(void)
{
	sigset_t	wanted;

	handle(SIGTERM, on_leave);
	handle(SIGUSR2, on_leave);
	handle(SIGURG, on_leave);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGUSR2);
	if (sigprocmask(SIG_UNBLOCK, &wanted, NULL) < 0)
		panic("sigprocmask: %s", strerror(errno));
}

int
sig_wait(struct pollfd *fds, nfds_t n, int64_t timeout_ms)
{
	struct timespec	 ts = { timeout_ms / 1000, timeout_ms % 1000 * 1000000 };
	int		 ready;

	ready = ppoll(fds, n, timeout_ms < 0 ? NULL : &ts, &unblocked);
	if (ready < 0 && errno != EINTR)
		panic("ppoll: %s", strerror(errno));
	return ready < 0 ? 0 : ready;
}

bool
sig_took(volatile sig_atomic_t *flag)
{
	bool	was = *flag != 0;

	*flag = 0;
	return was;
}
