/*
 * kway_merge.c - see kway_merge.h
 *
 * The claim's index has waiting rows by label, and parked rows have labels of
 * their own: each label is a range in sequence order.  The merge needs the
 * first entry of every range; further entries are read ahead from the ranges
 * with the lowest heads.
 */

#include "ctl/base/kway_merge.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "util/printable.h"
#include "ctl/base/cursor.h"
#include "util/xalloc.h"

/* Entries of a range that are read first; then twice as many each time. */
#define FIRST_FEW	1

/* The waiting rows of one label. */
struct part {
	char		*label;		/* NULL: SQL NULL */
	size_t		 len;		/* it may contain NUL */
	uint64_t	*rows;		/* read; next to return: at */
	size_t		 n, at, per;
	uint64_t	 last;		/* last sequence read */
	bool		 ended;
};

struct kway_merge {
	struct ctl	*c;
	struct part	*parts;
	size_t		 nparts;
};

static struct part *
add_merge_part(struct kway_merge *m, const char *label, size_t len)
{
	m->parts = xreallocarray(m->parts, m->nparts + 1, sizeof(*m->parts));
	m->parts[m->nparts] = (struct part){ .last = m->c->args.after,
	    .len = len, .label = label == NULL ? NULL :
	    memcpy(xcalloc(len + 1, 1), label, len) };
	return &m->parts[m->nparts++];
}

static void
add_part_row(struct part *p, uint64_t sequence)
{
	p->rows = xreallocarray(p->rows, p->n + 1, sizeof(*p->rows));
	p->rows[p->n++] = sequence;
	p->last = sequence;
}

/* Send the prepared SELECT of labels, and add a part for each. */
static int
add_parts(struct kway_merge *m, struct err *e)
{
	struct db_rows	*rows = store_query(m->c->store, "labels", e);

	if (rows == NULL)
		return -1;
	while (db_next(rows))
		add_merge_part(m, db_nullable(rows, 0), db_nullable(rows, 0) == NULL ?
		    0 : db_length(rows, 0));
	db_rows_free(rows);
	return 0;
}

/* The labels of one partition: its own, and those of its parked rows. */
static int
add_parts_of(struct kway_merge *m, const char *partition, struct err *e)
{
	struct store	*s = m->c->store;
	struct buf	 bytes = { 0 };

	add_merge_part(m, partition, strlen(partition));
	if (printable_parse_hex(&bytes, partition))
		add_merge_part(m, bytes.len == 0 ? "" : bytes.data, bytes.len);
	if (partition[0] == '\0')
		add_merge_part(m, NULL, 0);
	buf_free(&bytes);
	if (!store_has(s, T_BLOCKED))
		return 0;
	if (store_can_schedule(s)) {
		/* Those of its messages that have a time of their own. */
		store_sql(s, "SELECT DISTINCT {partition_key} FROM {outbox} "
		    "{index} WHERE {published_at} IS NULL AND "
		    "{partition_key} > '!@' AND {partition_key} < '!A' AND ");
		store_put_home_label(s, "{partition_key}");
		filter_put_in_label(s, partition);
		if (add_parts(m, e) < 0)
			return -1;
	}
	store_sql(s, "SELECT " PARKED_LABEL("first_sequence")
	    " FROM {blocked} WHERE partition_key");
	filter_put_in_label(s, partition);
	return add_parts(m, e);
}

/*
 * Read the next few rows after the last label; *n is their number.  A row with
 * a new label starts a part and ends the one before.  If the column's collation
 * is not binary, spellings of one label share a range: only the part of the
 * last spelling is read further, and gets the rows of all.
 */
static int
jump(struct kway_merge *m, size_t few, size_t *n, struct err *e)
{
	struct store	*s = m->c->store;
	struct part	*p = &m->parts[m->nparts - 1];
	struct db_rows	*rows;
	bool		 first = true;

	store_sql(s, "SELECT {partition_key}, {global_sequence} FROM {outbox} "
	    "{index} WHERE {published_at} IS NULL AND {partition_key} > ");
	store_put_bytes(s, p->label, p->len);
	store_putf(s, " ORDER BY {partition_key}, {global_sequence} LIMIT %zu",
	    few);
	if ((rows = store_query(s, "labels", e)) == NULL)
		return -1;
	*n = db_nrows(rows);
	for (; db_next(rows); first = false) {
		const char	*label = db_text(rows, 0);
		size_t		 len = db_length(rows, 0);

		if (first || p->label == NULL || p->len != len ||
		    memcmp(p->label, label, len) != 0) {
			p->ended = !first;
			p = add_merge_part(m, label, len);
		}
		if (db_u64(rows, 1) > m->c->args.after)
			add_part_row(p, db_u64(rows, 1));
	}
	db_rows_free(rows);
	return 0;
}

/*
 * Find all labels of waiting rows, known or not, by jumps from one to the next.
 * With SELECT DISTINCT MariaDB would read all waiting rows if it estimates few
 * rows per label.
 */
static int
jump_all(struct kway_merge *m, struct err *e)
{
	size_t	few = FIRST_FEW, n, before;

	for (;;) {
		before = m->nparts;
		if (jump(m, few, &n, e) < 0)
			return -1;
		if (n < few)
			return 0;
		/* Each row may have its own label, as parked heads do. */
		few = m->nparts - before < n ? FIRST_FEW :
		    few > CURSOR_PAGE / 2 ? CURSOR_PAGE : 2 * few;
	}
}

