/* stream.h - checks that the stream suits the configuration */
#ifndef OUTBOX_STREAM_H
#define OUTBOX_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "driver/stream_report.h"

/* body is the answer to STREAM.INFO for nats.stream. */
void	stream_judge(struct stream_report *, const struct conf *,
	    const char *body, size_t len);

/*
 * Read the same answer as a state, except server and first_known.  -1 with an
 * error: it does not tell the state, which is STREAM_UNKNOWN then.
 */
int	stream_read_state(struct stream_state *, const char *body, size_t len,
	    struct err *);

/* The same of the answer to a request with deleted_details. */
int	stream_read_removed(struct stream_removed *, const char *body,
	    size_t len, struct err *);

/*
 * A time of the broker, "2026-01-31T12:00:00.5Z", in ms since 1970: whole
 * seconds.  0: NULL, another text, or before.
 */
int64_t	stream_time(const char *text);

/*
 * True if a subject made from the template could match the pattern.  Compares
 * token by token up to the first placeholder.
 */
bool	stream_may_cover(const char *pattern, const char *template);

#endif
