/* schema_run.c - run statements of the schema beside other sessions */

#include "ctl/schema/schema_impl.h"

#include <poll.h>

#include "util/clock.h"

#define RETRY_FOR_MS	60000
#define GIVE_WAY_MS	200	/* sessions that waited behind us go first */

static int
run_schema_text(struct ctl *c, const char *sql, struct err *e)
{
	int64_t	until = clock_ms() + RETRY_FOR_MS;
	int	rc;

	store_sql(c->store, "SET SESSION lock_wait_timeout = 1, "
	    "innodb_lock_wait_timeout = 1");
	if (store_exec(c->store, "schema", NULL, e) < 0)
		return -1;
	do {
		store_sql(c->store, ":sql", SQL_RAW("sql", sql));
		rc = store_exec(c->store, c->command->words, NULL, e);
	} while (rc < 0 && store_fault(c->store) == DB_BUSY &&
	    clock_ms() < until && poll(NULL, 0, GIVE_WAY_MS) == 0);
	return rc;
}

int
schema_run_all(struct ctl *c, const char *text, struct err *e)
{
	struct schema_walk	walk = { .at = text, .delimiter = ";" };
	struct buf		statement = { 0 };
	int			rc = 0;

	while (rc == 0 && schema_next(&walk, &statement))
		rc = run_schema_text(c, statement.data, e);
	buf_free(&statement);
	return rc;
}
