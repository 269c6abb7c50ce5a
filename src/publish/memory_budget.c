/* memory_budget.c - see memory_budget.h */

#include "publish/memory_budget.h"

#include <stdlib.h>

#include <uthash.h>

#include "common/lane.h"
#include "util/xalloc.h"

/*
 * As many rows are claimed as would fill this part of the budget, if they were
 * like the last batch: most are then below their share and fetched at once.
 */
#define FILL_PERCENT	75

/* After a failure the next try has 1/FAILED_PART of the rows. */
#define FAILED_PART	4

void
memory_budget_init(struct memory_budget *r, const struct conf *conf)
{
	*r = (struct memory_budget){ .conf = conf, .rows = SIZE_MAX };
}

size_t
memory_budget_rows(const struct memory_budget *r, size_t limit)
{
	return r->rows < limit ? r->rows : limit;
}

size_t
memory_budget_share(const struct memory_budget *r, size_t n)
{
	return (size_t)r->conf->worker.batch_bytes / n;
}

/* Fewer rows at once, more rows step by step: large ones come in groups. */
void
memory_budget_learn(struct memory_budget *r, const struct batch *b)
{
	size_t	want = (size_t)r->conf->worker.batch_bytes / 100 * FILL_PERCENT;
	size_t	total = 1, rows;

	if (b->n == 0)
		return;
	for (size_t i = 0; i < b->n; i++)
		total += msg_size(&b->msgs[i]);
	rows = (size_t)((double)want * (double)b->n / (double)total);
	if (rows / 2 > r->rows)
		rows = r->rows * 2;
	r->rows = rows > 0 ? rows : 1;
}

void
memory_budget_failed(struct memory_budget *r, size_t n)
{
	if (n < r->rows)
		r->rows = n;
	r->rows = r->rows > FAILED_PART ? r->rows / FAILED_PART : 1;
}

/* A lane of this batch in which a message is left. */
struct lane {
	UT_hash_handle	hh;
};

size_t
memory_budget_choose(const struct memory_budget *r, struct batch *b,
    int64_t max_payload, uint64_t *sequences)
{
	enum conf_ordering	 ordering = (enum conf_ordering)
				     r->conf->outbox.ordering;
	size_t			 max = (size_t)r->conf->worker.batch_bytes;
	size_t			 longest = (size_t)max_payload;
	size_t			 used = 0, n = 0, nleft = 0;
	struct lane		*lanes = NULL, *left, *pool;

	pool = xcalloc(b->naway + 1, sizeof(*pool));
	for (size_t i = 0; i < b->n; i++)
		used += b->msgs[i].away ? 0 : msg_size(&b->msgs[i]);
	for (size_t i = 0; i < b->n; i++) {
		struct msg	*m = &b->msgs[i];
		struct bytes	 name = lane_of_msg(ordering, b, m);

		if (m->held)
			continue;
		HASH_FIND(hh, lanes, name.data, name.len, left);
		m->left = left != NULL;
		/* What is too long is not sent: it stays away. */
		if (m->left || !m->away || m->payload.len > longest ||
		    m->metadata.len > longest ||
		    m->metadata.len > MSG_METADATA_MAX)
			continue;
		if (n > 0 && used + msg_size(m) > max) {
			m->left = true;
			left = &pool[nleft++];
			HASH_ADD_KEYPTR(hh, lanes, name.data, name.len, left);
			continue;
		}
		used += msg_size(m);
		sequences[n++] = m->sequence;
	}
	HASH_CLEAR(hh, lanes);
	free(pool);
	return n;
}
