/*
 * store_claim.c - rows: look, claim, fetch, settle
 *
 * The claim is the fence.  It joins each row to its partition's lease and
 * takes it only while owner, epoch and time are ours; the lease row stays
 * share-locked until the statement has committed, so nobody can take the
 * lease over in between.  The order of the join is forced: left alone, the
 * optimizer starts at the lease table, several times slower and with
 * deadlocks.
 */

#include "store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

/* Rows that nobody holds: due, or claimed by somebody known to be dead. */
static void
put_is_free(struct store *s)
{
	buf_str(&s->sql, " AND o.published_at IS NULL AND "
	    "(o.available_at <= NOW(6) OR LEFT(o.claim_token, 16) IN (");
	buf_printf(&s->sql, "'%s'%s))", ident_nonce(s->id), s->dead);
}

/*
 * The lease row "" serves rows without a label, which Pillar writes when its
 * count is 1, and rows whose label is the empty text: two ranges.
 */
static const char no_label[] = "partition_key IS NULL";

static unsigned
put_label_is(struct store *s, const char *label, unsigned part)
{
	if (label[0] == '\0' && part == 0) {
		buf_str(&s->sql, no_label);
		return 2;
	}
	buf_str(&s->sql, "partition_key = ");
	db_quote(s->db, &s->sql, label, strlen(label));
	return 1;
}

static void
put_probe(struct store *s, const char *label)
{
	unsigned	part = 0, parts;

	do {
		store_put(s, s->sql.len == 0 ? "" : " UNION ALL ");
		store_put(s, "(SELECT 1 FROM {outbox} {index} WHERE "
		    "published_at IS NULL AND ");
		parts = put_label_is(s, label, part);
		buf_str(&s->sql, " LIMIT 1)");
	} while (++part < parts);
}

int
store_probe(struct store *s, const struct range *ranges, size_t n, bool *any,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "");
	for (size_t i = 0; i < n; i++)
		put_probe(s, ranges[i].label);
	buf_str(&s->sql, " LIMIT 1");
	if ((rows = store_query(s, "probe", e)) == NULL)
		return -1;
	*any = db_next(rows);
	db_rows_free(rows);
	return 0;
}

/* One equality range: the index gives filter and order, nothing is sorted. */
static void
put_range(struct store *s, const struct range *r, size_t i)
{
	unsigned	part = 0, parts;

	do {
		buf_printf(&s->sql, "%s(SELECT %zu, global_sequence FROM ",
		    s->sql.len == 0 ? "" : " UNION ALL ", i);
		store_put(s, "{outbox} {index} WHERE published_at IS NULL "
		    "AND ");
		parts = put_label_is(s, r->label, part);
		if (r->after > 0)
			buf_printf(&s->sql, " AND global_sequence > %llu",
			    (unsigned long long)r->after);
		buf_printf(&s->sql, " ORDER BY global_sequence LIMIT %zu)",
		    r->limit);
	} while (++part < parts);
}

static int
candidate_cmp(const void *a, const void *b)
{
	const struct candidate	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

int
store_candidates(struct store *s, const struct range *ranges, size_t n,
    struct candidate **out, size_t *nout, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "");
	for (size_t i = 0; i < n; i++)
		put_range(s, &ranges[i], i);
	if ((rows = store_query(s, "candidates", e)) == NULL)
		return -1;
	*out = xcalloc(db_nrows(rows) + 1, sizeof(**out));
	for (*nout = 0; db_next(rows); (*nout)++) {
		(*out)[*nout].range = (unsigned)db_u64(rows, 0);
		(*out)[*nout].sequence = db_u64(rows, 1);
	}
	db_rows_free(rows);
	qsort(*out, *nout, sizeof(**out), candidate_cmp);
	return 0;
}

static void
put_fence(struct store *s, const struct range *ranges, size_t n)
{
	store_put(s, " AND p.lease_owner = {me} AND p.lease_until > NOW(6) "
	    "AND (p.partition_key, p.lease_epoch) IN (");
	for (size_t i = 0; i < n; i++) {
		buf_str(&s->sql, i == 0 ? "(" : ",(");
		db_quote(s->db, &s->sql, ranges[i].label,
		    strlen(ranges[i].label));
		buf_str(&s->sql, ",");
		buf_u64(&s->sql, ranges[i].epoch);
		buf_str(&s->sql, ")");
	}
	buf_str(&s->sql, ")");
}

