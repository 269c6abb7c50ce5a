/*
 * tick.h - one tick: pick, claim, publish, settle
 *
 * Only the tick knows all stages.  It hands the result of one to the next:
 *
 *	backlog	which rows are next		-> picks
 *	claim	stamp and fetch them		-> a batch
 *	relay	publish it			-> an outcome for each message
 *	settle	write the outcomes back
 *	backlog	learns the outcomes of its rows
 *
 * Rows stay claimed after a tick that failed.  This worker and its successor
 * may claim them again at once, other workers when the claim expires.
 */
#ifndef OUTBOX_TICK_H
#define OUTBOX_TICK_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "ipc/totals.h"
#include "publish/relay.h"
#include "recovery/in_doubt.h"
#include "store/store.h"
#include "util/err.h"
#include "worker/backlog.h"
#include "worker/claim.h"
#include "worker/fleet.h"

struct tick {
	struct store		*store;
	struct fleet		*fleet;
	struct relay		*relay;
	struct backlog		 backlog;
	struct claim		 claim;
	struct in_doubt		 in_doubt;

	/* Published.  open: the database has not confirmed the outcomes. */
	struct {
		struct batch	 batch;
		struct settled	 counts;	/* of it, so far */
		bool		 open;
	} settle;
	struct totals		*totals;	/* of the slot; set by the
						   owner */

	struct batch		 batch;		/* claimed and not yet open */

	/* Counts of this batch, or of the one that is to be settled. */
	uint64_t		 picked, claimed;
	uint64_t		 former;	/* see tick_result */
	struct relay_result	 relayed;
};

struct tick_result {
	uint64_t		 picked;	/* rows found; not all are free */
	uint64_t		 claimed;
	uint64_t		 former;	/* delivered with a label of a
						   former partition count */
	bool			 more;	/* another scan may find rows */
	bool			 left;	/* rows beyond the batch's limit */
	struct settled		 settled;
	struct relay_result	 relay;
};

void	tick_init(struct tick *, const struct conf *, struct store *,
	    struct fleet *, struct relay *);
void	tick_free(struct tick *);

/*
 * Take over the fleet's partitions.  Each tick begins with that.  Call it after
 * a round of the fleet, so that wake-ups find new partitions before the tick.
 */
void	tick_adopt(struct tick *);

/*
 * Relay a batch of at most limit rows.  -1: the database failed.  Outcomes that
 * are not written back stay open then: tick_settle() must succeed before the
 * next tick, and its result has the batch.
 */
int	tick_run(struct tick *, size_t limit, struct tick_result *,
	    struct err *);

/* Are outcomes not written back yet? */
bool	tick_is_open(const struct tick *);

/* Write back open outcomes; 0 also if there are none. */
int	tick_settle(struct tick *, struct tick_result *, struct err *);

#endif
