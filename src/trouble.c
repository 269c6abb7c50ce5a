/* trouble.c - see trouble.h */

#include "trouble.h"

#include <stdio.h>
#include <string.h>
#include <bsd/string.h>

#include "log.h"

#define PACE_FIRST_MS	1000
#define PACE_MAX_MS	60000

static bool
is_due(const struct trouble *t, const char *text, int64_t now)
{
	int64_t	quiet = now - t->logged_at;

	if (quiet >= t->pace_ms)
		return true;
	/* News do not wait for the pace of the old text. */
	return quiet >= PACE_FIRST_MS && !t->any_text &&
	    strncmp(t->text, text, sizeof(t->text) - 1) != 0;
}

void
trouble_met(struct trouble *t, const char *text, int64_t now)
{
	if (!t->active) {
		t->active = true;
		t->since = now;
		t->pace_ms = 0;
	} else if (!is_due(t, text, now))
		return;
	if (!t->any_text &&
	    strncmp(t->text, text, sizeof(t->text) - 1) != 0)
		t->pace_ms = 0;
	strlcpy(t->text, text, sizeof(t->text));
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
	t->text[0] = '\0';
}
