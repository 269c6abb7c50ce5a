/*
 * type_breaker.h - a breaker for each event type that the destination refuses
 *
 * If a subject has no stream, no permission or no answer, that mostly concerns
 * one event type.  After a refusal one message of the type, the probe, is tried
 * at intervals.  The others wait for its outcome, so that they do not delay
 * other types.  A type that is forgotten costs time only.  No I/O; times are
 * clock_ms().
 */
#ifndef OUTBOX_TYPE_BREAKER_H
#define OUTBOX_TYPE_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/backoff.h"
#include "common/msg.h"
#include "driver/verdict.h"
#include "util/err.h"

#define TYPE_BREAKER_MAX	64	/* more types are not remembered */

struct type_breaker_item {
	char		*type;
	size_t		 len;
	uint64_t	 group;		/* msg_group() of its messages */
	const char	*route;		/* as route.group: its name; or "" */
	int64_t		 until;		/* no message of it is sent before */
	struct backoff	 backoff;
	bool		 out;		/* its probe has no answer yet */
	bool		 blamed;	/* refused while others were taken */
	unsigned	 refused_in;	/* the last batch that saw it refused */
	int64_t		 refused_at;	/* the last time */
	int64_t		 ask_at;	/* when type_breaker_wanted names it */
	unsigned	 asked;		/* so often it has, in vain */

	/* For the operator; the subject is of the first one refused. */
	int64_t		 since;		/* the first refusal in a row */
	enum error_class class;		/* of the last refusal */
	char		*subject;
	struct err	 why;		/* the text of the last refusal */
};

struct type_breaker {
	struct type_breaker_item	items[TYPE_BREAKER_MAX];
	size_t		n;
	unsigned	batch;
	unsigned	changes;	/* grows when an item does, or goes */
	bool		released;	/* a blamed type was taken or forgotten:
					   its messages are no longer held; the
					   owner clears it */
};

/* A refusal, and what to tell the operator of it.  All borrowed. */
struct type_refusal {
	const struct msg *m;
	const char	*route;		/* route.group: it has to last */
	enum error_class class;
	const char	*subject;
	const char	*why;
	bool		 others;	/* messages of others were taken */
	int64_t		 taken_at;	/* the last one by its destination */
	unsigned	 turns;		/* so many messages that may be refused
					   for their own sakes share the probes:
					   these come sooner by that */
};

/*
 * Begin a batch: no probe waits for an answer any more.  A type that is not
 * blamed is forgotten after a minute without a refusal: what was taken since
 * then tells nothing of its next one.
 */
void			type_breaker_begin(struct type_breaker *, int64_t now);

enum type_breaker_say {
	BREAKER_GOES,	/* send it; as the probe, if the type is refused */
	BREAKER_ASIDE,	/* the probe was sent: ask again after its answer */
	BREAKER_WAITS	/* do not send it now */
};

/* each: one of each type is tried, whether or not it was refused. */
enum type_breaker_say	type_breaker_ask(struct type_breaker *,
			    const struct msg *, bool each, int64_t now);

/* A message of the type was taken: the type is forgotten. */
void			type_breaker_took(struct type_breaker *,
			    const struct msg *);

/*
 * The probe failed by its own fault, which tells nothing of the type: another
 * message may be the probe at once.
 */
void			type_breaker_says_nothing(struct type_breaker *,
			    const struct msg *);

/* NULL: the type was not refused. */
struct type_breaker_item *type_breaker_find(const struct type_breaker *,
			    const struct msg *);

/* True if the type was refused while others were taken. */
bool			type_breaker_is_blamed(const struct type_breaker *,
			    const struct msg *);

/*
 * The type was refused and is not tried again in this batch.  If others were
 * taken, now or before, the type is blamed and waits, longer each time: 1 to 2
 * s if the broker answers, which costs the others nothing, or 1 to 30 s if the
 * refusal is a missing answer.  If not, the destination may be down, and the
 * next batch has a probe.  Counts once in a batch; a later call may add that
 * others were taken, and another reason.
 */
void			type_breaker_refused(struct type_breaker *,
			    const struct type_refusal *, int64_t now);

/*
 * The messages of a blamed type are held by the owner.  Call this now and then:
 * it names the groups of which one message is to be offered now as the probe,
 * the one that was due first; again each second if none comes.  If none comes for long,
 * no message of the type waits here: it is forgotten.  The owner offers no held
 * message before from.
 */
size_t			type_breaker_wanted(struct type_breaker *,
			    int64_t from, int64_t now,
			    uint64_t groups[TYPE_BREAKER_MAX]);

/* When it names the next one, clock_ms(); INT64_MAX: unknown. */
int64_t			type_breaker_wants_at(const struct type_breaker *,
			    int64_t from);

/* Groups whose messages stay held when released is set; returns how many. */
size_t			type_breaker_list_held(const struct type_breaker *,
			    uint64_t groups[TYPE_BREAKER_MAX]);

void			type_breaker_free(struct type_breaker *);

#endif
