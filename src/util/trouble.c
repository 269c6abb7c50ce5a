/* trouble.c - see trouble.h */

#include "util/trouble.h"

#include <stdio.h>
#include <string.h>
#include <bsd/string.h>

#include "util/log.h"

#define PACE_FIRST_MS	1000
#define PACE_MAX_MS	60000

/* Hosts that fail in turn have a text each: compare with all of the last. */
static bool
is_news(const struct trouble *t, const char *text)
{
	if (t->any_text)
		return false;
	for (size_t i = 0; i < t->ntexts && i < TROUBLE_TEXTS; i++)
		if (strncmp(t->texts[i], text, sizeof(t->texts[i]) - 1) == 0)
			return false;
	return true;
}

static bool
is_due(const struct trouble *t, bool news, int64_t now)
{
	int64_t	quiet = now - t->logged_at;

	/* A new text does not wait for the interval of the old one. */
	return quiet >= t->pace_ms || (quiet >= PACE_FIRST_MS && news);
}

void
trouble_met(struct trouble *t, const char *text, int64_t now)
{
	bool	news = is_news(t, text);

	if (!t->active) {
		t->active = true;
		t->since = now;
		t->pace_ms = 0;
	} else if (!is_due(t, news, now))
		return;
	if (news) {
		t->pace_ms = 0;
		strlcpy(t->texts[t->ntexts++ % TROUBLE_TEXTS], text,
		    sizeof(t->texts[0]));
	}
	log_warn("%s", text);
	t->logged_at = now;
	t->pace_ms = t->pace_ms == 0 ? PACE_FIRST_MS : t->pace_ms * 2;
	if (t->pace_ms > PACE_MAX_MS)
		t->pace_ms = PACE_MAX_MS;
}

void
trouble_over(struct trouble *t, const char *what, int64_t now)
{
	if (!t->active)
		return;
	log_info("%s: works again after %lld s", what,
	    (long long)(now - t->since) / 1000);
	t->active = false;
	t->ntexts = 0;
}
