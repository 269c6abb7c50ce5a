/*
 * store_claim.c - claim rows and fetch their messages
 *
 * The claim is the fence.  It takes rows only while this worker holds all their
 * leases, by owner, epoch and time.  The lease rows stay share-locked until the
 * statement has committed, so no lease can be taken over in between.
 *
 * On Galera and with several primaries of a group that lock holds on its own
 * node only.  There it is the rows themselves that keep two claims apart: both
 * write the first waiting row of each key, and certification lets one commit.
 * So nothing may count as claimed that was not written and committed first.
 */

#include "store/store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define LOCK_WAIT	1205	/* a lock was waited for too long */

/*
 * So long after meeting a locked row, claims look for locks first; as a rule
 * the row is tried again within that time.
 */
#define LOCKED_MS	10000

/* No row is put off unsent for longer: this, and a part of blame_after. */
#define PUT_OFF_MS	60000
#define PUT_OFF_PART	10

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
	store_put(s, "({o.available_at} <= NOW(6):as_given:made_ahead)",
	    /*
	     * Is available_at what the INSERT gave?  Then it is created_at; if
	     * their precisions differ, compare whole seconds, and nothing may
	     * have put the row off since.
	     */
	    SQL_PART("as_given", !store_stamps_rows(s) ? SQL("") :
	    s->stamped[0] == s->stamped[1] ?
	    SQL(" OR {o.available_at} = {o.created_at}") :
	    SQL(" OR ({o.attempts} = 0 AND {o.last_error} IS NULL AND "
	    "TIMESTAMPDIFF(SECOND, {o.created_at}, {o.available_at}) = 0)")),
	    /*
	     * Made ahead of this clock, and put off unsent until later than a
	     * row ever is by it: the clock was put back since, and the row is
	     * due.  If it is put off again, then for less; so it waits then.
	     */
	    SQL_IF("made_ahead", store_stamps_rows(s),
	    " OR ({o.attempts} = 0 AND {o.last_error} IS NOT NULL "
	    "AND {o.created_at} > NOW(6) "
	    "AND {o.available_at} > NOW(6) + INTERVAL :longest MICROSECOND)"),
	    SQL_MS("longest", store_put_off_ms(s)));
}

void
store_put_due_ms(struct store *s)
{
	store_put(s, "IF({o.claim_token} IS NULL AND :is_due, 0, "
	    "GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), "
	    "{o.available_at}) + 999) DIV 1000)",
	    SQL_PUT("is_due", s, store_put_is_due(s)));
}

