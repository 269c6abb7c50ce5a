/* schema_indexes.c - checks of indexes: the claim's, missing and spare ones */

#include "ctl/schema/schema_impl.h"

#include <string.h>
#include <strings.h>

/* "a,b" */
static void
put_list(struct buf *to, const struct schema_index *x, const char *comma)
{
	for (const char *const *c = x->columns; *c != NULL; c++)
		buf_printf(to, "%s%s", c == x->columns ? "" : comma, *c);
}

static bool
is_claim_index(const struct check *k, const struct schema_index *x)
{
	struct buf	list = { 0 };
	bool		is;

	put_list(&list, x, ",");
	is = store_is_claim_index(k->ctl->store, list.data);
	buf_free(&list);
	return is;
}

/* The index that the claim reads by, or NULL. */
static const struct schema_index *
claim_index(const struct check *k, const struct schema_table *t)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (is_claim_index(k, &t->indexes[i]))
			return &t->indexes[i];
	return NULL;
}

/*
 * "ADD KEY `name` (`a`, `b`)": columns may be words of SQL.  The name begins
 * with that of the table, which may be another one.
 */
static void
add_index(const struct check *k, struct schema_finding *f,
    const struct schema_index *x)
{
	struct buf	own = { 0 };
	struct err	e;

	schema_put(k, f, "ALTER TABLE {t} ADD ", NULL);
	if (strcmp(x->name, "PRIMARY") == 0)
		buf_str(&f->sql, "PRIMARY KEY");
	else {
		buf_str(&f->sql, x->unique ? "UNIQUE KEY " : "KEY ");
		(void)schema_put_text(k->ctl->conf, x->name, &own, &e);
		if (own.data[0] == '`')
			buf_str(&f->sql, own.data);
		else
			db_name(&f->sql, own.data);
		buf_free(&own);
	}
	for (const char *const *c = x->columns; *c != NULL; c++)
		schema_put(k, f, c == x->columns ? " ({n}" : ", {n}", *c);
	buf_str(&f->sql, ")");
	f->way = ALTER_ONLINE;
}

bool
schema_can_index(const struct check *k)
{
	return schema_outbox_column(k, "published_at") != NULL &&
	    schema_outbox_column(k, "partition_key") != NULL &&
	    schema_outbox_column(k, "global_sequence") != NULL;
}

void
schema_claim_index(struct check *k)
{
	const struct schema_column	*order;
	const struct schema_index	*x;
	struct schema_finding		*f;
	struct buf			 list = { 0 };
	bool				 by_upgrade;

	x = claim_index(k, &k->wanted.tables[T_OUTBOX]);
	if (x == NULL || !schema_has(k, T_OUTBOX) ||
	    claim_index(k, &k->live.tables[T_OUTBOX]) != NULL)
		return;
	/* Another column takes the place of one that is no number. */
	order = schema_outbox_column(k, "global_sequence");
	if (order != NULL && !schema_is_number(order->type))
		return;
	/*
	 * Upgrade has added the other columns of the index before; that of the
	 * order, if it can, with a way to undo it.
	 */
	by_upgrade = order != NULL;
	for (size_t i = 0; i < k->report->n; i++)
		if (k->report->findings[i].undo.len > 0)
			by_upgrade = true;
	put_list(&list, x, ", ");
	f = schema_find(k, T_OUTBOX, SCHEMA_WARN,
	    "every claim sorts the backlog", "no index (%s)", list.data);
	buf_free(&list);
	add_index(k, f, x);
	if (by_upgrade)
		f->by = BY_SQL;
}

/* Can the index be used in place of the wanted one? */
static bool
serves(const struct schema_index *x, const struct schema_index *wanted)
{
	size_t	n;

	for (n = 0; wanted->columns[n] != NULL; n++)
		if (x->columns[n] == NULL ||
		    strcasecmp(x->columns[n], wanted->columns[n]) != 0)
			return false;
	return !wanted->unique || (x->unique && x->columns[n] == NULL);
}

static bool
is_served(const struct schema_table *t, const struct schema_index *wanted)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (serves(&t->indexes[i], wanted))
			return true;
	return false;
}

void
schema_indexes(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_table	*live = &k->live.tables[t];

	for (size_t i = 0; i < wanted->nindexes; i++) {
		const struct schema_index	*x = &wanted->indexes[i];
		bool				 primary;
		struct schema_finding		*f;
		struct buf			 list = { 0 };

		/* The column of a primary key is added with an index. */
		primary = strcmp(x->name, "PRIMARY") == 0;
		if ((primary && schema_column_of(live, x->columns[0]) ==
		    NULL) || is_claim_index(k, x) || is_served(live, x))
			continue;
		put_list(&list, x, ",");
		if (primary)
			f = schema_find(k, t, SCHEMA_FAIL,
			    "the daemon finds and locks rows by it",
			    "no primary key (%s)", list.data);
		else if (x->unique)
			f = schema_find(k, t, SCHEMA_NOTE,
			    "rows that must be unique can be there twice",
			    "no unique index (%s)", list.data);
		else
			f = schema_find(k, t, SCHEMA_WARN,
			    "a search by these columns reads the whole table",
			    "no index (%s)", list.data);
		buf_free(&list);
		add_index(k, f, x);
		if (!x->unique)
			f->by = BY_SQL;
	}
}

static bool
is_wanted(const struct schema_table *t, const struct schema_index *x)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (t->indexes[i].unique && serves(x, &t->indexes[i]))
			return true;
	return false;
}

/*
 * Each index of the outbox adds to the cost of a message.  None is dropped from
 * a table that may be an application's own.
 */
void
schema_spare_indexes(struct check *k)
{
	const struct schema_table	*t = &k->live.tables[T_OUTBOX];
	const struct schema_index	*x, *claim = claim_index(k, t);
	bool				 own = store_is_inline(k->ctl->store) ||
					    k->ctl->conf->outbox.columns.n > 0;

	for (size_t i = 0; i < t->nindexes; i++) {
		struct schema_finding	*f;
		struct buf		 list = { 0 };

		x = &t->indexes[i];
		if (x == claim || strcmp(x->name, "PRIMARY") == 0 ||
		    is_wanted(&k->wanted.tables[T_OUTBOX], x))
			continue;
		put_list(&list, x, ",");
		f = schema_find(k, T_OUTBOX, SCHEMA_NOTE,
		    "each message has to update it",
		    "index %s (%s) is not read by the daemon", x->name,
		    list.data);
		buf_free(&list);
		if (x->unique || own)
			continue;
		buf_str(&f->cost, "; drop it if no other program reads by it");
		schema_put(k, f, "ALTER TABLE {t} DROP KEY {n}", x->name);
		f->way = ALTER_ONLINE;
	}
}
