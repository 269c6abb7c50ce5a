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

/* Lanes of this batch in which a message is left. */
struct lane {
	UT_hash_handle	hh;
};

struct lanes {
	struct lane	*head, *pool;
	enum conf_ordering ordering;
	const struct batch *batch;
};

static struct bytes
name_of(const struct lanes *l, const struct msg *m)
{
	return lane_of_msg(l->ordering, l->batch, m);
}

static bool
is_lane_left(const struct lanes *l, const struct msg *m)
{
	struct bytes	 name = name_of(l, m);
	struct lane	*found;

	HASH_FIND(hh, l->head, name.data, name.len, found);
	return found != NULL;
}

static void
leave_message(struct lanes *l, struct msg *m)
{
	struct bytes	 name = name_of(l, m);
	struct lane	*new = l->pool++;

	m->left = true;
	HASH_ADD_KEYPTR(hh, l->head, name.data, name.len, new);
}

/* Bytes that were fetched with their rows. */
static size_t
fetched(const struct batch *b)
{
	size_t	n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->msgs[i].away ? 0 : msg_size(&b->msgs[i]);
	return n;
}

static bool
can_be_sent(const struct msg *m, size_t max_payload)
{
	return m->payload.len <= max_payload &&
	    m->metadata.len <= max_payload &&
	    m->metadata.len <= MSG_METADATA_MAX;
}

size_t
memory_budget_choose(const struct memory_budget *r, struct batch *b,
    int64_t max_payload, uint64_t *sequences)
{
	size_t		 max = (size_t)r->conf->worker.batch_bytes, n = 0;
	size_t		 used = fetched(b);
	struct lane	*pool = xcalloc(b->naway + 1, sizeof(*pool));
	struct lanes	 lanes = { .pool = pool, .batch = b,
			    .ordering = (enum conf_ordering)
			    r->conf->outbox.ordering };

	for (size_t i = 0; i < b->n; i++) {
		struct msg *m = &b->msgs[i];

		if (m->held)
			continue;
		if (is_lane_left(&lanes, m))
			m->left = true;
		else if (m->away && can_be_sent(m, (size_t)max_payload)) {
			if (n > 0 && used + msg_size(m) > max) {
				leave_message(&lanes, m);
				continue;
			}
			used += msg_size(m);
			sequences[n++] = m->sequence;
		}
	}
	HASH_CLEAR(hh, lanes.head);
	free(pool);
	return n;
}
