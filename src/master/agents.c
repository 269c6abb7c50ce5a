/* agents.c - see agents.h */

#include "master/agents.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/exits.h"
#include "util/clock.h"

#define PAUSE_MS	50	/* between two requests */

int
agents_open(struct agents *t, struct err *e)
{
	int	ends[2] = { -1, -1 }, rc = starter_channel(ends, e);

	t->channel = ends[0];
	t->monitors = ends[1];
	return rc;
}

void
agents_opened(struct agents *t)
{
	starter_close(&t->monitors, 1);
}

/* Changes complete what they have begun. */
static void
end(struct agents *t, enum starter_kind kind)
{
	for (size_t i = 0; i < AGENTS_MAX; i++)
		if (t->list[i].pid != 0 && t->list[i].kind == kind &&
		    kind != STARTER_ACTION)
			kill(t->list[i].pid, SIGKILL);
}

void
agents_close(struct agents *t)
{
	starter_close(&t->channel, 1);
	for (int kind = 0; kind < STARTER_KINDS; kind++)
		end(t, (enum starter_kind)kind);
}

static void
start(struct agents *t, const struct starter *s, enum starter_kind kind,
    const int fds[3], int64_t now)
{
	struct err		 e;
	struct agents_one	*one = t->list;
	pid_t			 pid = -1;

	end(t, kind);
	while (one < t->list + AGENTS_MAX && one->pid != 0)
		one++;
	if (one == t->list + AGENTS_MAX)
		err_set(&e, "%d outboxctl run already", AGENTS_MAX);
	else
		pid = starter_fork(s, kind == STARTER_ACTION, fds, &e);
	if (pid > 0)
		*one = (struct agents_one){ .pid = pid, .kind = kind };
	else
		log_throttle_warn(&t->throttle, e.text, now);
}

int
agents_input(const struct agents *t, int64_t now)
{
	return now < t->next_at ? -1 : t->channel;
}

int64_t
agents_deadline(const struct agents *t, int64_t now)
{
	return t->channel < 0 || now >= t->next_at ? INT64_MAX : t->next_at;
}

void
agents_turn(struct agents *t, const struct starter *s, int64_t now)
{
	enum starter_kind	kind;
	int			fds[3];

	if (agents_input(t, now) < 0)
		return;
	switch (starter_hear(t->channel, &kind, fds)) {
	case STARTER_NOTHING:
		return;
	case STARTER_START:
		start(t, s, kind, fds, now);
		starter_close(fds, 3);
		break;
	case STARTER_END:
		end(t, kind);
		break;
	case STARTER_GONE:
		agents_close(t);
		return;
	}
	t->next_at = now + PAUSE_MS;
}

void
agents_reap(struct agents *t, pid_t pid, int status, int64_t now)
{
	for (size_t i = 0; i < AGENTS_MAX; i++) {
		if (t->list[i].pid != pid)
			continue;
		t->list[i].pid = 0;
		/* The monitor itself would not have asked. */
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REFUSED)
			log_throttle_warn(&t->throttle, "outboxctl refused the "
			    "monitor a change that came without a valid token: "
			    "either a token has just been replaced, or hostile "
			    "code runs in the monitor", now);
	}
}
