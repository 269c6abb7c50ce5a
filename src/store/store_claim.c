/*
 * store_claim.c - claim rows and fetch their messages
 *
 * The claim is the fence.  It takes rows only while this worker holds all their
 * leases, by owner, epoch and time.  The lease rows stay share-locked until the
 * statement has committed, so no lease can be taken over in between.
 */

#include "store/store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define LOCK_WAIT	1205	/* a lock was waited for too long */

/* After a locked row was met, longer than until it is tried again. */
#define LOCKED_MS	10000

/* No row is put off unsent for longer: this, and a part of blame_after. */
#define PUT_OFF_MS	60000
#define PUT_OFF_PART	10

void
store_put_fence(struct store *s, const struct range *ranges, size_t n)
{
	store_put(s, " AND p.lease_owner = {me} AND p.lease_until > NOW(6) "
	    "AND (p.partition_key, p.lease_epoch) IN (");
	store_put_epochs(s, ranges, n);
	buf_str(&s->sql, ")");
}

bool
store_stamps_rows(const struct store *s)
{
	return s->stamped[0] != 0 && s->stamped[1] != 0;
}

int64_t
store_put_off_ms(const struct store *s)
{
	return PUT_OFF_MS + s->conf->retry.blame_after / PUT_OFF_PART;
}

void
store_put_is_due(struct store *s)
{
	store_put(s, "({o.available_at} <= NOW(6)");
	if (store_stamps_rows(s)) {
		/*
		 * Is available_at what the INSERT gave?  It is created_at then;
		 * of other digits the second, and nothing has put the row off
		 * since.
		 */
		store_put(s, s->stamped[0] == s->stamped[1] ?
		    " OR {o.available_at} = {o.created_at}" :
		    " OR ({o.attempts} = 0 AND {o.last_error} IS NULL AND "
		    "TIMESTAMPDIFF(SECOND, {o.created_at}, {o.available_at}) "
		    "= 0)");
		/*
		 * Made ahead, and put off unsent for longer than that ever is:
		 * before the clock was put back.  What is put off since is not
		 * so far ahead, so no row comes again and again.
		 */
		store_put(s, " OR ({o.attempts} = 0 AND {o.last_error} IS NOT "
		    "NULL AND {o.created_at} > NOW(6) AND "
		    "{o.available_at} > NOW(6)");
		store_put_interval(s, store_put_off_ms(s));
		store_put(s, ")");
	}
	store_put(s, ")");
}

void
store_put_due_ms(struct store *s)
{
	store_put(s, "IF({o.claim_token} IS NULL AND ");
	store_put_is_due(s);
	store_put(s, ", 0, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), "
	    "{o.available_at}) + 999) DIV 1000)");
}

void
store_put_at_once(struct store *s)
{
	store_put(s, store_stamps_rows(s) ? "IF({created_at} BETWEEN "
	    "'1971-01-01' AND {now}, {created_at}, {now})" : "{now}");
}

struct claim {
	struct claim_set	 set;
	const char		*token;
};

/*
 * A row without a claim is free.  One is abandoned if its claim has expired, or
 * its worker is known to be dead: it may have been sent, so it is in doubt as
 * of its claim.  That was at available_at minus the ttl in the token, or our
 * own ttl if the token has none.  available_at is not overwritten yet:
 * assignments go from left to right.
 *
 * All or nothing: if one lease is lost, what we know of the others is old too.
 * The subquery reads each lease once; a join of each row with its lease took a
 * sixth of the claim's time.
 */
