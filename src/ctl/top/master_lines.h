/*
 * master_lines.h - what outbox-master would print on this terminal
 *
 * If it has started us, it writes its log and its reports to two pipes.  While
 * the picture shows, lines of the log are for a panel, and kept; reports are
 * dropped.  The daemon never waits for us.
 */
#ifndef OUTBOXCTL_MASTER_LINES_H
#define OUTBOXCTL_MASTER_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

struct master_lines {
	int		reports, log;	/* -1: closed; the log may be
					   elsewhere */
	struct buf	held;		/* of the log */
	size_t		shown;		/* bytes of these, in the panel */
	uint64_t	forgotten;	/* bytes before them */
};

/* Take the pipes.  false: outbox-master did not start us. */
bool	 master_lines_take(struct master_lines *);

/* The next line for the panel, for the caller to free; or NULL. */
char	*master_lines_next(struct master_lines *);
void	 master_lines_drop_reports(struct master_lines *);

/*
 * The picture is gone: print what was kept, and what comes from now on, until
 * got_term tells that the daemon has stopped, or the terminal is gone.
 */
void	 master_lines_print(struct master_lines *);

#endif
