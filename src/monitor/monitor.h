/*
 * monitor.h - the process that answers HTTP requests about this fleet
 *
 * It has no connection to the database or the broker: what it does not read
 * from the scoreboard it asks of outboxctl, which the master starts for it.  It
 * holds no state that is needed, so it may die or be killed at any moment.
 *
 * It reads what it needs before it lets the first client in; then it can open
 * nothing, and start nothing: another token, log or socket means another
 * monitor.
 */
#ifndef OUTBOX_MONITOR_H
#define OUTBOX_MONITOR_H

#include "conf/conf.h"
#include "ipc/scoreboard.h"
#include "monitor/door.h"
#include "util/file_stamp.h"

/* Without a sign of life for so long it hangs: it never waits for a server. */
#define MONITOR_SILENCE_MS	5000

/* All borrowed. */
struct monitor_args {
	const struct conf	*conf;
	const struct door	*doors;		/* NDOORS, as they are now */
	int			 channel;	/* see starter.h */
	struct scoreboard	*scoreboard;
	struct scoreboard_line	*line;		/* its own */
};

/*
 * Files that a monitor reads at its birth, of the configuration: after a change
 * of one another monitor is needed.  Returns how many there are.
 */
size_t	monitor_files(const struct conf *, const char *files[FILE_STAMP_MAX]);

/* Run until a signal ends the process; blocks.  Returns an exit status. */
int	monitor_main(const struct monitor_args *);

#endif
