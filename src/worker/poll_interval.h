/*
 * poll_interval.h - when a worker looks for work again; arithmetic only
 *
 * At once after work, later and later after none, and soon after a ring.
 * All times are clock_ms(), passed in.
 */
#ifndef OUTBOX_POLL_INTERVAL_H
#define OUTBOX_POLL_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Rings that were in vain and what was found lately make no pause shorter than
 * this: 200 looks a second at most that find nothing.
 */
#define POLL_SOON_MS	5

/*
 * After all the work there was, where somebody will ring for the next: a ring
 * that is lost costs so much and what the pause grows to.
 */
#define POLL_WOKEN_MS	50

/*
 * Who has had work so lately does not pause longer than POLL_SOON_MS, as long
 * as a look that finds nothing is cheap.
 */
#define POLL_LINGER_MS	1000

/* What a look found. */
enum poll_found {
	POLL_NOTHING,
	POLL_WAITING,	/* nothing that is due; it had to pass the rest */
	POLL_MORE,	/* nothing yet: it has not seen everything */
	POLL_ALL,	/* all the work there was */
	POLL_WORK	/* as much as it could take */
};

struct poll_result {
	enum poll_found	found;
	bool		all;	/* it saw all partitions */
	bool		woken;	/* another one is worth it, somebody has rung */
	int64_t		due;	/* something that is known to wait can be tried
				   then; INT64_MAX: nothing is */
	int64_t		began;	/* when */
};

struct poll_interval {
	int64_t	fixed_ms;	/* pause between looks; 0: adaptive */
	int64_t	ceiling_ms;	/* the longest pause */
	int64_t	linger_ms;	/* POLL_LINGER_MS, or 0: a wake-up will ring */

	int64_t	at;		/* the next look; 0: now */
	int64_t	all_at;		/* the next one at all partitions, not before */
	int64_t	pause_ms;	/* before that */
	int64_t	looked_at;	/* the last one was over */
	int64_t	worked_at;	/* the last that found work; 0: none */
	int64_t	linger_until;
	bool	woken;		/* since the last look */
	bool	in_vain;	/* so it was before that */
};

/* A zeroed struct with the first three set is ready and looks now. */

/*
 * A look is over; one that found nothing is not repeated before so much time
 * as it took has passed.
 */
void	poll_interval_polled(struct poll_interval *, const struct poll_result *,
	    int64_t now);

/*
 * There may be work, in any partition or in some that the look knows of: look
 * now, or soon if the last ring was in vain.
 */
void	poll_interval_wake(struct poll_interval *, bool all, int64_t now);

/* A look now would be narrow: nobody has a reason to look everywhere yet. */
bool	poll_interval_is_narrow(const struct poll_interval *, int64_t now);

/* Would a ring change anything? */
bool	poll_interval_listens(const struct poll_interval *, int64_t now);

#endif
