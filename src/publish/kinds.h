/*
 * kinds.h - event types that the destination does not take
 *
 * A subject without a stream or without permission, or one that nobody
 * answers on, is mostly that of an event type.  When a type was not taken, one
 * message of it is tried now and then, and the others wait for what becomes
 * of that one, so that many of them neither delay other types nor hide them.
 * Only a hint: forgetting one costs time.  No I/O; times are clock_ms().
 */
#ifndef OUTBOX_KINDS_H
#define OUTBOX_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/backoff.h"
#include "common/msg.h"

#define KINDS_MAX	64	/* what is more is not remembered */

struct kinds_item {
	char		*type;
	size_t		 len;
	int64_t		 until;		/* nothing of it is sent before */
	struct backoff	 backoff;
	bool		 out;		/* the one that is tried */
	bool		 blamed;	/* others were taken when it was not */
	unsigned	 refused_in;	/* the last batch that it was */
};

struct kinds {
	struct kinds_item	items[KINDS_MAX];
	size_t		n;
	unsigned	batch;
};

/* A new batch; what was out is not any more. */
void		kinds_begin(struct kinds *);

enum kinds_say {
	KIND_GOES,	/* send it: nothing speaks against */
	KIND_TRY,	/* send it: the others wait for it; asked again, ASIDE */
	KIND_ASIDE,	/* one is out: ask again when it has its answer */
	KIND_WAITS	/* not now */
};

enum kinds_say	kinds_ask(struct kinds *, struct bytes type, int64_t now);

/* One of the type was taken. */
void		kinds_took(struct kinds *, struct bytes type);

/* The one that is out tells nothing: it was at fault by itself. */
void		kinds_says_nothing(struct kinds *, struct bytes type);

/* Is one of the type out, to try? */
bool		kinds_is_out(const struct kinds *, struct bytes type);

/* Is it known that the type is to blame, and not the route? */
bool		kinds_is_blamed(const struct kinds *, struct bytes type);

/*
 * None of the type was taken, and none is tried again in this batch.  If
 * others were, now or before, it waits for longer and longer, 1 to 30 s; if
 * not, the route may be to blame, and one is tried in the next batch.  Counts
 * once a batch; that others were taken may be told later.
 */
void		kinds_refused(struct kinds *, struct bytes type, bool others,
		    int64_t now);

/* How long the type waits, in ms; 0 and less: not at all. */
int64_t		kinds_wait(const struct kinds *, struct bytes type,
		    int64_t now);

void		kinds_free(struct kinds *);

#endif
