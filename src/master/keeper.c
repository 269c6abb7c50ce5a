/* keeper.c - see keeper.h */

#include "master/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/unistd.h>

#include "ipc/daemon.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/display.h"
#include "util/environment.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define CHUNK		65536
#define HELD_MAX	(256 * 1024)	/* bytes of the log, while it shows */
#define END_MS		3000		/* for the view, once it was told */
#define TURN_MS		100		/* between looks at a view that ends */

struct state {
	const struct keeper	*k;
	pid_t			 view;	/* 0: it has ended */
	int			 to_view;	/* lines of the log */
	int			 log, reports;	/* -1: closed */
	struct buf		 held;	/* lines of the log that it hides */
	uint64_t		 forgotten;	/* bytes before those */
};

/* The view */

static void
exec_view(const struct keeper *k, int log, pid_t parent)
{
	static char	 option[] = "-c", top[] = "top", window[] = "--window";
	char		*path = daemon_find_outboxctl();
	char		*number = xasprintf("%d", log);
	char		*minutes = xasprintf("%lld",
			    (long long)(k->window_ms + 59999) / 60000);
	char	       **variables;
	sigset_t	 none;
	int		 fd;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (getppid() != parent || fcntl(log, F_SETFD, 0) < 0)
		_exit(1);
	setenv("OUTBOX_TOP_LOG", number, 1);
	if ((variables = environment_hand_over(&fd)) == NULL ||
	    environment_keep(fd) < 0)
		_exit(1);
	execve(path, (char *const[]){ path, option, xstrdup(k->conf_path), top,
	    k->window_ms > 0 ? window : NULL, minutes, NULL }, variables);
	display_print(stderr, "outbox-master: %s: %s\n", path, strerror(errno));
	_exit(1);
}

static void
start_view(struct state *s)
{
	int	fds[2];
	pid_t	parent = getpid();

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	s->view = fork();
	if (s->view == 0)
		exec_view(s->k, fds[0], parent);
	close(fds[0]);
	s->view = s->view < 0 ? 0 : s->view;
	s->to_view = fds[1];
	fcntl(s->to_view, F_SETFL, O_NONBLOCK);
}

/* Lines */

/* The terminal may be gone. */
static void
print(int fd, const char *data, size_t n)
{
	ssize_t	done;

	for (; n > 0; data += done, n -= (size_t)done)
		if ((done = write(fd, data, n)) <= 0)
			return;
}

/* Forget the oldest lines, if there are too many. */
static void
limit_held(struct state *s)
{
	size_t	 cut;
	char	*end;

	if (s->held.len <= HELD_MAX)
		return;
	cut = s->held.len - HELD_MAX / 2;
	end = memchr(s->held.data + cut, '\n', s->held.len - cut);
	if (end != NULL)
		cut = (size_t)(end + 1 - s->held.data);
	memmove(s->held.data, s->held.data + cut, s->held.len - cut);
	buf_chop(&s->held, cut);
	s->forgotten += cut;
}

/* A view that does not read loses them; they are printed when it ends. */
static void
take_log(struct state *s, const char *data, size_t n)
{
	if (s->view == 0) {
		print(STDERR_FILENO, data, n);
		return;
	}
	buf_add(&s->held, data, n);
	limit_held(s);
	(void)!write(s->to_view, data, n);
}

/* One read of what is there; false: nothing is, or *fd is closed now. */
static bool
take_lines(struct state *s, int *fd)
{
	char	data[CHUNK];
	ssize_t	n = *fd < 0 ? -1 : read(*fd, data, sizeof(data));

	if (n == 0) {
		close(*fd);
		*fd = -1;
	}
	if (n <= 0)
		return false;
	if (fd == &s->log)
		take_log(s, data, (size_t)n);
	else if (s->view == 0)
		print(STDOUT_FILENO, data, (size_t)n);
	return true;
}

/* Until all of its processes have ended: the last one cleans the terminal. */
static void
wait_for_all(const struct state *s)
{
	struct pollfd	p = { s->to_view, 0, 0 };
	int64_t		until = clock_ms() + END_MS;

	while (clock_ms() < until && poll(&p, 1, TURN_MS) == 0)
		continue;
}

static void
show_lines(struct state *s)
{
	char	*text;

	wait_for_all(s);
	close(s->to_view);
	s->view = 0;
	if (s->forgotten > 0) {
		text = xasprintf("outbox-master: %llu bytes of earlier lines "
		    "were not kept\n", (unsigned long long)s->forgotten);
		print(STDERR_FILENO, text, strlen(text));
		free(text);
	}
	print(STDERR_FILENO, s->held.data, s->held.len);
	buf_free(&s->held);
}

static void
reap_view(struct state *s)
{
	int	status;

	if (s->view != 0 && waitpid(s->view, &status, WNOHANG) == s->view)
		show_lines(s);
}

static void
end_view(struct state *s)
{
	int64_t	until = clock_ms() + END_MS;

	if (s->view == 0)
		return;
	kill(s->view, SIGTERM);
	kill(s->view, SIGCONT);
	while (s->view != 0 && clock_ms() < until) {
		sig_wait(NULL, 0, TURN_MS);
		reap_view(s);
	}
	if (s->view == 0)
		return;
	kill(s->view, SIGKILL);
	show_lines(s);
}

/* The signals of the terminal are for the daemon and the view. */
static void
ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
}

static bool
has_ended(const struct pollfd *life, const struct state *s)
{
	return life->revents != 0 || (s->log < 0 && s->reports < 0);
}

int
keeper_main(const struct keeper *k)
{
	struct state	 s = { .k = k, .log = k->log, .reports = k->reports };
	struct pollfd	 fds[3] = { { k->life, POLLIN, 0 } };

	setproctitle("-outbox-master: view");
	ignore_signals();
	if (s.log >= 0)
		fcntl(s.log, F_SETFL, O_NONBLOCK);
	fcntl(s.reports, F_SETFL, O_NONBLOCK);
	start_view(&s);
	while (!has_ended(&fds[0], &s)) {
		fds[1] = (struct pollfd){ s.log, POLLIN, 0 };
		fds[2] = (struct pollfd){ s.reports, POLLIN, 0 };
		sig_wait(fds, 3, -1);
		sig_took(&got_chld);
		reap_view(&s);
		take_lines(&s, &s.log);
		take_lines(&s, &s.reports);
	}
	end_view(&s);
	while (take_lines(&s, &s.log) || take_lines(&s, &s.reports))
		continue;
	return 0;
}
