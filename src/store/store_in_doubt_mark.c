/*
 * store_in_doubt_mark.c - in-doubt marks of leases
 *
 * Workers of a former version sent messages while their claims committed, and
 * marked their leases: since when, up to which row, under which epoch.  If a
 * crash of the server undid a claim, the row looks untouched and only the mark
 * is left.  Under a later epoch each row that it covers gets the mark's time
 * before it is claimed, until none is left.
 */

#include "store/store_impl.h"

bool
store_has_in_doubt_marks(const struct store *s)
{
	return s->marked && s->conf->worker.leasing &&
	    store_has_word(s, "in_doubt_since");
}

/* Not the mark of a worker that still owns it and knows what it has sent. */
void
store_put_doubt_of_lease(struct store *s)
{
	if (store_has_in_doubt_marks(s))
		store_put(s, ", {o.in_doubt_since} = "
		    "IF({o.claim_token} IS NULL AND {o.in_doubt_since} IS NULL "
		    "AND p.in_doubt_epoch <> p.lease_epoch "
		    "AND {o.global_sequence} <= p.in_doubt_upto, "
		    "p.in_doubt_since, {o.in_doubt_since})");
}

/* Rows with a claim are left out: claiming them anew marks them. */
int
store_mark_rows_in_doubt(struct store *s, const uint64_t *sequences, size_t n,
    struct err *e)
{
	struct isolate	i = isolate_rows(n, 0);

	while (isolate_next(&i)) {
		store_sql(s, "UPDATE {outbox} AS o {primary} "
		    "STRAIGHT_JOIN {partitions} AS p FORCE INDEX (PRIMARY) "
		    "ON p.partition_key = COALESCE({o.partition_key}, '') "
		    "SET {o.in_doubt_since} = p.in_doubt_since "
		    "WHERE {o.published_at} IS NULL AND {o.claim_token} IS "
		    "NULL AND {o.in_doubt_since} IS NULL "
		    "AND {o.global_sequence} <= p.in_doubt_upto "
		    "AND {o.global_sequence} IN (:rows)",
		    SQL_LIST("rows", sequences + i.from, i.n));
		/* If it is refused, its claim is refused as well. */
		if (store_isolate(s, &i, store_exec(s, "mark", NULL, e)))
			store_say_refused(s, sequences[i.from],
			    "marked as in doubt", e);
	}
	return i.rc;
}

/* No row of this label needs the mark of p. */
#define UNNEEDED(is)	" AND (SELECT 1 FROM {outbox} AS o {index} " \
	"WHERE {o.published_at} IS NULL AND {o.partition_key} " is \
	" AND {o.global_sequence} <= p.in_doubt_upto " \
	"AND {o.in_doubt_since} IS NULL LIMIT 1) IS NULL"

/*
 * Rows without a label have NULL or ''.  Parked rows have a copy of the mark.
 */
int
store_clear_in_doubt_marks(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} AS p SET p.in_doubt_since = NULL, "
	    "p.in_doubt_upto = NULL, p.in_doubt_epoch = NULL "
	    "WHERE p.lease_owner = {me} AND p.lease_until > NOW(6) "
	    "AND p.in_doubt_epoch <> p.lease_epoch"
	    UNNEEDED("= p.partition_key")
	    " AND (p.partition_key <> '' OR (TRUE" UNNEEDED("IS NULL") "))");
	return store_exec(s, "clear marks", NULL, e);
}
