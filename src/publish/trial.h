/*
 * trial.h - whose fault is a failure: the message's own, or its destination's?
 *
 * An answer that all messages get says nothing of one, and no more does a
 * silence.  So who was refused, or got no answer, is remembered until others of
 * its type and destination, its group, tell: a message that is refused again
 * after one of its group was taken is to blame.  The same for failures that use
 * attempts, for destinations that are silent, and for bursts of dead letters.
 *
 * The memory of one worker: whoever does not know waits.  Tables of fixed size:
 * what has no place in them waits, too.  A large group gives up places to other
 * groups, and a message that only got no answer to one that was refused.
 * No I/O; times are clock_ms().
 */
#ifndef OUTBOX_TRIAL_H
#define OUTBOX_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/route.h"
#include "driver/verdict.h"
#include "util/backoff.h"
#include "util/err.h"

#define TRIAL_MAX	256	/* messages that are remembered */
#define TRIAL_SHARE	(TRIAL_MAX / 8)	/* of a group, whatever others have */
#define TRIAL_CAUSES	32	/* of dead letters */

/* A message that was refused by an answer, or got none. */
struct trial_case {
	uint64_t	sequence;
	uint64_t	group;		/* its type and destination */
	unsigned	destination;
	enum verdict	verdict;	/* of a refusal: VERDICT_MESSAGE,
					   TOO_LARGE or ADDRESS */
	size_t		size;
	int64_t		sent_at;
};

struct accused {
	struct trial_case c;		/* as it was refused last */
	unsigned	times;		/* it was refused; 0: it only got no
					   answer, and accuses nobody */
	int64_t		first, last;	/* refusals */
	unsigned	probes;		/* of its group, since its first */
	int64_t		took_at;	/* when the last one of its group was
					   sent that was taken; 0: none was */
	int64_t		longer_at;	/* the same, as long or longer */
	unsigned	unanswered;	/* so often it got no answer, while others
					   were taken */
	int64_t		silent_first, silent_last;	/* 0: never */
};

/* A destination; routes to NATS are one. */
struct trial_to {
	int64_t		taken_at;	/* the last message; 0: none */
	uint64_t	failed;		/* the last one that did */
	unsigned	nfailed;	/* in a row, of another one each */
	int64_t		relents_at;	/* it took one that it had refused; */
	int64_t		fickle_at;	/* and one refused since then, the last
					   time; 0: it did not */
	bool		silent;		/* it took nothing, without an answer */
	int64_t		since, until;	/* nothing is sent to it before until */
	struct backoff	backoff;
	struct err	why;		/* the text of its last silence */
	int64_t		unheard_since;	/* it gave no answer of any kind; 0: it
					   did, or nothing was sent */
	int64_t		unheard_at;	/* the last time */
};

/* All zero at the start, but for blame_after. */
struct trial {
	int64_t		blame_after;	/* conf.retry.blame_after */
	struct accused	accused[TRIAL_MAX];
	size_t		n;		/* in use */
	struct trial_to	to[ROUTE_DESTINATIONS];
	unsigned	changes;	/* grows when one is silent, or not any
					   more */
	struct {
		uint64_t	cause;		/* 0: a free place */
		int64_t		since;
		int64_t		held_at;	/* 0: not held */
		int64_t		n;		/* dead letters since then */
	}		causes[TRIAL_CAUSES];
};

enum trial_say {
	TRIAL_OWN,	/* it is its own fault */
	TRIAL_ALONE,	/* it may be: others of its group are to go on */
	TRIAL_ALL	/* it tells of its group */
};

/*
 * It was refused.  Its own fault is
 *   a content: refused for a 120th of blame_after, although one of its group
 *	was taken, or as no other of its group was refused and its route is not
 *	closed to all; or for blame_after, if few others of its group were
 *	refused and its route takes others.  Only the last where the route takes
 *	what it refused, time and again: one of several servers is at fault;
 *   a size: if for blame_after none of its group, as long or longer, was taken;
 *	or refused for blame_after, and such a one was taken since the try
 *	before: then it is no limit;
 *   an address: if refused for blame_after, as few others of its group were,
 *	and its destination took others, of any type, since the try before.
 * For blame_after is: twice at least, and some of its group meanwhile.  They
 * are probed in turn, and each has its end when its own time is over.
 */
enum trial_say	trial_refused(struct trial *, const struct trial_case *,
		    int64_t now);

/*
 * How many of its group take turns as the probe, with this one; 1 if they are
 * so many that they are not to blame.
 */
unsigned	trial_turns(const struct trial *, uint64_t sequence,
		    int64_t now);

/* How long it is to wait for its next try, in ms; grows with each. */
int64_t		trial_wait(const struct trial *, uint64_t sequence);

/*
 * It got no answer; call it once for each time.  True if its destination has
 * taken another one since the last time: then it was passed, as on a route with
 * so few messages that each is alone.
 */
bool		trial_unanswered(struct trial *, const struct trial_case *,
		    int64_t now);

/*
 * Others were stored, and it got no answer.  True if that is its own fault: if
 * it goes on.  A leader that goes takes some with it, once.
 */
bool		trial_goes_on(const struct trial *, uint64_t sequence,
		    int64_t now);

/* How long it waits then, in ms: longer if it happens again. */
int64_t		trial_silence_wait(const struct trial *, uint64_t sequence);

/*
 * The destination took nothing in a batch, and gave no answer, while others may
 * go on: for a while nothing is sent to it, and then one message of each type,
 * until one is taken.
 */
void		trial_route_silent(struct trial *, unsigned destination,
		    const char *why, int64_t now);

/* The destination took a message. */
void		trial_route_took(struct trial *, unsigned destination,
		    int64_t now);

/*
 * In a batch it gave an answer of any kind; or not heard: none, to all that was
 * sent.
 */
void		trial_route_heard(struct trial *, unsigned destination,
		    bool heard, int64_t now);

/* The same, for the accused of its group; at the end of its batch. */
void		trial_took(struct trial *, uint64_t group, uint64_t sequence,
		    size_t size, int64_t sent_at);

/*
 * An attempt of the message failed.  True if the route seems to take nothing:
 * several failures in a row, and not of one message.
 */
bool		trial_failed(struct trial *, unsigned destination,
		    uint64_t sequence);

/*
 * A message is to be a dead letter for this cause, not 0.  False: it is to be
 * held, for there were burst of them within burst_time; and so are all until
 * none was held for burst_time.  burst 0: always true.
 */
bool		trial_may_bury(struct trial *, uint64_t cause, int64_t burst,
		    int64_t burst_time, int64_t now);

#endif
