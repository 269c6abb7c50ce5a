/*
 * janitor.h - the process that samples the outbox, and for reconcile at the
 * start, retention, and the scrub of the stream
 *
 * It has connections of its own.  After each short step of the last three it
 * rests for nine times as long, or once as long if the scrub has a suspicion.
 * Its locks end with the connection, so it may die at any moment.
 */
#ifndef OUTBOX_JANITOR_H
#define OUTBOX_JANITOR_H

#include "ipc/scoreboard.h"
#include "conf/conf.h"

/* Without a sign of life for so long it hangs: no call takes that long. */
#define JANITOR_SILENCE_MS	120000

/* All borrowed. */
struct janitor_args {
	const struct conf	*conf;
	struct scoreboard_line	*line;		/* its own */
	struct totals		*totals;	/* the same */
	struct backlog_ring	*backlog;	/* it alone writes it */
	const struct scoreboard	*scoreboard;
	struct outage		*database, *broker;	/* of the scoreboard;
							   one for each driver */
};

/* Run until a signal ends the process, see sig_leave_at_once; blocks. */
int	janitor_main(const struct janitor_args *);

#endif
