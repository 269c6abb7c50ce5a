/* clock.h - a clock in milliseconds that never goes back */
#ifndef OUTBOX_CLOCK_H
#define OUTBOX_CLOCK_H

#include <stdint.h>

/*
 * Milliseconds since boot, suspended time included (CLOCK_BOOTTIME): a
 * deadline derived from a lease must not stretch while the machine sleeps.
 */
int64_t	clock_ms(void);

/* The same in microseconds, for measuring. */
int64_t	clock_us(void);

/* The later and the sooner of two times, or of two durations. */
static inline int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
