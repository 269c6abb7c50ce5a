/*
 * claim.h - stamps and fetches picked rows: the result is a batch
 *
 * The second stage of a tick.
 */
#ifndef OUTBOX_CLAIM_H
#define OUTBOX_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"
#include "conf/conf.h"
#include "publish/memory_budget.h"
#include "store/store.h"
#include "util/err.h"
#include "worker/backlog.h"

struct claim {
	struct store		*store;
	struct memory_budget	 budget;
};

void	claim_init(struct claim *, const struct conf *, struct store *);

/*
 * Claim the picked rows, one at least, and fetch those that are ours then into
 * the batch.  When this returns, the claim is committed: the messages may be
 * sent.  -1: the database failed and the batch is empty.
 */
int	claim_rows(struct claim *, struct picks *, struct batch *,
	    uint64_t *claimed, struct err *);

/* Read why picked rows are not in the batch; missed_free() also after -1. */
int	claim_learn_missed(struct claim *, const struct picks *,
	    const struct batch *, struct missed *, struct err *);

/*
 * Fetch payloads that were too large to be fetched with their rows, within the
 * memory budget.  Held rows are left out.
 */
int	claim_fetch_large(struct claim *, struct batch *, int64_t max_payload,
	    struct err *);

#endif
