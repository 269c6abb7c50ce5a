/*
 * store_mark.c - in-doubt marks of leases
 *
 * A worker that publishes while its claims commit marks its leases: since when,
 * up to which row, under which epoch.  If a crash of the server undoes a claim,
 * the row looks untouched and only the mark is left.  Under a later epoch it is
 * a former owner's mark: each row that it covers gets the mark's time before it
 * is claimed, until none is left.
 */

#include "store/store_impl.h"

#define IS_OURS		"(unsure_since IS NULL OR unsure_epoch = lease_epoch)"

bool
store_marks_leases(const struct store *s)
{
	return s->conf->worker.leasing &&
	    store_has_columns(s, COL_UNSURE_SINCE, COL_LEASE_UNSURE_EPOCH);
}

const char *
store_late_reason(const struct store *s)
{
	if (!s->conf->worker.leasing)
		return "worker.leasing is off: no lease can say what was sent";
	if (!store_marks_leases(s))
		return "the leases have no columns for it: outboxctl schema "
		    "upgrade";
	return db_late_reason(s->db);
}

bool
store_can_go_early(const struct store *s)
{
	return store_late_reason(s) == NULL;
}

/*
 * The claims of all messages sent before this statement have committed, so the
 * time may rise.  The bound never sinks: the owner relies on the one it read.
 */
void
store_put_early(struct store *s, uint64_t upto)
{
	if (!store_marks_leases(s))
		return;
	buf_printf(&s->sql, ", unsure_upto = IF(" IS_OURS ", "
	    "GREATEST(COALESCE(unsure_upto, 0), %llu), unsure_upto), ",
	    (unsigned long long)upto);
	store_put(s, "unsure_epoch = IF(" IS_OURS ", lease_epoch, "
	    "unsure_epoch), unsure_since = IF(unsure_epoch = lease_epoch, "
	    "{now}, unsure_since)");
}

void
store_put_late(struct store *s, bool at_once)
{
	if (!store_marks_leases(s))
		return;
	buf_str(&s->sql, ", unsure_since = IF(unsure_epoch = lease_epoch");
	/* A statement under way on a lost connection may take effect late. */
	if (!at_once) {
		buf_str(&s->sql, " AND unsure_since < NOW(6)");
		store_put_interval(s, -s->conf->worker.lease_ttl);
	}
	buf_str(&s->sql, ", NULL, unsure_since), unsure_upto = "
	    "IF(unsure_since IS NULL, NULL, unsure_upto), unsure_epoch = "
	    "IF(unsure_since IS NULL, NULL, unsure_epoch)");
}

/* Not the owner's own mark: the owner knows what it has sent. */
void
store_put_marked(struct store *s)
{
	if (!store_marks_leases(s))
		return;
	buf_str(&s->sql, ", o.unsure_since = IF(o.claim_token IS NULL "
	    "AND o.unsure_since IS NULL AND p.unsure_epoch <> p.lease_epoch "
	    "AND o.global_sequence <= p.unsure_upto, p.unsure_since, "
	    "o.unsure_since)");
}

/* Rows with a claim are left out: claiming them anew marks them. */
int
store_mark_rows(struct store *s, const uint64_t *sequences, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o FORCE INDEX (PRIMARY) "
	    "STRAIGHT_JOIN {partitions} AS p FORCE INDEX (PRIMARY) "
	    "ON p.partition_key = COALESCE(o.partition_key, '') "
	    "SET o.unsure_since = p.unsure_since "
	    "WHERE o.published_at IS NULL AND o.claim_token IS NULL "
	    "AND o.unsure_since IS NULL "
	    "AND o.global_sequence <= p.unsure_upto "
	    "AND o.global_sequence IN (");
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	if (store_exec(s, "mark", NULL, e) == 0)
		return 0;
	if (!store_refused_value(s))
		return -1;
	if (n == 1) {		/* then its claim is refused as well */
		store_say_refused(s, sequences[0], "marked", e);
		return 0;
	}
	return store_mark_rows(s, sequences, n / 2, e) < 0 ? -1 :
	    store_mark_rows(s, sequences + n / 2, n - n / 2, e);
}

int
store_forget_marks(struct store *s, const struct range *ranges, size_t n,
    struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET unsure_since = NULL, "
	    "unsure_upto = NULL, unsure_epoch = NULL WHERE partition_key IN (");
	store_put_range_labels(s, ranges, n);
	buf_str(&s->sql, ") AND (partition_key, unsure_epoch) IN (");
	store_put_epochs(s, ranges, n);
	buf_str(&s->sql, ")");
	return store_exec(s, "forget marks", NULL, e);
}

/* " AND ...": no row of this label needs the mark of p. */
static void
put_unneeded(struct store *s, const char *label)
{
	store_put(s, " AND (SELECT 1 FROM {outbox} AS o {index} "
	    "WHERE o.published_at IS NULL AND o.partition_key ");
	buf_str(&s->sql, label);
	buf_str(&s->sql, " AND o.global_sequence <= p.unsure_upto "
	    "AND o.unsure_since IS NULL LIMIT 1) IS NULL");
}

/*
 * Rows without a label have NULL or ''.  Parked rows have a copy of the mark.
 */
int
store_clear_marks(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} AS p SET p.unsure_since = NULL, "
	    "p.unsure_upto = NULL, p.unsure_epoch = NULL "
	    "WHERE p.lease_owner = {me} AND p.lease_until > NOW(6) "
	    "AND p.unsure_epoch <> p.lease_epoch");
	put_unneeded(s, "= p.partition_key");
	buf_str(&s->sql, " AND (p.partition_key <> '' OR (TRUE");
	put_unneeded(s, "IS NULL");
	buf_str(&s->sql, "))");
	return store_exec(s, "clear marks", NULL, e);
}
