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
	const struct schema_wanted	*w = schema_wanted_of(k->ctl, t);
	struct schema_finding		*f;
	struct buf			 text = { 0 };
	const char			*create;
	bool				 must;
	int				 rc;

	if (schema_has(k, t) || !schema_is_used(k->ctl, t))
		return 0;
	must = store_cost_of_table(t, schema_is_pillar(k)) == NULL ||
	    (t == T_BLOCKED && k->ctl->conf->retry.on_dead == DEAD_HALT);
	f = schema_find(k, t, must ? SCHEMA_FAIL : SCHEMA_WARN,
	    must ? schema_cannot_run : store_cost_of_table(t, true),
	    "no such table, or no right to see it (outboxctl setup --no-event "
	    "creates and grants)");
	f->by = BY_SQL;
	rc = schema_put_table(k->ctl->conf, w == &schema_wanted[t] ?
	    schema_file_schema : schema_file_inline, w->name, &text, e);
	if (rc == 0 && (create = strstr(text.data, "CREATE TABLE")) != NULL)
		schema_squeeze(&f->sql, create, strcspn(create, ";"));
	buf_free(&text);
	if (rc == 0 && t == T_SETTINGS) {
		buf_str(&f->sql, "; ");
		put_settings_row(k, &f->sql);
	}
	return rc;
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

/* Their names are in backticks, as the server quotes them. */
static int
check_foreign_keys(struct check *k, struct err *e)
{
	static const char	 before[] = "CONSTRAINT ", behind[] =
				    " FOREIGN KEY (";
	struct schema_finding	*f;
	const char		*end;
	char			*create;

	if (!schema_has(k, T_OUTBOX))
		return 0;
	if ((create = show_create(k, T_OUTBOX, e)) == NULL)
		return -1;
	for (const char *p = create; (p = strstr(p, before)) != NULL; ) {
		p += strlen(before);
		end = memmem(p, strcspn(p, "\n"), behind, strlen(behind));
		if (*p != '`' || end == NULL)
			continue;
		f = schema_find(k, T_OUTBOX, SCHEMA_NOTE, "each insert looks "
		    "up and locks the event, and an event cannot be archived "
		    "while its row is kept", "foreign key %.*s",
		    (int)(end - p) - 2, p + 1);
		schema_put(k, f, "ALTER TABLE {t} DROP FOREIGN KEY ", NULL);
		buf_add(&f->sql, p, (size_t)(end - p));
	}
	free(create);
	return 0;
}

/*
 * Each "CONSTRAINT name CHECK (...)" has to be in the live table; for the two
 * tables of which enqueuing makes SQL.
 */
static int
check_constraints(struct check *k, enum store_table t, struct err *e)
{
	const char *const	*wanted = schema_wanted_of(k->ctl, t)->checks;
	struct schema_finding	*f;
	const char		*name;
	char			*create, *plain;
	int			 n, rc = 0;

	if (!schema_has(k, t) || wanted == NULL)
		return 0;
	if ((create = show_create(k, t, e)) == NULL)
		return -1;
	for (; create[0] != '\0' && *wanted != NULL; wanted++) {
		struct buf	own = { 0 };

		rc = schema_put_text(k->ctl->conf, *wanted, &own, e);
		if (rc < 0) {
			buf_free(&own);
			break;
		}
		name = own.data + strlen("CONSTRAINT ");
		name += *name == '`';
		n = (int)strcspn(name, "` ");
		plain = xasprintf("CONSTRAINT `%.*s` CHECK ", n, name);
		if (strstr(create, plain) == NULL) {
			f = schema_find(k, t, SCHEMA_WARN, "rows may have "
			    "values that enqueuing cannot work with",
			    "no constraint %.*s", n, name);
			schema_put(k, f, "ALTER TABLE {t} ADD ", NULL);
			buf_str(&f->sql, own.data);
			f->by = BY_SQL;
		}
		free(plain);
		buf_free(&own);
	}
	free(create);
	return rc;
}

static int
check_version(struct check *k, struct err *e)
{
	struct schema_finding	*f;
	char			 version[VERSION_SIZE];
	int			 known;

	if (!schema_has(k, T_SETTINGS) || schema_column_of(
	    &k->live.tables[T_SETTINGS], "schema_version") == NULL)
		return 0;
	if ((known = version_of(k->ctl, version, e)) <= 0)
		return known;
	if (version[0] == '\0') {
		f = schema_find(k, T_SETTINGS, SCHEMA_FAIL, schema_cannot_run,
		    "has no row");
		put_settings_row(k, &f->sql);
		f->by = BY_SQL;
	} else if (known > 1) {
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
	return 0;
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
 * Accounts without rights on the procedure do not see it, so none may be seen
 * although there is one.  MySQL must drop a procedure to replace it, and loses
 * the grants on it.  Where it is only older, upgrade replaces it in place.
 */
static int
check_procedure(struct check *k, struct err *e)
{
	struct store	*s = k->ctl->store;
	const char	*outbox = k->ctl->conf->outbox.tables.outbox;
	bool		 mariadb = db_is_mariadb(store_db(s));
	unsigned long	 has, wanted = procedures_in(store_is_inline(s) ?
			    schema_file_inline : schema_file_schema);
	struct schema_finding *f;
	struct db_rows	*rows;
	char		*about;
	bool		 older;

	store_sql(s, "SELECT routine_name, routine_comment "
	    "FROM information_schema.routines WHERE routine_schema = "
	    "DATABASE() AND SUBSTRING(routine_name, :behind) IN (:ends) "
	    "AND LEFT(routine_name, :n) = :outbox",
	    SQL_NUMBER("behind", strlen(outbox) + 1),
	    SQL_NUMBER("n", strlen(outbox)),
	    SQL_EITHER("ends", store_is_inline(s),
	    "'_enqueue_message'", "'_enqueue', '_put'"),
	    SQL_TEXT("outbox", outbox));
	if ((rows = store_query(s, k->ctl->command->words, e)) == NULL)
		return -1;
	while (db_next(rows)) {
		if ((has = procedures_in(db_text(rows, 1))) == wanted)
			continue;
		older = has > 0 && has < wanted;
		about = xasprintf("procedure %s", db_text(rows, 0));
		f = schema_find_about(k, T_OUTBOX, about, older ?
		    SCHEMA_WARN : SCHEMA_NOTE, older && mariadb ?
		    "it enqueues by older rules; outboxctl schema upgrade "
		    "replaces it" : "it may enqueue by older rules; run "
		    "outboxctl schema install, and load grants.sql if the old "
		    "one has to be dropped first",
		    "it is not of this version");
		if (!mariadb)
			schema_put(k, f, "DROP PROCEDURE {n}",
			    db_text(rows, 0));
		if (older && mariadb)
			f->by = BY_PROCEDURES;
		free(about);
	}
	db_rows_free(rows);
	return 0;
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
	bool			 first = schema_can_index(k);
	const char		*engine;
	struct schema_finding	*f;

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
	for (enum store_table t = 0; t < NTABLES; t++) {
		if (!schema_has(k, t))
			continue;
		engine = k->live.tables[t].engine;
		if (strcasecmp(engine, "InnoDB") != 0) {
			f = schema_find(k, t, SCHEMA_FAIL, "its rows belong to "
			    "no transaction, and messages are lost", "its "
			    "engine is %s", engine);
			schema_put(k, f, "ALTER TABLE {t} ENGINE=InnoDB", NULL);
		}
		schema_columns(k, t);
		schema_unknown_columns(k, t);
		schema_indexes(k, t);
		schema_moments(k, t);
	}
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
