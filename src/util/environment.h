/*
 * environment.h - the environment of a program of ours that we start
 *
 * It may have passwords in it, and /proc/PID/environ shows what a program was
 * started with to each process of its user.  So it goes by a file without a
 * name, and stands in memory that only root can read.
 */
#ifndef OUTBOX_ENVIRONMENT_H
#define OUTBOX_ENVIRONMENT_H

/*
 * Our variables for execve(2) of outboxctl or outbox-master.  *fd is closed on
 * exec: the child has to clear that, which environment_keep() does and is safe
 * after fork(2).  NULL: see errno.  The caller closes *fd and frees the result.
 */
char	**environment_hand_over(int *fd);
/* One more for the child; it wins over ours.  -1: see errno. */
int	 environment_add(int fd, const char *variable);
int	 environment_keep(int fd);

/* In a process that needs none of them: overwrite and forget them. */
void	environment_wipe(void);

/* At the start of main(): take them, if they were handed over. */
void	 environment_take(void);

#endif
