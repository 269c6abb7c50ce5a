/*
 * store_counts.c - what the settings say of partition counts, and what label
 * a row gets by them
 */

#include "store_impl.h"

#include <string.h>

bool
store_can_change(const struct store *s)
{
	return s->exists[T_SETTINGS] && s->has_boundary &&
	    s->has_former_count && s->has_wanted_count;
}

/* The tables may have been upgraded since we connected. */
static int
learn_again(struct store *s, struct err *e)
{
	struct db_rows	*rows;

	if (!s->exists[T_SETTINGS] || store_can_change(s))
		return 0;
	store_sql(s, "SELECT 1 FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() AND column_name IN "
	    "('boundary', 'former_count', 'wanted_count') AND table_name = ");
	store_put_text(s, s->tables[T_SETTINGS]);
	if ((rows = store_query(s, "counts", e)) == NULL)
		return -1;
	s->has_boundary = s->has_former_count = s->has_wanted_count =
	    db_nrows(rows) == 3;
	db_rows_free(rows);
	return 0;
}

static int
read_counts(struct store *s, const char *lock, struct counts *c,
    struct err *e)
{
	struct db_rows	*rows;

	*c = (struct counts){ 0 };
	if (!s->exists[T_SETTINGS])
		return 0;
	store_sql(s, store_can_change(s) ? "SELECT partition_count, "
	    "former_count, wanted_count, boundary" : "SELECT partition_count, "
	    "NULL, NULL, NULL");
	store_put(s, " FROM {settings} WHERE id = 1");
	store_put(s, lock);
	if ((rows = store_query(s, "counts", e)) == NULL)
		return -1;
	if (db_next(rows)) {
		c->count = (unsigned)db_u64(rows, 0);
		c->former = (unsigned)db_u64(rows, 1);
		c->wanted = (unsigned)db_u64(rows, 2);
		c->boundary = db_u64(rows, 3);
	}
	db_rows_free(rows);
	return 0;
}

int
store_read_counts(struct store *s, struct counts *c, struct err *e)
{
	if (learn_again(s, e) < 0 || read_counts(s, "", c, e) < 0)
		return -1;
	s->boundary = c->boundary;
	return 0;
}

int
store_hold_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_counts(s, " LOCK IN SHARE MODE", c, e);
}

int
store_lock_settings(struct store *s, struct counts *c, struct err *e)
{
	return read_counts(s, " FOR UPDATE", c, e);
}

bool
store_is_bounded(const struct store *s)
{
	return s->boundary != 0;
}

/*
 * Labels
 */

static void
put_count(struct store *s, const struct counts *c, const char *sequence)
{
	if (c->boundary != 0) {
		buf_str(&s->sql, "IF(");
		buf_str(&s->sql, sequence);
		buf_printf(&s->sql, " <= %llu, %u, %u)",
		    (unsigned long long)c->boundary, c->former, c->count);
	} else if (c->count == 0)
		buf_str(&s->sql, "NULL");
	else
		buf_printf(&s->sql, "%u", c->count);
}

static void
put_number(struct store *s, const struct counts *c, const char *key,
    const char *sequence)
{
	/* STORE_BYTES of it: what producers computed it of. */
	buf_printf(&s->sql, "CRC32(IF(CHARSET(%s) = 'binary', %s, "
	    "CAST(CONVERT(%s USING utf8mb4) AS BINARY))) MOD ", key, key, key);
	put_count(s, c, sequence);
}

void
store_put_label(struct store *s, const struct counts *c, const char *key,
    const char *sequence)
{
	buf_str(&s->sql, "CONCAT('p', IF(");
	put_number(s, c, key, sequence);
	buf_str(&s->sql, " < 10, '0', ''), ");
	put_number(s, c, key, sequence);
	buf_str(&s->sql, ")");
}

void
store_put_relabel(struct store *s, const struct counts *c, const char *label,
    const char *key, const char *sequence)
{
	if (c->former == 0) {
		buf_str(&s->sql, label);
		return;
	}
	buf_printf(&s->sql, "IF(%s" STORE_COUNTED ", COALESCE(", label);
	store_put_label(s, c, key, sequence);
	buf_printf(&s->sql, ", %s), %s)", label, label);
}

bool
store_is_counted(const char *label)
{
	return label[0] == 'p' && strlen(label) > 2 &&
	    strspn(label + 1, "0123456789") == strlen(label) - 1;
}
