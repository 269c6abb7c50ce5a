/* feed.c - see feed.h */

#include "ctl/top/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/state/state.h"
#include "util/clock.h"
#include "util/sig.h"

#define AGAIN_MS	1000	/* until a new one is started */

/* The process itself */

/* Of a database that fails between two questions nothing is shown. */
static void
put_lists(struct ctl *c, json_t *round)
{
	struct err	 e;
	json_t		*orphans, *workers, *partitions, *w;
	size_t		 i;

	if ((workers = state_workers(c, &e)) == NULL)
		return;
	orphans = state_orphans(c);
	json_array_foreach(workers, i, w)
		json_object_set_new(w, "gone",
		    json_boolean(state_is_gone(w, orphans)));
	json_decref(orphans);
	json_object_set_new(round, "workers", workers);
	if ((partitions = state_partitions(c, STATE_EXACT, &e)) != NULL)
		json_object_set_new(round, "partitions", partitions);
}

static json_t *
round_of(struct ctl *c, struct rounds *r)
{
	json_t	*status = rounds_next(c, r), *round;

	round = json_pack("{s:O, s:o, s:I}", "status", status,
	    "totals", state_totals(c),
	    "lease_ms", (json_int_t)c->conf->worker.lease_ttl);
	if (json_is_null(json_object_get(status, "database")))
		put_lists(c, round);
	json_decref(status);
	return round;
}

static void
run_rounds(struct ctl *c, int64_t pause_ms)
{
	struct rounds	 r;
	json_t		*round;
	bool		 written = true;

	rounds_begin(c, &r);
	while (written && !sig_took(&got_term)) {
		round = round_of(c, &r);
		written = json_dumpf(round, stdout, JSON_COMPACT) == 0 &&
		    putchar('\n') != EOF && fflush(stdout) == 0;
		json_decref(round);
		sig_wait(NULL, 0, pause_ms);
	}
	rounds_end(c, &r);
}

/* The terminal's signals are for the process that draws. */
static void
become_feed(const struct feed *f, int to, pid_t parent)
{
	int	null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
		_exit(1);
	run_rounds(f->ctl, f->pause_ms);
	_exit(0);
}

/* The process that draws */

static void
start(struct feed *f)
{
	int	fds[2];
	pid_t	parent = getpid();

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	f->pid = fork();
	if (f->pid == 0)
		become_feed(f, fds[1], parent);
	close(fds[1]);
	if (f->pid < 0) {
		f->pid = 0;
		close(fds[0]);
		return;
	}
	f->lines.fd = fds[0];
	fcntl(f->lines.fd, F_SETFL, O_NONBLOCK);
}

void
feed_end(struct feed *f)
{
	if (f->pid == 0)
		return;
	kill(f->pid, SIGKILL);
	while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	pipe_lines_end(&f->lines);
	f->pid = 0;
}

void
feed_tend(struct feed *f, int64_t now)
{
	if (f->pid == 0 && now >= f->start_at) {
		f->start_at = now + AGAIN_MS;
		start(f);
	}
}

char *
feed_line(struct feed *f, int64_t now)
{
	bool	 ended = false;
	char	*line = f->pid == 0 ? NULL : pipe_lines_next(&f->lines, &ended);

	if (ended) {
		feed_end(f);
		f->start_at = now + AGAIN_MS;
	}
	return line;
}
