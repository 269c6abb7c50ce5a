/*
 * refused.h - event types that are refused, logged once for this host
 *
 * Each worker that meets such a type shows it on its line of the scoreboard.
 * The master alone logs it, so there is one line for an outage.
 */
#ifndef OUTBOX_REFUSED_H
#define OUTBOX_REFUSED_H

#include <stddef.h>
#include <stdint.h>

#include "ipc/scoreboard.h"

#define REFUSED_TYPES	64	/* more are not logged at the same time */

/* Zeroed: none is known. */
struct refused {
	struct refused_type {
		char	type[sizeof(((struct scoreboard_refused *)0)->type)];
		char	subject[
			    sizeof(((struct scoreboard_refused *)0)->subject)];
		int64_t	since, seen_at;		/* clock_ms() */
	} types[REFUSED_TYPES];
	size_t	n;
};

/* Log types that are new, and those that no worker has shown for a while. */
void	refused_look(struct refused *, const struct scoreboard *, int64_t now);

#endif
