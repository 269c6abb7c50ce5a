/*
 * wakeup.h - wake-ups between processes: an eventfd for each worker
 *
 * The master creates them before it forks, so every child has all of them.  A
 * wake-up is a hint to scan the partitions it names.  A lost wake-up adds latency
 * until the worker's next poll; it never loses a message.
 */
#ifndef OUTBOX_WAKEUP_H
#define OUTBOX_WAKEUP_H

#include <stdbool.h>

#include "conf/conf.h"
#include "util/err.h"
#include "common/label_set.h"

struct wakeup_pending;

struct wakeup {
	int			 fds[CONF_MAX_WORKERS];	/* by slot */
	struct wakeup_pending	*pending;	/* by slot, in shared memory */
};

/* -1 with an error, mostly too many open files; nothing is left open then. */
int	wakeup_open(struct wakeup *, struct err *);
void	wakeup_close(struct wakeup *);

/* Never blocks.  Wake-ups not read yet are merged, with all their labels. */
void	wakeup_notify(const struct wakeup *, unsigned slot,
	    const struct label_set *);

/* The descriptor to poll for input; do not read or close it. */
int	wakeup_fd(const struct wakeup *, unsigned slot);

/* True if woken since the last call; sets the labels.  Never blocks. */
bool	wakeup_take(const struct wakeup *, unsigned slot, struct label_set *);

#endif
