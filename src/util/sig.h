/*
 * sig.h - signals are flags, looked at where the program waits
 *
 * Everything is blocked from the start and stays blocked across fork, so
 * threads that a library starts inherit the mask.  Only sig_wait unblocks.
 */
#ifndef OUTBOX_SIG_H
#define OUTBOX_SIG_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

extern volatile sig_atomic_t got_term, got_hup, got_usr1, got_chld;
extern volatile sig_atomic_t got_handover;	/* SIGUSR2, to a worker */
extern volatile sig_atomic_t got_orphaned;	/* the master is gone */

/* Block all of ours and install the handlers of a master. */
void	sig_init(void);

/*
 * In a child, right after fork: forget what the master was told, ignore what
 * a terminal sends to all, and ask to be told (got_orphaned) when the master vanishes; from
 * then on the kernel ends the process within two seconds whatever it waits
 * for.  master is the pid the child was forked from.
 */
void	sig_child(pid_t master);

/*
 * After sig_child, in a child that has nothing to put in order: whatever
 * would ask it to leave ends it with status 0, also inside a call that
 * blocks.  SIGUSR1 stays a flag.
 */
void	sig_leave_at_once(void);

/*
 * poll(2) with the signals let in; timeout in ms, negative for ever.
 * Returns what poll returns, 0 when a signal came.
 */
int	sig_wait(struct pollfd *, nfds_t, int64_t timeout_ms);

/* Was it set?  Clears it. */
bool	sig_took(volatile sig_atomic_t *);

#endif
