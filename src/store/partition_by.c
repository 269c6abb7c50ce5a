/* partition_by.c - see partition_by.h */

#include "store/partition_by.h"

#include <stdlib.h>
#include <string.h>

#include "mysql/db.h"
#include "store/store_sql.h"
#include "util/xalloc.h"

/* "$.a-1.b" as the servers read it: $."a-1"."b" */
static char *
quoted_path(const char *path)
{
	struct buf	b = { 0 };

	buf_str(&b, "$.\"");
	for (const char *p = path + 2; *p != '\0'; p++)
		if (*p == '.')
			buf_str(&b, "\".\"");
		else
			buf_add(&b, p, 1);
	buf_str(&b, "\"");
	return b.data;
}

/* A JSON null counts as missing, and so does metadata that is no JSON. */
static void
put_path(const char *by, const char *metadata, struct buf *to)
{
	char	*path = quoted_path(by);
	char	*text = xasprintf("CONVERT(%s USING utf8mb4)", metadata);
	char	*value = xasprintf("JSON_EXTRACT(%s, '%s')", text, path);

	buf_printf(to, "CRC32(IF(JSON_VALID(%s), IF(JSON_TYPE(%s) = 'NULL', "
	    "NULL, JSON_UNQUOTE(%s)), NULL))", text, value, value);
	free(value);
	free(text);
	free(path);
}

static void
put_bytes(const char *column, struct buf *to)
{
	buf_printf(to, "CRC32(IF(CHARSET(%s) = 'binary', %s, "
	    "CAST(CONVERT(%s USING utf8mb4) AS BINARY)))", column, column,
	    column);
}

void
partition_put_hash(const struct conf *conf, const char *prefix,
    const char *metadata, const char *key, struct buf *to)
{
	const char	*by = conf->outbox.partition_by;
	struct buf	 column = { 0 };

	if (conf_partitions_by_key(conf)) {
		put_bytes(key, to);
		return;
	}
	buf_str(to, "COALESCE(");
	if (strncmp(by, "$.", 2) == 0)
		put_path(by, metadata, to);
	else {
		buf_str(&column, prefix);
		db_name(&column, conf_column(conf, by));
		put_bytes(column.data, to);
		buf_free(&column);
	}
	buf_str(to, ", ");
	put_bytes(key, to);
	buf_str(to, ")");
}
