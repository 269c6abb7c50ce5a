/* backoff.h - how long to wait before trying again; arithmetic only */
#ifndef OUTBOX_BACKOFF_H
#define OUTBOX_BACKOFF_H

#include <stdint.h>

/* A zeroed delay_ms is ready for use; floor and ceiling are the owner's. */
struct backoff {
	int64_t	floor_ms;
	int64_t	ceiling_ms;
	int64_t	delay_ms;	/* the last delay without jitter; 0: none yet */
};

/*
 * The next delay: the floor, then double each time up to the ceiling, with
 * jitter of a fifth both ways so that many who wait do not come back at once.
 */
int64_t	backoff_next(struct backoff *);

/* It worked: the next failure starts at the floor again. */
void	backoff_reset(struct backoff *);

/*
 * The delay before attempt number attempts + 1 of a message: base doubled
 * for each attempt after the first, at most max, spread by the fraction
 * jitter (0..1) both ways.  attempts >= 1; all in milliseconds.
 */
int64_t	backoff_retry(int64_t base_ms, int64_t max_ms, double jitter,
	    unsigned attempts);

#endif
