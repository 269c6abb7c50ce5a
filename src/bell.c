/* bell.c - see bell.h */

#include "bell.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
bell_open(struct bell *b, struct err *e)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		b->fds[i] = -1;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		b->fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->fds[i] < 0) {
			err_set(e, "eventfd: %s", strerror(errno));
			bell_close(b);
			return -1;
		}
	}
	return 0;
}

void
bell_close(struct bell *b)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		if (b->fds[i] >= 0)
			close(b->fds[i]);
		b->fds[i] = -1;
	}
}

void
bell_ring(const struct bell *b, unsigned slot)
{
	/* It fails only when it has rung so often that one more is no news. */
	eventfd_write(b->fds[slot], 1);
}

int
bell_fd(const struct bell *b, unsigned slot)
{
	return b->fds[slot];
}

bool
bell_heard(const struct bell *b, unsigned slot)
{
	eventfd_t	rings;

	return eventfd_read(b->fds[slot], &rings) == 0;
}
