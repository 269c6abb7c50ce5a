/* slot.c - see slot.h; takes the time as an argument and never blocks */

#include "master/slot.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <bsd/string.h>

#include "common/exits.h"
#include "util/duration.h"
#include "util/err.h"
#include "util/log.h"

/* Backoff is reset when a child was ready and lived at least this long. */
#define STEADY_MS	1000

#define START_FLOOR_MS		100
#define START_CEILING_MS	60000

/* The fields of each line about a child: the first is its role's name. */
#define CHILD(s)							\
	LOG_NUMBER((s)->role, (s)->index),				\
	LOG_NUMBER("child_pid", (s)->pid)
#define ABOUT(s)	LOG_FIELDS(CHILD(s))

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

void
slot_check(struct slot *s, int64_t hang_ms, int64_t now)
{
	if (s->pid == 0 || s->killed)
		return;
	if (now >= s->kill_at) {
		log_event(LOG_LVL_WARN, ABOUT(s), "%s %u: pid %d did not stop "
		    "within master.stop_timeout: killed", s->role, s->index,
		    (int)s->pid);
	} else if (hang_ms > 0 && now - s->line->alive_at >= hang_ms) {
		log_event(LOG_LVL_ERROR, ABOUT(s), "%s %u: pid %d gave no sign "
		    "of life for %s: killed; see master.hang_timeout", s->role,
		    s->index, (int)s->pid, duration_words(hang_ms).text);
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
	if (hang_ms > 0 && s->line->alive_at + hang_ms < at)
		at = s->line->alive_at + hang_ms;
	return at;
}

bool
slot_is_ready(const struct slot *s)
{
	return s->line->state != SCOREBOARD_FREE &&
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

/* It was not to end, or not like this: says what comes next. */
static void
log_death(struct slot *s, int status, int64_t lived, int64_t now)
{
	int64_t		next = s->start_at > now ? s->start_at - now : 0;
	bool		asked = s->asked != ASK_NONE;
	struct err	how;

	if (WIFSIGNALED(status))
		err_set(&how, "was killed by signal %d (%s)%s",
		    WTERMSIG(status), strsignal(WTERMSIG(status)),
		    WCOREDUMP(status) ? ", core dumped" : "");
	else
		err_set(&how, "exited with status %d", WEXITSTATUS(status));
	err_set(&s->died, "%s %u: pid %d %s after %s; %s%s", s->role, s->index,
	    (int)s->pid, how.text, duration_words(lived).text,
	    asked ? "it had been asked to stop" : "next start in ",
	    asked ? "" : duration_words(next).text);
	log_event(LOG_LVL_ERROR, LOG_FIELDS(CHILD(s),
	    LOG_NUMBER(WIFSIGNALED(status) ? "signal" : "status",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
	    LOG_NUMBER("duration_ms", lived),
	    LOG_NUMBER("next_start_ms", asked ? 0 : next)),
	    "%s", s->died.text);
}

/*
 * One death during a message may be chance; repeated deaths during the same
 * message are not.  The cause of death does not matter: a poison message may
 * raise a signal, exhaust the memory or hang the worker until it is killed.
 */
static void
suspect_message(struct slot *s, int status)
{
	bool		asked = s->asked != ASK_NONE || has_left(status);
	uint64_t	handling = asked ? 0 : s->line->handling;
	unsigned	deaths;

	if (handling == 0)
		return;
	deaths = suspect_died(s->suspects, SUSPECTS, handling);
	log_event(LOG_LVL_WARN, LOG_FIELDS(CHILD(s),
	    LOG_NUMBER("sequence", handling), LOG_NUMBER("deaths", deaths)),
	    "%s %u: died while it sent sequence %llu, as %u worker(s) did in "
	    "a row; after retry.max_attempts of them, and at least two, "
	    "the message is dead",
	    s->role, s->index, (unsigned long long)handling, deaths);
}

void
slot_exited(struct slot *s, int status, int64_t now)
{
	bool	steady = now - s->started_at >= STEADY_MS && slot_is_ready(s);
	bool	asked = s->asked != ASK_NONE;
	int64_t	lived = now - s->started_at;

	if (steady || asked)
		backoff_reset(&s->backoff);
	s->start_at = asked ? now : now + backoff_next(&s->backoff);
	s->died.text[0] = '\0';
	if (asked && (has_left(status) ||
	    has_exited(status, EXIT_HANDED_OVER)))
		log_event(LOG_LVL_INFO, LOG_FIELDS(CHILD(s),
		    LOG_NUMBER("duration_ms", lived)),
		    "%s %u: pid %d %s after %s", s->role, s->index,
		    (int)s->pid, has_left(status) ? "left as asked" :
		    "handed over to its successor",
		    duration_words(lived).text);
	else
		log_death(s, status, lived, now);
	if (s->suspects != NULL)
		suspect_message(s, status);
	s->has_worked = s->has_worked || s->line->ticks > 0;
	s->handed_over = has_exited(status, EXIT_HANDED_OVER);
	if (has_left(status))
		s->npredecessors = 0;
	else if (s->id[0] != '\0')
		slot_inherit(s, s->id, now);
	s->id[0] = '\0';
	s->pid = 0;
	s->asked = ASK_NONE;
	s->kill_at = INT64_MAX;
	scoreboard_state(s->line, SCOREBOARD_FREE, now);
}
