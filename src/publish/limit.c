/* limit.c - see limit.h */

#include "publish/limit.h"

/* So long after the connect an account's limit is told. */
#define ACCOUNT_MS	2000

/* So old a limit is asked for again before anything is done about it. */
#define OLD_MS		60000

static bool
note(struct limit *l, int64_t max, int64_t now)
{
	bool	news = max < l->largest && max != l->max;

	if (max != l->max)
		l->since = now;
	l->max = max;
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
	l->since_before = l->since;
	l->connected = now;
	return note(l, max, now);
}

void
limit_seen(struct limit *l, int64_t max, int64_t now)
{
	if (l->max == 0 || max == l->max)
		return;
	if (now - l->connected < ACCOUNT_MS) {
		l->max = l->max_before;
		l->largest = l->largest_before;
		l->since = l->since_before;
	}
	note(l, max, now);
}

bool
limit_may_wait(struct limit *l, size_t size, int64_t lasts, int64_t now)
{
	l->asked = now;
	if (now - l->connected >= OLD_MS)
		return true;
	return now - ((int64_t)size <= l->largest ? l->since : l->first) <
	    lasts;
}

bool
limit_is_old(const struct limit *l, int64_t now)
{
	return now - l->connected >= OLD_MS && now - l->asked < OLD_MS;
}
