/*
 * schema_check.c - how the live tables differ from what the daemon wants
 *
 * Tables may be somebody else's, made by other rules, so a difference counts
 * for what it does: fail, the daemon cannot run; warn, something is lost;
 * note, something is dearer than it need be, or a change would rewrite the
 * table.  Notes are never acted upon but by people.
 */

#include "schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <bsd/string.h>

#include "xalloc.h"

/* What the checks share. */
struct check {
	struct ctl		*ctl;
	struct schema_model	 wanted, live;
	struct schema_report	*report;
};

const char *const schema_ways[NWAYS] = {
	[ALTER_INSTANT] = ", ALGORITHM=INSTANT",
	[ALTER_ONLINE] = ", ALGORITHM=INPLACE, LOCK=NONE",
	[ALTER_PLAIN] = "",
};

/* The daemon reads them, and never puts a row there. */
static bool
is_theirs(enum store_table t)
{
	return t == T_EVENTS || t == T_OUTBOX;
}

/* A shorter text than the schema's that is long enough all the same. */
static const struct {
	enum store_table	 table;
	const char		*column;
	uint64_t		 length;
} enough[] = {
	{ T_OUTBOX, "partition_key", 21 },	/* "!" and a sequence */
	{ T_WORKERS, "hostname", 64 },		/* Linux has no longer ones */
};

struct schema_finding *
schema_find(struct schema_report *r, enum schema_level level,
    enum store_table table, const char *cost, const char *sql,
    const char *what, ...)
{
	struct schema_finding	*f;
	char			 line[512];
	va_list			 ap;

	va_start(ap, what);
	vsnprintf(line, sizeof(line), what, ap);
	va_end(ap);
	r->findings = xreallocarray(r->findings, r->n + 1,
	    sizeof(*r->findings));
	f = &r->findings[r->n++];
	*f = (struct schema_finding){ .level = level, .table = table,
	    .by_hand = level == SCHEMA_NOTE, .way = ALTER_PLAIN,
	    .what = xstrdup(line), .cost = xstrdup(cost), .sql = xstrdup(sql) };
	return f;
}

void
schema_report_free(struct schema_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->findings[i].what);
		free(r->findings[i].cost);
		free(r->findings[i].sql);
	}
	free(r->findings);
}

static const char *
name_of(const struct check *k, enum store_table t)
{
	return store_table_name(k->ctl->store, t);
}

/* "ALTER TABLE `name` ..." */
static struct schema_finding *
find_alter(struct check *k, enum schema_level level, enum store_table t,
    const char *cost, const char *change, const char *what)
{
	char	*sql = xasprintf("ALTER TABLE `%s` %s", name_of(k, t), change);
	struct schema_finding	*f;

	f = schema_find(k->report, level, t, cost, sql, "%s: %s",
	    name_of(k, t), what);
	free(sql);
	return f;
}

static bool
has_table(const struct check *k, enum store_table t)
{
	return k->live.tables[t].engine != NULL;
}

static bool
must_have(const struct check *k, enum store_table t)
{
	return store_cost_of_table(t) == NULL ||
	    (t == T_BLOCKED && k->ctl->conf->retry.on_dead == DEAD_HALT);
}

/* A settings table is of no use without its row. */
static void
check_missing_table(struct check *k, enum store_table t)
{
	const char	*cost = store_cost_of_table(t);
	char		*sql;

	if (has_table(k, t))
		return;
	sql = t != T_SETTINGS ? xstrdup(k->wanted.tables[t].create) :
	    xasprintf("%s; %s", k->wanted.tables[t].create,
	    k->wanted.settings_row);
	schema_find(k->report, must_have(k, t) ? SCHEMA_FAIL : SCHEMA_WARN, t,
	    must_have(k, t) ? "the daemon cannot run" : cost, sql,
	    "%s: no such table, or no right to see it", name_of(k, t));
	free(sql);
}

/* The index that the claim reads by, or NULL. */
static const struct schema_index *
claim_index(const struct schema_table *t)
{
	for (size_t i = 0; i < t->nindexes; i++)
		if (store_is_claim_index(t->indexes[i].columns))
			return &t->indexes[i];
	return NULL;
}

