/* master.h - the master on this host: found and signalled */
#ifndef OUTBOXCTL_MASTER_H
#define OUTBOXCTL_MASTER_H

#include <sys/types.h>

#include "ctl/base/ctl.h"
#include "ipc/scoreboard.h"

#define MASTER_POLL_MS	50

struct master_here {
	pid_t			 pid;	/* 0: none runs, why says how we know;
					   or it is elsewhere */
	bool			 elsewhere;	/* it runs in another pid
					   namespace (a container): its pid is
					   not known here */
	struct scoreboard	*board;	/* NULL: none, or of another version */
	struct err		 why;
};

/* Find it beside master.pidfile; release it with master_release(). */
void	master_find(const struct ctl *, struct master_here *);
void	master_release(struct master_here *);

/* Does the master with this pid live?  False also if another runs now. */
bool	master_lives(const struct ctl *, pid_t);

/* Print that none runs, or none that we may signal; returns CTL_FAILED. */
int	master_missing(const struct master_here *);

/*
 * The configuration file that it was started with, from its title, and the
 * options with which it reads it.  The caller frees it.  NULL: not known.
 */
char	*master_conf_path(pid_t, struct conf_override *);

/* Send it a signal.  CTL_DONE, or CTL_FAILED with the error printed. */
int	master_signal(pid_t, int signo);

#endif
