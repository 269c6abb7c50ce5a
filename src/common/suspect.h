/*
 * suspect.h - the messages that may be killing their workers
 *
 * Each slot of the master has one on the scoreboard: what its last workers
 * were sending when they died, and how many of them died in a row.  The next
 * one to send that message may be a worker of any slot, so what counts is the
 * sum over all slots.
 *
 * The master writes the entry of a slot that has no worker.  Workers read all
 * entries at any time, and clear those of a message that has become a dead
 * letter.
 */
#ifndef OUTBOX_SUSPECT_H
#define OUTBOX_SUSPECT_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: none. */
struct suspect {
	uint64_t	sequence;	/* 0: none */
	unsigned	deaths;		/* of workers that sent it, in a row */
};

/* The worker of this slot died while it sent that; sequence 0: it sent none. */
void	suspect_died(struct suspect *, uint64_t sequence);

/* The entry among n, an index, that names the message first; n: none does. */
size_t	suspect_find(const struct suspect *, size_t n, uint64_t sequence);

/* Deaths over that message; never more than there were. */
unsigned suspect_deaths(const struct suspect *, size_t n, uint64_t sequence);

/* It is no suspect any more. */
void	suspect_clear(struct suspect *, size_t n, uint64_t sequence);

#endif
