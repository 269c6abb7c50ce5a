/*
 * reconcile.c - events that should have an outbox row and have none
 *
 * What is missing is found by reading and made afterwards, each in small
 * pieces.  An event and its row are committed together, and one statement
 * sees both or neither; when the row is made, all is asked once more, behind
 * a lock on the lease of its partition, so that two of us make it once.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "ctl.h"
#include "db.h"
#include "mend.h"
#include "xalloc.h"

#define LIMIT		1000	/* events the short way looks at */
#define PIECE		1000	/* events of a statement */

struct sweep {
	struct ctl	*c;
	struct horizon	 horizon;
	uint64_t	 newest;
	uint64_t	*list;		/* events without a row */
	size_t		 n;
	uint64_t	 made;

	const uint64_t	*piece;		/* of the list, for a transaction */
	size_t		 npiece;
	uint64_t	 made_now;
	struct progress	 bar;
};

static int
read_newest(struct sweep *w, struct err *e)
{
	struct db_rows	*rows;

	store_sql(w->c->store, "SELECT MAX(sequence) FROM {events}");
	if ((rows = store_query(w->c->store, "reconcile", e)) == NULL)
		return -1;
	db_next(rows);
	w->newest = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

/* "order.*" as LIKE has it. */
static void
put_pattern(struct store *s, const char *pattern)
{
	struct buf	like = { 0 };

	for (; *pattern != '\0'; pattern++) {
		if (strchr("%_\\", *pattern) != NULL)
			buf_str(&like, "\\");
		buf_add(&like, *pattern == '*' ? "%" : pattern, 1);
	}
	store_put_text(s, like.len == 0 ? "" : like.data);
	buf_free(&like);
}

/* Both tables joined to the events e, and that neither has them. */
static void
put_joins(struct store *s)
{
	store_put(s, " LEFT JOIN {outbox} AS o ON o.global_sequence = "
	    "e.sequence");
	if (store_has(s, T_DEAD))
		store_put(s, " LEFT JOIN {dead} AS d ON d.global_sequence = "
		    "e.sequence");
}

static void
put_missing(struct store *s)
{
	store_put(s, "o.global_sequence IS NULL");
	if (store_has(s, T_DEAD))
		store_put(s, " AND d.global_sequence IS NULL");
}

/* Is it one of the types that are published? */
static void
put_types(struct ctl *c)
{
	const struct conf_list	*types = &c->conf->publish.types;

	for (size_t i = 0; i < types->n; i++) {
		store_put(c->store, i == 0 ? " AND (" : " OR ");
		store_put(c->store, "e.event_type LIKE ");
		put_pattern(c->store, types->items[i]);
	}
	store_put(c->store, types->n == 0 ? "" : ")");
}

static void
put_filter(struct ctl *c)
{
	put_types(c);
	if (c->args.type != NULL) {
		store_put(c->store, " AND e.event_type LIKE ");
		put_pattern(c->store, c->args.type);
	}
	if (c->args.since != NULL) {
		store_put(c->store, " AND e.occurred_at >= ");
		store_put(c->store, c->args.since);
	}
}

/* Of the events above low and up to high, the first ones or the last ones. */
static void
put_search(struct ctl *c, uint64_t low, uint64_t high, bool last, size_t max)
{
	struct store	*s = c->store;

	store_sql(s, "SELECT e.sequence, ");
	put_missing(s);
	put_filter(c);
	store_put(s, " FROM (SELECT sequence, event_type, occurred_at "
	    "FROM {events} WHERE sequence > ");
	store_putf(s, "%llu AND sequence <= %llu ORDER BY sequence%s LIMIT "
	    "%zu) AS e", (unsigned long long)low, (unsigned long long)high,
	    last ? " DESC" : "", max);
	put_joins(s);
}

/* Takes note of what is missing, and moves the bound; *read is how many. */
static int
search(struct sweep *w, uint64_t *low, uint64_t *high, bool last, size_t max,
    size_t *read, struct err *e)
{
	struct db_rows	*rows;

	put_search(w->c, *low, *high, last, max);
	if ((rows = store_query(w->c->store, "reconcile", e)) == NULL)
		return -1;
	*read = db_nrows(rows);
	w->list = xreallocarray(w->list, w->n + *read + 1, sizeof(*w->list));
	while (db_next(rows)) {
		uint64_t sequence = db_u64(rows, 0);

		if (db_u64(rows, 1) != 0)
			w->list[w->n++] = sequence;
		if (last && sequence <= *high)
			*high = sequence - 1;
		else if (!last && sequence > *low)
			*low = sequence;
	}
	db_rows_free(rows);
	return 0;
}

/* The newest ones first, and no more than the limit. */
static int
search_newest(struct sweep *w, struct err *e)
{
	size_t		left = w->c->args.limit == 0 ? LIMIT :
			    (size_t)w->c->args.limit;
	uint64_t	low = w->horizon.at, high = w->newest;
	size_t		max, read;

	do {
		max = left < PIECE ? left : PIECE;
		if (search(w, &low, &high, true, max, &read, e) < 0)
			return -1;
		left -= read;
	} while (read == max && left > 0);
	return 0;
}

static int
search_all(struct sweep *w, struct err *e)
{
	uint64_t	low = w->horizon.at, high = w->newest;
	size_t		read;

	do {
		if (search(w, &low, &high, false, PIECE, &read, e) < 0)
			return -1;
		progress_show(&w->bar, low - w->horizon.at,
		    high - w->horizon.at);
	} while (read == PIECE);
	progress_end(&w->bar);
	return 0;
}

/*
 * As producers do, we hold the count and the horizon until the commit.  count
 * is as SQL: there may be none.
 */
static int
read_settings(struct sweep *w, char count[24], struct err *e)
{
	struct db_rows	*rows;
	const char	*text;

	store_sql(w->c->store, "SELECT reconcile_from, partition_count "
	    "FROM {settings} WHERE id = 1 LOCK IN SHARE MODE");
	if ((rows = store_query(w->c->store, "reconcile", e)) == NULL)
		return -1;
	text = db_next(rows) ? db_text(rows, 1) : NULL;
	if (db_u64(rows, 0) > w->horizon.at)
		w->horizon.at = db_u64(rows, 0);
	snprintf(count, 24, "%s", text == NULL ? "NULL" : text);
	db_rows_free(rows);
	return 0;
}

/* The events e with their n, as a table that is still open. */
static void
put_piece(struct sweep *w, const char *count)
{
	struct store	*s = w->c->store;

	store_put(s, " FROM (SELECT e.sequence, CRC32(CONVERT(e.stream_id "
	    "USING utf8mb4)) MOD ");
	store_put(s, count);
	store_put(s, " AS n FROM {events} AS e");
}

static void
put_events(struct sweep *w)
{
	store_put(w->c->store, " WHERE e.sequence IN (");
	store_put_list(w->c->store, w->piece, w->npiece);
	store_put(w->c->store, ")");
}

/*
 * Who makes an old row due raises the epochs: the owners look from the first
 * row on.  It comes first for the lock that it takes.
 */
static int
raise_epochs(struct sweep *w, const char *count, struct err *e)
{
	struct store	*s = w->c->store;

	store_sql(s, "SELECT DISTINCT COALESCE(" CTL_LABEL ", '')");
	put_piece(w, count);
	put_events(w);
	store_put(s, ") AS label");
	return mend_ring(w->c, e);
}

static int
insert_rows(struct sweep *w, const char *count, struct err *e)
{
	struct store	*s = w->c->store;

	store_sql(s, "INSERT IGNORE INTO {outbox} (global_sequence, "
	    "partition_key) SELECT sequence, " CTL_LABEL);
	put_piece(w, count);
	put_joins(s);
	put_events(w);
	store_put(s, " AND ");
	put_missing(s);
	store_putf(s, " AND e.sequence > %llu) AS label ORDER BY sequence",
	    (unsigned long long)w->horizon.at);
	return store_exec(s, "reconcile", &w->made_now, e);
}

static int
make_piece(struct ctl *c, void *arg, struct err *e)
{
	struct sweep	*w = arg;
	char		 count[24];

	if (read_settings(w, count, e) < 0 || raise_epochs(w, count, e) < 0 ||
	    insert_rows(w, count, e) < 0)
		return -1;
	return audit_note(c, w->made_now, e);
}

static int
make_all(struct sweep *w, struct err *e)
{
	for (size_t i = 0; i < w->n; i += w->npiece) {
		w->piece = w->list + i;
		w->npiece = w->n - i < PIECE ? w->n - i : PIECE;
		if (ctl_transaction(w->c, make_piece, w, e) < 0) {
			progress_end(&w->bar);
			return err_in(e, "after %llu outbox row(s)",
			    (unsigned long long)w->made);
		}
		w->made += w->made_now;
		progress_show(&w->bar, i + w->npiece, w->n);
	}
	progress_end(&w->bar);
	return 0;
}

static int
report(const struct sweep *w)
{
	if (w->made == 0)
		print_done(w->c, 0, "Nothing to reconcile: the outbox is "
		    "consistent with the event store.");
	else
		print_done(w->c, w->made, "%s %llu outbox row(s) from the "
		    "event store.", w->c->args.dry_run ? "Would reconcile" :
		    "Reconciled", (unsigned long long)w->made);
	return CTL_DONE;
}

static int
refuse(const struct ctl *c)
{
	const char	*table = store_table_name(c->store, T_SETTINGS);

	if (!store_has(c->store, T_SETTINGS))
		return ctl_no_such(c, "%s: no such table, so nobody knows "
		    "which events were never meant to have a row: load "
		    "sql/schema.sql", table);
	return ctl_no_such(c, "%s.reconcile_from is not set, so nobody knows "
	    "which events were never meant to have a row: set it to the last "
	    "of them, or to 0; see sql/schema.sql", table);
}

static int
run(struct sweep *w)
{
	struct err	e;

	if (horizon_read(w->c, &w->horizon, &e) < 0)
		return ctl_fail(w->c, &e);
	if (!w->horizon.known)
		return refuse(w->c);
	if (read_newest(w, &e) < 0 || (w->c->args.all ? search_all(w, &e) :
	    search_newest(w, &e)) < 0)
		return ctl_fail(w->c, &e);
	if (!ctl_confirm(w->c, w->n, "reconcile"))
		return CTL_FAILED;
	if (w->c->args.dry_run)
		w->made = w->n;
	else if (make_all(w, &e) < 0)
		return ctl_fail(w->c, &e);
	return report(w);
}

int
reconcile(struct ctl *c)
{
	struct sweep	w = { .c = c, .bar.what = "reconcile" };
	int		status;

	if (c->args.all && c->args.limit != 0) {
		ctl_no_such(c, "--all and --limit: one of them");
		return CTL_USAGE;
	}
	status = run(&w);
	free(w.list);
	return status;
}
