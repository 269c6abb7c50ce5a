/* filter.h - SQL conditions for --key, --type, --partition, --since, --until */
#ifndef OUTBOXCTL_FILTER_H
#define OUTBOXCTL_FILTER_H

#include "ctl/base/ctl.h"

/* The SQL expression that each filter compares; NULL: filter not used. */
struct filter {
	const char	*key, *type, *partition, *time;
};

/* Append " AND ..." for each option that was given. */
void	filter_put(struct ctl *, const struct filter *);

/*
 * Append " <column> = <key>", compared byte by byte as in the daemon, not by
 * the column's collation.  "0x..." matches the key of these bytes and the key
 * with this text.
 */
void	filter_put_key(struct store *, const char *column, const char *key);

/* Append " IN (1,2,3)". */
void	filter_put_rows(struct store *, const uint64_t *, size_t n);

/*
 * Append a label as items of IN (...).  "0x..." matches the label of these
 * bytes and the label with this text.
 */
void	filter_put_label(struct store *, const char *);

/* Append " IN (...)" with one label, or with all of an array. */
void	filter_put_in_label(struct store *, const char *);
void	filter_put_in_labels(struct store *, const json_t *);

#endif
