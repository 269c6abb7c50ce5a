/* clock.c - the only file that reads the monotonic clock */

#include "util/clock.h"

#include <time.h>

int64_t
clock_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}
