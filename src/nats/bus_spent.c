/* bus_spent.c - messages that are to be freed, many at a time */

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
 * The library hands each message to a thread of its own to free it. One at a
 * time that is two context switches a message; in heaps, and with a thread
 * that does not cut in (see open_library), it is next to none.
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
