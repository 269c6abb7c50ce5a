/* absence.c - see absence.h */

#include "worker/absence.h"

#include "util/clock.h"

/* Until so long after it was back it goes away again; and the longest heal_ms. */
#define AGAIN_MS	(10 * 60 * 1000)

void
absence_begin(struct absence *a, int64_t now)
{
	*a = (struct absence){ .away = true, .missed_since = now };
}

bool
absence_is_doubt(const struct absence *a, const struct conf *c, int64_t now)
{
	return !a->away && a->missed_at != 0 &&
	    now - a->missed_at < c->worker.lease_ttl;
}

static void
note_missed(struct absence *a, const struct conf *c, int64_t now)
{
	int64_t	ttl = c->worker.lease_ttl;

	a->reached_since = 0;
	a->missed_at = now;
	if (a->missed_since == 0)
		a->missed_since = now;
	if (a->away || now - a->missed_since < ttl - c->worker.lease_renew)
		return;
	a->away = true;
	a->heal_ms = a->heal_ms > 0 && now - a->back_at < AGAIN_MS ?
	    sooner(2 * a->heal_ms, later(AGAIN_MS, ttl)) : ttl;
}

void
absence_note(struct absence *a, bool reached, bool stands_back,
    const struct conf *c, int64_t now)
{
	if (!reached) {
		note_missed(a, c, now);
		return;
	}
	a->missed_since = 0;
	if (!a->away)
		return;
	if (a->reached_since == 0)
		a->reached_since = now;
	if (stands_back && now - a->reached_since < a->heal_ms)
		return;
	a->away = false;
	a->reached_since = 0;
	a->back_at = now;
}
