/* parked_impl.h - what the files of park share; nobody else includes it */
#ifndef OUTBOX_PARKED_IMPL_H
#define OUTBOX_PARKED_IMPL_H

#include "worker/parked.h"

/* The reasons in the table, by enum block_why. */
extern const char *const parked_reasons[];

/* The range of what is parked under a record. */
void	parked_set_range(struct range *, char label[STORE_PARKED],
	    uint64_t first, size_t limit);

/* The leases that a statement relies on; items is to be freed. */
struct leases {
	struct range	*items;
	size_t		 n;
};

/* Those of all labels of this partition too. */
void	parked_add_leases(struct leases *, const struct part *);

/* Read the records of partitions that are fresh. */
int	parked_read_fresh(struct parked *, int64_t now, struct err *);

/* They have been read; those that failed or are not finished stay fresh. */
void	parked_end_reading(struct parked *, struct part *const *, size_t n,
	    bool failed);

#endif
