/*
 * store_candidates.c - read candidates: rows that wait
 *
 * Plain reads without locks: they see one moment, and the claim checks what is
 * still true.
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/*
 * The pause after a glance at all waiting rows that found too many, or that took
 * CROWDED_AFTER_MS, as old index entries at the head make it: CROWDED_MS, or
 * CROWDED_TIMES as long as the scan if that is more.
 */
#define CROWDED_MS	1000
#define CROWDED_AFTER_MS	20
#define CROWDED_TIMES	50

/*
 * The lease "" has two ranges: rows without a label, which Pillar writes when
 * its count is 1, and rows whose label is the empty text.
 */
static unsigned
put_label_is(struct store *s, const char *label, unsigned part)
{
	if (label[0] == '\0' && part == 0) {
		store_put(s, "{partition_key} IS NULL");
		return 2;
	}
	store_put(s, "{partition_key} = ");
	store_put_text(s, label);
	return 1;
}

/* o: the table's alias and a dot, or "". */
static void
put_waits_in(struct store *s, const char *o, const char *const *labels,
    size_t n)
{
	store_putf(s, "{%spublished_at} IS NULL AND ({%spartition_key} IN (",
	    o, o);
	store_put_labels(s, labels, n);
	buf_str(&s->sql, ")");
	for (size_t i = 0; i < n; i++)
		if (labels[i][0] == '\0')
			store_putf(s, " OR {%spartition_key} IS NULL", o);
	buf_str(&s->sql, ")");
}

void
store_put_rows_of(struct store *s, const char *const *labels, size_t n)
{
	store_put(s, " FROM {outbox} {index} WHERE ");
	put_waits_in(s, "", labels, n);
}

