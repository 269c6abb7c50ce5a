/*
 * version.c - is the version of the schema known to this program?
 *
 * In a newer schema the same columns may have other meanings.  Changes made
 * with the old meaning would break newer daemons.
 */

#include <stdio.h>
#include <stdlib.h>

#include <bsd/string.h>

#include "ctl/base/ctl.h"
#include "mysql/db.h"
#include "util/display.h"

int
version_of(struct ctl *c, char version[VERSION_SIZE], struct err *e)
{
	struct db_rows	*rows;
	int		 known;

	store_sql(c->store,
	    "SELECT schema_version FROM {settings} WHERE id = 1");
	rows = store_query(c->store, c->command->words, e);
	if (rows == NULL)	/* no table or no right: unknown */
		return store_fault(c->store) == DB_WRONG ? 0 : -1;
	known = db_next(rows);
	strlcpy(version, known ? db_text(rows, 0) : "", VERSION_SIZE);
	db_rows_free(rows);
	if (known && strtoul(version, NULL, 10) > store_schema_version)
		return 2;
	return 1;
}

int
version_guard(struct ctl *c, struct err *e)
{
	char		version[VERSION_SIZE];
	struct err	why;
	int		known;

	if ((known = version_of(c, version, e)) < 2)
		return known < 0 ? -1 : 0;
	err_set(&why, "%s: schema version %s is newer than %u, the newest "
	    "that this outboxctl knows", c->command->words, version,
	    store_schema_version);
	if (c->command->kind >= COMMAND_CHANGES)
		return err_set(e, "%s: install a newer one", why.text);
	if (c->command->needs != NEEDS_DATABASE)	/* schema check reports it */
		display_print(stderr, "outboxctl: %s: the output may be wrong\n",
		    why.text);
	return 0;
}
