/*
 * schema_foreign.c - columns of an application's own table that the daemon
 * cannot work with
 */

#include "ctl/schema/schema_impl.h"

#include <ctype.h>
#include <string.h>

/* The order in a table of which the primary key is no number. */
#define OWN_ORDER	"outbox_seq"

void
schema_put_type(struct buf *to, const struct schema_column *c)
{
	for (const char *p = c->type; *p != '\0'; p++) {
		char upper = (char)toupper((unsigned char)*p);

		buf_add(to, &upper, 1);
	}
	if (c->length > 0)
		buf_printf(to, "(%llu)", (unsigned long long)c->length);
}

/*
 * AUTO_INCREMENT alone numbers the rows that are there in the order of the
 * primary key: at random, if that is a UUID.
 */
void
schema_order(const struct check *k, const char *name,
    struct schema_finding *f)
{
	const struct store		*s = k->ctl->store;
	const struct schema_table	*outbox = &k->live.tables[T_OUTBOX];
	const char			*at = store_column_name(s,
					    "created_at");

	/* When a row was written, if the table tells. */
	if (schema_column_of(outbox, at) == NULL)
		at = store_is_inline(s) ?
		    store_column_name(s, "occurred_at") : "occurred_at";
	if (schema_column_of(outbox, at) == NULL) {
		buf_str(&f->cost, "rows that are there are numbered in the "
		    "order of the primary key: let the worker of before send "
		    "all that waits first");
		schema_put(k, f, "ALTER TABLE {t} ADD COLUMN {n} "
		    "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE", name);
		return;
	}
	buf_printf(&f->cost, "rows that are there are numbered by %s, and "
	    "those of one moment in any order", at);
	schema_put(k, f, "LOCK TABLES {t} WRITE; ALTER TABLE {t} ADD COLUMN "
	    "{n} BIGINT UNSIGNED NULL; SET @outbox_n = 0; UPDATE {t} SET {n} = "
	    "(@outbox_n := @outbox_n + 1) ORDER BY ", name);
	schema_put(k, f, "{n}; ", at);
	schema_put(k, f, "ALTER TABLE {t} MODIFY {n} BIGINT UNSIGNED NOT NULL "
	    "AUTO_INCREMENT UNIQUE; UNLOCK TABLES", name);
}

/* The order is that of another column, which is added. */
static void
find_no_order(struct check *k, const struct schema_column *c)
{
	const struct schema_table	*outbox = &k->live.tables[T_OUTBOX];
	struct schema_finding		*f;
	struct buf			 type = { 0 };

	schema_put_type(&type, c);
	f = schema_find(k, T_OUTBOX, SCHEMA_FAIL,
	    "set outbox.columns: {id: " OWN_ORDER,
	    "%s is %s, and the order needs a number", c->name, type.data);
	buf_free(&type);
	if (schema_column_of(outbox, conf_column(k->ctl->conf,
	    "message_id")) == NULL)
		buf_printf(&f->cost, ", message_id: %s", c->name);
	buf_str(&f->cost, "}");
	if (schema_column_of(outbox, OWN_ORDER) != NULL)
		return;
	buf_str(&f->cost, "; ");
	schema_order(k, OWN_ORDER, f);
}

bool
schema_foreign(struct check *k, const struct schema_column *wanted,
    const struct schema_column *c)
{
	const char		*word = store_column_word(k->ctl->store,
				    T_OUTBOX, c->name);
	struct schema_finding	*f;

	if (store_is_inline(k->ctl->store) && !schema_is_number(c->type) &&
	    strcmp(word, "global_sequence") == 0) {
		find_no_order(k, c);
		return true;
	}
	if (!c->nullable || !schema_is_moment(c->type) ||
	    strcmp(word, "available_at") != 0)
		return false;
	/* The server refuses NOT NULL while there are rows with NULL. */
	f = schema_find(k, T_OUTBOX, SCHEMA_FAIL,
	    "rows with NULL there are never sent", "%s is %s NULL, not %s",
	    c->name, c->type, wanted->definition);
	schema_put(k, f, "UPDATE {t} SET {n} = CURRENT_TIMESTAMP WHERE {n} IS "
	    "NULL; ALTER TABLE {t} MODIFY {n} ", c->name);
	buf_str(&f->sql, wanted->definition);
	return true;
}
