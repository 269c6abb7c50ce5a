/*
 * tick.h - a round of work: pick, claim, publish, settle
 *
 * The only one that knows all stages, and hands what one has found to the next:
 *
 *	backlog	which rows are next		-> picks
 *	claim	stamp and fetch them		-> a batch
 *	relay	publish it			-> an outcome for each message
 *	settle	write the outcomes back
 *	backlog	learns what came of its rows
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
#include "publish/relay.h"
#include "recovery/in_doubt.h"
#include "store/store.h"
#include "util/err.h"
#include "worker/backlog.h"
#include "worker/claim.h"
#include "worker/fleet.h"
#include "worker/settle.h"

struct tick {
	struct store		*store;
	struct fleet		*fleet;
	struct relay		*relay;
	struct backlog		 backlog;
	struct claim		 claim;
	struct in_doubt		 in_doubt;
	struct settle		 settle;

	/*
	 * A batch is delivered, and nothing is known to be left: is there
	 * more?  It may wait a little for that.  NULL: look and see.
	 */
	bool			(*wait_wakeup)(void *);
	void			*wait_wakeup_arg;

	struct batch		 batch;		/* claimed, on its way */

	/* Of that one, or of the one that is to be settled. */
	uint64_t		 picked, claimed;
	uint64_t		 former;	/* see tick_result */
	struct relay_result	 relayed;
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
	    struct fleet *, struct relay *);
void	tick_free(struct tick *);

/*
 * The fleet may have had a round: what is ours is as it says from now on.  Each
 * tick begins with that; who wakes us names partitions earlier.
 */
void	tick_adopt(struct tick *);

/*
 * Work on batches of at most limit rows: on one, or, as long as they are small
 * and all goes well, on one after the other before until (clock_ms()).  -1:
 * the database is in trouble; what was published by then is remembered, and
 * tick_settle must succeed before the next tick; what was written back by then
 * is in the result.
 */
int	tick_run(struct tick *, size_t limit, int64_t until,
	    struct tick_result *, struct err *);

/* Is something published and not written back? */
bool	tick_is_open(const struct tick *);

/* Write back what is still open; nothing to do is success. */
int	tick_settle(struct tick *, struct tick_result *, struct err *);

#endif
