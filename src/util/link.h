/*
 * link.h - one thing that can be away, and when to try it again
 *
 * The database, the broker and the route behind it.  Knows no more of them
 * than a name and a time; what is to be done about it is the owner's.
 */
#ifndef OUTBOX_LINK_H
#define OUTBOX_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/backoff.h"
#include "util/trouble.h"

#define LINK_FLOOR_MS	100	/* between tries, at first */
#define LINK_CEILING_MS	3500	/* and a fifth of jitter */

struct link {
	const char	*name;		/* for the log; borrowed */
	struct trouble	 trouble;
	struct backoff	 backoff;	/* its ceiling may be changed */
	int64_t		 try_at;	/* clock_ms(); not before */
	int64_t		 opened_at;	/* 0: not open, or not a connection */
	bool		 proven;	/* it has worked since it was opened */
};

void	link_init(struct link *, const char *name);

/* A connection stands; whether it is any good is not known yet. */
void	link_opened(struct link *, int64_t now);

/* It is away, text says why: logged, and to be tried after the back-off. */
void	link_failed(struct link *, const char *text, int64_t now);

/* It is there and asks for patience: the back-off, but at most max_ms. */
void	link_pause(struct link *, int64_t max_ms, int64_t now);

/*
 * It has worked.  Having been opened is not enough: a server that takes
 * connections and then refuses or hangs up would be tried at full speed.
 */
void	link_works(struct link *, int64_t now);

/* It is open: one that stays so for a while works, even if unused. */
void	link_lasts(struct link *, int64_t now);

#endif
