/*
 * suspect.h - the messages that may be killing their workers
 *
 * What workers of this master were sending when they died, and how many of them
 * did, on the scoreboard.  The next one to send that message may be a worker of
 * any slot, and a batch may have several such messages, so all slots share one
 * pool.
 *
 * The master counts.  Workers read at any time, and clear a message that was
 * delivered or has become a dead letter.
 */
#ifndef OUTBOX_SUSPECT_H
#define OUTBOX_SUSPECT_H

#include <stddef.h>
#include <stdint.h>

/* A pool of this size; few are in use but in the worst hours. */
#define SUSPECTS	64

/* Zeroed: none. */
struct suspect {
	uint64_t	sequence;	/* 0: none */
	unsigned	deaths;		/* of workers that sent it, in a row */
};

/*
 * One more worker died while it sent that message, not 0.  If the pool of n is
 * full, the one with the fewest deaths is forgotten.  Returns the deaths.
 */
unsigned suspect_died(struct suspect *, size_t n, uint64_t sequence);

/* How much of the pool is in use. */
size_t	suspect_used(const struct suspect *, size_t n);

/* Its place among n; n: it is none. */
size_t	suspect_find(const struct suspect *, size_t n, uint64_t sequence);

/* Never more than there were, also while the place is taken by another. */
unsigned suspect_deaths(const struct suspect *);

/* It is no suspect any more. */
void	suspect_clear(struct suspect *, size_t n, uint64_t sequence);

#endif