static void
check_claim_index(struct check *k)
{
	const struct schema_table	*wanted = &k->wanted.tables[T_OUTBOX];
	const struct schema_index	*x = claim_index(wanted);
	char				*change;

	if (!has_table(k, T_OUTBOX) ||
	    claim_index(&k->live.tables[T_OUTBOX]) != NULL)
		return;
	change = xasprintf("ADD KEY `%s` (%s)", x->name, x->columns);
	find_alter(k, SCHEMA_WARN, T_OUTBOX, "every claim sorts the backlog",
	    change, "no index (published_at, partition_key, global_sequence)")
	    ->way = ALTER_ONLINE;
	free(change);
}

/* Of a column without which the daemon works. */
static const char *
cost_of(enum store_table t, const char *column)
{
	const char	*cost = store_cost_of_column(t, column);

	if (cost[0] != '\0')
		return cost;
	return strstr(column, "_at") != NULL ? "nobody knows when that was" :
	    "outboxctl has no place for what it keeps there";
}

static void
check_missing_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		const struct schema_column	*c = &wanted->columns[i];
		bool				 must;
		char				*what, *change;

		if (schema_column_of(&k->live.tables[t], c->name) != NULL)
			continue;
		must = store_cost_of_column(t, c->name) == NULL;
		what = xasprintf("no column %s", c->name);
		change = xasprintf("ADD COLUMN %s %s", c->name, c->definition);
		find_alter(k, must ? SCHEMA_FAIL : SCHEMA_WARN, t, must ?
		    "the daemon cannot run" : cost_of(t, c->name), change,
		    what)->way = ALTER_INSTANT;
		free(change);
		free(what);
	}
}

/*
 * Labels are compared between these tables.  Where the collations differ, a
 * join cannot use the index, and if neither is binary it is an error.
 */
static void
check_labels(struct check *k, enum store_table t)
{
	static const char		 key[] = "partition_key";
	const struct schema_model	*m = has_table(k, t) ? &k->live :
	    &k->wanted;
	const struct schema_column	*outbox, *c;
	bool				 binary;
	char				*change, *what;

	outbox = schema_column_of(&k->live.tables[T_OUTBOX], key);
	c = schema_column_of(&m->tables[t], key);
	if (outbox == NULL || c == NULL ||
	    strcmp(outbox->collation, c->collation) == 0)
		return;
	binary = strstr(outbox->collation, "_bin") != NULL ||
	    strstr(c->collation, "_bin") != NULL;
	change = xasprintf("MODIFY %s VARCHAR(64) COLLATE %s NOT NULL", key,
	    outbox->collation);
	what = xasprintf("%s is %s, but that of %s is %s", key, c->collation,
	    name_of(k, T_OUTBOX), outbox->collation);
	find_alter(k, binary ? SCHEMA_WARN : SCHEMA_FAIL, t, binary ?
	    "what joins the two reads the whole table and locks all of it" :
	    "what joins the two is refused", change, what);
	free(what);
	free(change);
}

enum kind { KIND_NUMBER, KIND_TEXT, KIND_MOMENT, KIND_OTHER };

static enum kind
kind_of(const char *type)
{
	if (strstr(type, "int") != NULL)
		return KIND_NUMBER;
	if (strstr(type, "char") != NULL || strstr(type, "text") != NULL ||
	    strstr(type, "blob") != NULL || strstr(type, "binary") != NULL ||
	    strcmp(type, "json") == 0)
		return KIND_TEXT;
	if (strcmp(type, "timestamp") == 0 || strcmp(type, "datetime") == 0)
		return KIND_MOMENT;
	return KIND_OTHER;
}

static uint64_t
length_that_is_enough(enum store_table t, const struct schema_column *wanted)
{
	for (size_t i = 0; i < sizeof(enough) / sizeof(enough[0]); i++)
		if (enough[i].table == t &&
		    strcmp(enough[i].column, wanted->name) == 0)
			return enough[i].length;
	return wanted->length;
}

static unsigned
size_of_number(const char *type)
{
	return strcmp(type, "bigint") == 0 ? 8 : strcmp(type, "int") == 0 ? 4 :
	    strcmp(type, "mediumint") == 0 ? 3 :
	    strcmp(type, "smallint") == 0 ? 2 : 1;
}

