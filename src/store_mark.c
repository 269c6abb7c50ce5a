/*
 * store_mark.c - leases that know of messages what their rows do not
 *
 * An owner who sends while his claims are being committed has his leases
 * marked: "since then".  If a claim is lost with the server, the row looks as
 * if nobody had ever touched it, and the mark is what is left.  Whoever takes
 * a marked lease adds "up to that row", and until none of them is left, each
 * gets the moment for its own before it is claimed.
 */

#include "store_impl.h"

bool
store_marks_leases(const struct store *s)
{
	return s->conf->worker.leasing && s->has_unsure_since &&
	    s->lease_unsure_since && s->lease_unsure_upto;
}

bool
store_can_go_early(const struct store *s)
{
	return store_marks_leases(s) && db_can_early(s->db);
}

/* All that was sent before this renewal is claimed for good. */
void
store_put_mark(struct store *s, bool early)
{
	if (!store_marks_leases(s))
		return;
	buf_str(&s->sql, ", unsure_since = IF(unsure_upto IS NULL, ");
	store_put(s, early ? "{now}" : "NULL");
	buf_str(&s->sql, ", unsure_since)");
}

/* What he sent early he could see, and so do we, if it is not delivered. */
void
store_put_taken(struct store *s)
{
	if (!store_marks_leases(s))
		return;
	store_put(s, ", unsure_upto = COALESCE(unsure_upto, "
	    "IF(unsure_since IS NULL, NULL, "
	    "(SELECT MAX(global_sequence) FROM {outbox})))");
}

int
store_mark_rows(struct store *s, const uint64_t *sequences, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o FORCE INDEX (PRIMARY) "
	    "STRAIGHT_JOIN {partitions} AS p FORCE INDEX (PRIMARY) "
	    "ON p.partition_key = COALESCE(o.partition_key, '') "
	    "SET o.unsure_since = p.unsure_since "
	    "WHERE o.published_at IS NULL AND o.unsure_since IS NULL "
	    "AND o.global_sequence <= p.unsure_upto "
	    "AND o.global_sequence IN (");
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	return store_exec(s, "mark", NULL, e);
}

/* Rows without a label are NULL or '': their lease is never marked. */
int
store_clear_marks(struct store *s, uint64_t *n, struct err *e)
{
	store_sql(s, "UPDATE {partitions} AS p SET p.unsure_since = NULL, "
	    "p.unsure_upto = NULL WHERE p.lease_owner = {me} "
	    "AND p.lease_until > NOW(6) AND p.unsure_upto IS NOT NULL "
	    "AND (SELECT 1 FROM {outbox} AS o {index} "
	    "WHERE o.published_at IS NULL "
	    "AND o.partition_key = p.partition_key "
	    "AND o.global_sequence <= p.unsure_upto "
	    "AND o.unsure_since IS NULL LIMIT 1) IS NULL");
	return store_exec(s, "clear marks", n, e);
}
