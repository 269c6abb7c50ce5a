/*
 * histogram.h - how many values fall between fixed bounds
 *
 * Written by one process, read by others: only aligned numbers that grow.
 */
#ifndef OUTBOX_HISTOGRAM_H
#define OUTBOX_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS	18

/* Zeroed, it is empty.  counts[i]: values up to bound i; the last: above. */
struct histogram {
	uint64_t	counts[HISTOGRAM_BOUNDS + 1];
	uint64_t	sum;		/* of the values */
};

/* The bounds, rising: of durations in microseconds, and of numbers of rows. */
extern const int64_t	histogram_us[HISTOGRAM_BOUNDS];
extern const int64_t	histogram_rows[HISTOGRAM_BOUNDS];

/* Count a value; a negative one counts as 0. */
void	histogram_add(struct histogram *, const int64_t *bounds,
	    int64_t value);

/* Add the values of another one that has the same bounds. */
void	histogram_merge(struct histogram *, const struct histogram *);

/* Take those away that were in it before. */
void	histogram_subtract(struct histogram *, const struct histogram *before);

uint64_t histogram_count(const struct histogram *);

/*
 * The value that this share of the values (0 to 1) does not exceed, estimated
 * between two bounds.  -1: there are none.  Above the last bound, that bound.
 */
double	histogram_quantile(const struct histogram *, const int64_t *bounds,
	    double share);

#endif