void
store_put_at_once(struct store *s)
{
	store_put(s, ":at_once", SQL_EITHER("at_once", store_stamps_rows(s),
	    "IF({created_at} BETWEEN '1971-01-01' AND {now}, {created_at}, "
	    "{now})", "{now}"));
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
 * assignments go from left to right.  Rows that the first of the two statements
 * has claimed have our nonce, too: "<> :token" leaves them out.
 *
 * All or nothing: if one lease is lost, what we know of the others is old too.
 * The subquery reads each lease once; a join of each row with its lease took a
 * sixth of the claim's time.
 */
static int
run_claim(struct store *s, const struct claim *c, bool abandoned,
    uint64_t *claimed, struct err *e)
{
	const struct claim_set	*set = &c->set;

	store_sql(s, "UPDATE {outbox} AS o {primary} SET :doubt"
	    "{o.available_at} = {now} + INTERVAL :ttl MICROSECOND, "
	    "{o.claim_token} = :token "
	    "WHERE {o.global_sequence} IN (:rows) AND {o.published_at} IS NULL "
	    "AND {o.claim_token} :free AND ({o.scheduled_at} IS NULL "
	    "OR {o.scheduled_at} <= NOW(6)):ours",
	    SQL_IF("doubt", abandoned && store_has_word(s, "in_doubt_since"),
	    "{o.in_doubt_since} = COALESCE({o.in_doubt_since}, "
	    "{o.available_at} - INTERVAL 1000 * "
	    "IF(CONVERT({o.claim_token} USING utf8mb4) REGEXP "
	    "'^[0-9a-f]{16}-[0-9a-f]+-[0-9]{1,9}$', "
	    "SUBSTRING_INDEX({o.claim_token}, '-', -1), :ttl_ms) "
	    "MICROSECOND), "),
	    SQL_EITHER("free", abandoned,
	    "<> :token AND ({o.available_at} <= NOW(6) OR "
	    "LEFT({o.claim_token}, 16) IN (:nonce:dead))",
	    "IS NULL AND :is_due"),
	    SQL_PUT_IF("is_due", !abandoned, s, store_put_is_due(s)),
	    SQL_IF("ours", s->conf->worker.leasing,
	    " AND COALESCE({o.partition_key}, '') IN (:labels) "
	    "AND (SELECT COUNT(*) FROM {partitions} AS p "
	    "FORCE INDEX (PRIMARY) WHERE p.partition_key IN (:labels)"
	    STORE_FENCE " LOCK IN SHARE MODE) = :nlabels"),
	    SQL_MS("ttl", s->conf->worker.claim_ttl),
	    SQL_NUMBER("ttl_ms", s->conf->worker.claim_ttl),
	    SQL_TEXT("token", c->token),
	    SQL_LIST("rows", set->sequences, set->n),
	    SQL_TEXT("nonce", ident_nonce(s->id)),
	    SQL_RAW("dead", s->dead.len > 0 ? s->dead.data : ""),
	    SQL_LABELS_OF("labels", set->ranges, set->nranges, label),
	    SQL_EPOCHS("epochs", set->ranges, set->nranges),
	    SQL_NUMBER("nlabels", set->nranges));
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

	store_sql(s, "SELECT {global_sequence} FROM {outbox} {primary} "
	    "WHERE {global_sequence} IN (:rows) "
	    "ORDER BY {global_sequence} FOR UPDATE SKIP LOCKED",
	    SQL_LIST("rows", set->sequences, set->n));
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
	size_t			 n;
	struct err		 why;
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
	    db_last_code(s->db) == LOCK_WAIT) {
		/* The others do not wait for rows that are locked. */
		why = *e;
		n = c.n;
		if (unlocked == NULL)
			unlocked = xcalloc(n, sizeof(*unlocked));
		rc = leave_locked(s, &c, unlocked, b, e);
		if (rc == 0 && c.n < n)
			rc = claim_all(s, &c, b, claimed, e);
		else if (store_is_open(s)) {	/* something else is locked */
			*e = why;
			rc = -1;
		}
	}
	free(unlocked);
	return rc;
}

int
store_fetch(struct store *s, const uint64_t *sequences, size_t n,
    size_t max, struct batch *b, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT :message FROM " STORE_ROWS_AND_EVENTS("{primary}")
	    " WHERE {o.global_sequence} IN (:rows) "
	    "AND {o.claim_token} = :token",
	    SQL_PUT("message", s, store_put_msg(s, max)),
	    SQL_LIST("rows", sequences, n), SQL_TEXT("token", b->token));
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

	store_sql(s, "SELECT {sequence}, {metadata}, {event_data} "
	    "FROM {events} {events_primary} WHERE {sequence} IN (:events)",
	    SQL_LIST("events", sequences, n));
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
	    "{e.stream_id}, {o.published_at} IS NULL, :due_ms, "
	    "{o.claim_token} IS NOT NULL, "
	    "GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, NOW(6), "
	    "{o.scheduled_at}), 0) + 999) DIV 1000 "
	    "FROM " STORE_ROWS_AND_EVENTS("{primary}")
	    " WHERE {o.global_sequence} IN (:rows)",
	    SQL_PUT("due_ms", s, store_put_due_ms(s)),
	    SQL_LIST("rows", sequences, n));
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
