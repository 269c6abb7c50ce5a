/* refill.h - have everything sent again that the stream does not have */
#ifndef OUTBOX_REFILL_H
#define OUTBOX_REFILL_H

#include <stdbool.h>

#include "conf/conf.h"

/*
 * Look up every delivered row; with yes, those that the stream does not have
 * become waiting rows, which a running daemon sends.  Prints one line and
 * returns the exit status: 0, or 1 with an error logged.
 */
int	refill_main(const struct conf *, const char *id, bool yes);

#endif
