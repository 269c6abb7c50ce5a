/* fleet_impl.h - private to the fleet*.c files */
#ifndef OUTBOX_FLEET_IMPL_H
#define OUTBOX_FLEET_IMPL_H

#include "worker/fleet.h"

/* A list of labels that owns their texts. */
void	fleet_add_label(char ***labels, size_t *n, const char *label);
void	fleet_free_labels(char ***labels, size_t *n);

/*
 * Which partition each lease of the view is of, as its number from 0 in the
 * order of their first labels; *n is the number of partitions.  The caller
 * frees the result.
 */
size_t	*fleet_group(const struct fleet *, const struct store_view *,
	    size_t *n);

/* Take over the partitions that are ours by this view. */
void	fleet_adopt(struct fleet *, const struct store_view *);

/*
 * fleet_duties.c: the duties of the first worker, if that is what we are.  Sets
 * *created if it made lease rows.
 */
int	fleet_housekeep(struct fleet *, int64_t now, const struct counts *,
	    bool *created, struct err *);

/* Own nothing. */
void	fleet_drop(struct fleet *);

#endif
