/* daemon.h - becoming a service: run directory, privileges, pid file */
#ifndef OUTBOX_DAEMON_H
#define OUTBOX_DAEMON_H

#include "util/err.h"

/* Is there such a user?  Only asked as root. */
int	daemon_check_user(const char *user, struct err *);

/*
 * Make the directory of the pid file if it is missing and give it to user.
 * As somebody other than root, or with an empty name, the user does not
 * matter.
 */
int	daemon_make_rundir(const char *pidfile, const char *user, struct err *);

/*
 * What the files beside the pid file begin with: its name without ".pid".
 * The caller frees it.
 */
char	*daemon_run_prefix(const char *pidfile);

/* As root: become user for good, if one is named. */
int	daemon_drop_root(const char *user, struct err *);

/*
 * Lock the pid file.  Every process forked from here on keeps the lock held,
 * so that getting it proves a former master's workers dead; those that are
 * just leaving are waited for, some seconds at most.
 */
int	daemon_lock(const char *pidfile, struct err *);

/* Write our pid, after detaching; and remove the file at the end. */
int	daemon_write_pid(struct err *);
void	daemon_unlock(void);

#endif
