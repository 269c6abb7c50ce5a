/*
 * reconnect.h - a connection that can fail: its state and its next try
 *
 * Used for the database, the broker and the destination behind the broker.  It
 * keeps times and the log's texts; the owner connects and disconnects.
 */
#ifndef OUTBOX_RECONNECT_H
#define OUTBOX_RECONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/backoff.h"
#include "util/log_throttle.h"
#include "util/outage.h"

#define RECONNECT_FLOOR_MS	100	/* the first delay */
#define RECONNECT_CEILING_MS	3500	/* the last, without jitter */

struct reconnect {
	const char		*name;		/* for the log; borrowed */
	struct log_throttle	 throttle;
	struct backoff		 backoff;	/* its ceiling may be set */
	int64_t			 try_at;	/* clock_ms(); 0: try now */
	int64_t			 opened_at;	/* 0: not open, or not a
						   connection */
	bool			 proven;	/* worked since then */

	/* Several processes meet the same failure: one logs it.  Or NULL. */
	struct outage		*outage;
	bool			 each_text;	/* as in outage.h */

	/*
	 * The others notice the failure, too: this one logs it only if for 30 s
	 * none of them does.
	 */
	bool			 follows;
	int64_t			 told_at;	/* last seen told by another */
};

/* Not open, to be tried at once.  The name is borrowed. */
void	reconnect_init(struct reconnect *, const char *name);

/* The connection is open; call reconnect_works once it has done some work. */
void	reconnect_opened(struct reconnect *, int64_t now);

/* It failed, text says why: logs it, and sets try_at by the back-off. */
void	reconnect_failed(struct reconnect *, const char *text, int64_t now);

/* The same; texts with the same key tell of the same failure. */
void	reconnect_failed_keyed(struct reconnect *, const char *key,
	    const char *text, int64_t now);

/* The open connection is lost: logs it.  It may be tried at once. */
void	reconnect_lost(struct reconnect *, int64_t now);

/* It is open but asks us to wait: the back-off, max_ms at most. */
void	reconnect_pause(struct reconnect *, int64_t max_ms, int64_t now);

/*
 * It has done some work: resets the back-off.  Being open is not enough, or a
 * server that accepts and closes connections would be tried at full speed.
 */
void	reconnect_works(struct reconnect *, int64_t now);

/* Call while it is open: after 5 s it counts as working, even if idle. */
void	reconnect_lasts(struct reconnect *, int64_t now);

#endif
