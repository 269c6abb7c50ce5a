/*
 * store_settle.c - rows: write back what became of them
 *
 * One statement per kind of outcome, each only for rows that the batch's
 * token still holds: what somebody else has claimed meanwhile is his.
 */

#include "store_impl.h"

#include <string.h>

#include "clock.h"

/* The rows of one outcome, still held by the token. */
static size_t
put_held(struct store *s, const struct batch *b, enum outcome outcome)
{
	size_t	n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->msgs[i].outcome != outcome)
			continue;
		buf_str(&s->sql, n++ == 0 ? " WHERE global_sequence IN (" : ",");
		buf_u64(&s->sql, b->msgs[i].sequence);
	}
	buf_printf(&s->sql, ") AND claim_token = '%s'", b->token);
	return n;
}

static void
put_case(struct store *s, const struct batch *b, enum outcome outcome,
    bool errors)
{
	buf_str(&s->sql, "CASE global_sequence");
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		if (m->outcome != outcome)
			continue;
		buf_printf(&s->sql, " WHEN %llu THEN ",
		    (unsigned long long)m->sequence);
		if (!errors)
			buf_printf(&s->sql, "%lld",
			    (long long)m->delay_ms * 1000);
		else if (m->error == NULL)
			buf_str(&s->sql, "NULL");
		else
			db_quote(s->db, &s->sql, m->error, strlen(m->error));
	}
	buf_str(&s->sql, " END");
}

/* What a function of a delivered message gives, each after a comma. */
static void
put_delivered(struct store *s, const struct batch *b,
    uint64_t (*number)(const struct msg *))
{
	for (size_t i = 0; i < b->n; i++) {
		if (b->msgs[i].outcome != OUT_DELIVERED)
			continue;
		buf_str(&s->sql, ",");
		buf_u64(&s->sql, number(&b->msgs[i]));
	}
}

static uint64_t
sequence_of(const struct msg *m)
{
	return m->sequence;
}

static uint64_t
ack_of(const struct msg *m)
{
	return m->ack_sequence;
}

/*
 * Messages stand in sequence order, and INTERVAL of constants in order is a
 * binary search, where CASE compares with one after the other.
 */
void
store_put_acks(struct store *s, const struct batch *b)
{
	buf_str(&s->sql, "ELT(INTERVAL(global_sequence");
	put_delivered(s, b, sequence_of);
	buf_str(&s->sql, ")");
	put_delivered(s, b, ack_of);
	buf_str(&s->sql, ")");
}

/* A place in a stream we know not which is of no use. */
bool
store_keeps_acks(const struct store *s)
{
	return s->has_ack_sequence && s->conf->nats.stream[0] != '\0';
}

static int
write_delivered(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	store_sql(s, "UPDATE {outbox} FORCE INDEX (PRIMARY) "
	    "SET published_at = {now}, claim_token = NULL");
	if (store_keeps_acks(s)) {
		buf_str(&s->sql, ", ack_sequence = ");
		store_put_acks(s, b);
	}
	put_held(s, b, OUT_DELIVERED);
	return store_exec(s, "settle", matched, e);
}

static int
write_unsent(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	store_sql(s, "UPDATE {outbox} FORCE INDEX (PRIMARY) "
	    "SET available_at = {now}, claim_token = NULL");
	put_held(s, b, OUT_UNSENT);
	return store_exec(s, "give back", matched, e);
}

static int
write_delayed(struct store *s, const struct batch *b, enum outcome outcome,
    uint64_t *matched, struct err *e)
{
	store_sql(s, "UPDATE {outbox} FORCE INDEX (PRIMARY) "
	    "SET available_at = {now} + INTERVAL ");
	put_case(s, b, outcome, false);
	buf_str(&s->sql, " MICROSECOND, last_error = ");
	put_case(s, b, outcome, true);
	buf_str(&s->sql, outcome == OUT_RETRY ?
	    ", attempts = attempts + 1, claim_token = NULL" :
	    ", claim_token = NULL");
	put_held(s, b, outcome);
	return store_exec(s, "retry", matched, e);
}

static int
write_retry(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	return write_delayed(s, b, OUT_RETRY, matched, e);
}

static int
write_defer(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	return write_delayed(s, b, OUT_DEFER, matched, e);
}

static void
put_text(struct store *s, const char *text, size_t len)
{
	if (text == NULL)
		buf_str(&s->sql, "NULL");
	else
		db_quote(s->db, &s->sql, text, len);
}

