/*
 * notify.c - see notify.h
 *
 * Without libsystemd: the protocol is a datagram of NAME=VALUE lines.
 */

#include "master/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/buf.h"
#include "util/display.h"
#include "util/log.h"

#define STOP_MARGIN_MS	10000	/* for the end of the master itself */

/* A manager that does not read must not stop the master. */
static void
tell(const struct notify *n, const struct buf *b)
{
	if (n->fd >= 0 && sendto(n->fd, b->data, b->len,
	    MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&n->to,
	    n->to_size) < 0)
		log_debug("systemd was not told: %s", strerror(errno));
}

static void
tell_text(const struct notify *n, const char *text)
{
	struct buf	b = { 0 };

	buf_str(&b, text);
	tell(n, &b);
	buf_free(&b);
}

void
notify_open(struct notify *n)
{
	const char	*path = getenv("NOTIFY_SOCKET"), *error;
	const char	*usec = getenv("WATCHDOG_USEC");
	const char	*pid = getenv("WATCHDOG_PID");
	size_t		 len = path == NULL ? 0 : strlen(path);
	int64_t		 us;

	memset(n, 0, sizeof(*n));
	n->fd = -1;
	/* A path, or "@" and the name of an abstract socket. */
	if (len > 0 && len < sizeof(n->to.sun_path) &&
	    (path[0] == '/' || path[0] == '@')) {
		n->to.sun_family = AF_UNIX;
		memcpy(n->to.sun_path, path, len);
		if (path[0] == '@')
			n->to.sun_path[0] = '\0';
		n->to_size = (socklen_t)(offsetof(struct sockaddr_un,
		    sun_path) + len);
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		/* The pid is another's if we were started by a script. */
		if (usec != NULL && (pid == NULL ||
		    strtonum(pid, 1, INT32_MAX, &error) == getpid())) {
			us = strtonum(usec, 1, INT64_MAX, &error);
			n->watchdog_ms = error == NULL ? us / 1000 : 0;
		}
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void
notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* Why workers wait, what concerns most things first. */
static const struct wait {
	enum scoreboard_state	 state;
	const char		*what;
} waits[] = {
	{ SCOREBOARD_NO_DATABASE, "wait for the database" },
	{ SCOREBOARD_NO_BROKER, "wait for the broker" },
	{ SCOREBOARD_PAUSED, "wait, because the broker takes no message" },
};

/* A text that its worker may be writing at this moment. */
static void
put_text(struct buf *b, const char *text, size_t size)
{
	if (text[0] != '\0')
		buf_printf(b, ": %.*s", (int)strnlen(text, size - 1), text);
}

/* The first kind of waiting that there is, with the reason of one worker. */
static void
put_wait(struct buf *b, const struct scoreboard *s)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const struct scoreboard_line	*l, *last = NULL;
		unsigned			 n = 0;

		for (l = s->lines; l < s->lines + CONF_MAX_WORKERS; l++)
			if (l->state == waits[i].state) {
				last = l;
				n++;
			}
		if (last == NULL)
			continue;
		buf_printf(b, ", %u %s", n, waits[i].what);
		if (last->state == SCOREBOARD_PAUSED)
			put_text(b, last->pause.why, sizeof(last->pause.why));
		else
			put_text(b, last->last_error, sizeof(last->last_error));
		return;
	}
}

/* Told only when it has changed. */
static void
tell_status(struct notify *n, const struct scoreboard *s, int64_t workers)
{
	struct buf	b = { 0 };
	char		status[sizeof(n->status)];
	unsigned	running = 0;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		running += s->lines[i].state == SCOREBOARD_RUNNING ||
		    s->lines[i].state == SCOREBOARD_STANDBY;
	buf_printf(&b, "%u of %lld workers run", running, (long long)workers);
	put_wait(&b, s);
	if (s->reload.result == SCOREBOARD_RELOAD_REFUSED ||
	    s->reload.result == SCOREBOARD_RELOAD_WRONG) {
		buf_str(&b, "; the last reload was refused");
		put_text(&b, s->reload.why, sizeof(s->reload.why));
	}
	strlcpy(status, b.data, sizeof(status));
	display_clean(status);
	if (strcmp(status, n->status) != 0) {
		memcpy(n->status, status, sizeof(status));
		buf_clear(&b);
		buf_printf(&b, "STATUS=%s\n", status);
		tell(n, &b);
	}
	buf_free(&b);
}

void
notify_look(struct notify *n, const struct scoreboard *s, int64_t workers)
{
	if (n->fd < 0)
		return;
	tell_status(n, s, workers);
	if (n->is_ready)
		return;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		if (s->lines[i].state != SCOREBOARD_FREE &&
		    s->lines[i].state != SCOREBOARD_STARTING)
			n->is_ready = true;
	if (n->is_ready)
		tell_text(n, "READY=1\n");
}

bool
notify_is_awaited(const struct notify *n)
{
	return n->fd >= 0 && !n->is_ready;
}

void
notify_alive(struct notify *n, int64_t now)
{
	if (n->watchdog_ms == 0 || now - n->alive_at < n->watchdog_ms / 4)
		return;
	n->alive_at = now;
	tell_text(n, "WATCHDOG=1\n");
}

/* systemd takes no reload for one of a service that is not ready yet. */
void
notify_reloading(struct notify *n)
{
	struct timespec	ts;
	struct buf	b = { 0 };

	if (!n->is_ready)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	buf_printf(&b, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
	    (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
	tell(n, &b);
	buf_free(&b);
}

void
notify_reloaded(struct notify *n)
{
	if (n->is_ready)
		tell_text(n, "READY=1\n");
}

void
notify_stopping(struct notify *n, int64_t longest_ms)
{
	struct buf	b = { 0 };

	buf_printf(&b, "STOPPING=1\nSTATUS=stopping\n"
	    "EXTEND_TIMEOUT_USEC=%lld\n",
	    (long long)(longest_ms + STOP_MARGIN_MS) * 1000);
	tell(n, &b);
	buf_free(&b);
}
