/* messages.h - SQL for messages */
#ifndef OUTBOXCTL_MESSAGES_H
#define OUTBOXCTL_MESSAGES_H

#include "ctl/base/ctl.h"

/* SQL condition: waiting rows of outbox o that no worker is sending. */
#define MESSAGE_FREE	"{o.published_at} IS NULL AND " \
	"({o.claim_token} IS NULL OR {o.available_at} <= NOW(6))"

/*
 * Append " FROM ...": the outbox o, its events e and, if the table exists, b,
 * the record that parks the row; message_put_parked: the join of b alone.
 */
void	message_put_from(struct store *);
void	message_put_parked(struct store *);

/*
 * message_envelope.c: print a message with subject, headers and payload as the
 * daemon would send it now, or with --raw the payload alone.  o is what
 * messages show prints otherwise; frees it.  Returns an exit status.
 */
int	message_print_envelope(struct ctl *, json_t *o);

/* Append the partition of such a row, also if it is parked. */
void	message_put_partition(struct store *);

/* Append " AND ..." for each filter that was given; time is of --since. */
void	message_put_filter(struct ctl *, const char *time);

/* A SELECT of the partitions of these rows, for struct change. */
bool	message_put_epochs(struct ctl *, const uint64_t *, size_t n);

/* Read what message ids begin with. */
int	message_prefix(struct ctl *, char prefix[STORE_PREFIX], struct err *);

#endif