static int
run_claim(struct store *s, const struct claim *c, bool abandoned,
    uint64_t *claimed, struct err *e)
{
	store_sql(s, "UPDATE {outbox} AS o {primary} SET ");
	if (abandoned && store_has_column(s, COL_IN_DOUBT_SINCE)) {
		store_put(s, "{o.in_doubt_since} = COALESCE({o.in_doubt_since},"
		    " {o.available_at} - INTERVAL 1000 * IF("
		    "CONVERT({o.claim_token} USING utf8mb4) REGEXP ");
		store_put_raw(s, "'^[0-9a-f]{16}-[0-9a-f]+-[0-9]{1,9}$', ");
		store_putf(s, "SUBSTRING_INDEX({o.claim_token}, '-', -1), %lld)"
		    " MICROSECOND), ", (long long)s->conf->worker.claim_ttl);
	}
	store_put(s, "{o.available_at} = {now}");
	store_put_interval(s, s->conf->worker.claim_ttl);
	store_put(s, ", {o.claim_token} = ");
	store_put_text(s, c->token);
	store_put(s, " WHERE {o.global_sequence} IN (");
	store_put_list(s, c->set.sequences, c->set.n);
	store_put(s, ") AND {o.published_at} IS NULL AND {o.claim_token} ");
	if (abandoned) {
		store_put(s, "<> ");
		store_put_text(s, c->token);
		store_put(s, " AND ({o.available_at} <= NOW(6) OR "
		    "LEFT({o.claim_token}, 16) IN (");
		store_put_text(s, ident_nonce(s->id));
		store_put_raw(s, s->dead.len > 0 ? s->dead.data : "");
		store_put(s, "))");
	} else {
		store_put(s, "IS NULL AND ");
		store_put_is_due(s);
	}
	if (store_has_word(s, "scheduled_at"))
		store_put(s, " AND ({o.scheduled_at} IS NULL OR "
		    "{o.scheduled_at} <= NOW(6))");
	if (s->conf->worker.leasing) {
		store_put(s, " AND COALESCE({o.partition_key}, '') IN (");
		store_put_range_labels(s, c->set.ranges, c->set.nranges);
		store_put(s, ") AND (SELECT COUNT(*) FROM {partitions} AS p "
		    "FORCE INDEX (PRIMARY) WHERE p.partition_key IN (");
		store_put_range_labels(s, c->set.ranges, c->set.nranges);
		buf_str(&s->sql, ")");
		store_put_fence(s, c->set.ranges, c->set.nranges);
		buf_printf(&s->sql, " LOCK IN SHARE MODE) = %zu",
		    c->set.nranges);
	}
	return store_exec(s, "claim", claimed, e);
}

/* Claim; a row that the database refuses for its contents is left out. */
static int
claim_some(struct store *s, struct claim c, bool abandoned, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	struct isolate	 i = isolate_rows(c.set.n, 0);
	const uint64_t	*all = c.set.sequences;
	int		 rc;

	for (; isolate_next(&i); *claimed += i.changed) {
		c.set.sequences = all + i.from;
		c.set.n = i.n;
		rc = run_claim(s, &c, abandoned, &i.changed, e);
		/*
		 * The token does not fit its column: not the fault of a row,
		 * and no row can be claimed.  Then the tables are wrong, as
		 * without the column.
		 */
		if (rc < 0 && strstr(e->text, "for column") != NULL &&
		    strstr(e->text, store_column_name(s, "claim_token")) !=
		    NULL)
			return -1;
		if (store_isolate(s, &i, rc)) {
			store_say_refused(s, all[i.from], "claimed", e);
			batch_refuse(b, all[i.from]);
		}
	}
	return i.rc;
}

/*
 * Few rows are abandoned, so they have a statement of their own: a condition on
 * every row took a tenth of the claim's time.  If it fails, the rows of the
 * first statement have our nonce, and the next claim takes them again.
 */
static int
claim_all(struct store *s, const struct claim_set *set, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	struct claim	c = { *set, b->token };

	if (set->n == 0)
		return 0;
	if (claim_some(s, c, false, b, claimed, e) < 0)
		return -1;
	return *claimed == set->n ? 0 : claim_some(s, c, true, b, claimed, e);
}

/*
 * Leave out of the set the rows that another session has locked.  One that was
 * deleted meanwhile is left out, too.
 */
static int
leave_locked(struct store *s, struct claim_set *set, uint64_t *unlocked,
    struct batch *b, struct err *e)
{
	struct db_rows	*rows;
	size_t		 n = 0;
	bool		 more;

	store_sql(s, "SELECT {global_sequence} FROM {outbox} {primary} WHERE "
	    "{global_sequence} IN (");
	store_put_list(s, set->sequences, set->n);
	store_put(s, ") ORDER BY {global_sequence} FOR UPDATE SKIP LOCKED");
	if ((rows = store_query(s, "claim", e)) == NULL)
		return -1;
	more = db_next(rows);
	for (size_t i = 0; i < set->n; i++)
		if (more && db_u64(rows, 0) == set->sequences[i]) {
			unlocked[n++] = set->sequences[i];
			more = db_next(rows);
		} else {
			store_say_locked(s, set->sequences[i]);
			batch_refuse(b, set->sequences[i]);
		}
	db_rows_free(rows);
	if (n < set->n)
		s->locked_until = clock_ms() + LOCKED_MS;
	set->sequences = unlocked;
	set->n = n;
	return 0;
}

/* The others do not wait for rows that are locked. */
static int
claim_unlocked(struct store *s, struct claim_set set, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	uint64_t	*unlocked = xcalloc(set.n, sizeof(*unlocked));
	struct err	 why = *e;
	size_t		 n = set.n;
	int		 rc;

	if ((rc = leave_locked(s, &set, unlocked, b, e)) == 0 && set.n < n)
		rc = claim_all(s, &set, b, claimed, e);
	else if (store_is_open(s)) {	/* something else is locked */
		*e = why;
		rc = -1;
	}
	free(unlocked);
	return rc;
}

