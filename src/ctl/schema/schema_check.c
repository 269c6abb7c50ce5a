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

#include "util/log.h"
#include "util/xalloc.h"

static bool
must_have(const struct check *k, enum store_table t)
{
	return store_cost_of_table(t, schema_is_pillar(k)) == NULL ||
	    (t == T_BLOCKED && k->ctl->conf->retry.on_dead == DEAD_HALT);
}

static int
put_create(const struct check *k, enum store_table t, struct buf *to,
    struct err *e)
{
	const struct schema_wanted	*w = schema_wanted_of(k->ctl, t);
	struct buf			 text = { 0 };
	const char			*create;
	int				 rc;

	rc = schema_put_table(k->ctl->conf, w == &schema_wanted[t] ?
	    schema_file_schema : schema_file_inline, w->name, &text, e);
	if (rc == 0 && (create = strstr(text.data, "CREATE TABLE")) != NULL)
		schema_squeeze(to, create, strcspn(create, ";"));
	buf_free(&text);
	return rc;
}

/* The INSERT of the one row, and the SELECTs before it. */
static void
put_settings_row(const struct check *k, struct buf *to)
{
	const char	*from = strstr(k->text.data, "\nSELECT ");
	const char	*end = from == NULL ? NULL :
			    strstr(from, "\nINSERT IGNORE ");

	if (end == NULL)
		panic("sql/: there is no row of settings");
	schema_squeeze(to, from, (size_t)(end - from) + strcspn(end, ";"));
}

static int
check_missing_table(struct check *k, enum store_table t, struct err *e)
{
	struct schema_finding	*f;
	bool			 must = must_have(k, t);

	if (schema_has(k, t) || !schema_is_used(k->ctl, t))
		return 0;
	f = schema_find(k, t, must ? SCHEMA_FAIL : SCHEMA_WARN,
	    must ? schema_cannot_run : store_cost_of_table(t, true),
	    "no such table, or no right to see it (outboxctl setup --no-event "
	    "creates and grants)");
	f->by = BY_SQL;
	if (put_create(k, t, &f->sql, e) < 0)
		return -1;
	if (t == T_SETTINGS) {
		buf_str(&f->sql, "; ");
		put_settings_row(k, &f->sql);
	}
	return 0;
}

static void
check_engine(struct check *k, enum store_table t)
{
	const char		*engine = k->live.tables[t].engine;
	struct schema_finding	*f;

	if (strcasecmp(engine, "InnoDB") == 0)
		return;
	f = schema_find(k, t, SCHEMA_FAIL, "its rows belong to no transaction, "
	    "and messages are lost", "its engine is %s", engine);
	schema_put(k, f, "ALTER TABLE {t} ENGINE=InnoDB", NULL);
}

/*
 * SHOW CREATE TABLE, as information_schema shows constraints to owners only;
 * "": there is no right to it.  The caller frees.  NULL: see err.
 */
static char *
show_create(struct check *k, enum store_table t, struct err *e)
{
	struct store	*s = k->ctl->store;
	struct db_rows	*rows;
	char		*text;

	store_sql(s, "SHOW CREATE TABLE :table",
	    SQL_NAME("table", schema_name(k, t)));
	rows = store_query(s, k->ctl->command->words, e);
	if (rows == NULL)
		return store_fault(s) == DB_WRONG ? xstrdup("") : NULL;
	text = xstrdup(db_next(rows) ? db_text(rows, 1) : "");
	db_rows_free(rows);
	return text;
}

/* The name in backticks, as the server quotes it. */
static void
find_foreign_key(struct check *k, const char *name, int n)
{
	struct schema_finding	*f;

	f = schema_find(k, T_OUTBOX, SCHEMA_NOTE,
	    "each insert looks up and locks the event, and an event cannot be "
	    "archived while its row is kept", "foreign key %.*s", n - 2,
	    name + 1);
	schema_put(k, f, "ALTER TABLE {t} DROP FOREIGN KEY ", NULL);
	buf_add(&f->sql, name, (size_t)n);
}

static int
check_foreign_keys(struct check *k, struct err *e)
{
	static const char	 before[] = "CONSTRAINT ", behind[] =
				    " FOREIGN KEY (";
	const char		*end;
	char			*create;

	if (!schema_has(k, T_OUTBOX))
		return 0;
	if ((create = show_create(k, T_OUTBOX, e)) == NULL)
		return -1;
	for (const char *p = create; (p = strstr(p, before)) != NULL; ) {
		p += strlen(before);
		end = memmem(p, strcspn(p, "\n"), behind, strlen(behind));
		if (*p == '`' && end != NULL)
			find_foreign_key(k, p, (int)(end - p));
	}
	free(create);
	return 0;
}

