/*
 * pub.h - a publisher: where messages go
 *
 * An interface, so that tests can use a publisher that fails on purpose, and
 * for other destinations than NATS.  One batch is out at a time; indexes number
 * its messages.
 */
#ifndef OUTBOX_PUB_H
#define OUTBOX_PUB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/envelope.h"
#include "driver/stored.h"
#include "driver/stream_report.h"
#include "driver/verdict.h"
#include "util/err.h"

enum pub_sent {
	PUB_SENT,	/* on its way; an answer may come */
	PUB_REFUSED,	/* the message's fault; it was not sent */
	PUB_LOST	/* the connection is lost */
};

/*
 * The answer is for one of the messages that are out, but for which one is
 * unknown; with VERDICT_ABSENT only.
 */
#define PUB_SOME_INDEX	UINT32_MAX

#define PUB_WHERE	400

struct pub_answer {
	uint32_t	index;			/* or PUB_SOME_INDEX */
	enum verdict	verdict;
	enum error_class class;			/* of an error */
	bool		in_doubt;		/* it may be another stream's
						   error */
	uint64_t	ack_sequence;		/* if stored or duplicate: in the
						   stream, or a msg_place(); 0: the
						   driver has neither */
	uint64_t	stream;			/* text_hash() of its name; 0:
						   it is nats.stream */
	char		where[PUB_WHERE];	/* VERDICT_DUPLICATE: for get_stored,
						   where that is; "": the usual */
	int64_t		retry_after_ms;		/* VERDICT_TRANSIENT: not before;
						   0: no wish */
	char		text[256];		/* the error; "" if stored */
};

/* The subject of a complaint. */
enum pub_about {
	PUB_MESSAGES,
	PUB_TOLD,	/* texts sent with tell */
	PUB_WAKE,	/* no permission to receive wake-ups */
	PUB_FORBIDDEN,	/* no permission to ask about the stream */
	PUB_NOBODY,	/* nothing answers these requests */
	PUB_ABOUTS
};

/* Asked during a long look-up; it stops when ask returns false. */
struct pub_go_on {
	bool	(*ask)(void *arg);
	void	*arg;
};

/* A message that may be stored already: it was sent, or may have been. */
struct pub_sought {
	const char		*where;		/* its subject */
	struct message_id	 id;		/* not hashed: the last one of this
						   row and replay counts, and the
						   caller judges it */
	struct bytes		 time;		/* as msg.time; not hashed: it may
						   have been another one */
	int64_t			 since;		/* clock_ms(): it was not sent
						   before; INT64_MIN: unknown */
	uint64_t		 place;		/* where it was acknowledged, and
						   is nowhere else; 0: unknown.  All
						   of a call have one, or none */

	enum found		 found;
	struct stored_message	 stored;	/* FOUND_THERE: it */
	int64_t			 again_ms;	/* FOUND_LATER: not before */
	struct err		 why;		/* FOUND_UNKNOWN */
};

/* What a wait watches: grown by pub_watch(). */
struct pub_polls {
	struct pollfd	*fds;
	size_t		 n, size;
	int64_t		 timeout_ms;	/* a driver may lower it */
};

/*
 * A driver fills all of it; pub_lacks.h has functions for what it cannot do.
 */
struct pub_ops {
	const char	*name;		/* as publish.driver has it */
	const char	*peer;		/* what logs call its other end */

	/*
	 * Answers come in the order of sending, but for answers to duplicates:
	 * if a later message was stored, this one gets no answer any more.
	 */
	bool		 in_order;
	bool		 can_ask;	/* state and get_stored work */
	const char	*finds_in;	/* find works, and reads this, "topic": no
					   id is remembered, so a message in
					   doubt is never just sent again.  NULL:
					   find does not */
	bool		 names_streams;	/* several streams may take messages:
					   answers name theirs */
	size_t		 max_headers;	/* bytes on the wire; 0: no limit.  Of
					   the protocol: nobody can change it */

	void		(*free)(void *);

	/* Connect to the next server; blocks for 2 s at most. */
	int		(*open)(void *, struct err *);
	void		(*close)(void *);
	bool		(*is_open)(void *);

	/*
	 * Can this endpoint of an open publisher be reached, without a message?
	 * Blocks for 2 s at most.
	 */
	bool		(*reach)(void *, const char *endpoint, struct err *);

	/* True: there is something that the operator must know of it. */
	bool		(*caution)(void *, struct err *);

