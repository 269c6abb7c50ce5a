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

void
suspect_died(struct suspect *s, uint64_t sequence)
{
	if (sequence != s->sequence)
		begin(s, sequence);
	if (sequence != 0)
		__atomic_store_n(&s->deaths, s->deaths + 1, __ATOMIC_RELEASE);
}

static uint64_t
sequence_of(const struct suspect *s)
{
	return __atomic_load_n(&s->sequence, __ATOMIC_ACQUIRE);
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
suspect_deaths(const struct suspect *all, size_t n, uint64_t sequence)
{
	unsigned	sum = 0;

	for (size_t i = suspect_find(all, n, sequence); i < n; i++)
		if (sequence_of(&all[i]) == sequence)
			sum += __atomic_load_n(&all[i].deaths,
			    __ATOMIC_RELAXED);
	return sum;
}

void
suspect_clear(struct suspect *all, size_t n, uint64_t sequence)
{
	for (size_t i = suspect_find(all, n, sequence); i < n; i++)
		if (sequence_of(&all[i]) == sequence)
			begin(&all[i], 0);
}
