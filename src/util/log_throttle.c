/* log_throttle.c - see log_throttle.h */

#include "util/log_throttle.h"

#include <string.h>
#include <bsd/string.h>

#include "util/duration.h"

#define REPEAT_FIRST_MS	1000
#define REPEAT_MAX_MS	60000

/* Hosts that fail in turn have a text each: compare with all of the last. */
static bool
is_news(const struct log_throttle *t, const char *key)
{
	if (t->any_text)
		return false;
	for (size_t i = 0; i < t->nkeys && i < LOG_THROTTLE_KEYS; i++)
		if (strncmp(t->keys[i], key, sizeof(t->keys[i]) - 1) == 0)
			return false;
	return true;
}

void
log_throttle_begin(struct log_throttle *t, bool told, int64_t now)
{
	if (t->active)
		return;
	t->active = true;
	t->told = told;
	t->since = now;
	t->logged_at = now - REPEAT_FIRST_MS;
	t->interval_ms = 0;
}

static void
warn(struct log_throttle *t, const struct log_field *fields, const char *key,
    const char *text, int64_t now)
{
	bool	news = is_news(t, key);
	int64_t	quiet;

	log_throttle_begin(t, false, now);
	/* A new text does not wait for the interval of the old one. */
	quiet = now - t->logged_at;
	if (t->told && quiet < t->interval_ms &&
	    (quiet < REPEAT_FIRST_MS || !news))
		return;
	if (news) {
		t->interval_ms = 0;
		strlcpy(t->keys[t->nkeys++ % LOG_THROTTLE_KEYS], key,
		    sizeof(t->keys[0]));
	}
	log_event(LOG_LVL_WARN, fields, "%s", text);
	t->told = true;
	t->logged_at = now;
	t->interval_ms = t->interval_ms == 0 ? REPEAT_FIRST_MS :
	    t->interval_ms * 2;
	if (t->interval_ms > REPEAT_MAX_MS)
		t->interval_ms = REPEAT_MAX_MS;
}

void
log_throttle_event(struct log_throttle *t, const struct log_field *fields,
    const char *text, int64_t now)
{
	warn(t, fields, text, text, now);
}

void
log_throttle_keyed(struct log_throttle *t, const char *key, const char *text,
    int64_t now)
{
	warn(t, LOG_FIELDS(LOG_TEXT("error_class", t->error_class)), key, text,
	    now);
}

void
log_throttle_warn(struct log_throttle *t, const char *text, int64_t now)
{
	log_throttle_keyed(t, text, text, now);
}

void
log_throttle_over(struct log_throttle *t, const char *what, int64_t now)
{
	int64_t	ms = now - t->since;

	if (!t->active)
		return;
	log_event(t->told ? LOG_LVL_INFO : LOG_LVL_DEBUG,
	    LOG_FIELDS(LOG_TEXT("error_class", t->error_class),
	    LOG_NUMBER("duration_ms", ms)), "%s: works again after %s", what,
	    duration_words(ms).text);
	t->active = false;
	t->nkeys = 0;
}
