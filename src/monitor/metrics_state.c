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
put_reachable(struct buf *b, const json_t *state)
{
	const json_t	*database = json_object_get(state, "database");
	const json_t	*broker = json_object_get(state, "broker");

	if (database != NULL)
		exposition_gauge(b, "outbox_database_reachable",
		    "1 if the tables could be read.", !has_error(database));
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
put_fleet(struct buf *b, const json_t *state)
{
	static const char *const	workers[] = { "live", "stale", NULL };
	static const char *const	leases[] = { "owned", "free",
					    "expired", "paused", "missing",
					    "obsolete", "idle", NULL };

	put_members(b, "outbox_fleet_workers",
	    "Workers of all hosts, by whether their heartbeat is over.",
	    "state", json_object_get(state, "workers"), workers);
	put_members(b, "outbox_partitions",
	    "Partitions by state; a paused one may be idle, too.", "state",
	    json_object_get(state, "partitions"), leases);
}

static void
put_backlog(struct buf *b, const json_t *state)
{
	static const char *const	 rows[] = { "waiting", "parked", NULL };
	const json_t	*backlog = json_object_get(state, "backlog");
	const json_t	*oldest = json_object_get(state, "oldest");

	put_members(b, "outbox_backlog_messages",
	    "Rows that wait, and those of them that are parked.", "state",
	    backlog, rows);
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

/* A series for each kind of problem, or of advice: is it in the list? */
static void
put_kinds(struct buf *b, const char *name, const char *help,
    const json_t *list, bool advice)
{
	size_t				 n;
	const struct health_kind	*kinds = health_kinds(&n);

	exposition_head(b, name, "gauge", help);
	for (size_t i = 0; i < n; i++) {
		const struct health_kind	*k = &kinds[i];

		if ((k->severity == HEALTH_ADVICE) != advice)
			continue;
		exposition_count(b, name, is_found(list, k->id), advice ?
		    LABELS("id", k->id) : LABELS("id", k->id, "severity",
		    health_severity_word(k->severity)));
	}
}

/* Advice is a metric of its own, so that no alert on problems is about it. */
static void
put_problems(struct buf *b, const json_t *state)
{
	put_kinds(b, "outbox_problem", "1 for each kind of problem that "
	    "outboxctl status lists.", json_object_get(state, "problems"),
	    false);
	put_kinds(b, "outbox_advice", "1 for each kind of advice that "
	    "outboxctl status lists.", json_object_get(state, "advice"), true);
}

void
metrics_state(struct buf *b, const json_t *state)
{
	put_reachable(b, state);
	put_fleet(b, state);
	put_backlog(b, state);
	put_dead(b, state);
	put_blocked(b, state);
	put_streams(b, state);
	put_problems(b, state);
}

void
metrics_partitions(struct buf *b, const json_t *list)
{
	static const char	 oldest[] =
			    "outbox_partition_oldest_message_age_seconds";
	static const char	 backlog[] =
			    "outbox_partition_backlog_messages";
	const json_t		*p;
	size_t			 i;

	if (!json_is_array(list) || json_array_size(list) > METRICS_PARTITIONS)
		return;
	exposition_head(b, oldest, "gauge", "Age of the oldest row that waits; "
	    "only while there are few partitions.");
	json_array_foreach(list, i, p)
		exposition_real(b, oldest, number(p, "oldest_ms") / 1000,
		    LABELS("partition", text(p, "partition")));
	exposition_head(b, backlog, "gauge", "Rows that wait; only while there "
	    "are few partitions.");
	json_array_foreach(list, i, p)
		if (json_is_number(json_object_get(p, "waiting")))
			exposition_real(b, backlog, number(p, "waiting"),
			    LABELS("partition", text(p, "partition")));
}
