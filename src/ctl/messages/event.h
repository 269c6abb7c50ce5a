/* event.h - one event for outboxctl enqueue: a line of JSON */
#ifndef OUTBOXCTL_EVENT_H
#define OUTBOXCTL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "util/err.h"

/* All texts point into the line or its JSON. */
struct event {
	json_t		*json;
	const char	*key, *type;
	const char	*correlation;		/* NULL: none */
	const char	*id, *content_type, *scheduled_at;	/* NULL: none */
	const char	*payload, *metadata;	/* metadata may be NULL */
	size_t		 payload_len, metadata_len;
	bool		 base64;		/* payload is encoded */
	uint64_t	 version;		/* 0: not given */
	uint64_t	 stream_sequence;	/* 0: not given */
};

/*
 * Parse a line, which is borrowed until event_free; inlined: a message of
 * outbox.mode: inline, which has other members and may have no key.  -1: see
 * err; there is nothing to free.
 */
int	event_parse(struct event *, const char *line, size_t len, bool inlined,
	    struct err *);
void	event_free(struct event *);

#endif
