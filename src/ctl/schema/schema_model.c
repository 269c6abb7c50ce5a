/* schema_model.c - the wanted tables and the live ones */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

#define INDEX_MAX	(sizeof(((struct schema_index *)0)->columns) / \
			    sizeof(const char *) - 1)

bool
schema_is_used(const struct ctl *c, enum store_table t)
{
	return (t != T_EVENTS && t != T_REGISTRY) ||
	    !store_is_inline(c->store);
}

const struct schema_column *
schema_column_of(const struct schema_table *t, const char *name)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return &t->columns[i];
	return NULL;
}

bool
schema_is_number(const char *type)
{
	return strstr(type, "int") != NULL && strstr(type, "point") == NULL;
}

bool
schema_is_moment(const char *type)
{
	return strcmp(type, "timestamp") == 0 || strcmp(type, "datetime") == 0;
}

static struct schema_column *
add_column(struct schema_table *t)
{
	t->columns = xreallocarray(t->columns, t->ncolumns + 1,
	    sizeof(*t->columns));
	return &t->columns[t->ncolumns++];
}

static struct schema_index *
add_index(struct schema_table *t)
{
	t->indexes = xreallocarray(t->indexes, t->nindexes + 1,
	    sizeof(*t->indexes));
	return &t->indexes[t->nindexes++];
}

/* Wanted tables */

const struct schema_wanted *
schema_wanted_of(const struct ctl *c, enum store_table t)
{
	const struct schema_wanted	*w = &schema_wanted_inline[t];

	return store_is_inline(c->store) && w->columns != NULL ? w :
	    &schema_wanted[t];
}

/* The columns of an application's own table have the names that it has. */
void
schema_read_wanted(const struct ctl *c, struct schema_model *m)
{
	const char	**name;

	memset(m, 0, sizeof(*m));
	for (enum store_table t = 0; t < NTABLES; t++) {
		const struct schema_wanted	*w = schema_wanted_of(c, t);
		struct schema_table		*to = &m->tables[t];

		for (size_t i = 0; i < w->ncolumns; i++)
			*add_column(to) = w->columns[i];
		for (size_t i = 0; i < w->nindexes; i++)
			*add_index(to) = w->indexes[i];
		if (t != T_OUTBOX && t != T_EVENTS)
			continue;
		for (size_t i = 0; i < to->ncolumns; i++)
			to->columns[i].name = conf_column(c->conf,
			    to->columns[i].name);
		for (size_t i = 0; i < to->nindexes; i++)
			for (name = to->indexes[i].columns; *name != NULL;
			    name++)
				*name = conf_column(c->conf, *name);
	}
}

/* Live tables */

static struct schema_table *
table_named(const struct ctl *c, struct schema_model *m, const char *name)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		if (schema_is_used(c, t) &&
		    strcmp(store_table_name(c->store, t), name) == 0)
			return &m->tables[t];
	return NULL;
}

/* The statements of facts.sql, in their order. */
enum fact { TABLES, COLUMNS, INDEXES };

/* A row of the answer to one of them. */
static void
take_fact(struct schema_table *t, enum fact fact, const struct db_rows *rows)
{
	const char		*name = db_text(rows, 1);
	struct schema_index	*x;
	size_t			 n = 0;

	if (fact == TABLES) {
		t->engine = name;
		t->nrows = db_u64(rows, 2);
		return;
	}
	if (fact == COLUMNS) {
		*add_column(t) = (struct schema_column){
			.name = name, .type = db_text(rows, 2),
			.length = db_u64(rows, 3),
			.collation = db_text(rows, 4),
			.nullable = db_u64(rows, 5) != 0,
			.optional = db_u64(rows, 6) != 0,
			.on_update = db_u64(rows, 7) != 0,
		};
		return;
	}
	/* One row for each column of an index. */
	x = t->nindexes == 0 ? NULL : &t->indexes[t->nindexes - 1];
	if (x == NULL || strcmp(x->name, name) != 0) {
		x = add_index(t);
		*x = (struct schema_index){ .name = name,
		    .unique = db_u64(rows, 3) == 0 };
	}
	while (n < INDEX_MAX && x->columns[n] != NULL)
		n++;
	if (n < INDEX_MAX)
		x->columns[n] = db_text(rows, 2);
}

int
schema_read_live(struct ctl *c, struct schema_model *m, struct err *e)
{
	struct schema_walk	 walk = { .at = schema_file_facts,
				    .delimiter = ";" };
	struct buf		 sql = { 0 };
	struct schema_table	*t;
	bool			 read = true;

	memset(m, 0, sizeof(*m));
	for (size_t i = 0; read && i < SCHEMA_NFACTS; i++) {
		schema_next(&walk, &sql);
		store_sql(c->store, ":sql", SQL_RAW("sql", sql.data));
		m->rows[i] = store_query(c->store, c->command->words, e);
		read = m->rows[i] != NULL;
		while (read && db_next(m->rows[i]))
			if ((t = table_named(c, m, db_text(m->rows[i],
			    0))) != NULL)
				take_fact(t, (enum fact)i, m->rows[i]);
	}
	buf_free(&sql);
	return read ? 0 : -1;
}

void
schema_model_free(struct schema_model *m)
{
	for (enum store_table t = 0; t < NTABLES; t++) {
		free(m->tables[t].columns);
		free(m->tables[t].indexes);
	}
	for (size_t i = 0; i < SCHEMA_NFACTS; i++)
		db_rows_free(m->rows[i]);
}
