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
static void
put_next(struct store *s)
{
	if (!store_is_inline(s)) {
		store_put(s, "(SELECT COALESCE(MAX({e.sequence}), 0) + 1 "
		    "FROM {events} AS e)");
		return;
	}
	store_put(s, "(SELECT t.auto_increment "
	    "FROM information_schema.tables AS t "
	    "JOIN information_schema.columns AS c "
	    "ON c.table_schema = t.table_schema AND "
	    "c.table_name = t.table_name AND "
	    "c.extra LIKE '%auto_increment%' "
	    "WHERE t.table_schema = DATABASE() AND t.table_name = ");
	store_put_text(s, store_table_name(s, T_OUTBOX));
	store_put(s, " AND c.table_schema = DATABASE() AND c.table_name = ");
	store_put_text(s, store_table_name(s, T_OUTBOX));
	store_put(s, " AND c.column_name = ");
	store_put_text(s, store_column_name(s, "global_sequence"));
	store_put(s, ")");
}

int
store_newest(struct store *s, struct store_newest *n, struct err *e)
{
	struct db_rows	*rows;

	*n = (struct store_newest){ .known = false };
	store_sql(s, "SELECT ");
	put_next(s);
	store_put(s, ", (SELECT COALESCE(MAX({global_sequence}), 0) "
	    "FROM {outbox}), ");
	store_put(s, store_has(s, T_DEAD) ? "(SELECT "
	    "COALESCE(MAX(global_sequence), 0) FROM {dead})" : "0");
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

/* Of a transaction that is open, a dirty read sees the rows. */
static int
find_open_row(struct store *s, uint64_t from, bool *found, struct err *e)
{
	store_sql(s, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
	if (store_exec(s, "newest", NULL, e) < 0)
		return -1;
	store_sql(s, "SELECT 1 FROM {outbox} WHERE {global_sequence} >= ");
	store_putf(s, "%llu LIMIT 1", (unsigned long long)from);
	return store_query_any(s, "newest", found, e);
}

/* Does the application leave most of its events without a row? */
static int
find_few_rows(struct store *s, uint64_t row, bool *few, struct err *e)
{
	uint64_t	from = row > BEFORE ? row - BEFORE : 0;

	store_sql(s, "SELECT 1 FROM DUAL WHERE (SELECT COUNT(*) "
	    "FROM {events} AS e WHERE "
	    "{e.sequence} > ");
	store_putf(s, "%llu AND ", (unsigned long long)from);
	store_put(s, "{e.sequence} <= ");
	store_putf(s, "%llu", (unsigned long long)row);
	store_put(s, ") > 2 * (SELECT COUNT(*) FROM {outbox} WHERE "
	    "{global_sequence} > ");
	store_putf(s, "%llu AND ", (unsigned long long)from);
	store_put(s, "{global_sequence} <= ");
	store_putf(s, "%llu)", (unsigned long long)row);
	return store_query_any(s, "newest", few, e);
}

int
store_may_vanish(struct store *s, const struct store_newest *n, uint64_t from,
    bool *may, struct err *e)
{
	bool	found = false;

	if (find_open_row(s, from, &found, e) < 0 || (!found && n->row > 0 &&
	    !store_is_inline(s) && find_few_rows(s, n->row, &found, e) < 0))
		return -1;
	*may = !found;
	return 0;
}
