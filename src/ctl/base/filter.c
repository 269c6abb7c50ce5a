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

/* The first comparison can use an index, the second compares bytes. */
static void
put_is_key(struct store *s, const char *column, const char *data, size_t len)
{
	store_put(s, column);
	store_put(s, " = ");
	store_put_bytes(s, data, len);
	/* STORE_BYTES for a column name known at run time. */
	store_put(s, " AND IF(CHARSET(");
	store_put(s, column);
	store_put(s, ") = 'binary', ");
	store_put(s, column);
	store_put(s, ", CAST(CONVERT(");
	store_put(s, column);
	store_put(s, " USING utf8mb4) AS BINARY)) = CAST(");
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
	struct store		*s = c->store;
	const struct args	*a = &c->args;

	if (f->key != NULL && a->key != NULL) {
		store_put(s, " AND");
		filter_put_key(s, f->key, a->key);
	}
	if (f->partition != NULL && a->partition != NULL) {
		store_put(s, " AND ");
		store_put(s, f->partition);
		filter_put_in_label(s, a->partition);
	}
	if (f->type != NULL && a->type != NULL) {
		store_put(s, " AND (");
		store_put(s, f->type);
		store_put(s, " LIKE ");
		store_put_pattern(s, a->type);
		store_put(s, " OR");
		filter_put_key(s, f->type, a->type);
		store_put(s, ")");
	}
	if (f->time != NULL && a->since != NULL) {
		store_put(s, " AND ");
		store_put(s, f->time);
		store_put(s, " >= ");
		store_put(s, a->since);
	}
	if (f->time != NULL && a->until != NULL) {
		store_put(s, " AND ");
		store_put(s, f->time);
		store_put(s, " < ");
		store_put(s, a->until);
	}
}
