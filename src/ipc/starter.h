/*
 * starter.h - start "outboxctl serve": here, or by a request to the master
 *
 * The monitor starts no program: it sends the master the ends of pipes that the
 * program is to have.  Nothing else can be asked for.
 */
#ifndef OUTBOX_STARTER_H
#define OUTBOX_STARTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/err.h"

/* What an agent of the monitor is for; a change is not killed. */
enum starter_kind { STARTER_STATE, STARTER_QUERY, STARTER_ACTION, STARTER_KINDS };

struct starter {
	const char	*program, *conf_path;
	const char	*pidfile;	/* of the monitor that asks; or NULL */
};

/*
 * Fork and exec with these as standard input, output and error, which stay the
 * caller's.  One that finishes completes its command when we die.  For the
 * monitor it runs commands that read, and if it finishes the changes that the
 * token of a person allows.
 * A program that cannot be run says so on its standard error.  -1: see err.
 */
pid_t	starter_fork(const struct starter *, bool finishes, const int fds[3],
	    struct err *);

/*
 * Two ends of a channel from the monitor to the master, neither of which
 * blocks.  -1: see err.
 */
int	starter_channel(int ends[2], struct err *);

/* Of the monitor: start one in place of the former of its kind, or end that. */
int	starter_ask(int channel, enum starter_kind, const int fds[3],
	    struct err *);
void	starter_ask_end(int channel, enum starter_kind);

/* Of the master: the next request, which may come from hostile code. */
enum starter_wish {
	STARTER_NOTHING,
	STARTER_START,		/* fds are the caller's to close */
	STARTER_END,
	STARTER_GONE		/* nobody asks any more, or it makes no sense */
};
enum starter_wish starter_hear(int channel, enum starter_kind *, int fds[3]);

/* Close those that are not -1, and set them to that. */
void	starter_close(int *fds, int n);

#endif
