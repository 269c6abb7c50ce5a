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
	store_sql(s, "SELECT CAST(:cutoff AS DATETIME(6)), "
	    "CAST(NOW(6) - INTERVAL :days DAY AS DATETIME(6))",
	    SQL_RAW("cutoff", cutoff), SQL_NUMBER("days", dead_days));
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
	store_sql(s, "SELECT COUNT(*), MAX({global_sequence}):delivered",
	    SQL_PUT("delivered", s, store_put_delivered(s, p->from, end)));
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
	    "CAST({published_at} - INTERVAL 1 MICROSECOND AS DATETIME(6))"
	    ":delivered:skip ORDER BY {published_at} LIMIT :max",
	    SQL_PUT("delivered", s, store_put_delivered(s, p->from, p->until)),
	    SQL_IF("skip", skip->n > 0,
	    " AND {global_sequence} NOT IN (:skipped)"),
	    SQL_LIST("skipped", skip->list, skip->n), SQL_NUMBER("max", max));
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
	store_sql(s, "DELETE FROM {outbox} WHERE {global_sequence} IN (:rows) "
	    "AND {published_at} <= :until",
	    SQL_LIST("rows", list, n), SQL_TEXT("until", until));
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
	    "IF(reason IN " DEAD_MARKS ", global_sequence <= :watermark, "
	    "died_at <= :until) FROM {dead} WHERE global_sequence > :after "
	    "ORDER BY global_sequence LIMIT :max",
	    SQL_NUMBER("watermark", watermark), SQL_TEXT("until", until),
	    SQL_NUMBER("after", p->after), SQL_NUMBER("max", p->max));
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
