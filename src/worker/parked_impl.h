/* parked_impl.h - private to the parked*.c files */
#ifndef OUTBOX_PARKED_IMPL_H
#define OUTBOX_PARKED_IMPL_H

#include "worker/parked.h"

/* The reasons in the table, by enum block_why. */
extern const char *const parked_reasons[];

/* The range of the rows that are parked under a record. */
void	parked_set_range(struct range *, char label[STORE_PARKED],
	    uint64_t first, size_t limit);

/* The leases that a statement relies on; items is to be freed. */
struct leases {
	struct range	*items;
	size_t		 n;
};

/* Add the leases of all labels of this partition. */
void	parked_add_leases(struct leases *, const struct part *);

/* Read the records of unread partitions. */
int	parked_read_fresh(struct parked *, int64_t now, struct err *);

/*
 * The records of these partitions were read.  A partition stays unread if that
 * failed, or if two records of a lane are not merged yet.
 */
void	parked_end_reading(struct parked *, struct part *const *, size_t n,
	    bool failed);

#endif
