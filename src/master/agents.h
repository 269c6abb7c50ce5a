/*
 * agents.h - the "outboxctl serve" that the monitor asks for
 *
 * The monitor parses what strangers send, so it starts nothing itself.  What it
 * can ask for is bounded here: hostile code in its place gets few processes at
 * once, and not many in a second.  No call blocks.
 */
#ifndef OUTBOX_AGENTS_H
#define OUTBOX_AGENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/starter.h"
#include "util/log_throttle.h"

#define AGENTS_MAX	16	/* with changes of a former monitor */

struct agents {
	int		 channel, monitors;	/* its ends; -1 */
	int64_t		 next_at;	/* clock_ms(): of the next request */
	struct agents_one {
		pid_t			pid;		/* 0: none */
		enum starter_kind	kind;
	} list[AGENTS_MAX];
	struct log_throttle throttle;	/* none could be started, or one has
					   refused the monitor a change */
};

/*
 * Before and after the fork of a monitor, which closes the first end.  All zero
 * but for the ends is ready for use.
 */
int	agents_open(struct agents *, struct err *);
void	agents_opened(struct agents *);

/* The monitor has ended: so do those that only read. */
void	agents_close(struct agents *);

/* The descriptor to wait for, or -1; and when to go on at the latest. */
int	agents_input(const struct agents *, int64_t now);
int64_t	agents_deadline(const struct agents *, int64_t now);

/* Do what the monitor asks for. */
void	agents_turn(struct agents *, const struct starter *, int64_t now);

/* This child has ended, with this status: it may be one of them. */
void	agents_reap(struct agents *, pid_t, int status, int64_t now);

#endif
