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
#include <stdint.h>

/* So many numbers without a row, seen for so long, are no accident. */
#define VANISHING_ROWS	50
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
	int64_t			moved_at;
};

/*
 * Take a sample, and return how many numbers have gone without a row; 0: too
 * few to tell.  A row that is there, or that a worker had, begins anew.
 */
uint64_t	vanishing_add(struct vanishing *,
		    const struct vanishing_sample *);

#endif
