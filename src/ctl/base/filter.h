/* filter.h - SQL conditions for --key, --type, --partition, --since, --until */
#ifndef OUTBOXCTL_FILTER_H
#define OUTBOXCTL_FILTER_H

#include "ctl/base/ctl.h"

/* The SQL expression that each filter compares; no text: filter not used. */
struct filter {
	struct sql	key, type, partition, time;
};

/* Append " AND ..." for each option that was given. */
void	filter_put(struct ctl *, const struct filter *);

/*
 * Append " <column> = <key>", compared byte by byte as in the daemon, not by
 * the column's collation.  "0x..." matches the key of these bytes and the key
 * with this text.
 */
void	filter_put_key(struct store *, struct sql column, const char *key);

/*
 * Append a label, or all of an array, as items of IN (...).  "0x..." matches
 * the label of these bytes and the label with this text.
 */
void	filter_put_label(struct store *, const char *);
void	filter_put_labels(struct store *, const json_t *);

#endif
