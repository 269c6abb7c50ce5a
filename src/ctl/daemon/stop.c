/* stop.c - stop: end the daemon, and wait until it is gone */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl/daemon/master.h"
#include "ipc/daemon.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define SPARE_MS	10000	/* after master.stop_timeout */

/* The counters of the workers stay on the scoreboard when they have ended. */
static uint64_t
delivered(const struct scoreboard *b)
{
	uint64_t	n = 0;

	for (unsigned i = 0; b != NULL && i < CONF_MAX_WORKERS; i++)
		n += b->lines[i].delivered;
	return n;
}

/* The master leaves the list if a worker was killed in the middle of work. */
static bool
was_clean(const struct ctl *c)
{
	char	*prefix = daemon_run_prefix(c->conf->master.pidfile);
	char	*path = xasprintf("%s.workers", prefix);
	bool	 clean = access(path, F_OK) < 0;

	free(path);
	free(prefix);
	return clean;
}

static void
report_stop(const struct ctl *c, pid_t pid, int64_t took, uint64_t finished)
{
	json_t	*span = span_json(took);
	bool	 clean = was_clean(c);

	if (c->args.json)
		print_object(c, json_pack("{s:b, s:i, s:I, s:I, s:b}",
		    "stopped", true, "pid", (int)pid, "took_ms",
		    (json_int_t)took, "finished", (json_int_t)finished,
		    "clean", clean));
	else
		printf("outbox-master with pid %d stopped after %s; messages "
		    "delivered meanwhile: %llu%s\n", (int)pid,
		    json_string_value(span), (unsigned long long)finished,
		    clean ? "" : "; workers were killed, and the next master "
		    "takes over their messages");
	json_decref(span);
}

static int
report_running(const struct ctl *c, pid_t pid, int64_t waited)
{
	if (c->args.json)
		print_object(c, json_pack("{s:b, s:i}", "stopped", false,
		    "pid", (int)pid));
	return ctl_error("outbox-master with pid %d still runs after %lld s: "
	    "its workers finish their messages, and those that do not end are "
	    "killed after master.stop_timeout", (int)pid,
	    (long long)waited / 1000);
}

/* Its scoreboard is no longer locked before its pid file is removed. */
static bool
is_gone(const struct ctl *c, pid_t pid)
{
	struct master_here	m;

	master_find(c, &m);
	master_release(&m);
	return m.pid != pid && (kill(pid, 0) < 0 ||
	    access(c->conf->master.pidfile, F_OK) < 0);
}

static bool
wait_until_gone(const struct ctl *c, pid_t pid, int64_t until)
{
	while (!is_gone(c, pid)) {
		if (clock_ms() >= until)
			return false;
		ctl_sleep(MASTER_POLL_MS);
	}
	return true;
}

static int
stop(const struct ctl *c, const struct master_here *m)
{
	uint64_t	before = delivered(m->board);
	int64_t		began = clock_ms();
	int64_t		limit = c->args.seconds > 0 ? c->args.seconds * 1000 :
			    c->conf->master.stop_timeout + SPARE_MS;

	if (master_signal(m->pid, SIGTERM) != CTL_DONE)
		return CTL_FAILED;
	if (!wait_until_gone(c, m->pid, began + limit))
		return report_running(c, m->pid, limit);
	report_stop(c, m->pid, clock_ms() - began,
	    delivered(m->board) - before);
	return CTL_DONE;
}

int
stop_run(struct ctl *c)
{
	struct master_here	m;
	int			status = CTL_DONE;

	master_find(c, &m);
	if (m.pid > 0)
		status = stop(c, &m);
	else if (c->args.json)
		print_object(c, json_pack("{s:b}", "stopped", false));
	else
		printf("outbox-master does not run on this host (%s)\n",
		    m.why.text);
	master_release(&m);
	return status;
}
