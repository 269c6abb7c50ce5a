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

void
store_put_rows_of(struct store *s, const char *const *labels, size_t n)
{
	bool	none = false;

	for (size_t i = 0; i < n; i++)
		none = none || labels[i][0] == '\0';
	store_put(s, " FROM {outbox} {index} WHERE {published_at} IS NULL "
	    "AND ({partition_key} IN (:labels):none)",
	    SQL_LABELS("labels", labels, n),
	    SQL_IF("none", none, " OR {partition_key} IS NULL"));
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

/*
 * A glance
 */

bool
store_may_glance(const struct store *s)
{
	return s->index_by_time;
}

int
store_glance(struct store *s, size_t max, struct glance *g, struct err *e)
{
	struct batch	*ahead = &g->ahead;
	struct db_rows	*rows;
	struct msg	*m;

	memset(g, 0, sizeof(*g));
	/* Rows that are parked or scheduled have no lease and may be many. */
	store_sql(s, "SELECT :columns WHERE :leased"
	    "{o.published_at} IS NULL LIMIT :max",
	    SQL_EITHER("columns", max == 0,
	    "{o.global_sequence}, {o.partition_key} "
	    "FROM {outbox} AS o {index}",
	    ":message FROM " STORE_ROWS_AND_EVENTS("{index}")
	    " AND {o.claim_token} IS NULL"),
	    SQL_PUT_IF("message", max > 0, s, store_put_msg(s, max)),
	    SQL_IF("leased", !store_is_pillar(s),
	    "({o.partition_key} IS NULL OR {o.partition_key} <= '!' OR "
	    "{o.partition_key} >= '!a') AND "),
	    SQL_NUMBER("max", GLANCE_ROWS));
	ahead->read_at = clock_us();
	if ((rows = store_query(s, "glance", e)) == NULL)
		return -1;
	g->all = db_nrows(rows) < GLANCE_ROWS;
	if (!g->all) {
		db_rows_free(rows);
		return 0;
	}
	g->rows = xcalloc(db_nrows(rows) + 1, sizeof(*g->rows));
	ahead->msgs = xcalloc(db_nrows(rows) + 1, sizeof(*ahead->msgs));
	while (db_next(rows)) {
		g->rows[g->n++] = (struct glanced){ db_u64(rows, 0),
		    store_column(rows, 1) };
		if (max == 0)
			continue;
		/* A row with a claim comes without its event: left out. */
		m = &ahead->msgs[ahead->n];
		store_read_msg(s, m, rows, max);
		if (m->has_event && !m->away)
			ahead->n++;
	}
	batch_sort(ahead);
	store_keep_rows(ahead, rows);
	return 0;
}

/*
 * One equality range each: the index gives filter and order, nothing is sorted.
 * The lease "" has two: rows without a label, which the PHP package Pillar
 * writes when its count is 1, and rows whose label is the empty text.  Together
 * they have no gaps only up to the limit of each.
 */
int
store_candidates(struct store *s, const struct range *ranges, size_t n,
    struct candidate **out, size_t *nout, struct err *e)
{
	struct db_rows		*rows;
	struct candidate	*list;
	size_t			*taken, nlist = 0;

	store_sql(s, "");
	for (size_t i = 0; i < n; i++) {
		unsigned	none = ranges[i].label[0] == '\0';

		for (unsigned part = 0; part <= none; part++)
			store_put(s, ":union(SELECT :range, {global_sequence} "
			    "FROM {outbox} {index} "
			    "WHERE {published_at} IS NULL "
			    "AND {partition_key} :is "
			    "ORDER BY {global_sequence} LIMIT :limit)",
			    SQL_IF("union", s->sql.len > 0, " UNION ALL "),
			    SQL_NUMBER("range", i), SQL_EITHER("is",
			    none && part == 0, "IS NULL", "= :label"),
			    SQL_TEXT("label", ranges[i].label),
			    SQL_NUMBER("limit", ranges[i].limit));
	}
	if ((rows = store_query(s, "candidates", e)) == NULL)
		return -1;
	list = xcalloc(db_nrows(rows) + 1, sizeof(*list));
	while (db_next(rows)) {
		uint64_t	range = db_u64(rows, 0);

		if (range >= n)
			continue;	/* it was not asked for */
		list[nlist].range = (unsigned)range;
		list[nlist++].sequence = db_u64(rows, 1);
	}
	db_rows_free(rows);
	store_sort_candidates(list, nlist);
	taken = xcalloc(n + 1, sizeof(*taken));
	*nout = 0;
	for (size_t i = 0; i < nlist; i++)
		if (taken[list[i].range]++ < ranges[list[i].range].limit)
			list[(*nout)++] = list[i];
	free(taken);
	*out = list;
	return 0;
}
