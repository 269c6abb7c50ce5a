/*
 * kway_merge.c - see kway_merge.h
 *
 * The claim's index has waiting rows by label, and parked rows have labels of
 * their own: each label is a range in sequence order.  The merge reads the
 * first rows of every range; and more only of ranges that may have further rows
 * of the page that is wanted.
 */

#include "ctl/base/kway_merge.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "ctl/base/filter.h"
#include "util/printable.h"
#include "ctl/base/cursor.h"
#include "util/xalloc.h"

/* A label of waiting rows. */
struct label {
	char		*data;		/* NULL: SQL NULL */
	size_t		 len;		/* it may contain NUL */
	uint64_t	 last;		/* sequence read last; those up to
					   --after are taken for read */
	bool		 ended;
};

struct kway_merge {
	struct ctl	*c;
	struct label	*labels;
	size_t		 nlabels;
	uint64_t	*rows;		/* read, and not yet returned */
	size_t		 nrows;
	size_t		 few;		/* of a label; more for each page */
};

static struct label *
add_label(struct kway_merge *m, const char *data, size_t len)
{
	m->labels = xreallocarray(m->labels, m->nlabels + 1,
	    sizeof(*m->labels));
	m->labels[m->nlabels] = (struct label){ .last = m->c->args.after,
	    .len = len, .data = data == NULL ? NULL :
	    memcpy(xcalloc(len + 1, 1), data, len) };
	return &m->labels[m->nlabels++];
}

static void
add_row(struct kway_merge *m, struct label *l, uint64_t sequence)
{
	m->rows = xreallocarray(m->rows, m->nrows + 1, sizeof(*m->rows));
	m->rows[m->nrows++] = sequence;
	l->last = sequence;
}

/* Send the prepared SELECT of labels, and add them. */
static int
add_labels(struct kway_merge *m, struct err *e)
{
	struct db_rows	*rows = store_query(m->c->store, "labels", e);

	if (rows == NULL)
		return -1;
	while (db_next(rows))
		add_label(m, db_nullable(rows, 0), db_length(rows, 0));
	db_rows_free(rows);
	return 0;
}

/* The labels of one partition: its own, and those of its parked rows. */
static int
find_labels_of(struct kway_merge *m, const char *partition, struct err *e)
{
	struct store	*s = m->c->store;
	struct buf	 bytes = { 0 };

	add_label(m, partition, strlen(partition));
	if (printable_parse_hex(&bytes, partition))
		add_label(m, bytes.len == 0 ? "" : bytes.data, bytes.len);
	if (partition[0] == '\0')
		add_label(m, NULL, 0);
	buf_free(&bytes);
	if (store_is_pillar(s))
		return 0;
	if (store_can_schedule(s)) {
		/* Those of its messages that have a time of their own. */
		store_sql(s, "SELECT DISTINCT {partition_key} FROM {outbox} "
		    "{index} WHERE {published_at} IS NULL AND "
		    "{partition_key} > '!@' AND {partition_key} < '!A' "
		    "AND :home IN (:label)",
		    SQL_PUT("home", s, store_put_home_label(s,
		    SQL("{partition_key}"))),
		    SQL_PUT("label", s, filter_put_label(s, partition)));
		if (add_labels(m, e) < 0)
			return -1;
	}
	store_sql(s, "SELECT " PARKED_LABEL("first_sequence")
	    " FROM {blocked} WHERE partition_key IN (:label)",
	    SQL_PUT("label", s, filter_put_label(s, partition)));
	return add_labels(m, e);
}

/*
 * Find all labels of waiting rows, known or not, by jumps from one to the next:
 * each reads the next few rows after the last label.  With SELECT DISTINCT
 * MariaDB would read all waiting rows if it estimates few rows per label.
 *
 * A row with a new label adds it and ends the one before.  If the column's
 * collation is not binary, spellings of one label share a range: only the last
 * spelling is read further, and gets the rows of all.
 */
static int
jump_all(struct kway_merge *m, struct err *e)
{
	struct store	*s = m->c->store;
	struct db_rows	*rows;
	size_t		 n, before, few = 1;

	for (;;) {
		struct label	*l = &m->labels[m->nlabels - 1];
		bool		 first = true;

		before = m->nlabels;
		store_sql(s, "SELECT {partition_key}, {global_sequence} "
		    "FROM {outbox} {index} WHERE {published_at} IS NULL "
		    "AND {partition_key} > :label "
		    "ORDER BY {partition_key}, {global_sequence} LIMIT :few",
		    SQL_BYTES("label", l->data, l->len),
		    SQL_NUMBER("few", few));
		if ((rows = store_query(s, "labels", e)) == NULL)
			return -1;
		n = db_nrows(rows);
		for (; db_next(rows); first = false) {
			const char	*data = db_text(rows, 0);
			size_t		 len = db_length(rows, 0);

			if (first || l->data == NULL || l->len != len ||
			    memcmp(l->data, data, len) != 0) {
				l->ended = !first;
				l = add_label(m, data, len);
			}
			if (db_u64(rows, 1) > m->c->args.after)
				add_row(m, l, db_u64(rows, 1));
		}
		db_rows_free(rows);
		if (n < few)
			return 0;
		/* Each row may have its own label, as parked heads do. */
		few = m->nlabels - before < n ? 1 :
		    few > CURSOR_PAGE / 2 ? CURSOR_PAGE : 2 * few;
	}
}

