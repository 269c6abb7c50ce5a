/*
 * exposition.h - Prometheus text: a head for each metric, then its series
 *
 * The text format 0.0.4.  Labels are pairs of name and value that end with
 * NULL: "state", "live", NULL.
 */
#ifndef OUTBOX_EXPOSITION_H
#define OUTBOX_EXPOSITION_H

#include <stdint.h>

#include "util/buf.h"
#include "util/histogram.h"

/* type is "counter", "gauge" or "histogram". */
void	exposition_head(struct buf *, const char *name, const char *type,
	    const char *help);

void	exposition_count(struct buf *, const char *name, uint64_t, ...)
	    __attribute__((sentinel));
void	exposition_real(struct buf *, const char *name, double, ...)
	    __attribute__((sentinel));

/* Metrics that have one series without a label, with their heads. */
void	exposition_counter(struct buf *, const char *name, const char *help,
	    uint64_t);
void	exposition_gauge(struct buf *, const char *name, const char *help,
	    double);

/*
 * A histogram, with its head.  Values are divided by unit; the first n bounds
 * are shown.
 */
void	exposition_histogram(struct buf *, const char *name, const char *help,
	    const struct histogram *, const int64_t *bounds, unsigned n,
	    double unit);

#endif
