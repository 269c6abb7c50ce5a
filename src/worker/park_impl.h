/* park_impl.h - what the files of park share; nobody else includes it */
#ifndef OUTBOX_PARK_IMPL_H
#define OUTBOX_PARK_IMPL_H

#include "worker/park.h"

/* The reasons in the table, by enum hold_why. */
extern const char *const park_reasons[];

/* The range of what is parked under a record. */
void	park_set_range(struct range *, char label[STORE_PARKED],
	    uint64_t first, size_t limit);

/* The leases that a statement relies on; items is to be freed. */
struct leases {
	struct range	*items;
	size_t		 n;
};

/* Those of all labels of this partition too. */
void	park_add_leases(struct leases *, const struct part *);

/* Read the records of partitions that are fresh. */
int	park_read_fresh(struct park *, int64_t now, struct err *);

/* They have been read; those that failed or are not finished stay fresh. */
void	park_end_reading(struct park *, struct part *const *, size_t n,
	    bool failed);

#endif
