/*
 * several.h - several destinations behind one publisher
 *
 * For publish.routes: each message goes to the driver that its envelope names.
 * A destination that is not connected takes no messages (PUB_AWAY), and what it
 * had not answered comes back as refused and in doubt; the others go on.  open()
 * connects those that are away.
 */
#ifndef OUTBOX_SEVERAL_H
#define OUTBOX_SEVERAL_H

#include "conf/conf.h"
#include "driver/pub.h"

/* Owns the publishers of the drivers that are used; ops NULL: not used. */
struct pub	several_new(const struct pub drivers[CONF_DRIVERS]);

#endif
