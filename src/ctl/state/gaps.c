/*
 * gaps.c - newest events without a row in an outbox that is alone
 *
 * Such a row was deleted by hand, or never made.  It is critical only if it is
 * proved that the message was never sent: by a row that was delivered before
 * the event occurred and is kept, since whoever deletes delivered rows deletes
 * the oldest; by a stream that has all that it ever had, and not this message;
 * or by its newest messages, if the event is later than one and in none.
 */

#include "ctl/state/state_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "store/reconcile.h"
#include "store/store_sql.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define GAPS_GLANCE	200	/* events; as a rule none of them lacks a row */
#define GAPS_EVENTS	1000	/* if one does; and messages of the stream */
#define GAPS_ASK_MS	3000	/* for these messages */
#define GAPS_CLOCK_S	3	/* between the clocks of broker and database,
				   and the part of a second that is not told */
#define GAPS_TURNS	16	/* of a type, from events with a row to some
				   without, or back: more are on purpose */

struct gaps {
	struct ctl	*c;
	bool		 choose;	/* types may be left without rows */
	uint64_t	 missing[GAPS_EVENTS];
	size_t		 nmissing;

	uint64_t	 stored[GAPS_EVENTS];	/* the events of messages */
	size_t		 nstored;
	bool		 whole;		/* of all that ever were */
	char		 created[27];	/* when the stream was, microseconds */
	int64_t		 since;		/* all stored since then are in stored:
					   broker's clock, ms; 0: not known */
};

/*
 * Collect those without a row, type by type.  The newest come first: no more
 * is read than max.
 */
