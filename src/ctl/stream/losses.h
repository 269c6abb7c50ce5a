/* losses.h - what streams have lost, and operators have to deal with */
#ifndef OUTBOXCTL_LOSSES_H
#define OUTBOXCTL_LOSSES_H

#include "ctl/base/ctl.h"

/*
 * Stop reporting that of this stream, which is sent again; or with NULL that of
 * all, which is accepted: messages delivered before the alarm, and those that
 * are missing by now, are not expected any more.  *streams is the number of
 * streams with a report.
 * Part of a transaction.
 */
int	losses_clear(struct ctl *, const char *stream, uint64_t *streams,
	    struct err *);

#endif
