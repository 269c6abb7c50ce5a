/* impact.h - what a change of messages gives up, and which keys stay halted */
#ifndef OUTBOXCTL_IMPACT_H
#define OUTBOXCTL_IMPACT_H

#include "ctl/base/change.h"

/*
 * For struct change: ask before the chosen messages are given up, if there are
 * more than CTL_MANY, or with --all.  The question says how many messages of
 * how many keys they are, and of which types.
 */
int	impact_ask(struct chosen *, bool *may, struct err *);

/*
 * Print "3 messages due now"; then, on standard error, which of their keys stay
 * halted, and what releases them.  A halt by a chosen message itself is left
 * out.  With --json one object, with "halted": an array of {"key", "by"}, by
 * the sequence of the dead message.  Returns an exit status.
 */
int	impact_report(struct chosen *);

#endif
