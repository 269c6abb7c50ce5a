/*
 * doorbell.h - the child that follows the binlog and wakes idle workers
 *
 * It only ever wakes: the workers look at the table, as they do without it.
 * It holds nothing, so it may die at any moment; a ring that is lost costs
 * the time until the worker looks by itself.
 */
#ifndef OUTBOX_DOORBELL_H
#define OUTBOX_DOORBELL_H

#include "ipc/bell.h"
#include "ipc/board.h"
#include "conf/conf.h"

/* No call in it takes longer: without a sign of life for so long it hangs. */
#define DOORBELL_SILENCE_MS	30000

/* All borrowed. */
struct doorbell_args {
	const struct conf	*conf;
	const struct board	*board;		/* who serves what */
	const struct bell	*bell;
	struct board_line	*line;		/* its own */
};

bool	doorbell_is_wanted(const struct conf *);

/* Ring until a signal ends the process: see sig_leave_at_once. */
int	doorbell_main(const struct doorbell_args *);

#endif
