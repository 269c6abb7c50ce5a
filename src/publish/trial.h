/*
 * trial.h - whose fault is a refusal: the message's own, or its destination's?
 *
 * An answer that all messages get says nothing of one.  So who was refused is
 * remembered until others of its type and destination, its group, tell: a
 * message that is refused again after one of its group was taken is to blame.
 * The same for failures that use attempts, and for bursts of dead letters.
 *
 * The memory of one worker: whoever does not know waits.  Tables of fixed size:
 * what has no place in them waits, too; a group that has many gives up places
 * for those of others.  No I/O; times are clock_ms().
 */
#ifndef OUTBOX_TRIAL_H
#define OUTBOX_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/route.h"

#define TRIAL_MAX	256	/* messages that are remembered */
#define TRIAL_SHARE	(TRIAL_MAX / 8)	/* of a group, whatever others have */
#define TRIAL_CAUSES	32	/* of dead letters */

/* So many failures in a row, and a route takes nothing. */
#define TRIAL_FAILURES	5

/* So many messages of a group that are refused are not to blame. */
#define TRIAL_MANY	10

/* What an answer may be about. */
enum trial_kind {
	TRIAL_CONTENT,	/* the message, such as HTTP 400 */
	TRIAL_SIZE,	/* a limit, which somebody may have lowered */
	TRIAL_ADDRESS	/* as a rule the destination, such as HTTP 404 */
};

struct accused {
	uint64_t	sequence;	/* 0: a free place */
	uint64_t	group;
	unsigned	destination;
	enum trial_kind	kind;
	size_t		size;
	int64_t		first, last;	/* refusals */
	int64_t		held_since;	/* of a size: the limit, if it is one */
	unsigned	times;
	unsigned	probes;		/* of its group, since its first */
	int64_t		sent_at;	/* the last time */
	int64_t		taken_at;	/* another one of its group, sent after
					   the last refusal; 0: none */
	bool		longer;		/* one of its group, as long or longer,
					   that was not sent before it was taken
					   since */
	bool		apart;		/* one of its group that was sent after
					   it was taken once */
};

struct trial {
	struct accused	accused[TRIAL_MAX];
	size_t		n;		/* in use */
	struct {
		int64_t		taken_at;	/* the last message; 0: none */
		uint64_t	failed;		/* the last one that did */
		unsigned	nfailed;	/* in a row */
		bool		differ;		/* they are several messages */
	}		routes[ROUTE_DESTINATIONS];
	struct {
		uint64_t	cause;		/* 0: a free place */
		int64_t		since;
		int64_t		held_at;	/* 0: not held */
		int64_t		n;		/* dead letters since then */
	}		causes[TRIAL_CAUSES];
};

/* A message that was refused by an answer. */
struct trial_case {
	uint64_t	sequence;
	uint64_t	group;		/* its type and destination */
	unsigned	destination;
	enum trial_kind	kind;
	size_t		size;
	int64_t		sent_at;
	int64_t		blame_after;	/* conf.retry.blame_after */
};

enum trial_say {
	TRIAL_OWN,	/* it is its own fault */
	TRIAL_ALONE,	/* it may be: others of its group are to go on */
	TRIAL_ALL	/* it tells of its group */
};

/*
 * It was refused.  Its own fault is
 *   a content: refused again after one of its group was taken; if for a 120th
 *	of blame_after no other of its group was refused, and its route is not
 *	closed to all; or for blame_after, if few others of its group were
 *	refused and its route takes others;
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
		    int64_t blame_after, int64_t now);

/* How long it is to wait for its next try, in ms; grows with each. */
int64_t		trial_wait(const struct trial *, uint64_t sequence,
		    int64_t blame_after);

/* The destination took a message. */
void		trial_route_took(struct trial *, unsigned destination,
		    int64_t now);

/* The same, for the accused of its group; at the end of its batch. */
void		trial_took(struct trial *, uint64_t group, uint64_t sequence,
		    size_t size, int64_t sent_at, int64_t now);

/*
 * An attempt of the message failed.  True if the route seems to take nothing:
 * TRIAL_FAILURES in a row, and not of one message.
 */
bool		trial_failed(struct trial *, unsigned destination,
		    uint64_t sequence);

/* Has the destination taken one since? */
bool		trial_took_since(const struct trial *, unsigned destination,
		    int64_t since);

/*
 * A message is to be a dead letter for this cause, not 0.  False: there were
 * burst of them within burst_time, and it is to be held; from then on until
 * none is held for burst_time.  burst 0: always true.
 */
bool		trial_may_bury(struct trial *, uint64_t cause, int64_t burst,
		    int64_t burst_time, int64_t now);

#endif
