/*
 * schema_impl.h - what the checks of the schema share
 *
 * Each adds to the report what differs.  Those that take a table are for one
 * that is there.
 */
#ifndef OUTBOXCTL_SCHEMA_IMPL_H
#define OUTBOXCTL_SCHEMA_IMPL_H

#include "ctl/schema/schema.h"

struct check {
	struct ctl		*ctl;
	struct schema_model	 wanted, live;
	struct schema_report	*report;
};

/* schema_report.c: is the table there?  Its name, as configured. */
bool	schema_has(const struct check *, enum store_table);
const char *schema_name(const struct check *, enum store_table);

/* Add a finding that "ALTER TABLE <its name> <change>" mends. */
struct schema_finding *schema_alter(struct check *, enum schema_level,
	    enum store_table, const char *cost, const char *change,
	    const char *what);

/* schema_columns.c; labels: those of the table against the outbox's. */
void	schema_missing_columns(struct check *, enum store_table);
void	schema_labels(struct check *, enum store_table);
void	schema_columns(struct check *, enum store_table);
/* Columns of ours that are narrower than those of events. */
void	schema_copies(struct check *);
void	schema_unknown_columns(struct check *, enum store_table);
void	schema_unused_columns(struct check *);
void	schema_moments(struct check *, enum store_table);

/* schema_indexes.c */
void	schema_claim_index(struct check *);
void	schema_indexes(struct check *, enum store_table);
void	schema_spare_indexes(struct check *);

#endif
