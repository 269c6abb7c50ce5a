/*
 * schema_check.c - compare the live tables with the schema of the daemon
 *
 * The tables may be made by other programs, so a difference is rated by its
 * effect.  fail: the daemon cannot run; warn: something is lost; note:
 * something costs more than needed, or the change would rewrite the table.
 * Notes are left to the operator.
 */

#include "ctl/schema/schema_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

static bool
must_have(const struct check *k, enum store_table t)
{
	return store_cost_of_table(t) == NULL ||
	    (t == T_BLOCKED && k->ctl->conf->retry.on_dead == DEAD_HALT);
}

/* For the settings table, the statement also inserts its row. */
static void
check_missing_table(struct check *k, enum store_table t)
{
	struct schema_cost	 cost = schema_cannot_run;
	char			*sql;

	if (schema_has(k, t) || !schema_is_used(k->ctl, t))
		return;
	sql = t != T_SETTINGS ? xstrdup(k->wanted.tables[t].create) :
	    xasprintf("%s; %s", k->wanted.tables[t].create,
	    k->wanted.settings_row);
	if (!must_have(k, t))
		cost = (struct schema_cost){ SCHEMA_WARN,
		    store_cost_of_table(t) };
	schema_find(k->report, t, cost, sql,
	    "%s: no such table, or no right to see it (outboxctl setup "
	    "--no-event creates and grants)", schema_name(k, t));
	free(sql);
}

static void
check_engine(struct check *k, enum store_table t)
{
	if (strcasecmp(k->live.tables[t].engine, "InnoDB") != 0)
		schema_alter(k, t, (struct schema_cost){ SCHEMA_FAIL, "its "
		    "rows belong to no transaction, and messages are lost" },
		    "ENGINE=InnoDB", "its engine is %s",
		    k->live.tables[t].engine)->by_hand = true;
}

/* name points at the constraint's name, as the server quotes it. */
static void
find_foreign_key(struct check *k, const char *name)
{
	const char	*end = name + 1;
	char		*change;
	int		 n;

	for (; *end != '\0' && (*end != '`' || end[1] == '`'); end++)
		end += *end == '`';
	n = (int)(end - name) - 1;
	change = xasprintf("DROP FOREIGN KEY `%.*s`", n, name + 1);
	schema_alter(k, T_OUTBOX, (struct schema_cost){ SCHEMA_NOTE,
	    "each insert looks up and locks the event, and an event cannot be "
	    "archived while its row is kept" }, change, "foreign key %.*s", n,
	    name + 1);
	free(change);
}

/* information_schema shows them to owners only, so read SHOW CREATE TABLE. */
static int
check_foreign_keys(struct check *k, struct err *e)
{
	struct db_rows	*rows;

	if (!schema_has(k, T_OUTBOX))
		return 0;
	store_sql(k->ctl->store, "SHOW CREATE TABLE {outbox}");
	rows = store_query(k->ctl->store, k->ctl->command->words, e);
	if (rows == NULL)
		return store_fault(k->ctl->store) == DB_WRONG ? 0 : -1;
	for (const char *p = db_next(rows) ? db_nullable(rows, 1) : NULL;
	    p != NULL && (p = strstr(p, "CONSTRAINT `")) != NULL; p++) {
		size_t n = strcspn(p, "\n");

		if (memmem(p, n, "` FOREIGN KEY (", 15) != NULL)
			find_foreign_key(k, p + strlen("CONSTRAINT "));
	}
	db_rows_free(rows);
	return 0;
}

/* Has the live table, as SHOW CREATE TABLE has it, this wanted constraint? */
static void
check_constraint(struct check *k, enum store_table t, const char *live,
    const char *wanted)
{
	const char	*name = wanted + strlen("CONSTRAINT ");
	char		*plain, *change;
	int		 n;

	name += *name == '`';
	n = (int)strcspn(name, "` ");
	plain = xasprintf("CONSTRAINT `%.*s` CHECK ", n, name);
	if (strstr(live, plain) == NULL) {
		change = xasprintf("ADD %s", wanted);
		schema_alter(k, t, (struct schema_cost){ SCHEMA_WARN,
		    "rows may have values that enqueuing cannot work with" },
		    change, "no constraint %.*s", n, name);
		free(change);
	}
	free(plain);
}

