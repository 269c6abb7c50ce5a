/*
 * schema_foreign.c - columns of an application's own table that the daemon
 * cannot work with
 */

#include "ctl/schema/schema_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

/* The order in a table of which the primary key is no number. */
#define OWN_ORDER	"outbox_seq"

/* "CHAR(36)" */
static void
put_type(const struct schema_column *c, struct buf *to)
{
	for (const char *p = c->type; *p != '\0'; p++) {
		char upper = (char)toupper((unsigned char)*p);

		buf_add(to, &upper, 1);
	}
	if (c->length > 0)
		buf_printf(to, "(%llu)", (unsigned long long)c->length);
}

/* When a row was written, if the table tells. */
static const char *
written_at(const struct check *k)
{
	static const char *const	words[] = { "created_at", "occurred_at" };
	const char			*name;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		name = i == 0 || store_is_inline(k->ctl->store) ?
		    store_column_name(k->ctl->store, words[i]) : words[i];
		if (schema_column_of(&k->live.tables[T_OUTBOX], name) != NULL)
			return name;
	}
	return NULL;
}

/*
 * AUTO_INCREMENT alone numbers the rows that are there in the order of the
 * primary key: at random, if that is a UUID.
 */
char *
schema_order(const struct check *k, const char *name, char **cost)
{
	const char	*at = written_at(k);
	char		*table = db_named(schema_name(k, T_OUTBOX)), *sql;
	char		*column = db_named(name), *by;

	if (at == NULL) {
		*cost = xstrdup("rows that are there are numbered in the "
		    "order of the primary key: let the worker of before send "
		    "all that waits first");
		sql = xasprintf("ALTER TABLE %s ADD COLUMN %s BIGINT UNSIGNED "
		    "NOT NULL AUTO_INCREMENT UNIQUE", table, column);
	} else {
		by = db_named(at);
		*cost = xasprintf("rows that are there are numbered by %s, "
		    "and those of one moment in any order", at);
		sql = xasprintf("LOCK TABLES %s WRITE; ALTER TABLE %s ADD "
		    "COLUMN %s BIGINT UNSIGNED NULL; SET @outbox_n = 0; "
		    "UPDATE %s SET %s = (@outbox_n := @outbox_n + 1) ORDER BY "
		    "%s; ALTER TABLE %s MODIFY %s BIGINT UNSIGNED NOT NULL "
		    "AUTO_INCREMENT UNIQUE; UNLOCK TABLES", table, table,
		    column, table, column, by, table, column);
		free(by);
	}
	free(column);
	free(table);
	return sql;
}

/* The order is that of another column, which is added. */
static void
find_no_order(struct check *k, const struct schema_column *c)
{
	bool		 named = schema_column_of(&k->live.tables[T_OUTBOX],
			    conf_column(k->ctl->conf, "message_id")) != NULL;
	bool		 there = schema_column_of(&k->live.tables[T_OUTBOX],
			    OWN_ORDER) != NULL;
	char		*cost, *how, *sql = schema_order(k, OWN_ORDER, &how);
	struct buf	 type = { 0 };

	put_type(c, &type);
	cost = xasprintf("set outbox.columns: {id: " OWN_ORDER "%s%s}%s%s",
	    named ? "" : ", message_id: ", named ? "" : c->name,
	    there ? "" : "; ", there ? "" : how);
	schema_find(k->report, T_OUTBOX, (struct schema_cost){ SCHEMA_FAIL,
	    cost }, there ? "" : sql, "%s: %s is %s, and the order needs a "
	    "number", schema_name(k, T_OUTBOX), c->name,
	    type.data)->by_hand = true;
	free(how);
	buf_free(&type);
	free(cost);
	free(sql);
}

/* The server refuses NOT NULL while there are rows with NULL. */
static void
find_never_due(struct check *k, const struct schema_column *wanted,
    const struct schema_column *c)
{
	const char	*table = schema_name(k, T_OUTBOX);
	char		*outbox = db_named(table), *at = db_named(c->name);
	char		*sql;

	sql = xasprintf("UPDATE %s SET %s = CURRENT_TIMESTAMP WHERE %s "
	    "IS NULL; ALTER TABLE %s MODIFY %s %s", outbox, at, at, outbox, at,
	    wanted->definition);
	schema_find(k->report, T_OUTBOX, (struct schema_cost){ SCHEMA_FAIL,
	    "rows with NULL there are never sent" }, sql,
	    "%s: %s is %s NULL, not %s", table, c->name, c->type,
	    wanted->definition)->by_hand = true;
	free(sql);
	free(at);
	free(outbox);
}

static bool
is_moment(const struct schema_column *c)
{
	return strcmp(c->type, "timestamp") == 0 ||
	    strcmp(c->type, "datetime") == 0;
}

bool
schema_foreign(struct check *k, const struct schema_column *wanted,
    const struct schema_column *c)
{
	const char	*word = store_column_word(k->ctl->store, T_OUTBOX,
			    c->name);

	if (store_is_inline(k->ctl->store) && !schema_is_number(c->type) &&
	    strcmp(word, "global_sequence") == 0)
		find_no_order(k, c);
	else if (c->nullable && is_moment(c) &&
	    strcmp(word, "available_at") == 0)
		find_never_due(k, wanted, c);
	else
		return false;
	return true;
}
