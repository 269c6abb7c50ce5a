/*
 * schema_rights.c - check that the account has the rights of grants.sql
 *
 * The server explains one statement for each right.  EXPLAIN needs the same
 * rights as the statement, however they were granted, and changes nothing.
 */

#include "ctl/schema/schema.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define CODE_TABLE_DENIED	1142
#define CODE_COLUMN_DENIED	1143

/* "GRANT SELECT, UPDATE (changed) ON outbox_audit TO 'outbox'@..." */
struct grant {
	enum store_table	 table;
	char			*rights;	/* between GRANT and ON */
};

/* Without these rights the daemon works, but lacks a function. */
static const struct spared {
	enum store_table	 table;
	const char		*rights, *cost;
	bool			(*used)(const struct conf *);
} spared[] = {
	{ T_OUTBOX, "INSERT", "reconcile.at_start creates no rows",
	  conf_wants_reconcile },
	{ T_DEAD, "DELETE", "retention.dead_days deletes nothing",
	  conf_wants_retention },
};

static bool
parse_grant(const struct ctl *c, const char *sql, struct grant *g)
{
	const char	*on = strstr(sql, " ON ");
	char		*name;

	if (strncmp(sql, "GRANT ", 6) != 0 || on == NULL ||
	    strstr(sql, "TO 'outbox'@") == NULL)
		return false;
	name = xstrndup(on + 4, strcspn(on + 4, " \n"));
	g->table = schema_table_id(c, name);
	free(name);
	if (g->table == NTABLES)
		return false;
	g->rights = xstrndup(sql + 6, (size_t)(on - sql - 6));
	return true;
}

/*
 * Each column of "a, b" as a name, and the text behind it.  Of a table that is
 * not there no column is known: a name that is none shows the right, too.
 */
static void
put_columns(struct store *s, const char *list, const char *behind)
{
	char	*copy = xstrdup(list), *p = copy, *name;

	for (bool first = true; (name = strsep(&p, ", ")) != NULL; ) {
		if (*name == '\0' && *list != '\0')
			continue;	/* the blank after a comma */
		store_put_raw(s, first ? "" : ", ");
		store_put_name(s, name);
		store_put_raw(s, behind);
		first = false;
	}
	free(copy);
}

static void
put_insert(struct store *s, const char *columns)
{
	store_put(s, " (");
	put_columns(s, columns, "");
	store_put(s, ") VALUES (");
	for (const char *p = columns; p != NULL; p = strchr(p + 1, ','))
		store_put(s, p == columns ? "DEFAULT" : ", DEFAULT");
	store_put(s, ")");
}

/* Append a statement that needs the right; column: any of the table's. */
static void
put_statement(struct store *s, const char *right, const char *table,
    const char *column)
{
	const char	*open = strchr(right, '(');
	char		*list = open == NULL ? xstrdup(column) :
			    xstrndup(open + 1, strcspn(open + 1, ")"));

	if (strncmp(right, "SELECT", 6) == 0) {
		store_sql(s, "EXPLAIN SELECT * FROM ");
		store_put_name(s, table);
	} else if (strncmp(right, "INSERT", 6) == 0) {
		store_sql(s, "EXPLAIN INSERT INTO ");
		store_put_name(s, table);
		put_insert(s, list);
	} else if (strncmp(right, "UPDATE", 6) == 0) {
		store_sql(s, "EXPLAIN UPDATE ");
		store_put_name(s, table);
		store_put(s, " SET ");
		put_columns(s, list, " = DEFAULT");
		store_put(s, " WHERE FALSE");
	} else {
		store_sql(s, "EXPLAIN DELETE FROM ");
		store_put_name(s, table);
		store_put(s, " WHERE FALSE");
	}
	free(list);
}

/* 1: denied; 0: not denied; -1: see err. */
static int
is_denied(struct ctl *c, const char *right, enum store_table t,
    const char *column, struct err *e)
{
	struct db_rows	*rows;
	unsigned	 code;

	put_statement(c->store, right, store_table_name(c->store, t), column);
	rows = store_query(c->store, c->command->words, e);
	code = rows != NULL ? 0 : store_code(c->store);
	db_rows_free(rows);
	if (code == CODE_TABLE_DENIED || code == CODE_COLUMN_DENIED)
		return 1;
	return rows == NULL && store_fault(c->store) != DB_WRONG ? -1 : 0;
}

