/*
 * fault.h - points where a test kills a worker or cuts its connection
 *
 * Compiled in with --enable-fault-points only.  In any other build the macros
 * are empty and do not evaluate their arguments.
 *
 * The environment variable OUTBOX_FAULT names a directory.  Its file "armed"
 * holds an order, one line POINT:NTH:ACT, such as "claim.sent:1:kill".  The
 * first worker that passes the point for the NTH time renames the file to
 * "armed.PID" and obeys, so that each order is carried out once.  With NTH 0
 * every worker obeys each time while the file exists.  Acts:
 *
 *	kill	end here, as by kill -9
 *	stop	stop here until SIGCONT
 *	lost	close the connection: sent data arrives, no answer comes
 *	NUMBER	the server answers the statement with this error number; only
 *		at a point "<what>.instead"
 *
 * Each point that is passed creates an empty file "passed/POINT".
 */
#ifndef OUTBOX_FAULT_H
#define OUTBOX_FAULT_H

#ifdef FAULT_POINTS

#include <stdbool.h>
#include <stddef.h>

/* Is there a directory for orders? */
bool	fault_is_wanted(void);

/* The point is "<what>.<when>"; fd is the socket that "lost" closes. */
void	fault_point(const char *what, const char *when, int fd);

/* The point "<what>.instead": replaces *sql and *len if an order says so. */
void	fault_instead(const char *what, const char **sql, size_t *len);

#else
#define fault_is_wanted()		false
#define fault_point(what, when, fd)	((void)0)
#define fault_instead(what, sql, len)	((void)0)
#endif

#endif
