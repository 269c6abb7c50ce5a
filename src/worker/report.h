/*
 * report.h - reports of a worker's ticks, for standard output
 *
 * One line per tick, as JSON or as text, or one line with totals per interval.
 * The workers of a master share standard output: a line is whole, and no worker
 * waits for the reader.  Some lines are kept for it; more are dropped and
 * counted.
 */
#ifndef OUTBOX_REPORT_H
#define OUTBOX_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/line_output.h"
#include "worker/fleet.h"
#include "worker/tick.h"

/* How ticks are reported, from the command line. */
struct report_form {
	bool	silent;
	bool	json;
	int64_t	interval_ms;	/* 0: every tick */
	int	fd;		/* standard output, see line_output_own() */
	bool	waits;		/* --once: alone there, and for its reader */
};

struct report {
	struct report_form	 form;
	const char		*worker;	/* id */
	struct line_output	 out;
	struct buf		 waiting;	/* lines that are not written */
	uint64_t		 lost;		/* lines */
	uint64_t		 refused;	/* of these since the last good
						   one, by an error */

	/* Totals since the last line. */
	int64_t			 since;
	uint64_t		 ticks, claimed, published, failed, fenced;
	uint64_t		 purged;
	int64_t			 duration_ms;
	bool			 beaten;
};

void	report_init(struct report *, const struct report_form *,
	    const char *worker, int64_t now);

/* Write the lines that wait, also half a line of before, as far as possible. */
void	report_write(struct report *);

/* The same for the last time, with a second for a slow reader. */
void	report_free(struct report *);

/*
 * Count a tick that is over, and write a line if it is time.  Then clears the
 * fleet's report, too.
 */
void	report_tick(struct report *, struct fleet *,
	    const struct tick_result *, int64_t duration_ms,
	    int64_t backoff_ms, int64_t now);

#endif
