/* sequence_set.c - see sequence_set.h */

#include "util/sequence_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

void
sequence_set_free(struct sequence_set *s)
{
	free(s->runs);
	memset(s, 0, sizeof(*s));
}

/* The first run that ends at this sequence or behind it. */
static size_t
position_of(const struct sequence_set *s, uint64_t sequence)
{
	size_t	lo = 0, hi = s->n;

	if (s->n > 0 && s->runs[s->n - 1].last < sequence)
		return s->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->runs[mid].last < sequence)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Make room for n runs in the place of k. */
static void
replace(struct sequence_set *s, size_t at, size_t k, size_t n)
{
	size_t	behind = s->n - at - k;

	if (s->n + n - k > s->size) {
		s->size = (s->n + n) * 2;
		s->runs = xreallocarray(s->runs, s->size, sizeof(*s->runs));
	}
	memmove(s->runs + at + n, s->runs + at + k,
	    behind * sizeof(*s->runs));
	s->n += n - k;
}

void
sequence_set_add(struct sequence_set *s, uint64_t first, uint64_t last)
{
	size_t	at = position_of(s, first > 0 ? first - 1 : 0), k = 0;

	/* All runs that it touches become one. */
	while (at + k < s->n && (last == UINT64_MAX ||
	    s->runs[at + k].first <= last + 1))
		k++;
	if (k > 0 && s->runs[at].first < first)
		first = s->runs[at].first;
	if (k > 0 && s->runs[at + k - 1].last > last)
		last = s->runs[at + k - 1].last;
	replace(s, at, k, 1);
	s->runs[at] = (struct sequence_run){ first, last };
}

void
sequence_set_add_all(struct sequence_set *s, const struct sequence_set *more)
{
	for (size_t i = 0; i < more->n; i++)
		sequence_set_add(s, more->runs[i].first, more->runs[i].last);
}

void
sequence_set_remove(struct sequence_set *s, uint64_t sequence)
{
	size_t			at = position_of(s, sequence), n = 0;
	struct sequence_run	old, left[2];

	if (!sequence_set_has(s, sequence))
		return;
	old = s->runs[at];
	if (old.first < sequence)
		left[n++] = (struct sequence_run){ old.first, sequence - 1 };
	if (old.last > sequence)
		left[n++] = (struct sequence_run){ sequence + 1, old.last };
	replace(s, at, 1, n);
	memcpy(s->runs + at, left, n * sizeof(*left));
}

void
sequence_set_cut(struct sequence_set *s, uint64_t first)
{
	if (s->n == 0)
		return;
	replace(s, 0, position_of(s, first), 0);
	if (s->n > 0 && s->runs[0].first < first)
		s->runs[0].first = first;
}

bool
sequence_set_has(const struct sequence_set *s, uint64_t sequence)
{
	size_t	at = position_of(s, sequence);

	return at < s->n && s->runs[at].first <= sequence;
}

uint64_t
sequence_set_count(const struct sequence_set *s)
{
	uint64_t	n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->runs[i].last - s->runs[i].first + 1;
	return n;
}

/* Runs are joined that have few sequences between them, then more and more. */
void
sequence_set_fit(struct sequence_set *s, size_t max)
{
	for (uint64_t gap = 1; s->n > max; gap *= 2) {
		size_t	kept = 0;

		for (size_t i = 1; i < s->n; i++)
			if (s->runs[i].first - s->runs[kept].last - 1 <= gap)
				s->runs[kept].last = s->runs[i].last;
			else
				s->runs[++kept] = s->runs[i];
		s->n = kept + 1;
	}
}

void
sequence_set_put(const struct sequence_set *s, size_t max, struct buf *b)
{
	for (size_t i = 0; i < s->n && i < max; i++) {
		if (i > 0)
			buf_str(b, ",");
		buf_u64(b, s->runs[i].first);
		if (s->runs[i].last == s->runs[i].first)
			continue;
		buf_str(b, "-");
		buf_u64(b, s->runs[i].last);
	}
	if (s->n > max)
		buf_str(b, ",...");
}

void
sequence_set_read(struct sequence_set *s, const char *text)
{
	char	*end;

	while (*text >= '0' && *text <= '9') {
		uint64_t first = strtoumax(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoumax(end + 1, &end, 10);
		if (last >= first)
			sequence_set_add(s, first, last);
		text = end + (*end == ',');
	}
}
