/*
 * agent.h - one "outboxctl serve": commands in, answers out, over two pipes
 *
 * It is started at the first command and has one at a time.  No call blocks.
 */
#ifndef OUTBOX_AGENT_H
#define OUTBOX_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/starter.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/log_throttle.h"

#define AGENT_ANSWER_MAX	(64 * 1024 * 1024)	/* bytes */
#define AGENT_IDLE_MS		60000	/* without a command it is let go */

struct agent {
	struct starter	 starter;	/* it is a child of ours; unless: */
	int		 channel;	/* to the master, which starts it; -1 */
	enum starter_kind kind;		/* for the master */
	bool		 finishes;	/* what it has begun, if we die */
	int64_t		 patience_ms;	/* for one command */

	bool		 runs;
	pid_t		 pid;		/* of a child */
	int		 in, out, errors;	/* pipes; -1 */
	struct buf	 command;	/* what is left to write */
	struct buf	 answer;	/* what was read so far */
	bool		 busy;
	int64_t		 since;		/* clock_ms(): of the command, or of
					   the last answer */
	char		 said[256];	/* last line of its standard error */
	struct log_throttle throttle;
};

/* Give it a line, without its end; it must not be busy.  -1: see err. */
int	agent_send(struct agent *, const char *line, int64_t now, struct err *);

/*
 * Go on with what it has: 1 if an answer is complete, in answer, which the
 * caller clears; 0: not yet; -1 if it has failed, is silent for too
 * long or gone: then it does not run any more, see err.
 */
int	agent_turn(struct agent *, int64_t now, struct err *);

/* When agent_turn() has something to do even if no pipe is ready. */
int64_t	agent_deadline(const struct agent *);

/* End it; one that finishes may complete its command. */
void	agent_stop(struct agent *);

#endif
