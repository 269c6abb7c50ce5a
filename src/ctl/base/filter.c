/* filter.c - see filter.h */

#include "ctl/base/filter.h"

#include <string.h>

#include "util/printable.h"

/* The first comparison can use an index, the second compares bytes. */
#define IS_KEY(value)	":column = " value " AND " STORE_BYTES(":column") \
	" = CAST(" value " AS BINARY)"

void
filter_put_key(struct store *s, struct sql column, const char *key)
{
	struct buf	bytes = { 0 };
	bool		hex = printable_parse_hex(&bytes, key);

	store_put(s, " ((" IS_KEY(":text") "):or)",
	    SQL_IF("or", hex, " OR (" IS_KEY(":bytes") ")"),
	    SQL_PART("column", column), SQL_TEXT("text", key),
	    SQL_BYTES("bytes", bytes.len == 0 ? "" : bytes.data, bytes.len));
	buf_free(&bytes);
}

void
filter_put_label(struct store *s, const char *label)
{
	struct buf	bytes = { 0 };
	bool		hex = printable_parse_hex(&bytes, label);

	store_put_comma(s);
	store_put(s, ":label:or", SQL_TEXT("label", label),
	    SQL_IF("or", hex, ",:bytes"),
	    SQL_BYTES("bytes", bytes.len == 0 ? "" : bytes.data, bytes.len));
	buf_free(&bytes);
}

void
filter_put_labels(struct store *s, const json_t *labels)
{
	const json_t	*l;
	size_t		 i;

	json_array_foreach(labels, i, l)
		filter_put_label(s, json_string_value(l));
}

void
filter_put(struct ctl *c, const struct filter *f)
{
	struct store		*s = c->store;
	const struct args	*a = &c->args;
	bool			 key, type, partition, time;

	key = f->key.text != NULL && a->key != NULL;
	type = f->type.text != NULL && a->type != NULL;
	partition = f->partition.text != NULL && a->partition != NULL;
	time = f->time.text != NULL;
	store_put(s, ":key:partition:type:since:until",
	    SQL_IF("key", key, " AND:is_key"),
	    SQL_PUT_IF("is_key", key, s, filter_put_key(s, f->key, a->key)),
	    SQL_IF("partition", partition, " AND :label IN (:labels)"),
	    SQL_PART("label", f->partition), SQL_PUT_IF("labels", partition, s,
	    filter_put_label(s, a->partition)),
	    SQL_IF("type", type, " AND (:its_type LIKE :pattern OR:is_type)"),
	    SQL_PART("its_type", f->type), SQL_PATTERN("pattern", a->type),
	    SQL_PUT_IF("is_type", type, s, filter_put_key(s, f->type, a->type)),
	    SQL_PART("time", f->time),
	    SQL_IF("since", time && a->since != NULL, " AND :time >= :from"),
	    SQL_RAW("from", a->since),
	    SQL_IF("until", time && a->until != NULL, " AND :time < :before"),
	    SQL_RAW("before", a->until));
}
