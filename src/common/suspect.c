/* suspect.c - see suspect.h */

#include "common/suspect.h"

/*
 * A reader takes the sequence first, then the deaths.  So between two messages
 * it sees no deaths, and not those of the other one.
 */
static void
begin(struct suspect *s, uint64_t sequence)
{
	__atomic_store_n(&s->deaths, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->sequence, sequence, __ATOMIC_RELEASE);
}

static uint64_t
sequence_of(const struct suspect *s)
{
	return __atomic_load_n(&s->sequence, __ATOMIC_ACQUIRE);
}

unsigned
suspect_died(struct suspect *all, size_t n, uint64_t sequence)
{
	size_t		 i = suspect_find(all, n, sequence);
	struct suspect	*s = i < n ? &all[i] : all;

	/* A new one takes a free place, or the one with the fewest deaths. */
	if (i == n) {
		for (i = 0; i < n && sequence_of(s) != 0; i++)
			if (sequence_of(&all[i]) == 0 ||
			    all[i].deaths < s->deaths)
				s = &all[i];
		begin(s, sequence);
	}
	__atomic_store_n(&s->deaths, s->deaths + 1, __ATOMIC_RELEASE);
	return s->deaths;
}

size_t
suspect_used(const struct suspect *all, size_t n)
{
	while (n > 0 && sequence_of(&all[n - 1]) == 0)
		n--;
	return n;
}

size_t
suspect_find(const struct suspect *all, size_t n, uint64_t sequence)
{
	size_t	i = 0;

	while (i < n && (sequence == 0 || sequence_of(&all[i]) != sequence))
		i++;
	return i;
}

unsigned
suspect_deaths(const struct suspect *s)
{
	return __atomic_load_n(&s->deaths, __ATOMIC_RELAXED);
}

void
suspect_clear(struct suspect *all, size_t n, uint64_t sequence)
{
	size_t	i = suspect_find(all, n, sequence);

	if (i < n)
		begin(&all[i], 0);
}
