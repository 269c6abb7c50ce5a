/* sync.h - shared by the files of partitions sync */
#ifndef OUTBOXCTL_SYNC_H
#define OUTBOXCTL_SYNC_H

#include "ctl/base/ctl.h"

struct sync {
	struct ctl	*c;
	unsigned	 wish;
	struct repartition change;	/* as planned, then as made */
	struct counts	 counts;	/* declared after it */
	json_t		*added;		/* labels */
	json_t		*obsolete;	/* objects */
	json_t		*removed;	/* labels */
};

/* The settings row stayed locked for --wait seconds. */
#define SYNC_BUSY	"an open transaction locks the row of %s: nothing " \
			"was done; try again, or use a longer --wait"

/* sync_say.c: print the plan of a change, before it; the result, after it. */
void	sync_say_plan(const struct sync *);
void	sync_report(const struct sync *);

/* "added 3 leases: "p00" ..." */
void	sync_say_labels(const char *what, const json_t *labels);

/* finish.c: partitions sync --finish */
int	finish_run(struct ctl *);

#endif
