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
	if (!store_is_pillar(s))
		return false;
	conf_counts(s->conf, c);
	c->changed = true;
	return true;
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
	if (!store_is_pillar(s))
		return 0;
	if (store_learn_columns(s, e) < 0)
		return -1;
	if (store_is_pillar(s))
		return 0;
	store_close(s);
	return err_set(e, "%s has new columns: connecting again to read the "
	    "schema", s->tables[T_SETTINGS]);
}

static int
read_counts(struct store *s, struct sql lock, struct counts *c,
    struct err *e)
{
	struct db_rows	*rows;
	int		 rc = 0;

	*c = (struct counts){ 0 };
	if (store_counts_from_file(s, c))
		return 0;
	store_sql(s, "SELECT " STORE_COUNTS ":lock", SQL_PART("lock", lock));
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
	return read_counts(s, SQL(""), c, e);
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

	if (store_is_pillar(s))
		return 0;
	store_sql(s, "SELECT COALESCE(partition_by, '') "
	    "FROM {settings} WHERE id = 1");
	if (store_query_text(s, "settings", theirs, sizeof(theirs), e) < 0)
		return -1;
	return strcmp(theirs, ours) == 0 ? 0 : err_set(e, "settings: producers "
	    "compute partitions of %s (%s.partition_by), and "
	    "outbox.partition_by is %s: outboxctl schema install makes them "
	    "agree, once no key can change its partition: see PARTITIONS BY "
	    "ANOTHER VALUE in outboxctl(1)", shown_by(theirs),
	    s->tables[T_SETTINGS], shown_by(ours));
}

/* A label of another value would break the order of its key. */
static int
read_for_labels(struct store *s, struct sql lock, struct counts *c,
    struct err *e)
{
	return read_counts(s, lock, c, e) < 0 ? -1 :
	    store_check_partition_by(s, e);
}

int
store_hold_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_for_labels(s, SQL(" LOCK IN SHARE MODE"), c, e);
}

int
store_lock_counts(struct store *s, struct counts *c, struct err *e)
{
	return read_for_labels(s, SQL(" FOR UPDATE"), c, e);
}

/*
 * Labels
 */

void
store_put_hash(struct store *s, const char *event, struct sql key)
{
	char		*prefix = xasprintf("%s.", event);
	char		*metadata = xasprintf("{%s.metadata}", event);
	struct buf	 hash = { 0 };

	partition_put_hash(s->conf, prefix, metadata, key.text, &hash);
	store_put_sql(s, hash.data);
	buf_free(&hash);
	free(metadata);
	free(prefix);
}

void
store_put_label(struct store *s, const struct counts *c, const char *event,
    struct sql key)
{
	store_put(s, "CONCAT('p', IF(:hash MOD :count < 10, '0', ''), "
	    ":hash MOD :count)", SQL_PUT("hash", s, store_put_hash(s, event,
	    key)), SQL_EITHER("count", c->count == 0, "NULL", ":declared"),
	    SQL_NUMBER("declared", c->count));
}

/* A label that a count makes; a count of 1 makes none. */
void
store_put_is_counted(struct store *s, const struct counts *c,
    struct sql label)
{
	store_put(s, "(COALESCE(:label, '') REGEXP '^p[0-9][0-9]+$':one)",
	    SQL_PART("label", label),
	    SQL_IF("one", counts_have(c, 1), " OR COALESCE(:label, '') = ''"));
}

void
store_put_relabel(struct store *s, const struct counts *c, struct sql label,
    const char *event, struct sql key)
{
	if (!c->changed || c->count == 0) {
		store_put_sql(s, label.text);
		return;
	}
	/* No label is right for a count of 1. */
	store_put(s, "IF(:is_counted:some, COALESCE(:now, :label), :label)",
	    SQL_PUT("is_counted", s, store_put_is_counted(s, c, label)),
	    SQL_IF("some", c->count == 1, " AND COALESCE(:label, '') <> ''"),
	    SQL_PUT("now", s, store_put_label(s, c, event, key)),
	    SQL_PART("label", label));
}
