/*
 * sig.h - signals set flags, which the main loop reads
 *
 * Our signals are blocked from the start and stay blocked across fork, so that
 * threads of libraries inherit the mask.  Only sig_wait unblocks them.
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

/* Block our signals and install the master's handlers. */
void	sig_init(void);

/*
 * In a child, right after fork: clear the flags, ignore the terminal's SIGHUP
 * and SIGINT, and set got_orphaned when the master dies.  An alarm then ends
 * the process within two seconds, even in a blocking call.  master is the pid
 * of the process that forked the child.
 */
void	sig_child(pid_t master);

/*
 * After sig_child, in a child with nothing to clean up: SIGTERM, SIGUSR2 and
 * the master's death end it at once with status 0, also in a blocking call.
 * SIGUSR1 only sets its flag.
 */
void	sig_leave_at_once(void);

/*
 * poll(2) with our signals unblocked; blocks up to timeout_ms, without limit
 * if that is negative.  Returns what poll returns, or 0 after a signal.
 */
int	sig_wait(struct pollfd *, nfds_t, int64_t timeout_ms);

/* True if the flag was set; clears it. */
bool	sig_took(volatile sig_atomic_t *);

#endif
