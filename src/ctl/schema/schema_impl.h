/*
 * schema_impl.h - shared by the checks of the schema
 *
 * Each check adds its findings to the report.  A table passed to a check must
 * exist.
 */
#ifndef OUTBOXCTL_SCHEMA_IMPL_H
#define OUTBOXCTL_SCHEMA_IMPL_H

#include "ctl/schema/schema.h"

extern const struct schema_cost schema_cannot_run;

struct check {
	struct ctl		*ctl;
	struct schema_model	 wanted, live;
	struct schema_report	*report;
};

/* schema_report.c: does the table exist?  Its configured name. */
bool	schema_has(const struct check *, enum store_table);
const char *schema_name(const struct check *, enum store_table);

/* Add a finding whose remedy is "ALTER TABLE <name> <change>". */
struct schema_finding *schema_alter(struct check *, enum store_table,
	    struct schema_cost, const char *change, const char *what, ...)
	    __attribute__((format(printf, 5, 6)));

/* schema_columns.c; labels: compares the table's with the outbox's. */
void	schema_missing_columns(struct check *, enum store_table);
void	schema_labels(struct check *, enum store_table);
void	schema_columns(struct check *, enum store_table);
/* Copies of events' columns that are narrower than the originals. */
void	schema_copies(struct check *);
void	schema_unknown_columns(struct check *, enum store_table);
void	schema_moments(struct check *, enum store_table);

/*
 * schema_foreign.c: the statements that add a column for the order, which number the rows that are
 * there by the time at which they were written, if the table has that; and the
 * text that tells in which order they are.  The caller frees both.
 */
char	*schema_order(const struct check *, const char *name, char **cost);

/*
 * Report a column of an application's outbox that has no numbers for the order,
 * or NULL for the time when a row is due.
 */
bool	schema_foreign(struct check *, const struct schema_column *wanted,
	    const struct schema_column *live);

/*
 * schema_unstable.c: report columns of messages, and times of the daemon, that
 * change with each write to their row.
 */
int	schema_find_unstable(struct check *, struct err *);

/* fan_out.c: report what keeps an event from other outboxes, or from this. */
int	fan_out_check(struct check *, struct err *);
/* fan_out_rights.c: fail if an account may write events, and not the outbox. */
int	fan_out_refuse(struct ctl *, struct err *);

/* schema_indexes.c */
/* Are the columns of the claim's index there? */
bool	schema_can_index(const struct check *);
void	schema_claim_index(struct check *);
void	schema_indexes(struct check *, enum store_table);
void	schema_spare_indexes(struct check *);

#endif
