/*
 * gaps.c - newest events without a row in an outbox that is alone
 *
 * Such a row was deleted by hand, or never made.  Three things look the same: a
 * message that still waited, which nobody will send; one that was delivered; and
 * an event that the application gives no row on purpose.  The first is proved by
 * a row that was delivered before the event occurred and is kept, since whoever
 * deletes delivered rows deletes the oldest; or by the stream, which has older
 * messages and not this one.  The last is told by the event's type.
 */

#include "ctl/state/state_impl.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "store/reconcile.h"
#include "store/store_sql.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define GAPS_GLANCE	200	/* events, of which none lacks a row, as a rule */
#define GAPS_EVENTS	1000	/* if one does; and messages of the stream */
#define GAPS_ASK_MS	3000	/* for these messages */
#define GAPS_SLACK	2	/* smaller ones of its lane, and twice the usual */
#define GAPS_RUNS	16	/* more, and a quarter: some here, some there */

struct kind {
	const char	*type;		/* in the rows */
	size_t		 filled, missing, runs;
	bool		 known;		/* some event of it has a row */
	bool		 was_missing;
};

/*
 * What is in order, as numbers: its key, strictly; its partition, but for what
 * was put off.
 */
enum { BY_KEY, BY_PARTITION, LANES };

/* An event of which the stream has the message. */
struct stored {
	uint64_t	 sequence;
	uint64_t	 lane[LANES];
	size_t		 place;		/* the newest has 0 */
};

struct event {
	uint64_t	 sequence, lane[LANES];
	const char	*at;		/* in the rows */
	size_t		 kind;
	bool		 missing, later;
};

struct gaps {
	struct ctl	*c;
	struct counts	 counts;
	struct db_rows	*rows;
	struct event	*events;	/* the oldest first */
	size_t		 n, nmissing;
	struct kind	*kinds;
	size_t		 nkinds;
	bool		 any_known;

	struct stored	*stored;	/* of the newest messages */
	size_t		 nstored;
	bool		 whole;		/* all that it ever had */
	bool		 forgets;	/* it may drop any */
	size_t		 overtaken[LANES];	/* the most smaller ones of
						   a lane that came after one */
};

static void
gaps_free(struct gaps *g)
{
	struct gaps	empty = { .c = g->c, .counts = g->counts };

	db_rows_free(g->rows);
	free(g->events);
	free(g->kinds);
	free(g->stored);
	*g = empty;
}

static int
compare(const void *a, const void *b)
{
	uint64_t	x = ((const struct stored *)a)->sequence;
	uint64_t	y = ((const struct stored *)b)->sequence;

	return x < y ? -1 : x > y;
}

static struct stored *
find_stored(const struct gaps *g, uint64_t sequence)
{
	struct stored	key = { .sequence = sequence };

	return g->nstored == 0 ? NULL : bsearch(&key, g->stored, g->nstored,
	    sizeof(key), compare);
}

static size_t
kind_of(struct gaps *g, const char *type)
{
	for (size_t i = 0; i < g->nkinds; i++)
		if (strcmp(g->kinds[i].type, type) == 0)
			return i;
	g->kinds[g->nkinds] = (struct kind){ .type = type };
	return g->nkinds++;
}

/* When the first of the delivered rows that are kept was delivered. */
static void
put_first_delivered(struct store *s)
{
	store_put(s, store_index(s) == INDEX_BY_TIME ?
	    "(SELECT {published_at} FROM {outbox} WHERE {published_at} IS NOT "
	    "NULL ORDER BY {published_at} LIMIT 1)" :
	    "(SELECT {published_at} FROM {outbox} ORDER BY {global_sequence} "
	    "LIMIT 1)");
}

static void
put_lanes(const struct gaps *g)
{
	store_put(g->c->store, ", CRC32(" STORE_BYTES("{e.stream_id}")
	    "), CRC32(");
	store_put_label(g->c->store, &g->counts, "e", "{e.stream_id}");
	store_put(g->c->store, ")");
}

