/* backlog_ring.c - see backlog_ring.h */

#include "ipc/backlog_ring.h"

#include <math.h>
#include <stdlib.h>

#define MINUTE_MS	60000
#define MINUTES		3	/* of growth */
#define ENOUGH		6	/* samples of a minute */
#define GROWN_ROWS	1000
#define GROWN_PERCENT	10
#define GROWN_PERCENT_ESTIMATED	25
#define RATE_SAMPLES	3	/* for a rate, at least */
#define WOBBLES		6	/* that a sample is off by chance */

/* The k-th latest sample; there must be more than k. */
static const struct backlog_sample *
latest(const struct backlog_ring *r, unsigned k)
{
	return &r->samples[(r->added - 1 - k) % BACKLOG_SAMPLES];
}

static unsigned
count_samples(const struct backlog_ring *r)
{
	return r->added < BACKLOG_SAMPLES ? (unsigned)r->added :
	    BACKLOG_SAMPLES;
}

/* The samples of one minute. */
struct minute {
	unsigned	n;
	uint64_t	low, sum;
	bool		estimated;	/* one at least */
};

static struct minute
minute_before(const struct backlog_ring *r, int64_t end)
{
	struct minute	m = { 0 };

	for (unsigned k = 0; k < count_samples(r); k++) {
		const struct backlog_sample *s = latest(r, k);

		if (s->at > end || s->at <= end - MINUTE_MS)
			continue;
		m.low = m.n == 0 || s->waiting < m.low ? s->waiting : m.low;
		m.sum += s->waiting;
		m.estimated = m.estimated || s->exact == 0;
		m.n++;
	}
	return m;
}

/* 1: it rises, -1: it falls.  Of pairs, to pass over a dip of one sample. */
static int
trend(const struct backlog_ring *r)
{
	uint64_t	pairs[2];

	if (count_samples(r) < 4)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t	a = latest(r, 2 * i)->waiting;
		uint64_t	b = latest(r, 2 * i + 1)->waiting;

		pairs[i] = a > b ? a : b;
	}
	return pairs[0] > pairs[1] ? 1 : pairs[0] < pairs[1] ? -1 : 0;
}

/* In each minute, and by much in all: an estimate wobbles. */
static bool
grows_for_minutes(const struct backlog_ring *r)
{
	const struct backlog_sample	*last = latest(r, 0);
	struct minute			 m = minute_before(r, last->at), before;
	bool				 estimated = m.estimated;
	uint64_t			 from, percent;

	for (int i = 1; i <= MINUTES; i++, m = before) {
		before = minute_before(r, last->at - i * MINUTE_MS);
		if (m.n < ENOUGH || before.n < ENOUGH ||
		    m.low <= before.sum / before.n)
			return false;
		estimated = estimated || before.estimated;
	}
	from = m.sum / m.n;
	percent = estimated ? GROWN_PERCENT_ESTIMATED : GROWN_PERCENT;
	return trend(r) > 0 && last->waiting >= from + GROWN_ROWS &&
	    last->waiting - from >= from / 100 * percent;
}

void
backlog_ring_add(struct backlog_ring *r, const struct backlog_sample *s)
{
	r->samples[r->added % BACKLOG_SAMPLES] = *s;
	r->added++;
	if (!grows_for_minutes(r))
		r->growing_since = 0;
	else if (r->growing_since == 0)
		r->growing_since = s->at - MINUTES * MINUTE_MS;
}

struct point {
	double	at, waiting;		/* seconds after the latest */
};

/* The line of least squares through n points: p.waiting = level + rate * p.at */
struct line {
	double	level, rate;
};

static struct line
fit(const struct point *p, unsigned n)
{
	double		t = 0, w = 0, tt = 0, tw = 0, d;
	struct line	l;

	for (unsigned i = 0; i < n; i++) {
		t += p[i].at;
		w += p[i].waiting;
		tt += p[i].at * p[i].at;
		tw += p[i].at * p[i].waiting;
	}
	d = n * tt - t * t;
	l.rate = d > 0 ? (n * tw - t * w) / d : 0;
	l.level = (w - l.rate * t) / n;
	return l;
}

static int
double_cmp(const void *a, const void *b)
{
	double	x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * How far samples, at least three, lie from the line between their neighbours:
 * the median.
 */
static double
find_wobble(const struct point *p, unsigned n)
{
	double	far[BACKLOG_SAMPLES] = { 0 };

	for (unsigned i = 1; i + 1 < n; i++) {
		struct line	l = fit((struct point[]){ p[i - 1], p[i + 1] },
				    2);

		far[i - 1] = fabs(l.level + l.rate * p[i].at - p[i].waiting);
	}
	qsort(far, n - 2, sizeof(far[0]), double_cmp);
	return far[(n - 2) / 2];
}

/*
 * In rows per second, since the number last turned or jumped: back to the first
 * sample that is farther from the line of the later ones than they wobble.  With
 * a jump every few seconds that is all of a minute.
 */
static bool
find_rate(const struct backlog_ring *r, double *rate)
{
	const struct backlog_sample	*last = latest(r, 0), *s;
	struct point			 p[BACKLOG_SAMPLES];
	struct line			 l;
	unsigned			 n, k = RATE_SAMPLES;
	double				 bound;

	/* The last minute, the latest first.  Where the way to count has
	   changed, the samples before are not compared. */
	for (n = 0; n < count_samples(r); n++) {
		s = latest(r, n);
		if (s->at <= last->at - MINUTE_MS || s->exact != last->exact)
			break;
		p[n] = (struct point){ (double)(s->at - last->at) / 1000,
		    (double)s->waiting };
	}
	if (n < RATE_SAMPLES)
		return false;
	bound = WOBBLES * find_wobble(p, n) + p[0].waiting / 50 + 10;
	for (l = fit(p, k); k < n && fabs(l.level + l.rate * p[k].at -
	    p[k].waiting) <= bound; l = fit(p, k))
		k++;
	*rate = l.rate;
	return true;
}

struct backlog_growth
backlog_ring_growth(const struct backlog_ring *ring,
    const struct backlog_sample *s)
{
	struct backlog_ring	r = *ring;
	struct backlog_growth	g = { 0 };
	double			rate;

	backlog_ring_add(&r, s);
	g.growing_since = r.growing_since;
	g.known = find_rate(&r, &rate);
	if (!g.known)
		return g;
	g.per_second = (int64_t)(rate < 0 ? rate - 0.5 : rate + 0.5);
	if (g.per_second < 0 && trend(&r) <= 0)
		g.drained_ms = (int64_t)(s->waiting * 1000) / -g.per_second;
	return g;
}
