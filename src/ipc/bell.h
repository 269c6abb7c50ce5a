/*
 * bell.h - wake-ups between processes: an eventfd for each worker
 *
 * The master creates them before it forks, so every child has all of them.  A
 * wake-up is a hint to scan the partitions it names.  A lost wake-up adds
 * latency until the worker's next poll; it never loses a message.
 */
#ifndef OUTBOX_BELL_H
#define OUTBOX_BELL_H

#include <stdbool.h>

#include "conf/conf.h"
#include "util/err.h"
#include "common/label_set.h"

struct bell_rings;

struct bell {
	int			 fds[CONF_MAX_WORKERS];	/* by slot */
	struct bell_rings	*rings;		/* by slot, in shared memory */
};

/* -1 with an error, mostly too many open files; nothing is left open then. */
int	bell_open(struct bell *, struct err *);
void	bell_close(struct bell *);

/* Never blocks.  Wake-ups not read yet are merged, with all their labels. */
void	bell_ring(const struct bell *, unsigned slot,
	    const struct label_set *);

/* The descriptor to poll for input; do not read or close it. */
int	bell_fd(const struct bell *, unsigned slot);

/* True if woken since the last call; sets the labels.  Never blocks. */
bool	bell_heard(const struct bell *, unsigned slot, struct label_set *);

#endif
