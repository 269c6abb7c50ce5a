/* destinations.c - the destinations of this host as JSON, see state.h */

#include <string.h>

#include "ipc/destinations.h"
#include "ctl/state/state_impl.h"

static json_t *
destination_json(const struct ctl *c, const struct destination *d,
    int64_t now)
{
	const struct figures	*f = &d->sum;
	const struct conf_route	*route = conf_route(c->conf, f->name);
	json_t			*o = json_object(), *percent = json_null();
	uint64_t		 taken, failed;
	char			 to[CONF_DESTINATION];

	json_object_set_new(o, "destination", state_text(f->name,
	    sizeof(f->name)));
	/* As the file has it now; it may be another since the last reload. */
	json_object_set_new(o, "to", route != NULL ||
	    strcmp(f->name, FIGURES_REST) == 0 ?
	    json_string(conf_route_destination(c->conf, route, to)) :
	    json_null());
	json_object_set_new(o, "state",
	    json_string(destination_state_word(d->state)));
	json_object_set_new(o, "since", d->since == 0 ? json_null() :
	    state_since(d->since, now));
	member_set(o, "for_ms", d->since == 0 ? 0 : (json_int_t)(now -
	    d->since));
	json_object_set_new(o, "why", d->since == 0 ? json_null() :
	    state_text(d->why, sizeof(d->why)));
	member_set(o, "taken", (json_int_t)f->taken);
	member_set(o, "failed", (json_int_t)f->failed);
	json_object_set_new(o, "per_second", json_null());
	/* In whole percent; 0 and 100 are none and all. */
	figures_of_minute(f, now, &taken, &failed);
	if (failed > 0 && failed * 100 < taken + failed)
		percent = json_integer(1);
	else if (taken + failed > 0)
		percent = json_integer((json_int_t)(failed * 100 /
		    (taken + failed)));
	json_object_set_new(o, "failed_percent", percent);
	json_object_set_new(o, "last_error", f->error_at == 0 ? json_null() :
	    state_text(f->error, sizeof(f->error)));
	json_object_set_new(o, "last_error_at", state_moment(f->error_at));
	return o;
}

json_t *
state_destinations(const struct ctl *c, const struct scoreboard *b,
    int64_t now)
{
	static struct destination	list[FIGURES_MAX];
	size_t				n = destinations_read(b, now, list);
	json_t				*all = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(all, destination_json(c, &list[i], now));
	return all;
}

/* Another daemon counts from 0 again. */
void
state_rate_destinations(json_t *now, const json_t *before, int64_t ms)
{
	const json_t	*former = json_object_get(before, "destinations");
	json_t		*o;
	size_t		 i;

	json_array_foreach(json_object_get(now, "destinations"), i, o) {
		json_int_t	n = member_number(o, "taken") -
				    member_number(state_find(former,
				    "destination", member_text(o,
				    "destination")), "taken");

		member_set(o, "per_second", n < 0 ? 0 : n * 1000 / ms);
	}
}