static void
read_lanes(uint64_t lane[LANES], struct db_rows *rows, unsigned from)
{
	for (unsigned i = 0; i < LANES; i++)
		lane[i] = db_u64(rows, from + i);
}

/* The newest first: no more is read than that. */
static void
put_search(const struct gaps *g, const struct watermark *w, int max)
{
	struct store	*s = g->c->store;

	store_sql(s, "SELECT {e.sequence}, ");
	reconcile_put_missing(s);
	reconcile_put_types(s, &g->c->conf->publish.types);
	store_put(s, ", {e.event_type}, {e.occurred_at}, {e.occurred_at} > ");
	put_first_delivered(s);
	put_lanes(g);
	store_put(s, " FROM {events} AS e {events_primary}");
	reconcile_put_joins(s);
	store_putf(s, " WHERE {e.sequence} > %llu ORDER BY {e.sequence} DESC "
	    "LIMIT %d", (unsigned long long)w->at, max);
}

static int
read_events(struct gaps *g, const struct watermark *w, int max, struct err *e)
{
	gaps_free(g);
	put_search(g, w, max);
	if ((g->rows = store_query(g->c->store, "gaps", e)) == NULL)
		return -1;
	g->n = db_nrows(g->rows);
	g->events = xcalloc(g->n + 1, sizeof(*g->events));
	g->kinds = xcalloc(g->n + 1, sizeof(*g->kinds));
	for (size_t i = g->n; i > 0 && db_next(g->rows); i--) {
		struct event *v = &g->events[i - 1];

		v->sequence = db_u64(g->rows, 0);
		v->missing = db_u64(g->rows, 1) != 0;
		v->kind = kind_of(g, db_text(g->rows, 2));
		v->at = db_text(g->rows, 3);
		v->later = db_u64(g->rows, 4) != 0;
		read_lanes(v->lane, g->rows, 5);
		g->nmissing += v->missing;
	}
	return 0;
}

static void
put_missing_list(const struct gaps *g)
{
	store_put(g->c->store, "(");
	for (size_t i = 0; i < g->n; i++)
		if (g->events[i].missing)
			store_put_item(g->c->store, g->events[i].sequence);
	store_put(g->c->store, ")");
}

/*
 * Those have a row after all that a transaction is still to commit, and those
 * are no gaps that prune has passed meanwhile.
 */
