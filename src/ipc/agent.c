/* agent.c - see agent.h */

#include "ipc/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#include "util/log.h"

#define PIECE	(64 * 1024)

static int
agent_start(struct agent *a, struct err *e)
{
	int	fds[6], rc = 0;

	memset(fds, -1, sizeof(fds));
	for (int i = 0; i < 3 && rc == 0; i++)
		if (pipe2(fds + 2 * i, O_CLOEXEC) < 0)
			rc = err_set(e, "pipe: %s", strerror(errno));
	/* Our ends: 1 of the first pipe, 0 of the others. */
	for (int i = 0; i < 3 && rc == 0; i++)
		if (fcntl(fds[i == 0 ? 1 : 2 * i], F_SETFL, O_NONBLOCK) < 0)
			rc = err_set(e, "fcntl: %s", strerror(errno));
	if (rc == 0 && a->channel >= 0)
		rc = starter_ask(a->channel, a->kind,
		    (const int[]){ fds[0], fds[3], fds[5] }, e);
	else if (rc == 0)
		rc = a->pid = starter_fork(&a->starter, a->finishes,
		    (const int[]){ fds[0], fds[3], fds[5] }, e);
	if (rc < 0) {
		starter_close(fds, 6);
		return -1;
	}
	a->said[0] = '\0';
	buf_clear(&a->command);
	a->in = fds[1];
	a->out = fds[2];
	a->errors = fds[4];
	a->runs = true;
	starter_close((int[]){ fds[0], fds[3], fds[5] }, 3);
	return 0;
}

void
agent_stop(struct agent *a)
{
	if (!a->runs)
		return;
	starter_close((int[]){ a->in, a->out, a->errors }, 3);
	a->in = a->out = a->errors = -1;
	if (!a->finishes && a->channel >= 0)
		starter_ask_end(a->channel, a->kind);
	else if (!a->finishes)
		kill(a->pid, SIGKILL);
	a->runs = a->busy = false;
	buf_free(&a->answer);
	if (a->command.data != NULL)	/* not written: a token */
		explicit_bzero(a->command.data, a->command.size);
	buf_free(&a->command);
}

int
agent_send(struct agent *a, const char *line, int64_t now, struct err *e)
{
	if (!a->runs && agent_start(a, e) < 0)
		return -1;
	buf_printf(&a->command, "%s\n", line);
	a->busy = true;
	a->since = now;
	return 0;
}

/* Keep the last line of what it complains of. */
static void
hear_errors(struct agent *a)
{
	char	 text[1024];
	ssize_t	 n;

	while ((n = read(a->errors, text, sizeof(text) - 1)) > 0) {
		char	*line = text, *next;

		text[n] = '\0';
		while ((next = strchr(line, '\n')) != NULL && next[1] != '\0')
			line = next + 1;
		if (next != NULL)
			*next = '\0';
		strlcpy(a->said, line, sizeof(a->said));
	}
}

/* 1: a whole line; 0: not yet; -1: no more will come. */
static int
read_answer(struct agent *a)
{
	ssize_t	n;

	do {
		char	*to = buf_reserve(&a->answer, PIECE + 1);

		if ((n = read(a->out, to, PIECE)) <= 0)
			break;
		a->answer.len += (size_t)n;
		a->answer.data[a->answer.len] = '\0';
	} while (a->answer.data[a->answer.len - 1] != '\n' &&
	    a->answer.len <= AGENT_ANSWER_MAX);
	if (a->answer.len > 0 && a->answer.data[a->answer.len - 1] == '\n')
		return 1;
	return a->answer.len > AGENT_ANSWER_MAX || n == 0 ||
	    (n < 0 && errno != EAGAIN && errno != EINTR) ? -1 : 0;
}

/* It is of no more use. */
static int
fail(struct agent *a, const char *why, int64_t now, struct err *e)
{
	err_set(e, "outboxctl %s%s%s", why, a->said[0] == '\0' ? "" : ": ",
	    a->said);
	log_throttle_warn(&a->throttle, e->text, now);
	agent_stop(a);
	return -1;
}

int
agent_turn(struct agent *a, int64_t now, struct err *e)
{
	ssize_t	n = 0;
	int	rc;

	if (!a->runs)
		return 0;
	hear_errors(a);
	/* If that is full, or gone, reading will tell. */
	if (a->command.len > 0)
		n = write(a->in, a->command.data, a->command.len);
	if (n > 0) {
		memmove(a->command.data, a->command.data + n,
		    a->command.len - (size_t)n);
		buf_chop(&a->command, (size_t)n);
		if (a->command.len == 0)	/* a token */
			explicit_bzero(a->command.data, a->command.size);
	}
	if ((rc = read_answer(a)) < 0) {
		hear_errors(a);
		return a->busy ? fail(a, "ended without an answer", now, e) :
		    (agent_stop(a), 0);
	}
	if (rc > 0 && !a->busy) {
		/* Nothing was asked: it is out of step. */
		agent_stop(a);
		return 0;
	}
	if (rc > 0) {
		a->busy = false;
		a->since = now;
		log_throttle_over(&a->throttle, "outboxctl", now);
		return 1;
	}
	if (a->busy && now - a->since >= a->patience_ms)
		return fail(a, "gave no answer in time", now, e);
	if (!a->busy && now - a->since >= AGENT_IDLE_MS)
		agent_stop(a);
	return 0;
}

int64_t
agent_deadline(const struct agent *a)
{
	if (!a->runs)
		return INT64_MAX;
	return a->since + (a->busy ? a->patience_ms : AGENT_IDLE_MS);
}
