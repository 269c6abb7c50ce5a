/* metrics_process.c - the processes of this host, from the board and /proc */

#include "monitor/metrics_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/verdict.h"
#include "monitor/exposition.h"
#include "util/clock.h"

static pid_t
pid_of(const struct scoreboard *s, unsigned line)
{
	if (line == SCOREBOARD_MASTER)
		return s->master;
	return s->lines[line].state == SCOREBOARD_FREE ? 0 :
	    s->lines[line].pid;
}

static void
put_process(struct buf *b, const char *name, unsigned line, double value)
{
	const char	*role = line < CONF_MAX_WORKERS ? "worker" :
			    line == SCOREBOARD_LISTENER ? "listener" :
			    line == SCOREBOARD_JANITOR ? "janitor" :
			    line == SCOREBOARD_MASTER ? "master" : "monitor";
	char		 slot[12];

	snprintf(slot, sizeof(slot), "%u", line < CONF_MAX_WORKERS ? line : 0);
	exposition_real(b, name, value, LABELS("role", role, "slot", slot));
}

static bool
is_running(const struct scoreboard_line *l)
{
	return l->state != SCOREBOARD_FREE;
}

static void
put_paused(struct buf *b, const struct scoreboard *s)
{
	static const char	name[] = "outbox_paused_workers";

	exposition_head(b, name, "gauge", "Workers of this host whose "
	    "destination takes nothing, by the class of its fault.");
	for (unsigned c = CLASS_NONE + 1; c < CLASSES; c++) {
		const char	*word = error_class_word((enum error_class)c);
		uint64_t	 n = 0;

		for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
			n += is_running(&s->lines[i]) &&
			    s->lines[i].pause.since != 0 &&
			    strncmp(s->lines[i].pause.class, word,
			    SCOREBOARD_WORD) == 0;
		exposition_count(b, name, n, LABELS("class", word));
	}
}

static void
put_sums(struct buf *b, const struct scoreboard *s)
{
	uint64_t	wanted = 0, held = 0, waiting = 0, refused = 0;
	uint64_t	lost = 0;

	for (unsigned i = 0; i < SCOREBOARD_LINES; i++) {
		const struct scoreboard_line *l = &s->lines[i];

		lost += is_running(l) ? l->log_lost : 0;
		if (i >= CONF_MAX_WORKERS || !is_running(l))
			continue;
		wanted += l->desired;
		held += l->owned;
		waiting += l->waiting;
		refused += l->refused.n;
	}
	exposition_gauge(b, "outbox_leases_wanted",
	    "Leases that the workers of this host want.", (double)wanted);
	exposition_gauge(b, "outbox_leases_held",
	    "Leases that the workers of this host hold.", (double)held);
	exposition_gauge(b, "outbox_waiting_keys",
	    "Keys whose next message waits, in the workers of this host.",
	    (double)waiting);
	exposition_gauge(b, "outbox_refused_types",
	    "Event types refused while others are taken, summed over the "
	    "workers of this host.", (double)refused);
	exposition_gauge(b, "outbox_log_lost_lines",
	    "Lines of the log that could not be written.", (double)lost);
}

void
metrics_processes(struct buf *b, const struct scoreboard *s)
{
	static const char	workers[] = "outbox_worker_processes";
	static const char	silent[] = "outbox_process_silent_seconds";
	static const char	cpu[] = "outbox_process_cpu_seconds_total";
	static const char	memory[] =
				    "outbox_process_resident_memory_bytes";
	uint64_t		n[SCOREBOARD_REFUSED + 1] = { 0 };
	int64_t			now;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		if (s->lines[i].state <= SCOREBOARD_REFUSED)
			n[s->lines[i].state]++;
	exposition_head(b, workers, "gauge",
	    "Worker processes of this host, by state.");
	for (uint32_t i = SCOREBOARD_STARTING; i < SCOREBOARD_REFUSED; i++)
		exposition_count(b, workers, n[i], LABELS("state",
		    scoreboard_state_word(i)));
	put_paused(b, s);
	put_sums(b, s);
	now = clock_ms();
	exposition_head(b, silent, "gauge",
	    "Time since the last sign of life of a process.");
	for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
		if (i != SCOREBOARD_MASTER && pid_of(s, i) > 0)
			put_process(b, silent, i, (double)later(0, now -
			    s->lines[i].alive_at) / 1000);
	exposition_head(b, cpu, "counter", "Time on a processor.");
	for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
		if (pid_of(s, i) > 0 && s->lines[i].resident > 0)
			put_process(b, cpu, i, s->lines[i].cpu_s);
	exposition_head(b, memory, "gauge", "Memory in use.");
	for (unsigned i = 0; i < SCOREBOARD_LINES; i++)
		if (pid_of(s, i) > 0 && s->lines[i].resident > 0)
			put_process(b, memory, i, s->lines[i].resident);
}
