/* slot.c - see slot.h; takes the time as an argument and never blocks */

#include "master/slot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "common/exits.h"
#include "util/log.h"

/* Backoff is reset when a child was ready and lived at least this long. */
#define STEADY_MS	1000

#define START_FLOOR_MS		100
#define START_CEILING_MS	60000

void
slot_init(struct slot *s, unsigned index, const char *role,
    struct scoreboard_line *line)
{
	*s = (struct slot){ .index = index, .role = role, .line = line,
	    .kill_at = INT64_MAX, .backoff = { .floor_ms = START_FLOOR_MS,
	    .ceiling_ms = START_CEILING_MS } };
}

bool
slot_is_due(const struct slot *s, int64_t now)
{
	return s->pid == 0 && now >= s->start_at;
}

void
slot_started(struct slot *s, pid_t pid, uint32_t gen, int64_t now)
{
	if (pid < 0) {
		s->start_at = now + backoff_next(&s->backoff);
		return;
	}
	s->pid = pid;
	s->gen = gen;
	s->started_at = now;
	s->asked = ASK_NONE;
	s->killed = false;
	s->kill_at = INT64_MAX;
}

void
slot_ask(struct slot *s, enum slot_ask how, int64_t kill_at)
{
	bool	nearer = kill_at < s->kill_at;

	if (s->pid == 0 || s->killed)
		return;
	if (nearer)
		s->kill_at = kill_at;
	if (how == ASK_HANDOVER && s->asked != ASK_NONE)
		return;
	/* Already asked to leave: signal again only for an earlier deadline. */
	if (how == ASK_LEAVE && s->asked == ASK_LEAVE && !nearer)
		return;
	s->asked = how;
	kill(s->pid, how == ASK_LEAVE ? SIGTERM : SIGUSR2);
}

static bool
is_hung(const struct slot *s, int64_t hang_ms, int64_t now)
{
	return hang_ms > 0 && s->line != NULL &&
	    now - s->line->alive_at >= hang_ms;
}

void
slot_check(struct slot *s, int64_t hang_ms, int64_t now)
{
	if (s->pid == 0 || s->killed)
		return;
	if (now >= s->kill_at) {
		log_warn("%s %u: pid %d did not stop within "
		    "master.stop_timeout: killed", s->role, s->index,
		    (int)s->pid);
	} else if (is_hung(s, hang_ms, now)) {
		log_error("%s %u: pid %d gave no sign of life for %lld s: "
		    "killed; see master.hang_timeout", s->role, s->index,
		    (int)s->pid, (long long)hang_ms / 1000);
	} else
		return;
	kill(s->pid, SIGKILL);
	s->killed = true;
}

int64_t
slot_deadline(const struct slot *s, int64_t hang_ms)
{
	int64_t	at = s->kill_at;

	if (s->pid == 0 || s->killed)
		return INT64_MAX;
	if (hang_ms > 0 && s->line != NULL &&
	    s->line->alive_at + hang_ms < at)
		at = s->line->alive_at + hang_ms;
	return at;
}

bool
slot_is_ready(const struct slot *s)
{
	return s->line != NULL && s->line->state != SCOREBOARD_FREE &&
	    s->line->state != SCOREBOARD_STARTING;
}

void
slot_inherit(struct slot *s, const char *id, int64_t now)
{
	if (s->npredecessors == SLOT_PREDECESSORS) {
		memmove(&s->predecessors[0], &s->predecessors[1],
		    (SLOT_PREDECESSORS - 1) * sizeof(s->predecessors[0]));
		s->npredecessors--;
	}
	strlcpy(s->predecessors[s->npredecessors].id, id, IDENT_SIZE);
	s->predecessors[s->npredecessors++].died_at = now;
}

void
slot_prune_predecessors(struct slot *s, int64_t claim_ttl, int64_t now)
{
	size_t	kept = 0;

	if (s->pid == 0 || !slot_is_ready(s))
		return;
	for (size_t i = 0; i < s->npredecessors; i++)
		if (now - s->predecessors[i].died_at < claim_ttl)
			s->predecessors[kept++] = s->predecessors[i];
	s->npredecessors = kept;
}

static void
describe(char *text, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "was killed by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "exited with status %d",
		    WEXITSTATUS(status));
}

static bool
has_exited(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

/* The worker has released its row and leases. */
static bool
has_left(int status)
{
	return has_exited(status, 0);
}

static bool
is_as_asked(const struct slot *s, int status)
{
	return s->asked != ASK_NONE && (has_left(status) ||
	    has_exited(status, EXIT_HANDED_OVER));
}

static void
obituary(struct slot *s, int status, int64_t now)
{
	char	how[80];

	s->died.text[0] = '\0';
	describe(how, sizeof(how), status);
	if (is_as_asked(s, status))
		log_info("%s %u: pid %d %s after %lld s", s->role, s->index,
		    (int)s->pid, has_left(status) ? "left as asked" :
		    "handed over to its successor",
		    (long long)(now - s->started_at) / 1000);
	else if (has_exited(status, EXIT_FINISHED))
		log_debug("%s %u: pid %d has nothing left to do", s->role,
		    s->index, (int)s->pid);
	else {
		err_set(&s->died, "%s %u: pid %d %s after %lld ms; next start "
		    "in %lld ms", s->role, s->index, (int)s->pid, how,
		    (long long)(now - s->started_at),
		    (long long)(s->start_at > now ? s->start_at - now : 0));
		log_warn("%s", s->died.text);
	}
}

/*
 * One death during a message may be chance; repeated deaths during the same
 * message are not.  The cause of death does not matter: a poison message may
 * raise a signal, exhaust the memory or hang the worker until it is killed.
 */
static void
suspect_message(struct slot *s, int status)
{
	uint64_t	handling = s->line == NULL ? 0 : s->line->handling;

	if (s->asked != ASK_NONE || has_left(status) || handling == 0) {
		memset(&s->suspect, 0, sizeof(s->suspect));
		return;
	}
	if (handling != s->suspect.sequence)
		s->suspect = (struct suspect){ .sequence = handling };
	s->suspect.deaths++;
	log_warn("%s %u: died while it sent sequence %llu, %u time(s) in a "
	    "row; after retry.max_attempts times the message is dead",
	    s->role, s->index, (unsigned long long)handling,
	    s->suspect.deaths);
}

void
slot_exited(struct slot *s, int status, int64_t now)
{
	bool	steady = now - s->started_at >= STEADY_MS && slot_is_ready(s);

	if (steady || s->asked != ASK_NONE)
		backoff_reset(&s->backoff);
	s->start_at = s->asked != ASK_NONE ? now :
	    has_exited(status, EXIT_FINISHED) ? INT64_MAX :
	    now + backoff_next(&s->backoff);
	obituary(s, status, now);
	suspect_message(s, status);
	s->has_worked = s->has_worked || (s->line != NULL &&
	    s->line->ticks > 0);
	s->handed_over = has_exited(status, EXIT_HANDED_OVER);
	if (has_left(status))
		s->npredecessors = 0;
	else if (s->id[0] != '\0')
		slot_inherit(s, s->id, now);
	s->id[0] = '\0';
	s->pid = 0;
	s->asked = ASK_NONE;
	s->kill_at = INT64_MAX;
	if (s->line != NULL)
		scoreboard_state(s->line, SCOREBOARD_FREE, now);
}
