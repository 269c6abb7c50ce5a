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

	for (unsigned i = 0; b != NULL && i < CONF_MAX_WORKERS; i++) {
		bool	listed = false;

		for (size_t k = 0; k < n && !listed; k++)
			listed = strncmp(ids[k], b->lines[i].id,
			    IDENT_SIZE) == 0;
		holders += listed;
	}
	free(ids);
	return holders;
}

static void
report_stop(const struct ctl *c, const struct master_here *m, int64_t took,
    uint64_t finished)
{
	unsigned	holders = count_holders(c, m->board);
	struct buf	b = { 0 };

	if (c->args.json) {
		print_object(c, json_pack("{s:b, s:i, s:I, s:I, s:b}",
		    "stopped", true, "pid", (int)m->pid, "took_ms",
		    (json_int_t)took, "finished", (json_int_t)finished,
		    "clean", holders == 0));
		return;
	}
	buf_printf(&b, "outbox-master with pid %d stopped after %s; messages "
	    "delivered meanwhile: %llu", (int)m->pid,
	    duration_words(took).text, (unsigned long long)finished);
	if (holders > 0)
		buf_printf(&b, "; %s could not give back the leases, being "
		    "killed or without the database: the next master takes "
		    "them over", COUNTED(holders, "worker"));
	screen_put_lines(c, 0, b.data);
	buf_free(&b);
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

static int
stop(const struct ctl *c, const struct master_here *m)
{
	uint64_t	before = delivered(m->board);
	int64_t		began = clock_ms();
	int64_t		limit = c->args.seconds > 0 ? c->args.seconds * 1000 :
			    c->conf->master.stop_timeout + SPARE_MS;

	if (master_signal(m->pid, SIGTERM) != CTL_DONE)
		return CTL_FAILED;
	while (!is_gone(c, m->pid)) {
		if (clock_ms() < began + limit) {
			ctl_sleep(MASTER_POLL_MS);
			continue;
		}
		if (c->args.json)
			print_object(c, json_pack("{s:b, s:i}", "stopped",
			    false, "pid", (int)m->pid));
		return ctl_error("outbox-master with pid %d still runs after "
		    "%lld s: its workers finish their messages, and those that "
		    "do not end are killed after master.stop_timeout",
		    (int)m->pid, (long long)limit / 1000);
	}
	report_stop(c, m, clock_ms() - began, delivered(m->board) - before);
	return CTL_DONE;
}

int
stop_run(struct ctl *c)
{
	struct master_here	m;
	int			status = CTL_DONE;
	char			*text;

	if (c->bad_file.text[0] != '\0')
		ctl_error("%s", c->bad_file.text);
	master_find(c, &m);
	if (m.pid > 0) {
		status = stop(c, &m);
	} else if (m.elsewhere) {
		status = master_missing(&m);
	} else if (c->args.json) {
		print_object(c, json_pack("{s:b}", "stopped", false));
	} else {
		text = xasprintf("outbox-master does not run on this host (%s)",
		    m.why.text);
		screen_put_lines(c, 0, text);
		free(text);
	}
	master_release(&m);
	return status;
}
