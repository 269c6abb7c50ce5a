/*
 * backlog.h - which rows are next: candidates, and what waits or is parked
 *
 * The first stage of a tick.  It takes our partitions from the fleet, picks rows
 * of them, and learns their outcomes.  Only it and the tick write its state.
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
	uint64_t		*gone;		/* rows that wait no more */
	size_t			 ngone;
	uint64_t		*scheduled;	/* rows with a later time */
	size_t			 nscheduled;
	bool			 stays;		/* the label is too narrow */
	bool			 vanished;	/* a row was deleted, and its
						   key may be halted */
	bool			 reread;	/* see backlog_wants_leases */
};

void	backlog_init(struct backlog *, const struct conf *, struct store *);
void	backlog_free(struct backlog *);

/* Take over these partitions, after each change, between two batches. */
void	backlog_adopt(struct backlog *, const struct partitions *);

/*
 * Called before rows are picked: read the blocked keys of new partitions, and
 * park and unpark rows.  -1: the database failed.
 */
int	backlog_prepare(struct backlog *, int64_t now, struct err *);

/* Set held for messages that must not be sent, or not any more. */
void	backlog_hold_back(struct backlog *, struct batch *);

/* Picked rows that are not in the batch. */
struct missed {
	uint64_t		*sequences;
	size_t			 n;
	struct waiting_list	 waiting;	/* those that are still there */
};

void	backlog_learn_missed(struct backlog *, const struct picks *,
	    const struct batch *, const struct missed *);
void	missed_free(struct missed *);

/*
 * Move the missed rows whose time is to come out of the way.  -1: the database
 * failed.
 */
int	backlog_move_scheduled(struct backlog *, const struct picks *,
	    const struct missed *, struct err *);

/*
 * Learn the outcomes of a batch so far: failed messages block their lanes.  At
 * the end of the batch, rows that are delivered, dead or gone unblock theirs.
 * NULL: the batch was dropped, and no lane is unblocked.
 */
void	backlog_learn(struct backlog *, const struct batch *, int64_t now);
void	backlog_end_batch(struct backlog *, const struct batch *);

/* Was a lease found changed, so that they must be read again?  Clears that. */
bool	backlog_wants_leases(struct backlog *);

#endif
