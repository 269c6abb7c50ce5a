/* history.h - what is known of a message, in the order of time */
#ifndef OUTBOXCTL_HISTORY_H
#define OUTBOXCTL_HISTORY_H

#include "ctl/base/ctl.h"

/*
 * Add "history" to what messages show prints, from its other members: an array
 * of objects with "at", null if the time is not known, and "what".  Without
 * --json it is one text.
 */
void	history_add(const struct ctl *, json_t *o);

#endif
