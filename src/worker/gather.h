/*
 * gather.h - one worker for the whole host while there is little to do
 *
 * A worker that looks for rows costs the database the same however few it
 * finds, so four of them cost four times as much as one.  While the workers of
 * a master have little to do they are gathered: the first of them serves the
 * partitions of all, and the others stand by.  A worker that falls behind
 * spreads them, until all together have much less to do than that one had.
 *
 * One whose slot saw a death a short time ago is not the first; if that is true
 * of all, each has its share.
 *
 * The scoreboard says until when they are spread, and each worker acts on that
 * by itself: it is a hint, and the leases decide who serves a partition.
 */
#ifndef OUTBOX_GATHER_H
#define OUTBOX_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/scoreboard.h"
#include "ipc/wakeup.h"

struct gather {
	/* Borrowed; NULL: it knows of no other workers. */
	struct scoreboard	*board;
	const struct wakeup	*wakeup;
	unsigned		 slot, nslots;	/* this one, and how many */
	bool			 enabled;	/* else they are always spread,
						   also those of before a reload */

	uint64_t		 rows;		/* since measured_at */
	int64_t			 measured_at;	/* clock_ms() */
	int64_t			 behind_since;	/* clock_ms(); 0: not */
};

/* Are the workers of this master gathered? */
bool	gather_is_on(const struct gather *, int64_t now);

/* 1 and the slot of the first one that is trusted; 0: they are not gathered. */
unsigned gather_first(const struct gather *, int64_t now);

/* What a tick has done. */
struct gather_work {
	uint64_t	rows;		/* delivered */
	int64_t		batch_us;	/* how long a batch took, in the mean */
	bool		left;		/* rows were left behind */
};

void	gather_worked(struct gather *, const struct gather_work *, int64_t now);

/* Call it each second at least. */
void	gather_measure(struct gather *, int64_t now);

/* Does this id belong to a worker of this master? */
bool	gather_has(const struct gather *, const char *id);

/* And may it serve the partitions of all? */
bool	gather_trusts(const struct gather *, const char *id, int64_t now);

/* Does a worker of this master serve partitions, and give signs of life? */
bool	gather_is_well(const struct gather *, int64_t now);

/* Leases were given back: those who want them need not wait. */
void	gather_tell_others(const struct gather *);

#endif
