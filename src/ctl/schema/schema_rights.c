/*
 * schema_rights.c - check that the account has the rights of grants.sql
 *
 * The server explains one statement for each right.  EXPLAIN needs the same
 * rights as the statement, however they were granted, and changes nothing.
 */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define CODE_TABLE_DENIED	1142
#define CODE_COLUMN_DENIED	1143

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

/* A statement that needs the right; {n}: any column. */
static const struct {
	const char	*right, *sql;
} needs[] = {
	{ "SELECT", "EXPLAIN SELECT * FROM {t}" },
	{ "INSERT", "EXPLAIN INSERT INTO {t} ({n}) VALUES (DEFAULT)" },
	{ "UPDATE", "EXPLAIN UPDATE {t} SET {n} = DEFAULT WHERE FALSE" },
	{ "DELETE", "EXPLAIN DELETE FROM {t} WHERE FALSE" },
};

/*
 * 1: denied; 0: not denied; -1: see err.  Of a table that is not there no
 * column is known: a name that is none shows the right, too.
 */
static int
is_denied(struct check *k, enum store_table t, const char *right,
    struct err *e)
{
	struct store	*s = k->ctl->store;
	const struct schema_table *live = &k->live.tables[t];
	const char	*open = strchr(right, '(');
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	unsigned	 code;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (strcmp(right, needs[i].right) == 0)
			schema_put_sql(k, t, needs[i].sql, live->ncolumns ==
			    0 ? "" : live->columns[0].name, &sql);
	if (open != NULL) {	/* "UPDATE (a, b)" */
		schema_put_sql(k, t, "EXPLAIN UPDATE {t} SET ", NULL, &sql);
		for (const char *p = open + 1; *p != '\0' && *p != ')'; p++) {
			buf_str(&sql, *p == ',' ? " = DEFAULT" : "");
			buf_add(&sql, p, 1);
		}
		buf_str(&sql, " = DEFAULT WHERE FALSE");
	}
	store_sql(s, ":sql", SQL_RAW("sql", sql.data));
	buf_free(&sql);
	rows = store_query(s, k->ctl->command->words, e);
	code = rows != NULL ? 0 : db_last_code(store_db(s));
	db_rows_free(rows);
	if (code == CODE_TABLE_DENIED || code == CODE_COLUMN_DENIED)
		return 1;
	return rows == NULL && store_fault(s) != DB_WRONG ? -1 : 0;
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
	return db_is_mariadb(store_db(c->store)) ? "REPLICATION SLAVE" :
	    "REPLICATION SLAVE, REPLICATION CLIENT";
}

/* Add the GRANT to the statement that creates the table we do not see. */
static void
add_to_create(struct check *k, enum store_table t, const char *grant)
{
	for (size_t i = 0; i < k->report->n; i++) {
		struct schema_finding	*f = &k->report->findings[i];

		if (f->table == t && strncmp(f->sql.data, "CREATE ", 7) == 0) {
			buf_printf(&f->sql, "; %s", grant);
			return;
		}
	}
}

static int
check_grant(struct check *k, const struct schema_grant *g, const char *who,
    struct err *e)
{
	const struct spared	*spare = NULL;
	enum schema_level	 level = SCHEMA_WARN;
	const char		*cost = store_cost_of_table(g->table, true);
	struct schema_finding	*f;
	struct buf		 denied = { 0 }, sql = { 0 };
	int			 rc = 0;

	for (const char *const *r = g->rights; rc >= 0 && *r != NULL; r++)
		if ((rc = is_denied(k, g->table, *r, e)) > 0)
			buf_printf(&denied, "%s%s", denied.len == 0 ? "" :
			    ", ", *r);
	if (rc < 0 || denied.len == 0) {
		buf_free(&denied);
		return rc;
	}

	buf_printf(&sql, "GRANT %s ON ", denied.data);
	db_name(&sql, k->ctl->conf->mysql.database);
	buf_str(&sql, ".");
	db_name(&sql, schema_name(k, g->table));
	buf_printf(&sql, " TO %s", who);
	for (size_t i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		if (spared[i].table == g->table &&
		    strcmp(spared[i].rights, g->rights[0]) == 0)
			spare = &spared[i];
	if (spare != NULL)
		cost = spare->cost;
	else if (g->table != T_AUDIT && g->table != T_REGISTRY) {
		level = SCHEMA_FAIL;
		cost = "the daemon needs it to work";
	}
	if (!schema_has(k, g->table))
		add_to_create(k, g->table, sql.data);
	else {
		f = schema_find(k, g->table, level, cost, "%s may not %s",
		    who, denied.data);
		buf_str(&f->sql, sql.data);
		f->unused = spare != NULL && !spare->used(k->ctl->conf);
	}
	buf_free(&sql);
	buf_free(&denied);
	return 0;
}

static int
check_grants(struct check *k, const char *who, struct err *e)
{
	const struct schema_grant	*g = schema_wanted_grants;
	int				 rc = 0;

	for (; rc == 0 && g->table != NTABLES; g++)
		if (schema_is_used(k->ctl, g->table))
			rc = check_grant(k, g, who, e);
	return rc;
}

int
schema_rights(struct check *k, struct err *e)
{
	char	*who = schema_account(k->ctl, e);
	int	 rc;

	if (who == NULL)
		return -1;
	rc = check_grants(k, who, e);
	free(who);
	return rc;
}

/* While somebody has locked a table, its rights are not known. */
int
schema_find_rights(struct ctl *c, struct schema_report *report, struct err *e)
{
	struct check	 k = { .ctl = c, .report = report };
	char		*who = NULL;
	int		 rc = -1;

	if (schema_read_live(c, &k.live, e) == 0 &&
	    (((who = schema_account(c, e)) != NULL &&
	    check_grants(&k, who, e) == 0) ||
	    (store_is_open(c->store) && store_fault(c->store) == DB_BUSY)))
		rc = 0;
	free(who);
	schema_model_free(&k.live);
	return rc;
}