/* "CONSTRAINT name CHECK (...)" has to be in the live table. */
static int
check_constraint(struct check *k, enum store_table t, const char *create,
    const char *wanted, struct err *e)
{
	struct buf		 own = { 0 }, plain = { 0 };
	struct schema_finding	*f;
	const char		*name;
	int			 n;

	if (schema_put_text(k->ctl->conf, wanted, &own, e) < 0)
		return -1;
	name = own.data + strlen("CONSTRAINT ");
	name += *name == '`';
	n = (int)strcspn(name, "` ");
	buf_printf(&plain, "CONSTRAINT `%.*s` CHECK ", n, name);
	if (strstr(create, plain.data) == NULL) {
		f = schema_find(k, t, SCHEMA_WARN,
		    "rows may have values that enqueuing cannot work with",
		    "no constraint %.*s", n, name);
		schema_put(k, f, "ALTER TABLE {t} ADD ", NULL);
		buf_str(&f->sql, own.data);
		f->by = BY_SQL;
	}
	buf_free(&plain);
	buf_free(&own);
	return 0;
}

/* Those of the two tables of which enqueuing makes SQL. */
static int
check_constraints(struct check *k, enum store_table t, struct err *e)
{
	const char *const	*wanted = schema_wanted_of(k->ctl, t)->checks;
	char			*create;
	int			 rc = 0;

	if (!schema_has(k, t) || wanted == NULL)
		return 0;
	if ((create = show_create(k, t, e)) == NULL)
		return -1;
	for (; rc == 0 && create[0] != '\0' && *wanted != NULL; wanted++)
		rc = check_constraint(k, t, create, *wanted, e);
	free(create);
	return rc;
}

/* Judge the version that version_of() has read. */
static void
judge_version(struct check *k, const char *version, bool newer)
{
	struct schema_finding	*f;

	if (version[0] == '\0') {
		f = schema_find(k, T_SETTINGS, SCHEMA_FAIL, schema_cannot_run,
		    "has no row");
		put_settings_row(k, &f->sql);
		f->by = BY_SQL;
	} else if (newer) {
		schema_find(k, T_SETTINGS, SCHEMA_FAIL, "the daemon "
		    "refuses to run: install a newer one",
		    "schema version %s is newer than %u", version,
		    store_schema_version);
	} else if (strtoul(version, NULL, 10) < store_schema_version) {
		f = schema_find(k, T_SETTINGS, SCHEMA_WARN, "daemons that are "
		    "too old for these tables do not refuse to run",
		    "schema version %s is older than %u", version,
		    store_schema_version);
		schema_put(k, f, "UPDATE {t} SET schema_version = ", NULL);
		buf_printf(&f->sql, "%u WHERE id = 1 AND schema_version < %u",
		    store_schema_version, store_schema_version);
		f->by = BY_SQL;
	}
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
	char		*about;

	if (has == wanted)
		return;
	about = xasprintf("procedure %s", name);
	f = schema_find_about(k, T_OUTBOX, about, older ? SCHEMA_WARN :
	    SCHEMA_NOTE, older && mariadb ? "it enqueues by older rules; "
	    "outboxctl schema upgrade replaces it" :
	    "it may enqueue by older rules; run outboxctl schema install, and "
	    "load grants.sql if the old one has to be dropped first",
	    "it is not of this version");
	if (!mariadb)
		schema_put(k, f, "DROP PROCEDURE {n}", name);
	if (older && mariadb)
		f->by = BY_PROCEDURES;
	free(about);
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
	    "DATABASE() AND SUBSTRING(routine_name, :behind) IN (:ends) "
	    "AND LEFT(routine_name, :n) = :outbox",
	    SQL_NUMBER("behind", n + 1), SQL_NUMBER("n", n),
	    SQL_EITHER("ends", store_is_inline(k->ctl->store),
	    "'_enqueue_message'", "'_enqueue', '_put'"),
	    SQL_TEXT("outbox", k->ctl->conf->outbox.tables.outbox));
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
		if (check_missing_table(k, t, e) < 0)
			return -1;
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
	if ((schema_has(k, schema_events(k)) && trigger_check(k, e) < 0) ||
	    fan_out_check(k, e) < 0)
		return -1;
	schema_spare_indexes(k);
	return schema_rights(k, e);
}

int
schema_compare(struct ctl *c, struct schema_report *report, struct err *e)
{
	struct check	k = { .ctl = c, .report = report };
	int		rc;

	memset(report, 0, sizeof(*report));
	schema_read_wanted(c, &k.wanted);
	rc = schema_render(c->conf, &k.text, e) < 0 ||
	    schema_read_live(c, &k.live, e) < 0 ? -1 : check_all(&k, e);
	for (size_t i = 0; i < report->n; i++)
		report->findings[i].nrows =
		    k.live.tables[report->findings[i].table].nrows;
	buf_free(&k.text);
	schema_model_free(&k.wanted);
	schema_model_free(&k.live);
	return rc;
}