/*
 * To wait for a lock costs all rows that time: once one was met, claims ask
 * first for a while.
 */
int
store_claim(struct store *s, const struct claim_set *set, struct batch *b,
    uint64_t *claimed, struct err *e)
{
	struct claim_set	c = *set;
	uint64_t		*unlocked = NULL;
	int			 rc = 0;

	snprintf(b->token, sizeof(b->token), "%s-%x-%lld", ident_nonce(s->id),
	    ++s->claims, (long long)s->conf->worker.claim_ttl);
	s->refusals.claim = s->claims;
	b->claimed_at = clock_ms();
	*claimed = 0;
	if (clock_ms() < s->locked_until) {
		unlocked = xcalloc(set->n, sizeof(*unlocked));
		rc = leave_locked(s, &c, unlocked, b, e);
	}
	if (rc == 0 && (rc = claim_all(s, &c, b, claimed, e)) < 0 &&
	    store_code(s) == LOCK_WAIT)
		rc = claim_unlocked(s, c, b, claimed, e);
	free(unlocked);
	return rc;
}

int
store_fetch(struct store *s, const uint64_t *sequences, size_t n,
    size_t max, struct batch *b, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT ");
	store_put_msg(s, max);
	store_put_rows_and_events(s, "{primary}", "");
	store_put(s, "{o.global_sequence} IN (");
	store_put_list(s, sequences, n);
	store_put(s, ") AND {o.claim_token} = ");
	store_put_text(s, b->token);
	b->read_at = clock_us();
	if ((rows = store_query(s, "fetch", e)) == NULL)
		return -1;
	store_keep_rows(b, rows);
	b->msgs = xcalloc(db_nrows(rows) + 1, sizeof(*b->msgs));
	for (b->n = 0; db_next(rows); b->n++) {
		store_read_msg(s, &b->msgs[b->n], rows, max);
		b->naway += b->msgs[b->n].away;
	}
	batch_sort(b);
	return 0;
}

int
store_fetch_away(struct store *s, const uint64_t *sequences, size_t n,
    struct batch *b, struct err *e)
{
	struct db_rows	*rows;
	struct msg	*m;

	store_sql(s, "SELECT {sequence}, {metadata}, {event_data} FROM "
	    "{events} "
	    "{events_primary} WHERE {sequence} IN (");
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	if ((rows = store_query(s, "fetch away", e)) == NULL)
		return -1;
	b->more_rows = rows;
	for (size_t i = 0; i < n; i++) {
		m = batch_msg(b, sequences[i]);
		m->away = m->has_event = false;
	}
	while (db_next(rows)) {
		if ((m = batch_msg(b, db_u64(rows, 0))) == NULL)
			continue;	/* it was not asked for */
		m->has_event = true;
		m->metadata = store_column(rows, 1);
		m->payload = store_column(rows, 2);
	}
	return 0;
}

int
store_waiting(struct store *s, const uint64_t *sequences, size_t n,
    struct waiting_list *list, struct err *e)
{
	struct db_rows	*rows;

	memset(list, 0, sizeof(*list));
	store_sql(s, "SELECT {o.global_sequence}, {o.partition_key}, "
	    "{e.stream_id}, "
	    "{o.published_at} IS NULL, ");
	store_put_due_ms(s);
	store_put(s, ", {o.claim_token} IS NOT NULL, GREATEST(0, COALESCE(TIMESTAMPDIFF("
	    "MICROSECOND, NOW(6), {o.scheduled_at}), 0) + 999) DIV 1000 "
	    "FROM {outbox} AS o {primary} "
	    "LEFT JOIN {events} AS e ON {e.sequence} = {o.global_sequence} "
	    "WHERE {o.global_sequence} IN (");
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	if ((rows = store_query(s, "waiting", e)) == NULL)
		return -1;
	list->rows = rows;
	list->items = xcalloc(db_nrows(rows) + 1, sizeof(*list->items));
	for (; db_next(rows); list->n++) {
		struct waiting *w = &list->items[list->n];

		w->sequence = db_u64(rows, 0);
		w->partition = store_column(rows, 1);
		w->key = store_column(rows, 2);
		w->pending = db_u64(rows, 3) != 0;
		w->due_ms = (int64_t)db_u64(rows, 4);
		w->claimed = db_u64(rows, 5) != 0;
		w->scheduled_ms = (int64_t)db_u64(rows, 6);
	}
	return 0;
}

void
store_waiting_free(struct waiting_list *list)
{
	db_rows_free(list->rows);
	free(list->items);
	memset(list, 0, sizeof(*list));
}
