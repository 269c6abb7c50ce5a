/*
 * feed.h - the state of the fleet again and again, from "outboxctl serve", so
 * that the keyboard never waits for a server
 */
#ifndef OUTBOXCTL_FEED_H
#define OUTBOXCTL_FEED_H

#include <stdint.h>

#include <jansson.h>

#include "ctl/base/ctl.h"
#include "ipc/agent.h"

struct feed {
	struct ctl	*ctl;
	int64_t		 pause_ms;	/* between two rounds */
	struct agent	 agent;
	int64_t		 ask_at;	/* the next round, clock_ms() */
	unsigned	 asked;		/* questions of this one */
	json_t		*round;		/* their answers */
};

void	feed_begin(struct feed *, struct ctl *, int64_t pause_ms);
void	feed_end(struct feed *);

/*
 * Go on, without blocking: call it when agent.out is ready, and each second.
 * Returns a document if a round is complete, for the caller to free; else NULL.
 * If outboxctl has failed, *e has a text; it is started again.  The document:
 *
 *	status		as state_overview
 *	workers, partitions	as the commands workers and partitions list;
 *			missing if the database does not answer.  A worker has
 *			"gone" if it died with the daemon of this host
 *	totals		as state_totals
 *	lease_ms	worker.lease_ttl
 */
json_t	*feed_round(struct feed *, int64_t now, struct err *e);

#endif
