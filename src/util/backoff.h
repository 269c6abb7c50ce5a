/* backoff.h - how long to wait before the next try; arithmetic only */
#ifndef OUTBOX_BACKOFF_H
#define OUTBOX_BACKOFF_H

#include <stdint.h>

/* The owner sets floor and ceiling, both > 0, and zeroes delay_ms. */
struct backoff {
	int64_t	floor_ms;
	int64_t	ceiling_ms;
	int64_t	delay_ms;	/* the last delay without jitter; 0: none yet */
};

/*
 * Returns the next delay in ms: the floor, then double each time up to the
 * ceiling, plus or minus up to 20 % so that processes do not retry in step.
 */
int64_t	backoff_next(struct backoff *);

/* Call after a success: the next delay is the floor again. */
void	backoff_reset(struct backoff *);

/*
 * Returns the delay in ms before the next try of a message that has failed
 * attempts times (>= 1): base_ms, doubled for each attempt after the first, at
 * most max_ms, plus or minus up to the fraction jitter (0..1) of it.
 */
int64_t	backoff_retry(int64_t base_ms, int64_t max_ms, double jitter,
	    unsigned attempts);

#endif
