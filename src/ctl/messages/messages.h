/* messages.h - SQL for messages */
#ifndef OUTBOXCTL_MESSAGES_H
#define OUTBOXCTL_MESSAGES_H

#include "ctl/base/ctl.h"

/* SQL condition: waiting rows of outbox o that no worker is sending. */
#define MESSAGE_FREE	"{o.published_at} IS NULL AND " \
	"({o.claim_token} IS NULL OR {o.available_at} <= NOW(6))"

/*
 * The outbox o, its events e and, if the table exists, b, the record that parks
 * the row.
 */
#define MESSAGE_FROM " FROM {outbox} AS o {primary} LEFT JOIN {events} AS e " \
	"ON {e.sequence} = {o.global_sequence}:parked"

/* Its arguments; and :partition, which a parked row has from its record b. */
#define MESSAGE_PARTS(s)						\
	SQL_IF("parked", !store_is_pillar(s), " LEFT JOIN {blocked} AS b " \
	    "ON b.first_sequence = " PARKED_UNDER("{o.partition_key}")), \
	SQL_EITHER("partition", store_is_pillar(s), "{o.partition_key}", \
	    "COALESCE(b.partition_key, :home)"),			\
	SQL_EITHER("home", store_can_schedule(s), ":in_time",		\
	    "{o.partition_key}"),					\
	SQL_PUT_IF("in_time", store_can_schedule(s), s,			\
	    store_put_home_label(s, SQL("{o.partition_key}")))

/*
 * message_envelope.c: print a message with subject, headers and payload as the
 * daemon would send it now, or with --raw the payload alone.  o is what
 * messages show prints otherwise; frees it.  Returns an exit status.
 */
int	message_print_envelope(struct ctl *, json_t *o);

/* Append " AND ..." for each filter that was given; time is of --since. */
void	message_put_filter(struct ctl *, struct sql time);

/* A SELECT of the partitions of these rows, for struct change. */
bool	message_put_epochs(struct ctl *, const uint64_t *, size_t n);

/* Read what message ids begin with. */
int	message_prefix(struct ctl *, char prefix[STORE_PREFIX], struct err *);

#endif
