/* tick_impl.h - what the files of the tick share; nobody else includes it */
#ifndef OUTBOX_TICK_IMPL_H
#define OUTBOX_TICK_IMPL_H

#include "worker/tick.h"

/* What is known of the open batch goes into the result, and is zero then. */
void	tick_count(struct tick *, struct tick_result *);

/*
 * Claim what was picked, one row at least: what is ours then is the batch, and
 * the rest is accounted for.  A batch that is open is written back with that,
 * and counted.  -1: the database is in trouble; unsettled tells whether it is
 * still open.
 */
int	tick_take(struct tick *, const struct picks *, struct tick_result *,
	    struct err *);

#endif
