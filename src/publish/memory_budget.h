/*
 * memory_budget.h - the memory budget of a batch
 *
 * worker.batch_bytes limits the payloads in memory.  A payload up to its share
 * is fetched with its row, a longer one stays away.  Of those away the first
 * is always fetched, so that each batch makes progress, and others within the
 * budget.  The rest is left: given back unsent, with later ones of its lanes.
 * Pure bookkeeping: no I/O, no clock.
 *
 * What a worker needs with messages of up to m bytes, at most:
 *
 *	10 MiB			code, libraries, rows without their bodies
 *	batch_bytes + m		the client library's result
 *	m			its network buffer
 *	2/8 batch_bytes + 1.1 m	nats.c's write buffer, which keeps its size
 *	m			one message on its way into that
 *	1.4 m			its body, if publish.envelope is not raw
 *	2.7 m			a stored message as an answer, in base64, twice
 *
 * The answer is never needed at once with the two before it, so the sum stays
 * below the bound in outbox.yml(5).  An eighth of batch_bytes may be in flight:
 * as little because the library moves what is left of its buffer after each
 * write.  A message that is given up stays there while the broker does not
 * read: a batch that finds an eighth there sends nothing; the route is down.
 */
#ifndef OUTBOX_MEMORY_BUDGET_H
#define OUTBOX_MEMORY_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "common/msg.h"

struct memory_budget {
	const struct conf	*conf;
	size_t			 rows;	/* that fit, by the last batches */
};

void	memory_budget_init(struct memory_budget *, const struct conf *);

/* How many rows to claim, limit at most. */
size_t	memory_budget_rows(const struct memory_budget *, size_t limit);

/* The longest payload, in bytes, to be fetched with its row, for n rows. */
size_t	memory_budget_share(const struct memory_budget *, size_t n);

/* Learn from the sizes of a claimed batch, those away included. */
void	memory_budget_learn(struct memory_budget *, const struct batch *);

/* The fetch of n rows failed, perhaps for their size: claim fewer. */
void	memory_budget_failed(struct memory_budget *, size_t n);

/*
 * Choose the rows away that are to be fetched.  Sets sequences, with room for
 * naway, in order, and returns how many.  Held rows stay away.  Sets left for
 * rows beyond the budget and for all that follow in their lanes.  A row with a
 * payload or metadata of more than max_payload bytes, or with metadata of more
 * than MSG_METADATA_MAX, is not sent: it stays away and is not left.
 */
size_t	memory_budget_choose(const struct memory_budget *, struct batch *,
	    int64_t max_payload, uint64_t *sequences);

#endif
