/* prune.c - see prune.h */

#include "store/prune.h"

#include <bsd/string.h>

#include "mysql/db.h"
#include "store/watermark.h"
#include "store/store_sql.h"

int
prune_limits(struct store *s, const char *cutoff, int64_t dead_days,
    struct prune_limits *l, struct err *e)
{
	struct db_rows	*rows;
	char		 needed[STORE_TIME];

	if (store_needed_since(s, needed, e) < 0)
		return -1;
	store_sql(s, "SELECT CAST(");
	store_put(s, cutoff);
	store_putf(s, " AS DATETIME(6)), CAST(NOW(6) - INTERVAL %lld DAY "
	    "AS DATETIME(6))", (long long)dead_days);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	db_next(rows);
	strlcpy(l->until, db_text(rows, 0), STORE_TIME);
	strlcpy(l->dead_until, db_text(rows, 1), STORE_TIME);
	db_rows_free(rows);
	l->needed = strcmp(needed, l->until) < 0;
	if (l->needed)
		strlcpy(l->until, needed, STORE_TIME);
	return 0;
}

int
prune_slice(struct store *s, struct store_period *p, uint64_t *n,
    uint64_t *highest, struct err *e)
{
	struct db_rows	*rows;
	char		 end[STORE_TIME];

	if (store_delivered_end(s, p, PRUNE_SLICE, end, e) < 0)
		return -1;
	store_sql(s, "SELECT COUNT(*), MAX({global_sequence})");
	store_put_delivered(s, p->from, end);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	db_next(rows);
	*n = db_u64(rows, 0);
	*highest = db_u64(rows, 1);
	db_rows_free(rows);
	strlcpy(p->from, end, STORE_TIME);
	return 0;
}

int
prune_find(struct store *s, struct store_period *p,
    const struct prune_skip *skip, size_t max, uint64_t *list, size_t *n,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT {global_sequence}, "
	    "CAST({published_at} - INTERVAL 1 MICROSECOND AS DATETIME(6))");
	store_put_delivered(s, p->from, p->until);
	if (skip->n > 0) {
		store_put(s, " AND {global_sequence} NOT IN (");
		store_put_list(s, skip->list, skip->n);
		store_put(s, ")");
	}
	store_putf(s, " ORDER BY {published_at} LIMIT %zu", max);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	for (*n = 0; db_next(rows); (*n)++) {
		list[*n] = db_u64(rows, 0);
		strlcpy(p->from, db_text(rows, 1), STORE_TIME);
	}
	db_rows_free(rows);
	return 0;
}

int
prune_delete(struct store *s, const uint64_t *list, size_t n,
    const char *until, uint64_t *deleted, struct err *e)
{
	store_sql(s, "DELETE FROM {outbox} WHERE {global_sequence} IN (");
	store_put_list(s, list, n);
	store_put(s, ") AND {published_at} <= ");
	store_put_text(s, until);
	return store_exec(s, "prune", deleted, e);
}

/*
 * Dead letters are few and indexed by sequence only: read them all, in pages.
 */
int
prune_find_dead(struct store *s, uint64_t watermark, const char *until,
    struct prune_page *p, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT global_sequence, reason IN " DEAD_MARKS ", "
	    "IF(reason IN " DEAD_MARKS ", global_sequence <= ");
	store_putf(s, "%llu, died_at <= ", (unsigned long long)watermark);
	store_put_text(s, until);
	store_put(s, ") FROM {dead} WHERE global_sequence > ");
	store_putf(s, "%llu ORDER BY global_sequence LIMIT %zu",
	    (unsigned long long)p->after, p->max);
	if ((rows = store_query(s, "prune", e)) == NULL)
		return -1;
	p->nread = db_nrows(rows);
	p->n = p->nmarks = 0;
	while (db_next(rows)) {
		p->after = db_u64(rows, 0);
		if (db_u64(rows, 2) == 0)
			continue;
		if (p->marks != NULL && db_u64(rows, 1) != 0)
			p->marks[p->nmarks++] = p->after;
		else
			p->list[p->n++] = p->after;
	}
	db_rows_free(rows);
	return 0;
}

uint64_t
prune_history(struct store *s, bool *no_history)
{
	struct err	e;
	uint64_t	n;

	if (*no_history)
		return 0;
	store_sql(s, "SELECT count FROM information_schema.innodb_metrics "
	    "WHERE name = 'trx_rseg_history_len'");
	*no_history = store_query_number(s, "history", &n, &e) < 0;
	return *no_history ? 0 : n;
}