static int
search(struct gaps *g, const struct watermark *w, int max, struct err *e)
{
	struct store	*s = g->c->store;
	bool		 sorted = max > GAPS_GLANCE;	/* by type */
	struct db_rows	*rows;
	const char	*type = "";
	size_t		 start = 0, turns = 0;
	bool		 was = false;

	g->nmissing = 0;
	store_sql(s, ":from" "SELECT {e.sequence} AS n, "
	    "{e.event_type} AS type, :missing:types AS missing "
	    "FROM {events} AS e {events_primary}:joins "
	    "WHERE {e.sequence} > :watermark ORDER BY {e.sequence} DESC "
	    "LIMIT :max:sorted",
	    SQL_IF("from", sorted, "SELECT * FROM ("),
	    SQL_PUT("missing", s, reconcile_put_missing(s)),
	    SQL_PUT("types", s, reconcile_put_types(s,
	    &g->c->conf->publish.types)),
	    SQL_PUT("joins", s, reconcile_put_joins(s)),
	    SQL_NUMBER("watermark", w->at), SQL_NUMBER("max", max),
	    SQL_IF("sorted", sorted, ") AS t ORDER BY type, n"));
	if ((rows = store_query(s, "gaps", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		bool	missing = db_u64(rows, 2) != 0;

		if (strcmp(type, db_text(rows, 1)) != 0) {
			type = db_text(rows, 1);
			start = g->nmissing;
			turns = 0;
		} else
			turns += missing != was;
		was = missing;
		if (missing)
			g->missing[g->nmissing++] = db_u64(rows, 0);
		if (g->choose && turns > GAPS_TURNS)
			g->nmissing = start;
	}
	db_rows_free(rows);
	return 0;
}

static bool
has_time(void *end)
{
	return clock_ms() < *(int64_t *)end;
}

/* Read the ids of the newest messages; what is not told is not known. */
static void
read_stored(struct gaps *g, const struct pub *bus,
    const struct stream_state *st)
{
	struct stored_message	*list;
	uint64_t		 n = st->last - st->first + 1, i;
	int64_t			 end = clock_ms() + GAPS_ASK_MS;
	struct pub_go_on	 go_on = { has_time, &end };
	char			 id[STORE_PREFIX] = "";
	struct err		 e;

	store_sql(g->c->store, "SELECT outbox_id FROM {settings} WHERE id = 1");
	if (store_query_text(g->c->store, "gaps", id, sizeof(id), &e) < 0)
		return;
	n = n > GAPS_EVENTS ? GAPS_EVENTS : n;
	list = xcalloc(n, sizeof(*list));
	for (i = 0; i < n; i++)
		list[i].sequence = st->last - i;
	/* Those that were told before it failed, or took too long, count. */
	(void)bus->ops->get_stored(bus->arg, conf_id_prefix(g->c->conf, id),
	    list, n, &go_on, &e);
	for (i = 0; i < n && list[i].what != STORED_UNKNOWN; i++)
		if (list[i].what == STORED_OURS)
			g->stored[g->nstored++] = list[i].id.sequence;
	g->whole = i == st->last && st->messages == st->last && !st->forgets;
	/*
	 * When was the oldest of the newest messages stored, between which none
	 * is removed?  A stream that forgets may have removed the one before
	 * the newest.
	 */
	n = i;
	for (i = 0; i < n && list[i].what != STORED_EMPTY &&
	    list[i].at > 0 && (i == 0 || !st->forgets); i++)
		g->since = list[i].at;
	free(list);
}

/* With routes a message may be elsewhere. */
static void
ask_stream(struct gaps *g, const struct pub *bus)
{
	struct stream_state	st = { 0 };
	struct err		e;

	if (bus->ops == NULL || !bus->ops->can_ask || !pub_is_open(bus) ||
	    g->c->conf->publish.routes.n > 0 ||
	    conf_stream(g->c->conf)[0] == '\0' ||
	    !bus->ops->state(bus->arg, &st, &e) || st.answer != STREAM_THERE)
		return;
	snprintf(g->created, sizeof(g->created), "%.*s",
	    (int)strcspn(st.created, "Z"), st.created);
	g->whole = st.last == 0 && !st.forgets;
	g->since = st.messages == 0 ? st.last_at : 0;
	if (st.messages > 0)
		read_stored(g, bus, &st);
}

/*
 * Was an event never sent?  It is in none of the newest messages, and one of
 * these proves it: a row that was delivered before it occurred; the stream, if
 * that has all of its messages, and the event is not from before it, when it
 * may have been sent to another; or the newest messages, which were stored
 * after their own events occurred, if it is later than the oldest of them.
 */
static void
put_unsent(const struct gaps *g)
{
	struct store	*s = g->c->store;

	store_put(s, "{e.sequence} NOT IN (0:stored) "
	    "AND (COALESCE({e.occurred_at} > (SELECT {published_at} "
	    "FROM {outbox} :oldest LIMIT 1), FALSE):whole:since)",
	    SQL_LIST("stored", g->stored, g->nstored),
	    SQL_EITHER("oldest", store_index(s) == INDEX_BY_TIME,
	    "WHERE {published_at} IS NOT NULL ORDER BY {published_at}",
	    "ORDER BY {global_sequence}"),
	    SQL_IF("whole", g->whole, " OR {e.occurred_at} > :created"),
	    SQL_TEXT("created", g->created),
	    SQL_IF("since", g->since > 0,
	    " OR {e.occurred_at} > FROM_UNIXTIME(:seconds)"),
	    SQL_NUMBER("seconds", g->since / 1000 + GAPS_CLOCK_S));
}

/* The types of the newest rows, dead letters and messages. */
static void
put_used_types(const struct gaps *g)
{
	struct store	*s = g->c->store;

	store_put(s, "(SELECT DISTINCT {e.event_type} AS type "
	    "FROM ((SELECT {global_sequence} AS n FROM {outbox} "
	    "ORDER BY {global_sequence} DESC LIMIT :max):letters:messages) "
	    "AS t JOIN {events} AS e ON {e.sequence} = t.n)",
	    SQL_NUMBER("max", GAPS_EVENTS),
	    SQL_IF("letters", !store_is_pillar(s),
	    " UNION (SELECT global_sequence FROM {dead} "
	    "ORDER BY global_sequence DESC LIMIT 100)"),
	    SQL_IF("messages", g->nstored > 0,
	    " UNION (SELECT {sequence} FROM {events} "
	    "WHERE {sequence} IN (:stored))"),
	    SQL_LIST("stored", g->stored, g->nstored));
}

/*
 * How many still have no row, nor one of an open transaction, and which of
 * these were never sent.  Types that are not in use are left out on purpose;
 * where none is in use yet, events of all types count.
 */
static void
put_count(const struct gaps *g)
{
	struct store	*s = g->c->store;

	store_sql(s, "SELECT unsent, COUNT(*), MIN(n), MAX(n), MIN(at) FROM "
	    "(SELECT {e.sequence} AS n, {e.occurred_at} AS at, "
	    ":unsent AS unsent FROM {events} AS e:joins:of_type "
	    "WHERE {e.sequence} IN (:events) AND {e.sequence} > "
	    "(SELECT reconcile_watermark FROM {settings} WHERE id = 1) "
	    "AND :missing:known) AS t GROUP BY unsent",
	    SQL_PUT("unsent", s, put_unsent(g)),
	    SQL_PUT("joins", s, reconcile_put_joins(s)),
	    SQL_LIST("events", g->missing, g->nmissing),
	    SQL_PUT("missing", s, reconcile_put_missing(s)),
	    SQL_IF("of_type", g->choose,
	    " LEFT JOIN :types AS k ON k.type = {e.event_type}"),
	    SQL_IF("known", g->choose,
	    " AND (k.type IS NOT NULL OR NOT EXISTS :types)"),
	    SQL_PUT_IF("types", g->choose, s, put_used_types(g)));
}

int
state_put_gaps(struct ctl *c, struct pub *bus, json_t *state, struct err *e)
{
	json_t			*outbox = json_object_get(state, "outbox");
	struct gaps		 g = { .c = c,
				    .choose = c->conf->publish.types.n == 0 };
	struct store		*s = c->store;
	struct watermark	 w;
	struct db_rows		*rows = NULL;
	char			*name, at[ROWS_TIME_SIZE];

	if (outbox == NULL || store_is_inline(s) ||
	    !json_is_null(json_object_get(outbox, "unfilled")))
		return 0;
	if (watermark_read(s, &w, e) < 0)
		return -1;
	if (!w.known)
		return 0;
	if (search(&g, &w, GAPS_GLANCE, e) < 0 || (g.nmissing > 0 &&
	    search(&g, &w, GAPS_EVENTS, e) < 0))
		return -1;
	if (g.nmissing > 0) {
		ask_stream(&g, bus);
		store_sql(s, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
		if (store_exec(s, "gaps", NULL, e) < 0)
			return -1;
		put_count(&g);
		if ((rows = store_query(s, "gaps", e)) == NULL)
			return -1;
	}
	member_set(outbox, "unfilled", 0);
	member_set(outbox, "gone", 0);
	name = db_named(store_table_name(s, T_SETTINGS));
	json_object_set_new(outbox, "settings", json_string(name));
	free(name);
	while (rows != NULL && db_next(rows)) {
		bool	unsent = db_u64(rows, 0) != 0;

		member_set(outbox, unsent ? "unfilled" : "gone",
		    (json_int_t)db_u64(rows, 1));
		member_set(outbox, unsent ? "unfilled_first" : "gone_first",
		    (json_int_t)db_u64(rows, 2));
		rows_time(at, db_text(rows, 4));
		json_object_set_new(outbox, unsent ? "unfilled_since" :
		    "gone_last", unsent ? json_string(at) :
		    json_integer((json_int_t)db_u64(rows, 3)));
	}
	db_rows_free(rows);
	return 0;
}
