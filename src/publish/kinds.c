/* kinds.c - see kinds.h */

#include "publish/kinds.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define FLOOR_MS	1000
#define CEILING_MS	30000

static struct kinds_item *
find(const struct kinds *k, struct bytes type)
{
	/* A row without its event has no type. */
	for (size_t i = 0; i < k->n && type.data != NULL; i++)
		if (k->items[i].len == type.len &&
		    memcmp(k->items[i].type, type.data, type.len) == 0)
			return (struct kinds_item *)&k->items[i];
	return NULL;
}

void
kinds_begin(struct kinds *k)
{
	k->batch++;
	for (size_t i = 0; i < k->n; i++)
		k->items[i].out = false;
}

enum kinds_say
kinds_ask(struct kinds *k, struct bytes type, int64_t now)
{
	struct kinds_item	*kind = k->n == 0 ? NULL : find(k, type);

	if (kind == NULL)
		return KIND_GOES;
	if (kind->out)
		return KIND_ASIDE;
	if (now < kind->until || kind->refused_in == k->batch)
		return KIND_WAITS;
	kind->out = true;
	return KIND_TRY;
}

void
kinds_took(struct kinds *k, struct bytes type)
{
	struct kinds_item	*kind = find(k, type);

	if (kind == NULL)
		return;
	free(kind->type);
	*kind = k->items[--k->n];
}

void
kinds_says_nothing(struct kinds *k, struct bytes type)
{
	struct kinds_item	*kind = find(k, type);

	if (kind != NULL)
		kind->out = false;
}

bool
kinds_is_out(const struct kinds *k, struct bytes type)
{
	const struct kinds_item	*kind = find(k, type);

	return kind != NULL && kind->out;
}

bool
kinds_is_blamed(const struct kinds *k, struct bytes type)
{
	const struct kinds_item	*kind = find(k, type);

	return kind != NULL && kind->blamed;
}

static struct kinds_item *
add(struct kinds *k, struct bytes type)
{
	struct kinds_item	*kind;

	if (k->n == KINDS_MAX)
		return NULL;
	kind = &k->items[k->n++];
	*kind = (struct kinds_item){ .type = xcalloc(type.len + 1, 1),
	    .len = type.len, .backoff = { .floor_ms = FLOOR_MS,
	    .ceiling_ms = CEILING_MS } };
	memcpy(kind->type, type.data, type.len);
	return kind;
}

void
kinds_refused(struct kinds *k, struct bytes type, bool others, int64_t now)
{
	struct kinds_item	*kind = find(k, type);

	if (kind == NULL && (kind = add(k, type)) == NULL)
		return;
	kind->out = false;
	/* others may become true after the first refusal. */
	if (kind->refused_in == k->batch && (kind->blamed || !others))
		return;
	kind->refused_in = k->batch;
	kind->blamed = kind->blamed || others;
	kind->until = kind->blamed ? now + backoff_next(&kind->backoff) : now;
}

int64_t
kinds_wait(const struct kinds *k, struct bytes type, int64_t now)
{
	const struct kinds_item	*kind = find(k, type);

	return kind == NULL ? 0 : kind->until - now;
}

void
kinds_free(struct kinds *k)
{
	while (k->n > 0)
		free(k->items[--k->n].type);
}