static void
put_dead(struct store *s, const struct msg *m, const char *created_at,
    bool counts)
{
	struct buf	*q = &s->sql;

	buf_printf(q, "(%llu, ", (unsigned long long)m->sequence);
	put_text(s, m->partition.data, m->partition.len);
	buf_str(q, ", ");
	put_text(s, m->key.data, m->key.len);
	buf_str(q, ", ");
	put_text(s, m->type.data, m->type.len);
	buf_printf(q, ", %u, '%s', ", m->attempts + 1, m->reason);
	put_text(s, m->error, strlen(m->error));
	buf_str(q, ", ");
	put_text(s, created_at, created_at == NULL ? 0 : strlen(created_at));
	store_put(s, ", {now}");
	if (counts)
		buf_printf(q, ", %u", m->replay);
	buf_str(q, ")");
}

/* The dead letters of those that the token still holds, in one statement. */
static int
insert_dead(struct store *s, const struct batch *b, struct db_rows *held,
    struct err *e)
{
	size_t	n = 0;
	bool	counts = store_can_replay(s);

	store_sql(s, "INSERT INTO {dead} (global_sequence, partition_key, "
	    "order_key, event_type, attempts, reason, last_error, created_at, "
	    "died_at");
	buf_str(&s->sql, counts ? ", replay_no) VALUES " : ") VALUES ");
	while (db_next(held)) {
		buf_str(&s->sql, n++ == 0 ? "" : ",");
		put_dead(s, batch_msg(b, db_u64(held, 0)), db_text(held, 1),
		    counts);
	}
	/* A row that was brought back by hand may die a second time. */
	buf_str(&s->sql, " ON DUPLICATE KEY UPDATE attempts = VALUES(attempts),"
	    " reason = VALUES(reason), last_error = VALUES(last_error),"
	    " died_at = VALUES(died_at)");
	buf_str(&s->sql, counts ? ", replay_no = VALUES(replay_no)" : "");
	return store_exec(s, "bury", NULL, e);
}

/*
 * The lease that a message came under, or the partition of its key since a
 * change of the partition count.
 */
static const char *
home_of(const struct batch *b, const struct msg *m, const char *label)
{
	return label != NULL && store_is_counted(label) ? label :
	    b->labels[m->range];
}

/*
 * Dead, and nothing behind them goes.  The record is named by the dead row
 * itself; its partition's epoch goes up, so that whoever owns it now, perhaps
 * somebody else, reads it before the next claim.
 */
static int
halt_keys(struct store *s, const struct batch *b, struct db_rows *held,
    struct err *e)
{
	size_t	n = 0;

	store_sql(s, "INSERT INTO {blocked} (first_sequence, partition_key, "
	    "order_key, reason, head_sequence, since) VALUES ");
	while (db_next(held)) {
		const struct msg *m = batch_msg(b, db_u64(held, 0));
		const char	 *home = home_of(b, m, db_text(held, 2));

		buf_printf(&s->sql, "%s(%llu, ", n++ == 0 ? "" : ",",
		    (unsigned long long)m->sequence);
		put_text(s, home, strlen(home));
		buf_str(&s->sql, ", ");
		put_text(s, m->key.data, m->key.len);
		buf_printf(&s->sql, ", '" STORE_HALTED "', %llu, ",
		    (unsigned long long)m->sequence);
		store_put(s, "{now})");
	}
	buf_str(&s->sql, " ON DUPLICATE KEY UPDATE reason = '" STORE_HALTED
	    "', head_sequence = VALUES(head_sequence)");
	return store_exec(s, "halt", NULL, e);
}

static int
ring_for_halted(struct store *s, const struct batch *b, struct db_rows *held,
    struct err *e)
{
	size_t	n = 0;

	store_sql(s, "UPDATE {partitions} SET lease_epoch = lease_epoch + 1 "
	    "WHERE partition_key IN (");
	while (db_next(held)) {
		const char *home = home_of(b, batch_msg(b, db_u64(held, 0)),
				       db_text(held, 2));

		buf_str(&s->sql, n++ == 0 ? "" : ",");
		put_text(s, home, strlen(home));
	}
	buf_str(&s->sql, ")");
	return store_exec(s, "halt", NULL, e);
}

/* Its label may have changed since the claim, with the partition count. */
static struct db_rows *
lock_dead(struct store *s, const struct batch *b, struct err *e)
{
	store_sql(s, "SELECT global_sequence, ");
	buf_str(&s->sql, s->has_created_at ? "created_at" : "NULL");
	store_put(s, s->exists[T_BLOCKED] ? ", IF(partition_key LIKE '!%', "
	    "(SELECT k.partition_key FROM {blocked} AS k "
	    "WHERE k.first_sequence = IF({outbox}.partition_key LIKE '!%', "
	    "CAST(SUBSTRING({outbox}.partition_key, 2) AS UNSIGNED), NULL)), "
	    "partition_key)" : ", partition_key");
	store_put(s, " FROM {outbox} FORCE INDEX (PRIMARY)");
	put_held(s, b, OUT_DEAD);
	buf_str(&s->sql, " FOR UPDATE");
	return store_query(s, "bury", e);
}

