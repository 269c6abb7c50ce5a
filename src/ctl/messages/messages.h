/* messages.h - SQL for messages */
#ifndef OUTBOXCTL_MESSAGES_H
#define OUTBOXCTL_MESSAGES_H

#include "ctl/base/ctl.h"

/* SQL condition: waiting rows of outbox o that no worker is sending. */
#define MESSAGE_FREE	"o.published_at IS NULL AND " \
	"(o.claim_token IS NULL OR o.available_at <= NOW(6))"

/*
 * Append " FROM ...": the outbox o, its events e and, if the table exists, b,
 * the record that parks the row; message_put_parked: the join of b alone.
 */
void	message_put_from(struct store *);
void	message_put_parked(struct store *);

/* Append the partition of such a row, also if it is parked. */
void	message_put_partition(struct store *);

#endif
