/* reconcile.c - see reconcile.h */

#include "store/reconcile.h"

#include <stdio.h>
#include <stdlib.h>

#include "mysql/db.h"
#include "store/store_impl.h"
#include "store/store_sql.h"
#include "util/xalloc.h"

int
reconcile_begin(struct reconcile *w, struct err *e)
{
	const char	*table = store_table_name(w->store, T_SETTINGS);

	if (watermark_read(w->store, &w->watermark, e) < 0)
		return -1;
	if (!w->watermark.known && !store_is_pillar(w->store))
		err_set(e, "%s.reconcile_watermark is not set: set it to the "
		    "newest event, or a lower one that is above all whose "
		    "rows were pruned: what is above it and has no row is "
		    "sent; see sql/schema.sql", table);
	else if (!w->watermark.known)
		err_set(e, "%s: no such table, so reconcile_watermark is not "
		    "known: outboxctl setup --no-event creates it", table);
	if (!w->watermark.known)
		return 0;
	store_sql(w->store, "SELECT MAX({sequence}) FROM {events}");
	return store_query_number(w->store, "reconcile", &w->newest, e);
}

void
reconcile_free(struct reconcile *w)
{
	free(w->list);
}

void
reconcile_put_joins(struct store *s)
{
	store_put(s, " LEFT JOIN {outbox} AS o "
	    "ON {o.global_sequence} = {e.sequence}:dead",
	    SQL_IF("dead", !store_is_pillar(s),
	    " LEFT JOIN {dead} AS d ON d.global_sequence = {e.sequence}"));
}

void
reconcile_put_missing(struct store *s)
{
	store_put(s, "{o.global_sequence} IS NULL:dead",
	    SQL_IF("dead", !store_is_pillar(s),
	    " AND d.global_sequence IS NULL"));
}

void
reconcile_put_types(struct store *s, const struct conf_list *types)
{
	for (size_t i = 0; i < types->n; i++)
		store_put(s, ":and{e.event_type} LIKE :type:end",
		    SQL_EITHER("and", i == 0, " AND (", " OR "),
		    SQL_PATTERN("type", types->items[i]),
		    SQL_IF("end", i == types->n - 1, ")"));
}

/* Of the events of the range, the first ones or the last ones. */
int
reconcile_search(struct reconcile *w, struct sweep_range *r, bool last,
    size_t max, size_t *nread, struct err *e)
{
	struct store	*s = w->store;
	struct db_rows	*rows;

	store_sql(s, "SELECT {e.sequence}, :missing:types:of_type:not_before "
	    "FROM (SELECT {sequence}, {event_type}, {occurred_at} "
	    "FROM {events} WHERE {sequence} > :low AND {sequence} <= :high "
	    "ORDER BY {sequence}:last LIMIT :max) AS e:joins",
	    SQL_PUT("missing", s, reconcile_put_missing(s)),
	    SQL_PUT("types", s, reconcile_put_types(s, w->types)),
	    SQL_IF("of_type", w->type != NULL, " AND {e.event_type} LIKE :type"),
	    SQL_PATTERN("type", w->type),
	    SQL_IF("not_before", w->since != NULL,
	    " AND {e.occurred_at} >= :since"),
	    SQL_RAW("since", w->since),
	    SQL_NUMBER("low", r->low), SQL_NUMBER("high", r->high),
	    SQL_IF("last", last, " DESC"), SQL_NUMBER("max", max),
	    SQL_PUT("joins", s, reconcile_put_joins(s)));
	if ((rows = store_query(s, "reconcile", e)) == NULL)
		return -1;
	*nread = db_nrows(rows);
	w->list = xreallocarray(w->list, w->n + *nread + 1, sizeof(*w->list));
	while (db_next(rows)) {
		uint64_t sequence = db_u64(rows, 0);

		if (db_u64(rows, 1) != 0)
			w->list[w->n++] = sequence;
		if (last && sequence <= r->high)
			r->high = sequence - 1;
		else if (!last && sequence > r->low)
			r->low = sequence;
	}
	db_rows_free(rows);
	return 0;
}

