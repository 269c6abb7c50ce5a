/*
 * store_settle_and_claim.c - settle a batch and claim the next, in one
 * statement
 *
 * With small batches a message costs the database mostly its commits, each of
 * which waits for a disk.  This is one commit instead of two.
 */

#include "store/store_impl.h"

static void
put_has_token(struct store *s, const struct batch *b)
{
	store_put(s, "{o.claim_token} = ");
	store_put_text(s, b->token);
}

static void
put_set(struct store *s, const struct batch *done, const char *token)
{
	store_put(s, "UPDATE {outbox} AS o {primary} SET "
	    "{o.published_at} = IF(");
	put_has_token(s, done);
	store_put(s, ", {now}, NULL)");
	if (store_keeps_acks(s)) {
		store_put(s, ", {o.ack_sequence} = IF(");
		put_has_token(s, done);
		store_put(s, ", ");
		store_put_delivered_values(s, done, false);
		store_put(s, ", {o.ack_sequence})");
	}
	if (store_keeps_hashes(s)) {
		store_put(s, ", {o.message_hash} = IF(");
		put_has_token(s, done);
		store_put(s, ", ");
		store_put_delivered_values(s, done, true);
		store_put(s, ", {o.message_hash})");
	}
	store_put(s, ", {o.available_at} = IF(");
	put_has_token(s, done);
	store_put(s, ", {o.available_at}, {now}");
	store_put_interval(s, s->conf->worker.claim_ttl);
	/* Last, because assignments go from left to right. */
	store_put(s, "), {o.claim_token} = IF(");
	put_has_token(s, done);
	store_put(s, ", NULL, ");
	store_put_text(s, token);
	store_put(s, ")");
}

static void
put_rows_of_both(struct store *s, const struct batch *done,
    const struct claim_set *set)
{
	store_put(s, " WHERE {o.global_sequence} IN (");
	for (size_t i = 0; i < done->n; i++)
		store_put_item(s, done->msgs[i].sequence);
	store_put_list(s, set->sequences, set->n);
	store_put(s, ") AND {o.published_at} IS NULL AND (");
	put_has_token(s, done);
	store_put(s, " OR ({o.claim_token} IS NULL AND ");
	store_put_is_due(s);
	store_put_is_time(s);
	store_put_leases_are_mine(s, set->ranges, set->nranges);
	buf_str(&s->sql, "))");
}

int
store_settle_and_claim(struct store *s, const struct batch *done,
    const struct claim_set *set, struct batch *b, uint64_t *changed,
    struct err *e)
{
	store_begin_claim(s, b);
	store_sql(s, "");
	put_set(s, done, b->token);
	put_rows_of_both(s, done, set);
	return store_exec(s, "settle and claim", changed, e);
}

void
store_settle_is_in_doubt(struct settled *settled)
{
	settled->done |= SETTLED_IN_DOUBT(OUT_DELIVERED);
}

void
store_note_settled(const struct batch *done, struct settled *settled,
    uint64_t written)
{
	settled->done |= SETTLED(OUT_DELIVERED);
	/* A row whose claim was lost before the fetch counts as written. */
	if (written > done->n)
		written = done->n;
	settled->delivered = written;
	settled->fenced = done->n - written;
}
