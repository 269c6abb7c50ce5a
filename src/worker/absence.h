/*
 * absence.h - for how long one destination is away for this worker
 *
 * It is away when it was not reached for as long as a dead worker keeps its
 * leases, and back when it is reached; for a worker that stands back, when it was
 * for a lease_ttl without a break.  Pure; times are clock_ms().
 */
#ifndef OUTBOX_ABSENCE_H
#define OUTBOX_ABSENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* Zeroed: it is reached. */
struct absence {
	bool	away;
	bool	is_new;		/* it was never reached */
	int64_t	missed_since;	/* 0: it is reached now */
	int64_t	missed_at;	/* the last time; 0: never */
	int64_t	reached_since;	/* of one that is away; 0: it is not */
};

/* A connection that was never open: it is away, and back when it is. */
void	absence_begin(struct absence *, int64_t now);

/* It is not away, but was missed within the last lease_ttl. */
bool	absence_is_doubt(const struct absence *, const struct conf *,
	    int64_t now);

void	absence_note(struct absence *, bool reached, bool stands_back,
	    const struct conf *, int64_t now);

#endif
