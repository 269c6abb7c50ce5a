/*
 * claim.h - from rows that were picked to a batch: stamp, fetch
 *
 * The second stage of a tick.  It reads of the backlog which rows, and of the
 * fleet what their leases say.
 */
#ifndef OUTBOX_CLAIM_H
#define OUTBOX_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"
#include "conf/conf.h"
#include "publish/memory_budget.h"
#include "recovery/in_doubt.h"
#include "store/store.h"
#include "util/err.h"
#include "worker/backlog.h"
#include "worker/fleet.h"
#include "worker/settle.h"

struct claim {
	struct store		*store;
	struct fleet		*fleet;
	const struct in_doubt	*in_doubt;
	struct memory_budget	 budget;
};

void	claim_init(struct claim *, const struct conf *, struct store *,
	    struct fleet *, const struct in_doubt *);

/* So many rows may be picked, of at most limit. */
size_t	claim_limit(struct claim *, size_t limit);

/*
 * Claim what was picked, one row at least: what is ours then is the batch.  A
 * batch that waits to be settled is written back by the same statement.  -1:
 * the database is in trouble, the batch is empty; settle tells whether that
 * other batch is still open.
 */
int	claim_rows(struct claim *, struct settle *, struct picks *,
	    struct batch *, uint64_t *claimed, struct err *);

/* Learn why candidates are not in the batch; missed_free() also after -1. */
int	claim_learn_missed(struct claim *, const struct picks *,
	    const struct batch *, struct missed *, struct err *);

/*
 * Fetch what was too large to be fetched with the others, as far as there is
 * room, and not what is held.
 */
int	claim_fetch_large(struct claim *, struct batch *, int64_t max_payload,
	    struct err *);

#endif