int
reconcile_search_newest(struct reconcile *w, size_t limit, struct err *e)
{
	struct sweep_range	left = { w->watermark.at, w->newest };
	size_t			max, nread;

	do {
		max = limit < RECONCILE_PIECE ? limit : RECONCILE_PIECE;
		if (reconcile_search(w, &left, true, max, &nread, e) < 0)
			return -1;
		limit -= nread;
	} while (nread == max && limit > 0);
	return 0;
}

int
reconcile_make(struct reconcile *w, const uint64_t *piece, size_t n,
    uint64_t *made, struct err *e)
{
	struct store	*s = w->store;
	bool		 doubt = store_has_word(s, "in_doubt_since");
	struct counts	 c;
	uint64_t	 at;

	/* Counts and watermark stay as they are until the commit. */
	if (store_hold_counts(s, &c, e) < 0)
		return -1;
	store_sql(s, "SELECT reconcile_watermark FROM {settings} WHERE id = 1");
	if (store_query_number(s, "reconcile", &at, e) < 0)
		return -1;
	if (at > w->watermark.at)
		w->watermark.at = at;
	/*
	 * A row that becomes due needs new epochs, for the owners to scan from
	 * the first row on.  This comes first, because it locks the leases.
	 */
	store_sql(s, "SELECT DISTINCT COALESCE(:label, '') "
	    "FROM {events} AS e WHERE {e.sequence} IN (:events)",
	    SQL_PUT("label", s, store_put_label(s, &c, "e",
	    SQL("{e.stream_id}"))), SQL_LIST("events", piece, n));
	if (store_bump_selected(s, "bump", e) < 0)
		return -1;
	/*
	 * A row that a TRUNCATE or an old backup has taken looks like one that
	 * was never made: the message may have been sent since its event
	 * occurred, so the stream is searched for it before it is sent.  That
	 * time is by the clock of the application, which may be ahead, and a
	 * DATETIME in its time zone: up to 14 hours ahead of UTC.
	 */
	store_sql(s, "INSERT IGNORE INTO {outbox} ({global_sequence}, "
	    "{partition_key}:doubt) SELECT {e.sequence}, :label:since "
	    "FROM {events} AS e:joins WHERE {e.sequence} IN (:events) "
	    "AND :missing AND {e.sequence} > :watermark ORDER BY {e.sequence}",
	    SQL_IF("doubt", doubt, ", {in_doubt_since}"),
	    SQL_IF("since", doubt, ", IF({e.occurred_at} BETWEEN '"
	    STORE_EVER "' AND NOW(6), {e.occurred_at} - INTERVAL :ahead, "
	    "'" STORE_EVER "')"),
	    SQL_EITHER("ahead", s->has_local_times, "15 HOUR", "1 MINUTE"),
	    SQL_PUT("label", s, store_put_label(s, &c, "e",
	    SQL("{e.stream_id}"))),
	    SQL_PUT("joins", s, reconcile_put_joins(s)),
	    SQL_LIST("events", piece, n),
	    SQL_PUT("missing", s, reconcile_put_missing(s)),
	    SQL_NUMBER("watermark", w->watermark.at));
	return store_exec(s, "reconcile", made, e);
}

void
reconcile_tell(char text[RECONCILE_TEXT], uint64_t made, bool dry_run)
{
	if (made == 0)
		snprintf(text, RECONCILE_TEXT,
		    "Nothing to reconcile: no event that was searched lacks "
		    "its outbox row.");
	else
		snprintf(text, RECONCILE_TEXT, "%s %llu outbox row%s from the "
		    "event store.", dry_run ? "Would reconcile" :
		    "Reconciled", (unsigned long long)made,
		    made == 1 ? "" : "s");
}
