/*
 * notify.h - what systemd is told: ready, reloading, stopping, status, alive
 *
 * By the protocol of sd_notify(3), which other supervisors speak, too.  Without
 * NOTIFY_SOCKET in the environment nothing is sent.  No call blocks or fails.
 */
#ifndef OUTBOX_NOTIFY_H
#define OUTBOX_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ipc/scoreboard.h"

struct notify {
	int			 fd;		/* -1: nobody listens */
	struct sockaddr_un	 to;
	socklen_t		 to_size;
	int64_t			 watchdog_ms;	/* 0: not asked for */
	int64_t			 alive_at;	/* last sign of life */
	bool			 is_ready;
	char			 status[512];	/* the last one told */
};

/* In the process that stays.  Takes the variables out of the environment. */
void	notify_open(struct notify *);

/* In a child: only the master tells. */
void	notify_close(struct notify *);

/*
 * Tell what has changed on the scoreboard.  It is ready once a worker has
 * finished a tick or waits for a server; workers is the number of them that the
 * configuration asks for.
 */
void	notify_look(struct notify *, const struct scoreboard *,
	    int64_t workers);

/* Does systemd wait for it to be ready?  Then look often. */
bool	notify_is_awaited(const struct notify *);

/* A sign of life, if one is due.  Call it each second. */
void	notify_alive(struct notify *, int64_t now);

/* A reload begins; it has ended, with either result. */
void	notify_reloading(struct notify *);
void	notify_reloaded(struct notify *);

/* It stops, and is given up after so long: systemd waits for it. */
void	notify_stopping(struct notify *, int64_t longest_ms);

#endif
