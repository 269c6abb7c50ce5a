/*
 * store_peek.c - read a message without claiming it
 *
 * For outboxctl.  The columns and their order are those of the fetch, so that
 * the message is what a worker would send.
 */

#include "store/store_impl.h"

#include "util/xalloc.h"

/*
 * The columns of {dead} or {outbox} that a message has, for a table o: under
 * the names that the outbox gives them.
 */
static void
put_columns(struct store *s, struct sql attempts, struct sql replay_no)
{
	store_put(s, ":attempts {as attempts}, NULL {as in_doubt_since}, "
	    ":replay_no {as replay_no}, NULL {as created_at}, "
	    "NULL {as scheduled_at}", SQL_PART("attempts", attempts),
	    SQL_PART("replay_no", replay_no));
}

/* A parked row comes back under the label of its record, see store_unpark. */
static void
put_row(struct store *s, uint64_t sequence)
{
	bool	parks = !store_is_pillar(s);

	store_put(s, "SELECT {r.global_sequence}, :label, :columns "
	    "FROM {outbox} AS r {primary}:record "
	    "WHERE {r.global_sequence} = :sequence",
	    SQL_EITHER("label", parks,
	    "IF(b.first_sequence IS NULL, {r.partition_key}, "
	    "NULLIF(b.partition_key, '')) AS {partition_key}",
	    "{r.partition_key}"),
	    SQL_PUT("columns", s, put_columns(s, SQL("{r.attempts}"),
	    SQL("{r.replay_no}"))),
	    SQL_IF("record", parks,
	    " LEFT JOIN {blocked} AS b ON b.first_sequence = "
	    PARKED_UNDER("{r.partition_key}")),
	    SQL_NUMBER("sequence", sequence));
}

/* A dead letter that is put back gets the label of the present count. */
static void
put_letter(struct store *s, uint64_t sequence, const struct counts *k)
{
	store_put(s, "SELECT d.global_sequence AS {global_sequence}, "
	    ":label AS {partition_key}, :columns "
	    "FROM {dead} AS d LEFT JOIN {events} AS k "
	    "ON {k.sequence} = d.global_sequence "
	    "WHERE d.global_sequence = :sequence",
	    SQL_PUT("label", s, store_put_relabel(s, k,
	    SQL("d.partition_key"), "k",
	    SQL(STORE_KEY_OF("{k.stream_id}", "d.order_key")))),
	    SQL_PUT("columns", s, put_columns(s, SQL("d.attempts"),
	    SQL("d.replay_no"))),
	    SQL_NUMBER("sequence", sequence));
}

int
store_peek(struct store *s, uint64_t sequence, bool dead, struct batch *b,
    struct err *e)
{
	struct counts	 k;
	struct db_rows	*rows;

	if (store_read_counts(s, &k, e) < 0)
		return -1;
	store_sql(s, "SELECT :message FROM (:row) AS o LEFT JOIN :events "
	    "ON {e.sequence} = {o.global_sequence}",
	    SQL_PUT("message", s, store_put_msg(s, SIZE_MAX)),
	    SQL_PUT("row", s, dead ? put_letter(s, sequence, &k) :
	    put_row(s, sequence)),
	    SQL_PUT("events", s, dead && store_is_inline(s) ?
	    store_put_whole(s) :
	    store_put(s, "{events} AS e {events_primary}")));
	if ((rows = store_query(s, "show", e)) == NULL)
		return -1;
	store_keep_rows(b, rows);
	b->msgs = xcalloc(1, sizeof(*b->msgs));
	if (db_next(rows))
		store_read_msg(s, &b->msgs[b->n++], rows, SIZE_MAX);
	return 0;
}
