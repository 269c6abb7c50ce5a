/*
 * schema.h - what outboxctl knows of tables
 *
 * What the tables should be stands in sql/schema.sql and nowhere else: that
 * file is compiled in, printed, run, and parsed where live tables are
 * compared with it.  The rights that the daemon needs stand in grants.sql.
 */
#ifndef OUTBOXCTL_SCHEMA_H
#define OUTBOXCTL_SCHEMA_H

#include "util/buf.h"
#include "ctl/base/ctl.h"
#include "mysql/db.h"

/* What stands in sql/, made by the Makefile. */
extern const char	schema_file_schema[], schema_file_grants[];
extern const char	schema_file_trigger[];

/*
 * schema_run.c
 */

/*
 * All statements of a text, one after the other.  Each waits a second at most
 * for others to let go of a table, since everybody else waits behind it, and
 * tries again for a minute.
 */
int	schema_run_all(struct ctl *, const char *text, struct err *);

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

/* The same of another text. */
int	schema_put_text(const struct conf *, const char *text, struct buf *,
	    struct err *);

/* Which of the tables is it that schema.sql calls so?  NTABLES: none. */
enum store_table schema_table_id(const struct ctl *, const char *name);

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

/* The text up to n bytes with single blanks for whatever is blank. */
char	*schema_squeeze(const char *, size_t n);

/*
 * schema_model.c: tables as they should be, and as they are
 */

struct schema_column {
	char		*name;
	char		*definition;	/* "BIGINT UNSIGNED NULL", or NULL */
	char		*type;		/* "varchar" */
	uint64_t	 length;	/* characters, or digits of a second */
	char		*collation;	/* "": it is no text */
	bool		 nullable;
	bool		 optional;	/* has a default, or makes its value */
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
};

struct schema_model {
	struct schema_table	 tables[NTABLES];
	char			*settings_row;	/* wanted: what fills it */
};

/* Both are to be freed with schema_model_free, whatever they return. */
int	schema_read_wanted(const struct ctl *, struct schema_model *,
	    struct err *);
int	schema_read_live(struct ctl *, struct schema_model *, struct err *);
void	schema_model_free(struct schema_model *);

const struct schema_column *schema_column_of(const struct schema_table *,
	    const char *name);

/*
 * schema_check.c, schema_report.c: the differences
 */

enum schema_level { SCHEMA_NOTE, SCHEMA_WARN, SCHEMA_FAIL };

/* How an ALTER is asked for; if the server cannot, the next one is. */
enum schema_way { ALTER_INSTANT, ALTER_ONLINE, ALTER_PLAIN, NWAYS };

extern const char *const schema_ways[NWAYS];	/* what is put behind it */

struct schema_finding {
	enum schema_level	 level;
	bool			 by_hand;	/* upgrade leaves it alone */
	bool			 trigger;	/* it makes that anew */
	enum schema_way		 way;
	enum store_table	 table;
	uint64_t		 nrows;		/* of that table, about */
	char			*what, *cost;
	char			*sql;		/* maybe several, with ';' */
};

/* In the order in which they may be mended while a daemon runs. */
struct schema_report {
	struct schema_finding	*findings;
	size_t			 n;
};

/* The report is to be freed, whatever it returns. */
int	schema_compare(struct ctl *, struct schema_report *, struct err *);
void	schema_report_free(struct schema_report *);

/* Add one; cost and sql are copied, what is a format. */
struct schema_finding *schema_find(struct schema_report *, enum schema_level,
	    enum store_table, const char *cost, const char *sql,
	    const char *what, ...)
	    __attribute__((format(printf, 6, 7)));

/*
 * trigger.c: the trigger on events
 */

/* sql/trigger.sql under the configured names and with publish.types. */
int	trigger_render(const struct conf *, struct buf *, struct err *);

/* Make it, anew where it is there; no event is written meanwhile. */
int	trigger_install(struct ctl *, struct err *);

/*
 * Find that it is not as it should be, and with --trigger that there is none.
 */
int	trigger_check(struct ctl *, struct schema_report *, struct err *);

/* schema_rights.c: what the account may not do and the daemon has to. */
int	schema_check_rights(struct ctl *, const struct schema_model *live,
	    struct schema_report *, struct err *);

#endif
