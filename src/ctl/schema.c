/* schema.c - print the schema, install it */

#include "schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

#define RETRY_FOR_MS	60000

int
schema_print(struct ctl *c)
{
	struct buf	text = { 0 };
	struct err	e;

	if (schema_render(c->conf, &text, &e) < 0)
		return ctl_fail(c, &e);
	if (c->args.json)
		print_object(c, json_pack("{s:s}", "sql", text.data));
	else
		fputs(text.data, stdout);
	buf_free(&text);
	return CTL_DONE;
}

int
schema_run(struct ctl *c, const char *sql, struct err *e)
{
	int64_t	until = clock_ms() + RETRY_FOR_MS;
	int	rc;

	store_sql(c->store, "SET SESSION lock_wait_timeout = 1, "
	    "innodb_lock_wait_timeout = 1");
	if (store_exec(c->store, "schema", NULL, e) < 0)
		return -1;
	do {
		store_sql(c->store, "");
		store_put_raw(c->store, sql);
		rc = store_exec(c->store, c->command->words, NULL, e);
	} while (rc < 0 && store_fault(c->store) == DB_BUSY &&
	    clock_ms() < until);
	return rc;
}

/* Of which table is it known that it is not there? */
static int
read_missing(struct ctl *c, bool missing[NTABLES], struct err *e)
{
	struct db_rows	*rows;

	for (enum store_table t = 0; t < NTABLES; t++)
		missing[t] = true;
	store_sql(c->store, "SELECT table_name FROM information_schema.tables "
	    "WHERE table_schema = DATABASE()");
	if ((rows = store_query(c->store, c->command->words, e)) == NULL)
		return -1;
	while (db_next(rows))
		for (enum store_table t = 0; t < NTABLES; t++)
			if (strcmp(db_text(rows, 0),
			    store_table_name(c->store, t)) == 0)
				missing[t] = false;
	db_rows_free(rows);
	return 0;
}

/* "a, b" */
static unsigned
list_missing(struct ctl *c, const bool missing[NTABLES], struct buf *to)
{
	unsigned	n = 0;

	for (enum store_table t = 0; t < NTABLES; t++)
		if (missing[t])
			buf_printf(to, "%s%s", n++ == 0 ? "" : ", ",
			    store_table_name(c->store, t));
	if (n == 0)
		buf_str(to, "nothing: no table is missing");
	return n;
}

static int
run_all(struct ctl *c, const char *text, struct err *e)
{
	struct schema_walk	walk = { .at = text, .delimiter = ";" };
	struct buf		statement = { 0 };
	int			rc = 0;

	while (rc == 0 && schema_next(&walk, &statement))
		rc = schema_run(c, statement.data, e);
	buf_free(&statement);
	return rc;
}

static int
install(struct ctl *c, unsigned n, struct err *e)
{
	struct buf	text = { 0 };
	int		rc = schema_render(c->conf, &text, e);

	if (rc == 0 && !c->args.dry_run)
		rc = run_all(c, text.data, e);
	buf_free(&text);
	if (rc < 0 || c->args.dry_run)
		return rc;
	return store_learn(c->store, e) < 0 ? -1 : audit_note(c, n, e);
}

int
schema_install(struct ctl *c)
{
	bool		missing[NTABLES];
	struct buf	names = { 0 };
	struct err	e;
	unsigned	n;
	int		status = CTL_DONE;

	if (read_missing(c, missing, &e) < 0)
		return ctl_fail(c, &e);
	n = list_missing(c, missing, &names);
	if (install(c, n, &e) < 0)
		status = ctl_fail(c, &e);
	else
		print_done(c, n, "%s %s.",
		    c->args.dry_run ? "Would create" : "Created", names.data);
	buf_free(&names);
	return status;
}
