/*
 * door.h - a socket that clients connect to: a Unix socket, or TCP
 *
 * One that cannot be opened is tried again every few seconds.
 */
#ifndef OUTBOX_MONITOR_DOOR_H
#define OUTBOX_MONITOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

#define DOOR_RETRY_MS	3000

struct door {
	const char	*path;		/* of a Unix socket; NULL: TCP */
	const char	*address;	/* host:port; "": none, never opened */
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
