/*
 * guard.h - two processes, so that the terminal is left as it was
 *
 * The second one draws.  The first one waits for it and repairs the terminal if
 * the second was killed or stopped; if the first one is killed, the second one
 * ends and repairs it.
 */
#ifndef OUTBOXCTL_GUARD_H
#define OUTBOXCTL_GUARD_H

#include "ctl/base/ctl.h"

/*
 * Run draw in the second process, and return its exit status.  SIGTERM, SIGINT
 * and SIGHUP are for draw, as flags of sig.h; the first process passes on what
 * only it gets.  The terminal must have been saved, see terminal.h.
 */
int	guard_run(struct ctl *, int (*draw)(struct ctl *));

#endif
