/*
 * door.h - a socket that clients connect to: a Unix socket, or TCP
 *
 * The master opens it and the monitor accepts: that opens nothing itself, and
 * clients wait while it is replaced.  One that cannot be opened is tried again
 * every few seconds.
 */
#ifndef OUTBOX_MONITOR_DOOR_H
#define OUTBOX_MONITOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

#define DOOR_RETRY_MS	3000
#define DOOR_NAME_SIZE	320	/* no socket has a longer path */

enum { DOOR_UNIX, DOOR_TCP, NDOORS };

struct door {
	bool		 is_tcp;	/* or a Unix socket */
	char		 name[DOOR_NAME_SIZE];	/* host:port, or its path; "":
					   none, never opened */
	int		 fd;		/* -1: not open */
	int64_t		 try_at;	/* clock_ms() */
	struct err	 why;		/* not open; "": it is, or need not be */
};

/* Open it if it is time.  True if this changed fd or why; never blocks. */
bool	door_open(struct door *, int64_t now);

/* A descriptor of the next client; -1: none waits. */
int	door_accept(const struct door *);

/* Close it, and remove the file of a Unix socket. */
void	door_close(struct door *);

#endif
