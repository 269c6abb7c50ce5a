/*
 * store_change.c - another partition count, and no key out of order
 *
 * Producers hold the row of settings, shared, from before they number their
 * event until they commit.  Who holds it alone therefore knows the last event
 * of the former count, the boundary, and that no row up to it is still to
 * come.  Few rows that wait below it get their new label at once, and there
 * is nothing to wait for; many go first.
 *
 * A key has all its waiting rows up to the boundary under one label and those
 * above it under another.  What is parked goes with the record of its key.
 */

#include "store_impl.h"

#include <stdlib.h>

#include "log.h"
#include "xalloc.h"

/*
 * What is left
 */

struct left {
	struct range	*ranges;
	size_t		 nranges;
	uint64_t	*list;
	size_t		 n;
};

static void
free_left(struct left *l)
{
	for (size_t i = 0; i < l->nranges; i++)
		free((char *)(uintptr_t)l->ranges[i].label);
	free(l->ranges);
	free(l->list);
	*l = (struct left){ 0 };
}

static int
read_ranges(struct store *s, struct left *l, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT partition_key FROM {partitions}");
	if ((rows = store_query(s, "change", e)) == NULL)
		return -1;
	l->ranges = xcalloc(db_nrows(rows) + 1, sizeof(*l->ranges));
	while (db_next(rows))
		if (store_is_counted(db_text(rows, 0)))
			l->ranges[l->nranges++].label =
			    xstrdup(db_text(rows, 0));
	db_rows_free(rows);
	return 0;
}

static bool
is_any_full(const struct candidate *c, size_t n, size_t limit)
{
	size_t	used[STORE_RANGES] = { 0 };

	for (size_t i = 0; i < n; i++)
		if (++used[c[i].range] == limit)
			return true;
	return false;
}

/*
 * The rows of some ranges, or max of them: asked for less of each at first,
 * so that never much more is read.
 */
static int
list_chunk(struct store *s, struct left *l, struct range *r, size_t n,
    size_t max, struct err *e)
{
	struct candidate	*c;
	size_t			 limit = max / n + 1, found;

	for (;; limit *= 2) {
		for (size_t i = 0; i < n; i++)
			r[i].limit = limit;
		if (store_candidates(s, r, n, &c, &found, e) < 0)
			return -1;
		if (found >= max || !is_any_full(c, found, limit))
			break;
		free(c);
	}
	for (size_t i = 0; i < found && i < max; i++)
		l->list[l->n++] = c[i].sequence;
	free(c);
	return 0;
}

/* At most max of the rows up to the boundary, in no order. */
static int
list_rows(struct store *s, struct left *l, uint64_t boundary, size_t max,
    struct err *e)
{
	uint64_t	known = s->boundary;
	int		rc = 0;

	l->list = xcalloc(max + 1, sizeof(*l->list));
	s->boundary = boundary;
	for (size_t i = 0; rc == 0 && i < l->nranges && l->n < max;
	    i += STORE_RANGES)
		rc = list_chunk(s, l, l->ranges + i,
		    l->nranges - i < STORE_RANGES ? l->nranges - i :
		    STORE_RANGES, max - l->n, e);
	s->boundary = known;
	return rc;
}

static int
list_left(struct store *s, struct left *l, uint64_t boundary, size_t max,
    struct err *e)
{
	*l = (struct left){ 0 };
	if (read_ranges(s, l, e) == 0 &&
	    list_rows(s, l, boundary, max, e) == 0)
		return 0;
	free_left(l);
	return -1;
}

/*
 * In partition order a lane is a label: there is no key to follow, and all
 * has to be gone.
 */
static int
count_stuck(struct store *s, size_t *n, struct err *e)
{
	struct db_rows	*rows;

	*n = 0;
	if (s->conf->outbox.ordering != ORDER_PARTITION ||
	    !s->exists[T_BLOCKED])
		return 0;
	store_sql(s, "(SELECT 1 FROM {outbox} {index} WHERE published_at IS "
	    "NULL AND partition_key > '!' AND partition_key < '!a' LIMIT 1) "
	    "UNION ALL (SELECT 1 FROM {blocked} WHERE reason = '" STORE_HALTED
	    "' LIMIT 1)");
	if ((rows = store_query(s, "change", e)) == NULL)
		return -1;
	*n = db_nrows(rows);
	db_rows_free(rows);
	return 0;
}

size_t
store_movable(const struct store *s)
{
	return s->conf->outbox.ordering == ORDER_PARTITION ? 0 : STORE_MOVABLE;
}

int
store_change_left(struct store *s, size_t max, size_t *n, struct err *e)
{
	struct left	l;
	size_t		stuck;

	*n = 0;
	if (!store_is_bounded(s))
		return 0;
	if (list_left(s, &l, s->boundary, max, e) < 0 ||
	    count_stuck(s, &stuck, e) < 0)
		return -1;
	*n = l.n + stuck;
	free_left(&l);
	return 0;
}

