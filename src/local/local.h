/* local.h - destinations without a server: standard output, and nowhere */
#ifndef OUTBOX_LOCAL_H
#define OUTBOX_LOCAL_H

#include "conf/conf.h"
#include "driver/pub.h"

/*
 * A line of JSON for each message.  Several processes may write to the same
 * descriptor: their lines stay whole.  A message is delivered when its line was
 * written.
 */
struct pub	stdout_new(const struct conf *, const char *name);

/* Each message is delivered at once, and gone: for measurements. */
struct pub	discard_new(const struct conf *, const char *name);

#endif
