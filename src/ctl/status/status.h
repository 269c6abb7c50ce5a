/* status.h - shared by the files of status */
#ifndef OUTBOXCTL_STATUS_H
#define OUTBOXCTL_STATUS_H

#include "ctl/base/ctl.h"

/*
 * Print it, as text or as JSON.  With --watch a terminal shows the time and the
 * pause above it, and it replaces the status that was printed before.
 */
void	status_say(const struct ctl *, json_t *status);

/* SECONDS of --watch; 0: not valid. */
#define STATUS_WATCH_MAX_S	3600
int64_t	status_pause(const struct args *);

/* status_counts.c: add lines if the partition count is being changed. */
void	status_say_counts(const json_t *status, json_t *out);

#endif
