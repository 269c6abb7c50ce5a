/* losses.h - messages that the stream has lost and that were only reported */
#ifndef OUTBOXCTL_LOSSES_H
#define OUTBOXCTL_LOSSES_H

#include "ctl/base/ctl.h"

/*
 * Stop reporting those of this stream, or with NULL of all; *streams had some.
 * Part of a transaction.
 */
int	losses_clear(struct ctl *, const char *stream, uint64_t *streams,
	    struct err *);

#endif
