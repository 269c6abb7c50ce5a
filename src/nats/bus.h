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
#include "nats/pub.h"

/* conf is borrowed; name is the connection's name on the server. */
struct pub	bus_new(const struct conf *, const char *name);
void		bus_free(struct pub *);

/* Read verdict and details from the body of an answer; here for tests. */
void		bus_read_ack(const char *body, int len, const char *stream,
		    struct pub_answer *);

#endif