static int
find_parts(struct kway_merge *m, struct err *e)
{
	struct store	*s = m->c->store;

	if (m->c->args.partition != NULL)
		return add_parts_of(m, m->c->args.partition, e);
	add_merge_part(m, NULL, 0);
	add_merge_part(m, "", 0);
	if (store_index(s) == INDEX_BY_TIME)
		return jump_all(m, e);
	/* Here a jump over a label would read all its rows. */
	store_sql(s, "SELECT partition_key FROM {partitions} "
	    "WHERE partition_key <> ''");
	if (store_has(s, T_BLOCKED))
		store_put(s, " UNION ALL SELECT "
		    PARKED_LABEL("first_sequence") " FROM {blocked}");
	return add_parts(m, e);
}

static bool
is_part_empty(const struct part *p)
{
	return p->at == p->n && !p->ended;
}

static int
head_cmp(const void *a, const void *b)
{
	const struct part	*x = *(struct part *const *)a;
	const struct part	*y = *(struct part *const *)b;
	uint64_t		 p = x->rows[x->at], q = y->rows[y->at];

	return p < q ? -1 : p > q;
}

/*
 * Choose the ranges to read next: those without a row, then those with one row,
 * the lowest first, up to max; so one statement serves many ranges.
 */
static size_t
choose_to_read(struct kway_merge *m, struct part **chosen, size_t max)
{
	size_t	n, nempty = 0;

	for (size_t i = 0; i < m->nparts; i++)
		if (is_part_empty(&m->parts[i]))
			chosen[nempty++] = &m->parts[i];
	n = nempty;
	for (size_t i = 0; i < m->nparts; i++) {
		struct part *p = &m->parts[i];

		if (p->at + 1 == p->n && !p->ended)
			chosen[n++] = p;
	}
	if (n > nempty)
		qsort(chosen + nempty, n - nempty, sizeof(*chosen), head_cmp);
	if (max > STORE_RANGES)
		max = STORE_RANGES;
	return n <= max ? n : nempty > max ? nempty : max;
}

static void
put_part(struct store *s, const struct part *p, size_t i)
{
	store_putf(s, "%s(SELECT %zu, {global_sequence} FROM ",
	    i == 0 ? "" : " UNION ALL ", i);
	store_put(s, "{outbox} {index} WHERE {published_at} IS NULL AND ");
	if (p->label == NULL)
		store_put(s, "{partition_key} IS NULL");
	else {
		store_put(s, "{partition_key} = ");
		store_put_bytes(s, p->label, p->len);
	}
	store_putf(s, " AND {global_sequence} > %llu ORDER BY "
	    "{global_sequence} "
	    "LIMIT %zu)", (unsigned long long)p->last, p->per);
}

static int
read_merge_parts(struct kway_merge *m, struct part **parts, size_t n,
    struct err *e)
{
	size_t		 came[STORE_RANGES] = { 0 };
	struct db_rows	*rows;

	store_sql(m->c->store, "");
	for (size_t i = 0; i < n; i++) {
		struct part *p = parts[i];

		put_part(m->c->store, p, i);
		p->n -= p->at;
		if (p->n > 0)
			memmove(p->rows, p->rows + p->at,
			    p->n * sizeof(*p->rows));
		p->at = 0;
	}
	if ((rows = store_query(m->c->store, "waiting", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		size_t i = (size_t)db_u64(rows, 0);

		add_part_row(parts[i], db_u64(rows, 1));
		came[i]++;
	}
	db_rows_free(rows);
	/* Fewer than asked for: the range has ended. */
	for (size_t i = 0; i < n; i++) {
		struct part *p = parts[i];

		p->ended = came[i] < p->per;
		p->per = p->per > CURSOR_PAGE / 2 ? CURSOR_PAGE : 2 * p->per;
	}
	return 0;
}

static int
refill(struct kway_merge *m, size_t max, struct err *e)
{
	struct part	**parts = xcalloc(m->nparts + 1, sizeof(*parts));
	size_t		  n = choose_to_read(m, parts, max);
	int		  rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i += STORE_RANGES)
		rc = read_merge_parts(m, parts + i,
		    n - i < STORE_RANGES ? n - i : STORE_RANGES, e);
	free(parts);
	return rc;
}

/* The part with the lowest sequence; *unknown: a part must be read first. */
static struct part *
lowest(struct kway_merge *m, bool *unknown)
{
	struct part	*best = NULL;

	for (size_t i = 0; i < m->nparts; i++) {
		struct part *p = &m->parts[i];

		if ((*unknown = is_part_empty(p)))
			return NULL;
		if (p->at < p->n && (best == NULL ||
		    p->rows[p->at] < best->rows[best->at]))
			best = p;
	}
	return best;
}

int
kway_merge_next(struct kway_merge *m, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	struct part	*p;
	bool		 unknown = false;

	for (*n = 0; *n < max; ) {
		if ((p = lowest(m, &unknown)) != NULL)
			out[(*n)++] = p->rows[p->at++];
		else if (!unknown)
			break;
		else if (refill(m, max - *n, e) < 0)
			return -1;
	}
	return 0;
}

struct kway_merge *
kway_merge_new(struct ctl *c, struct err *e)
{
	struct kway_merge	*m = xcalloc(1, sizeof(*m));
	size_t			 share;

	m->c = c;
	if (find_parts(m, e) < 0) {
		kway_merge_free(m);
		return NULL;
	}
	/* For a short list a few rows of each label are enough. */
	share = m->nparts == 0 ? 0 : 2 * (size_t)c->args.limit / m->nparts;
	if (share < FIRST_FEW)
		share = FIRST_FEW;
	for (size_t i = 0; i < m->nparts; i++)
		m->parts[i].per = share < CURSOR_PAGE ? share : CURSOR_PAGE;
	return m;
}

void
kway_merge_free(struct kway_merge *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->nparts; i++) {
		free(m->parts[i].label);
		free(m->parts[i].rows);
	}
	free(m->parts);
	free(m);
}
