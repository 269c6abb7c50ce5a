/* keys.h - records of blocked keys */
#ifndef OUTBOXCTL_KEYS_H
#define OUTBOXCTL_KEYS_H

#include "ctl/base/ctl.h"

/* Put "parked", the number of rows parked behind "record", into each object. */
int	keys_add_parked(struct ctl *, json_t *list, struct err *);

#endif
