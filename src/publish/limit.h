/*
 * limit.h - the size limit of messages, on servers that differ
 *
 * A message longer than the server's max_payload is dead.  But if an earlier
 * server had a higher limit, this one may be misconfigured: a forgotten node
 * of the cluster, a restart with defaults; or somebody has lowered that of the
 * account.  Then messages that fitted before wait until a connection with it has
 * lasted LIMIT_LASTS_MS.  Pure bookkeeping: no I/O; times are clock_ms().
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
	int64_t	since;		/* when this connection began, or changed */
	int64_t	max_before, largest_before;	/* of the connections before */
	bool	news;		/* it is new and smaller than an earlier one:
				   to be told, by the owner */
};

/*
 * Note a new connection and its limit in bytes.  True, and news, if the limit
 * is new and smaller than an earlier one.
 */
bool	limit_connected(struct limit *, int64_t max, int64_t now);

/*
 * The same for the one that is open: an account's limit may change, too.  It is
 * told right after the connect, and is then that of the whole connection.
 */
void	limit_seen(struct limit *, int64_t max, int64_t now);

/* True if a message of this size, above max, may wait for another server. */
bool	limit_may_wait(const struct limit *, size_t size, int64_t now);

#endif
