/* keys.h - records of blocked keys */
#ifndef OUTBOXCTL_KEYS_H
#define OUTBOXCTL_KEYS_H

#include "ctl/base/ctl.h"

/* Put "parked", the number of rows parked behind "record", into each object. */
int	keys_add_parked(struct ctl *, json_t *list, struct err *);

/*
 * In a transaction, release the halted keys with these records; *changed may be
 * NULL.
 */
int	keys_release_halted(struct ctl *, const uint64_t *, size_t n,
	    uint64_t *changed, struct err *);

#endif
