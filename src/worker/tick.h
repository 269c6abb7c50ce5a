/*
 * tick.h - a round of work: look, claim, fetch, publish, settle
 *
 * A tick that breaks off leaves nothing half done that the next one, or
 * another worker, would not find: rows it had claimed are free again for
 * whoever knows that this worker's claims are void, and for everybody once
 * their time is over.
 */
#ifndef OUTBOX_TICK_H
#define OUTBOX_TICK_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "recovery/doubt.h"
#include "util/err.h"
#include "worker/lanes.h"
#include "worker/candidates.h"
#include "worker/fleet.h"
#include "worker/parked.h"
#include "publish/relay.h"
#include "publish/room.h"
#include "store/store.h"

struct tick {
	const struct conf	*conf;
	struct store		*store;
	struct fleet		*fleet;
	struct lanes		*lanes;
	struct relay		*relay;
	struct candidates	 candidates;
	struct parked		 parked;
	struct doubt		 doubt;
	struct room		 room;

	/*
	 * A batch is delivered, and nothing is known to be left: is there
	 * more?  It may wait a little for that.  NULL: look and see.
	 */
	bool			(*wait_ring)(void *);
	void			*wait_ring_arg;

	/*
	 * What was written back with the claim of the batch, whose COMMIT
	 * nobody has heard of yet.
	 */
	struct batch		 done;
	struct settled		 done_as;

	/* What is published but not yet written back. */
	struct batch		 batch;
	uint64_t		 picked, claimed;
	uint64_t		 former;	/* see tick_result */
	struct settled		 settled;
	struct relay_result	 relayed;
	uint64_t		*gone;		/* rows not there any more */
	size_t			 ngone;
	bool			 vanished;	/* a candidate, and keys halt */
	bool			 unsettled;
};

struct tick_result {
	uint64_t		 claimed;
	uint64_t		 former;	/* delivered under a label that the key
						   has not under the present
						   partition count */
	bool			 more;	/* partitions not yet looked at */
	bool			 left;	/* rows that the batch had no room for */
	struct settled		 settled;
	struct relay_result	 relay;
};

void	tick_init(struct tick *, const struct conf *, struct store *,
	    struct fleet *, struct lanes *, struct relay *);
void	tick_free(struct tick *);

/*
 * Work on batches of at most limit rows: on one, or, as long as they are small
 * and all goes well, on one after the other before until (clock_ms()).  -1:
 * the database is in trouble; what was published by then is remembered, and
 * tick_settle must succeed before the next tick; what was written back by then
 * is in the result.
 */
int	tick_run(struct tick *, size_t limit, int64_t until,
	    struct tick_result *, struct err *);

/* Write back what is still open; nothing to do is success. */
int	tick_settle(struct tick *, struct tick_result *, struct err *);

#endif
