/*
 * metrics_state.c - the state of database and broker, from the JSON of status
 *
 * A member that was not read is missing, and so is its metric.
 */

#include "monitor/metrics_impl.h"

#include <stdio.h>
#include <string.h>

#include "health/health.h"
#include "monitor/exposition.h"

#define REASONS_MAX	8	/* of blocked keys; the daemon has fewer */

static double
number(const json_t *o, const char *name)
{
	const json_t	*v = json_object_get(o, name);

	return json_is_number(v) ? json_number_value(v) : 0;
}

static const char *
text(const json_t *o, const char *name)
{
	const char	*t = json_string_value(json_object_get(o, name));

	return t == NULL ? "" : t;
}

static bool
has_error(const json_t *o)
{
	return json_is_string(json_object_get(o, "error"));
}

static void
put_peers(struct buf *b, const json_t *state)
{
	const json_t	*broker = json_object_get(state, "broker");

	if (json_object_get(state, "database") != NULL)
		exposition_gauge(b, "outbox_database_reachable",
		    "1 if the tables could be read.",
		    !has_error(json_object_get(state, "database")));
	if (json_is_object(broker))
		exposition_gauge(b, "outbox_broker_reachable",
		    "1 if the destination answered.", !has_error(broker));
}

static void
put_members(struct buf *b, const char *name, const char *help,
    const char *label, const json_t *o, const char *const *members)
{
	if (!json_is_object(o))
		return;
	exposition_head(b, name, "gauge", help);
	for (; *members != NULL; members++)
		if (json_is_number(json_object_get(o, *members)))
			exposition_real(b, name, number(o, *members),
			    LABELS(label, *members));
}

static void
put_backlog(struct buf *b, const json_t *state)
{
	static const char *const	 states[] = { "waiting", "parked",
					    NULL };
	const json_t			*backlog = json_object_get(state,
					    "backlog");
	const json_t			*oldest = json_object_get(state,
					    "oldest");

	put_members(b, "outbox_backlog_messages",
	    "Rows that wait, and those of them that are parked.", "state",
	    backlog, states);
	if (json_is_object(backlog))
		exposition_gauge(b, "outbox_backlog_exact",
		    "1 if the backlog was counted, 0 if it is an estimate.",
		    json_is_true(json_object_get(backlog, "exact")));
	if (oldest != NULL)
		exposition_gauge(b, "outbox_oldest_message_age_seconds",
		    "Age of the oldest row that waits; 0 if none does.",
		    number(oldest, "age_ms") / 1000);
}

static void
put_dead(struct buf *b, const json_t *state)
{
	const json_t	*dead = json_object_get(state, "dead");

	if (!json_is_object(dead))
		return;
	exposition_gauge(b, "outbox_dead_letters", "Dead letters.",
	    number(dead, "count"));
	exposition_gauge(b, "outbox_new_dead_letters",
	    "Dead letters of the last day.", number(dead, "new"));
}

static void
put_blocked(struct buf *b, const json_t *state)
{
	static const char	 name[] = "outbox_blocked_keys";
	const json_t		*list = json_object_get(state, "blocked"), *o;
	size_t			 i;

	if (!json_is_array(list))
		return;
	exposition_head(b, name, "gauge",
	    "Keys whose rows wait behind a message, by reason.");
	json_array_foreach(list, i, o)
		if (i < REASONS_MAX)
			exposition_real(b, name, number(o, "keys"),
			    LABELS("reason", text(o, "reason")));
}

/* Of all streams together: their names are of another program. */
static void
put_streams(struct buf *b, const json_t *state)
{
	const json_t	*list = json_object_get(state, "streams"), *o;
	double		 phantoms = 0, lost = 0, missing = 0;
	size_t		 i;

	if (!json_is_array(list))
		return;
	json_array_foreach(list, i, o) {
		phantoms += number(o, "phantoms");
		lost += number(o, "lost");
		missing += number(o, "missing");
	}
	exposition_gauge(b, "outbox_stream_phantom_messages",
	    "Messages in streams that the database knows nothing of.",
	    phantoms);
	exposition_gauge(b, "outbox_stream_lost_messages",
	    "Delivered messages that streams had lost and could not be sent "
	    "again.", lost);
	exposition_gauge(b, "outbox_stream_missing_messages",
	    "Delivered messages that streams lack, perhaps on purpose.",
	    missing);
}

