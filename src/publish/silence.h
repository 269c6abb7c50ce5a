/*
 * silence.h - messages that got no answer: when to try them again, and whether
 * that may be their own fault
 *
 * A destination that is away for some seconds, or elects a leader, leaves some
 * without an answer.  They come back soon, and later each time that it happens
 * again.  If one was passed by others, as happens when a leader goes, that is
 * its own fault only if it goes on for a while.
 *
 * The memory of one worker, of fixed size: a message that has no place in it
 * uses no attempt.  No I/O; times are clock_ms().
 */
#ifndef OUTBOX_SILENCE_H
#define OUTBOX_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/backoff.h"

#define SILENCE_MAX	256	/* messages that are remembered */

/* It is its own if it was passed so often, since a part of blame_after. */
#define SILENCE_TIMES	4
#define SILENCE_PART	10

/* All zero at the start. */
struct silence {
	struct backoff	backoff;
	int64_t		at;		/* the last one */
	int64_t		ms;		/* how long messages wait after it */
	struct passed {
		uint64_t	sequence;
		int64_t		first, last;
		unsigned	times;
	}		passed[SILENCE_MAX];
	size_t		n;		/* in use */
};

/* A batch has a message without an answer: once for each such batch. */
void	silence_met(struct silence *, int64_t now);

/* The ms after which such a message is tried again. */
int64_t	silence_wait(const struct silence *);

/* Later ones were stored, and it got no answer.  True: its own fault. */
bool	silence_is_own(struct silence *, uint64_t sequence,
	    int64_t blame_after, int64_t now);

/* It was delivered. */
void	silence_over(struct silence *, uint64_t sequence);

#endif
