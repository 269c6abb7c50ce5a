/*
 * report.h - what a worker says about its ticks on standard output
 *
 * One line per tick, JSON or readable, or one with totals every so many
 * seconds.  Saying it must never stall the work: lines go as datagrams to
 * one printer process, and what does not fit is dropped and counted.
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
 * A tick is over: count it, and print if it is time.  Clears the member's
 * own report when a line was made.
 */
void	report_tick(struct report *, struct fleet *,
	    const struct tick_result *, int64_t duration_ms,
	    int64_t backoff_ms, int64_t now);

#endif
