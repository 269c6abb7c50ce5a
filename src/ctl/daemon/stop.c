/* stop.c - stop: end the daemon, and wait until it is gone */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/base/screen.h"
#include "ctl/daemon/master.h"
#include "ipc/daemon.h"
#include "ipc/predecessors.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/duration.h"
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

/* The ids on the list of workers, which the master removes if it is empty. */
static char
(*read_list(const struct ctl *c, size_t *n))[IDENT_SIZE]
{
	char	*prefix = daemon_run_prefix(c->conf->master.pidfile);
	char	*path = xasprintf("%s.workers", prefix);
	char	(*ids)[IDENT_SIZE] = NULL;
	int	 fd = open(path, O_RDONLY | O_CLOEXEC);

	*n = 0;
	if (fd >= 0) {
		ids = predecessors_read(fd, n);
		close(fd);
	}
	free(path);
	free(prefix);
	return ids;
}

static bool
is_listed(const char (*ids)[IDENT_SIZE], size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(ids[i], id, IDENT_SIZE) == 0)
			return true;
	return false;
}

/*
 * The workers of this master that have not given their leases back.  The list
 * may be that of the next master already, or name workers of a former one.
 */
static unsigned
count_holders(const struct ctl *c, const struct scoreboard *b)
{
	size_t		n;
	char		(*ids)[IDENT_SIZE] = read_list(c, &n);
	unsigned	holders = b == NULL ? (unsigned)n : 0;

	for (unsigned i = 0; b != NULL && i < CONF_MAX_WORKERS; i++)
		holders += is_listed((const char (*)[IDENT_SIZE])ids, n,
		    b->lines[i].id);
	free(ids);
	return holders;
}

static void
say_stopped(const struct ctl *c, pid_t pid, int64_t took, uint64_t finished,
    unsigned holders)
{
	struct buf	 b = { 0 };

	buf_printf(&b, "outbox-master with pid %d stopped after %s; messages "
	    "delivered meanwhile: %llu", (int)pid, duration_words(took).text,
	    (unsigned long long)finished);
	if (holders > 0)
		buf_printf(&b, "; %s could not give back the leases, being "
		    "killed or without the database: the next master takes "
		    "them over", COUNTED(holders, "worker"));
	screen_put_lines(c, 0, b.data);
	buf_free(&b);
}

static void
say_absent(const struct ctl *c, const struct master_here *m)
{
	char	*text = xasprintf("outbox-master does not run on this host "
		    "(%s)", m->why.text);

	screen_put_lines(c, 0, text);
	free(text);
}

static void
report_stop(const struct ctl *c, const struct master_here *m, int64_t took,
    uint64_t finished)
{
	unsigned	holders = count_holders(c, m->board);

	if (c->args.json)
		print_object(c, json_pack("{s:b, s:i, s:I, s:I, s:b}",
		    "stopped", true, "pid", (int)m->pid, "took_ms",
		    (json_int_t)took, "finished", (json_int_t)finished,
		    "clean", holders == 0));
	else
		say_stopped(c, m->pid, took, finished, holders);
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

/*
 * Its scoreboard is no longer locked before its pid file is removed.  The next
 * master has a pid file, too, and can only run when this one is gone.
 */
static bool
is_gone(const struct ctl *c, pid_t pid)
{
	struct master_here	m;

	master_find(c, &m);
	master_release(&m);
	if (m.pid != 0 || m.elsewhere)
		return m.pid != pid;
	return kill(pid, 0) < 0 ||
	    access(c->conf->master.pidfile, F_OK) < 0;
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
	report_stop(c, m, clock_ms() - began, delivered(m->board) - before);
	return CTL_DONE;
}

int
stop_run(struct ctl *c)
{
	struct master_here	m;
	int			status = CTL_DONE;

	if (c->bad_file.text[0] != '\0')
		ctl_error("%s", c->bad_file.text);
	master_find(c, &m);
	if (m.pid > 0)
		status = stop(c, &m);
	else if (m.elsewhere)
		status = master_missing(&m);
	else if (c->args.json)
		print_object(c, json_pack("{s:b}", "stopped", false));
	else
		say_absent(c, &m);
	master_release(&m);
	return status;
}
