/*
 * link.h - a connection that can fail: its state and its next try
 *
 * Used for the database, the broker and the destination behind the broker.  It
 * keeps times and the log's texts; the owner connects and disconnects.
 */
#ifndef OUTBOX_LINK_H
#define OUTBOX_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/backoff.h"
#include "util/trouble.h"

#define LINK_FLOOR_MS	100	/* the first delay */
#define LINK_CEILING_MS	3500	/* the last, without jitter */

struct link {
	const char	*name;		/* for the log; borrowed */
	struct trouble	 trouble;
	struct backoff	 backoff;	/* the owner may set its ceiling */
	int64_t		 try_at;	/* clock_ms() of the next try; 0: now */
	int64_t		 opened_at;	/* 0: not open, or not a connection */
	bool		 proven;	/* it has worked since opened_at */
};

/* Not open, to be tried at once.  The name is borrowed. */
void	link_init(struct link *, const char *name);

/* The connection is open; call link_works once it has done some work. */
void	link_opened(struct link *, int64_t now);

/* It failed, text says why: logs it, and sets try_at by the back-off. */
void	link_failed(struct link *, const char *text, int64_t now);

/* It is open but asks us to wait: the back-off, max_ms at most. */
void	link_pause(struct link *, int64_t max_ms, int64_t now);

/*
 * It has done some work: resets the back-off.  Being open is not enough, or a
 * server that accepts and closes connections would be tried at full speed.
 */
void	link_works(struct link *, int64_t now);

/* Call while it is open: after 5 s it counts as working, even if idle. */
void	link_lasts(struct link *, int64_t now);

#endif
