/* worker.h - the child that does the work */
#ifndef OUTBOX_WORKER_H
#define OUTBOX_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/wakeup.h"
#include "ipc/scoreboard.h"
#include "conf/conf.h"
#include "common/ident.h"
#include "worker/report.h"
#include "common/exits.h"
#include "common/suspect.h"

/* What a worker is born with; all of it is borrowed and never changes. */
struct worker_args {
	const struct conf	*conf;
	struct report_form	 report;
	struct scoreboard_line	*line;		/* NULL: none (--once) */
	const struct wakeup	*wakeup;	/* ours is the slot's; NULL:
						   none */
	unsigned		 slot;
	char			 id[IDENT_SIZE];

	/* Workers known to be dead, whose place this one takes. */
	char			(*predecessors)[IDENT_SIZE];
	size_t			 npredecessors;

	struct suspect		 suspect;	/* what they may have died of */
	bool			 respawned;	/* one of this slot has worked
						   under this master */
	bool			 repartition;	/* to outbox.partition_count */
	bool			 once;		/* one tick, then leave */
	int64_t			 interval_ms;	/* between ticks; 0: adaptive */
};

/*
 * Run until told to stop (SIGTERM: leave the fleet; SIGUSR2: leave row and
 * leases to a successor; the master's death: leave them to whoever comes).
 * Returns the exit status: 0 when nothing of it is left in the database,
 * EXIT_HANDED_OVER when it is; with once 1 if the tick was not clean.
 * Starts threads: the process must not fork any more.
 */
int	worker_main(const struct worker_args *);

#endif
