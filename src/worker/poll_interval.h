/*
 * poll_interval.h - when a worker looks for rows again; arithmetic only
 *
 * At once while rows are left, and after growing pauses while there are none.  A
 * wake-up means: look when linger_ms since the last look is over, so that rows
 * that come close together are sent together; if it is over, or that look found
 * none, at once.  Each wake-up tells of one row at least.  If fewer are found,
 * some may not be visible yet, and the look is repeated soon.  All times are
 * clock_ms(), passed in.
 */
#ifndef OUTBOX_POLL_INTERVAL_H
#define OUTBOX_POLL_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The pause after a look that found less than its wake-ups promised.  Vain
 * wake-ups cause one look in this time at most.
 */
#define POLL_SOON_MS	5

/*
 * Where no wake-ups are expected: the longest pause, as a part of the time since
 * the last work, unless POLL_SOON_MS is longer.
 */
#define POLL_PART	4

struct poll_result {
	size_t	found;		/* rows that no look before has found */
	bool	worked;		/* rows were claimed */
	bool	more;		/* rows are left, or partitions to look at */
	bool	waiting;	/* the look passed rows that are not due */
	int64_t	due;		/* when a waiting row can be tried; INT64_MAX:
				   none waits */
	int64_t	began;		/* when the look began */
};

struct poll_interval {
	int64_t	fixed_ms;	/* pause between looks; 0: adaptive */
	int64_t	ceiling_ms;	/* the longest pause */
	int64_t	linger_ms;	/* worker.linger_ms */
	bool	polls;		/* no wake-ups are expected */

	int64_t	at;		/* the next look; 0: now */
	int64_t	pause_ms;	/* the last pause */
	int64_t	earliest;	/* no wake-up causes a look before this */
	int64_t	worked_at;	/* the last work; 0: none */
	size_t	woken;		/* rows that wake-ups told of, and that were
				   not found */
};

/* A zeroed struct with the first four set is ready and looks now. */

/* A look is over: plan the next. */
void	poll_interval_polled(struct poll_interval *, const struct poll_result *,
	    int64_t now);

/* So many wake-ups came. */
void	poll_interval_wake(struct poll_interval *, size_t n, int64_t now);

/* Would a wake-up make the next look earlier? */
bool	poll_interval_listens(const struct poll_interval *, int64_t now);

#endif
