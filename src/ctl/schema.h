/*
 * schema.h - what outboxctl knows of tables
 *
 * What the tables should be stands in sql/schema.sql and nowhere else: that
 * file is compiled in, printed, run, and parsed where live tables are
 * compared with it.
 */
#ifndef OUTBOXCTL_SCHEMA_H
#define OUTBOXCTL_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "ctl.h"

/* sql/schema.sql and sql/grants.sql, made by the Makefile. */
extern const char	schema_file_schema[], schema_file_grants[];

/*
 * schema.c
 */

/*
 * Run a statement of the schema.  It waits a second at most for others to let
 * go of a table, since everybody else waits behind it, and tries again for
 * a minute.
 */
int	schema_run(struct ctl *, const char *sql, struct err *);

/*
 * schema_text.c
 */

/*
 * The schema under the configured names.  An index, a constraint and the
 * procedure follow the table that their names begin with, so that two
 * outboxes in one database share nothing.  Without other names it is the
 * file, byte for byte.  -1: such a name is too long.
 */
int	schema_render(const struct conf *, struct buf *, struct err *);

/* A text on its way through schema_next; delimiter is ";" at first. */
struct schema_walk {
	const char	*at;
	char		 delimiter[8];
};

/*
 * The next statement, without the comments before it and its delimiter;
 * DELIMITER lines are obeyed, as the client program does.  false: the end.
 */
bool	schema_next(struct schema_walk *, struct buf *);

#endif
