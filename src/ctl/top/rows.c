/* rows.c - see rows.h */

#include "ctl/top/rows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "common/ident.h"

/* A copy, to be changed, that has what it was made of. */
static json_t *
row_of(json_t *o)
{
	json_t	*row = json_copy(o);

	json_object_set_new(row, "all", json_pack("[O]", o));
	return row;
}

/* Workers */

static json_t *
find(const json_t *list, const char *id)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(list, i, o)
		if (member_text(o, "id") != NULL &&
		    strcmp(member_text(o, "id"), id) == 0)
			return o;
	return NULL;
}

/* Does a problem call it silent?  status says so, too. */
static bool
is_silent(const json_t *status, const char *id)
{
	json_t		*p;
	const char	*worker;
	size_t		 i;

	json_array_foreach(json_object_get(status, "problems"), i, p) {
		worker = member_text(json_object_get(p, "touches"), "worker");
		if (strcmp(member_text(p, "id"), "silent_worker") == 0 &&
		    worker != NULL && strcmp(worker, id) == 0)
			return true;
	}
	return false;
}

/* Of a worker of another host only its signs of life are known. */
static const char *
state_of(const json_t *worker, const json_t *line, const json_t *status)
{
	const char	*kernel = member_text(line, "kernel_state");

	if (member_true(worker, "gone"))
		return "dead";
	if (!member_true(worker, "live"))
		return "expired";
	if (is_silent(status, member_text(worker, "id")))
		return "silent";
	if (line == NULL)
		return "alive";
	if (kernel != NULL && strcmp(kernel, "T") == 0)
		return "stopped";
	if (json_is_object(json_object_get(line, "paused")))
		return "paused";
	return member_text(line, "state");
}

json_t *
rows_of_workers(const json_t *round, const json_t *before)
{
	const json_t	*status = json_object_get(round, "status");
	const json_t	*host = json_object_get(status, "this_host");
	json_int_t	 ms = member_number(host, "at_ms") -
			    member_number(before, "at_ms");
	json_t		*rows = json_array(), *w;
	size_t		 i;

	json_array_foreach(json_object_get(round, "workers"), i, w) {
		const char	*id = member_text(w, "id");
		json_t		*row, *line, *former;
		json_int_t	 beat;

		if (id == NULL)
			continue;
		row = row_of(w);
		line = find(json_object_get(host, "workers"), id);
		former = find(json_object_get(before, "workers"), id);
		/* It follows from what is left of the lease. */
		beat = member_number(round, "lease_ms") -
		    member_number(w, "ttl_ms");
		json_object_set_new(row, "state", json_string(state_of(w,
		    line, status)));
		json_object_set_new(row, "beat_ms", beat < 0 ? json_null() :
		    json_integer(beat));
		member_set(row, "since_ms",
		    moment_age_ms(member_text(w, "started_at")));
		/* What it delivered in a second; null: it is not known. */
		json_object_set_new(row, "rate", line == NULL ||
		    former == NULL || ms <= 0 ? json_null() :
		    json_integer((member_number(line, "delivered") -
		    member_number(former, "delivered")) * 1000 / ms));
		if (line != NULL) {
			json_object_set(row, "ticks", json_object_get(line,
			    "ticks"));
			json_array_append(json_object_get(row, "all"), line);
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Partitions */

json_t *
rows_short_id(const char *id)
{
	if (id == NULL || !ident_is_valid(id))
		return json_string(id == NULL ? "" : id);
	return json_stringn(id, (size_t)(ident_nonce(id) - id) - 1);
}

json_t *
rows_of_partitions(const json_t *round)
{
	json_t	*rows = json_array(), *p, *row;
	size_t	 i;

	json_array_foreach(json_object_get(round, "partitions"), i, p) {
		const char	*owner = member_text(p, "owner");

		row = row_of(p);
		if (member_text(p, "partition")[0] == '\0')
			json_object_set_new(row, "partition",
			    json_string("(none)"));
		if (strcmp(member_text(p, "state"), "paused") == 0) {
			/* A lease of years that nobody holds. */
			json_object_set_new(row, "owner", json_null());
			json_object_set_new(row, "ttl_ms", json_null());
		} else {
			if (owner != NULL)
				json_object_set_new(row, "owner",
				    rows_short_id(owner));
			/* Of a former count; its rows are still being sent. */
			if (member_true(p, "obsolete"))
				json_object_set_new(row, "state",
				    json_string("draining"));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *
rows_of_destinations(const json_t *this_host)
{
	json_t	*rows = json_array(), *d;
	size_t	 i;

	json_array_foreach(json_object_get(this_host, "destinations"), i, d)
		json_array_append_new(rows, row_of(d));
	return rows;
}
