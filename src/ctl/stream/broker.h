/* broker.h - shared by stream info, stream add and setup: asking the broker */
#ifndef OUTBOXCTL_BROKER_H
#define OUTBOXCTL_BROKER_H

#include "ctl/base/ctl.h"
#include "nats/new_stream.h"
#include "driver/pub.h"
#include "util/buf.h"

/* CTL_DONE, or the status after an error: the destination is no stream. */
int	broker_needed(const struct ctl *);

/*
 * Connect to the first server of nats.servers that answers.  CTL_DONE, or the
 * exit status; the error was printed.  Free the bus in both cases.
 */
int	broker_open(const struct ctl *, struct pub *);

/* Send the request; see bus_ask_stream().  The same result. */
int	broker_ask(struct pub *, const char *what, const char *body,
	    struct buf *answer);

/*
 * Create the stream nats.stream; the answer has the settings that it really
 * has.  The same result, and CTL_FAILED if the server refuses.
 */
int	broker_create(const struct ctl *, struct pub *,
	    const struct new_stream *, struct buf *answer);

/*
 * The daemon's own judgement of the stream, from the answer to STREAM.INFO or
 * STREAM.CREATE: {"level", "text"} for each finding.
 */
json_t	*broker_verdict(const struct ctl *, const struct buf *answer);

#endif
