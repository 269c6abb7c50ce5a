/* destinations.c - see destinations.h */

#include "ipc/destinations.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"

static struct destination *
find(struct destination *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].sum.name, name) == 0)
			return &list[i];
	return NULL;
}

/* What running workers send to; the first of a slot that is renewed stays. */
static size_t
list_used(const struct scoreboard *s, struct destination *list)
{
	size_t	n = 0;

	for (size_t i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct figures *f = s->figures[i].list;

		if (s->lines[i].state == SCOREBOARD_FREE)
			continue;
		for (size_t k = 0; k < FIGURES_MAX; k++) {
			if (!f[k].used || n == FIGURES_MAX ||
			    find(list, n, f[k].name) != NULL)
				continue;
			list[n] = (struct destination){ 0 };
			memcpy(list[n].sum.name, f[k].name,
			    sizeof(f[k].name));
			list[n++].sum.rank = f[k].rank;
		}
	}
	return n;
}

/* What a process that has ended could not send tells nothing of now. */
static void
add_slot(const struct figures *f, bool runs, struct destination *list,
    size_t n, int64_t now)
{
	for (size_t k = 0; k < FIGURES_MAX; k++) {
		struct destination	*d;
		struct figures		 one;

		if (f[k].name[0] == '\0' ||
		    (d = find(list, n, f[k].name)) == NULL)
			continue;
		one = f[k];
		if (!runs)
			one.failing_since = 0;
		figures_add(&d->sum, &one, now);
	}
}

static void
judge(struct destination *d, const struct scoreboard *s, int64_t now)
{
	d->since = figures_fail_since(&d->sum, now);
	d->state = d->since != 0 ? DESTINATION_FAILS :
	    d->sum.taken + d->sum.failed == 0 ? DESTINATION_UNUSED :
	    DESTINATION_WORKS;
	strlcpy(d->why, d->since != 0 ? d->sum.error : "", sizeof(d->why));
	/* Workers without another destination that wait for this one send
	   nothing, and so nothing fails. */
	for (size_t i = 0; i < CONF_MAX_WORKERS; i++) {
		const struct scoreboard_line *l = &s->lines[i];

		if ((l->state != SCOREBOARD_NO_BROKER &&
		    l->state != SCOREBOARD_PAUSED) ||
		    s->figures[i].several || l->state_since <= d->sum.taken_at)
			continue;
		d->since = d->state != DESTINATION_HELD ? l->state_since :
		    sooner(d->since, l->state_since);
		d->state = DESTINATION_HELD;
		memcpy(d->why, l->last_error, sizeof(d->why));
		d->why[sizeof(d->why) - 1] = '\0';
	}
}

static int
rank_cmp(const void *a, const void *b)
{
	uint32_t	x = ((const struct destination *)a)->sum.rank;
	uint32_t	y = ((const struct destination *)b)->sum.rank;

	return x < y ? -1 : x > y;
}

size_t
destinations_read(const struct scoreboard *s, int64_t now,
    struct destination to[FIGURES_MAX])
{
	size_t	n = list_used(s, to);

	/* A slot that was never in use is not read: it is a hole of the file. */
	for (size_t i = 0; i < CONF_MAX_WORKERS; i++)
		if (s->lines[i].started_at != 0)
			add_slot(s->figures[i].list, s->lines[i].state !=
			    SCOREBOARD_FREE, to, n, now);
	for (size_t i = 0; i < n; i++)
		judge(&to[i], s, now);
	qsort(to, n, sizeof(*to), rank_cmp);
	return n;
}

const char *
destination_state_word(enum destination_state state)
{
	static const char *const	words[] = {
		[DESTINATION_UNUSED] = "unused", [DESTINATION_WORKS] = "works",
		[DESTINATION_FAILS] = "fails", [DESTINATION_HELD] = "held up"
	};

	return words[state];
}
