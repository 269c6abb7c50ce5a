/*
 * hold.h - lanes that wait, and the rows known to wait in them
 *
 * When the head of a lane cannot be sent now (it failed and is delayed, or
 * somebody else has claimed it), no later row of that lane may be sent. The
 * rows that wait are remembered here, so that a tick passes them instead of
 * claiming them again; only the head is tried when its time has come.
 *
 * This is memory of one worker for partitions it owns.  What must outlive it
 * stands in the table of blocked keys: park.c writes it there, and moves rows
 * that are too many to be passed one by one out of the way of the scan.
 */
#ifndef OUTBOX_HOLD_H
#define OUTBOX_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "common/msg.h"

/* A label, and its lease as it was when it was read. */
struct part_label {
	char		label[MSG_LABEL];
	uint64_t	epoch;
	uint64_t	early_upto;	/* rows that may go early */
	uint64_t	unsure_upto;	/* that have, perhaps, and do not say so */
	bool		full;		/* its last range was used up */
	size_t		nknown;		/* rows of it that the last scan met in
					   vain, as they wait */
	unsigned	range;		/* picked: the index of its range */
};

/*
 * What this worker owns as a whole or not at all: one label, or while several
 * partition counts are declared a class of them (counts.h).  The hold counts
 * its waiting rows.
 */
struct part {
	size_t		nheld;
	bool		fresh;		/* its blocked keys are to be read */
	bool		merging;	/* and some of them to be made one */
	bool		rung;		/* for new rows that no look has met */
	int64_t		rung_at;	/* the last time; clock_ms() */
	bool		picked;		/* has rows in the tick under way */
	size_t		nlabels;	/* not 0 */
	struct part_label labels[];	/* sorted bytewise */
};

/* What it is called: its first label. */
static inline const char *
part_name(const struct part *p)
{
	return p->labels[0].label;
}

/* Why the head of a lane waits. */
enum hold_why {
	HOLD_CLAIMED,	/* somebody else holds it */
	HOLD_DELAYED,	/* it is not due yet */
	HOLD_FAILED,	/* and is tried again later */
	HOLD_REFUSED	/* by its destination */
};

#define HOLD_NONE	UINT64_MAX

struct held_row;

/* A lane that waits. */
struct held_lane {
	struct part	*part;		/* of the head */
	struct held_row	*rows;		/* that the scan still meets */
	size_t		 nrows;
	uint64_t	 head;		/* HOLD_NONE: it has none any more */
	int64_t		 due_at;	/* of the head; clock_ms() */
	enum hold_why	 why;

	/* The lane in the table of blocked keys; see park.h. */
	uint64_t	 record;	/* the name of its row; 0: it has none */
	struct part	*home;		/* recorded: in this partition */
	uint64_t	 parked_from;	/* from here on they are parked, or wait
					   for those; HOLD_NONE: none is */
	uint64_t	 halted;	/* nothing behind this one goes until the
					   record is released; or HOLD_NONE */
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

struct hold {
	struct held_row		*rows;
	struct held_lane	*lanes;
	int64_t			 soonest;	/* no head is due before */
	size_t			 nreturning;	/* lanes that come back */
	bool			 unrecorded;	/* a lane may want a record */
	struct lifted		*lifted;	/* that are to be deleted */
	size_t			 nlifted;
};

struct hold	*hold_new(void);
void		 hold_free(struct hold *);

/* A row that waits, and why it does if it is the head of its lane. */
struct wait {
	struct part	*part;
	struct bytes	 lane;
	struct bytes	 key;		/* data NULL: it has none */
	uint64_t	 sequence;
	int64_t		 due_at;	/* when to try it, clock_ms() */
	enum hold_why	 why;
};

/*
 * The row waits in its lane, which starts to wait if it did not.  When and
 * why count only for the head of the lane.
 */
void	hold_row(struct hold *, const struct wait *);

/* The lane, NULL if it does not wait. */
struct held_lane *hold_lane(const struct hold *, struct bytes lane);

bool	hold_has_row(const struct hold *, uint64_t sequence);

/* Does this row have to wait for an earlier one of its lane? */
bool	hold_bars(const struct hold *, struct bytes lane, uint64_t sequence);

/*
 * The row is delivered, dead or gone.  If it was the head of a lane, the
 * lane waits no more, and the next scan sees its other rows; if some of them
 * are parked, it waits for those to come back.
 */
void	hold_row_gone(struct hold *, uint64_t sequence);

/* A row to look at, and the partition it belongs to. */
struct pick {
	uint64_t	 sequence;
	struct part	*part;
};

/*
 * Heads whose time has come, longest not tried first, at most max of them;
 * those that are parked are left out.
 */
size_t	hold_due(struct hold *, int64_t now, struct pick *, size_t max);

/* When the next head is due; INT64_MAX: nothing waits. */
int64_t	hold_next_due(struct hold *);

/* The partition is not ours any more, or must be looked at afresh. */
void	hold_forget_part(struct hold *, struct part *);

size_t	hold_nlanes(const struct hold *);
size_t	hold_nrows(const struct hold *);

/*
 * For park.c, which moves rows between the scan's way and the parking place.
 */

/* Nothing is in its way any more, and what is parked comes back. */
bool	hold_is_returning(const struct held_lane *);

/* A lane out of the table; what it does not have is HOLD_NONE. */
struct held_lane *hold_load(struct hold *, const struct wait *,
	    uint64_t record, uint64_t parked_from, bool head_parked);

/* Nothing of the lane that is behind this sequence of the partition goes. */
void	hold_halt(struct hold *, struct held_lane *, struct part *,
	    uint64_t sequence);

/* The rows of the lane that can be parked under its record, less the head. */
size_t	hold_list(const struct held_lane *, uint64_t *out, size_t max);

/* These rows are parked now; among them may be the head. */
void	hold_parked(struct hold *, struct held_lane *, const uint64_t *,
	    size_t n);

/* The head is back where the scan sees it. */
void	hold_head_back(struct hold *, struct held_lane *);

/*
 * Of a lane with no head all rows before next are back; HOLD_NONE: all are,
 * and the lane waits no more.
 */
void	hold_back(struct hold *, struct held_lane *, uint64_t next);

#endif
