/*
 * schema.h - print, install, compare and upgrade the tables
 *
 * Only sql/schema.sql and sql/inline.sql define the tables: they are compiled
 * in, printed and run, and what a server makes of them is in sql/wanted.c, with
 * which live tables are compared.  grants.sql defines the rights of the daemon.
 * Functions with a struct ctl block on the database; -1: see err.
 */
#ifndef OUTBOXCTL_SCHEMA_H
#define OUTBOXCTL_SCHEMA_H

#include "util/buf.h"
#include "ctl/base/ctl.h"
#include "mysql/db.h"

/* The files of sql/, compiled in by the Makefile, and the questions. */
extern const char	schema_file_schema[], schema_file_grants[];
extern const char	schema_file_trigger[], schema_file_operator[];
extern const char	schema_file_inline[], schema_file_inline_trigger[];
extern const char	schema_file_facts[];

/* schema_run.c */

/*
 * Run all statements of a text in order.  Each waits at most a second for the
 * lock of a table, because other sessions queue behind it, and is retried for a
 * minute.
 */
int	schema_run_all(struct ctl *, const char *text, struct err *);

/* schema_text.c */

/*
 * Render the schema with the configured names: schema.sql, or with outbox.mode:
 * inline inline.sql with the tables of schema.sql that it includes.  With
 * outbox.columns the table of messages is an application's own: it, and what
 * names its columns, is left out.  Indexes, constraints and the
 * procedure are renamed with the table that their names begin with, so that two
 * outboxes in one database share nothing.  With the default names it is the
 * file, byte for byte.  -1: a name is too long.
 */
int	schema_render(const struct conf *, struct buf *, struct err *);

/* The same for another text. */
int	schema_put_text(const struct conf *, const char *text, struct buf *,
	    struct err *);

/* schema_grants.c: the rights that a file gives to the shipped account */
struct schema_grants {
	const char	*file, *shipped;
	const char	*account;	/* takes the place of the shipped one */
};

/*
 * Append the GRANTs, with the configured names, and without those for objects
 * that the mode does not have; or those of all accounts that are shipped.
 */
int	schema_put_grants(const struct conf *, const struct schema_grants *,
	    struct buf *, struct err *);
int	schema_put_all_grants(const struct conf *, struct buf *, struct err *);

/* schema_check.c, schema_report.c: the differences */

enum schema_level { SCHEMA_NOTE, SCHEMA_WARN, SCHEMA_FAIL };

/* How an ALTER is tried; if the server refuses, the next way is tried. */
enum schema_way { ALTER_INSTANT, ALTER_ONLINE, ALTER_PLAIN, NWAYS };

extern const char *const schema_ways[NWAYS];	/* appended to the ALTER */

/* What corrects it: the operator, or upgrade, by SQL or by what it does. */
enum schema_remedy {
	BY_HAND, BY_SQL, BY_TRIGGER, BY_PROCEDURES, BY_REGISTRY
};

struct schema_finding {
	enum schema_level	 level;
	enum schema_remedy	 by;
	bool			 unused;	/* a right that this
						   configuration does not use */
	enum schema_way		 way;
	enum store_table	 table;
	uint64_t		 nrows;		/* of that table, about */
	struct buf		 what, cost;
	struct buf		 sql;		/* may be several, with ';' */
	struct buf		 undo;		/* if they fail halfway */
};

/* Findings, in the order in which they are safe to correct. */
struct schema_report {
	struct schema_finding	*findings;
	size_t			 n;
};

/* Free the report with schema_report_free, also after an error. */
int	schema_compare(struct ctl *, struct schema_report *, struct err *);
void	schema_report_free(struct schema_report *);

/* trigger.c: the trigger on events */

/* Render sql/trigger.sql with the configured names and publish.types. */
int	trigger_render(const struct conf *, struct buf *, struct err *);

/* Create or replace the trigger; writes of events wait meanwhile. */
int	trigger_install(struct ctl *, struct err *);

/*
 * fan_out.c: write the row of this outbox into the registry, and tell those
 * over the same events of each other.  Needs the tables as of store_learn.
 */
int	fan_out_register(struct ctl *, struct err *);

/* schema_rights.c: report rights of the daemon that the account lacks. */
int	schema_find_rights(struct ctl *, struct schema_report *, struct err *);

/* The account that is logged in, quoted for GRANT; the caller frees. */
char	*schema_account(struct ctl *, struct err *);

/* The rights to follow the binlog, ON *.*. */
const char *schema_binlog_rights(const struct ctl *);

#endif
