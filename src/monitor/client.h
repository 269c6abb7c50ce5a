/*
 * client.h - the connections of clients: how many, and for how long
 *
 * A client that has not sent a whole request in time, or does not read its
 * answer, is cut off; where there are too many, those that send nothing go
 * first, then those that read nothing.  So clients that are slow on purpose
 * keep nobody out.
 */
#ifndef OUTBOX_MONITOR_CLIENT_H
#define OUTBOX_MONITOR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENTS_MAX		256
#define CLIENTS_SPARE		64	/* beyond that, until victims close */
#define CLIENT_GRACE_MS		100
#define CLIENT_REQUEST_MS	10000	/* to send a request, or the next one */
#define CLIENT_ANSWER_MS	30000	/* to read an answer */
#define CLIENT_PRESSED_MS	5000	/* the same, if others wait for that */

enum client_phase {
	CLIENT_SENDS,		/* its request is not complete, or it is idle */
	CLIENT_WAITS,		/* for us */
	CLIENT_READS,		/* its answer */
	CLIENT_STREAMS		/* reads events: for as long as it likes */
};

struct client {
	int			 fd;
	bool			 is_local;	/* by the Unix socket */
	bool			 cut;
	enum client_phase	 phase;
	int64_t			 since;		/* clock_ms(), of the phase */
};

struct clients {
	struct client	*list[CLIENTS_MAX + CLIENTS_SPARE];
	size_t		 n;
};

/* "10.0.0.5:4711", "[fd00::5]:4711", or "user 1000, process 4711" of a socket */
#define CLIENT_NAME_SIZE	64
void	client_name(const struct client *, char to[CLIENT_NAME_SIZE]);

/*
 * Is it this one: an address, or "uid:33" for a process of that user by the
 * Unix socket?
 */
bool	client_is(const struct client *, const char *who);

/* Is there no room, not even a spare one? */
bool	clients_are_full(const struct clients *);

/*
 * One more wants in: cut off victims until there are less than CLIENTS_MAX.
 * One that has just come is none: it has CLIENT_GRACE_MS to send its request.
 */
void	clients_make_room(struct clients *, int64_t now);

/* NULL: there is no room. */
struct client *clients_add(struct clients *, int fd, bool is_local,
	    int64_t now);
void	clients_remove(struct clients *, struct client *);

void	clients_phase(struct client *, enum client_phase, int64_t now);

/* It is closed in the next turn. */
void	clients_cut(struct client *);

/* There is no room for answers: cut off who reads one for long. */
void	clients_cut_readers(struct clients *, int64_t now);

/* Cut off those whose time is over; returns when the next one is due. */
int64_t	clients_check(struct clients *, int64_t now);

#endif
