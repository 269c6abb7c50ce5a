/*
 * change.h - a change of the partition count, as a worker sees it
 *
 * Every worker stays below the boundary while a change is under way; the
 * first one of the fleet looks whether it is over.  See store.h.
 */
#ifndef OUTBOX_CHANGE_H
#define OUTBOX_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

struct change_duty {
	struct store	*store;
	struct counts	 counts;	/* as they were read last */
	unsigned	 wish;		/* not noted yet; 0: none */
	int64_t		 next_at;
	bool		 told;		/* why it cannot begin */
};

/* To be called when an epoch was learned, and before the next claim. */
int	change_learn(struct change_duty *, struct err *);

/* Are rows waiting for the end of a change? */
bool	change_is_on(const struct change_duty *);

/*
 * What is due: our wish, and for the first of the fleet the end of the change
 * under way.  *moved: all epochs are others now.
 */
int	change_round(struct change_duty *, bool first, int64_t now,
	    bool *moved, struct err *);

#endif
