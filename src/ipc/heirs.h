/*
 * heirs.h - the ids of this master's workers, on disk
 *
 * When a master is killed, the next one may take over from its workers
 * without waiting for leases to run out, if it has proof that they are dead.
 * The proof is the lock on the pid file, which every worker inherits: whoever
 * gets it knows that none of the family is left.  This file tells the names.
 */
#ifndef OUTBOX_HEIRS_H
#define OUTBOX_HEIRS_H

#include <stddef.h>

#include "util/err.h"
#include "common/ident.h"

/* Open or create; -1 with an error. Call with the pid file's lock held. */
int	heirs_open(const char *path, struct err *);

/* Read the ids left by a former family; *n is how many. Free the result. */
char	(*heirs_read(int fd, size_t *n))[IDENT_SIZE];

/* Ids a slot may have on file: those still to be inherited, and its own. */
#define HEIRS_PER_SLOT	17

/*
 * Note everybody whose place has to be taken over from this slot if the
 * master is killed now: before a worker is forked, and when one has gone.
 */
int	heirs_write(int fd, unsigned slot, const char (*ids)[IDENT_SIZE],
	    size_t n, struct err *);

/* Forget what stands there for this slot and all above. */
void	heirs_cut(int fd, unsigned slot);

/* The slot an id was made for. */
unsigned heirs_slot(const char *id);

#endif
