/* event.h - one event as outboxctl enqueue reads it: a line of JSON */
#ifndef OUTBOXCTL_EVENT_H
#define OUTBOXCTL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "util/err.h"

/* All texts live in the line or in its JSON. */
struct event {
	json_t		*json;
	const char	*key, *type;
	const char	*correlation;		/* NULL: none */
	const char	*payload, *metadata;	/* metadata: NULL: none */
	size_t		 payload_len, metadata_len;
	bool		 base64;		/* the payload still is */
	uint64_t	 version;		/* 0: not given */
	uint64_t	 stream_sequence;	/* 0: not given */
};

/*
 * The line is borrowed and must stay.  After -1, which tells what is wrong
 * with it, there is nothing to free.
 */
int	event_parse(struct event *, const char *line, size_t len,
	    struct err *);
void	event_free(struct event *);

#endif
