/* wakeup.c - see wakeup.h */

#include "ipc/wakeup.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
wakeup_open(struct wakeup *b, struct err *e)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		b->fds[i] = -1;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		b->fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->fds[i] < 0) {
			err_set(e, "wake-ups: eventfd: %s: is ulimit -n "
			    "too low?", strerror(errno));
			wakeup_close(b);
			return -1;
		}
	}
	return 0;
}

void
wakeup_close(struct wakeup *b)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		if (b->fds[i] >= 0)
			close(b->fds[i]);
		b->fds[i] = -1;
	}
}

void
wakeup_notify(const struct wakeup *b, unsigned slot)
{
	/* Fails only if the counter is full, and so the worker is woken. */
	eventfd_write(b->fds[slot], 1);
}

int
wakeup_fd(const struct wakeup *b, unsigned slot)
{
	return b->fds[slot];
}

size_t
wakeup_take(const struct wakeup *b, unsigned slot)
{
	eventfd_t	pending;

	return eventfd_read(b->fds[slot], &pending) == 0 ?
	    (size_t)pending : 0;
}
