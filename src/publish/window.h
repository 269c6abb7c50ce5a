/*
 * window.h - which message of a batch may be sent next
 *
 * A lane keeps its order: an order key, a partition, or a single message.  At
 * most one message of a lane is unresolved at any time, and at most max
 * messages and max_bytes bytes in all.  Pure bookkeeping: no I/O, no clock.
 */
#ifndef OUTBOX_WINDOW_H
#define OUTBOX_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "common/msg.h"

struct window {
	size_t	 n;
	size_t	 max;		/* unresolved at most */
	size_t	 max_bytes;	/* unresolved; the last may exceed it */
	size_t	 unresolved;
	size_t	 bytes;
	const struct msg *msgs;
	size_t	*lane_next;	/* the next message of the same lane, or n */
	size_t	*queue;		/* messages that may be sent, a FIFO */
	size_t	 head, tail;
};

/*
 * Lanes follow the order of the batch; held messages are left out.  The batch
 * is borrowed until window_free.
 */
void	window_init(struct window *, const struct batch *,
	    enum conf_ordering, size_t max, size_t max_bytes);
void	window_free(struct window *);

/* Take the next message that may be sent now; false: there is none. */
bool	window_next(struct window *, size_t *i);

/* If message i may be sent now, it is the next one. */
void	window_prefer(struct window *, size_t i);

/* It was sent: it is unresolved until window_resolved. */
void	window_sent(struct window *, size_t i);

/*
 * A message that was sent is resolved.  go_on: the next one of its lane may be
 * sent; otherwise the rest of its lane stays unsent.
 */
void	window_resolved(struct window *, size_t i, bool go_on);

/* A message that was taken but not sent, with the same go_on. */
void	window_skipped(struct window *, size_t i, bool go_on);

/* True if one more may be out; if there also is one to take. */
bool	window_has_room(const struct window *);
bool	window_can_send(const struct window *);

/* True if a message is out, or may be sent now. */
bool	window_has_work(const struct window *);

#endif
