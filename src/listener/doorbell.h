/*
 * doorbell.h - the child that follows the binlog and wakes idle workers
 *
 * Workers read the table as without it.  It holds no lease and may die at any
 * moment; a lost wake-up delays messages until the worker's next poll.
 */
#ifndef OUTBOX_DOORBELL_H
#define OUTBOX_DOORBELL_H

#include "ipc/bell.h"
#include "ipc/board.h"
#include "conf/conf.h"

/* Longer than any of its calls: after such a silence the process hangs. */
#define DOORBELL_SILENCE_MS	30000

/* All borrowed. */
struct doorbell_args {
	const struct conf	*conf;
	const struct board	*board;		/* which worker serves what */
	const struct bell	*bell;
	struct board_line	*line;		/* its own */
};

bool	doorbell_is_wanted(const struct conf *);

/* Run until a signal ends the process, see sig_leave_at_once; blocks. */
int	doorbell_main(const struct doorbell_args *);

#endif
