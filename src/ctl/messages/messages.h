/* messages.h - what the files about messages share */
#ifndef OUTBOXCTL_MESSAGES_H
#define OUTBOXCTL_MESSAGES_H

#include "ctl/base/ctl.h"

/* Waiting rows of outbox o that nobody is sending, as SQL. */
#define MESSAGE_FREE	"o.published_at IS NULL AND " \
	"(o.claim_token IS NULL OR o.available_at <= NOW(6))"

/*
 * " FROM ...": the outbox o, its events e, and where the table is there b, the
 * record under which a row is parked; or only the last of these.
 */
void	message_put_from(struct store *);
void	message_put_parked(struct store *);

/* The partition of a row of these, wherever it is parked. */
void	message_put_partition(struct store *);

#endif
