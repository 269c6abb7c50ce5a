/*
 * lanes.h - blocked lanes, and the rows known to wait in them
 *
 * When the head of a lane cannot be sent now (it failed and is delayed, or
 * another worker has claimed it), no later row of the lane may be sent.  These
 * rows are remembered here, so that a tick skips them instead of claiming them
 * again.  The head is tried when it is due.
 *
 * This is the memory of one worker for its own partitions.  parked.c writes to
 * the table of blocked keys what the next owner must know, and moves rows out
 * of the scan's way when there are too many to skip one by one.
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
	BLOCK_CLAIMED,	/* another worker has claimed it */
	BLOCK_DELAYED,	/* it is not due yet */
	BLOCK_FAILED,	/* it failed and is tried again later */
	BLOCK_REFUSED,	/* by its destination, or by the database */
	BLOCK_DOUBT,	/* it cannot be told whether it is stored already */
	BLOCK_TYPE	/* its type is refused while others are taken */
};

#define LANE_NONE	UINT64_MAX

struct blocked_row;

struct blocked_lane {
	struct part	*part;		/* of the head */
	struct blocked_row *rows;	/* known and not parked */
	size_t		 nrows;
	uint64_t	 head;		/* LANE_NONE: the head is gone */
	int64_t		 due_at;	/* of the head; clock_ms() */
	enum block_why	 why;
	uint64_t	 type;		/* as in struct wait */

	/* Its record in the table of blocked keys; see parked.h. */
	uint64_t	 record;	/* first_sequence; 0: no record */
	struct part	*home;		/* the partition of the record */
	uint64_t	 parked_from;	/* rows from here on are parked, or
					   wait for parked rows; or LANE_NONE */
	uint64_t	 halted;	/* no row after this one is sent until
					   the record is released; or LANE_NONE */
	struct part	*halter;	/* the partition of that record */
	bool		 head_parked;
	int64_t		 aside_until;	/* clock_ms(); the database refused its
					   record or rows: no try before this */

	UT_hash_handle	 hh;
	struct bytes	 key;		/* the order key of the head */
	size_t		 len;
	char		 name[];	/* of the lane, then the key */
};

/* A record that can be deleted. */
struct lifted {
	uint64_t	 record;
	struct part	*home;
};

struct lanes {
	struct blocked_row	*rows;
	struct blocked_lane	*lanes;
	int64_t			 soonest;	/* no head is due before this */
	size_t			 nreturning;	/* lanes whose parked rows are
						   to come back */
	bool			 unrecorded;	/* a lane may need a record */
	struct lifted		*lifted;	/* to be deleted by parked.c */
	size_t			 nlifted;
};

struct lanes	*lanes_new(void);
void		 lanes_free(struct lanes *);

/* A row that waits; due_at and why count for the head of a lane. */
struct wait {
	struct part	*part;
	struct bytes	 lane;
	struct bytes	 key;		/* data NULL: the row has no key */
	uint64_t	 sequence;
	int64_t		 due_at;	/* clock_ms() */
	enum block_why	 why;
	uint64_t	 type;		/* BLOCK_TYPE: bytes_hash() of it */
};

/* The row waits.  Blocks its lane, if it is not blocked yet. */
void	lanes_block(struct lanes *, const struct wait *);

/* NULL: the lane is not blocked. */
struct blocked_lane *lanes_find(const struct lanes *, struct bytes lane);

bool	lanes_has_row(const struct lanes *, uint64_t sequence);

/* Does this row have to wait for an earlier row of its lane? */
bool	lanes_blocks(const struct lanes *, struct bytes lane,
	    uint64_t sequence);

/*
 * The row is delivered, dead or gone.  If it was the head of a lane, the lane
 * is not blocked any more and the next scan finds its other rows.  If some of
 * them are parked, it stays blocked until these are back.
 */
void	lanes_row_gone(struct lanes *, uint64_t sequence);

/* A row to claim, and the partition it was found in. */
struct pick {
	uint64_t	 sequence;
	struct part	*part;
};

/*
 * Heads that are due, without parked ones, at most max; the head that was tried
 * longest ago is first.  now is clock_ms().
 */
size_t	lanes_due(struct lanes *, int64_t now, struct pick *, size_t max);

/*
 * Heads that wait for their type are due now, except those of these types.  A
 * parked head whose lane is put aside is due after that.
 */
void	lanes_types_taken(struct lanes *, const uint64_t *held, size_t n,
	    int64_t now);

/*
 * One head that waits for this type is due now: the one that was due first, a
 * parked one only if there is no other.
 */
void	lanes_offer_one(struct lanes *, uint64_t type, int64_t now);

/*
 * Does a head wait that its destination refused, or that another worker may be
 * sending?
 */
bool	lanes_wait_for_route(const struct lanes *);

/* When the next head is due, clock_ms(); INT64_MAX: no lane is blocked. */
int64_t	lanes_next_due(struct lanes *);

/* The partition is not ours any more, or its records are read again. */
void	lanes_forget_part(struct lanes *, struct part *);

size_t	lanes_count(const struct lanes *);
size_t	lanes_nrows(const struct lanes *);

/*
 * For parked.c
 */

/* Its head is gone and it is not halted: its parked rows are to come back. */
bool	lane_is_returning(const struct blocked_lane *);

/*
 * Add a lane as its record says.  A sequence in wait or a parked_from that does
 * not exist is LANE_NONE.
 */
struct blocked_lane *lanes_load(struct lanes *, const struct wait *,
	    uint64_t record, uint64_t parked_from, bool head_parked);

/* No row of the lane after this sequence is sent, by a record of this part. */
void	lanes_halt(struct lanes *, struct blocked_lane *, struct part *,
	    uint64_t sequence);

/* Rows of the lane that can be parked, without the head; returns how many. */
size_t	lane_list_rows(const struct blocked_lane *, uint64_t *out, size_t max);

/* These rows of the lane are parked now; the head may be one of them. */
void	lanes_parked(struct lanes *, struct blocked_lane *, const uint64_t *,
	    size_t n);

/*
 * The database refused the lane's record or rows: it is not tried again before
 * this time.
 */
void	lanes_put_aside(struct lanes *, struct blocked_lane *, int64_t until);

/* The head is not parked any more. */
void	lanes_head_back(struct lanes *, struct blocked_lane *);

/*
 * All parked rows before next are back.  LANE_NONE: all are, and the lane is
 * not blocked any more.  For lanes without a head.
 */
void	lanes_rows_back(struct lanes *, struct blocked_lane *, uint64_t next);

#endif
