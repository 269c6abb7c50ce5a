/*
 * new_stream.h - the stream that is made for nats.stream and nats.subject
 *
 * Builds and compares texts of JetStream's API; no I/O.
 */
#ifndef OUTBOX_NEW_STREAM_H
#define OUTBOX_NEW_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"

#define NEW_STREAM_SUBJECT	300

struct new_stream {
	int64_t	dedup_window_ms;
	int64_t	replicas;
	char	subject[NEW_STREAM_SUBJECT];
};

/*
 * Set the subject: nats.subject, with ">" in place of its first token with a
 * placeholder and all that follows.  -1: no stream can have it, see err.
 */
int	new_stream_subject(struct new_stream *, const char *template,
	    struct err *);

/* The configuration as JSON, the body of STREAM.CREATE; the caller frees. */
char	*new_stream_body(const struct new_stream *, const char *name);

enum new_stream_found {
	NEW_STREAM_ABSENT,	/* no stream has this name */
	NEW_STREAM_SAME,	/* it has the settings that we would give it */
	NEW_STREAM_OTHER,	/* err has those that differ */
	NEW_STREAM_REFUSED	/* err has the server's error */
};

/* Compare with the answer to STREAM.INFO or STREAM.CREATE. */
enum new_stream_found new_stream_compare(const struct new_stream *,
	    const char *body, size_t len, struct err *);

#endif
