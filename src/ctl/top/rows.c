/* rows.c - see rows.h */

#include "ctl/top/rows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/base/ctl.h"
#include "ctl/base/moment.h"
#include "common/ident.h"

const struct grid_column	rows_worker_columns[] = {
	{ "host", "host", GRID_TEXT, 0, GRID_FLEXIBLE },
	{ "pid", "pid", GRID_PLAIN, 0, 0 },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "beat_ms", "beat", GRID_SPAN, 1, 0 },
	{ "ttl_ms", "ttl", GRID_SPAN, 2, 0 },
	{ "partitions", "parts", GRID_COUNT, 1, 0 },
	{ "rate", "msg/s", GRID_COUNT, 1, 0 },
	{ "ticks", "ticks", GRID_COUNT, 4, 0 },
	{ "since_ms", "up", GRID_SPAN, 3, 0 },
	{ "id", "id", GRID_TEXT, 5, GRID_FLEXIBLE },
	{ .name = NULL }
};

const struct grid_column	rows_partition_columns[] = {
	{ "partition", "label", GRID_TEXT, 0, 0 },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "waiting", "waiting", GRID_COUNT, 0, 0 },
	{ "oldest_ms", "oldest", GRID_SPAN, 1, 0 },
	{ "owner", "owner", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ "epoch", "epoch", GRID_PLAIN, 2, 0 },
	{ "ttl_ms", "ttl", GRID_SPAN, 3, 0 },
	{ .name = NULL }
};

const struct grid_column	rows_error_columns[] = {
	{ "at", "time", GRID_TEXT, 0, 0 },
	{ "process", "process", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ "text", "error", GRID_TEXT, 0, GRID_FLEXIBLE },
	{ .name = NULL }
};

const struct grid_column	rows_destination_columns[] = {
	{ "destination", "destination", GRID_TEXT, 0, 0 },
	{ "to", "to", GRID_TEXT, 4, GRID_FLEXIBLE },
	{ "state", "state", GRID_TEXT, 0, GRID_COLOURED },
	{ "per_second", "msg/s", GRID_COUNT, 0, 0 },
	{ "failed_percent", "failed %", GRID_COUNT, 0, 0 },
	{ "taken", "taken", GRID_COUNT, 3, 0 },
	{ "failed", "failed", GRID_COUNT, 2, 0 },
	{ "last_error", "last error", GRID_TEXT, 1, GRID_FLEXIBLE },
	{ .name = NULL }
};

/* Workers */

static const json_t *
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

	if (json_is_true(json_object_get(worker, "gone")))
		return "dead";
	if (!json_is_true(json_object_get(worker, "live")))
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

/* What it delivered in a second; null if that is not known. */
static json_t *
rate_of(const json_t *line, const json_t *host, const json_t *before)
{
	const json_t	*former = line == NULL ? NULL :
			    find(json_object_get(before, "workers"),
			    member_text(line, "id"));
	json_int_t	 ms = member_number(host, "at_ms") -
			    member_number(before, "at_ms");

	if (former == NULL || ms <= 0)
		return json_null();
	return json_integer((member_number(line, "delivered") -
	    member_number(former, "delivered")) * 1000 / ms);
}

/* The time of the last heartbeat follows from what is left of the lease. */
static json_t *
beat_of(const json_t *worker, const json_t *round)
{
	json_int_t	age = member_number(round, "lease_ms") -
			    member_number(worker, "ttl_ms");

	return age < 0 ? json_null() : json_integer(age);
}

static json_t *
worker_row(const json_t *round, json_t *w, const json_t *before)
{
	const json_t	*status = json_object_get(round, "status");
	const json_t	*host = json_object_get(status, "this_host");
	const char	*id = member_text(w, "id");
	json_t		*line = (json_t *)find(json_object_get(host,
			    "workers"), id);
	json_t		*row = json_object();

	json_object_set(row, "id", json_object_get(w, "id"));
	json_object_set(row, "host", json_object_get(w, "host"));
	json_object_set(row, "pid", json_object_get(w, "pid"));
	json_object_set(row, "ttl_ms", json_object_get(w, "ttl_ms"));
	json_object_set_new(row, "state", json_string(state_of(w, line,
	    status)));
	json_object_set_new(row, "beat_ms", beat_of(w, round));
	json_object_set_new(row, "since_ms", json_integer(moment_age_ms(
	    member_text(w, "started_at"))));
	json_object_set(row, "partitions", json_object_get(w, "partitions"));
	json_object_set_new(row, "rate", rate_of(line, host, before));
	if (line != NULL)
		json_object_set(row, "ticks", json_object_get(line, "ticks"));
	json_object_set_new(row, "all", json_pack("[O]", w));
	if (line != NULL)
		json_array_append(json_object_get(row, "all"), line);
	return row;
}

json_t *
rows_of_workers(const json_t *round, const json_t *before)
{
	json_t	*rows = json_array(), *w;
	size_t	 i;

	json_array_foreach(json_object_get(round, "workers"), i, w)
		if (member_text(w, "id") != NULL)
			json_array_append_new(rows, worker_row(round, w,
			    before));
	return rows;
}

/* Partitions */

/* A label of a former count whose rows are still being sent is draining. */
static const char *
partition_state(const json_t *p)
{
	if (json_is_true(json_object_get(p, "obsolete")) &&
	    strcmp(member_text(p, "state"), "paused") != 0)
		return "draining";
	return member_text(p, "state");
}

json_t *
rows_short_id(const char *id)
{
	if (id == NULL || !ident_is_valid(id))
		return json_string(id == NULL ? "" : id);
	return json_stringn(id, (size_t)(ident_nonce(id) - id) - 1);
}

static void
shorten_owner(json_t *row)
{
	const char	*owner = member_text(row, "owner");

	/* A pause is a lease of years that nobody holds. */
	if (strcmp(member_text(row, "state"), "paused") == 0) {
		json_object_set_new(row, "owner", json_null());
		json_object_set_new(row, "ttl_ms", json_null());
	} else if (owner != NULL) {
		json_object_set_new(row, "owner", rows_short_id(owner));
	}
}

json_t *
rows_of_partitions(const json_t *round)
{
	json_t	*rows = json_array(), *p, *row;
	size_t	 i;

	json_array_foreach(json_object_get(round, "partitions"), i, p) {
		row = json_copy(p);
		if (member_text(p, "partition")[0] == '\0')
			json_object_set_new(row, "partition",
			    json_string("(none)"));
		json_object_set_new(row, "state",
		    json_string(partition_state(p)));
		shorten_owner(row);
		json_object_set_new(row, "all", json_pack("[O]", p));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Destinations */

json_t *
rows_of_destinations(const json_t *this_host)
{
	json_t	*rows = json_array(), *d, *row;
	size_t	 i;

	json_array_foreach(json_object_get(this_host, "destinations"), i, d) {
		row = json_copy(d);
		json_object_set_new(row, "all", json_pack("[O]", d));
		json_array_append_new(rows, row);
	}
	return rows;
}
