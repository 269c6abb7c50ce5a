/*
 * store_counts.c - the declared partition counts, and the label that a row gets
 * by them
 */

#include "store/store_impl.h"

/*
 * Without a settings table it is not known whether there were other counts:
 * rows that wait again get labels as if there were.
 */
bool
store_counts_from_file(const struct store *s, struct counts *c)
{
	if (s->exists[T_SETTINGS])
		return false;
	conf_counts(s->conf, c);
	c->changed = true;
	return true;
}

void
store_put_counts(struct store *s)
{
	store_put(s, "COALESCE(partition_count, 0), former_counts, "
	    "counts_since IS NOT NULL FROM {settings} WHERE id = 1");
}

int
store_take_counts(const struct db_rows *rows, unsigned at, struct counts *c,
    struct err *e)
{
	c->count = (unsigned)db_u64(rows, at);
	c->changed = db_u64(rows, at + 2) != 0;
	return counts_parse(c, db_nullable(rows, at + 1), e);
}

int
store_check_counts(struct store *s, struct err *e)
{
	bool	there;

	if (s->exists[T_SETTINGS])
		return 0;
	store_sql(s, "SELECT 1 FROM information_schema.tables "
	    "WHERE table_schema = DATABASE() AND table_name = ");
	store_put_text(s, s->tables[T_SETTINGS]);
	if (store_query_any(s, "counts", &there, e) < 0)
		return -1;
	if (!there)
		return 0;
	store_close(s);
	return err_set(e, "%s has new columns: connecting again to read the "
	    "schema", s->tables[T_SETTINGS]);
}

static int
read_counts(struct store *s, const char *lock, struct counts *c,
    struct err *e)
{
	struct db_rows	*rows;
	int		 rc = 0;

	*c = (struct counts){ 0 };
	if (store_counts_from_file(s, c))
		return 0;
	store_sql(s, "SELECT ");
	store_put_counts(s);
	store_put(s, lock);
	if ((rows = store_query(s, "counts", e)) == NULL)
		return -1;
	if (db_next(rows))
		rc = store_take_counts(rows, 0, c, e);
	db_rows_free(rows);
	return rc;
}

int
store_read_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_counts(s, "", c, e);
}

int
store_hold_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_counts(s, " LOCK IN SHARE MODE", c, e);
}

int
store_lock_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_counts(s, " FOR UPDATE", c, e);
}

/*
 * Labels
 */

static void
put_label_number(struct store *s, const struct counts *c, const char *key)
{
	/* As STORE_BYTES: producers compute it of these bytes. */
	store_putf(s, "CRC32(IF(CHARSET(%s) = 'binary', %s, "
	    "CAST(CONVERT(%s USING utf8mb4) AS BINARY))) MOD ", key, key, key);
	if (c->count == 0)
		buf_str(&s->sql, "NULL");
	else
		buf_printf(&s->sql, "%u", c->count);
}

void
store_put_label(struct store *s, const struct counts *c, const char *key)
{
	buf_str(&s->sql, "CONCAT('p', IF(");
	put_label_number(s, c, key);
	buf_str(&s->sql, " < 10, '0', ''), ");
	put_label_number(s, c, key);
	buf_str(&s->sql, ")");
}

/* A label that a count makes; a count of 1 makes none. */
void
store_put_is_counted(struct store *s, const struct counts *c,
    const char *label)
{
	store_putf(s, "(COALESCE(%s, '') REGEXP '^p[0-9][0-9]+$'", label);
	if (counts_have(c, 1))
		store_putf(s, " OR COALESCE(%s, '') = ''", label);
	buf_str(&s->sql, ")");
}

void
store_put_relabel(struct store *s, const struct counts *c, const char *label,
    const char *key)
{
	if (!c->changed || c->count == 0) {
		store_put(s, label);
		return;
	}
	buf_str(&s->sql, "IF(");
	store_put_is_counted(s, c, label);
	/* No label is right for a count of 1. */
	if (c->count == 1)
		store_putf(s, " AND COALESCE(%s, '') <> ''", label);
	buf_str(&s->sql, ", COALESCE(");
	store_put_label(s, c, key);
	store_putf(s, ", %s), %s)", label, label);
}