static int
find_labels(struct kway_merge *m, struct err *e)
{
	struct store	*s = m->c->store;

	if (m->c->args.partition != NULL)
		return find_labels_of(m, m->c->args.partition, e);
	add_label(m, NULL, 0);
	add_label(m, "", 0);
	if (store_index(s) == INDEX_BY_TIME)
		return jump_all(m, e);
	/* Here a jump over a label would read all its rows. */
	store_sql(s, "SELECT partition_key FROM {partitions} "
	    "WHERE partition_key <> '':parked",
	    SQL_IF("parked", !store_is_pillar(s), " UNION ALL SELECT "
	    PARKED_LABEL("first_sequence") " FROM {blocked}"));
	return add_labels(m, e);
}

/* Read the next few rows of each of these labels. */
static int
read_labels(struct kway_merge *m, struct label **labels, size_t n, size_t few,
    struct err *e)
{
	struct store	*s = m->c->store;
	size_t		 came[STORE_RANGES] = { 0 };
	struct db_rows	*rows;

	store_sql(s, "");
	for (size_t i = 0; i < n; i++) {
		store_put(s, ":union(SELECT :i, {global_sequence} "
		    "FROM {outbox} {index} WHERE {published_at} IS NULL "
		    "AND {partition_key} :is :label "
		    "AND {global_sequence} > :last "
		    "ORDER BY {global_sequence} LIMIT :few)",
		    SQL_IF("union", i > 0, " UNION ALL "), SQL_NUMBER("i", i),
		    SQL_EITHER("is", labels[i]->data == NULL, "IS", "="),
		    SQL_BYTES("label", labels[i]->data, labels[i]->len),
		    SQL_NUMBER("last", labels[i]->last),
		    SQL_NUMBER("few", few));
	}
	if ((rows = store_query(s, "waiting", e)) == NULL)
		return -1;
	while (db_next(rows)) {
		size_t i = (size_t)db_u64(rows, 0);

		add_row(m, labels[i], db_u64(rows, 1));
		came[i]++;
	}
	db_rows_free(rows);
	for (size_t i = 0; i < n; i++)
		labels[i]->ended = came[i] < few;
	return 0;
}

/*
 * Read more of all labels that may have rows below this sequence, *n is their
 * number: so many rows that they fill the page, and then a few of each.
 */
static int
read_below(struct kway_merge *m, uint64_t until, size_t missing, size_t few,
    size_t *n, struct err *e)
{
	struct label	**chosen = xcalloc(m->nlabels, sizeof(*chosen));
	int		  rc = 0;

	*n = 0;
	for (size_t i = 0; i < m->nlabels; i++)
		if (!m->labels[i].ended && m->labels[i].last < until)
			chosen[(*n)++] = &m->labels[i];
	for (size_t i = 0; rc == 0 && i < *n; i += STORE_RANGES)
		rc = read_labels(m, chosen + i, *n - i < STORE_RANGES ?
		    *n - i : STORE_RANGES, few + missing / *n, e);
	free(chosen);
	return rc;
}

static int
sequence_cmp(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int
kway_merge_next(struct kway_merge *m, uint64_t *out, size_t max, size_t *n,
    struct err *e)
{
	size_t	more, missing, few = m->few;

	do {
		if (m->nrows > 0)
			qsort(m->rows, m->nrows, sizeof(*m->rows),
			    sequence_cmp);
		missing = m->nrows < max ? max - m->nrows : 0;
		if (read_below(m, missing > 0 ? UINT64_MAX :
		    m->rows[max - 1], missing, few, &more, e) < 0)
			return -1;
		few = few > CURSOR_PAGE / 2 ? CURSOR_PAGE : 2 * few;
	} while (more > 0);
	m->few = m->few > CURSOR_PAGE / 2 ? CURSOR_PAGE : 2 * m->few;
	*n = m->nrows < max ? m->nrows : max;
	m->nrows -= *n;
	if (m->rows != NULL) {
		memcpy(out, m->rows, *n * sizeof(*out));
		memmove(m->rows, m->rows + *n, m->nrows * sizeof(*m->rows));
	}
	return 0;
}

struct kway_merge *
kway_merge_new(struct ctl *c, struct err *e)
{
	struct kway_merge	*m = xcalloc(1, sizeof(*m));

	m->c = c;
	m->few = 1;
	if (find_labels(m, e) == 0)
		return m;
	kway_merge_free(m);
	return NULL;
}

void
kway_merge_free(struct kway_merge *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->nlabels; i++)
		free(m->labels[i].data);
	free(m->labels);
	free(m->rows);
	free(m);
}
