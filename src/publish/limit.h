/*
 * limit.h - the size limit of messages, on servers that differ
 *
 * A message longer than the server's max_payload is dead.  But if an earlier
 * server had a higher limit, this one may be misconfigured: a forgotten node
 * of the cluster, a restart with defaults.  Then messages that fitted before
 * wait until a connection to it has lasted LIMIT_LASTS_MS.  Pure bookkeeping:
 * no I/O; times are clock_ms().
 */
#ifndef OUTBOX_LIMIT_H
#define OUTBOX_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_LASTS_MS	(10 * 60 * 1000)

struct limit {
	int64_t	max;		/* of this connection; 0: not known */
	int64_t	largest;	/* of all connections */
	int64_t	since;		/* when this connection began */
};

/*
 * Note a new connection and its limit in bytes.  True if the limit is new and
 * smaller than an earlier one.
 */
bool	limit_connected(struct limit *, int64_t max, int64_t now);

/* True if a message of this size, above max, may wait for another server. */
bool	limit_may_wait(const struct limit *, size_t size, int64_t now);

#endif
