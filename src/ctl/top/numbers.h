/* numbers.h - the panels Summary and Throughput */
#ifndef OUTBOXCTL_NUMBERS_H
#define OUTBOXCTL_NUMBERS_H

#include "ctl/top/canvas.h"
#include "ctl/top/model.h"

void	numbers_summary(struct canvas *, const struct model *);

/* chart: its rows. */
void	numbers_throughput(struct canvas *, const struct model *, int chart,
	    int64_t now);

#endif