static void
put_claim(struct store *s, const struct range *ranges, size_t nranges,
    const uint64_t *sequences, size_t n, const char *token)
{
	bool	fenced = s->conf->worker.leasing;

	store_sql(s, "UPDATE {outbox} AS o FORCE INDEX (PRIMARY) ");
	if (fenced)
		store_put(s, "STRAIGHT_JOIN {partitions} AS p "
		    "FORCE INDEX (PRIMARY) "
		    "ON p.partition_key = COALESCE(o.partition_key, '') ");
	store_put(s, "SET o.available_at = {now}");
	store_put_interval(s, s->conf->worker.claim_ttl);
	buf_printf(&s->sql, ", o.claim_token = '%s' "
	    "WHERE o.global_sequence IN (", token);
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	put_is_free(s);
	if (fenced)
		put_fence(s, ranges, nranges);
}

int
store_claim(struct store *s, const struct range *ranges, size_t nranges,
    const uint64_t *sequences, size_t n, struct batch *b, uint64_t *claimed,
    struct err *e)
{
	snprintf(b->token, sizeof(b->token), "%s-%x", ident_nonce(s->id),
	    ++s->claims);
	put_claim(s, ranges, nranges, sequences, n, b->token);
	b->claimed_at = clock_ms();
	return store_exec(s, "claim", claimed, e);
}

enum fetch_col {
	F_SEQUENCE, F_PARTITION, F_ATTEMPTS, F_EVENT, F_KEY, F_STREAM_SEQUENCE,
	F_TYPE, F_VERSION, F_CORRELATION, F_METADATA, F_PAYLOAD, F_TIME
};

static struct bytes
col(const struct db_rows *rows, unsigned i)
{
	struct bytes	b = { db_text(rows, i), 0 };

	if (b.data != NULL)
		b.len = db_length(rows, i);
	return b;
}

static void
read_msg(struct msg *m, const struct db_rows *rows)
{
	m->sequence = db_u64(rows, F_SEQUENCE);
	m->partition = col(rows, F_PARTITION);
	m->attempts = (unsigned)db_u64(rows, F_ATTEMPTS);
	m->has_event = db_text(rows, F_EVENT) != NULL;
	m->key = col(rows, F_KEY);
	m->stream_sequence = col(rows, F_STREAM_SEQUENCE);
	m->type = col(rows, F_TYPE);
	m->version = col(rows, F_VERSION);
	m->correlation = col(rows, F_CORRELATION);
	m->metadata = col(rows, F_METADATA);
	m->payload = col(rows, F_PAYLOAD);
	m->time = col(rows, F_TIME);
}

