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

/* While a lease is live only its owner counts, which may not be here. */
static const json_t *
find_held_up(const json_t *here, const json_t *o)
{
	bool	 live = json_is_true(json_object_get(o, "lease_live"));
	json_t	*w;
	size_t	 i;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		if (member_text(w, "why") != NULL &&
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

static json_t *
wait_of_worker(const json_t *w)
{
	const char	*state = member_text(w, "state");

	if (strcmp(state, "no broker") == 0 || strcmp(state, "paused") == 0)
		return json_sprintf("its destination, which does not take it "
		    "now: %s", member_text(w, "why"));
	return json_sprintf("its worker, which waits for the database: %s",
	    member_text(w, "why"));
}

/* No worker can write the row; NULL: they can, or have not tried. */
static json_t *
wait_of_row(const json_t *here, const json_t *o)
{
	json_t	*w, *row;
	size_t	 i, k;

	json_array_foreach(json_object_get(here, "workers"), i, w)
		json_array_foreach(json_object_get(w, "rows"), k, row)
			if (member_number(row, "sequence") ==
			    member_number(o, "sequence"))
				return json_sprintf("the database: it %s",
				    member_text(row, "why"));
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
	json_t		*here = state_this_host(c);
	json_t		*text = wait_of_row(here, o);
	const json_t	*cause;

	if (text == NULL && (cause = find_held_up(here, o)) != NULL)
		text = wait_of_worker(cause);
	if (text == NULL && ((cause = find_failing(here, o)) != NULL ||
	    (cause = find_refused(here, o)) != NULL))
		text = json_sprintf("its destination, which does not take it "
		    "now: %s", member_text(cause, "why"));
	json_decref(here);
	return text;
}
