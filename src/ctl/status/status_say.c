/* status_say.c - print the status object as text */

#include "ctl/status/status.h"

#include <stdio.h>

#include "ctl/state/state.h"

static void
say_workers(const json_t *status, json_t *out)
{
	const json_t	*f = json_object_get(status, "workers");
	const json_t	*p = json_object_get(status, "partitions");

	json_object_set_new(out, "workers", json_sprintf("%lld alive, "
	    "%lld stale, on %lld host(s)", member_number(f, "live"),
	    member_number(f, "stale"), member_number(f, "hosts")));
	json_object_set_new(out, "partitions", json_sprintf("%lld of %lld: "
	    "%lld owned, %lld free, %lld expired, %lld paused, %lld idle, "
	    "%lld missing, %lld obsolete", member_number(p, "total"),
	    member_number(p, "count"), member_number(p, "owned"),
	    member_number(p, "free"), member_number(p, "expired"),
	    member_number(p, "paused"), member_number(p, "idle"),
	    member_number(p, "missing"), member_number(p, "obsolete")));
}

static json_t *
say_oldest(const json_t *o)
{
	json_t	*age, *out;

	if (!json_is_object(o))
		return json_string("none");
	age = span_json(member_number(o, "age_ms"));
	out = json_sprintf("sequence %lld in \"%s\", %s old",
	    member_number(o, "sequence"),
	    member_text(o, "partition"), json_string_value(age));
	json_decref(age);
	return out;
}

static void
say_rows(const json_t *status, json_t *out)
{
	const json_t	*b = json_object_get(status, "backlog");
	const json_t	*d = json_object_get(status, "dead");

	json_object_set_new(out, "waiting", !json_is_object(b) ?
	    json_string("not counted: no index begins with published_at") :
	    json_sprintf("%s%lld rows, %lld parked",
	    json_is_true(json_object_get(b, "exact")) ? "" : "about ",
	    member_number(b, "waiting"), member_number(b, "parked")));
	json_object_set_new(out, "oldest",
	    say_oldest(json_object_get(status, "oldest")));
	json_object_set_new(out, "dead", !json_is_object(d) ?
	    json_string("no such table") : json_sprintf("%lld%s, %lld new",
	    member_number(d, "count"),
	    json_is_true(json_object_get(d, "exact")) ? "" : "+",
	    member_number(d, "new")));
}

/* Print a line per reason of blocked keys, and a line per stream. */
static void
say_lists(const json_t *status)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(json_object_get(status, "blocked"), i, o)
		printf("blocked     %lld key(s) %s, since %s\n",
		    member_number(o, "keys"),
		    member_text(o, "reason"), member_text(o, "since"));
	json_array_foreach(json_object_get(status, "streams"), i, o)
		printf("stream      %s, checked %s\n", member_text(o, "name"),
		    member_text(o, "checked_at") == NULL ? "never" :
		    member_text(o, "checked_at"));
}

static void
say_this_host(const struct ctl *c, const json_t *this_host)
{
	static const char *const	 shown[] = { "pid", "state", "owned",
	    "desired", "lanes_waiting", "delivered", "failed", "dead", "why",
	    NULL };

	if (!json_is_object(this_host)) {
		puts("daemon      does not run on this host");
		return;
	}
	printf("daemon      pid %lld, generation %lld, %lld messages/s\n\n",
	    member_number(this_host, "pid"),
	    member_number(this_host, "generation"),
	    member_number(this_host, "per_second"));
	print_rows(c, shown, json_incref(json_object_get(this_host,
	    "workers")));
}

void
status_say(const struct ctl *c, json_t *status)
{
	json_t	*out = json_object(), *p;
	size_t	 i;

	if (c->args.json) {
		json_decref(out);
		print_object(c, json_incref(status));
		return;
	}
	if (json_is_null(json_object_get(status, "database"))) {
		say_workers(status, out);
		say_rows(status, out);
		status_say_counts(status, out);
		print_object(c, json_incref(out));
		say_lists(status);
	}
	json_decref(out);
	say_this_host(c, json_object_get(status, "this_host"));
	json_array_foreach(json_object_get(status, "problems"), i, p)
		printf("%s! %s\n", i == 0 ? "\n" : "", 
		    member_text(p, "text"));
}
