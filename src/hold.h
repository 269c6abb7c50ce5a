/*
 * hold.h - lanes that wait, and the rows known to wait in them
 *
 * When the head of a lane cannot be sent now (it failed and is delayed, or
 * somebody else has claimed it), no later row of that lane may be sent. The
 * rows that wait are remembered here, so that a tick passes them instead of
 * claiming them again; only the head is tried when its time has come.
 *
 * This is memory of one worker for partitions it owns.  Losing it costs time
 * and never order: whoever owns the partition next starts from its first
 * row and finds the same head.
 */
#ifndef OUTBOX_HOLD_H
#define OUTBOX_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msg.h"

/* A partition this worker owns; the hold counts its waiting rows. */
struct part {
	char		label[257];	/* 64 characters, as the lease has it */
	uint64_t	epoch;
	size_t		nheld;
	bool		full;		/* its last range was used up */
	bool		picked;		/* has rows in the tick under way */
	unsigned	range;		/* picked: the index of its range */
};

struct hold;

struct hold	*hold_new(void);
void		 hold_free(struct hold *);

/*
 * The row waits in this lane, which starts to wait if it did not.  due_at is
 * when to try it (clock_ms()); it counts only for the head of the lane.
 */
void	hold_row(struct hold *, struct part *, struct bytes lane,
	    uint64_t sequence, int64_t due_at);

bool	hold_has_row(const struct hold *, uint64_t sequence);

/* Does this row have to wait for an earlier one of its lane? */
bool	hold_bars(const struct hold *, struct bytes lane, uint64_t sequence);

/*
 * The row is delivered, dead or gone.  If it was the head of a lane, the
 * lane waits no more, and the next scan sees its other rows.
 */
void	hold_row_gone(struct hold *, uint64_t sequence);

/* A row to look at, and the partition it belongs to. */
struct pick {
	uint64_t	 sequence;
	struct part	*part;
};

/* Heads whose time has come, longest not tried first, at most max of them. */
size_t	hold_due(const struct hold *, int64_t now, struct pick *, size_t max);

/* When the next head is due; INT64_MAX: nothing waits. */
int64_t	hold_next_due(const struct hold *);

/* The partition is not ours any more, or must be looked at afresh. */
void	hold_forget_part(struct hold *, struct part *);

size_t	hold_nlanes(const struct hold *);

#endif
