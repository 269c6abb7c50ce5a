/* destinations.c - the destinations of this host as JSON, see state.h */

#include <string.h>

#include "ipc/destinations.h"
#include "ctl/state/state_impl.h"

/* In whole percent; 0 and 100 are none and all. */
static json_t *
failed_percent(const struct figures *f, int64_t now)
{
	uint64_t	taken, failed, percent;

	figures_of_minute(f, now, &taken, &failed);
	if (taken + failed == 0)
		return json_null();
	percent = failed * 100 / (taken + failed);
	if (percent == 0 && failed > 0)
		percent = 1;
	return json_integer((json_int_t)percent);
}

/* What the file says of it now; it may be another one since the last reload. */
static void
put_route(const struct ctl *c, json_t *o, const char *name)
{
	const struct conf_route	*rule = conf_route(c->conf, name);
	bool			 known = rule != NULL ||
				    strcmp(name, FIGURES_REST) == 0;
	char			 to[CONF_DESTINATION];

	json_object_set_new(o, "to", known ? json_string(
	    conf_route_destination(c->conf, rule, to)) : json_null());
}

static json_t *
destination_json(const struct ctl *c, const struct destination *d,
    int64_t now)
{
	const struct figures	*f = &d->sum;
	json_t			*o = json_object();

	json_object_set_new(o, "destination", state_text(f->name,
	    sizeof(f->name)));
	put_route(c, o, f->name);
	json_object_set_new(o, "state",
	    json_string(destination_state_word(d->state)));
	json_object_set_new(o, "since", d->since == 0 ? json_null() :
	    state_since(d->since, now));
	json_object_set_new(o, "for_ms", json_integer(d->since == 0 ? 0 :
	    (json_int_t)(now - d->since)));
	json_object_set_new(o, "why", d->since == 0 ? json_null() :
	    state_text(d->why, sizeof(d->why)));
	json_object_set_new(o, "taken", json_integer((json_int_t)f->taken));
	json_object_set_new(o, "failed", json_integer((json_int_t)f->failed));
	json_object_set_new(o, "per_second", json_null());
	json_object_set_new(o, "failed_percent", failed_percent(f, now));
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

static const json_t *
find(const json_t *list, const char *name)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(list, i, o)
		if (strcmp(member_text(o, "destination"), name) == 0)
			return o;
	return NULL;
}

/* Another daemon counts from 0 again. */
void
state_rate_destinations(json_t *now, const json_t *before, int64_t ms)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(json_object_get(now, "destinations"), i, o) {
		const json_t	*was = find(json_object_get(before,
				    "destinations"), member_text(o,
				    "destination"));
		json_int_t	 n = member_number(o, "taken") -
				    (was == NULL ? 0 : member_number(was,
				    "taken"));

		json_object_set_new(o, "per_second", json_integer(
		    n < 0 ? 0 : n * 1000 / ms));
	}
}
