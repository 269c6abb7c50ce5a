/* fleet_impl.h - private to the fleet*.c files */
#ifndef OUTBOX_FLEET_IMPL_H
#define OUTBOX_FLEET_IMPL_H

#include "worker/fleet.h"

/*
 * Which partition each of these leases is of, as its number from 0 in the
 * order of their first labels; returns how many partitions there are.  The
 * leases are sorted by label.
 */
size_t	fleet_group(const struct fleet *, const struct counts *,
	    const struct lease *, size_t n, size_t *of);

/* Own what the view says is ours. */
void	fleet_adopt(struct fleet *, const struct store_view *);

/*
 * Is all that the view says is ours what we own already, under the same epochs?
 * What is missing in it does not count.
 */
bool	fleet_knows(struct fleet *, const struct store_view *);

/* Own nothing. */
void	fleet_drop(struct fleet *);

/* Is the lease of this label ours? */
bool	fleet_owns(const struct fleet *, const char *label);

#endif