static int
drop_innocent(struct gaps *g, struct err *e)
{
	struct store		*s = g->c->store;
	struct watermark	 w;
	struct db_rows		*rows;
	uint64_t		 open;

	if (watermark_read(s, &w, e) < 0)
		return -1;
	store_sql(s, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
	if (store_exec(s, "gaps", NULL, e) < 0)
		return -1;
	store_sql(s, "SELECT {global_sequence} FROM {outbox} {primary} WHERE "
	    "{global_sequence} IN ");
	put_missing_list(g);
	store_put(s, " ORDER BY {global_sequence}");
	if ((rows = store_query(s, "gaps", e)) == NULL)
		return -1;
	open = db_next(rows) ? db_u64(rows, 0) : 0;
	g->nmissing = 0;
	for (size_t i = 0; i < g->n; i++) {
		struct event *v = &g->events[i];

		while (open != 0 && open < v->sequence)
			open = db_next(rows) ? db_u64(rows, 0) : 0;
		if (v->sequence == open || v->sequence <= w.at)
			v->missing = false;
		g->nmissing += v->missing;
	}
	db_rows_free(rows);
	return 0;
}

static bool
has_time(void *end)
{
	return clock_ms() < *(int64_t *)end;
}

static void
count_overtaken(struct gaps *g, int lane)
{
	for (size_t i = 0; i < g->nstored; i++) {
		const struct stored	*at = &g->stored[i];
		size_t			 n = 0;

		for (size_t k = 0; k < i; k++)
			n += g->stored[k].lane[lane] == at->lane[lane] &&
			    g->stored[k].place < at->place;
		if (n > g->overtaken[lane])
			g->overtaken[lane] = n;
	}
}

static void
put_stored(const struct gaps *g)
{
	store_put(g->c->store, "(");
	for (size_t i = 0; i < g->nstored; i++)
		store_put_item(g->c->store, g->stored[i].sequence);
	store_put(g->c->store, ")");
}

/* What has no event is in a lane of its own. */
static int
order_stored(struct gaps *g, struct err *e)
{
	struct store	*s = g->c->store;
	struct db_rows	*rows;
	struct stored	*at;

	if (g->nstored == 0)
		return 0;
	qsort(g->stored, g->nstored, sizeof(*g->stored), compare);
	store_sql(s, "SELECT {e.sequence}");
	put_lanes(g);
	store_put(s, " FROM {events} AS e WHERE {e.sequence} IN ");
	put_stored(g);
	if ((rows = store_query(s, "gaps", e)) == NULL)
		return -1;
	while (db_next(rows))
		if ((at = find_stored(g, db_u64(rows, 0))) != NULL)
			read_lanes(at->lane, rows, 1);
	db_rows_free(rows);
	for (int i = 0; i < LANES; i++)
		count_overtaken(g, i);
	return 0;
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
	g->stored = xcalloc(n, sizeof(*g->stored));
	for (i = 0; i < n; i++)
		list[i].sequence = st->last - i;
	/* Those that were told before it failed, or took too long, count. */
	(void)bus->ops->get_stored(bus->arg, conf_id_prefix(g->c->conf, id),
	    list, n, &go_on, &e);
	for (i = 0; i < n && list[i].what != STORED_UNKNOWN; i++)
		if (list[i].what == STORED_OURS)
			g->stored[g->nstored++] = (struct stored){
			    .sequence = list[i].id.sequence, .place = i };
	g->whole = i == st->last;
	g->forgets = st->forgets;
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
	g->whole = st.last == 0;
	if (st.messages > 0)
		read_stored(g, bus, &st);
}

/* The types of the newest rows and dead letters, and of what is stored. */
static int
learn_types(struct gaps *g, struct err *e)
{
	struct store	*s = g->c->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT DISTINCT {e.event_type} FROM ("
	    "(SELECT {global_sequence} AS n FROM {outbox} "
	    "ORDER BY {global_sequence} DESC LIMIT 100)");
	if (store_has(s, T_DEAD))
		store_put(s, " UNION (SELECT global_sequence FROM {dead} "
		    "ORDER BY global_sequence DESC LIMIT 100)");
	store_put(s, ") AS t JOIN {events} AS e ON {e.sequence} = t.n");
	if (g->nstored > 0) {
		store_put(s, " UNION SELECT {e.event_type} FROM {events} AS e "
		    "WHERE {e.sequence} IN ");
		put_stored(g);
	}
	if ((rows = store_query(s, "gaps", e)) == NULL)
		return -1;
	g->any_known = db_nrows(rows) > 0;
	while (db_next(rows))
		for (size_t i = 0; i < g->nkinds; i++)
			if (strcmp(g->kinds[i].type, db_text(rows, 0)) == 0)
				g->kinds[i].known = true;
	db_rows_free(rows);
	return 0;
}

/*
 * It is not among the newest messages of the stream.  If it was stored before
 * them, it has overtaken all smaller ones of its lanes among them: not if these
 * are many more than any other has overtaken.
 */
static bool
is_in_no_stream(const struct gaps *g, const struct event *v)
{
	size_t	smaller[LANES] = { 0 };
	bool	none = false;

	if (g->whole || g->forgets)
		return !g->forgets;
	for (int i = 0; i < LANES; i++) {
		for (size_t k = 0; k < g->nstored &&
		    g->stored[k].sequence < v->sequence; k++)
			smaller[i] += g->stored[k].lane[i] == v->lane[i];
		none = none || smaller[i] > 2 * g->overtaken[i] + GAPS_SLACK;
	}
	return none;
}

/* Does its message still wait to be sent? */
static bool
is_unsent(const struct gaps *g, const struct event *v)
{
	return find_stored(g, v->sequence) == NULL && (v->later ||
	    is_in_no_stream(g, v));
}

/* One that was delivered, or may have been, says nothing of its type. */
static void
count_kinds(struct gaps *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct event	*v = &g->events[i];
		struct kind		*k = &g->kinds[v->kind];
		bool			 unsent = v->missing &&
					    is_unsent(g, v);

		if (v->missing && !unsent)
			continue;
		k->missing += unsent;
		k->filled += !unsent;
		k->runs += unsent && !k->was_missing;
		k->was_missing = unsent;
	}
}