/* The first of "UPDATE (a, b), DELETE" */
static size_t
right_length(const char *p)
{
	size_t	n = strcspn(p, ",(");

	return p[n] != '(' ? n : n + strcspn(p + n, ")") + 1;
}

/* List the denied rights: "INSERT, DELETE". */
static int
find_denied(struct ctl *c, const struct grant *g,
    const struct schema_table *live, struct buf *denied, struct err *e)
{
	const char	*column = live->ncolumns == 0 ? "" :
	    live->columns[0].name;
	int		 rc = 0;

	for (const char *p = g->rights; rc >= 0 && *p != '\0'; ) {
		size_t	 n = right_length(p);
		char	*right = schema_squeeze(p, n);

		rc = is_denied(c, right, g->table, column, e);
		if (rc > 0)
			buf_printf(denied, "%s%s", denied->len == 0 ? "" :
			    ", ", right);
		free(right);
		p += n;
		p += strspn(p, ", ");
	}
	return rc < 0 ? -1 : 0;
}

char *
schema_account(struct ctl *c, struct err *e)
{
	struct db_rows	*rows;
	char		*name = NULL;

	store_sql(c->store, "SELECT CONCAT(QUOTE(SUBSTRING_INDEX("
	    "CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX("
	    "CURRENT_USER(), '@', -1)))");
	rows = store_query(c->store, c->command->words, e);
	if (rows != NULL && db_next(rows))
		name = xstrdup(db_text(rows, 0));
	db_rows_free(rows);
	return name;
}

/* MySQL asks for the second one to tell where its binlog ends. */
const char *
schema_binlog_rights(const struct ctl *c)
{
	return store_is_mariadb(c->store) ? "REPLICATION SLAVE" :
	    "REPLICATION SLAVE, REPLICATION CLIENT";
}

/* Add the GRANT to the statement that creates the table we do not see. */
static void
add_to_missing(struct schema_report *report, enum store_table t,
    const char *grant)
{
	for (size_t i = 0; i < report->n; i++) {
		struct schema_finding	*f = &report->findings[i];
		char			*create = f->sql;

		if (f->table != t || strncmp(create, "CREATE ", 7) != 0)
			continue;
		f->sql = xasprintf("%s; %s", create, grant);
		free(create);
		return;
	}
}

