/* type_breaker.c - see type_breaker.h */

#include "publish/type_breaker.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define FLOOR_MS	1000
#define CEILING_MS	30000

static struct type_breaker_item *
find_breaker(const struct type_breaker *k, struct bytes type)
{
	/* A row without its event has no type. */
	for (size_t i = 0; i < k->n && type.data != NULL; i++)
		if (k->items[i].len == type.len &&
		    memcmp(k->items[i].type, type.data, type.len) == 0)
			return (struct type_breaker_item *)&k->items[i];
	return NULL;
}

void
type_breaker_begin(struct type_breaker *k)
{
	k->batch++;
	for (size_t i = 0; i < k->n; i++)
		k->items[i].out = false;
}

enum type_breaker_say
type_breaker_ask(struct type_breaker *k, struct bytes type, int64_t now)
{
	struct type_breaker_item	*kind = k->n == 0 ? NULL :
					    find_breaker(k, type);

	if (kind == NULL)
		return BREAKER_GOES;
	if (kind->out)
		return BREAKER_ASIDE;
	if (now < kind->until || kind->refused_in == k->batch)
		return BREAKER_WAITS;
	kind->out = true;
	return BREAKER_TRY;
}

void
type_breaker_took(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*kind = find_breaker(k, type);

	if (kind == NULL)
		return;
	free(kind->type);
	*kind = k->items[--k->n];
}

void
type_breaker_says_nothing(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*kind = find_breaker(k, type);

	if (kind != NULL)
		kind->out = false;
}

bool
type_breaker_is_out(const struct type_breaker *k, struct bytes type)
{
	const struct type_breaker_item	*kind = find_breaker(k, type);

	return kind != NULL && kind->out;
}

bool
type_breaker_is_blamed(const struct type_breaker *k, struct bytes type)
{
	const struct type_breaker_item	*kind = find_breaker(k, type);

	return kind != NULL && kind->blamed;
}

static struct type_breaker_item *
add_breaker(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*kind;

	if (k->n == TYPE_BREAKER_MAX)
		return NULL;
	kind = &k->items[k->n++];
	*kind = (struct type_breaker_item){ .type = xcalloc(type.len + 1, 1),
	    .len = type.len, .backoff = { .floor_ms = FLOOR_MS,
	    .ceiling_ms = CEILING_MS } };
	memcpy(kind->type, type.data, type.len);
	return kind;
}

void
type_breaker_refused(struct type_breaker *k, struct bytes type, bool others,
    int64_t now)
{
	struct type_breaker_item	*kind = find_breaker(k, type);

	if (kind == NULL && (kind = add_breaker(k, type)) == NULL)
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
type_breaker_wait(const struct type_breaker *k, struct bytes type, int64_t now)
{
	const struct type_breaker_item	*kind = find_breaker(k, type);

	return kind == NULL ? 0 : kind->until - now;
}

void
type_breaker_free(struct type_breaker *k)
{
	while (k->n > 0)
		free(k->items[--k->n].type);
}