/* What is wrong with the type, or NULL; *level comes with it. */
static const char *
judge_type(enum store_table t, const struct schema_column *wanted,
    const struct schema_column *c, enum schema_level *level)
{
	enum kind	kind = kind_of(wanted->type);

	*level = SCHEMA_WARN;
	if (kind_of(c->type) != kind) {
		*level = SCHEMA_FAIL;
		return "the daemon reads and writes something else there";
	}
	if (kind == KIND_MOMENT && strcmp(c->type, wanted->type) != 0)
		return "the time zone of a session shifts what it writes";
	if (kind == KIND_NUMBER &&
	    size_of_number(c->type) < size_of_number(wanted->type)) {
		*level = SCHEMA_NOTE;
		return "a number may become too large, and is refused then";
	}
	if (kind == KIND_TEXT && t != T_EVENTS && c->length != 0 &&
	    c->length < length_that_is_enough(t, wanted))
		return "a text may become too long, and is refused then";
	return NULL;
}

/* The daemon writes NULL where the schema allows it, but to these. */
static bool
may_be_not_null(enum store_table t, const char *column)
{
	return t == T_EVENTS || t == T_WORKERS || t == T_AUDIT ||
	    strcmp(column, "partition_key") == 0 ||
	    strcmp(column, "created_at") == 0 ||
	    strcmp(column, "updated_at") == 0;
}

/* One that is there, against one that is wanted. */
static void
check_column(struct check *k, enum store_table t,
    const struct schema_column *wanted, const struct schema_column *c)
{
	enum schema_level	 level = SCHEMA_FAIL;
	const char		*cost = judge_type(t, wanted, c, &level);
	char			*change, *what;

	if (cost == NULL && wanted->nullable && !c->nullable &&
	    !may_be_not_null(t, c->name)) {
		level = SCHEMA_FAIL;
		cost = "the daemon writes NULL there, and that is refused";
	} else if (cost == NULL && !wanted->nullable && c->nullable &&
	    t != T_EVENTS) {
		level = SCHEMA_NOTE;
		cost = "a row with NULL there is never found";
	}
	if (cost == NULL)
		return;
	change = xasprintf("MODIFY %s %s", c->name, wanted->definition);
	what = xasprintf(c->length == 0 ? "%s is %s%.0llu %s, not %s" :
	    "%s is %s(%llu) %s, not %s", c->name, c->type,
	    (unsigned long long)c->length, c->nullable ? "NULL" : "NOT NULL",
	    wanted->definition);
	find_alter(k, level, t, cost, change, what)->by_hand = true;
	free(what);
	free(change);
}

static void
check_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_column	*c;

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		c = schema_column_of(&k->live.tables[t],
		    wanted->columns[i].name);
		if (c != NULL)
			check_column(k, t, &wanted->columns[i], c);
	}
}

/* All moments of a table at once: each such change rewrites it. */
static void
check_moments(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];
	const struct schema_column	*c;
	struct buf			 change = { 0 }, what = { 0 };

	for (size_t i = 0; i < wanted->ncolumns; i++) {
		const struct schema_column *w = &wanted->columns[i];

		c = schema_column_of(&k->live.tables[t], w->name);
		if (c == NULL || kind_of(c->type) != KIND_MOMENT ||
		    c->length >= w->length)
			continue;
		buf_printf(&change, "%sMODIFY %s %s", change.len == 0 ? "" :
		    ", ", w->name, w->definition);
		buf_printf(&what, "%s%s", what.len == 0 ? "" : ", ", w->name);
	}
	if (what.len > 0) {
		buf_str(&what, ": coarser than a microsecond");
		find_alter(k, SCHEMA_NOTE, t, t == T_EVENTS ?
		    "the header with the time of an event is as coarse" :
		    "delays, leases and what is due are as coarse, and the "
		    "change rewrites the table", change.data, what.data);
	}
	buf_free(&change);
	buf_free(&what);
}

/* Somebody's own column, without which no row can be made. */
static void
check_unknown_columns(struct check *k, enum store_table t)
{
	const struct schema_table	*live = &k->live.tables[t];

	for (size_t i = 0; i < live->ncolumns; i++) {
		const struct schema_column	*c = &live->columns[i];
		char				*what, *change;

		if (is_theirs(t) || c->optional ||
		    schema_column_of(&k->wanted.tables[t], c->name) != NULL)
			continue;
		what = xasprintf("column %s has no default", c->name);
		change = xasprintf("ALTER `%s` SET DEFAULT %s", c->name,
		    kind_of(c->type) == KIND_NUMBER ? "0" : "''");
		find_alter(k, SCHEMA_FAIL, t, "the daemon does not know it, "
		    "and its inserts are refused", change, what)->by_hand =
		    true;
		free(change);
		free(what);
	}
}

/* Does an index find rows by these columns? */
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

