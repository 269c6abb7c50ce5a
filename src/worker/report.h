/*
 * report.h - reports of a worker's ticks, for standard output
 *
 * One line per tick, as JSON or as text, or one line with totals per interval.
 * A report never blocks: lines go as datagrams to the printer process.  Lines
 * that do not fit into its socket are dropped and counted.
 */
#ifndef OUTBOX_REPORT_H
#define OUTBOX_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "worker/fleet.h"
#include "worker/tick.h"

/* How ticks are reported, from the command line. */
struct report_form {
	bool	silent;
	bool	json;
	int64_t	interval_ms;	/* 0: every tick */
	int	fd;		/* standard output, or a datagram socket */
};

struct report {
	struct report_form	 form;
	const char		*worker;	/* id */
	struct buf		 line;
	uint64_t		 lost;		/* lines that did not fit */

	/* Totals since the last line. */
	int64_t			 since;
	uint64_t		 ticks, claimed, published, failed, fenced;
	uint64_t		 purged;
	int64_t			 duration_ms;
	bool			 beaten;
};

void	report_init(struct report *, const struct report_form *,
	    const char *worker, int64_t now);
void	report_free(struct report *);

/*
 * Count a tick that is over, and send a line if it is time.  Then clears the
 * fleet's report, too.
 */
void	report_tick(struct report *, struct fleet *,
	    const struct tick_result *, int64_t duration_ms,
	    int64_t backoff_ms, int64_t now);

#endif
