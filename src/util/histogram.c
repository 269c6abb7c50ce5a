/* histogram.c - see histogram.h */

#include "util/histogram.h"

const int64_t	histogram_us[HISTOGRAM_BOUNDS] = {
	200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000,
	500000, 1000000, 2000000, 5000000, 10000000, 30000000, 60000000,
	300000000
};

const int64_t	histogram_rows[HISTOGRAM_BOUNDS] = {
	1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000,
	50000, 100000, 200000, 500000
};

void
histogram_add(struct histogram *h, const int64_t *bounds, int64_t value)
{
	unsigned	i = 0;

	while (i < HISTOGRAM_BOUNDS && value > bounds[i])
		i++;
	h->counts[i]++;
	h->sum += value > 0 ? (uint64_t)value : 0;
}

void
histogram_merge(struct histogram *h, const struct histogram *other)
{
	for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++)
		h->counts[i] += other->counts[i];
	h->sum += other->sum;
}

void
histogram_subtract(struct histogram *h, const struct histogram *before)
{
	for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++)
		h->counts[i] -= before->counts[i];
	h->sum -= before->sum;
}

uint64_t
histogram_count(const struct histogram *h)
{
	uint64_t	n = 0;

	for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++)
		n += h->counts[i];
	return n;
}

double
histogram_quantile(const struct histogram *h, const int64_t *bounds,
    double share)
{
	double		rank = share * (double)histogram_count(h);
	double		below = 0;

	if (histogram_count(h) == 0)
		return -1;
	for (unsigned i = 0; i < HISTOGRAM_BOUNDS; i++) {
		double	n = (double)h->counts[i];
		double	from = i == 0 ? 0 : (double)bounds[i - 1];

		if (n > 0 && below + n >= rank)
			return from + ((double)bounds[i] - from) *
			    (rank - below) / n;
		below += n;
	}
	return (double)bounds[HISTOGRAM_BOUNDS - 1];
}
