/* under_way.c - a change of the partition count, and how far it is */

#include <stdio.h>

#include "state.h"
#include "xalloc.h"

json_t *
state_change(struct ctl *c, struct err *e)
{
	struct counts	k;
	size_t		left;

	if (store_read_counts(c->store, &k, e) < 0 ||
	    store_change_left(c->store, STATE_EXACT + 1, &left, e) < 0)
		return NULL;
	if (k.boundary == 0 && k.wanted == 0)
		return json_null();
	return json_pack("{s:i, s:i, s:i, s:I, s:I, s:b}",
	    "count", (int)k.count, "former", (int)k.former,
	    "wanted", (int)k.wanted, "boundary", (json_int_t)k.boundary,
	    "left", (json_int_t)(left > STATE_EXACT ? STATE_EXACT : left),
	    "exact", left <= STATE_EXACT);
}

static json_int_t
number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

char *
state_change_text(const json_t *o)
{
	char	next[64] = "";

	if (!json_is_object(o))
		return NULL;
	if (number(o, "wanted") != 0)
		snprintf(next, sizeof(next), "; wanted next: %lld",
		    (long long)number(o, "wanted"));
	if (number(o, "boundary") == 0)
		return xasprintf("waits to begin, from %lld to %lld",
		    (long long)number(o, "count"),
		    (long long)number(o, "wanted"));
	return xasprintf("from %lld to %lld is under way: %lld%s row(s) go "
	    "first%s", (long long)number(o, "former"),
	    (long long)number(o, "count"), (long long)number(o, "left"),
	    json_is_true(json_object_get(o, "exact")) ? "" : "+", next);
}
