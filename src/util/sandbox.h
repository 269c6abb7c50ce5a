/*
 * sandbox.h - what a process may do from now on, for good
 *
 * By two means of the kernel, of which an old one may lack either: a filter of
 * system calls (seccomp), and rules about files and TCP ports (Landlock).  What
 * is refused fails with EPERM or EACCES.  Each function returns -1 with an
 * error if the kernel or the build has it not: then nothing has changed.  Call
 * them with a single thread, after PR_SET_NO_NEW_PRIVS.
 */
#ifndef OUTBOX_SANDBOX_H
#define OUTBOX_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

/* Flags for the scoreboard: what holds for a process. */
#define SANDBOX_CALLS	0x1
#define SANDBOX_FILES	0x2
#define SANDBOX_PORTS	0x4

/*
 * Only these system calls, by their numbers; or all but these.  Of fcntl() and
 * ioctl(), never who is signalled by a descriptor.
 */
int	sandbox_allow_calls(const int *calls, size_t n, struct err *);
int	sandbox_deny_calls(const int *calls, size_t n, struct err *);

/*
 * Read only what is at these paths and below, of which some may not exist;
 * write and execute no file that is not open yet.  Connect to these TCP ports
 * only, which a kernel before 6.7 does not check.  Sets what holds in *flags.
 */
int	sandbox_files(const char *const *readable, size_t n,
	    const uint16_t *ports, size_t nports, uint32_t *flags,
	    struct err *);

#endif
