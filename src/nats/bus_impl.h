/*
 * bus_impl.h - shared by the files of the bus, and private to them
 *
 * A file calls only files above it:
 *
 * bus_spent.c		messages to be freed
 * bus_wake.c		wake-ups
 * bus_loop.c		reading and writing
 * bus_tls.c		encryption
 * bus_connect.c	how to log in
 * bus_answer.c		answers to messages
 * bus_stream_info.c	requests about the stream
 * bus_core.c		nats.core: without answers
 * bus.c		the publisher: sending
 */
#ifndef OUTBOX_BUS_IMPL_H
#define OUTBOX_BUS_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nats/nats.h>

#include "driver/answer_queue.h"
#include "util/buf.h"
#include "nats/bus.h"
#include "nats/nats_verdict.h"

#define SPENT_MAX	2048

/*
 * A server from which nothing comes in so much time of waiting is silent: it
 * gets a PING every two seconds.  Only waits count, because a worker that is
 * busy with its database does not read the PONGs.
 */
#define BUS_SILENT_MS	4500

struct bus {
	const struct conf	*conf;
	const struct pub_ops	*ops;
	char			*name;
	natsConnection		*nc;
	natsSubscription	*sub;
	char			*inbox;		/* prefix of reply subjects */
	size_t			 inbox_len;
	uint32_t		 generation;
	struct buf		 reply;		/* reply subject of a message */
	size_t			*ordinals;	/* by index: order of sending */
	size_t			 nordinals;
	size_t			 sent;		/* in this generation */
	size_t			 answered;	/* up to the last answered */
	size_t			 refused;	/* refusals without an index */
	size_t			 stale;		/* of older ones, may come */
	int64_t			 until;		/* to write this generation */
	int64_t			 write_until;	/* to write the buffer */
	int64_t			 wait_at;	/* the last wait: its begin, */
	int64_t			 wait_ms;	/* and its longest time */
	int64_t			 silent_ms;	/* waited since the last input */
	natsSubscription	*wake;		/* NULL: no wake.subject */
	struct answer_queue	 core;		/* nats.core: all that was sent */
	bool			 woken;		/* since the last bus_woken() */
	size_t			 next_server, server;	/* the one in use */
	int64_t			*failed_at;	/* clock_ms(), of each server: 0:
						   it answers, or was not tried */
	int64_t			 max_payload;
	bool			 too_long;	/* so it was closed by the server */
	natsMsg			*spent[SPENT_MAX];	/* to be freed */
	size_t			 nspent, spent_bytes;
	char			*domain;	/* of nats.stream, NULL: unknown */
	bool			 told_elsewhere;	/* that others answer */
	size_t			 get_max;	/* requests out; 0: unknown */
	size_t			 get_size;	/* recent large answer, bytes */

	/* Set by callbacks, some of them in the library's threads. */
	int			 fd;
	volatile bool		 want_read, want_write;
	volatile bool		 deaf;		/* the user may not subscribe to
						   its inbox, or might not */
	pthread_mutex_t		 lock;
	char			 complaints[PUB_ABOUTS][256];
};

/*
 * bus_spent.c
 */

/* Free a message later, many at a time; free them now. */
void	bus_spend(struct bus *, natsMsg *);
void	bus_free_spent(struct bus *);

/*
 * bus_loop.c
 */

bool	bus_is_open(void *);
void	bus_prepare(void *, struct pub_polls *);
void	bus_proceed(void *, const struct pollfd *, size_t n);
void	bus_wait(struct bus *, int64_t timeout_ms);
enum error_class bus_complaint(void *, enum pub_about, struct err *);

/* True if nats.core has messages to tell of as delivered. */
bool	bus_core_is_written(const struct bus *);

/* Write the buffered bytes; end the connection without writing more. */
void	bus_flush(struct bus *);
void	bus_hang_up(struct bus *);

/* Keep a complaint of the library until bus_complaint() takes it. */
void	bus_note_complaint(struct bus *, enum pub_about, const char *);

/* Is one kept that says that this user may not publish to the subject? */
bool	bus_is_forbidden(struct bus *, const char *subject);

/* The library's callbacks. */
natsStatus bus_on_attach(void **, void *, natsConnection *, natsSock);
natsStatus bus_on_read(void *, bool add);
natsStatus bus_on_write(void *, bool add);
natsStatus bus_on_detach(void *);
void	bus_on_error(natsConnection *, natsSubscription *, natsStatus, void *);

/*
 * bus_answer.c
 */

void	bus_begin(void *, int64_t until);
bool	bus_answer(void *, struct pub_answer *);

/* Read the index from an answer's subject; false: an older generation. */
bool	bus_read_index(const struct bus *, const char *subject,
	    uint32_t *index);

/*
 * bus_tls.c
 */

/* If the status is not NATS_OK, there may be an error. */
natsStatus bus_set_tls(const struct conf *, natsOptions *, const char *server,
	    struct err *);

/* Add the remedy to the error of a connection that failed.  Returns -1. */
int	bus_explain_tls(const struct conf *, natsStatus, struct err *);

/*
 * bus_connect.c
 */

/* Try one server once; blocks for 2 s at most.  -1 with an error. */
int	bus_connect_to(struct bus *, const char *server, struct err *);

/*
 * How many servers of the list do not answer, by what was seen of each in the
 * last minute.
 */
size_t	bus_nfailed(const struct bus *);

/* Set the error to the library's text for a status. */
void	bus_describe(natsStatus, struct err *);

/*
 * bus_stream_info.c: see pub.h
 */

bool	bus_check(void *, struct stream_report *, struct err *);
bool	bus_state(void *, struct stream_state *, struct err *);
int	bus_get_stored(void *, const char *prefix, struct stored_message *,
	    size_t n, const struct pub_go_on *, struct err *);
bool	bus_removed(void *, struct stream_removed *, struct err *);

/*
 * bus_core.c: see pub.h
 */

bool	bus_core_caution(void *, struct err *);
void	bus_core_begin(void *, int64_t until);
bool	bus_core_answer(void *, struct pub_answer *);

/*
 * bus_wake.c: wake.subject, if it is set
 */

natsStatus bus_wake_subscribe(struct bus *);

/* Take the wake-ups that were read. */
void	bus_wake_read(struct bus *);

bool	bus_woken(void *);

#endif
