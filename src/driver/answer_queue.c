/* answer_queue.c - see answer_queue.h */

#include "driver/answer_queue.h"

#include <stdlib.h>

#include "util/xalloc.h"

void
answer_queue_put(struct answer_queue *q, const struct pub_answer *a)
{
	if (q->n == q->size) {
		q->size = q->size * 2 + 32;
		q->items = xreallocarray(q->items, q->size, sizeof(*q->items));
	}
	q->items[q->n++] = *a;
}

void
answer_queue_put_stored(struct answer_queue *q, uint32_t index)
{
	answer_queue_put(q, &(struct pub_answer){ .index = index,
	    .verdict = VERDICT_STORED });
}

bool
answer_queue_take(struct answer_queue *q, struct pub_answer *a)
{
	if (!answer_queue_has(q))
		return false;
	*a = q->items[q->at++];
	if (q->at == q->n)
		answer_queue_clear(q);
	return true;
}

bool
answer_queue_has(const struct answer_queue *q)
{
	return q->at < q->n;
}

void
answer_queue_clear(struct answer_queue *q)
{
	q->n = q->at = 0;
}

void
answer_queue_free(struct answer_queue *q)
{
	free(q->items);
	*q = (struct answer_queue){ .n = 0 };
}
