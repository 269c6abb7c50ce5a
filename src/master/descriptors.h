/*
 * descriptors.h - how many file descriptors the daemon needs
 *
 * A worker inherits those of the master and opens its connections beside them,
 * so it needs the most.
 */
#ifndef OUTBOX_DESCRIPTORS_H
#define OUTBOX_DESCRIPTORS_H

#include "util/err.h"

/* The number that each process may have open at least. */
unsigned	descriptors_needed(void);

/*
 * Raise the soft limit of this process and its children (RLIMIT_NOFILE) to the
 * hard one if it is lower than needed.  -1: the hard one is too low as well.
 */
int		descriptors_allow(struct err *);

#endif
