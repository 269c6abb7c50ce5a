/*
 * inflight.h - which message of a batch may be sent next
 *
 * A lane keeps its order: an order key, a partition, or a single message.  At
 * most one message of a lane is unresolved at any time, and at most max
 * messages and max_bytes bytes in all.  Pure bookkeeping: no I/O, no clock.
 */
#ifndef OUTBOX_INFLIGHT_H
#define OUTBOX_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "common/msg.h"

struct inflight {
	size_t	 n;
	size_t	 max;		/* unresolved at most */
	size_t	 max_bytes;	/* unresolved; the last may exceed it */
	size_t	 unresolved;
	size_t	 bytes;
	size_t	*sizes;		/* of those that were sent */
	size_t	*lane_next;	/* the next message of the same lane, or n */
	size_t	*queue;		/* messages that may be sent, a FIFO */
	size_t	 head, tail;
};

/* Lanes follow the order of the batch; held messages are left out. */
void	inflight_init(struct inflight *, const struct batch *,
	    enum conf_ordering, size_t max, size_t max_bytes);
void	inflight_free(struct inflight *);

/* Take the next message that may be sent now; false: there is none. */
bool	inflight_next(struct inflight *, size_t *i);

/* If message i may be sent now, it is the next one. */
void	inflight_prefer(struct inflight *, size_t i);

/* It was sent, with so many bytes: unresolved until inflight_resolved. */
void	inflight_sent(struct inflight *, size_t i, size_t size);

/*
 * A message that was sent is resolved.  go_on: the next one of its lane may be
 * sent; otherwise the rest of its lane stays unsent.
 */
void	inflight_resolved(struct inflight *, size_t i, bool go_on);

/* A message that was taken but not sent; without go_on this does nothing. */
void	inflight_skipped(struct inflight *, size_t i, bool go_on);

/* May one more be unresolved?  And is there also one that may be sent? */
bool	inflight_has_room(const struct inflight *);
bool	inflight_can_send(const struct inflight *);

/* True if a message is unresolved, or may be sent now. */
bool	inflight_has_work(const struct inflight *);

#endif