	/*
	 * Check that the stream can take messages, with no batch out; blocks
	 * for 1 s at most.  false: no answer, see err.
	 */
	bool		(*check)(void *, struct stream_report *, struct err *);

	/*
	 * Read the state of the stream, as check does.  false: it is not known,
	 * see err; is_open tells a lost connection from a refusal.  true: the
	 * stream is there, or the broker has none of its name.  Where finds_in
	 * is set, only setbacks is told, of the topics that were sought in.
	 */
	bool		(*state)(void *, struct stream_state *, struct err *);

	/*
	 * Look up the message at each sequence, with no batch out.  Blocks;
	 * asks pub_go_on at least every 0.5 s, and stops when it returns false.
	 * 0: each is known.  -1 with an error: not finished, as with state.
	 * Both drop what is kept of PUB_FORBIDDEN, and end when it is complained
	 * that the account may not ask.
	 */
	int		(*get_stored)(void *, const char *prefix,
			    struct stored_message *, size_t n,
			    const struct pub_go_on *, struct err *);

	/*
	 * Look for n messages that nobody else sends any more, with no batch
	 * out, until clock_ms() is end; what is not decided then goes on with
	 * the next call.  Blocks; asks pub_go_on at least every 0.5 s, and
	 * stops when it returns false.
	 */
	void		(*find)(void *, const char *prefix, struct pub_sought *,
			    size_t n, int64_t end, const struct pub_go_on *);

	/*
	 * Read which messages the stream has not any more, as state does; to be
	 * freed in any case.  The answer is long if these are many.
	 */
	bool		(*removed)(void *, struct stream_removed *,
			    struct err *);

	/* The largest payload that the server takes, in bytes. */
	int64_t		(*max_payload)(void *);

	/* How many messages may be out at a time. */
	int64_t		(*capacity)(void *);

	/* Bytes of sent messages that are not written to the socket yet. */
	int64_t		(*unread)(void *);

	/*
	 * Begin a batch: answers to older ones are not reported any more.
	 * From until (clock_ms()) on no message of it is written: the
	 * connection is closed instead, and a complaint says so.
	 */
	void		(*begin)(void *, int64_t until);

	/* Never blocks; the envelope may be used again afterwards. */
	enum pub_sent	(*send)(void *, const struct envelope *,
			    uint32_t index, struct err *);

	/*
	 * Before a wait: write the sent messages, name the descriptors to watch
	 * with pub_watch(), and lower the timeout if something is due sooner; to
	 * 0 if the connection is lost.
	 */
	void		(*prepare)(void *, struct pub_polls *);

	/* After it: the descriptors that it named, with their revents. */
	void		(*proceed)(void *, const struct pollfd *, size_t n);

	/*
	 * True if a wake-up came through this connection since the last call;
	 * waits read them.
	 */
	bool		(*woken)(void *);

	/* The next answer that has arrived; false: none. */
	bool		(*answer)(void *, struct pub_answer *);

	/*
	 * Take a complaint of the server or the library that names no message,
	 * such as a missing permission; CLASS_NONE: none since the last call.
	 */
	enum error_class (*complaint)(void *, enum pub_about, struct err *);

	/*
	 * Publish a text at most once: never blocks, gets no answer, and the
	 * text is lost if the connection is.
	 */
	void		(*tell)(void *, const char *subject, const char *text);
};

/*
 * An owner of several has them in an array of CONF_DRIVERS, by driver: the ops
 * of one that is not used are NULL.  Each is open or not by itself.
 */
struct pub {
	const struct pub_ops	*ops;
	void			*arg;
};

/* The next one of the array that is used, from *i on; NULL: none. */
const struct pub *pub_next(const struct pub *, size_t *i);

bool	pub_is_open(const struct pub *);

/* Is any of the array open? */
bool	pub_any_open(const struct pub *);

/* For prepare(): watch this descriptor for these events. */
void	pub_watch(struct pub_polls *, int fd, short events);

/*
 * Write the sent messages of n publishers (of some of them the ops may be
 * NULL), then wait for input from any of
 * them, a signal or the timeout (ms; 0 or less, as when the end of the wait has
 * passed: do not wait).  Input on fd (-1: none) also ends it, and is left for
 * the owner of fd to read.  Returns at once if a connection is lost.
 */
void	pub_wait(const struct pub *, size_t n, int fd, int64_t timeout_ms);

/* Does nothing if the ops are NULL. */
void	pub_free(struct pub *);

#endif
