/* finish.h - what keeps former counts from being forgotten */
#ifndef OUTBOXCTL_FINISH_H
#define OUTBOXCTL_FINISH_H

#include "ctl/base/ctl.h"

/*
 * Rows and records of blocked keys under labels that their keys do not have
 * under the present count.  Without the former counts nobody would keep them
 * in order with later messages of their keys.
 */
struct finish_ways {
	struct counts	 counts;	/* that are declared */
	json_t		*list;		/* {"partition", "key", "rows"}, or
					   with "record", "reason", "parked" */
	bool		 more;		/* than are listed: not looked for */
};

/*
 * finish_look.c: list them; the list is an array before.  Each statement reads
 * a bounded number of rows, however many wait.
 */
int	finish_look(struct ctl *, struct finish_ways *, struct err *);

/* List the records alone. */
int	finish_look_blocked(struct ctl *, struct finish_ways *, struct err *);

#endif
