/* type_breaker.c - see type_breaker.h */

#include "publish/type_breaker.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/*
 * The delay until the next probe.  A refusal that the broker answers with takes
 * no time of the others, so that such a type is tried often and flows again
 * soon.  A probe without an answer makes its batch wait.
 */
#define FLOOR_MS	1000
#define CEILING_MS	30000
#define ANSWERED_MS	2000

/*
 * A message that is asked for may be gone, or not be claimed yet: then another
 * one is asked for.  After so many in vain the type is forgotten.
 */
#define ASK_MS		1000
#define ASKS		3
#define ASKS_SLOW	120

/* A type that is not blamed is forgotten so long after its last refusal. */
#define FORGET_MS	60000

struct type_breaker_item *
type_breaker_find(const struct type_breaker *k, const struct msg *m)
{
	uint64_t	group;

	/* A row without its event has no type. */
	if (k->n == 0 || m->type.data == NULL)
		return NULL;
	group = msg_group(m);
	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].group == group)
			return (struct type_breaker_item *)&k->items[i];
	return NULL;
}

static struct type_breaker_item *
add_item(struct type_breaker *k, const struct msg *m, const char *route)
{
	struct bytes			 type = m->type;
	struct type_breaker_item	*item;

	if (type.data == NULL || k->n == TYPE_BREAKER_MAX)
		return NULL;
	item = &k->items[k->n++];
	*item = (struct type_breaker_item){ .type = xcalloc(type.len + 1, 1),
	    .len = type.len, .group = msg_group(m), .route = route,
	    .backoff = { .floor_ms = FLOOR_MS, .ceiling_ms = CEILING_MS } };
	memcpy(item->type, type.data, type.len);
	return item;
}

static void
drop_item(struct type_breaker *k, struct type_breaker_item *item)
{
	k->changes++;
	k->released = k->released || item->blamed;
	free(item->type);
	free(item->subject);
	*item = k->items[--k->n];
}

enum type_breaker_say
type_breaker_ask(struct type_breaker *k, const struct msg *m, bool each,
    int64_t now)
{
	struct type_breaker_item	*item = type_breaker_find(k, m);

	if (item == NULL && (!each || (item = add_item(k, m, "")) == NULL))
		return BREAKER_GOES;
	if (item->out)
		return BREAKER_ASIDE;
	if (now < item->until || item->refused_in == k->batch)
		return BREAKER_WAITS;
	item->out = true;
	item->asked = 0;
	return BREAKER_GOES;
}

void
type_breaker_begin(struct type_breaker *k, int64_t now)
{
	k->batch++;
	for (size_t i = k->n; i-- > 0;) {
		struct type_breaker_item *item = &k->items[i];

		item->out = false;
		if (!item->blamed && now - item->refused_at >= FORGET_MS)
			drop_item(k, item);
	}
}

void
type_breaker_took(struct type_breaker *k, const struct msg *m)
{
	struct type_breaker_item	*item = type_breaker_find(k, m);

	if (item != NULL)
		drop_item(k, item);
}

void
type_breaker_says_nothing(struct type_breaker *k, const struct msg *m)
{
	struct type_breaker_item	*item = type_breaker_find(k, m);

	if (item == NULL)
		return;
	item->out = false;
	item->ask_at = item->until;
}

bool
type_breaker_is_blamed(const struct type_breaker *k, const struct msg *m)
{
	const struct type_breaker_item	*item = type_breaker_find(k, m);

	return item != NULL && item->blamed;
}

/*
 * Did the broker answer, so that a probe costs nothing?  If another stream did,
 * that of nats.stream was waited for.
 */
static bool
is_answered(const struct type_breaker_item *item)
{
	return item->class != CLASS_NONE && item->class != CLASS_TIMEOUT &&
	    item->class != CLASS_PERMISSION && item->class != CLASS_LOST &&
	    item->class != CLASS_WRONG_STREAM;
}

void
type_breaker_refused(struct type_breaker *k, const struct type_refusal *f,
    int64_t now)
{
	struct type_breaker_item	*item = type_breaker_find(k, f->m);
	bool				 others;

	if (item == NULL && (item = add_item(k, f->m, f->route)) == NULL)
		return;
	item->out = false;
	item->asked = 0;	/* one came, even if it was not sent */
	item->refused_at = now;
	/* With it, or, in another batch, since its first refusal. */
	others = f->others || (item->since != 0 && f->taken_at > item->since);
	k->changes += item->since == 0 || item->class != f->class ||
	    (others && !item->blamed);
	if (item->since == 0) {
		item->since = now;
		item->subject = xstrdup(f->subject);
	}
	item->route = f->route;
	item->class = f->class;
	err_set(&item->why, "%s", f->why);
	/* others may become true after the first refusal. */
	if (item->refused_in == k->batch && (item->blamed || !others))
		return;
	item->refused_in = k->batch;
	item->blamed = item->blamed || others;
	item->backoff.ceiling_ms = is_answered(item) ? ANSWERED_MS : CEILING_MS;
	item->until = !item->blamed ? now : now +
	    backoff_next(&item->backoff) / later(f->turns, 1);
	item->ask_at = item->until;
}

size_t
type_breaker_list_held(const struct type_breaker *k,
    uint64_t groups[TYPE_BREAKER_MAX])
{
	size_t	n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].blamed)
			groups[n++] = k->items[i].group;
	return n;
}

int64_t
type_breaker_wants_at(const struct type_breaker *k, int64_t from)
{
	int64_t	at = INT64_MAX;

	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].blamed)
			at = sooner(at, later(k->items[i].ask_at, from));
	return at;
}

size_t
type_breaker_wanted(struct type_breaker *k, int64_t from, int64_t now,
    uint64_t groups[TYPE_BREAKER_MAX])
{
	size_t	n = 0;

	for (size_t i = k->n; i-- > 0;) {
		struct type_breaker_item *item = &k->items[i];

		if (!item->blamed || now < later(item->ask_at, from))
			continue;
		if (item->asked++ == (is_answered(item) ? ASKS : ASKS_SLOW)) {
			drop_item(k, item);
			continue;
		}
		item->ask_at = now + ASK_MS;
		groups[n++] = item->group;
	}
	return n;
}

void
type_breaker_free(struct type_breaker *k)
{
	while (k->n > 0)
		drop_item(k, &k->items[k->n - 1]);
}
