/* reconnect.c - see reconnect.h */

#include "util/reconnect.h"

#include <string.h>

#include "util/clock.h"
#include "util/log.h"

/* A connection that has been open this long works, even if it was idle. */
#define PROVEN_MS	5000

/* Longer than the others take to notice that the server is away. */
#define FOLLOW_MS	30000

void
reconnect_init(struct reconnect *l, const char *name)
{
	memset(l, 0, sizeof(*l));
	l->name = l->throttle.error_class = name;
	l->backoff.floor_ms = RECONNECT_FLOOR_MS;
	l->backoff.ceiling_ms = RECONNECT_CEILING_MS;
}

void
reconnect_opened(struct reconnect *l, int64_t now)
{
	l->opened_at = now;
	l->proven = false;
}

static bool
is_ours(struct reconnect *l, const char *key, int64_t now)
{
	if (l->outage == NULL)
		return true;
	if (!l->follows)
		return outage_is_ours(l->outage, key, l->each_text, now);
	/* Has it lasted so long that the others would have told it? */
	log_throttle_begin(&l->throttle, false, now);
	if (outage_is_told(l->outage, now))
		l->told_at = now;
	return now - later(l->throttle.since, l->told_at) >= FOLLOW_MS;
}

void
reconnect_failed_keyed(struct reconnect *l, const char *key, const char *text,
    int64_t now)
{
	if (is_ours(l, key, now))
		log_throttle_keyed(&l->throttle, key, text, now);
	else {	/* another process tells of it */
		log_throttle_begin(&l->throttle, false, now);
		log_debug("%s", text);
	}
	l->try_at = now + backoff_next(&l->backoff);
	l->opened_at = 0;
}

void
reconnect_failed(struct reconnect *l, const char *text, int64_t now)
{
	reconnect_failed_keyed(l, text, text, now);
}

void
reconnect_lost(struct reconnect *l, int64_t now)
{
	static const char	text[] = "connection lost; reconnecting";
	bool			ours = is_ours(l, text, now);

	l->opened_at = 0;
	log_event(ours ? LOG_LVL_INFO : LOG_LVL_DEBUG,
	    LOG_FIELDS(LOG_TEXT("error_class", l->name)), "%s: %s", l->name,
	    text);
	log_throttle_begin(&l->throttle, ours, now);
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
	/* After a failure the line that it works again says that, too. */
	if (!l->proven && l->opened_at != 0 && !l->throttle.active)
		log_info("%s: connected", l->name);
	l->proven = true;
	if (l->outage != NULL)
		outage_over(l->outage);
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
