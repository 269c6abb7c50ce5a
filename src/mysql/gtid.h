/* gtid.h - sets of MySQL's transactions, as text and as replicas send them */
#ifndef OUTBOX_GTID_H
#define OUTBOX_GTID_H

#include "util/buf.h"

/*
 * Append a set like "UUID:1-5:7,\nUUID:1" in its binary form; "" is the empty
 * set.  -1, with part of it appended: the text is no such set, or it has tags,
 * whose binary form differs.
 */
int	gtid_encode(const char *text, struct buf *);

#endif
