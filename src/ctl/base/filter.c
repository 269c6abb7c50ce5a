/* filter.c - see filter.h */

#include "ctl/base/filter.h"

#include <string.h>

#include "util/printable.h"

void
filter_put_rows(struct store *s, const uint64_t *list, size_t n)
{
	store_put(s, " IN (");
	store_put_list(s, list, n);
	store_put(s, ")");
}

static void
put_partition(struct store *s, const char *column, const char *value)
{
	if (column == NULL || value == NULL)
		return;
	store_put(s, " AND ");
	store_put(s, column);
	filter_put_in_label(s, value);
}

static void
put_time_filter(struct store *s, const char *column, const char *op,
    const char *moment)
{
	if (column == NULL || moment == NULL)
		return;
	store_put(s, " AND ");
	store_put(s, column);
	store_put(s, op);
	store_put(s, moment);
}

/* STORE_BYTES for a column name known at run time. */
static void
put_bytes_of(struct store *s, const char *column)
{
	store_put(s, "IF(CHARSET(");
	store_put(s, column);
	store_put(s, ") = 'binary', ");
	store_put(s, column);
	store_put(s, ", CAST(CONVERT(");
	store_put(s, column);
	store_put(s, " USING utf8mb4) AS BINARY))");
}

/* The first comparison can use an index, the second compares bytes. */
static void
put_is_key(struct store *s, const char *column, const char *data, size_t len)
{
	store_put(s, column);
	store_put(s, " = ");
	store_put_bytes(s, data, len);
	store_put(s, " AND ");
	put_bytes_of(s, column);
	store_put(s, " = CAST(");
	store_put_bytes(s, data, len);
	store_put(s, " AS BINARY)");
}

void
filter_put_key(struct store *s, const char *column, const char *key)
{
	struct buf	bytes = { 0 };

	store_put(s, " ((");
	put_is_key(s, column, key, strlen(key));
	if (printable_parse_hex(&bytes, key)) {
		store_put(s, ") OR (");
		put_is_key(s, column, bytes.len == 0 ? "" : bytes.data,
		    bytes.len);
	}
	store_put(s, "))");
	buf_free(&bytes);
}

void
filter_put_label(struct store *s, const char *label)
{
	struct buf	bytes = { 0 };

	store_put_labels(s, &label, 1);
	if (printable_parse_hex(&bytes, label)) {
		store_put_comma(s);
		store_put_bytes(s, bytes.len == 0 ? "" : bytes.data, bytes.len);
	}
	buf_free(&bytes);
}

void
filter_put_in_label(struct store *s, const char *label)
{
	store_put(s, " IN (");
	filter_put_label(s, label);
	store_put(s, ")");
}

void
filter_put_in_labels(struct store *s, const json_t *labels)
{
	const json_t	*l;
	size_t		 i;

	store_put(s, " IN (");
	json_array_foreach(labels, i, l)
		filter_put_label(s, json_string_value(l));
	store_put(s, ")");
}

void
filter_put(struct ctl *c, const struct filter *f)
{
	struct store	*s = c->store;

	if (f->key != NULL && c->args.key != NULL) {
		store_put(s, " AND");
		filter_put_key(s, f->key, c->args.key);
	}
	put_partition(s, f->partition, c->args.partition);
	if (f->type != NULL && c->args.type != NULL) {
		store_put(s, " AND (");
		store_put(s, f->type);
		store_put(s, " LIKE ");
		store_put_pattern(s, c->args.type);
		store_put(s, " OR");
		filter_put_key(s, f->type, c->args.type);
		store_put(s, ")");
	}
	put_time_filter(s, f->time, " >= ", c->args.since);
	put_time_filter(s, f->time, " < ", c->args.until);
}
