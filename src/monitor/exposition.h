/*
 * exposition.h - Prometheus text: a head for each metric, then its series
 *
 * The text format 0.0.4.  Labels are pairs of name and value, and then NULL:
 * LABELS("state", "live"); without them NULL.
 */
#ifndef OUTBOX_EXPOSITION_H
#define OUTBOX_EXPOSITION_H

#include <stdint.h>

#include "util/buf.h"
#include "util/histogram.h"

/* type is "counter", "gauge" or "histogram". */
void	exposition_head(struct buf *, const char *name, const char *type,
	    const char *help);

#define LABELS(...)	((const char *const []){ __VA_ARGS__, NULL })

void	exposition_count(struct buf *, const char *name, uint64_t,
	    const char *const *labels);
void	exposition_real(struct buf *, const char *name, double,
	    const char *const *labels);

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
