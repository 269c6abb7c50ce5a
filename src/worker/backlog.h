/*
 * backlog.h - which rows are next: candidates, and what waits or is parked
 *
 * The first stage of a tick.  It is told which partitions are ours, picks rows
 * of them, and learns what came of those; nobody else writes here.
 *
 *	lanes.h		lanes that wait for their head, in memory
 *	parked.h	the same in the database
 *	candidates.h	scans
 */
#ifndef OUTBOX_BACKLOG_H
#define OUTBOX_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"
#include "conf/conf.h"
#include "store/store.h"
#include "util/err.h"
#include "worker/candidates.h"
#include "worker/lanes.h"
#include "worker/parked.h"
#include "worker/parts.h"

struct backlog {
	const struct conf	*conf;
	struct store		*store;
	struct parts		 parts;
	struct lanes		*lanes;
	struct parked		 parked;
	struct candidates	 candidates;

	/* Of the batch under way; see backlog_end_batch. */
	uint64_t		*gone;		/* rows not there any more */
	size_t			 ngone;
	bool			 vanished;	/* a candidate, and keys halt */
	bool			 reread;	/* see backlog_wants_leases */
};

void	backlog_init(struct backlog *, const struct conf *, struct store *);
void	backlog_free(struct backlog *);

/* Which partitions are ours; between two batches, after each of its changes. */
void	backlog_adopt(struct backlog *, const struct partitions *);

/*
 * Before rows are picked: read the records of new partitions, and move rows
 * between the scan's way and the parking place.  -1: the database is in
 * trouble.
 */
int	backlog_prepare(struct backlog *, int64_t now, struct err *);

/* Has the last prepare left something to do, so that the next may find rows? */
bool	backlog_is_moving(const struct backlog *);

/* So many lanes wait. */
size_t	backlog_nlanes(const struct backlog *);

/* Which of the messages that are not sent yet have to wait: sets held. */
void	backlog_hold_back(struct backlog *, struct batch *);

/* What the claim says of rows that were picked and are not in the batch. */
struct missed {
	uint64_t		*sequences;
	size_t			 n;
	struct waiting_list	 waiting;	/* those that are still there */
};

void	backlog_learn_missed(struct backlog *, const struct picks *,
	    const struct batch *, const struct missed *);
void	missed_free(struct missed *);

/*
 * What became of the messages of a batch so far: failed ones block their lanes.
 * With the end of the batch those that are delivered, dead or gone unblock
 * them, and without a batch (NULL) nothing of it is known.
 */
void	backlog_learn(struct backlog *, const struct batch *, int64_t now);
void	backlog_end_batch(struct backlog *, const struct batch *);

/* Leases are not as they were known: read them now.  Clears it. */
bool	backlog_wants_leases(struct backlog *);

#endif