static int
candidate_cmp(const void *a, const void *b)
{
	const struct candidate	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

void
store_sort_candidates(struct candidate *list, size_t n)
{
	qsort(list, n, sizeof(*list), candidate_cmp);
}

/* From rows (range and sequence), sorted; those in no range are left out. */
static void
read_candidates(struct db_rows *rows, size_t nranges, struct candidate **out,
    size_t *n)
{
	*out = xcalloc(db_nrows(rows) + 1, sizeof(**out));
	for (*n = 0; db_next(rows); ) {
		uint64_t range = db_u64(rows, 0);

		if (range >= nranges)
			continue;
		(*out)[*n].range = (unsigned)range;
		(*out)[(*n)++].sequence = db_u64(rows, 1);
	}
	store_sort_candidates(*out, *n);
}

static void
list_range_labels(const struct range *ranges, size_t n, const char **labels)
{
	for (size_t i = 0; i < n; i++)
		labels[i] = ranges[i].label;
}

/* The server compares labels by its collation to find a row's range. */
static void
put_range_of(struct store *s, const char *o, const char *const *labels,
    size_t n)
{
	store_putf(s, "FIELD(COALESCE({%spartition_key}, ''), ", o);
	store_put_labels(s, labels, n);
	buf_str(&s->sql, ") - 1");
}

int
store_few(struct store *s, const struct range *ranges, size_t n,
    struct few *f, struct err *e)
{
	const char	*labels[STORE_RANGES];
	struct db_rows	*rows;

	memset(f, 0, sizeof(*f));
	list_range_labels(ranges, n, labels);
	store_sql(s, "SELECT ");
	put_range_of(s, "", labels, n);
	store_put(s, ", {global_sequence}");
	store_put_rows_of(s, labels, n);
	buf_printf(&s->sql, " LIMIT %d", STORE_FEW);
	if ((rows = store_query(s, "few rows", e)) == NULL)
		return -1;
	f->all = db_nrows(rows) < STORE_FEW;
	if (f->all)
		read_candidates(rows, n, &f->rows, &f->n);
	db_rows_free(rows);
	return 0;
}

/* A row with a claim comes without its event, and is left out. */
static void
add_ahead(const struct store *s, struct batch *ahead,
    const struct db_rows *rows, size_t max)
{
	struct msg	*m = &ahead->msgs[ahead->n];

	store_read_msg(s, m, rows, max);
	if (m->has_event && !m->away)
		ahead->n++;
}

static void
read_ahead(const struct store *s, struct db_rows *rows, size_t nranges,
    size_t max, struct few *f)
{
	struct batch	*ahead = &f->ahead;

	f->rows = xcalloc(db_nrows(rows) + 1, sizeof(*f->rows));
	ahead->msgs = xcalloc(db_nrows(rows) + 1, sizeof(*ahead->msgs));
	while (db_next(rows)) {
		uint64_t range = db_u64(rows, STORE_MSG_COLUMNS);

		if (range >= nranges)
			continue;
		f->rows[f->n].range = (unsigned)range;
		f->rows[f->n++].sequence = db_u64(rows, 0);
		add_ahead(s, ahead, rows, max);
	}
	store_sort_candidates(f->rows, f->n);
	batch_sort(ahead);
	store_keep_rows(ahead, rows);
}

static void
put_ahead(struct store *s, const struct range *ranges, size_t n, size_t max)
{
	const char	*labels[STORE_RANGES];

	list_range_labels(ranges, n, labels);
	store_sql(s, "SELECT ");
	store_put_msg(s, max);
	buf_str(&s->sql, ", ");
	put_range_of(s, "o.", labels, n);
	store_put_rows_and_events(s, "{index}",
	    " AND {o.claim_token} IS NULL");
	put_waits_in(s, "o.", labels, n);
	buf_printf(&s->sql, " LIMIT %d", STORE_FEW);
}

int
store_few_ahead(struct store *s, const struct range *ranges, size_t n,
    size_t max, struct few *f, struct err *e)
{
	struct db_rows	*rows;

	memset(f, 0, sizeof(*f));
	put_ahead(s, ranges, n, max);
	f->ahead.read_at = clock_us();
	if ((rows = store_query(s, "few rows ahead", e)) == NULL)
		return -1;
	f->all = db_nrows(rows) < STORE_FEW;
	if (f->all)
		read_ahead(s, rows, n, max, f);
	else
		db_rows_free(rows);
	return 0;
}

/*
 * A glance
 */

bool
store_may_glance(const struct store *s)
{
	return s->index_by_time && clock_ms() >= s->crowded_until;
}

static void
put_glance(struct store *s, size_t max)
{
	if (max == 0)
		store_sql(s, "SELECT {global_sequence}, {partition_key} "
		    "FROM {outbox} {index} WHERE {published_at} IS NULL");
	else {
		store_sql(s, "SELECT ");
		store_put_msg(s, max);
		store_put_rows_and_events(s, "{index}",
		    " AND {o.claim_token} IS NULL");
		store_put(s, "{o.published_at} IS NULL");
	}
	buf_printf(&s->sql, " LIMIT %d", STORE_FEW);
}

static void
read_glance(const struct store *s, struct db_rows *rows, size_t max,
    struct glance *g)
{
	struct batch	*ahead = &g->ahead;

	g->rows = xcalloc(db_nrows(rows) + 1, sizeof(*g->rows));
	ahead->msgs = xcalloc(db_nrows(rows) + 1, sizeof(*ahead->msgs));
	while (db_next(rows)) {
		g->rows[g->n++] = (struct glanced){ db_u64(rows, 0),
		    store_column(rows, 1) };
		if (max > 0)
			add_ahead(s, ahead, rows, max);
	}
	batch_sort(ahead);
	store_keep_rows(ahead, rows);
}

/* If there are too many, or old index entries are in the way, pause that. */
static void
note_crowd(struct store *s, const struct glance *g, int64_t took)
{
	if (!g->all || took >= CROWDED_AFTER_MS)
		s->crowded_until = clock_ms() +
		    later(took * CROWDED_TIMES, CROWDED_MS);
}

int
store_glance(struct store *s, size_t max, struct glance *g, struct err *e)
{
	struct db_rows	*rows;
	int64_t		 began = clock_ms();

	memset(g, 0, sizeof(*g));
	put_glance(s, max);
	g->ahead.read_at = clock_us();
	if ((rows = store_query(s, "glance", e)) == NULL)
		return -1;
	g->all = db_nrows(rows) < STORE_FEW;
	note_crowd(s, g, clock_ms() - began);
	if (g->all)
		read_glance(s, rows, max, g);
	else
		db_rows_free(rows);
	return 0;
}

/* One equality range: the index gives filter and order, nothing is sorted. */
static void
put_range(struct store *s, const struct range *r, size_t i)
{
	unsigned	part = 0, parts;

	do {
		store_putf(s, "%s(SELECT %zu, {global_sequence} FROM ",
		    s->sql.len == 0 ? "" : " UNION ALL ", i);
		store_put(s, "{outbox} {index} WHERE {published_at} IS NULL "
		    "AND ");
		parts = put_label_is(s, r->label, part);
		store_putf(s, " ORDER BY {global_sequence} LIMIT %zu)",
		    r->limit);
	} while (++part < parts);
}

/*
 * The label "" has two ranges in one: together they have no gaps only up to the
 * limit of each.
 */
static size_t
cut_ranges(struct candidate *c, size_t n, const struct range *ranges,
    size_t nranges)
{
	size_t	*taken = xcalloc(nranges + 1, sizeof(*taken)), kept = 0;

	for (size_t i = 0; i < n; i++)
		if (taken[c[i].range]++ < ranges[c[i].range].limit)
			c[kept++] = c[i];
	free(taken);
	return kept;
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
	read_candidates(rows, n, out, nout);
	db_rows_free(rows);
	*nout = cut_ranges(*out, *nout, ranges, n);
	return 0;
}
