/*
 * feed.h - the process that asks database and broker, so that the keyboard
 * never waits for them
 *
 * It sends a line for each round: a JSON document, or a text of its standard
 * error.  If it ends, another one takes its place.
 */
#ifndef OUTBOXCTL_FEED_H
#define OUTBOXCTL_FEED_H

#include <stdint.h>
#include <sys/types.h>

#include "ctl/base/ctl.h"
#include "ctl/top/pipe_lines.h"

/* A zeroed one with ctl and pause_ms is not started. */
struct feed {
	struct ctl	*ctl;
	int64_t		 pause_ms;	/* between two rounds */
	pid_t		 pid;		/* 0: none runs */
	struct pipe_lines	 lines;		/* that it writes */
	int64_t		 start_at;	/* the next one, clock_ms() */
};

/* Start it if it is time to; call it each second. */
void	feed_tend(struct feed *, int64_t now);

/* The next whole line, without its newline, or NULL.  Does not block. */
char	*feed_line(struct feed *, int64_t now);

/* Kill it. */
void	feed_end(struct feed *);

/*
 * A document:
 *
 *	status		as state_overview
 *	workers, partitions	as state_workers, state_partitions; missing if
 *			the database does not answer.  A worker has "gone" if
 *			it died with the daemon of this host
 *	totals		as state_totals
 *	lease_ms	worker.lease_ttl
 */

#endif
