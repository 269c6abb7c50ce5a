/* worker.h - the process that publishes */
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

/* All borrowed and constant while the worker runs. */
struct worker_args {
	const struct conf	*conf;
	struct report_form	 report;
	struct scoreboard_line	*line;		/* NULL: none (--once) */
	struct totals		*totals;	/* of the slot; NULL: none */
	struct figures_set	*figures;	/* the same */
	struct outage		*outages;	/* of the scoreboard; or NULL */
	struct scoreboard	*board;		/* NULL: none (--once) */
	const struct wakeup	*wakeup;	/* of all slots; NULL: none */
	unsigned		 slot;
	char			 id[IDENT_SIZE];

	/* Dead workers whose rows and leases this one takes over. */
	char			(*predecessors)[IDENT_SIZE];
	size_t			 npredecessors;

	bool			 respawned;	/* a worker of this slot has
						   finished a tick */
	bool			 repartition;	/* to outbox.partition_count */
	bool			 once;		/* one tick, then return */
	int64_t			 interval_ms;	/* between ticks; 0: adaptive */
};

/*
 * Run until a signal.  SIGTERM: release the leases and delete the worker's row.
 * SIGUSR2, or the death of the master: keep both for a successor.  Returns the
 * exit status: EXIT_HANDED_OVER if they are still in the database, else 0; with
 * once, 1 if the tick had a failure.  Starts threads: do not fork afterwards.
 */
int	worker_main(const struct worker_args *);

#endif
