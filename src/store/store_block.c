/*
 * store_block.c - the table of blocked keys, and rows parked behind them
 *
 * A parked row stays in the outbox under another label, made of the name of its
 * key's record.  Scans of its partition do not read it any more, and the rows
 * of one key lie together in sequence order.  Every change is fenced by the
 * lease of the partition that the record names.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define DUPLICATE	1062

bool
store_can_block(const struct store *s)
{
	return !store_is_pillar(s) && s->conf->worker.leasing;
}

int
store_block(struct store *s, const struct blocked *b, size_t n,
    uint64_t *written, struct err *e)
{
	store_sql(s, "INSERT INTO {blocked} (first_sequence, "
	    "partition_key, order_key, reason, head_sequence, since) ");
	for (size_t i = 0; i < n; i++) {
		struct range	lease = { .label = b[i].label,
				    .epoch = b[i].epoch };

		/* Without the lock the lease could move before the insert. */
		store_put(s, ":union(SELECT :first, p.partition_key, :key, "
		    ":reason, :head, {now} FROM {partitions} AS p "
		    "WHERE p.partition_key = :label" STORE_FENCE
		    " LOCK IN SHARE MODE)",
		    SQL_IF("union", i > 0, " UNION ALL "),
		    SQL_NUMBER("first", b[i].first),
		    SQL_FIT("key", FIT_BLOCKED_KEY, b[i].key),
		    SQL_TEXT("reason", b[i].reason),
		    SQL_NUMBER("head", b[i].head),
		    SQL_TEXT("label", b[i].label),
		    SQL_EPOCHS("epochs", &lease, 1));
	}
	if (store_exec(s, "block", written, e) == 0)
		return 0;
	if (db_last_code(s->db) != DUPLICATE)
		return -1;
	*written = 0;		/* one record exists: read them again */
	return 0;
}

int
store_unblock(struct store *s, const struct range *ranges, size_t nranges,
    const uint64_t *firsts, size_t n, struct err *e)
{
	store_sql(s, "DELETE b FROM {blocked} AS b FORCE INDEX (PRIMARY) "
	    "STRAIGHT_JOIN {partitions} AS p "
	    "ON p.partition_key = b.partition_key "
	    "WHERE b.first_sequence IN (:firsts)" STORE_FENCE,
	    SQL_LIST("firsts", firsts, n),
	    SQL_EPOCHS("epochs", ranges, nranges));
	return store_exec(s, "unblock", NULL, e);
}

int
store_blocked(struct store *s, const char *const *labels, size_t n,
    struct blocked_list *list, struct err *e)
{
	struct db_rows	*rows;

	memset(list, 0, sizeof(*list));
	store_sql(s, "SELECT b.first_sequence, b.partition_key, "
	    STORE_KEY_OF("{e.stream_id}", "b.order_key") ", b.reason, "
	    "b.head_sequence, {o.global_sequence} IS NOT NULL AND "
	    "{o.published_at} IS NULL, "
	    "{o.partition_key} = " PARKED_LABEL("b.first_sequence") ", "
	    "IF({o.claim_token} IS NULL, :due_ms, 0) "
	    "FROM {blocked} AS b LEFT JOIN {outbox} AS o "
	    "ON {o.global_sequence} = b.head_sequence "
	    "LEFT JOIN {events} AS e ON {e.sequence} = b.first_sequence "
	    "WHERE b.partition_key IN (:labels)",
	    SQL_PUT("due_ms", s, store_put_due_ms(s)),
	    SQL_LABELS("labels", labels, n));
	if ((rows = store_query(s, "blocked", e)) == NULL)
		return -1;
	list->rows = rows;
	list->items = xcalloc(db_nrows(rows) + 1, sizeof(*list->items));
	for (; db_next(rows); list->n++) {
		struct blocked *b = &list->items[list->n];

		b->first = db_u64(rows, 0);
		b->label = db_text(rows, 1);
		b->key = store_column(rows, 2);
		b->reason = db_text(rows, 3);
		b->head = db_u64(rows, 4);
		b->pending = db_u64(rows, 5) != 0;
		b->head_parked = db_u64(rows, 6) != 0;
		b->due_ms = (int64_t)db_u64(rows, 7);
	}
	return 0;
}

void
store_blocked_free(struct blocked_list *list)
{
	db_rows_free(list->rows);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static void
put_parked_labels(struct store *s, const struct parking *lanes, size_t n)
{
	char	label[STORE_PARKED];

	for (size_t i = 0; i < n; i++) {
		store_parked_label(label, lanes[i].first);
		store_put(s, " WHEN {o.global_sequence} IN (:rows) THEN :label",
		    SQL_LIST("rows", lanes[i].sequences, lanes[i].n),
		    SQL_TEXT("label", label));
	}
}

static void
put_parked_rows(struct store *s, const struct parking *lanes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_put(s, ":list", SQL_LIST("list", lanes[i].sequences,
		    lanes[i].n));
}

int
store_park(struct store *s, const struct range *ranges, size_t nranges,
    const struct parking *lanes, size_t n, struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o {primary} "
	    "STRAIGHT_JOIN {partitions} AS p FORCE INDEX (PRIMARY) "
	    "ON p.partition_key = COALESCE({o.partition_key}, '') "
	    "SET {o.partition_key} = CASE:labels END "
	    "WHERE {o.global_sequence} IN (:rows) "
	    "AND {o.published_at} IS NULL" STORE_FENCE,
	    SQL_PUT("labels", s, put_parked_labels(s, lanes, n)),
	    SQL_PUT("rows", s, put_parked_rows(s, lanes, n)),
	    SQL_EPOCHS("epochs", ranges, nranges));
	return store_exec(s, "park", NULL, e);
}

/*
 * A record has the label of its key under the present count, unless only the
 * event tells that: then it has any of the class, and so would the rows.  While
 * partitions sync --finish reads the rows that wait, no wrong label may come.
 */
int
store_unpark(struct store *s, const struct counts *c,
    const struct range *ranges, size_t nranges, const uint64_t *sequences,
    size_t n, struct err *e)
{
	const struct sql	home = SQL("NULLIF(b.partition_key, '')");
	bool			by_event = !conf_partitions_by_key(s->conf) &&
				    c->nformer > 0;

	store_sql(s, "UPDATE {outbox} AS o {primary} "
	    "STRAIGHT_JOIN {blocked} AS b FORCE INDEX (PRIMARY) ON "
	    "b.first_sequence = " PARKED_UNDER("{o.partition_key}")
	    " STRAIGHT_JOIN {partitions} AS p "
	    "ON p.partition_key = b.partition_key:events "
	    "SET {o.partition_key} = :home "
	    "WHERE {o.global_sequence} IN (:rows) "
	    "AND {o.published_at} IS NULL" STORE_FENCE,
	    SQL_IF("events", by_event,
	    " LEFT JOIN {events} AS e {events_primary} "
	    "ON {e.sequence} = {o.global_sequence}"),
	    SQL_PUT("home", s, by_event ? store_put_relabel(s, c, home, "e",
	    SQL("{e.stream_id}")) : store_put_sql(s, home.text)),
	    SQL_LIST("rows", sequences, n),
	    SQL_EPOCHS("epochs", ranges, nranges));
	return store_exec(s, "unpark", NULL, e);
}