/*
 * Types are left without rows, or some events of a type here and there.  With
 * publish.types it is said which have rows.
 */
static bool
is_by_design(const struct gaps *g, const struct kind *k)
{
	if (g->c->conf->publish.types.n > 0)
		return false;
	if (k->filled == 0 && !k->known)	/* what is stored is known */
		return g->any_known;
	return k->runs > GAPS_RUNS && k->missing * 3 >= k->filled;
}

static void
note(json_t *o, const char *count, const char *first, uint64_t sequence)
{
	json_int_t	n = member_number(o, count);

	if (n == 0)
		json_object_set_new(o, first,
		    json_integer((json_int_t)sequence));
	json_object_set_new(o, count, json_integer(n + 1));
}

/* What limits reconcile to those that are unsent, if it would make more. */
static void
put_limits(struct gaps *g, json_t *outbox, const struct event *first)
{
	char	moment[ROWS_TIME_SIZE];

	if ((json_int_t)g->nmissing == member_number(outbox, "unfilled"))
		return;
	rows_time(moment, first->at);
	json_object_set_new(outbox, "unfilled_since", json_string(moment));
	for (size_t i = 0; i < g->nkinds; i++)
		if (is_by_design(g, &g->kinds[i]))
			json_object_set_new(outbox, "unfilled_type",
			    bytes_json(g->kinds[first->kind].type,
			    strlen(g->kinds[first->kind].type)));
}

static void
put_gaps(struct gaps *g, json_t *outbox)
{
	const struct event	*first = NULL;

	json_object_set_new(outbox, "unfilled", json_integer(0));
	json_object_set_new(outbox, "gone", json_integer(0));
	json_object_set_new(outbox, "settings", json_string(
	    store_table_name(g->c->store, T_SETTINGS)));
	for (size_t i = 0; i < g->n; i++) {
		const struct event *v = &g->events[i];

		if (!v->missing || is_by_design(g, &g->kinds[v->kind]))
			continue;
		if (is_unsent(g, v)) {
			note(outbox, "unfilled", "unfilled_first", v->sequence);
			first = first == NULL ? v : first;
			continue;
		}
		note(outbox, "gone", "gone_first", v->sequence);
		json_object_set_new(outbox, "gone_last",
		    json_integer((json_int_t)v->sequence));
	}
	if (first != NULL)
		put_limits(g, outbox, first);
}

static int
look(struct gaps *g, struct pub *bus, json_t *outbox, struct err *e)
{
	struct watermark	w;

	if (watermark_read(g->c->store, &w, e) < 0 ||
	    store_read_counts(g->c->store, &g->counts, e) < 0)
		return -1;
	if (!w.known)
		return 0;
	if (read_events(g, &w, GAPS_GLANCE, e) < 0 || (g->nmissing > 0 &&
	    (read_events(g, &w, GAPS_EVENTS, e) < 0 ||
	    drop_innocent(g, e) < 0)))
		return -1;
	if (g->nmissing > 0) {
		ask_stream(g, bus);
		if (order_stored(g, e) < 0 || learn_types(g, e) < 0)
			return -1;
	}
	count_kinds(g);
	put_gaps(g, outbox);
	return 0;
}

int
state_put_gaps(struct ctl *c, struct pub *bus, json_t *state, struct err *e)
{
	json_t		*outbox = json_object_get(state, "outbox");
	struct gaps	 g = { .c = c };
	int		 rc;

	if (outbox == NULL || store_is_inline(c->store) ||
	    !json_is_null(json_object_get(outbox, "unfilled")))
		return 0;
	rc = look(&g, bus, outbox, e);
	gaps_free(&g);
	return rc;
}
