/*
 * destinations.h - the destinations of this host, as its workers know them
 *
 * The one place where the views (status, top, the dashboard, metrics) read
 * what a destination does; the figures of each slot are on the scoreboard.
 */
#ifndef OUTBOX_DESTINATIONS_H
#define OUTBOX_DESTINATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/figures.h"
#include "ipc/scoreboard.h"

enum destination_state {
	DESTINATION_UNUSED,	/* nothing was sent there yet */
	DESTINATION_WORKS,	/* or failed for some only */
	DESTINATION_FAILS,	/* it takes nothing */
	DESTINATION_HELD	/* the workers wait, and send nothing */
};

struct destination {
	struct figures		 sum;		/* of all slots */
	enum destination_state	 state;
	int64_t			 since;		/* clock_ms(); of the last two */
	char			 why[sizeof(struct err)];	/* the same */
};

/* Those of the running workers' configuration, in its order. */
size_t		 destinations_read(const struct scoreboard *, int64_t now,
		    struct destination to[FIGURES_MAX]);

/* "unused", "works", "fails", "held up" */
const char	*destination_state_word(enum destination_state);

#endif