/*
 * The end
 */

/*
 * Rows in the order of claims and before the leases, or a claim that has the
 * one and waits for the other would be in our way, and we in its.
 */
static int
lock_rows(struct store *s, const struct left *l, struct err *e)
{
	struct db_rows	*rows;

	if (l->n == 0)
		return 0;
	store_sql(s, "SELECT global_sequence FROM {outbox} FORCE INDEX "
	    "(PRIMARY) WHERE global_sequence IN (");
	store_put_list(s, l->list, l->n);
	buf_str(&s->sql, ") FOR UPDATE");
	if ((rows = store_query(s, "change", e)) == NULL)
		return -1;
	db_rows_free(rows);
	return 0;
}

static int
raise_all(struct store *s, struct err *e)
{
	store_sql(s, "UPDATE {partitions} SET lease_epoch = lease_epoch + 1, "
	    "updated_at = {now}");
	return store_exec(s, "change", NULL, e);
}

static int
move_rows(struct store *s, const struct left *l, const struct counts *c,
    struct err *e)
{
	if (l->n == 0)
		return 0;
	store_sql(s, "UPDATE {outbox} AS o FORCE INDEX (PRIMARY) "
	    "STRAIGHT_JOIN {events} AS e FORCE INDEX (PRIMARY) "
	    "ON e.sequence = o.global_sequence SET o.partition_key = ");
	store_put_label(s, c, "e.stream_id", "o.global_sequence");
	/* What the lease of the former label knew of them. */
	if (store_marks_leases(s))
		store_put(s, ", o.unsure_since = IF(o.claim_token IS NULL, "
		    "COALESCE(o.unsure_since, (SELECT MIN(IF(p.unsure_since > "
		    "NOW(6), '" STORE_EVER "', p.unsure_since)) "
		    "FROM {partitions} AS p)), o.unsure_since)");
	buf_str(&s->sql, " WHERE o.published_at IS NULL AND o.partition_key"
	    STORE_COUNTED " AND o.global_sequence IN (");
	store_put_list(s, l->list, l->n);
	buf_str(&s->sql, ")");
	return store_exec(s, "change", NULL, e);
}

/* Whoever owns the key's new partition finds what waits, and halts. */
static int
move_records(struct store *s, const struct counts *c, struct err *e)
{
	if (!s->exists[T_BLOCKED] || s->conf->outbox.ordering != ORDER_KEY)
		return 0;
	store_sql(s, "UPDATE {blocked} AS b LEFT JOIN {events} AS e "
	    "ON e.sequence = b.first_sequence SET b.partition_key = ");
	store_put_label(s, c, STORE_KEY_OF("e.stream_id", "b.order_key"),
	    "b.first_sequence");
	buf_str(&s->sql, " WHERE b.order_key IS NOT NULL AND b.partition_key"
	    STORE_COUNTED);
	return store_exec(s, "change", NULL, e);
}

/* The first list was made before the lock: what has come back is new in it. */
static int
move(struct store *s, struct counts *c, bool *over, struct err *e)
{
	struct counts	 after = { .count = c->count };
	struct left	 l;
	size_t		 stuck = 0;
	int		 rc;

	if (list_left(s, &l, c->boundary, STORE_MOVABLE + 1, e) < 0)
		return -1;
	rc = count_stuck(s, &stuck, e);
	*over = rc == 0 && l.n <= store_movable(s) && stuck == 0;
	if (*over)
		rc = move_rows(s, &l, &after, e);
	if (rc == 0 && *over)
		rc = move_records(s, &after, e);
	if (rc == 0 && *over)
		c->boundary = 0;
	free_left(&l);
	return rc;
}

/*
 * Raises all epochs if there is a reason: a change begins, or it is nearly
 * over.
 */
static int
try_to_end(struct store *s, bool begun, struct counts *c, bool *over,
    struct err *e)
{
	struct left	l;
	bool		few;
	int		rc;

	*over = false;
	if (list_left(s, &l, c->boundary, STORE_MOVABLE + 1, e) < 0)
		return -1;
	few = l.n <= store_movable(s);
	rc = few ? lock_rows(s, &l, e) : 0;
	free_left(&l);
	if (rc == 0 && (few || begun))
		rc = raise_all(s, e);
	return rc < 0 || !few ? rc : move(s, c, over, e);
}

/*
 * The beginning
 */