/* Those of the two tables of which enqueuing makes SQL. */
static int
check_constraints(struct check *k, enum store_table t, struct err *e)
{
	struct db_rows	*rows;
	char		*copy, *p, *wanted;

	if (!schema_has(k, t) || k->wanted.tables[t].checks.len == 0)
		return 0;
	store_sql(k->ctl->store, "SHOW CREATE TABLE ");
	store_put_name(k->ctl->store, schema_name(k, t));
	rows = store_query(k->ctl->store, k->ctl->command->words, e);
	if (rows == NULL)
		return store_fault(k->ctl->store) == DB_WRONG ? 0 : -1;
	p = copy = xstrdup(k->wanted.tables[t].checks.data);
	while (db_next(rows) && (wanted = strsep(&p, "\n")) != NULL)
		for (; wanted != NULL && *wanted != '\0';
		    wanted = strsep(&p, "\n"))
			check_constraint(k, t, db_text(rows, 1), wanted);
	free(copy);
	db_rows_free(rows);
	return 0;
}

/* Judge the version that version_of() has read. */
static void
judge_version(struct check *k, const char *version, bool newer)
{
	const char	*name = schema_name(k, T_SETTINGS);
	char		*sql, *named;

	if (version[0] == '\0') {
		schema_find(k->report, T_SETTINGS, schema_cannot_run,
		    k->wanted.settings_row, "%s: has no row", name);
		return;
	}
	if (newer) {
		schema_find(k->report, T_SETTINGS, (struct schema_cost){
		    SCHEMA_FAIL, "the daemon refuses to run: install a newer "
		    "one" }, "",
		    "%s: schema version %s is newer than %u", name, version,
		    store_schema_version)->by_hand = true;
		return;
	}
	named = db_named(name);
	sql = xasprintf("UPDATE %s SET schema_version = %u WHERE id = 1 AND "
	    "schema_version < %u", named, store_schema_version,
	    store_schema_version);
	free(named);
	if (strtoul(version, NULL, 10) < store_schema_version)
		schema_find(k->report, T_SETTINGS, (struct schema_cost){
		    SCHEMA_WARN, "daemons that are too old for these tables "
		    "do not refuse to run" }, sql,
		    "%s: schema version %s is older than %u", name, version,
		    store_schema_version);
	free(sql);
}

static int
check_version(struct check *k, struct err *e)
{
	char	version[VERSION_SIZE];
	int	known;

	if (!schema_has(k, T_SETTINGS) || schema_column_of(
	    &k->live.tables[T_SETTINGS], "schema_version") == NULL)
		return 0;
	known = version_of(k->ctl, version, e);
	if (known > 0)
		judge_version(k, version, known > 1);
	return known < 0 ? -1 : 0;
}

#define OF_VERSION	", procedures "

/* The version in a comment of ours; 0: it is another's. */
static unsigned long
procedures_in(const char *text)
{
	const char	*number = strstr(text, OF_VERSION);

	return number == NULL ? 0 :
	    strtoul(number + strlen(OF_VERSION), NULL, 10);
}

/*
 * MySQL must drop a procedure to replace it, and loses the grants on it.  Where
 * it is only older, upgrade replaces it in place.
 */
