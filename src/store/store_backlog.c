/*
 * store_backlog.c - the number of waiting rows, without reading all of them
 *
 * For the janitor and outboxctl.
 */

#include "store/store_impl.h"

#include <bsd/string.h>

/* Rows counted before the server is asked for an estimate. */
#define FEW		1000

/*
 * Find an index in which all waiting rows are one range: the claim's, or any
 * other that begins with published_at.  "": there is none.
 */
static int
find_index(struct store *s, char name[DB_NAME_SIZE], struct err *e)
{
	if (store_index(s) == INDEX_BY_TIME) {
		strlcpy(name, store_index_name(s), DB_NAME_SIZE);
		return 0;
	}
	store_sql(s, "SELECT index_name FROM information_schema.statistics "
	    "WHERE table_schema = DATABASE() AND seq_in_index = 1 AND "
	    "column_name = ");
	store_put_text(s, store_column_name(s, "published_at"));
	store_put(s, " AND table_name = ");
	store_put_text(s, store_table_name(s, T_OUTBOX));
	store_put(s, " LIMIT 1");
	return store_query_text(s, "backlog", name, DB_NAME_SIZE, e);
}

/*
 * Count the first max + 1 waiting rows, and the parked ones among them.  They
 * are fetched and counted here, because the server would write a derived table
 * to count it.
 */
static int
count_rows(struct store *s, const char *index, unsigned max,
    struct store_backlog *b, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, store_has(s, T_BLOCKED) ?
	    "SELECT " PARKED_RANGE("{partition_key}") : "SELECT 0");
	store_put(s, " FROM {outbox} ");
	store_put_index(s, "FORCE", index);
	store_putf(s, " WHERE {published_at} IS NULL LIMIT %u", max + 1);
	if ((rows = store_query(s, "backlog", e)) == NULL)
		return -1;
	b->waiting = db_nrows(rows);
	for (b->parked = 0; db_next(rows); )
		b->parked += db_u64(rows, 0);
	db_rows_free(rows);
	b->exact = b->waiting <= max;
	return 0;
}

/* The optimizer's estimate, from a few pages of the index. */
static int
estimate(struct store *s, const char *index, const char *which, uint64_t *n,
    struct err *e)
{
	struct db_rows	*rows;
	int		 col;

	/* With FORCE INDEX MySQL would not read the index to estimate. */
	store_sql(s, "EXPLAIN FORMAT=TRADITIONAL SELECT {partition_key} "
	    "FROM {outbox} ");
	store_put_index(s, "USE", index);
	store_put(s, " WHERE {published_at} IS NULL");
	store_put(s, which);
	if ((rows = store_query(s, "backlog", e)) == NULL)
		return -1;
	*n = 0;
	if ((col = db_column(rows, "rows")) >= 0 && db_next(rows))
		*n = db_u64(rows, (unsigned)col);
	db_rows_free(rows);
	return 0;
}

/*
 * For far more rows than may be counted, an estimate is enough: it is seldom
 * off by more than a factor of two.  It is not used for few rows, as it
 * includes delivered ones that the server has not purged yet.
 */
int
store_backlog(struct store *s, struct store_backlog *b, struct err *e)
{
	char		index[DB_NAME_SIZE];
	uint64_t	waiting, parked;

	*b = (struct store_backlog){ .known = false };
	if (find_index(s, index, e) < 0)
		return -1;
	if (index[0] == '\0')
		return 0;
	b->known = true;
	if (count_rows(s, index, FEW, b, e) < 0)
		return -1;
	if (b->exact)
		return 0;
	if (estimate(s, index, "", &waiting, e) < 0)
		return -1;
	if (waiting <= 4 * STORE_BACKLOG_EXACT &&
	    count_rows(s, index, STORE_BACKLOG_EXACT, b, e) < 0)
		return -1;
	if (!b->exact && b->waiting < waiting)
		b->waiting = waiting;
	if (b->exact || !store_has(s, T_BLOCKED) ||
	    store_index(s) != INDEX_BY_TIME)
		return 0;
	if (estimate(s, index, " AND " PARKED_RANGE("{partition_key}"), &parked,
	    e) < 0)
		return -1;
	/* The optimizer's estimate for no rows is 1. */
	if (b->parked < parked && parked > 1)
		b->parked = parked;
	return 0;
}
