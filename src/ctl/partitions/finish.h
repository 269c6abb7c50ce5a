/* finish.h - rows and records that still need the former counts */
#ifndef OUTBOXCTL_FINISH_H
#define OUTBOXCTL_FINISH_H

#include "ctl/base/ctl.h"

/*
 * Rows and records of blocked keys under labels of a former count.  Only the
 * former counts keep them in order with later messages of their keys.
 */
struct finish_ways {
	struct counts	 counts;	/* declared now */
	json_t		*list;		/* {"partition", "key", "rows"}, or
					   with "record", "reason", "parked" */
	bool		 more;		/* search ended at LISTED */
};

/*
 * finish_check.c: list them in ways->list, which must be an array.  Each
 * statement reads a bounded number of rows.  -1: see err.
 */
int	finish_check(struct ctl *, struct finish_ways *, struct err *);

/* List only the records. */
int	finish_check_blocked(struct ctl *, struct finish_ways *, struct err *);

#endif
