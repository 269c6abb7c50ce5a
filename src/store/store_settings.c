/*
 * store_settings.c - the one row of settings: the id of the outbox, and the
 * first partition count
 */

#include "store/store_impl.h"

#include <bsd/string.h>

#include "util/log.h"

static int
read_settings_row(struct store *s, unsigned *count, struct err *e)
{
	struct db_rows	*rows;
	int		 rc = 0;

	store_sql(s, "SELECT schema_version, outbox_id, partition_count "
	    "FROM {settings} WHERE id = 1");
	if ((rows = store_query(s, "settings", e)) == NULL)
		return -1;
	if (!db_next(rows))
		rc = err_set(e, "settings: %s has no row: outboxctl setup "
		    "--no-event inserts it", s->tables[T_SETTINGS]);
	else if (db_u64(rows, 0) > store_schema_version)
		rc = err_set(e, "settings: schema version %s is newer than %u: "
		    "install a newer outbox-master", db_text(rows, 0),
		    store_schema_version);
	else {
		strlcpy(s->outbox_id, db_text(rows, 1), sizeof(s->outbox_id));
		*count = (unsigned)db_u64(rows, 2);
	}
	db_rows_free(rows);
	return rc;
}

/* The first count, with a former one that producers may have used. */
static int
fill_count(struct store *s, unsigned count, struct err *e)
{
	const char	*none = "";
	struct counts	 c, now;
	struct err	 why;
	bool		 has;
	int		 rc;

	conf_counts(s->conf, &c);
	c.count = count;
	if (c.nformer == 0) {
		/* Producers may have enqueued without a label before it. */
		store_sql(s, "SELECT 1:unlabelled LIMIT 1",
		    SQL_PUT("unlabelled", s, store_put_rows_of(s, &none, 1)));
		if (store_query_any(s, "settings", &has, e) < 0)
			return -1;
		c.count = 1;
		if (has && count != 1 &&
		    counts_repartition(&c, count, &why) < 0)
			log_warn("waiting rows have no partition label, and "
			    "new ones get one of %u: keys may lose their order "
			    "until the former rows are sent (%s)", count,
			    why.text);
		c.count = count;
	}
	if (c.nformer == 0) {
		store_sql(s, "UPDATE {settings} SET updated_at = {now}, "
		    "partition_count = :count "
		    "WHERE id = 1 AND partition_count IS NULL",
		    SQL_NUMBER("count", c.count));
		return store_exec(s, "settings", NULL, e);
	}
	if (store_begin(s, e) < 0)
		return -1;
	rc = store_lock_counts(s, &now, e);
	if (rc == 0 && now.count == 0)
		rc = store_write_counts(s, &c, e);
	return store_end(s, rc, e);
}

int
store_settings(struct store *s, unsigned *count, struct err *e)
{
	unsigned	ours = *count;

	if (store_is_pillar(s))
		return 0;
	if (read_settings_row(s, count, e) < 0 ||
	    store_check_partition_by(s, e) < 0)
		return -1;
	if (*count != 0)
		return 0;
	if (fill_count(s, ours, e) < 0)
		return -1;
	return read_settings_row(s, count, e);	/* another was first? */
}

void
store_prefix(const struct store *s, char prefix[STORE_PREFIX])
{
	strlcpy(prefix, conf_id_prefix(s->conf, s->outbox_id), STORE_PREFIX);
}
