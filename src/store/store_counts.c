/*
 * store_counts.c - the declared partition counts, and the label that a row gets
 * by them
 */

#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include "store/partition_by.h"
#include "util/xalloc.h"

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

static const char *
shown_by(const char *by)
{
	return by[0] == '\0' ? "the order key" : by;
}

int
store_check_partition_by(struct store *s, struct err *e)
{
	const char	*ours = conf_partitions_by_key(s->conf) ? "" :
			    conf_column(s->conf, s->conf->outbox.partition_by);
	char		 theirs[256] = "";

	if (!s->exists[T_SETTINGS])
		return 0;
	if (store_has_column(s, COL_PARTITION_BY)) {
		store_sql(s, "SELECT COALESCE(partition_by, '') "
		    "FROM {settings} WHERE id = 1");
		if (store_query_text(s, "settings", theirs, sizeof(theirs),
		    e) < 0)
			return -1;
	}
	return strcmp(theirs, ours) == 0 ? 0 : err_set(e, "settings: producers "
	    "compute partitions of %s (%s.partition_by), and "
	    "outbox.partition_by is %s: outboxctl schema install makes them "
	    "agree, once no key can change its partition: see PARTITIONS BY "
	    "ANOTHER VALUE in outboxctl(1)", shown_by(theirs), s->tables[T_SETTINGS], shown_by(ours));
}

/* A label of another value would break the order of its key. */
static int
read_for_labels(struct store *s, const char *lock, struct counts *c,
    struct err *e)
{
	return read_counts(s, lock, c, e) < 0 ? -1 :
	    store_check_partition_by(s, e);
}

int
store_hold_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_for_labels(s, " LOCK IN SHARE MODE", c, e);
}

int
store_lock_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_for_labels(s, " FOR UPDATE", c, e);
}

/*
 * Labels
 */

void
store_put_hash(struct store *s, const char *event, const char *key)
{
	char		*prefix = xasprintf("%s.", event);
	char		*metadata = xasprintf("{%s.metadata}", event);
	struct buf	 hash = { 0 };

	partition_put_hash(s->conf, prefix, metadata, key, &hash);
	store_put(s, hash.data);
	buf_free(&hash);
	free(metadata);
	free(prefix);
}

static void
put_label_number(struct store *s, const struct counts *c, const char *event,
    const char *key)
{
	store_put_hash(s, event, key);
	if (c->count == 0)
		buf_str(&s->sql, " MOD NULL");
	else
		buf_printf(&s->sql, " MOD %u", c->count);
}

void
store_put_label(struct store *s, const struct counts *c, const char *event,
    const char *key)
{
	buf_str(&s->sql, "CONCAT('p', IF(");
	put_label_number(s, c, event, key);
	buf_str(&s->sql, " < 10, '0', ''), ");
	put_label_number(s, c, event, key);
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
    const char *event, const char *key)
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
	store_put_label(s, c, event, key);
	store_putf(s, ", %s), %s)", label, label);
}
