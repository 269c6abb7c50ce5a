/* filter.c - see filter.h */

#include "ctl/base/filter.h"

#include <string.h>

#include "util/printable.h"

void
filter_put_rows(struct store *s, const uint64_t *list, size_t n)
{
	store_put(s, " IN (:rows)", SQL_LIST("rows", list, n));
}

/*
 * The first comparison can use an index, the second compares bytes, as
 * STORE_BYTES has them.
 */
#define IS_KEY(value)	":column = " value " AND IF(CHARSET(:column) = " \
	"'binary', :column, CAST(CONVERT(:column USING utf8mb4) AS BINARY)) " \
	"= CAST(" value " AS BINARY)"

void
filter_put_key(struct store *s, const char *column, const char *key)
{
	struct buf	bytes = { 0 };
	bool		hex = printable_parse_hex(&bytes, key);

	store_put(s, " ((" IS_KEY(":text") "):or)",
	    SQL_IF("or", hex, " OR (" IS_KEY(":bytes") ")"),
	    SQL_PART("column", ((struct sql){ column })), SQL_TEXT("text", key),
	    SQL_BYTES("bytes", bytes.len == 0 ? "" : bytes.data, bytes.len));
	buf_free(&bytes);
}

void
filter_put_label(struct store *s, const char *label)
{
	struct buf	bytes = { 0 };
	bool		hex = printable_parse_hex(&bytes, label);

	store_put(s, ":label:bytes", SQL_LABELS("label", &label, 1),
	    SQL_IF("bytes", hex, ",:hex"),
	    SQL_BYTES("hex", bytes.len == 0 ? "" : bytes.data, bytes.len));
	buf_free(&bytes);
}

void
filter_put_in_label(struct store *s, const char *label)
{
	store_put(s, " IN (:label)", SQL_PUT("label", s,
	    filter_put_label(s, label)));
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
	bool			 key = f->key != NULL && a->key != NULL;
	bool			 type = f->type != NULL &&
				    a->type != NULL;
	bool			 partition = f->partition != NULL &&
				    a->partition != NULL;

	store_put(s, ":key:partition:type:since:until",
	    SQL_IF("key", key, " AND:is_key"),
	    SQL_PUT_IF("is_key", key, s, filter_put_key(s, f->key, a->key)),
	    SQL_IF("partition", partition, " AND :its_partition:is_label"),
	    SQL_PART("its_partition", ((struct sql){ f->partition })),
	    SQL_PUT_IF("is_label", partition, s,
	    filter_put_in_label(s, a->partition)),
	    SQL_IF("type", type, " AND (:its_type LIKE :pattern OR:is_type)"),
	    SQL_PART("its_type", ((struct sql){ f->type })), SQL_PATTERN("pattern", a->type),
	    SQL_PUT_IF("is_type", type, s,
	    filter_put_key(s, f->type, a->type)),
	    SQL_PART("its_time", ((struct sql){ f->time })),
	    SQL_IF("since", f->time != NULL && a->since != NULL,
	    " AND :its_time >= :from"), SQL_RAW("from", a->since),
	    SQL_IF("until", f->time != NULL && a->until != NULL,
	    " AND :its_time < :before"), SQL_RAW("before", a->until));
}
