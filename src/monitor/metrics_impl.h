/* metrics_impl.h - the parts of the metrics, private to metrics*.c */
#ifndef OUTBOX_METRICS_IMPL_H
#define OUTBOX_METRICS_IMPL_H

#include "monitor/metrics.h"

/* metrics_totals.c: counters and histograms, from the scoreboard. */
void	metrics_totals(struct buf *, const struct scoreboard *);

/* metrics_process.c: the processes of this host, as they are now. */
void	metrics_processes(struct buf *, const struct scoreboard *);

/* metrics_state.c: what outboxctl has read in the database and the broker. */
void	metrics_state(struct buf *, const json_t *state);
void	metrics_partitions(struct buf *, const json_t *partitions);

#endif
