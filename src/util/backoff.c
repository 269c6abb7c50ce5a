/* backoff.c - growing delays; reads no clock and does not wait */

#include "util/backoff.h"

/* arc4random: seeded by the kernel, also in a forked child. */
#include <bsd/stdlib.h>

#define OWN_JITTER	0.2

static int64_t
spread(int64_t delay_ms, double jitter)
{
	double	at = arc4random() / (double)UINT32_MAX;	/* 0..1 */

	return delay_ms + (int64_t)((double)delay_ms * jitter * (2 * at - 1));
}

int64_t
backoff_next(struct backoff *b)
{
	if (b->delay_ms == 0)
		b->delay_ms = b->floor_ms;
	else
		b->delay_ms *= 2;
	if (b->delay_ms > b->ceiling_ms)
		b->delay_ms = b->ceiling_ms;
	return spread(b->delay_ms, OWN_JITTER);
}

void
backoff_reset(struct backoff *b)
{
	b->delay_ms = 0;
}

int64_t
backoff_retry(int64_t base_ms, int64_t max_ms, double jitter,
    unsigned attempts)
{
	int64_t	delay = base_ms;

	for (unsigned i = 1; i < attempts && delay < max_ms; i++)
		delay *= 2;
	if (delay > max_ms)
		delay = max_ms;
	return spread(delay, jitter);
}
