/*
 * listener.h - the child that follows the binlog and wakes idle workers
 *
 * Workers read the table as without it.  It holds no lease and may die at any
 * moment; a lost wake-up delays messages until the worker's next poll.
 */
#ifndef OUTBOX_LISTENER_H
#define OUTBOX_LISTENER_H

#include "ipc/wakeup.h"
#include "ipc/scoreboard.h"
#include "conf/conf.h"
#include "util/file_stamp.h"

/* All borrowed. */
struct listener_args {
	const struct conf	*conf;
	const struct scoreboard	*scoreboard;	/* which worker serves what */
	const struct wakeup	*wakeup;
	struct scoreboard_line	*line;		/* its own */
	struct totals		*totals;	/* the same */
	struct outage		*database;	/* of the scoreboard */
};

/*
 * Files that it may open, of the configuration: after a change of one another
 * listener is needed.  Returns how many there are.
 */
size_t	listener_files(const struct conf *,
	    const char *files[FILE_STAMP_MAX]);

/* confine.c: give up all that a listener need not do. */
void	listener_confine(const struct listener_args *);

bool	listener_is_wanted(const struct conf *);

/* Run until a signal ends the process, see sig_leave_at_once; blocks. */
int	listener_main(const struct listener_args *);

#endif
