/* limit.c - see limit.h */

#include "publish/limit.h"

/* So long after the connect an account's limit is told. */
#define ACCOUNT_MS	2000

static bool
note(struct limit *l, int64_t max, int64_t now)
{
	bool	news = max < l->largest && max != l->max;

	l->max = max;
	l->since = now;
	if (l->first == 0)
		l->first = now;
	if (max > l->largest)
		l->largest = max;
	l->news = l->news || news;
	return news;
}

bool
limit_connected(struct limit *l, int64_t max, int64_t now)
{
	l->max_before = l->max;
	l->largest_before = l->largest;
	return note(l, max, now);
}

void
limit_seen(struct limit *l, int64_t max, int64_t now)
{
	if (l->max == 0 || max == l->max)
		return;
	if (now - l->since < ACCOUNT_MS) {
		l->max = l->max_before;
		l->largest = l->largest_before;
	}
	note(l, max, now);
}

bool
limit_may_wait(const struct limit *l, size_t size, int64_t lasts, int64_t now)
{
	return now - ((int64_t)size <= l->largest ? l->since : l->first) <
	    lasts;
}
