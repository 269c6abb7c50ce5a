/* schema_indexes.c - checks of indexes: the claim's, missing and spare ones */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

/* The index that the claim reads by, or NULL. */
static const struct schema_index *
claim_index(const struct check *k, const struct schema_table *t)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (store_is_claim_index(k->ctl->store, t->indexes[i].columns))
			return &t->indexes[i];
	return NULL;
}

/* "a,b" as "`a`, `b`": those of an application may be words of SQL. */
static char *
named_columns(const char *columns)
{
	char		*copy = xstrdup(columns), *p = copy, *name;
	struct buf	 list = { 0 };

	while ((name = strsep(&p, ",")) != NULL) {
		buf_str(&list, list.len == 0 ? "" : ", ");
		db_name(&list, name);
	}
	free(copy);
	return list.data;
}

/* "a,b" as "a, b" */
static const char *
comma_space(const char *columns, char list[256])
{
	size_t	n = 0;

	for (; *columns != '\0' && n < 253; columns++) {
		list[n++] = *columns;
		if (*columns == ',')
			list[n++] = ' ';
	}
	list[n] = '\0';
	return list;
}

bool
schema_can_index(const struct check *k)
{
	static const char *const	 words[] = { "published_at",
	    "partition_key", "global_sequence" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (schema_column_of(&k->live.tables[T_OUTBOX],
		    store_column_name(k->ctl->store, words[i])) == NULL)
			return false;
	return true;
}

/* Is the column of the order there, and no number?  Another takes its place. */
static bool
has_other_order(const struct check *k)
{
	const struct schema_column	*c;

	c = schema_column_of(&k->live.tables[T_OUTBOX],
	    store_column_name(k->ctl->store, "global_sequence"));
	return c != NULL && !schema_is_number(c->type);
}

/* Does upgrade add the column of the order before? */
static bool
adds_order(const struct check *k)
{
	for (size_t i = 0; i < k->report->n; i++)
		if (k->report->findings[i].undo != NULL)
			return true;
	return false;
}

void
schema_claim_index(struct check *k)
{
	const struct schema_table	*wanted = &k->wanted.tables[T_OUTBOX];
	const struct schema_index	*x = claim_index(k, wanted);
	struct schema_finding		*f;
	char				*change, *name, *columns, list[256];

	if (x == NULL || !schema_has(k, T_OUTBOX) || has_other_order(k) ||
	    claim_index(k, &k->live.tables[T_OUTBOX]) != NULL)
		return;
	name = db_named(x->name);
	columns = named_columns(x->columns);
	change = xasprintf("ADD KEY %s (%s)", name, columns);
	free(columns);
	free(name);
	f = schema_alter(k, T_OUTBOX, (struct schema_cost){ SCHEMA_WARN,
	    "every claim sorts the backlog" }, change,
	    "no index (%s)", comma_space(x->columns, list));
	f->way = ALTER_ONLINE;
	/* After the column that numbers the rows, which is added by hand. */
	f->by_hand = !schema_can_index(k) && !adds_order(k);
	free(change);
}

/* Can the index be used in place of the wanted one? */
static bool
serves(const struct schema_index *x, const struct schema_index *wanted)
{
	size_t	n = strlen(wanted->columns);

	if (wanted->unique)
		return x->unique &&
		    strcasecmp(x->columns, wanted->columns) == 0;
	return strncasecmp(x->columns, wanted->columns, n) == 0 &&
	    (x->columns[n] == ',' || x->columns[n] == '\0');
}

static bool
is_served(const struct schema_table *t, const struct schema_index *wanted)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (serves(&t->indexes[i], wanted))
			return true;
	return false;
}

static const struct schema_cost no_primary = { SCHEMA_FAIL,
	"the daemon finds and locks rows by it" };
static const struct schema_cost no_unique = { SCHEMA_NOTE,
	"rows that must be unique can be there twice" };
static const struct schema_cost no_index = { SCHEMA_WARN,
	"a search by these columns reads the whole table" };

