/* status.h - shared by the files of status */
#ifndef OUTBOXCTL_STATUS_H
#define OUTBOXCTL_STATUS_H

#include "ctl/base/ctl.h"

/* Print it, as text or as JSON. */
void	status_say(const struct ctl *, json_t *status);

/*
 * status_counts.c: put "counts", null if there is no former one, and a problem
 * if a producer uses a count that is not declared.  -1: see err.
 */
int	status_counts(struct ctl *, json_t *status, struct err *);
void	status_say_counts(const json_t *status, json_t *out);

#endif