static void
check_indexes(struct check *k, enum store_table t)
{
	const struct schema_table	*wanted = &k->wanted.tables[t];

	for (size_t i = 0; i < wanted->nindexes; i++) {
		const struct schema_index	*x = &wanted->indexes[i];
		bool	 primary = strcmp(x->name, "PRIMARY") == 0;
		char	*what, *change;

		if (store_is_claim_index(x->columns) ||
		    is_served(&k->live.tables[t], x))
			continue;
		what = xasprintf("no %s (%s)", primary ? "primary key" :
		    x->unique ? "unique index" : "index", x->columns);
		change = primary ? xasprintf("ADD PRIMARY KEY (%s)",
		    x->columns) : xasprintf("ADD %sKEY `%s` (%s)",
		    x->unique ? "UNIQUE " : "", x->name, x->columns);
		find_alter(k, primary ? SCHEMA_FAIL : x->unique ? SCHEMA_NOTE :
		    SCHEMA_WARN, t, primary ? "rows are locked and found by it"
		    : x->unique ? "what must be there once can be there twice"
		    : "what looks for that reads the whole table", change,
		    what)->by_hand = primary || x->unique;
		k->report->findings[k->report->n - 1].way = ALTER_ONLINE;
		free(change);
		free(what);
	}
}

/* A message costs what its indexes cost. */
static void
check_spare_indexes(struct check *k)
{
	const struct schema_table	*t = &k->live.tables[T_OUTBOX];
	const struct schema_index	*claim = claim_index(t);

	for (size_t i = 0; i < t->nindexes; i++) {
		const struct schema_index	*x = &t->indexes[i];
		char				*what, *change;

		if (x == claim || strcmp(x->name, "PRIMARY") == 0)
			continue;
		what = xasprintf("index %s (%s) is not read by the daemon",
		    x->name, x->columns);
		change = xasprintf("DROP KEY `%s`", x->name);
		find_alter(k, SCHEMA_NOTE, T_OUTBOX, "each message pays for "
		    "it; if nobody else reads by it, drop it", change,
		    what)->way = ALTER_ONLINE;
		free(change);
		free(what);
	}
}

static void
check_engine(struct check *k, enum store_table t)
{
	char	*what;

	if (strcasecmp(k->live.tables[t].engine, "InnoDB") == 0)
		return;
	what = xasprintf("its engine is %s", k->live.tables[t].engine);
	find_alter(k, SCHEMA_FAIL, t, "nothing there belongs to a transaction, "
	    "and messages are lost", "ENGINE=InnoDB", what)->by_hand = true;
	free(what);
}

/* name is what stands behind CONSTRAINT, in backticks. */
static void
find_foreign_key(struct check *k, const char *name)
{
	size_t	 n = strcspn(name + 1, "`");
	char	*what = xasprintf("foreign key %.*s", (int)n, name + 1);
	char	*change = xasprintf("DROP FOREIGN KEY `%.*s`", (int)n,
		    name + 1);

	find_alter(k, SCHEMA_NOTE, T_OUTBOX, "each insert looks up and locks "
	    "the event, and an event cannot be archived while its row is kept",
	    change, what);
	free(change);
	free(what);
}

/* The catalogue shows them to owners only. */
static int
check_foreign_keys(struct check *k, struct err *e)
{
	struct db_rows	*rows;

	if (!has_table(k, T_OUTBOX))
		return 0;
	store_sql(k->ctl->store, "SHOW CREATE TABLE {outbox}");
	rows = store_query(k->ctl->store, k->ctl->command->words, e);
	if (rows == NULL)
		return store_fault(k->ctl->store) == DB_WRONG ? 0 : -1;
	for (const char *p = db_next(rows) ? db_text(rows, 1) : NULL;
	    p != NULL && (p = strstr(p, "CONSTRAINT `")) != NULL; p++) {
		size_t n = strcspn(p, "\n");

		if (memmem(p, n, "` FOREIGN KEY (", 15) != NULL)
			find_foreign_key(k, p + strlen("CONSTRAINT "));
	}
	db_rows_free(rows);
	return 0;
}

