/*
 * store_silent.c - workers that are dead though their heartbeat is not over
 *
 * Ends of heartbeats and leases are moments of the database server that wrote
 * them.  On a node whose clock is a minute ahead they lie a minute farther away
 * for all that use another node, and so they do after a clock was put back.  So
 * a worker is dead, too, if its heartbeat has not changed for the time for which
 * it was given, by the clock of this host, which needs no other; and a lease is
 * free if the heartbeat of its owner has not changed for the time for which the
 * lease was given.  Where the clocks agree both are over by then.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* A lease is renewed after the heartbeat, by another statement. */
#define MARGIN_MS	1000

bool
store_hear(struct store *s, struct heard *list, size_t *n, const char *id,
    int64_t until, int64_t ttl_ms)
{
	struct heard	*h = &list[(*n)++];
	int64_t		 silent_ms;

	strlcpy(h->id, id, sizeof(h->id));
	h->until = until;
	h->since = clock_ms();
	for (size_t i = 0; i < s->nheard; i++)
		if (s->heard[i].until == until &&
		    strcmp(s->heard[i].id, id) == 0)
			h->since = s->heard[i].since;
	/* If this process stood still since, the answer is as old. */
	silent_ms = s->heard_at - h->since - MARGIN_MS;
	if (silent_ms < ttl_ms || ttl_ms <= 0 || strcmp(id, s->id) == 0)
		return true;
	buf_str(&s->silent, " OR (lease_owner = ");
	db_quote(s->db, &s->silent, id, strlen(id));
	buf_printf(&s->silent, " AND TIMESTAMPDIFF(MICROSECOND, updated_at, "
	    "lease_until) <= %lld)", (long long)silent_ms * 1000);
	return false;
}

void
store_heard(struct store *s, struct heard *list, size_t n)
{
	free(s->heard);
	s->heard = list;
	s->nheard = n;
}
