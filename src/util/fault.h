/*
 * fault.h - points at which a test lets a worker die or lose a connection
 *
 * Compiled in with --enable-fault-points only; any other build contains
 * nothing of them, and their arguments are not even evaluated.
 *
 * OUTBOX_FAULT names a directory.  An order is one line POINT:NTH:ACT in its
 * file "armed", say "claim.sent:1:kill".  The first worker of all that comes
 * to the point for the NTH time renames the file to "armed.PID" and obeys, so
 * that an order is carried out once in the whole fleet; with NTH 0 everybody
 * obeys each time as long as the file is there.  Acts are
 *
 *	kill	end here, as by kill -9
 *	stop	stop here until somebody sends SIGCONT
 *	lost	hang up: what was written arrives, no answer comes back
 *	NUMBER	the server answers the statement with this error; at the
 *		point "<what>.instead" only
 *
 * Every point that is passed leaves an empty file "passed/POINT".
 */
#ifndef OUTBOX_FAULT_H
#define OUTBOX_FAULT_H

#ifdef FAULT_POINTS

#include <stddef.h>

/* The point is "<what>.<when>"; fd is the socket that "lost" hangs up. */
void	fault_point(const char *what, const char *when, int fd);

/* At the point "<what>.instead": put another statement in its place. */
void	fault_instead(const char *what, const char **sql, size_t *len);

#else
#define fault_point(what, when, fd)	((void)0)
#define fault_instead(what, sql, len)	((void)0)
#endif

#endif
