/* destination.c - why a destination takes no messages now */

#include <string.h>

#include "common/figures.h"
#include "ctl/messages/destination.h"
#include "ctl/state/state.h"

static bool
is_same(const json_t *a, const char *member_a, const json_t *b,
    const char *member_b)
{
	const char	*x = member_text(a, member_a);
	const char	*y = member_text(b, member_b);

	return x != NULL && y != NULL && strcmp(x, y) == 0;
}

static bool
is_held_up(const json_t *worker)
{
	const char	*state = member_text(worker, "state");

	return member_text(worker, "why") != NULL &&
	    (strcmp(state, "no broker") == 0 || strcmp(state, "paused") == 0);
}

/* While a lease is live only its owner counts, which may not be here. */
static const json_t *
find_held_up(const json_t *here, const json_t *o)
{
	bool	 live = json_is_true(json_object_get(o, "lease_live"));
	json_t	*w;
	size_t	 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		if (is_held_up(w) &&
		    (!live || is_same(w, "id", o, "lease_owner")))
			return w;
	return NULL;
}

/* Its destination takes nothing. */
static const json_t *
find_failing(const json_t *here, const json_t *o)
{
	const char	*route = member_text(o, "route");
	json_t		*d;
	size_t		 i;

	if (route == NULL)
		route = FIGURES_REST;
	json_array_foreach(json_object_get(here, "destinations"), i, d)
		if (strcmp(member_text(d, "destination"), route) == 0 &&
		    member_text(d, "why") != NULL)
			return d;
	return NULL;
}

/* Its type is refused while others are taken. */
static const json_t *
find_refused(const json_t *here, const json_t *o)
{
	json_t	*t;
	size_t	 i;

	json_array_foreach(json_object_get(here, "refused"), i, t)
		if (is_same(t, "type", o, "type"))
			return t;
	return NULL;
}

json_t *
destination_waits(const struct ctl *c, const json_t *o)
{
	json_t		*here = state_this_host(c), *text = NULL;
	const json_t	*cause = find_held_up(here, o);

	if (cause == NULL)
		cause = find_failing(here, o);
	if (cause == NULL)
		cause = find_refused(here, o);
	if (cause != NULL)
		text = json_sprintf("its destination, which does not take it "
		    "now: %s", member_text(cause, "why"));
	json_decref(here);
	return text;
}
