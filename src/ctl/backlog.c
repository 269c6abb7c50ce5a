/* backlog.c - how many rows wait, without reading all of them */

#include <string.h>

#include <bsd/string.h>

#include "db.h"
#include "state.h"

#define INDEX_NAME	65

/*
 * An index in which all that waits is one range: the claim's, or any other
 * that begins with published_at.  "": there is none.
 */
static int
find_index(struct ctl *c, char name[INDEX_NAME], struct err *e)
{
	bool		 by_time;
	struct db_rows	*rows;

	strlcpy(name, store_claim_index(c->store, &by_time), INDEX_NAME);
	if (name[0] != '\0' && by_time)
		return 0;
	name[0] = '\0';
	store_sql(c->store, "SELECT index_name FROM "
	    "information_schema.statistics WHERE table_schema = DATABASE() "
	    "AND seq_in_index = 1 AND column_name = 'published_at' AND "
	    "table_name = ");
	store_put_text(c->store, store_table_name(c->store, T_OUTBOX));
	store_put(c->store, " LIMIT 1");
	if ((rows = store_query(c->store, "schema", e)) == NULL)
		return -1;
	if (db_next(rows))
		strlcpy(name, db_text(rows, 0), INDEX_NAME);
	db_rows_free(rows);
	return 0;
}

/*
 * The rows themselves, so that they are counted here: to count a derived
 * table the server would write and read them once more.
 */
static int
count(struct ctl *c, const char *index, uint64_t *waiting, uint64_t *parked,
    struct err *e)
{
	struct db_rows	*rows;

	store_sql(c->store, store_has(c->store, T_BLOCKED) ?
	    "SELECT partition_key > '!' AND partition_key < '!a'" :
	    "SELECT 0");
	store_put(c->store, " FROM {outbox} ");
	store_putf(c->store, "FORCE INDEX (`%s`) WHERE published_at IS NULL "
	    "LIMIT %d", index, STATE_EXACT + 1);
	if ((rows = store_query(c->store, "backlog", e)) == NULL)
		return -1;
	*waiting = db_nrows(rows);
	for (*parked = 0; db_next(rows); )
		*parked += db_u64(rows, 0);
	db_rows_free(rows);
	return 0;
}

/* What the optimizer makes of it, from a few pages of the index. */
static int
estimate(struct ctl *c, const char *index, uint64_t *waiting, struct err *e)
{
	struct db_rows	*rows;
	int		 col;

	/* Forced, MySQL would not look into the index. */
	store_sql(c->store, "EXPLAIN FORMAT=TRADITIONAL SELECT partition_key "
	    "FROM {outbox} ");
	store_putf(c->store, "USE INDEX (`%s`) WHERE published_at IS NULL",
	    index);
	if ((rows = store_query(c->store, "backlog", e)) == NULL)
		return -1;
	if ((col = db_column(rows, "rows")) >= 0 && db_next(rows) &&
	    db_u64(rows, (unsigned)col) > *waiting)
		*waiting = db_u64(rows, (unsigned)col);
	db_rows_free(rows);
	return 0;
}

json_t *
state_backlog(struct ctl *c, struct err *e)
{
	char		index[INDEX_NAME];
	uint64_t	waiting, parked;
	bool		exact;

	if (find_index(c, index, e) < 0)
		return NULL;
	if (index[0] == '\0')
		return json_null();
	if (count(c, index, &waiting, &parked, e) < 0)
		return NULL;
	exact = waiting <= STATE_EXACT;
	if (!exact && estimate(c, index, &waiting, e) < 0)
		return NULL;
	return json_pack("{s:I, s:b, s:I}", "waiting", (json_int_t)waiting,
	    "exact", exact, "parked", (json_int_t)parked);
}