/* What version_of has found in a settings table. */
static void
judge_version(struct check *k, const char *version, bool newer)
{
	const char	*name = name_of(k, T_SETTINGS);
	char		*sql;

	if (version[0] == '\0') {
		schema_find(k->report, SCHEMA_FAIL, T_SETTINGS,
		    "the daemon cannot run", k->wanted.settings_row,
		    "%s: has no row", name);
		return;
	}
	if (newer) {
		schema_find(k->report, SCHEMA_FAIL, T_SETTINGS,
		    "the daemon refuses to run: install a newer one", "",
		    "%s: schema version %s is newer than %u", name, version,
		    store_schema_version)->by_hand = true;
		return;
	}
	sql = xasprintf("UPDATE `%s` SET schema_version = %u WHERE id = 1 AND "
	    "schema_version < %u", name, store_schema_version,
	    store_schema_version);
	if (strtoul(version, NULL, 10) < store_schema_version)
		schema_find(k->report, SCHEMA_WARN, T_SETTINGS,
		    "daemons that are too old for these tables do not know it",
		    sql, "%s: schema version %s is older than %u", name,
		    version, store_schema_version);
	free(sql);
}

static int
check_version(struct check *k, struct err *e)
{
	char	version[VERSION_SIZE];
	int	known;

	if (!has_table(k, T_SETTINGS) || schema_column_of(
	    &k->live.tables[T_SETTINGS], "schema_version") == NULL)
		return 0;
	known = version_of(k->ctl, version, e);
	if (known > 0)
		judge_version(k, version, known > 1);
	return known < 0 ? -1 : 0;
}

/* MySQL cannot replace a procedure without losing the grants on it. */
static void
judge_procedure(struct check *k, const char *comment)
{
	const char	*wanted = strstr(schema_file_schema, comment);
	char		*sql;

	if (comment[0] != '\0' && wanted != NULL &&
	    wanted[strlen(comment)] == '\'')
		return;
	sql = xasprintf("DROP PROCEDURE `%s_enqueue`", name_of(k, T_OUTBOX));
	schema_find(k->report, SCHEMA_NOTE, T_OUTBOX, "it may enqueue by older "
	    "rules; run outboxctl schema install, and load grants.sql if the "
	    "old one has to be dropped first", store_is_mariadb(k->ctl->store) ?
	    "" : sql, "procedure %s_enqueue: it is not of this version",
	    name_of(k, T_OUTBOX));
	free(sql);
}

/* Only who may use it sees it; where none is seen there may be one. */
static int
check_procedure(struct check *k, struct err *e)
{
	struct db_rows	*rows;

	store_sql(k->ctl->store, "SELECT routine_comment FROM "
	    "information_schema.routines WHERE routine_schema = DATABASE() "
	    "AND routine_name = CONCAT(");
	store_put_text(k->ctl->store, name_of(k, T_OUTBOX));
	store_put(k->ctl->store, ", '_enqueue')");
	rows = store_query(k->ctl->store, k->ctl->command->words, e);
	if (rows == NULL)
		return -1;
	if (db_next(rows))
		judge_procedure(k, db_text(rows, 0));
	db_rows_free(rows);
	return 0;
}

static void
check_table(struct check *k, enum store_table t)
{
	check_engine(k, t);
	check_columns(k, t);
	check_unknown_columns(k, t);
	check_indexes(k, t);
	check_moments(k, t);
}

/*
 * In the order of mending: the index that everything is slow without, what
 * the daemon looks for when it connects, then what can wait.  The version
 * comes last of what is mended, when all that it stands for is there.
 */
static int
check_all(struct check *k, struct err *e)
{
	check_claim_index(k);
	for (enum store_table t = 0; t < NTABLES; t++)
		if (has_table(k, t))
			check_missing_columns(k, t);
	for (enum store_table t = 0; t < NTABLES; t++)
		check_missing_table(k, t);
	check_labels(k, T_PARTITIONS);
	check_labels(k, T_BLOCKED);
	for (enum store_table t = 0; t < NTABLES; t++)
		if (has_table(k, t))
			check_table(k, t);
	if (check_version(k, e) < 0 || check_foreign_keys(k, e) < 0 ||
	    check_procedure(k, e) < 0)
		return -1;
	check_spare_indexes(k);
	return schema_check_rights(k->ctl, &k->live, k->report, e);
}

int
schema_compare(struct ctl *c, struct schema_report *report, struct err *e)
{
	struct check	k = { .ctl = c, .report = report };
	int		rc;

	memset(report, 0, sizeof(*report));
	rc = schema_read_wanted(c, &k.wanted, e) < 0 ||
	    schema_read_live(c, &k.live, e) < 0 ? -1 : check_all(&k, e);
	for (size_t i = 0; i < report->n; i++)
		report->findings[i].nrows =
		    k.live.tables[report->findings[i].table].nrows;
	schema_model_free(&k.wanted);
	schema_model_free(&k.live);
	return rc;
}
