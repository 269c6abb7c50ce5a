/* reconnect.c - see reconnect.h */

#include "util/reconnect.h"

#include <string.h>

#include "util/log.h"

/* A connection that has been open this long works, even if it was idle. */
#define PROVEN_MS	5000

void
reconnect_init(struct reconnect *l, const char *name)
{
	memset(l, 0, sizeof(*l));
	l->name = name;
	l->backoff.floor_ms = RECONNECT_FLOOR_MS;
	l->backoff.ceiling_ms = RECONNECT_CEILING_MS;
}

void
reconnect_opened(struct reconnect *l, int64_t now)
{
	l->opened_at = now;
	l->proven = false;
}

void
reconnect_failed(struct reconnect *l, const char *text, int64_t now)
{
	log_throttle_warn(&l->throttle, text, now);
	l->try_at = now + backoff_next(&l->backoff);
	l->opened_at = 0;
}

void
reconnect_pause(struct reconnect *l, int64_t max_ms, int64_t now)
{
	int64_t	pause = backoff_next(&l->backoff);

	l->try_at = now + (pause < max_ms ? pause : max_ms);
}

void
reconnect_works(struct reconnect *l, int64_t now)
{
	if (!l->proven && l->opened_at != 0)
		log_info("%s: connected", l->name);
	l->proven = true;
	log_throttle_over(&l->throttle, l->name, now);
	backoff_reset(&l->backoff);
	l->try_at = 0;
}

void
reconnect_lasts(struct reconnect *l, int64_t now)
{
	if (!l->proven && l->opened_at != 0 && now - l->opened_at >= PROVEN_MS)
		reconnect_works(l, now);
}
