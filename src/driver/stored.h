/* stored.h - messages that a destination keeps */
#ifndef OUTBOX_STORED_H
#define OUTBOX_STORED_H

#include <stddef.h>
#include <stdint.h>

#include "common/message_id.h"

#define STORED_TIME	32	/* "2026-01-31 12:00:00.123456" */

enum stored_what {
	STORED_UNKNOWN,
	STORED_EMPTY,		/* removed, lost, or not used yet */
	STORED_OURS,
	STORED_OTHER		/* another publisher's message */
};

struct stored_message {
	uint64_t		sequence;	/* in the stream; 0: empty */
	enum stored_what	what;
	struct message_id	id;		/* STORED_OURS: its id */
	char			time[STORED_TIME];	/* the same: of its event,
						   as in msg.h; "": unknown */
	char			origin[MESSAGE_ORIGIN];	/* the same: as in the
						   header; "": it has none */
	int64_t			at;	/* when it was stored, by the broker's
					   clock, in ms since 1970, of which it
					   tells whole seconds; 0: not told */
	const char		*where;		/* as pub_answer.where; NULL: in
						   nats.stream */
};

/*
 * Set the time from n bytes of a header MESSAGE_TIME_HEADER, as
 * envelope_put_time() writes it, in the form of a column.
 */
void	stored_read_time(struct stored_message *, const char *text, size_t n);

/* What a search for a message has brought. */
enum found {
	FOUND_NOT_SOUGHT,
	FOUND_LATER,		/* not read to its end yet */
	FOUND_THERE,
	FOUND_ABSENT,
	FOUND_REMOVED,		/* by retention, compaction or somebody */
	FOUND_UNKNOWN		/* it cannot be told */
};

#endif
