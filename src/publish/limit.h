/*
 * limit.h - how long a message may be, on servers that do not agree
 *
 * A message that is longer than the server's max_payload is dead.  But where
 * an earlier server took more, this one may be a wrong one: a node of the
 * cluster that was forgotten, a restart with a default configuration.  Then
 * what fitted before waits, until a connection to it has lasted for a while.
 * Pure bookkeeping: no I/O; times are clock_ms().
 */
#ifndef OUTBOX_LIMIT_H
#define OUTBOX_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_LASTS_MS	(10 * 60 * 1000)

struct limit {
	int64_t	max;		/* of this connection; 0: not known */
	int64_t	largest;	/* of all that there were */
	int64_t	since;		/* it was made */
};

/*
 * A new connection with this limit.  Returns whether that is news, and less
 * than there was before.
 */
bool	limit_connected(struct limit *, int64_t max, int64_t now);

/* May a message of this size, longer than max, be taken elsewhere? */
bool	limit_may_wait(const struct limit *, size_t size, int64_t now);

#endif
