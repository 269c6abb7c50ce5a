/*
 * schema_model.c - models of the wanted and of the live tables
 *
 * The parser of sql/schema.sql knows only the SQL of that file: a column or
 * index per line, with words in the order of SHOW CREATE TABLE.
 */

#include "ctl/schema/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/xalloc.h"

static char *
lower(char *text)
{
	for (char *p = text; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return text;
}

static struct schema_column *
new_column(struct schema_table *t)
{
	t->columns = xreallocarray(t->columns, t->ncolumns + 1,
	    sizeof(*t->columns));
	memset(&t->columns[t->ncolumns], 0, sizeof(*t->columns));
	return &t->columns[t->ncolumns++];
}

static void
add_index(struct schema_table *t, char *name, char *columns, bool unique)
{
	t->indexes = xreallocarray(t->indexes, t->nindexes + 1,
	    sizeof(*t->indexes));
	t->indexes[t->nindexes++] =
	    (struct schema_index){ name, columns, unique };
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

/* Wanted tables */

/* Parse an index, like "UNIQUE KEY name (a, b)"; false: it is none. */
static bool
parse_index(struct schema_table *t, const char *item)
{
	bool		 primary = strncmp(item, "PRIMARY KEY", 11) == 0;
	bool		 unique = primary || strncmp(item, "UNIQUE ", 7) == 0;
	const char	*name = strstr(item, "KEY ") + 4;
	const char	*open = strchr(item, '(');
	size_t		 quote = *name == '`';
	struct buf	 columns = { 0 };

	if (!unique && strncmp(item, "KEY ", 4) != 0)
		return false;
	for (const char *p = open + 1; *p != ')'; p++)
		if (*p != ' ')
			buf_add(&columns, p, 1);
	buf_str(&columns, "");
	add_index(t, primary ? xstrdup("PRIMARY") :
	    xstrndup(name + quote, strcspn(name + quote, " `")), columns.data,
	    unique);
	return true;
}

/* Parse "name VARCHAR(64) COLLATE utf8mb4_bin NULL DEFAULT NULL". */
static void
parse_column(struct schema_table *t, const char *item, const char *collation)
{
	size_t			 n = strcspn(item, " ");
	const char		*type = item + n + 1, *own;
	struct schema_column	*c = new_column(t);

	c->name = xstrndup(item, n);
	c->definition = xstrdup(type);
	n = strcspn(type, " (");
	c->type = lower(xstrndup(type, n));
	if (type[n] == '(')
		c->length = strtoull(type + n + 1, NULL, 10);
	if (strstr(c->type, "char") != NULL) {
		own = strstr(type, "COLLATE ");
		own = own == NULL ? collation : own + 8;
		c->collation = xstrndup(own, strcspn(own, " ;"));
	} else
		c->collation = xstrdup("");
	c->nullable = strstr(type, "NOT NULL") == NULL;
	c->optional = c->nullable || strstr(type, "DEFAULT") != NULL ||
	    strstr(type, "AUTO_INCREMENT") != NULL;
}

/* Length up to the comma or parenthesis that ends a column or an index. */
static size_t
item_length(const char *p)
{
	int	depth = 0;
	size_t	n;

	for (n = 0; p[n] != '\0'; n++) {
		depth += p[n] == '(';
		if (depth == 0 && (p[n] == ',' || p[n] == ')'))
			break;
		depth -= p[n] == ')';
	}
	return n;
}

static void
parse_table(struct schema_table *t, const char *sql)
{
	const char	*p = strchr(sql, '('), *end = strrchr(sql, ')');
	const char	*collation = end == NULL ? NULL :
			    strstr(end, "COLLATE=");

	if (p == NULL || collation == NULL)
		panic("sql/schema.sql: a table without columns or COLLATE=");
	t->create = schema_squeeze(sql, strlen(sql));
	while (*p == '(' || *p == ',') {
		size_t	 n = item_length(++p);
		char	*item = schema_squeeze(p, n);

		if (strncmp(item, "CONSTRAINT ", 11) == 0)
			buf_printf(&t->checks, "%s\n", item);
		else if ((strstr(item, "KEY ") == NULL || !parse_index(t, item)))
			parse_column(t, item, collation + 8);
		free(item);
		p += n;
	}
}

static void
rename_word(char **word, const struct conf *conf)
{
	char	*name = xstrdup(conf_column(conf, *word));

	free(*word);
	*word = name;
}

/* The table of "CREATE TABLE IF NOT EXISTS name ("; NTABLES: none. */
static enum store_table
created_table(const struct ctl *c, const char *sql)
{
	static const char	 create[] = "CREATE TABLE IF NOT EXISTS ";
	const char		*name = sql + sizeof(create) - 1;
	enum store_table	 t;

	if (strncmp(sql, create, sizeof(create) - 1) != 0)
		return NTABLES;
	name += *name == '`';
	for (t = 0; t < NTABLES; t++) {
		const char *ours = store_table_name(c->store, t);

		if (strncmp(name, ours, strlen(ours)) == 0 &&
		    (name[strlen(ours)] == '`' || name[strlen(ours)] == ' '))
			break;
	}
	return t;
}

/* The columns of an application's own table have the names that it has. */
static void
name_wanted(const struct conf *conf, struct schema_table *t)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		rename_word(&t->columns[i].name, conf);
	for (size_t i = 0; i < t->nindexes; i++) {
		struct buf	 list = { 0 };
		char		*columns = t->indexes[i].columns, *p = columns;
		char		*name;

		for (; (name = strsep(&p, ",")) != NULL; )
			buf_printf(&list, "%s%s", list.len == 0 ? "" : ",",
			    conf_column(conf, name));
		free(columns);
		t->indexes[i].columns = list.data;
	}
}

int
schema_read_wanted(const struct ctl *c, struct schema_model *m, struct err *e)
{
	struct buf		text = { 0 }, sql = { 0 }, row = { 0 };
	struct schema_walk	walk = { .delimiter = ";" };
	enum store_table	t;

	memset(m, 0, sizeof(*m));
	if (schema_render_all(c->conf, &text, e) < 0) {
		buf_free(&text);
		return -1;
	}
	for (walk.at = text.data; schema_next(&walk, &sql); )
		if ((t = created_table(c, sql.data)) != NTABLES)
			parse_table(&m->tables[t], sql.data);
		else if (strncmp(sql.data, "SELECT ", 7) == 0 ||
		    strncmp(sql.data, "INSERT ", 7) == 0)
			buf_printf(&row, "%s%s", row.len == 0 ? "" : "; ",
			    sql.data);
	name_wanted(c->conf, &m->tables[T_OUTBOX]);
	name_wanted(c->conf, &m->tables[T_EVENTS]);
	m->settings_row = schema_squeeze(row.data, row.len);
	buf_free(&row);
	buf_free(&sql);
	buf_free(&text);
	return 0;
}

/* Live tables */

static struct schema_table *
table_named(const struct ctl *c, struct schema_model *m, const char *name)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		if (strcmp(store_table_name(c->store, t), name) == 0)
			return &m->tables[t];
	return NULL;
}

