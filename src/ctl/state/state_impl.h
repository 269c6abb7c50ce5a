/* state_impl.h - private to the files of state; -1: see err */
#ifndef OUTBOXCTL_STATE_IMPL_H
#define OUTBOXCTL_STATE_IMPL_H

#include "ctl/state/state.h"

/*
 * counts.c: put "counts", null if there is no former one, and "undeclared", the
 * text of the problem that a producer uses a count that is not declared.
 */
int	 state_put_counts(struct ctl *, json_t *state, struct err *);

/* rights.c: put "rights", an object for each right that the account lacks. */
int	 state_put_rights(struct ctl *, json_t *state, struct err *);

/*
 * broker.c: {"error", "unfit", "warnings"}: why there is no answer, why the
 * stream takes no message, and its unsafe settings.  Connects if necessary;
 * blocks for some seconds at most.
 */
json_t	*state_broker(const struct ctl *, struct pub *);

#endif
