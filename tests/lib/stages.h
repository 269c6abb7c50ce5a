/* stages.h - fleet and backlog, for tests that look into them */
#ifndef TESTS_STAGES_H
#define TESTS_STAGES_H

#include <stdint.h>

#include "worker/backlog.h"
#include "worker/fleet.h"

/* The label's partition, and its lease; NULL if it is not ours. */
struct partition	*partition_of(const struct fleet *, const char *label);
struct leased_label	*lease_of(const struct fleet *, const char *label);

/* A round of the fleet, and the backlog learns of it. */
int	adopt_round(struct fleet *, struct backlog *, int64_t now,
	    struct err *);

#endif
