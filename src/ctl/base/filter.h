/*
 * filter.h - which rows: what --key, --type, --partition, --since and --until
 * add to a statement
 */
#ifndef OUTBOXCTL_FILTER_H
#define OUTBOXCTL_FILTER_H

#include "ctl/base/ctl.h"

/* The SQL of what a filter compares; NULL where none is wanted. */
struct filter {
	const char	*key, *type, *partition, *time;
};

/* Append " AND ..." for each option that was given. */
void	filter_put(struct ctl *, const struct filter *);

/*
 * " <column> = <key>", as the daemon compares keys: byte by byte, whatever the
 * collation of the column says of case and of blanks at the end.  "0x..." is
 * the key of these bytes, or the text itself, whichever there is.
 */
void	filter_put_key(struct store *, const char *column, const char *key);

/*
 * A label as items of a list, IN (...).  "0x..." is the label of these bytes, or
 * the text itself, whichever there is.
 */
void	filter_put_label(struct store *, const char *);

#endif