void
schema_indexes(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];

	for (size_t i = 0; i < wanted->nindexes; i++) {
		const struct schema_index	*x = &wanted->indexes[i];
		bool	 primary = strcmp(x->name, "PRIMARY") == 0;
		char	*change, *name, *columns;

		/* Its column is added with an index. */
		if (primary && schema_column_of(&k->live.tables[t],
		    x->columns) == NULL && strchr(x->columns, ',') == NULL)
			continue;
		if (store_is_claim_index(k->ctl->store, x->columns) ||
		    is_served(&k->live.tables[t], x))
			continue;
		name = db_named(x->name);
		columns = named_columns(x->columns);
		change = primary ? xasprintf("ADD PRIMARY KEY (%s)",
		    columns) : xasprintf("ADD %sKEY %s (%s)",
		    x->unique ? "UNIQUE " : "", name, columns);
		free(columns);
		free(name);
		schema_alter(k, t, primary ? no_primary : x->unique ?
		    no_unique : no_index, change, "no %s (%s)", primary ?
		    "primary key" : x->unique ? "unique index" : "index",
		    x->columns)->by_hand = primary || x->unique;
		k->report->findings[k->report->n - 1].way = ALTER_ONLINE;
		free(change);
	}
}

static bool
is_wanted(const struct schema_table *t, const struct schema_index *x)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (x->unique && t->indexes[i].unique &&
		    strcasecmp(x->columns, t->indexes[i].columns) == 0)
			return true;
	return false;
}

/* Could it be the id of messages?  It keeps an INSERT from being repeated. */
static bool
is_like_id(const struct check *k, const struct schema_index *x)
{
	const struct schema_table	*t = &k->live.tables[T_OUTBOX];
	const struct schema_column	*c = schema_column_of(t, x->columns);

	return store_is_inline(k->ctl->store) && x->unique && c != NULL &&
	    c->collation[0] != '\0' &&
	    strcmp(store_column_word(k->ctl->store, T_OUTBOX, c->name),
	    c->name) == 0 &&
	    schema_column_of(t, conf_column(k->ctl->conf, "message_id")) ==
	    NULL;
}

/* May it be dropped?  Not from a table that may be an application's own. */
static bool
is_to_drop(const struct check *k, const struct schema_index *x)
{
	return !x->unique && !store_is_inline(k->ctl->store) &&
	    k->ctl->conf->outbox.columns.n == 0;
}

static void
find_spare(struct check *k, const struct schema_index *x)
{
	bool		 drop = is_to_drop(k, x);
	struct buf	 cost = { 0 }, sql = { 0 };

	buf_str(&cost, "each message has to update it");
	if (is_like_id(k, x))
		buf_printf(&cost, "; as outbox.columns: {message_id: %s} it is "
		    "the id of the messages", x->columns);
	else if (drop)
		buf_str(&cost, "; drop it if no other program reads by it");
	buf_str(&sql, "");
	if (drop) {
		buf_str(&sql, "ALTER TABLE ");
		db_name(&sql, schema_name(k, T_OUTBOX));
		buf_str(&sql, " DROP KEY ");
		db_name(&sql, x->name);
	}
	schema_find(k->report, T_OUTBOX, (struct schema_cost){ SCHEMA_NOTE,
	    cost.data }, sql.data, "%s: index %s (%s) is not read by the "
	    "daemon", schema_name(k, T_OUTBOX), x->name, x->columns)->way =
	    drop ? ALTER_ONLINE : ALTER_PLAIN;
	buf_free(&cost);
	buf_free(&sql);
}

/* Each index of the outbox adds to the cost of a message. */
void
schema_spare_indexes(struct check *k)
{
	const struct schema_table	*t = &k->live.tables[T_OUTBOX];
	const struct schema_index	*claim = claim_index(k, t);

	for (size_t i = 0; i < t->nindexes; i++)
		if (&t->indexes[i] != claim &&
		    strcmp(t->indexes[i].name, "PRIMARY") != 0 &&
		    !is_wanted(&k->wanted.tables[T_OUTBOX], &t->indexes[i]))
			find_spare(k, &t->indexes[i]);
}
