/*
 * throughput.h - what was relayed in each of the last 60 minutes
 *
 * Kept in the scoreboard, so that a new monitor, or daemon, goes on with it.
 */
#ifndef OUTBOX_THROUGHPUT_H
#define OUTBOX_THROUGHPUT_H

#include <stdint.h>

#include <jansson.h>

#include "ipc/scoreboard.h"

/*
 * Add what the totals grew by since the last call to the present minute; now is
 * in seconds, UTC.  Called each second.  After a pause, such as the restart of
 * the monitor, all of it counts for the present minute.
 */
void	throughput_sample(struct scoreboard *, int64_t now);

/*
 * The last 60 minutes of this host's daemon, as
 *
 *	{"minutes": [{"at", "claimed", "published", "failed", "p50_ms",
 *	"p99_ms"}, ...], "claimed", "published", "failed", "p50_ms", "p99_ms",
 *	"since", "destinations": [{"destination", "minutes": [{"taken",
 *	"failed"}, ...]}, ...]}
 *
 * The oldest minute is the first one, that of now is the last one and not over.
 * at is the minute's begin, RFC 3339.  The times are from commit to
 * acknowledgement, null in a minute without a message.  Beside the list are the
 * sums.  since is when the daemon started; if it found the minutes of the one
 * before, when that did.  The caller frees.
 */
json_t	*throughput_json(const struct scoreboard *, int64_t now);

#endif
