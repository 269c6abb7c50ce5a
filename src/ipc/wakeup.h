/*
 * wakeup.h - wake-ups between processes: an eventfd for each worker
 *
 * The master creates them before it forks, so every child has all of them.  A
 * wake-up is a hint to look for rows.  A lost wake-up adds latency until the
 * worker's next poll; it never loses a message.
 */
#ifndef OUTBOX_WAKEUP_H
#define OUTBOX_WAKEUP_H

#include <stddef.h>

#include "conf/conf.h"
#include "util/err.h"

struct wakeup {
	int	fds[CONF_MAX_WORKERS];	/* by slot */
};

/* -1 with an error, mostly too many open files; nothing is left open then. */
int	wakeup_open(struct wakeup *, struct err *);
void	wakeup_close(struct wakeup *);

/* Never blocks. */
void	wakeup_notify(const struct wakeup *, unsigned slot);

/* The descriptor to poll for input; do not read or close it. */
int	wakeup_fd(const struct wakeup *, unsigned slot);

/* How often it was woken since the last call.  Never blocks. */
size_t	wakeup_take(const struct wakeup *, unsigned slot);

#endif
