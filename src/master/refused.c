/* refused.c - see refused.h */

#include "master/refused.h"

#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

#include "util/log.h"

/* A reload replaces a worker: its successor has to meet the type first. */
#define GONE_MS		5000

static void
say_refused(const struct refused_type *t, const struct scoreboard_refused *on)
{
	if (strcmp(on->class, "no_stream") == 0)
		log_warn("no stream takes subject \"%s\" (type %s): add it to "
		    "a stream's subjects; its messages wait, others are sent",
		    t->subject, t->type);
	else if (strncmp(t->type, "route ", 6) == 0)	/* see route.h */
		log_warn("messages of %s (%s) are refused, and wait while "
		    "others are sent: %s", t->type, t->subject, on->why);
	else
		log_warn("messages of type %s (subject \"%s\") are refused, "
		    "and wait while others are sent: %s", t->type, t->subject,
		    on->why);
}

static void
look_at(struct refused *r, const struct scoreboard_refused *on, int64_t now)
{
	struct refused_type	*t = NULL;

	for (size_t i = 0; i < r->n && t == NULL; i++)
		if (strcmp(r->types[i].type, on->type) == 0)
			t = &r->types[i];
	if (t == NULL && r->n < REFUSED_TYPES) {
		t = &r->types[r->n++];
		t->since = on->since;
		strlcpy(t->type, on->type, sizeof(t->type));
		strlcpy(t->subject, on->subject, sizeof(t->subject));
		say_refused(t, on);
	}
	if (t != NULL)
		t->seen_at = now;
}

void
refused_look(struct refused *r, const struct scoreboard *b, int64_t now)
{
	struct scoreboard_refused	types[SCOREBOARD_REFUSED_TYPES];
	size_t				n;

	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		if (b->lines[i].state == SCOREBOARD_FREE)
			continue;
		n = scoreboard_refused_read(&b->lines[i], types);
		for (size_t k = 0; k < n; k++)
			look_at(r, &types[k], now);
	}
	for (size_t i = r->n; i-- > 0;) {
		struct refused_type *t = &r->types[i];

		if (now - t->seen_at < GONE_MS)
			continue;
		log_info("subject \"%s\" (type %s) is no longer refused, "
		    "after %lld s", t->subject, t->type,
		    (long long)(t->seen_at - t->since) / 1000);
		*t = r->types[--r->n];
	}
}