static const struct spared *
find_spared(const struct grant *g)
{
	for (size_t i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		if (spared[i].table == g->table &&
		    strcmp(spared[i].rights, g->rights) == 0)
			return &spared[i];
	return NULL;
}

/* Report the denied rights of a table that exists. */
static void
find_grant(struct ctl *c, const struct grant *g, const char *who,
    const char *denied, const char *sql, struct schema_report *report)
{
	const struct spared	*spare = find_spared(g);
	struct schema_cost	 cost = { SCHEMA_FAIL,
				    "the daemon needs it to work" };
	struct schema_finding	*f;

	if (spare != NULL)
		cost = (struct schema_cost){ SCHEMA_WARN, spare->cost };
	else if (g->table == T_AUDIT || g->table == T_REGISTRY)
		cost = (struct schema_cost){ SCHEMA_WARN,
		    store_cost_of_table(g->table) };
	f = schema_find(report, g->table, cost, sql, "%s: %s may not %s",
	    store_table_name(c->store, g->table), who, denied);
	f->by_hand = true;
	f->unused = spare != NULL && !spare->used(c->conf);
}

/* "GRANT INSERT ON `app`.`outbox` TO 'outbox'@'localhost'" */
static char *
put_grant(const struct ctl *c, const char *verb, const char *rights,
    const char *table, const char *word, const char *who)
{
	struct buf	sql = { 0 };

	buf_printf(&sql, "%s %s ON ", verb, rights);
	db_name(&sql, c->conf->mysql.database);
	buf_str(&sql, ".");
	db_name(&sql, table);
	buf_printf(&sql, " %s %s", word, who);
	return sql.data;
}

static int
check_grant(struct ctl *c, const struct grant *g, const char *who,
    const struct schema_model *live, struct schema_report *report,
    struct err *e)
{
	struct buf	 denied = { 0 };
	const char	*name = store_table_name(c->store, g->table);
	char		*sql;
	int		 rc;

	rc = find_denied(c, g, &live->tables[g->table], &denied, e);
	if (rc == 0 && denied.len > 0) {
		sql = put_grant(c, "GRANT", denied.data, name, "TO", who);
		if (live->tables[g->table].engine == NULL)
			add_to_missing(report, g->table, sql);
		else
			find_grant(c, g, who, denied.data, sql, report);
		free(sql);
	}
	buf_free(&denied);
	return rc;
}

static bool
may_write_table(struct ctl *c, const char *who, const char *table)
{
	struct err	e;
	bool		may;

	store_sql(c->store, "SELECT 1 FROM information_schema.table_privileges "
	    "WHERE table_schema = DATABASE() AND privilege_type = 'UPDATE' "
	    "AND table_name = ");
	store_put_text(c->store, table);
	store_put(c->store, " AND grantee = ");
	store_put_text(c->store, who);
	return store_query_any(c->store, c->command->words, &may, &e) == 0 &&
	    may;
}

/* Who may ALTER them is an administrator, whom no GRANT keeps from anything. */
static bool
may_write_database(struct ctl *c, const char *who)
{
	struct err	e;
	bool		may;

	store_sql(c->store, "SELECT 1 FROM (SELECT privilege_type AS word FROM "
	    "information_schema.schema_privileges WHERE DATABASE() LIKE "
	    "table_schema AND grantee = ");
	store_put_text(c->store, who);
	store_put(c->store, " UNION SELECT privilege_type FROM "
	    "information_schema.user_privileges WHERE grantee = ");
	store_put_text(c->store, who);
	store_put(c->store, ") AS rights HAVING SUM(word = 'UPDATE') > 0 "
	    "AND SUM(word = 'ALTER') = 0");
	return store_query_any(c->store, c->command->words, &may, &e) == 0 &&
	    may;
}

/*
 * Before, grants.sql gave the daemon all of the settings.  Its account could
 * then choose of which columns outbox_put makes SQL, and which types it takes.
 */
int
schema_spare_rights(struct ctl *c, struct schema_report *report,
    struct err *e)
{
	const char	*name = store_table_name(c->store, T_SETTINGS);
	char		*who = schema_account(c, e), *sql;

	if (who == NULL)
		return -1;
	if (may_write_table(c, who, name)) {
		sql = put_grant(c, "REVOKE", "INSERT, UPDATE", name, "FROM",
		    who);
		schema_find(report, T_SETTINGS, (struct schema_cost){
		    SCHEMA_WARN, "enqueuing depends on them; then load "
		    "grants.sql, which names the columns that the daemon "
		    "writes" }, sql, "%s: %s may write all of its columns",
		    name, who)->by_hand = true;
		free(sql);
	} else if (may_write_database(c, who))
		schema_find(report, T_SETTINGS, (struct schema_cost){
		    SCHEMA_WARN, "enqueuing depends on this one and on the "
		    "registry; load grants.sql, which names what the daemon "
		    "writes, and revoke the rights to the whole database" },
		    "", "%s: %s may change all tables of the database", name,
		    who)->by_hand = true;
	free(who);
	return 0;
}

int
schema_check_rights(struct ctl *c, const struct schema_model *live,
    struct schema_report *report, struct err *e)
{
	struct schema_walk	 walk = { .at = schema_file_grants,
	    .delimiter = ";" };
	struct buf		 sql = { 0 };
	struct grant		 g;
	char			*who = schema_account(c, e);
	int			 rc = who == NULL ? -1 : 0;

	while (rc == 0 && schema_next(&walk, &sql)) {
		if (!parse_grant(c, sql.data, &g))
			continue;
		rc = check_grant(c, &g, who, live, report, e);
		free(g.rights);
	}
	buf_free(&sql);
	free(who);
	return rc;
}
