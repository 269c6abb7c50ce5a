/*
 * vanishing.h - do rows of the outbox vanish before anyone sees them?
 *
 * A transaction that inserts a row and deletes it again leaves one trace, if the
 * binlog is not read: numbers are given, and no row has them.  The janitor takes
 * samples; the rule asks no server and no clock.
 */
#ifndef OUTBOX_VANISHING_H
#define OUTBOX_VANISHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * So many numbers that were given, and so long after the first of them no row
 * has one.  One burst is enough: it may be all that an application does in an
 * hour.  A large INSERT IGNORE of rows that are there, or a transaction that is
 * rolled back, looks the same, so this is never more than advice.
 */
#define VANISHING_ROWS	20
#define VANISHING_MS	10000

/* It is told for so long after the last one. */
#define VANISHING_LASTS_MS	(10 * 60 * 1000)

struct vanishing_sample {
	int64_t		at;		/* clock_ms() */
	uint64_t	next;		/* the next number to be given */
	uint64_t	row;		/* the highest that a row has */
	uint64_t	handled;	/* rows that workers of this host had */
};

/* Zeroed: no sample yet. */
struct vanishing {
	struct vanishing_sample	last;
	uint64_t		from;		/* no row has this or a higher
						   number */
	int64_t			since;		/* clock_ms(), when numbers
						   began to go; 0: none */
	int64_t			moved_at;	/* the last of them */
};

/*
 * Take a sample, and return how many numbers have gone without a row; 0: too
 * few to tell.  A row that is there, or that a worker had, begins anew.
 */
uint64_t	vanishing_add(struct vanishing *,
		    const struct vanishing_sample *);

/*
 * Where the binlog is read, the rows that vanish are seen.  A few may be meant:
 * an application may take a message back before it commits.  So they count by
 * their share of the last rows that were inserted.
 */
#define VANISHING_LAST	100	/* rows; of a larger transaction its share */
#define VANISHING_FEW	20	/* fewer of them are nothing to tell */

/* Zeroed: no row yet. */
struct vanishing_share {
	unsigned	rows;		/* VANISHING_LAST at most */
	unsigned	gone;		/* of them, deleted again */
	unsigned	next;		/* where the next one goes */
	bool		is_gone[VANISHING_LAST];
};

/* Add a transaction: the rows that it inserted, and how many of them it deleted
   again.  True: most of the last rows vanish, and they are not few. */
bool		vanishing_share_add(struct vanishing_share *, size_t rows,
		    size_t gone);

#endif
