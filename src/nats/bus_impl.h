/*
 * bus_impl.h - what the files of the bus share; nobody else includes it
 *
 * Each calls only those that stand above it here:
 *
 * bus_spent.c		messages to be freed
 * bus_wake.c		rings
 * bus_loop.c		reading and writing
 * bus_connect.c	how to log in
 * bus_answer.c		what became of the messages
 * bus_look.c		questions about the stream
 * bus.c		the publisher: messages
 */
#ifndef OUTBOX_BUS_IMPL_H
#define OUTBOX_BUS_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nats/nats.h>

#include "util/buf.h"
#include "nats/bus.h"

#define SPENT_MAX	2048

struct bus {
	const struct conf	*conf;
	char			*name;
	natsConnection		*nc;
	natsSubscription	*sub;
	char			*inbox;		/* prefix of reply subjects */
	size_t			 inbox_len;
	uint32_t		 generation;
	struct buf		 reply;		/* subject of the message at hand */
	size_t			*places;	/* by slot: it was sent as the nth */
	size_t			 nplaces;
	size_t			 sent;		/* in this generation */
	size_t			 answered;	/* up to the last that has an answer */
	size_t			 refused;	/* answers that name nobody */
	size_t			 stale;		/* may be of older generations */
	int64_t			 until;		/* of this generation */
	int64_t			 write_until;	/* of what is not written yet */
	natsSubscription	*wake;		/* NULL: nobody rings here */
	bool			 woken;		/* since it was asked for */
	size_t			 next_server;
	int64_t			 max_payload;
	natsMsg			*spent[SPENT_MAX];	/* to be freed */
	size_t			 nspent, spent_bytes;
	size_t			 look_max;	/* looks out at a time; 0: not known */
	size_t			 look_size;	/* of large answers, lately */

	/* Written by callbacks, some of them in the library's threads. */
	int			 fd;
	volatile bool		 want_read, want_write;
	pthread_mutex_t		 lock;
	char			 complaints[PUB_ABOUTS][256];
};

/*
 * bus_spent.c
 */

/* To be freed later, many at a time; and now. */
void	bus_spend(struct bus *, natsMsg *);
void	bus_free_spent(struct bus *);

/*
 * bus_loop.c
 */

bool	bus_is_open(void *);
void	bus_wait(void *, int64_t timeout_ms);
void	bus_idle(void *, int fd, int64_t timeout_ms);
bool	bus_complaint(void *, enum pub_about, struct err *);

/* Write what was sent; and end the connection without writing any more. */
void	bus_flush(struct bus *);
void	bus_hang_up(struct bus *);

/* Keep what the library tells, until it is asked for. */
void	bus_note_complaint(struct bus *, enum pub_about, const char *);

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

/* The slot in the subject of an answer; false: of an older generation. */
bool	bus_read_slot(const struct bus *, const char *subject, uint32_t *slot);

/*
 * bus_connect.c
 */

/* One server, one try; blocks for 2 s at most. */
int	bus_connect_to(struct bus *, const char *server, struct err *);

/* The library's words for it. */
void	bus_describe(natsStatus, struct err *);

/*
 * bus_look.c: see pub.h
 */

bool	bus_check(void *, struct stream_report *, struct err *);
bool	bus_state(void *, struct stream_state *, struct err *);
int	bus_look_up(void *, const char *prefix, struct place *, size_t n,
	    bool (*go_on)(void *), void *, struct err *);

/*
 * bus_wake.c: wake.subject, if it is set
 */

natsStatus bus_wake_subscribe(struct bus *);
void	bus_wake_close(struct bus *);

/* Take out what was read. */
void	bus_wake_read(struct bus *);

bool	bus_woken(void *);

/* Is it our subscription that the library complains of? */
bool	bus_wake_is_meant(const struct bus *, const char *text);

#endif