static void
judge_procedure(struct check *k, const char *name, const char *comment)
{
	bool		 mariadb = store_is_mariadb(k->ctl->store);
	unsigned long	 wanted = procedures_in(
			    store_is_inline(k->ctl->store) ?
			    schema_file_inline : schema_file_schema);
	unsigned long	 has = procedures_in(comment);
	bool		 older = has > 0 && has < wanted;
	struct schema_finding	*f;
	char		*sql, *named;

	if (has == wanted)
		return;
	named = db_named(name);
	sql = xasprintf("DROP PROCEDURE %s", named);
	free(named);
	f = schema_find(k->report, T_OUTBOX, older && mariadb ?
	    (struct schema_cost){ SCHEMA_WARN, "it enqueues by older rules; "
	    "outboxctl schema upgrade replaces it" } :
	    (struct schema_cost){ older ? SCHEMA_WARN : SCHEMA_NOTE,
	    "it may enqueue by older rules; run outboxctl schema install, and "
	    "load grants.sql if the old one has to be dropped first" },
	    mariadb ? "" : sql,
	    "procedure %s: it is not of this version", name);
	f->procedures = older && mariadb;
	f->by_hand = !f->procedures;
	free(sql);
}

/*
 * Accounts without rights on the procedure do not see it, so none may be seen
 * although there is one.
 */
static int
check_procedure(struct check *k, struct err *e)
{
	size_t		 n = strlen(k->ctl->conf->outbox.tables.outbox);
	struct db_rows	*rows;

	store_sql(k->ctl->store, "SELECT routine_name, routine_comment "
	    "FROM information_schema.routines WHERE routine_schema = "
	    "DATABASE() AND SUBSTRING(routine_name, ");
	store_putf(k->ctl->store, "%zu) IN (%s) AND LEFT(routine_name, %zu) = ",
	    n + 1, store_is_inline(k->ctl->store) ? "'_enqueue_message'" :
	    "'_enqueue', '_put'", n);
	store_put_text(k->ctl->store, k->ctl->conf->outbox.tables.outbox);
	rows = store_query(k->ctl->store, k->ctl->command->words, e);
	if (rows == NULL)
		return -1;
	while (db_next(rows))
		judge_procedure(k, db_text(rows, 0), db_text(rows, 1));
	db_rows_free(rows);
	return 0;
}

static void
check_table(struct check *k, enum store_table t)
{
	check_engine(k, t);
	schema_columns(k, t);
	schema_unknown_columns(k, t);
	schema_indexes(k, t);
	schema_moments(k, t);
}

/*
 * In the order of upgrade: the claim's index, without which all is slow (if its
 * columns are there), then columns and tables that the daemon reads when it
 * connects, then the rest.
 * The version is set when all its changes are made.
 */
static int
check_all(struct check *k, struct err *e)
{
	bool	first = schema_can_index(k);

	if (first)
		schema_claim_index(k);
	for (enum store_table t = 0; t < NTABLES; t++)
		if (schema_has(k, t))
			schema_missing_columns(k, t);
	if (!first)
		schema_claim_index(k);
	for (enum store_table t = 0; t < NTABLES; t++)
		check_missing_table(k, t);
	schema_labels(k, T_PARTITIONS);
	schema_labels(k, T_BLOCKED);
	for (enum store_table t = 0; t < NTABLES; t++)
		if (schema_has(k, t))
			check_table(k, t);
	schema_copies(k);
	if (schema_find_unstable(k, e) < 0 ||
	    check_constraints(k, T_SETTINGS, e) < 0 ||
	    check_constraints(k, T_REGISTRY, e) < 0 ||
	    check_version(k, e) < 0 || check_foreign_keys(k, e) < 0 ||
	    check_procedure(k, e) < 0)
		return -1;
	if (schema_has(k, schema_is_used(k->ctl, T_EVENTS) ? T_EVENTS :
	    T_OUTBOX) && trigger_check(k->ctl, k->report, e) < 0)
		return -1;
	if (fan_out_check(k, e) < 0)
		return -1;
	schema_spare_indexes(k);
	return schema_spare_rights(k->ctl, k->report, e) < 0 ? -1 :
	    schema_check_rights(k->ctl, &k->live, k->report, e);
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
