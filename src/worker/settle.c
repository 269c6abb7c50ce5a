/* settle.c - see settle.h */

#include "worker/settle.h"

#include <string.h>

void
settle_open(struct settle *s, struct batch *b)
{
	s->batch = *b;
	memset(b, 0, sizeof(*b));
	memset(&s->counts, 0, sizeof(s->counts));
	s->open = true;
}

bool
settle_is_open(const struct settle *s)
{
	return s->open;
}

size_t
settle_nmessages(const struct settle *s)
{
	size_t	n = 0;

	for (size_t i = 0; i < s->batch.n; i++)
		n += s->batch.msgs[i].outcome == OUT_DELIVERED;
	return n;
}

int
settle_write(struct settle *s, struct err *e)
{
	return store_settle(s->store, &s->batch, &s->counts, e);
}

void
settle_close(struct settle *s)
{
	batch_free(&s->batch);
	s->open = false;
}
