/*
 * schema.h - print, install, compare and upgrade the tables
 *
 * Only sql/schema.sql defines the tables: it is compiled in, printed, run, and
 * parsed to compare live tables with it.  grants.sql defines the rights of the
 * daemon.  Functions with a struct ctl block on the database; -1: see err.
 */
#ifndef OUTBOXCTL_SCHEMA_H
#define OUTBOXCTL_SCHEMA_H

#include "util/buf.h"
#include "ctl/base/ctl.h"
#include "mysql/db.h"

/* The files of sql/, compiled in by the Makefile. */
extern const char	schema_file_schema[], schema_file_grants[];
extern const char	schema_file_trigger[], schema_file_operator[];
extern const char	schema_file_inline[], schema_file_inline_trigger[];

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

/* The same with the table that is an application's own. */
int	schema_render_all(const struct conf *, struct buf *, struct err *);

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

/* The table with this name in schema.sql; NTABLES: none. */
enum store_table schema_table_id(const struct ctl *, const char *name);

/* With outbox.mode: inline there is no table of events. */
bool	schema_is_used(const struct ctl *, enum store_table);

/* The state of schema_next; delimiter is ";" at first. */
struct schema_walk {
	const char	*at;
	char		 delimiter[8];
};

/*
 * Read the next statement, without its delimiter and the comments before it;
 * DELIMITER lines work as in the client program.  false: the end.
 */
bool	schema_next(struct schema_walk *, struct buf *);

/* Copy n bytes with each run of white space made one blank; caller frees. */
char	*schema_squeeze(const char *, size_t n);

/* schema_model.c: models of the wanted and of the live tables */

struct schema_column {
	char		*name;
	char		*definition;	/* "BIGINT UNSIGNED NULL", or NULL */
	char		*type;		/* "varchar" */
	uint64_t	 length;	/* characters, or fractional digits */
	char		*collation;	/* "": no text */
	bool		 nullable;
	bool		 optional;	/* has a default or is generated */
	bool		 on_update;	/* live: ON UPDATE CURRENT_TIMESTAMP */
};

struct schema_index {
	char		*name;
	char		*columns;	/* "a,b" */
	bool		 unique;
};

struct schema_table {
	char			*create;	/* wanted: the statement */
	char			*engine;	/* live; NULL: no such table */
	uint64_t		 nrows;		/* about, live */
	struct schema_column	*columns;
	size_t			 ncolumns;
	struct schema_index	*indexes;
	size_t			 nindexes;
	struct buf		 checks;	/* wanted: "CONSTRAINT ... CHECK
						   (...)", each with a line feed */
};

struct schema_model {
	struct schema_table	 tables[NTABLES];
	char			*settings_row;	/* wanted: its INSERT */
};

/* Free the model with schema_model_free, also after an error. */
int	schema_read_wanted(const struct ctl *, struct schema_model *,
	    struct err *);
int	schema_read_live(struct ctl *, struct schema_model *, struct err *);
void	schema_model_free(struct schema_model *);

const struct schema_column *schema_column_of(const struct schema_table *,
	    const char *name);

/* Is the type that of whole numbers? */
bool	schema_is_number(const char *type);

/* schema_check.c, schema_report.c: the differences */

enum schema_level { SCHEMA_NOTE, SCHEMA_WARN, SCHEMA_FAIL };

/* The cost of a difference: its level, and the reason in words. */
struct schema_cost {
	enum schema_level	 level;
	const char		*text;
};

/* How an ALTER is tried; if the server refuses, the next way is tried. */
enum schema_way { ALTER_INSTANT, ALTER_ONLINE, ALTER_PLAIN, NWAYS };

extern const char *const schema_ways[NWAYS];	/* appended to the ALTER */

struct schema_finding {
	enum schema_level	 level;
	bool			 by_hand;	/* left to the operator */
	bool			 unused;	/* a right that this
						   configuration does not use */
	bool			 trigger;	/* upgrade recreates it */
	bool			 procedures;	/* upgrade replaces them */
	bool			 fan_out;	/* upgrade registers us */
	enum schema_way		 way;
	enum store_table	 table;
	uint64_t		 nrows;		/* of that table, about */
	char			*what, *cost;
	char			*sql;		/* may be several, with ';' */
	char			*undo;		/* if they fail halfway; or NULL */
};

/* Findings, in the order in which they are safe to correct. */
struct schema_report {
	struct schema_finding	*findings;
	size_t			 n;
};

/* Free the report with schema_report_free, also after an error. */
int	schema_compare(struct ctl *, struct schema_report *, struct err *);
void	schema_report_free(struct schema_report *);

/* Add a finding; cost and sql are copied; "what" is a format. */
struct schema_finding *schema_find(struct schema_report *, enum store_table,
	    struct schema_cost, const char *sql, const char *what, ...)
	    __attribute__((format(printf, 5, 6)));

/* trigger.c: the trigger on events */

/* Render sql/trigger.sql with the configured names and publish.types. */
int	trigger_render(const struct conf *, struct buf *, struct err *);

/* Create or replace the trigger; writes of events wait meanwhile. */
int	trigger_install(struct ctl *, struct err *);

/* Report a trigger that differs, and with --trigger a missing one. */
int	trigger_check(struct ctl *, struct schema_report *, struct err *);

/*
 * fan_out.c: write the row of this outbox into the registry, and tell those
 * over the same events of each other.  Needs the tables as of store_learn.
 */
int	fan_out_register(struct ctl *, struct err *);

/*
 * schema_rights.c: report rights of the daemon that the account lacks; and one
 * that earlier versions gave it, and that it should not have.
 */
int	schema_check_rights(struct ctl *, const struct schema_model *live,
	    struct schema_report *, struct err *);
int	schema_spare_rights(struct ctl *, struct schema_report *,
	    struct err *);

/* The account that is logged in, quoted for GRANT; the caller frees. */
char	*schema_account(struct ctl *, struct err *);

/* The rights to follow the binlog, ON *.*. */
const char *schema_binlog_rights(const struct ctl *);

#endif
