/* destination.c - why a destination takes no messages now */

#include <string.h>

#include "common/figures.h"
#include "ctl/messages/destination.h"
#include "ctl/state/state.h"

#define DESTINATION_WHY	"its destination, which does not take it now: %s"

static bool
is_same(const json_t *a, const char *member_a, const json_t *b,
    const char *member_b)
{
	const char	*x = member_text(a, member_a);
	const char	*y = member_text(b, member_b);

	return x != NULL && y != NULL && strcmp(x, y) == 0;
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

/* While a lease is live only its owner counts, which may not be here. */
static json_t *
wait_of_worker(const json_t *here, const json_t *o)
{
	bool		 live = member_true(o, "lease_live");
	const char	*state, *why;
	json_t		*w;
	size_t		 i;

	json_array_foreach(json_object_get(here, "workers"), i, w) {
		why = member_text(w, "why");
		if (why == NULL || (live &&
		    !is_same(w, "id", o, "lease_owner")))
			continue;
		state = member_text(w, "state");
		return strcmp(state, "no broker") == 0 ||
		    strcmp(state, "paused") == 0 ?
		    json_sprintf(DESTINATION_WHY, why) :
		    json_sprintf("its worker, which waits for the database: %s",
		    why);
	}
	return NULL;
}

/*
 * Its destination takes nothing, or refuses its type while others are taken;
 * NULL: neither.
 */
static const char *
why_refused(const json_t *here, const json_t *o)
{
	const char	*route = member_text(o, "route");
	json_t		*d, *t;
	size_t		 i;

	if (route == NULL)
		route = FIGURES_REST;
	json_array_foreach(json_object_get(here, "destinations"), i, d)
		if (strcmp(member_text(d, "destination"), route) == 0 &&
		    member_text(d, "why") != NULL)
			return member_text(d, "why");
	json_array_foreach(json_object_get(here, "refused"), i, t)
		if (is_same(t, "type", o, "type"))
			return member_text(t, "why");
	return NULL;
}

json_t *
destination_waits(const struct ctl *c, const json_t *o)
{
	json_t		*here = state_this_host(c);
	json_t		*text = wait_of_row(here, o);
	const char	*why;

	if (text == NULL)
		text = wait_of_worker(here, o);
	if (text == NULL && (why = why_refused(here, o)) != NULL)
		text = json_sprintf(DESTINATION_WHY, why);
	json_decref(here);
	return text;
}
