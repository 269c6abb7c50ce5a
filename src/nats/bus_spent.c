/* bus_spent.c - frees messages, many at a time */

#include "nats/bus_impl.h"

#define SPENT_MAX_BYTES		(1024 * 1024)

void
bus_free_spent(struct bus *b)
{
	while (b->nspent > 0)
		natsMsg_Destroy(b->spent[--b->nspent]);
	b->spent_bytes = 0;
}

/*
 * The library frees messages in a thread of its own.  One at a time, that is
 * two context switches for each message; many at a time, with a thread that
 * does not preempt us (see bus_new), it is almost none.
 */
void
bus_spend(struct bus *b, natsMsg *m)
{
	if (m == NULL)
		return;
	b->spent[b->nspent++] = m;
	b->spent_bytes += (size_t)natsMsg_GetDataLength(m);
	if (b->nspent == SPENT_MAX || b->spent_bytes >= SPENT_MAX_BYTES)
		bus_free_spent(b);
}
