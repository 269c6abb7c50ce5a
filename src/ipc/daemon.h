/* daemon.h - becoming a service: run directory, privileges, pid file */
#ifndef OUTBOX_DAEMON_H
#define OUTBOX_DAEMON_H

#include <sys/types.h>

#include "conf/conf.h"
#include "util/err.h"

/*
 * Leave behind what the parent had open, and allow nothing that the daemon
 * does not need: no more rights by exec, no core dumps, no files that all may
 * read.  Call it before anything is opened that is to stay open.  -1 with an
 * error.
 */
int	daemon_isolate(struct err *);

/* As root: -1 with an error if there is no such user.  Otherwise 0. */
int	daemon_check_user(const char *user, struct err *);

/*
 * Create the directory of the pid file, owned by user, if it is missing.  user
 * is ignored if it is "" or we are not root.  -1 with an error.
 */
int	daemon_make_rundir(const char *pidfile, const char *user, struct err *);

/*
 * The common prefix of the files beside the pid file: its path without ".pid".
 * The caller frees it.
 */
char	*daemon_run_prefix(const char *pidfile);

/*
 * The Unix socket of the monitor: monitor.socket, or a file beside the pid
 * file.  The caller frees it.
 */
char	*daemon_monitor_socket(const struct conf *);

/*
 * As root: become this user, with its groups, for good, unless it is "".  -1
 * with an error.
 */
int	daemon_drop_root(const char *user, struct err *);

/*
 * Lock the pid file.  Processes forked later inherit the lock, so that getting
 * it proves that a former master's workers are dead.  Blocks up to 5 s for
 * workers that are about to exit, then returns -1 with an error.
 */
int	daemon_lock(const char *pidfile, struct err *);

/* In a child that is no worker: give the lock up. */
void	daemon_leave_lock(void);

/* Write our pid, once detached; remove the file at the end. */
int	daemon_write_pid(struct err *);
void	daemon_unlock(void);

/*
 * The configuration file that a master was started with, from its title, which
 * has options behind it.  The caller frees both.  NULL: it is no master.
 */
char	*daemon_file_of(pid_t, char **options);

/*
 * The master of this host, in our pid namespace, whose configuration has this
 * pid file.  For the case that its files are gone: reads all of /proc.  0: none
 * is known.
 */
pid_t	daemon_find(const char *pidfile);

/*
 * The path of outboxctl: beside this program, as in a build directory, or
 * installed.  The caller frees.
 */
char	*daemon_find_outboxctl(void);

#endif
