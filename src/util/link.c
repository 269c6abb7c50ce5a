/* link.c - see link.h */

#include "util/link.h"

#include <string.h>

#include "util/log.h"

/* A connection that has been open this long works, even if it was idle. */
#define PROVEN_MS	5000

void
link_init(struct link *l, const char *name)
{
	memset(l, 0, sizeof(*l));
	l->name = name;
	l->backoff.floor_ms = LINK_FLOOR_MS;
	l->backoff.ceiling_ms = LINK_CEILING_MS;
}

void
link_opened(struct link *l, int64_t now)
{
	l->opened_at = now;
	l->proven = false;
}

void
link_failed(struct link *l, const char *text, int64_t now)
{
	trouble_met(&l->trouble, text, now);
	l->try_at = now + backoff_next(&l->backoff);
	l->opened_at = 0;
}

void
link_pause(struct link *l, int64_t max_ms, int64_t now)
{
	int64_t	pause = backoff_next(&l->backoff);

	l->try_at = now + (pause < max_ms ? pause : max_ms);
}

void
link_works(struct link *l, int64_t now)
{
	if (!l->proven && l->opened_at != 0)
		log_info("%s: connected", l->name);
	l->proven = true;
	trouble_over(&l->trouble, l->name, now);
	backoff_reset(&l->backoff);
	l->try_at = 0;
}

void
link_lasts(struct link *l, int64_t now)
{
	if (!l->proven && l->opened_at != 0 && now - l->opened_at >= PROVEN_MS)
		link_works(l, now);
}
