/* inflight.c - see inflight.h; every step is O(1), set-up is O(n) */

#include "publish/inflight.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "common/lane.h"
#include "util/xalloc.h"

struct lane {
	size_t		last;		/* its latest message */
	UT_hash_handle	hh;
};

/* Each message is chained to the one before it in its lane. */
void
inflight_init(struct inflight *w, const struct batch *b,
    enum conf_ordering ordering, size_t max, size_t max_bytes)
{
	struct lane	*lanes = NULL, *pool = xcalloc(b->n + 1, sizeof(*pool));

	*w = (struct inflight){ .n = b->n, .max = max,
	    .max_bytes = max_bytes };
	w->sizes = xcalloc(b->n + 1, sizeof(*w->sizes));
	w->lane_next = xcalloc(b->n + 1, sizeof(*w->lane_next));
	w->queue = xcalloc(b->n + 1, sizeof(*w->queue));
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];
		struct bytes	  key = lane_of_msg(ordering, b, m);
		struct lane	 *l;

		w->lane_next[i] = w->n;
		if (m->held)
			continue;
		HASH_FIND(hh, lanes, key.data, key.len, l);
		if (l != NULL) {
			w->lane_next[l->last] = i;
			l->last = i;
			continue;
		}
		l = &pool[i];
		l->last = i;
		HASH_ADD_KEYPTR(hh, lanes, key.data, key.len, l);
		w->queue[w->tail++] = i;
	}
	HASH_CLEAR(hh, lanes);
	free(pool);
}

void
inflight_free(struct inflight *w)
{
	free(w->sizes);
	free(w->lane_next);
	free(w->queue);
}

bool
inflight_has_room(const struct inflight *w)
{
	return w->unresolved < w->max && w->bytes < w->max_bytes;
}

bool
inflight_can_send(const struct inflight *w)
{
	return w->head < w->tail && inflight_has_room(w);
}

bool
inflight_next(struct inflight *w, size_t *i)
{
	if (!inflight_can_send(w))
		return false;
	*i = w->queue[w->head++];
	return true;
}

void
inflight_prefer(struct inflight *w, size_t i)
{
	for (size_t k = w->head; k < w->tail; k++)
		if (w->queue[k] == i) {
			memmove(&w->queue[w->head + 1], &w->queue[w->head],
			    (k - w->head) * sizeof(*w->queue));
			w->queue[w->head] = i;
			return;
		}
}

void
inflight_sent(struct inflight *w, size_t i, size_t size)
{
	w->unresolved++;
	w->sizes[i] = size;
	w->bytes += size;
}

void
inflight_skipped(struct inflight *w, size_t i, bool go_on)
{
	if (go_on && w->lane_next[i] < w->n)
		w->queue[w->tail++] = w->lane_next[i];
}

void
inflight_resolved(struct inflight *w, size_t i, bool go_on)
{
	w->unresolved--;
	w->bytes -= w->sizes[i];
	inflight_skipped(w, i, go_on);
}

bool
inflight_has_work(const struct inflight *w)
{
	return w->unresolved > 0 || w->head < w->tail;
}
