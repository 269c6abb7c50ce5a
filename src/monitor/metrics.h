/*
 * metrics.h - the state of the daemon as Prometheus text
 *
 * A metric has a bounded number of series: no key, type, error or address
 * becomes a label.
 */
#ifndef OUTBOX_METRICS_H
#define OUTBOX_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "ipc/scoreboard.h"
#include "util/buf.h"

/* The content type of the text. */
#define METRICS_TYPE	"text/plain; version=0.0.4; charset=utf-8"

/* A state that is older is left out, but for its age. */
#define METRICS_STATE_MS	60000

/* Per partition only if there are not more. */
#define METRICS_PARTITIONS	64

struct metrics_from {
	const struct scoreboard	*scoreboard;
	bool			 up;		/* as /healthz */
	bool			 ready;		/* as /readyz */
	const json_t		*state;		/* of outboxctl --json status;
						   or NULL */
	int64_t			 state_age_ms;
	const json_t		*partitions;	/* of --json partitions list; or
						   NULL */
};

/* Append all metrics. */
void	metrics_write(struct buf *, const struct metrics_from *);

#endif
