/* status.h - shared by the files of status */
#ifndef OUTBOXCTL_STATUS_H
#define OUTBOXCTL_STATUS_H

#include "ctl/base/ctl.h"

/* Print it, as text or as JSON. */
void	status_say(const struct ctl *, json_t *status);

/* status_counts.c: add lines if the partition count is being changed. */
void	status_say_counts(const json_t *status, json_t *out);

#endif
