/* outage.c - see outage.h */

#include "util/outage.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/*
 * A process that met it so long ago does not tell it any more, for example
 * because it is stopped.  More than the longest try to connect.
 */
#define STALE_MS	60000

static bool
is_gone(const struct outage *o, int32_t teller, int64_t now)
{
	return teller == 0 || now - o->met_at >= STALE_MS ||
	    (kill(teller, 0) < 0 && errno == ESRCH);
}

bool
outage_is_ours(struct outage *o, const char *text, bool each_text, int64_t now)
{
	int32_t		us = (int32_t)getpid(), teller = o->teller;
	uint64_t	hash = UINT64_C(0xcbf29ce484222325);

	/* FNV-1a: a wrong match costs one line of the log. */
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) *
		    UINT64_C(0x100000001b3);
	if (teller != us && (!is_gone(o, teller, now) ||
	    !atomic_compare_exchange_strong(&o->teller, &teller, us)))
		return each_text && o->text != hash;
	o->met_at = now;
	o->text = hash;
	return true;
}

bool
outage_is_told(const struct outage *o, int64_t now)
{
	return !is_gone(o, o->teller, now);
}

void
outage_over(struct outage *o)
{
	int32_t	us = (int32_t)getpid();

	/* Read first: this is called after each tick. */
	if (o->teller == us)
		atomic_compare_exchange_strong(&o->teller, &us, 0);
}
