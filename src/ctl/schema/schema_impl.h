/*
 * schema_impl.h - shared by the checks of the schema
 *
 * Each check adds its findings to the report.  A table passed to a check must
 * exist.
 */
#ifndef OUTBOXCTL_SCHEMA_IMPL_H
#define OUTBOXCTL_SCHEMA_IMPL_H

#include "ctl/schema/schema.h"

/* A column, as facts.sql tells of it. */
struct schema_column {
	const char	*name;
	const char	*type;		/* "varchar" */
	uint64_t	 length;	/* characters, or fractional digits */
	const char	*collation;	/* "": no text */
	bool		 nullable;
	bool		 optional;	/* has a default or is generated */
	bool		 on_update;	/* ON UPDATE CURRENT_TIMESTAMP */
	const char	*definition;	/* wanted: "BIGINT UNSIGNED NULL" */
};

struct schema_index {
	const char	*name;
	bool		 unique;
	const char	*columns[17];	/* and NULL */
};

/* sql/wanted.c: the tables of sql/, and the rights of the daemon */
struct schema_wanted {
	const char			*name;
	const struct schema_column	*columns;
	size_t				 ncolumns;
	const struct schema_index	*indexes;
	size_t				 nindexes;
	const char *const		*checks;	/* "CONSTRAINT ...
							   CHECK (...)" */
};

extern const struct schema_wanted	schema_wanted[NTABLES];
extern const struct schema_wanted	schema_wanted_inline[NTABLES];

/* "GRANT SELECT, UPDATE (changed) ON outbox_audit"; the last has NTABLES. */
struct schema_grant {
	enum store_table	 table;
	const char		*rights[5];	/* and NULL */
};

extern const struct schema_grant	schema_wanted_grants[];

/* schema_model.c: the wanted and the live tables */
struct schema_table {
	const char		*engine;	/* live; NULL: no such table */
	uint64_t		 nrows;		/* about, live */
	struct schema_column	*columns;
	size_t			 ncolumns;
	struct schema_index	*indexes;
	size_t			 nindexes;
};

#define SCHEMA_NFACTS	3

struct schema_model {
	struct schema_table	 tables[NTABLES];
	struct db_rows		*rows[SCHEMA_NFACTS];	/* texts of the live */
};

/*
 * Free the model with schema_model_free, also after an error.  Of the outbox
 * and the events wanted columns have the names of the configuration.
 */
void	schema_read_wanted(const struct ctl *, struct schema_model *);
int	schema_read_live(struct ctl *, struct schema_model *, struct err *);
void	schema_model_free(struct schema_model *);

/* With outbox.mode: inline there is no table of events. */
bool	schema_is_used(const struct ctl *, enum store_table);
const struct schema_wanted *schema_wanted_of(const struct ctl *,
	    enum store_table);

const struct schema_column *schema_column_of(const struct schema_table *,
	    const char *name);

/* Is the type that of whole numbers?  Of a moment? */
bool	schema_is_number(const char *type);
bool	schema_is_moment(const char *type);

struct check {
	struct ctl		*ctl;
	struct schema_model	 wanted, live;
	struct buf		 text;		/* of schema_render */
	struct schema_report	*report;
};

/*
 * schema_report.c: does the table exist; is none of ours there?  Its configured
 * name.
 */
bool	schema_has(const struct check *, enum store_table);
bool	schema_is_pillar(const struct check *);
const char *schema_name(const struct check *, enum store_table);

/* The events, or with outbox.mode: inline the outbox. */
enum store_table schema_events(const struct check *);

/* The column of the live outbox with this word, see store_sql.h; or NULL. */
const struct schema_column *schema_outbox_column(const struct check *,
	    const char *word);

/*
 * Add a finding about something, by default the table: its level, its cost, and
 * "what" as a format.  It is left to the operator.
 */
struct schema_finding *schema_find_about(struct check *, enum store_table,
	    const char *about, enum schema_level, const char *cost,
	    const char *what, ...) __attribute__((format(printf, 6, 7)));
#define schema_find(k, t, ...) \
	schema_find_about(k, t, schema_name(k, t), __VA_ARGS__)

/*
 * Append SQL, to that of the finding or elsewhere: {t} becomes the name of the
 * table, {n} this name.
 */
void	schema_put(const struct check *, struct schema_finding *,
	    const char *sql, const char *name);
void	schema_put_sql(const struct check *, enum store_table,
	    const char *sql, const char *name, struct buf *);

extern const char	schema_cannot_run[];		/* a cost */

/* schema_text.c */

/* Append one table of a file, with the comment before it. */
int	schema_put_table(const struct conf *, const char *file,
	    const char *name, struct buf *, struct err *);

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

/* Append n bytes with each run of white space made one blank. */
void	schema_squeeze(struct buf *, const char *, size_t n);

/* schema_columns.c; labels: compares the table's with the outbox's. */
void	schema_missing_columns(struct check *, enum store_table);
void	schema_labels(struct check *, enum store_table);
void	schema_columns(struct check *, enum store_table);
/* Copies of events' columns that are narrower than the originals. */
void	schema_copies(struct check *);
void	schema_unknown_columns(struct check *, enum store_table);
void	schema_moments(struct check *, enum store_table);

/*
 * schema_foreign.c: append statements that add a column for the order, which
 * number the rows that are there by the time at which they were written, if the
 * table has that; and to the cost in which order they are.
 */
void	schema_order(const struct check *, const char *name,
	    struct schema_finding *);

/*
 * Report a column of an application's outbox that has no numbers for the order,
 * or NULL for the time when a row is due.
 */
bool	schema_foreign(struct check *, const struct schema_column *wanted,
	    const struct schema_column *live);

/* Append "CHAR(36)". */
void	schema_put_type(struct buf *, const struct schema_column *);

/*
 * schema_unstable.c: report columns of messages, and times of the daemon, that
 * change with each write to their row.
 */
int	schema_find_unstable(struct check *, struct err *);

/* trigger.c: report one that differs, and with --trigger a missing one. */
int	trigger_check(struct check *, struct err *);

/* fan_out.c: report what keeps an event from other outboxes, or from this. */
int	fan_out_check(struct check *, struct err *);
/* fan_out_rights.c: fail if an account may write events, and not the outbox. */
int	fan_out_refuse(struct ctl *, struct err *);

/* schema_rights.c: report what schema_find_rights does. */
int	schema_rights(struct check *, struct err *);

/* schema_indexes.c */
/* Are the columns of the claim's index there? */
bool	schema_can_index(const struct check *);
void	schema_claim_index(struct check *);
void	schema_indexes(struct check *, enum store_table);
void	schema_spare_indexes(struct check *);

#endif
