/* claim.c - see claim.h */

#include "worker/claim.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/xalloc.h"

void
claim_init(struct claim *c, const struct conf *conf, struct store *store,
    const struct fleet *fleet)
{
	*c = (struct claim){ .store = store, .fleet = fleet };
	memory_budget_init(&c->budget, conf);
}

/*
 * Note the name of each row's partition.  The row's own label may be another
 * one of the class, or have other bytes that the collation calls equal.
 */
static void
keep_labels(const struct picks *k, struct batch *b)
{
	b->labels = xcalloc(k->nranges + 1, sizeof(*b->labels));
	for (size_t i = 0; i < k->nranges; i++)
		strlcpy(b->labels[i], k->ranges[i].label,
		    sizeof(b->labels[i]));
	for (size_t i = 0; i < b->n; i++)
		b->msgs[i].range = picks_part(k,
		    b->msgs[i].sequence)->labels[0].range;
}

static int
fetch(struct claim *c, struct picks *k, uint64_t claimed, struct batch *b,
    struct err *e)
{
	batch_free(&k->ahead);
	if (store_fetch(c->store, k->sequences, k->n,
	    memory_budget_share(&c->budget, (size_t)claimed), b, e) < 0) {
		memory_budget_failed(&c->budget, (size_t)claimed);
		return -1;
	}
	memory_budget_learn(&c->budget, b);
	return 0;
}

/* If all picked rows are claimed, use the messages that the scan has read. */
static bool
use_ahead(struct claim *c, struct picks *k, bool all, struct batch *b)
{
	if (!all || k->ahead.n == 0)
		return false;
	batch_take(b, &k->ahead);
	memory_budget_learn(&c->budget, b);
	return true;
}

static const struct partition *
partition_of(const struct claim *c, const struct pick *p)
{
	return c->fleet->parts.items[p->part->number];
}

/* Mark rows that a worker of a former version may have sent. */
static int
prepare_claim(struct claim *c, struct picks *k, struct err *e)
{
	bool	marked = false;

	for (size_t i = 0; i < k->n; i++)
		marked = marked || fleet_is_in_doubt(
		    partition_of(c, &k->items[i]), k->items[i].sequence);
	if (marked && store_mark_rows_in_doubt(c->store, k->sequences, k->n,
	    e) < 0)
		return -1;
	if (marked || !batch_keep(&k->ahead, k->sequences, k->n))
		batch_free(&k->ahead);
	return 0;
}

static int
stamp_and_fetch(struct claim *c, struct picks *k, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	struct range		ranges[STORE_RANGES];
	struct claim_set	set = { ranges, picks_ranges(k, ranges),
				    k->sequences, k->n };

	if (prepare_claim(c, k, e) < 0 ||
	    store_claim(c->store, &set, b, claimed, e) < 0)
		return -1;
	if (*claimed == 0 || use_ahead(c, k, *claimed == k->n, b))
		return 0;
	return fetch(c, k, *claimed, b, e);
}

int
claim_rows(struct claim *c, struct picks *k, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	memset(b, 0, sizeof(*b));
	*claimed = 0;
	if (stamp_and_fetch(c, k, b, claimed, e) < 0) {
		batch_free(b);
		return -1;
	}
	keep_labels(k, b);
	return 0;
}

static size_t
list_unclaimed(const struct picks *k, const struct batch *b, uint64_t *out)
{
	size_t	n = 0, j = 0;

	for (size_t i = 0; i < k->n; i++) {
		while (j < b->n && b->msgs[j].sequence < k->sequences[i])
			j++;
		if (j == b->n || b->msgs[j].sequence != k->sequences[i])
			out[n++] = k->sequences[i];
	}
	return n;
}

int
claim_learn_missed(struct claim *c, const struct picks *k,
    const struct batch *b, struct missed *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->sequences = xcalloc(k->n + 1, sizeof(*m->sequences));
	m->n = list_unclaimed(k, b, m->sequences);
	if (m->n == 0)
		return 0;
	return store_waiting(c->store, m->sequences, m->n, &m->waiting, e);
}

int
claim_fetch_large(struct claim *c, struct batch *b, int64_t max_payload,
    struct err *e)
{
	uint64_t	*sequences;
	size_t		 n;
	int		 rc = 0;

	if (b->naway == 0)
		return 0;
	sequences = xcalloc(b->naway, sizeof(*sequences));
	n = memory_budget_choose(&c->budget, b, max_payload, sequences);
	if (n > 0)
		rc = store_fetch_away(c->store, sequences, n, b, e);
	free(sequences);
	return rc;
}