/* An event may be archived while its row is kept.  Never 0. */
static int
read_newest(struct store *s, uint64_t *newest, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT GREATEST(1, COALESCE((SELECT MAX(sequence) FROM "
	    "{events}), 0), COALESCE((SELECT MAX(global_sequence) FROM "
	    "{outbox}), 0))");
	if ((rows = store_query(s, "change", e)) == NULL)
		return -1;
	db_next(rows);
	*newest = db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

static int
is_paused(struct store *s, bool *paused, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT 1 FROM {partitions} WHERE lease_owner = '"
	    STORE_PAUSED "' LIMIT 1");
	if ((rows = store_query(s, "change", e)) == NULL)
		return -1;
	*paused = db_nrows(rows) > 0;
	db_rows_free(rows);
	return 0;
}

/* Without an order nothing has to go first. */
static int
begin(struct store *s, struct change *ch, struct err *e)
{
	struct counts	*c = &ch->counts;

	if (is_paused(s, &ch->paused, e) < 0)
		return -1;
	if (ch->paused)
		return 0;
	c->former = c->count;
	c->count = c->wanted;
	c->wanted = 0;
	ch->begun = true;
	if (store_fill_partitions(s, c->count, e) < 0)
		return -1;
	if (s->conf->outbox.ordering == ORDER_NONE)
		return 0;
	return read_newest(s, &c->boundary, e);
}

static int
write_counts(struct store *s, const struct counts *c, struct err *e)
{
	store_sql(s, "UPDATE {settings} SET updated_at = {now}, ");
	buf_printf(&s->sql, "partition_count = %u, former_count = "
	    "NULLIF(%u, 0), wanted_count = NULLIF(%u, 0), boundary = "
	    "NULLIF(%llu, 0) WHERE id = 1", c->count, c->former, c->wanted,
	    (unsigned long long)c->boundary);
	return store_exec(s, "change", NULL, e);
}

/* What can be done now, with the row of settings locked. */
static int
proceed(struct store *s, unsigned wish, struct change *ch, struct err *e)
{
	struct counts	*c = &ch->counts;
	bool		 over = false;

	if (wish != 0)
		c->wanted = wish;
	if (c->boundary != 0 && try_to_end(s, false, c, &over, e) < 0)
		return -1;
	ch->over = over;
	if (c->wanted == c->count)
		c->wanted = 0;
	if (c->boundary != 0 || c->wanted == 0)
		return 0;
	if (begin(s, ch, e) < 0)
		return -1;
	if (c->boundary != 0 && try_to_end(s, true, c, &over, e) < 0)
		return -1;
	ch->over = ch->over || (ch->begun && c->boundary == 0);
	return 0;
}

static bool
is_same(const struct counts *a, const struct counts *b)
{
	return a->count == b->count && a->former == b->former &&
	    a->wanted == b->wanted && a->boundary == b->boundary;
}

static int
locked(struct store *s, unsigned wish, struct change *ch, struct err *e)
{
	struct counts	before;

	if (store_lock_settings(s, &ch->counts, e) < 0)
		return -1;
	before = ch->counts;
	if (before.count == 0)		/* not filled yet */
		return 0;
	if (proceed(s, wish, ch, e) < 0)
		return -1;
	return is_same(&before, &ch->counts) ? 0 :
	    write_counts(s, &ch->counts, e);
}

/* Tables without the columns: the count changes, and that is all. */
static int
overwrite(struct store *s, unsigned wish, struct change *ch, struct err *e)
{
	if (store_read_counts(s, &ch->counts, e) < 0)
		return -1;
	if (wish == 0 || wish == ch->counts.count || ch->counts.count == 0)
		return 0;
	store_sql(s, "UPDATE {settings} SET updated_at = {now}, ");
	buf_printf(&s->sql, "partition_count = %u WHERE id = 1", wish);
	if (store_exec(s, "change", NULL, e) < 0 ||
	    store_fill_partitions(s, wish, e) < 0)
		return -1;
	log_warn("partition count changed from %u to %u: without the columns "
	    "boundary, former_count and wanted_count in %s a key that waits "
	    "may lose its order: outboxctl schema upgrade", ch->counts.count,
	    wish, s->tables[T_SETTINGS]);
	ch->counts.count = wish;
	ch->begun = ch->over = true;
	return 0;
}

static int
transact(struct store *s, unsigned wish, struct change *ch, struct err *e)
{
	if (store_begin(s, e) == 0 && locked(s, wish, ch, e) == 0 &&
	    store_commit(s, e) == 0)
		return 0;
	store_rollback(s);
	*ch = (struct change){ .busy = store_fault(s) == DB_BUSY };
	return ch->busy ? 0 : -1;
}

int
store_change(struct store *s, unsigned wish, struct change *ch,
    struct err *e)
{
	char		label[STORE_LABEL];
	unsigned	n;
	int		rc;

	*ch = (struct change){ 0 };
	if (!s->exists[T_SETTINGS])
		return 0;
	if (!store_can_change(s))
		return overwrite(s, wish, ch, e);
	/* Rows whose label has no lease would not be found. */
	do {
		if (store_adopt_strays(s, &n, label, e) < 0)
			return -1;
	} while (n > 0);
	if (store_hurry(s, true, e) < 0)
		return -1;
	rc = transact(s, wish, ch, e);
	return rc < 0 ? rc : store_hurry(s, false, e);
}
