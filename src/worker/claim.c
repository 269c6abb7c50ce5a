/* claim.c - see claim.h */

#include "worker/claim.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/xalloc.h"

void
claim_init(struct claim *c, const struct conf *conf, struct store *store)
{
	*c = (struct claim){ .store = store };
	memory_budget_init(&c->budget, conf);
}

static int
stamp_and_fetch(struct claim *c, struct picks *k, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	struct range		ranges[STORE_RANGES];
	struct claim_set	set = { ranges, picks_ranges(k, ranges),
				    k->sequences, k->n };

	if (!batch_keep(&k->ahead, k->sequences, k->n))
		batch_free(&k->ahead);
	if (store_claim(c->store, &set, b, claimed, e) < 0)
		return -1;
	if (*claimed == 0)
		return 0;
	/* If all picked rows are claimed, the messages that a scan has read. */
	if (*claimed == k->n && k->ahead.n > 0) {
		batch_take(b, &k->ahead);
		memory_budget_learn(&c->budget, b);
		return 0;
	}
	batch_free(&k->ahead);
	if (store_fetch(c->store, k->sequences, k->n,
	    memory_budget_share(&c->budget, (size_t)*claimed), b, e) < 0) {
		memory_budget_failed(&c->budget, (size_t)*claimed);
		return -1;
	}
	memory_budget_learn(&c->budget, b);
	return 0;
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
	/*
	 * The name of each row's partition.  The row's own label may be another
	 * one of the class, or have bytes that the collation calls equal.
	 */
	b->labels = xcalloc(k->nranges + 1, sizeof(*b->labels));
	for (size_t i = 0; i < k->nranges; i++)
		strlcpy(b->labels[i], k->ranges[i].label,
		    sizeof(b->labels[i]));
	for (size_t i = 0; i < b->n; i++)
		b->msgs[i].range = picks_part(k,
		    b->msgs[i].sequence)->labels[0].range;
	return 0;
}

int
claim_learn_missed(struct claim *c, const struct picks *k,
    const struct batch *b, struct missed *m, struct err *e)
{
	size_t	j = 0;

	memset(m, 0, sizeof(*m));
	m->sequences = xcalloc(k->n + 1, sizeof(*m->sequences));
	for (size_t i = 0; i < k->n; i++) {
		while (j < b->n && b->msgs[j].sequence < k->sequences[i])
			j++;
		if (j == b->n || b->msgs[j].sequence != k->sequences[i])
			m->sequences[m->n++] = k->sequences[i];
	}
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
