/*
 * lanes.h - lanes that wait, and the rows known to wait in them
 *
 * When the head of a lane cannot be sent now (it failed and is delayed, or
 * somebody else has claimed it), no later row of that lane may be sent. The
 * rows that wait are remembered here, so that a tick passes them instead of
 * claiming them again; only the head is tried when its time has come.
 *
 * This is memory of one worker for partitions it owns.  What must outlive it
 * stands in the table of blocked keys: parked.c writes it there, and moves rows
 * that are too many to be passed one by one out of the way of the scan.
 */
#ifndef OUTBOX_LANES_H
#define OUTBOX_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "common/msg.h"
#include "worker/parts.h"

/* Why the head of a lane waits. */
enum block_why {
	BLOCK_CLAIMED,	/* somebody else holds it */
	BLOCK_DELAYED,	/* it is not due yet */
	BLOCK_FAILED,	/* and is tried again later */
	BLOCK_REFUSED	/* by its destination */
};

#define LANE_NONE	UINT64_MAX

struct blocked_row;

/* A lane that waits. */
struct blocked_lane {
	struct part	*part;		/* of the head */
	struct blocked_row	*rows;		/* that the scan still meets */
	size_t		 nrows;
	uint64_t	 head;		/* LANE_NONE: it has none any more */
	int64_t		 due_at;	/* of the head; clock_ms() */
	enum block_why	 why;

	/* The lane in the table of blocked keys; see parked.h. */
	uint64_t	 record;	/* the name of its row; 0: it has none */
	struct part	*home;		/* recorded: in this partition */
	uint64_t	 parked_from;	/* from here on they are parked, or wait
					   for those; LANE_NONE: none is */
	uint64_t	 halted;	/* nothing behind this one goes until the
					   record is released; or LANE_NONE */
	struct part	*halter;	/* halted: by a record of this one */
	bool		 head_parked;
	int64_t		 aside_until;	/* its record or rows are refused by
					   the database: not tried before */

	UT_hash_handle	 hh;
	struct bytes	 key;		/* the order key of the head */
	size_t		 len;
	char		 name[];	/* of the lane, then the key */
};

/* A record that nobody needs any more. */
struct lifted {
	uint64_t	 record;
	struct part	*home;
};

struct lanes {
	struct blocked_row		*rows;
	struct blocked_lane	*lanes;
	int64_t			 soonest;	/* no head is due before */
	size_t			 nreturning;	/* lanes that come back */
	bool			 unrecorded;	/* a lane may want a record */
	struct lifted		*lifted;	/* that are to be deleted */
	size_t			 nlifted;
};

struct lanes	*lanes_new(void);
void		 lanes_free(struct lanes *);

/* A row that waits, and why it does if it is the head of its lane. */
struct wait {
	struct part	*part;
	struct bytes	 lane;
	struct bytes	 key;		/* data NULL: it has none */
	uint64_t	 sequence;
	int64_t		 due_at;	/* when to try it, clock_ms() */
	enum block_why	 why;
};

/*
 * The row waits in its lane, which starts to wait if it did not.  When and
 * why count only for the head of the lane.
 */
void	lanes_block(struct lanes *, const struct wait *);

/* The lane, NULL if it does not wait. */
struct blocked_lane *lanes_find(const struct lanes *, struct bytes lane);

bool	lanes_has_row(const struct lanes *, uint64_t sequence);

/* Does this row have to wait for an earlier one of its lane? */
bool	lanes_blocks(const struct lanes *, struct bytes lane, uint64_t sequence);

/*
 * The row is delivered, dead or gone.  If it was the head of a lane, the
 * lane waits no more, and the next scan sees its other rows; if some of them
 * are parked, it waits for those to come back.
 */
void	lanes_row_gone(struct lanes *, uint64_t sequence);

/* A row to look at, and the partition it belongs to. */
struct pick {
	uint64_t	 sequence;
	struct part	*part;
};

/*
 * Heads whose time has come, longest not tried first, at most max of them;
 * those that are parked are left out.
 */
size_t	lanes_due(struct lanes *, int64_t now, struct pick *, size_t max);

/* When the next head is due; INT64_MAX: nothing waits. */
int64_t	lanes_next_due(struct lanes *);

/* The partition is not ours any more, or must be looked at afresh. */
void	lanes_forget_part(struct lanes *, struct part *);

size_t	lanes_count(const struct lanes *);
size_t	lanes_nrows(const struct lanes *);

/*
 * For parked.c, which moves rows between the scan's way and the parking place.
 */

/* Nothing is in its way any more, and what is parked comes back. */
bool	lane_is_returning(const struct blocked_lane *);

/* A lane out of the table; what it does not have is LANE_NONE. */
struct blocked_lane *lanes_load(struct lanes *, const struct wait *,
	    uint64_t record, uint64_t parked_from, bool head_parked);

/* Nothing of the lane that is behind this sequence of the partition goes. */
void	lanes_halt(struct lanes *, struct blocked_lane *, struct part *,
	    uint64_t sequence);

/* The rows of the lane that can be parked under its record, less the head. */
size_t	lane_list_rows(const struct blocked_lane *, uint64_t *out, size_t max);

/* These rows are parked now; among them may be the head. */
void	lanes_parked(struct lanes *, struct blocked_lane *, const uint64_t *,
	    size_t n);

/* The head is back where the scan sees it. */
void	lanes_head_back(struct lanes *, struct blocked_lane *);

/*
 * Of a lane with no head all rows before next are back; LANE_NONE: all are,
 * and the lane waits no more.
 */
void	lanes_rows_back(struct lanes *, struct blocked_lane *, uint64_t next);

#endif