static int
msg_cmp(const void *a, const void *b)
{
	const struct msg	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void
free_rows(void *rows)
{
	db_rows_free(rows);
}

int
store_fetch(struct store *s, const uint64_t *sequences, size_t n,
    struct batch *b, struct err *e)
{
	struct db_rows	*rows;

	/* A row without its event is fetched too: it must not vanish. */
	store_sql(s, "SELECT o.global_sequence, o.partition_key, o.attempts, "
	    "e.sequence, e.stream_id, e.stream_sequence, e.event_type, "
	    "e.event_version, e.correlation_id, e.metadata, e.event_data, "
	    "e.occurred_at FROM {outbox} AS o FORCE INDEX (PRIMARY) "
	    "LEFT JOIN {events} AS e ON e.sequence = o.global_sequence "
	    "WHERE o.global_sequence IN (");
	store_put_list(s, sequences, n);
	buf_printf(&s->sql, ") AND o.claim_token = '%s'", b->token);
	if ((rows = store_query(s, "fetch", e)) == NULL)
		return -1;
	b->rows = rows;
	b->free_rows = free_rows;
	b->msgs = xcalloc(db_nrows(rows) + 1, sizeof(*b->msgs));
	for (b->n = 0; db_next(rows); b->n++)
		read_msg(&b->msgs[b->n], rows);
	qsort(b->msgs, b->n, sizeof(*b->msgs), msg_cmp);
	return 0;
}

int
store_waiting(struct store *s, const uint64_t *sequences, size_t n,
    struct waiting_list *list, struct err *e)
{
	struct db_rows	*rows;

	memset(list, 0, sizeof(*list));
	store_sql(s, "SELECT o.global_sequence, o.partition_key, e.stream_id, "
	    "o.published_at IS NULL, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, "
	    "NOW(6), o.available_at) + 999) DIV 1000, "
	    "o.claim_token IS NOT NULL "
	    "FROM {outbox} AS o FORCE INDEX (PRIMARY) "
	    "LEFT JOIN {events} AS e ON e.sequence = o.global_sequence "
	    "WHERE o.global_sequence IN (");
	store_put_list(s, sequences, n);
	buf_str(&s->sql, ")");
	if ((rows = store_query(s, "waiting", e)) == NULL)
		return -1;
	list->rows = rows;
	list->items = xcalloc(db_nrows(rows) + 1, sizeof(*list->items));
	for (; db_next(rows); list->n++) {
		struct waiting *w = &list->items[list->n];

		w->sequence = db_u64(rows, 0);
		w->partition = col(rows, 1);
		w->key = col(rows, 2);
		w->pending = db_u64(rows, 3) != 0;
		w->due_ms = (int64_t)db_u64(rows, 4);
		w->claimed = db_u64(rows, 5) != 0;
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

static int
write_delivered(struct store *s, const struct batch *b, uint64_t *matched,
    struct err *e)
{
	store_sql(s, "UPDATE {outbox} FORCE INDEX (PRIMARY) "
	    "SET published_at = {now}, claim_token = NULL");
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
put_dead_values(struct store *s, const struct msg *m)
{
	struct buf	*q = &s->sql;

	buf_printf(q, "(%llu, ", (unsigned long long)m->sequence);
	for (int i = 0; i < 3; i++) {
		const struct bytes *v = i == 0 ? &m->partition :
		    i == 1 ? &m->key : &m->type;

		if (v->data == NULL)
			buf_str(q, "NULL");
		else
			db_quote(s->db, q, v->data, v->len);
		buf_str(q, ", ");
	}
	buf_printf(q, "%u, '%s', ", m->attempts + 1, m->reason);
	db_quote(s->db, q, m->error, strlen(m->error));
	buf_str(q, ")");
}

/* The dead letters of those that the token still holds, in one statement. */
static int
insert_dead(struct store *s, const struct batch *b, const uint64_t *held,
    size_t nheld, struct err *e)
{
	size_t	n = 0;

	store_sql(s, "INSERT INTO {dead} (global_sequence, partition_key, "
	    "order_key, event_type, attempts, reason, last_error) VALUES ");
	for (size_t i = 0, h = 0; i < b->n && h < nheld; i++) {
		if (b->msgs[i].sequence != held[h])
			continue;
		h++;
		buf_str(&s->sql, n++ == 0 ? "" : ",");
		put_dead_values(s, &b->msgs[i]);
	}
	/* A row that was brought back by hand may die a second time. */
	buf_str(&s->sql, " ON DUPLICATE KEY UPDATE attempts = VALUES(attempts),"
	    " reason = VALUES(reason), last_error = VALUES(last_error)");
	return store_exec(s, "bury", NULL, e);
}

static int
lock_dead(struct store *s, const struct batch *b, uint64_t *held,
    size_t *nheld, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT global_sequence FROM {outbox} "
	    "FORCE INDEX (PRIMARY)");
	put_held(s, b, OUT_DEAD);
	buf_str(&s->sql, " ORDER BY global_sequence FOR UPDATE");
	if ((rows = store_query(s, "bury", e)) == NULL)
		return -1;
	for (*nheld = 0; db_next(rows); (*nheld)++)
		held[*nheld] = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

static int
bury(struct store *s, const struct batch *b, uint64_t *matched, struct err *e)
{
	uint64_t	*held = xcalloc(b->n, sizeof(*held));
	size_t		 nheld;
	int		 rc;

	rc = lock_dead(s, b, held, &nheld, e);
	if (rc == 0 && nheld > 0)
		rc = insert_dead(s, b, held, nheld, e);
	free(held);
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
	struct err	ignored;

	if (simple(s, "START TRANSACTION", e) < 0)
		return -1;
	if (bury(s, b, matched, e) == 0 && simple(s, "COMMIT", e) == 0)
		return 0;
	if (store_is_open(s) && simple(s, "ROLLBACK", &ignored) < 0)
		store_close(s);
	return -1;
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
	unsigned	 bit = 1u << k->outcome, doubt = bit << 8;
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
	*counter = (done->done & doubt) ? want : matched;
	done->fenced += want - *counter;
	return 0;
}

int
store_settle(struct store *s, const struct batch *b, struct settled *done,
    struct err *e)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (settle_kind(s, b, &kinds[i], done, e) < 0)
			return -1;
	return 0;
}
