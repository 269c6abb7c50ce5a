/*
 * poll_interval.h - when a worker scans for rows again; arithmetic only
 *
 * At once while rows are left, after growing pauses while there are none, and
 * soon after a wake-up.  Unless rows are left, two scans begin linger_ms apart
 * at least, so that rows that come close together are sent together.  All times
 * are clock_ms(), passed in.
 */
#ifndef OUTBOX_POLL_INTERVAL_H
#define OUTBOX_POLL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * After a vain scan the pause is this at least where wake-ups are expected.
 * Vain wake-ups cause one scan in this time at most.
 */
#define POLL_SOON_MS	5

/* Where wake-ups are expected: the pause after a scan that took all rows. */
#define POLL_WOKEN_MS	50

/*
 * Where no wake-ups are expected: the longest pause, as a part of the time since
 * the last work, unless POLL_SOON_MS is longer.
 */
#define POLL_PART	4

enum poll_found {
	POLL_NOTHING,
	POLL_WAITING,	/* only rows that are not due; the scan passed them */
	POLL_MORE,	/* nothing yet, and partitions are left to be scanned */
	POLL_ALL,	/* rows, and none are left */
	POLL_WORK	/* rows, and some are left */
};

struct poll_result {
	enum poll_found	found;
	bool		all;	/* the scan was not narrow */
	bool		woken;	/* the row of a wake-up may not be visible yet:
				   scan again for it */
	int64_t		due;	/* when a waiting row can be tried; INT64_MAX:
				   none waits */
	int64_t		began;	/* when the scan began */
};

struct poll_interval {
	int64_t	fixed_ms;	/* pause between scans of all; 0: adaptive */
	int64_t	ceiling_ms;	/* the longest pause */
	int64_t	linger_ms;	/* worker.linger_ms */
	bool	polls;		/* no wake-ups are expected */

	int64_t	at;		/* the next scan; 0: now */
	int64_t	all_at;		/* scans before this are narrow */
	int64_t	pause_ms;	/* between the last scan of all and all_at */
	int64_t	earliest;	/* no scan before this, unless rows are left */
	int64_t	worked_at;	/* the last work; 0: none */
	bool	woken;		/* since the last scan */
};

/* A zeroed struct with the first four set is ready and scans now. */

/* A scan is over: plan the next. */
void	poll_interval_polled(struct poll_interval *, const struct poll_result *,
	    int64_t now);

/* There may be rows: scan all partitions, or those that the wake-up named. */
void	poll_interval_wake(struct poll_interval *, bool all, int64_t now);

/* Would a scan now be narrow? */
bool	poll_interval_is_narrow(const struct poll_interval *, int64_t now);

/* Would a wake-up make the next scan earlier? */
bool	poll_interval_listens(const struct poll_interval *, int64_t now);

#endif
