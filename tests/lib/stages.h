/* stages.h - access to fleet and backlog for tests */
#ifndef TESTS_STAGES_H
#define TESTS_STAGES_H

#include <stdint.h>

#include "worker/backlog.h"
#include "worker/fleet.h"

/* The partition and the lease of a label; NULL if it is not ours. */
struct partition	*partition_of(const struct fleet *, const char *label);
struct leased_label	*lease_of(const struct fleet *, const char *label);

/* Run a round of the fleet, and pass its result to the backlog. */
int	adopt_round(struct fleet *, struct backlog *, int64_t now,
	    struct err *);

#endif
