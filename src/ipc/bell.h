/*
 * bell.h - a bell for each worker, for whoever learns of work before it does
 *
 * Made by the master before it forks anything, so that every child has all
 * of them.  A ring is a hint to look now, at the partitions that it names: one
 * that is lost costs the time until the worker looks by itself.
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
	struct bell_rings	*rings;		/* the same, shared */
};

/* -1: too many open files, most likely; nothing is left open then. */
int	bell_open(struct bell *, struct err *);
void	bell_close(struct bell *);

/* Never blocks.  Rings that are not heard yet are one, for all they name. */
void	bell_ring(const struct bell *, unsigned slot,
	    const struct label_set *);

/* To poll for input on; not to be read from or closed. */
int	bell_fd(const struct bell *, unsigned slot);

/* Did it ring since the last call, and for what?  Never blocks. */
bool	bell_heard(const struct bell *, unsigned slot, struct label_set *);

#endif
