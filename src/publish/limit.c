/* limit.c - see limit.h */

#include "publish/limit.h"

bool
limit_connected(struct limit *l, int64_t max, int64_t now)
{
	bool	news = max < l->largest && max != l->max;

	l->max = max;
	l->since = now;
	if (max > l->largest)
		l->largest = max;
	return news;
}

bool
limit_may_wait(const struct limit *l, size_t size, int64_t now)
{
	return (int64_t)size <= l->largest && now - l->since < LIMIT_LASTS_MS;
}
