/*
 * outage.h - a problem that several processes meet, and one of them logs
 *
 * In memory that they share.  The first process that meets the problem tells
 * it, until it is over for that process, or it ends or meets it no longer.
 * Zeroed: there is none.
 */
#ifndef OUTBOX_OUTAGE_H
#define OUTBOX_OUTAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct outage {
	_Atomic int32_t		teller;		/* pid; 0: none */
	_Atomic int64_t		met_at;		/* by it; clock_ms() */
	_Atomic uint64_t	text;		/* a hash of its text */
};

/*
 * This process has met the problem.  True if it is to log it: it is the one
 * that tells, or, with each_text, its text is another one than that process's.
 */
bool	outage_is_ours(struct outage *, const char *text, bool each_text,
	    int64_t now);

/* Does a living process tell it? */
bool	outage_is_told(const struct outage *, int64_t now);

/* It is over for this process. */
void	outage_over(struct outage *);

#endif
