/* absence.c - see absence.h */

#include "worker/absence.h"

void
absence_begin(struct absence *a, int64_t now)
{
	*a = (struct absence){ .away = true, .is_new = true,
	    .missed_since = now };
}

bool
absence_is_doubt(const struct absence *a, const struct conf *c, int64_t now)
{
	return !a->away && a->missed_at != 0 &&
	    now - a->missed_at < c->worker.lease_ttl;
}

void
absence_note(struct absence *a, bool reached, bool stands_back,
    const struct conf *c, int64_t now)
{
	if (!reached) {
		a->reached_since = 0;
		a->missed_at = now;
		if (a->missed_since == 0)
			a->missed_since = now;
		a->away = a->away || now - a->missed_since >=
		    c->worker.lease_ttl - c->worker.lease_renew;
		return;
	}
	a->missed_since = 0;
	if (!a->away)
		return;
	if (a->reached_since == 0)
		a->reached_since = now;
	if (stands_back && !a->is_new &&
	    now - a->reached_since < c->worker.lease_ttl)
		return;
	a->away = false;
	a->is_new = false;
	a->reached_since = 0;
}
