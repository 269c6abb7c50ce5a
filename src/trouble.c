/* trouble.c - see trouble.h */

#include "trouble.h"

#include <stdio.h>
#include <string.h>
#include <bsd/string.h>

#include "log.h"

#define PACE_FIRST_MS	1000
#define PACE_MAX_MS	60000

void
trouble_met(struct trouble *t, const char *text, int64_t now)
{
	bool	other = strncmp(t->text, text, sizeof(t->text) - 1) != 0;

	if (!t->active) {
		t->active = true;
		t->since = now;
		t->quiet_until = now;
		t->pace_ms = PACE_FIRST_MS;
	} else if (other && t->quiet_until > now + PACE_FIRST_MS) {
		/* News do not wait for the pace of the old text. */
		t->quiet_until = now;
		t->pace_ms = PACE_FIRST_MS;
	}
	if (now < t->quiet_until)
		return;
	strlcpy(t->text, text, sizeof(t->text));
	log_warn("%s", text);
	t->quiet_until = now + t->pace_ms;
	if ((t->pace_ms *= 2) > PACE_MAX_MS)
		t->pace_ms = PACE_MAX_MS;
}

void
trouble_over(struct trouble *t, const char *what, int64_t now)
{
	if (!t->active)
		return;
	log_info("%s: works again after %lld s", what,
	    (long long)(now - t->since) / 1000);
	memset(t, 0, sizeof(*t));
}
