/* backlog.c - the number of waiting rows, without reading all of them */

#include <bsd/string.h>

#include "mysql/db.h"
#include "ctl/state/state.h"

#define INDEX_NAME	65

/* Rows counted before the server is asked for an estimate. */
#define FEW		1000

struct backlog {
	uint64_t	waiting, parked;
	bool		exact;
};

/*
 * Find an index in which all waiting rows are one range: the claim's, or any
 * other that begins with published_at.  "": there is none.
 */
static int
find_index(struct ctl *c, char name[INDEX_NAME], struct err *e)
{
	if (store_index(c->store) == INDEX_BY_TIME) {
		strlcpy(name, store_index_name(c->store), INDEX_NAME);
		return 0;
	}
	store_sql(c->store, "SELECT index_name FROM "
	    "information_schema.statistics WHERE table_schema = DATABASE() "
	    "AND seq_in_index = 1 AND column_name = 'published_at' AND "
	    "table_name = ");
	store_put_text(c->store, store_table_name(c->store, T_OUTBOX));
	store_put(c->store, " LIMIT 1");
	return store_query_text(c->store, "schema", name, INDEX_NAME, e);
}

/*
 * Count the first max + 1 waiting rows, and the parked ones among them.  They
 * are fetched and counted here, because the server would write a derived table
 * to count it.
 */
static int
count_backlog(struct ctl *c, const char *index, unsigned max, struct backlog *b,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, store_has(c->store, T_BLOCKED) ?
	    "SELECT " PARKED_RANGE("partition_key") : "SELECT 0");
	store_put(c->store, " FROM {outbox} ");
	store_putf(c->store, "FORCE INDEX (`%s`) WHERE published_at IS NULL "
	    "LIMIT %u", index, max + 1);
	if ((rows = store_query(c->store, "backlog", e)) == NULL)
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
estimate(struct ctl *c, const char *index, const char *which, uint64_t *n,
    struct err *e)
{
	struct db_rows	*rows;
	int		 col;

	/* With FORCE INDEX MySQL would not read the index to estimate. */
	store_sql(c->store, "EXPLAIN FORMAT=TRADITIONAL SELECT partition_key "
	    "FROM {outbox} ");
	store_putf(c->store, "USE INDEX (`%s`) WHERE published_at IS NULL",
	    index);
	store_put(c->store, which);
	if ((rows = store_query(c->store, "backlog", e)) == NULL)
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
static int
measure(struct ctl *c, const char *index, struct backlog *b, struct err *e)
{
	uint64_t	waiting, parked = 0;

	if (count_backlog(c, index, FEW, b, e) < 0)
		return -1;
	if (b->exact)
		return 0;
	if (estimate(c, index, "", &waiting, e) < 0)
		return -1;
	if (waiting <= 4 * STATE_EXACT &&
	    count_backlog(c, index, STATE_EXACT, b, e) < 0)
		return -1;
	if (b->exact)
		return 0;
	if (store_has(c->store, T_BLOCKED) &&
	    store_index(c->store) == INDEX_BY_TIME &&
	    estimate(c, index, " AND " PARKED_RANGE("partition_key"), &parked,
	    e) < 0)
		return -1;
	if (b->waiting < waiting)
		b->waiting = waiting;
	/* The optimizer's estimate for no rows is 1. */
	if (b->parked < parked && parked > 1)
		b->parked = parked;
	return 0;
}

json_t *
state_backlog(struct ctl *c, struct err *e)
{
	char		index[INDEX_NAME];
	struct backlog	b;

	if (find_index(c, index, e) < 0)
		return NULL;
	if (index[0] == '\0')
		return json_null();
	if (measure(c, index, &b, e) < 0)
		return NULL;
	return json_pack("{s:I, s:b, s:I}", "waiting", (json_int_t)b.waiting,
	    "exact", b.exact, "parked", (json_int_t)b.parked);
}
