/*
 * silence.h - messages that got no answer: when to try them again, and whether
 * that may be their own fault
 *
 * A destination that is away for some seconds, or elects a leader, leaves some
 * without an answer.  They come back soon, and later each time that it happens
 * again.  If one was passed by others, as happens when a leader goes, that is
 * its own fault only if it goes on for a while.
 *
 * One of several destinations may be silent as a whole: it took nothing in a
 * batch, and gave no answer.  Then nothing is sent to it for a while, and after
 * that one message of each type, until one is taken.
 *
 * The memory of one worker, of fixed size: a message that has no place in it
 * uses no attempt.  No I/O; times are clock_ms().
 */
#ifndef OUTBOX_SILENCE_H
#define OUTBOX_SILENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/route.h"
#include "util/backoff.h"
#include "util/err.h"

#define SILENCE_MAX	256	/* messages that are remembered */

/* It is its own if it was passed so often, since a part of blame_after. */
#define SILENCE_TIMES	4
#define SILENCE_PART	10

/* A destination; why is the text of its last silence. */
struct silent {
	bool		silent;
	int64_t		since, until;	/* nothing is sent to it before until */
	struct backoff	backoff;
	struct err	why;
};

/* All zero at the start. */
struct silence {
	struct backoff	backoff;
	int64_t		at;		/* the last one */
	int64_t		ms;		/* how long messages wait after it */
	struct passed {
		uint64_t	sequence;
		int64_t		first, last;	/* it got no answer */
		unsigned	times;
	}		passed[SILENCE_MAX];
	size_t		n;		/* in use */
	struct silent	to[ROUTE_DESTINATIONS];
	unsigned	changes;	/* grows when one of these does */
};

/* A batch has a message without an answer: once for each such batch. */
void	silence_met(struct silence *, int64_t now);

/* The ms after which such a message is tried again. */
int64_t	silence_wait(const struct silence *);

/* Later ones were stored, and it got no answer.  True: its own fault. */
bool	silence_is_own(struct silence *, uint64_t sequence,
	    int64_t blame_after, int64_t now);

/*
 * It got no answer.  True if its destination, which took another one at
 * taken_at, did so since the last time: then it was passed as well, as on a
 * route with so few messages that each is alone.
 */
bool	silence_again(struct silence *, uint64_t sequence, int64_t taken_at,
	    int64_t now);

/* The destination gave no answer, while others may go on. */
void	silence_begins(struct silence *, unsigned destination, const char *why,
	    int64_t now);

/* It has taken a message. */
void	silence_heard(struct silence *, unsigned destination);

/* It was delivered. */
void	silence_over(struct silence *, uint64_t sequence);

#endif