static void
take_table(struct schema_table *t, const struct db_rows *rows)
{
	t->engine = xstrdup(db_text(rows, 1));
	t->nrows = db_u64(rows, 2);
}

static void
take_column(struct schema_table *t, const struct db_rows *rows)
{
	struct schema_column	*c = new_column(t);

	c->name = xstrdup(db_text(rows, 1));
	c->type = lower(xstrdup(db_text(rows, 2)));
	c->length = db_u64(rows, 3);
	c->collation = xstrdup(db_text(rows, 4));
	c->nullable = db_u64(rows, 5) != 0;
	c->optional = db_u64(rows, 6) != 0;
	c->on_update = db_u64(rows, 7) != 0;
}

static void
take_index(struct schema_table *t, const struct db_rows *rows)
{
	add_index(t, xstrdup(db_text(rows, 1)), xstrdup(db_text(rows, 2)),
	    db_u64(rows, 3) == 0);
}

/* Queries of information_schema, and the function that takes each row. */
static const struct {
	const char	*from;
	void		(*take)(struct schema_table *, const struct db_rows *);
} questions[] = {
	{ "SELECT table_name, COALESCE(engine, 'view'), "
	  "COALESCE(table_rows, 0) FROM information_schema.tables "
	  "WHERE table_schema = DATABASE()", take_table },
	{ "SELECT table_name, column_name, data_type, "
	  "COALESCE(character_maximum_length, datetime_precision, 0), "
	  "COALESCE(collation_name, ''), is_nullable = 'YES', "
	  "is_nullable = 'YES' OR column_default IS NOT NULL OR extra <> '', "
	  "LOWER(extra) LIKE '%on update%' "
	  "FROM information_schema.columns WHERE table_schema = DATABASE() "
	  "ORDER BY table_name, ordinal_position", take_column },
	{ "SELECT table_name, index_name, GROUP_CONCAT(CONCAT("
	  "COALESCE(column_name, '?'), IF(sub_part IS NULL, '', '?')) "
	  "ORDER BY seq_in_index), MIN(non_unique) "
	  "FROM information_schema.statistics WHERE table_schema = DATABASE() "
	  "GROUP BY table_name, index_name", take_index },
};

int
schema_read_live(struct ctl *c, struct schema_model *m, struct err *e)
{
	struct db_rows		*rows;
	struct schema_table	*t;

	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		store_sql(c->store, questions[i].from);
		rows = store_query(c->store, c->command->words, e);
		if (rows == NULL)
			return -1;
		while (db_next(rows)) {
			t = table_named(c, m, db_text(rows, 0));
			if (t != NULL)
				questions[i].take(t, rows);
		}
		db_rows_free(rows);
	}
	return 0;
}

static void
free_table(struct schema_table *t)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		free(t->columns[i].name);
		free(t->columns[i].definition);
		free(t->columns[i].type);
		free(t->columns[i].collation);
	}
	for (size_t i = 0; i < t->nindexes; i++) {
		free(t->indexes[i].name);
		free(t->indexes[i].columns);
	}
	buf_free(&t->checks);
	free(t->create);
	free(t->engine);
	free(t->columns);
	free(t->indexes);
}

void
schema_model_free(struct schema_model *m)
{
	for (enum store_table t = 0; t < NTABLES; t++)
		free_table(&m->tables[t]);
	free(m->settings_row);
}
