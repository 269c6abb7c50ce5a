/* enqueue_message.h - the row of a message, for outbox.mode: inline */
#ifndef OUTBOXCTL_ENQUEUE_MESSAGE_H
#define OUTBOXCTL_ENQUEUE_MESSAGE_H

#include "ctl/messages/event.h"
#include "store/store_sql.h"

/*
 * Insert it, with the label of its key, or of its id if it has no key.  Columns
 * that the table does not have are left out.
 */
int	enqueue_message(struct store *, const struct event *,
	    const struct counts *, struct err *);

#endif
