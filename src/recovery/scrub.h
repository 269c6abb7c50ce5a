/*
 * scrub.h - the scrub: read all delivered rows again and again
 *
 * A message that was found in the stream once may be gone later: a block of its
 * store is damaged, or a replica that lacks some becomes the leader.  In rounds
 * all kept rows that were delivered are looked up, nats.scrub a second, and at
 * once where a check has found a reason.  The janitors of a fleet make a round
 * together, one at a time, and go on where another has stopped.
 */
#ifndef OUTBOX_SCRUB_H
#define OUTBOX_SCRUB_H

#include <stdbool.h>
#include <stdint.h>

#include "recovery/stream_audit.h"
#include "util/outage.h"
#include "util/reconnect.h"

struct scrub {
	const struct conf	*conf;
	struct store		*store;
	struct relay		 relay;		/* for publisher, ids, keep */
	struct stream_audit	 audit;
	char			 me[65];	/* as the stream's scrubber */
	char			 prefix[STORE_PREFIX];
	struct reconnect	 broker;
	char			 opened_at[STORE_TIME];	/* the database's time;
						   "": not since connected */
	int64_t			 next_at;	/* clock_ms(), of a slice by
						   routine */
	int64_t			 told_at;	/* clock_ms(), of a log line */
	struct stream_audit_rows found;		/* since then */
	int64_t			 shift;		/* how far the last message
						   that has moved had */

	bool			 urgent;	/* it reads for a suspicion */

	/* Results; the owner clears it. */
	uint64_t		 recovered;	/* rows to be sent again */
};

/*
 * The pointers are borrowed; the publisher is taken over, its ops are NULL if
 * nothing can be asked.  keep is called as a relay calls its keep.
 */
void	scrub_init(struct scrub *, const struct conf *, struct store *,
	    struct pub, enum keep (*keep)(void *), void *keep_arg,
	    struct outage *broker);

/* True if the configuration wants it, and there is what can be asked. */
bool	scrub_is_wanted(const struct scrub *);

/*
 * Read a slice of the rows if it is time; *delay_ms: when to call again.
 * Blocks, for some seconds at most.  The store is open, and its settings are
 * known.  A broker that fails is logged and tried again; -1: the database
 * failed.
 */
int	scrub_step(struct scrub *, int64_t *delay_ms, struct err *);

#endif
