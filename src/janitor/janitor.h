/*
 * janitor.h - the child that tidies up: retention, and reconcile at the start
 *
 * In no message's way: it has a connection of its own, does one short step at
 * a time and rests for nine times as long.  It holds nothing but locks that go
 * with its connection, so it may die at any moment.
 */
#ifndef OUTBOX_JANITOR_H
#define OUTBOX_JANITOR_H

#include <stdbool.h>

#include "ipc/board.h"
#include "conf/conf.h"

/* No call in it takes longer: without a sign of life for so long it hangs. */
#define JANITOR_SILENCE_MS	120000

/* All borrowed. */
struct janitor_args {
	const struct conf	*conf;
	struct board_line	*line;		/* its own */
};

bool	janitor_is_wanted(const struct conf *);

/*
 * Tidy until a signal ends the process, see sig_leave_at_once; or return
 * EXIT_FINISHED when there is nothing left to do.
 */
int	janitor_main(const struct janitor_args *);

#endif
