/*
 * drivers.h - the publishers that a configuration names: one, or several of
 * publish.routes
 *
 * The library of NATS starts threads and must come before a connection to the
 * database, see nats/bus.h: that holds for these functions, too.
 */
#ifndef OUTBOX_DRIVERS_H
#define OUTBOX_DRIVERS_H

#include "conf/conf.h"
#include "driver/pub.h"

/*
 * Do the libraries of the drivers that are used take the configuration?  -1
 * with an error like that of conf_load().  Reads secrets, asks no server and
 * starts no thread.
 */
int		drivers_check(const struct conf *, struct err *);

/*
 * One for each driver that is used, by driver, not connected yet.  conf is
 * borrowed; name is how the destination may know this process.  Each is to be
 * freed by pub_free().  Returns the place of the one that has a stream, whether
 * or not it is used: see drivers/traits/traits.h.
 */
size_t		drivers_new(struct pub[CONF_DRIVERS], const struct conf *,
		    const char *name);

/* The same for one driver: the broker's, if it is used. */
struct pub	drivers_new_first(const struct conf *, const char *name);

/*
 * The same for the driver whose messages are kept and can be asked for; its
 * ops are NULL if there is none.
 */
struct pub	drivers_new_asked(const struct conf *, const char *name);

/*
 * As drivers_new(), but only those that search for messages: the ops of others
 * are NULL, pub_ops.finds_in tells.
 */
void		drivers_new_searched(struct pub[CONF_DRIVERS],
		    const struct conf *, const char *name);

#endif
