/* figures.c - see figures.h */

#include "common/figures.h"

#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/printable.h"

/* A try that is so late will not come: nothing waits there any more. */
#define LATE_MS		10000

/* Nothing else is on its way: tries of one message are enough to tell. */
#define QUIET_MS	5000
#define QUIET_TRIES	3

static const char *
name_of(const struct conf_route *rule)
{
	return rule == NULL ? FIGURES_REST : rule->name;
}

static struct figures *
find(struct figures_set *set, const char *name)
{
	for (size_t i = 0; i < FIGURES_MAX; i++)
		if (strcmp(set->list[i].name, name) == 0)
			return &set->list[i];
	return NULL;
}

static void
use(struct figures_set *set, const struct conf_route *rule, size_t rank)
{
	struct figures	*f = find(set, name_of(rule));

	if (f == NULL) {
		/* A free place, or that of a route which is gone. */
		f = find(set, "");
		for (size_t i = 0; f == NULL && i < FIGURES_MAX; i++)
			if (!set->list[i].used)
				f = &set->list[i];
		if (f == NULL)
			return;
		memset(f, 0, sizeof(*f));
	}
	strlcpy(f->name, name_of(rule), sizeof(f->name));
	f->rank = (uint32_t)rank;
	f->failing_since = 0;
	f->tells = false;
	f->used = true;
}

/* Where no route matches, messages may wait or be dead letters instead. */
static bool
has_rest(const struct conf *c)
{
	return c->publish.routes.n == 0 ||
	    c->publish.unmatched == UNMATCHED_DEFAULT;
}

void
figures_begin(struct figures_set *set, const struct conf *c, bool several)
{
	const struct conf_route	*rules = c->publish.routes.items;
	size_t			 n = c->publish.routes.n;

	set->several = several;
	for (size_t i = 0; i < FIGURES_MAX; i++)
		set->list[i].used = false;
	/* First those that are there, so that none loses its place. */
	for (size_t i = 0; i < n; i++)
		if (find(set, rules[i].name) != NULL)
			use(set, &rules[i], i);
	if (has_rest(c))
		use(set, NULL, n);
	for (size_t i = 0; i < n; i++)
		use(set, &rules[i], i);
}

struct figures *
figures_of(struct figures_set *set, const struct conf *c,
    const struct conf_route *rule)
{
	return rule == NULL && !has_rest(c) ? NULL : find(set, name_of(rule));
}

static struct figures_span *
span_at(struct figures *f, int64_t now)
{
	uint32_t		 number = (uint32_t)(now / FIGURES_SPAN_MS);
	struct figures_span	*s = &f->spans[number % FIGURES_SPANS];

	if (s->number != number)
		*s = (struct figures_span){ .number = number };
	return s;
}

void
figures_failed(struct figures *f, const struct figures_failure *why,
    int64_t now)
{
	char	clean[PRINTABLE_SIZE];

	f->failed++;
	span_at(f, now)->failed++;
	printable_text(clean, why->text, strlen(why->text));
	if (strcmp(f->error, clean) != 0)
		strlcpy(f->error, clean, sizeof(f->error));
	f->error_at = time(NULL);
	if (why->own)
		return;
	if (f->failing_since == 0) {
		f->failing_since = now;
		f->again_by = 0;
		f->in_row = 0;
	} else if (f->failed_message != why->sequence)
		f->tells = true;
	f->tells = f->tells || why->sure;
	f->in_row++;
	f->failed_message = why->sequence;
	f->failed_at = now;
	f->again_by = later(f->again_by, now + why->again_ms + LATE_MS);
}

void
figures_took(struct figures *f, uint64_t n, int64_t now)
{
	f->taken += n;
	span_at(f, now)->taken += (uint32_t)n;
	f->taken_at = now;
	f->failing_since = 0;
	f->tells = false;
}

void
figures_add(struct figures *sum, const struct figures *f, int64_t now)
{
	if (sum->name[0] == '\0') {
		memcpy(sum->name, f->name, sizeof(sum->name));
		sum->rank = f->rank;
	}
	sum->taken += f->taken;
	sum->failed += f->failed;
	for (size_t i = 0; i < FIGURES_SPANS; i++) {
		struct figures_span		*to = &sum->spans[i];
		const struct figures_span	*from = &f->spans[i];

		if (to->number < from->number)
			*to = *from;
		else if (to->number == from->number) {
			to->taken += from->taken;
			to->failed += from->failed;
		}
	}
	sum->taken_at = later(sum->taken_at, f->taken_at);
	if (f->failing_since != 0 && f->again_by >= now) {
		sum->tells = sum->tells || f->tells || sum->failing_since != 0;
		sum->in_row += f->in_row;
		sum->failing_since = sum->failing_since == 0 ?
		    f->failing_since :
		    sooner(sum->failing_since, f->failing_since);
		sum->failed_at = later(sum->failed_at, f->failed_at);
		sum->again_by = later(sum->again_by, f->again_by);
	}
	if (f->error_at > sum->error_at) {
		sum->error_at = f->error_at;
		memcpy(sum->error, f->error, sizeof(sum->error));
	}
}

int64_t
figures_fail_since(const struct figures *f, int64_t now)
{
	if (f->failing_since == 0 || f->again_by < now ||
	    f->failed_at <= f->taken_at)
		return 0;
	if (!f->tells && f->taken_at != 0 && (f->in_row < QUIET_TRIES ||
	    now - f->taken_at < QUIET_MS))
		return 0;
	return later(f->failing_since, f->taken_at);
}

void
figures_of_minute(const struct figures *f, int64_t now, uint64_t *taken,
    uint64_t *failed)
{
	*taken = *failed = 0;
	for (size_t i = 0; i < FIGURES_SPANS; i++) {
		if (now / FIGURES_SPAN_MS - f->spans[i].number >= FIGURES_SPANS)
			continue;
		*taken += f->spans[i].taken;
		*failed += f->spans[i].failed;
	}
}
