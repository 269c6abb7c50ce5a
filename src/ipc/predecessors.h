/*
 * predecessors.h - the ids of this master's workers, on disk
 *
 * After a master was killed, the next one may take over from its workers
 * without waiting for their leases to expire, if it has proof that they are
 * dead.  The proof is the lock on the pid file, which every worker inherits.
 * This file has the ids of these predecessors.
 */
#ifndef OUTBOX_PREDECESSORS_H
#define OUTBOX_PREDECESSORS_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "common/ident.h"

/* Open or create; -1 with an error.  The caller holds the pid file's lock. */
int	predecessors_open(const char *path, struct err *);

/* Read the ids that the last master left; *n is set.  The caller frees them. */
char	(*predecessors_read(int fd, size_t *n))[IDENT_SIZE];

/* Ids on file for a slot: predecessors not taken over yet, and its own. */
#define PREDECESSORS_PER_SLOT	17
#define SLOT_PREDECESSORS	(PREDECESSORS_PER_SLOT - 1)

/* A worker of a slot that died, for those that come after it. */
struct predecessor {
	char	id[IDENT_SIZE];
	int64_t	died_at;	/* clock_ms() */
};

/*
 * Write all ids to be taken over for this slot if the master is killed now.
 * Call it before a worker is forked and after it has ended.  -1 with an error.
 */
int	predecessors_write(int fd, unsigned slot, const char (*ids)[IDENT_SIZE],
	    size_t n, struct err *);

/* Remove the ids of this slot and of all above. */
void	predecessors_cut(int fd, unsigned slot);

#endif
