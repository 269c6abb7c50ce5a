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
put_columns(struct store *s, const char *attempts, const char *replay_no)
{
	store_putf(s, ", %s AS {attempts}", attempts);
	if (store_has_column(s, COL_IN_DOUBT_SINCE))
		store_put(s, ", NULL AS {in_doubt_since}");
	if (store_has_column(s, COL_REPLAY_NO))
		store_putf(s, ", %s AS {replay_no}", replay_no);
	if (store_has_column(s, COL_CREATED_AT))
		store_put(s, ", NULL AS {created_at}");
	if (store_has_word(s, "scheduled_at"))
		store_put(s, ", NULL AS {scheduled_at}");
}

/* A parked row comes back under the label of its record, see store_unpark. */
static void
put_row(struct store *s, uint64_t sequence)
{
	bool	parks = store_has(s, T_BLOCKED);

	store_put(s, "SELECT {r.global_sequence}, ");
	store_put(s, parks ? "IF(b.first_sequence IS NULL, {r.partition_key}, "
	    "NULLIF(b.partition_key, '')) AS {partition_key}" :
	    "{r.partition_key}");
	put_columns(s, "{r.attempts}", "{r.replay_no}");
	store_put(s, " FROM {outbox} AS r {primary}");
	if (parks)
		store_put(s, " LEFT JOIN {blocked} AS b ON b.first_sequence = "
		    PARKED_UNDER("{r.partition_key}"));
	store_putf(s, " WHERE {r.global_sequence} = %llu",
	    (unsigned long long)sequence);
}

/* A dead letter that is put back gets the label of the present count. */
static void
put_letter(struct store *s, uint64_t sequence, const struct counts *k)
{
	store_put(s, "SELECT d.global_sequence AS {global_sequence}, ");
	store_put_relabel(s, k, "d.partition_key", "k",
	    STORE_KEY_OF("{k.stream_id}", "d.order_key"));
	store_put(s, " AS {partition_key}");
	put_columns(s, "d.attempts", "d.replay_no");
	store_put(s, " FROM {dead} AS d LEFT JOIN {events} AS k "
	    "ON {k.sequence} = d.global_sequence");
	store_putf(s, " WHERE d.global_sequence = %llu",
	    (unsigned long long)sequence);
}

int
store_peek(struct store *s, uint64_t sequence, bool dead, struct batch *b,
    struct err *e)
{
	struct counts	 k;
	struct db_rows	*rows;

	if (store_read_counts(s, &k, e) < 0)
		return -1;
	store_sql(s, "SELECT ");
	store_put_msg(s, SIZE_MAX);
	store_put(s, " FROM (");
	if (dead)
		put_letter(s, sequence, &k);
	else
		put_row(s, sequence);
	store_put(s, ") AS o");
	if (dead && store_is_inline(s))
		store_put_whole_join(s, "{e.sequence} = {o.global_sequence}");
	else
		store_put(s, " LEFT JOIN {events} AS e {events_primary} "
		    "ON {e.sequence} = {o.global_sequence}");
	if ((rows = store_query(s, "show", e)) == NULL)
		return -1;
	store_keep_rows(b, rows);
	b->msgs = xcalloc(1, sizeof(*b->msgs));
	if (db_next(rows))
		store_read_msg(s, &b->msgs[b->n++], rows, SIZE_MAX);
	return 0;
}
