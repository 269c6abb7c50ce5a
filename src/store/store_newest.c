/*
 * store_newest.c - the last number that was given, and the last one that a row
 * has, for the janitor
 *
 * In mode inline the outbox gives the numbers, else the events.
 */

#include "store/store_impl.h"

/* Rows before the newest one, of which most must have an event of their own. */
#define BEFORE	100

/*
 * information_schema of MySQL is up to date only if its statistics expire at
 * once, as each session asks (db_session.c).
 */
int
store_newest(struct store *s, struct store_newest *n, struct err *e)
{
	struct db_rows	*rows;

	*n = (struct store_newest){ .known = false };
	store_sql(s, "SELECT (SELECT :next), "
	    "(SELECT COALESCE(MAX({global_sequence}), 0) FROM {outbox}), :dead",
	    SQL_EITHER("next", store_is_inline(s),
	    "t.auto_increment FROM information_schema.tables AS t "
	    "JOIN information_schema.columns AS c "
	    "ON c.table_schema = t.table_schema "
	    "AND c.table_name = t.table_name "
	    "AND c.extra LIKE '%auto_increment%' "
	    "WHERE t.table_schema = DATABASE() AND t.table_name = :outbox "
	    "AND c.table_schema = DATABASE() AND c.table_name = :outbox "
	    "AND c.column_name = :sequence",
	    "COALESCE(MAX({e.sequence}), 0) + 1 FROM {events} AS e"),
	    SQL_EITHER("dead", !store_is_pillar(s),
	    "(SELECT COALESCE(MAX(global_sequence), 0) FROM {dead})", "0"),
	    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)),
	    SQL_TEXT("sequence", store_column_name(s, "global_sequence")));
	if ((rows = store_query(s, "newest", e)) == NULL)
		return -1;
	if (db_next(rows) && db_nullable(rows, 0) != NULL) {
		n->known = true;
		n->next = db_u64(rows, 0);
		n->row = db_u64(rows, 1);
		if (n->row < db_u64(rows, 2))
			n->row = db_u64(rows, 2);
	}
	db_rows_free(rows);
	return 0;
}

int
store_may_vanish(struct store *s, const struct store_newest *n, uint64_t from,
    bool *may, struct err *e)
{
	uint64_t	near = n->row > BEFORE ? n->row - BEFORE : 0;
	bool		found = false;

	/* Of a transaction that is open, a dirty read sees the rows. */
	store_sql(s, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
	if (store_exec(s, "newest", NULL, e) < 0)
		return -1;
	store_sql(s, "SELECT 1 FROM {outbox} WHERE {global_sequence} >= :from "
	    "LIMIT 1", SQL_NUMBER("from", from));
	if (store_query_any(s, "newest", &found, e) < 0)
		return -1;
	*may = !found;
	if (found || n->row == 0 || store_is_inline(s))
		return 0;
	/* Does the application leave most of its events without a row? */
	store_sql(s, "SELECT 1 FROM DUAL WHERE (SELECT COUNT(*) "
	    "FROM {events} AS e WHERE {e.sequence} > :near "
	    "AND {e.sequence} <= :row) > 2 * (SELECT COUNT(*) FROM {outbox} "
	    "WHERE {global_sequence} > :near AND {global_sequence} <= :row)",
	    SQL_NUMBER("near", near), SQL_NUMBER("row", n->row));
	if (store_query_any(s, "newest", &found, e) < 0)
		return -1;
	*may = !found;
	return 0;
}
