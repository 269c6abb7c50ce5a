/*
 * drivers.h - the publisher that a configuration names: one, or several of
 * publish.routes
 *
 * The library of NATS starts threads and must come before a connection to the
 * database, see nats/bus.h: that holds for this function, too.
 */
#ifndef OUTBOX_DRIVERS_H
#define OUTBOX_DRIVERS_H

#include "conf/conf.h"
#include "driver/pub.h"

/*
 * Not connected yet.  conf is borrowed; name is how the destination may know
 * this process.  To be freed by pub_free().
 */
struct pub	drivers_new(const struct conf *, const char *name);

/*
 * The same of the one among them that keeps messages and can be asked for
 * them; its ops are NULL if there is none.
 */
struct pub	drivers_new_asked(const struct conf *, const char *name);

#endif
