/*
 * bus.h - NATS JetStream as a publisher
 *
 * nats.c is known in this room only.  It starts threads: create a bus only in
 * a process that will not fork any more, and before the first connection to
 * the database (older releases crash at exit when OpenSSL was set up by
 * somebody else first).
 */
#ifndef OUTBOX_BUS_H
#define OUTBOX_BUS_H

#include "conf/conf.h"
#include "nats/pub.h"

/* conf is borrowed; name is how the connection shows on the server. */
struct pub	bus_new(const struct conf *, const char *name);
void		bus_free(struct pub *);

/* Verdict and details of the body of an answer; for the tests. */
void		bus_read_ack(const char *body, int len, const char *stream,
		    struct pub_answer *);

#endif
