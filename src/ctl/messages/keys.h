/* keys.h - records of blocked keys */
#ifndef OUTBOXCTL_KEYS_H
#define OUTBOXCTL_KEYS_H

#include "ctl/base/ctl.h"

/*
 * Put "parked" into each object, by its "record": how many rows wait out of
 * the way behind it.
 */
int	keys_add_parked(struct ctl *, json_t *list, struct err *);

#endif
