/* destination.h - why a destination, or the database, takes no messages now */
#ifndef OUTBOXCTL_DESTINATION_H
#define OUTBOXCTL_DESTINATION_H

#include "ctl/base/ctl.h"

/*
 * What a message waits for that only its destination holds up, or the database
 * that refuses its row or its worker's statements, as text; NULL: nothing is
 * known.  o is what messages show prints.  Only the daemon of this
 * host is asked: of its workers the owner of the partition counts, and any if
 * nobody owns it, for leases are handed on while nothing is sent.
 */
json_t	*destination_waits(const struct ctl *, const json_t *o);

#endif
