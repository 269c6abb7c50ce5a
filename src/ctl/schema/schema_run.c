/* schema_run.c - run statements of the schema beside other sessions */

#include "ctl/schema/schema_impl.h"

#include <poll.h>

#include "util/clock.h"

#define RETRY_FOR_MS	60000
#define GIVE_WAY_MS	200	/* sessions that waited behind us go first */

int
schema_run_all(struct ctl *c, const char *text, struct err *e)
{
	struct store		*s = c->store;
	struct schema_walk	 walk = { .at = text, .delimiter = ";" };
	struct buf		 statement = { 0 };
	int64_t			 until;
	int			 rc = 0;

	while (rc == 0 && schema_next(&walk, &statement)) {
		until = clock_ms() + RETRY_FOR_MS;
		store_sql(s, "SET SESSION lock_wait_timeout = 1, "
		    "innodb_lock_wait_timeout = 1");
		if ((rc = store_exec(s, "schema", NULL, e)) < 0)
			break;
		do {
			store_sql(s, ":sql", SQL_RAW("sql", statement.data));
			rc = store_exec(s, c->command->words, NULL, e);
		} while (rc < 0 && store_fault(s) == DB_BUSY &&
		    clock_ms() < until && poll(NULL, 0, GIVE_WAY_MS) == 0);
	}
	buf_free(&statement);
	return rc;
}