static int
bury(struct store *s, const struct batch *b, uint64_t *matched, struct err *e)
{
	struct db_rows	*held;
	int		 rc = 0;

	if ((held = lock_dead(s, b, e)) == NULL)
		return -1;
	if (db_nrows(held) > 0)
		rc = insert_dead(s, b, held, e);
	if (rc == 0 && db_nrows(held) > 0 &&
	    s->conf->retry.on_dead == DEAD_HALT) {
		db_rewind(held);
		rc = halt_keys(s, b, held, e);
		db_rewind(held);
		if (rc == 0)
			rc = ring_for_halted(s, b, held, e);
	}
	db_rows_free(held);
	if (rc < 0)
		return -1;
	store_sql(s, "DELETE FROM {outbox}");
	put_held(s, b, OUT_DEAD);
	return store_exec(s, "bury", matched, e);
}

static int
simple(struct store *s, const char *sql, struct err *e)
{
	store_sql(s, sql);
	return store_exec(s, "bury", NULL, e);
}

/* A dead message leaves the hot table and arrives among the dead at once. */
static int
write_dead(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	if (simple(s, "START TRANSACTION", e) < 0)
		return -1;
	if (bury(s, b, matched, e) == 0 && simple(s, "COMMIT", e) == 0)
		return 0;
	db_rollback(s->db);
	return -1;
}

/* Waits to be sent again, and nobody knows whether it must. */
static bool
stays_unsure(const struct msg *m)
{
	return m->unsure && (m->outcome == OUT_UNSENT ||
	    m->outcome == OUT_RETRY || m->outcome == OUT_DEFER);
}

/*
 * Since the claim, for that is the earliest it can have been sent, or since
 * an earlier time.
 */
static int
write_unsure(struct store *s, const struct batch *b, struct err *e)
{
	size_t	n = 0;

	store_sql(s, "UPDATE {outbox} FORCE INDEX (PRIMARY) SET unsure_since = "
	    "COALESCE(unsure_since, {now}");
	store_put_interval(s, b->claimed_at - clock_ms());
	buf_str(&s->sql, ")");
	for (size_t i = 0; i < b->n; i++) {
		if (!stays_unsure(&b->msgs[i]))
			continue;
		buf_str(&s->sql, n++ == 0 ? " WHERE global_sequence IN (" : ",");
		buf_u64(&s->sql, b->msgs[i].sequence);
	}
	if (n == 0)
		return 0;
	buf_printf(&s->sql, ") AND claim_token = '%s'", b->token);
	return store_exec(s, "unsure", NULL, e);
}

static const struct kind {
	enum outcome	outcome;
	int		(*write)(struct store *, const struct batch *,
			    uint64_t *, struct err *);
	size_t		counter;
} kinds[] = {
	{ OUT_DELIVERED, write_delivered, offsetof(struct settled, delivered) },
	{ OUT_RETRY, write_retry, offsetof(struct settled, retried) },
	{ OUT_DEFER, write_defer, offsetof(struct settled, deferred) },
	{ OUT_DEAD, write_dead, offsetof(struct settled, dead) },
	{ OUT_UNSENT, write_unsent, offsetof(struct settled, returned) },
};

static size_t
count_outcome(const struct batch *b, enum outcome outcome)
{
	size_t	n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->msgs[i].outcome == outcome;
	return n;
}

static int
settle_kind(struct store *s, const struct batch *b, const struct kind *k,
    struct settled *done, struct err *e)
{
	unsigned	 bit = SETTLED(k->outcome);
	unsigned	 doubt = SETTLED_DOUBT(k->outcome);
	uint64_t	 want = count_outcome(b, k->outcome), matched = 0;
	uint64_t	*counter = (uint64_t *)((char *)done + k->counter);

	if (want == 0 || (done->done & bit))
		return 0;
	if (k->write(s, b, &matched, e) < 0) {
		/* The answer was lost: it may have been written. */
		if (store_fault(s) == DB_LOST)
			done->done |= doubt;
		return -1;
	}
	done->done |= bit;
	/* One statement: it has written all of them before, or none. */
	*counter = (done->done & doubt) && matched == 0 ? want : matched;
	done->fenced += want - *counter;
	return 0;
}

int
store_settle(struct store *s, const struct batch *b, struct settled *done,
    struct err *e)
{
	/* First: the others take the token. */
	if (s->has_unsure_since && write_unsure(s, b, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (settle_kind(s, b, &kinds[i], done, e) < 0)
			return -1;
	return 0;
}
