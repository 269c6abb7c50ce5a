/*
 * backlog_ring.h - samples of the number of waiting rows, and whether it grows
 *
 * Part of the scoreboard.  The janitor adds a sample every few seconds; any
 * process of the host copies the ring and asks.  All times are clock_ms().
 */
#ifndef OUTBOX_BACKLOG_RING_H
#define OUTBOX_BACKLOG_RING_H

#include <stdbool.h>
#include <stdint.h>

#define BACKLOG_SAMPLES		75	/* five minutes */

/* Two samples and the latest show that it does not grow any more: 10 s. */
#define BACKLOG_INTERVAL_MS	4000

struct backlog_sample {
	int64_t		at;
	uint64_t	waiting;
	uint32_t	exact;		/* 0: the server's estimate */
};

/* Zeroed: empty. */
struct backlog_ring {
	uint64_t		added;		/* so far; the next one goes to
						   added % BACKLOG_SAMPLES */
	int64_t			growing_since;	/* 0: it does not grow */
	struct backlog_sample	samples[BACKLOG_SAMPLES];
};

/* Add a sample, no older than the others, and set growing_since. */
void	backlog_ring_add(struct backlog_ring *, const struct backlog_sample *);

struct backlog_growth {
	bool	known;		/* there are samples of the last minute, and
				   estimates are not mixed with counts */
	int64_t	per_second;	/* since the number last turned or jumped, or
				   over that minute; negative: it shrinks */
	int64_t	drained_ms;	/* until no row waits at that rate; 0: it does
				   not shrink now */
	int64_t	growing_since;	/* 0: it does not grow, or not for minutes */
};

/*
 * How the number has changed up to this latest sample, which need not be in the
 * ring.
 *
 * It grows for minutes if the lowest sample of each of the last three was above
 * the average of the minute before, if that made at least 1,000 rows and 10 %
 * (25 % of an estimate) in all, and if it still rises: the higher one of the
 * last two samples is above the two before.
 */
struct backlog_growth	backlog_ring_growth(const struct backlog_ring *,
			    const struct backlog_sample *latest);

#endif
