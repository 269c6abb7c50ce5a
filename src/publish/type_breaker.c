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
	struct type_breaker_item	*item = k->n == 0 ? NULL :
					    find_breaker(k, type);

	if (item == NULL)
		return BREAKER_GOES;
	if (item->out)
		return BREAKER_ASIDE;
	if (now < item->until || item->refused_in == k->batch)
		return BREAKER_WAITS;
	item->out = true;
	return BREAKER_TRY;
}

void
type_breaker_took(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*item = find_breaker(k, type);

	if (item == NULL)
		return;
	free(item->type);
	*item = k->items[--k->n];
}

void
type_breaker_says_nothing(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*item = find_breaker(k, type);

	if (item != NULL)
		item->out = false;
}

bool
type_breaker_is_out(const struct type_breaker *k, struct bytes type)
{
	const struct type_breaker_item	*item = find_breaker(k, type);

	return item != NULL && item->out;
}

bool
type_breaker_is_blamed(const struct type_breaker *k, struct bytes type)
{
	const struct type_breaker_item	*item = find_breaker(k, type);

	return item != NULL && item->blamed;
}

static struct type_breaker_item *
add_breaker(struct type_breaker *k, struct bytes type)
{
	struct type_breaker_item	*item;

	if (k->n == TYPE_BREAKER_MAX)
		return NULL;
	item = &k->items[k->n++];
	*item = (struct type_breaker_item){ .type = xcalloc(type.len + 1, 1),
	    .len = type.len, .backoff = { .floor_ms = FLOOR_MS,
	    .ceiling_ms = CEILING_MS } };
	memcpy(item->type, type.data, type.len);
	return item;
}

void
type_breaker_refused(struct type_breaker *k, struct bytes type, bool others,
    int64_t now)
{
	struct type_breaker_item	*item = find_breaker(k, type);

	if (item == NULL && (item = add_breaker(k, type)) == NULL)
		return;
	item->out = false;
	/* others may become true after the first refusal. */
	if (item->refused_in == k->batch && (item->blamed || !others))
		return;
	item->refused_in = k->batch;
	item->blamed = item->blamed || others;
	item->until = item->blamed ? now + backoff_next(&item->backoff) : now;
}

int64_t
type_breaker_wait(const struct type_breaker *k, struct bytes type, int64_t now)
{
	const struct type_breaker_item	*item = find_breaker(k, type);

	return item == NULL ? 0 : item->until - now;
}

void
type_breaker_free(struct type_breaker *k)
{
	while (k->n > 0)
		free(k->items[--k->n].type);
}
