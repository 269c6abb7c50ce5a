/*
 * bus.h - NATS JetStream as a publisher
 *
 * Only this room uses nats.c.  The library starts threads: create a bus only
 * in a process that will not fork any more, and before its first connection to
 * the database (older releases crash at exit if other code initialised OpenSSL
 * first).
 */
#ifndef OUTBOX_BUS_H
#define OUTBOX_BUS_H

#include "conf/conf.h"
#include "driver/pub.h"
#include "util/buf.h"

/* conf is borrowed; name is the connection's name on the server. */
struct pub	bus_new(const struct conf *, const char *name);

/*
 * Send the request "INFO" or "CREATE" about nats.stream to JetStream's API, or
 * "NAMES" about all streams, with no batch out; body is its JSON, or "".
 * Blocks for timeout_ms at most.  Appends the answer, JSON that has "error" if
 * the server refused.  -1: there was no answer, see err.
 */
int		bus_ask_stream(struct pub *, const char *what,
		    const char *body, int64_t timeout_ms, struct buf *answer,
		    struct err *);

/*
 * Read verdict and details from the body of an answer; here for tests.  It has
 * to come from this stream ("": any) in this domain of JetStream (NULL: any,
 * "": in none); api: nats.api_prefix.
 */
void		bus_read_ack(const char *body, int len, const char *stream,
		    const char *domain, const char *api,
		    struct pub_answer *);

#endif