static bool
is_found(const json_t *problems, const char *id)
{
	const json_t	*p;
	size_t		 i;

	json_array_foreach(problems, i, p)
		if (strcmp(text(p, "id"), id) == 0)
			return true;
	return false;
}

static void
put_problems(struct buf *b, const json_t *state)
{
	static const char		 name[] = "outbox_problem";
	const json_t			*problems = json_object_get(state,
					    "problems");
	size_t				 n;
	const struct health_kind	*kinds = health_kinds(&n);

	exposition_head(b, name, "gauge",
	    "1 for each kind of problem that outboxctl status lists.");
	for (size_t i = 0; i < n; i++)
		if (kinds[i].severity != HEALTH_ADVICE)
			exposition_count(b, name, is_found(problems,
			    kinds[i].id), LABELS("id", kinds[i].id, "severity",
			    health_severity_word(kinds[i].severity)));
}

/* Apart from the problems, so that no alert on these is about it. */
static void
put_advice(struct buf *b, const json_t *state)
{
	static const char		 name[] = "outbox_advice";
	size_t				 n;
	const struct health_kind	*kinds = health_kinds(&n);

	exposition_head(b, name, "gauge",
	    "1 for each kind of advice that outboxctl status lists.");
	for (size_t i = 0; i < n; i++)
		if (kinds[i].severity == HEALTH_ADVICE)
			exposition_count(b, name, is_found(json_object_get(
			    state, "advice"), kinds[i].id),
			    LABELS("id", kinds[i].id));
}

void
metrics_state(struct buf *b, const json_t *state)
{
	static const char *const	fleet[] = { "live", "stale", NULL };
	static const char *const	leases[] = { "owned", "free",
					    "expired", "paused", "missing",
					    "obsolete", "idle", NULL };

	put_peers(b, state);
	put_members(b, "outbox_fleet_workers",
	    "Workers of all hosts, by whether their heartbeat is over.",
	    "state", json_object_get(state, "workers"), fleet);
	put_members(b, "outbox_partitions",
	    "Partitions by state; a paused one may be idle, too.", "state",
	    json_object_get(state, "partitions"), leases);
	put_backlog(b, state);
	put_dead(b, state);
	put_blocked(b, state);
	put_streams(b, state);
	put_problems(b, state);
	put_advice(b, state);
}

static void
put_ages(struct buf *b, const char *name, const json_t *list)
{
	const json_t	*p;
	size_t		 i;

	exposition_head(b, name, "gauge", "Age of the oldest row that waits; "
	    "only while there are few partitions.");
	json_array_foreach(list, i, p)
		exposition_real(b, name, number(p, "oldest_ms") / 1000,
		    LABELS("partition", text(p, "partition")));
}

static void
put_waiting(struct buf *b, const char *name, const json_t *list)
{
	const json_t	*p, *waiting;
	size_t		 i;

	exposition_head(b, name, "gauge", "Rows that wait; only while there "
	    "are few partitions.");
	json_array_foreach(list, i, p) {
		waiting = json_object_get(p, "waiting");
		if (json_is_number(waiting))
			exposition_real(b, name, number(p, "waiting"),
			    LABELS("partition", text(p, "partition")));
	}
}

void
metrics_partitions(struct buf *b, const json_t *list)
{
	if (!json_is_array(list) || json_array_size(list) > METRICS_PARTITIONS)
		return;
	put_ages(b, "outbox_partition_oldest_message_age_seconds", list);
	put_waiting(b, "outbox_partition_backlog_messages", list);
}
