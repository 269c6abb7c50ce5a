/*
 * limit.h - the size limit of messages, on servers that differ
 *
 * A message longer than the server's max_payload is dead, if that has held for
 * a while.  The server may be misconfigured: a forgotten node of the cluster, a
 * restart with defaults; or somebody has lowered the limit of the account.  So
 * messages that fitted an earlier connection wait until the present limit has
 * lasted for so long, and all others until the first connection is that long
 * ago: what was before it is not known.  A server tells nobody that its limit
 * was raised, so while a message waits there is a new connection each minute.
 * Pure bookkeeping: no I/O; times are clock_ms().
 */
#ifndef OUTBOX_LIMIT_H
#define OUTBOX_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit {
	int64_t	max;		/* of this connection; 0: not known */
	int64_t	largest;	/* of all connections */
	int64_t	first;		/* when the first connection began */
	int64_t	since;		/* when it became that, on any connection */
	int64_t	asked;		/* when a message waited last; 0: none did */
	int64_t	connected;	/* when this connection began, and told it */
	int64_t	max_before, largest_before, since_before;	/* of those before */
	bool	news;		/* it is new and smaller than an earlier one:
				   to be told, by the owner */
};

/*
 * Note a new connection and its limit in bytes.  True, and news, if the limit
 * is new and smaller than an earlier one.
 */
bool	limit_connected(struct limit *, int64_t max, int64_t now);

/*
 * The same for the one that is open: an account's limit may change, too.  What
 * is told right after the connect counts for the whole connection.
 */
void	limit_seen(struct limit *, int64_t max, int64_t now);

/*
 * True if a message of this size, above max, may wait, for another server or
 * for a new connection; a limit counts after lasts ms.
 */
bool	limit_may_wait(struct limit *, size_t size, int64_t lasts, int64_t now);

/* Then a message waits, and only a new connection shows the limit of now. */
bool	limit_is_old(const struct limit *, int64_t now);

#endif
