/* starter.c - see starter.h */

#include "ipc/starter.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/environment.h"

#define NFDS	3

/* The kind, with descriptors: start; without: end. */
union control {
	struct cmsghdr	head;
	char		space[CMSG_SPACE(NFDS * sizeof(int))];
};

void
starter_close(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* In the child: become outboxctl.  Signals are as a program expects them. */
static void
become(const struct starter *s, bool finishes, const int fds[3])
{
	sigset_t	none;
	char	      **variables;
	int		fd;

	sigemptyset(&none);
	for (int i = 0; i < NFDS; i++)
		if (dup2(fds[i], i) < 0)
			_exit(127);
	/* One that finishes must not die of a line that nobody reads any more. */
	if (!finishes)
		signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGURG, SIG_DFL);
	/* A terminal signals its whole group: the daemon ends its agents. */
	if (s->pidfile != NULL)
		signal(SIGINT, SIG_IGN);
	if (!finishes)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
	    (s->pidfile == NULL ||
	    (setenv("OUTBOX_MASTER_PIDFILE", s->pidfile, 1) == 0 &&
	    setenv("OUTBOXCTL_FOR", "monitor", 1) == 0 &&
	    setenv("OUTBOXCTL_MAY", finishes ? "change" : "read", 1) == 0)) &&
	    (variables = environment_hand_over(&fd)) != NULL &&
	    environment_keep(fd) == 0)
		execle(s->program, "outboxctl", "-c", s->conf_path, "--json",
		    "serve", (char *)NULL, variables);
	dprintf(2, "cannot run %s: %s\n", s->program, strerror(errno));
	_exit(127);
}

pid_t
starter_fork(const struct starter *s, bool finishes, const int fds[3],
    struct err *e)
{
	pid_t	pid = fork();

	if (pid == 0)
		become(s, finishes, fds);
	return pid > 0 ? pid : err_set(e, "fork: %s", strerror(errno));
}

int
starter_channel(int ends[2], struct err *e)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0, ends) == 0 ? 0 :
	    err_set(e, "socketpair: %s", strerror(errno));
}

int
starter_ask(int channel, enum starter_kind kind, const int fds[3],
    struct err *e)
{
	uint8_t		 byte = (uint8_t)kind;
	struct iovec	 text = { &byte, 1 };
	union control	 control = { .head = { .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(NFDS * sizeof(int)) } };
	struct msghdr	 m = { .msg_iov = &text, .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), fds, NFDS * sizeof(int));
	return sendmsg(channel, &m, MSG_NOSIGNAL) == 1 ? 0 : err_set(e,
	    "the master starts no outboxctl: %s", strerror(errno));
}

void
starter_ask_end(int channel, enum starter_kind kind)
{
	uint8_t	byte = (uint8_t)kind;

	/* If that is lost, the next start of its kind ends it. */
	(void)!send(channel, &byte, 1, MSG_NOSIGNAL);
}

/* What else it may be could make us wait, when it is closed. */
static bool
are_pipes(const int *fds, int n)
{
	struct stat	st;

	for (int i = 0; i < n; i++)
		if (fstat(fds[i], &st) < 0 || !S_ISFIFO(st.st_mode))
			return false;
	return true;
}

enum starter_wish
starter_hear(int channel, enum starter_kind *kind, int fds[3])
{
	uint8_t		 byte = STARTER_KINDS;
	struct iovec	 text = { &byte, 1 };
	union control	 control = { 0 };
	struct msghdr	 m = { .msg_iov = &text, .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control) };
	ssize_t		 n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr	*c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	int		 got = 0;

	memset(fds, -1, NFDS * sizeof(int));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? STARTER_NOTHING :
		    STARTER_GONE;
	/* The kernel gives no more than there is room for. */
	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS) {
		got = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)got * sizeof(int));
	}
	*kind = (enum starter_kind)byte;
	if (n == 1 && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
	    byte < STARTER_KINDS && (got == 0 || got == NFDS) &&
	    are_pipes(fds, got))
		return got == 0 ? STARTER_END : STARTER_START;
	starter_close(fds, NFDS);
	return STARTER_GONE;
}
