/*
 * view.h - outboxctl top on the terminal where the daemon was started
 *
 * It reads the lines that the daemon would write there from two pipes, shows
 * those of the log, and prints them when its picture has ended, and all later
 * ones at once.  Nothing that happens to it is noticed by the daemon but as an
 * output that takes no lines.
 */
#ifndef OUTBOX_VIEW_H
#define OUTBOX_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct view {
	pid_t	pid;
	int	reports;	/* for the lines of standard output */
};

/* Are standard input and output a terminal? */
bool	view_is_possible(void);

/*
 * Start it.  If standard error is a terminal, too, it is a pipe from then on:
 * open the log again.  window_ms is that of the reports, 0: none.  -1: nothing
 * has changed, see err.
 */
int	view_begin(struct view *, const char *conf_path, int64_t window_ms,
	    struct err *);

/*
 * The daemon has stopped, and has no child left: wait until the view has
 * printed all, or kill it.
 */
void	view_end(struct view *);

#endif
