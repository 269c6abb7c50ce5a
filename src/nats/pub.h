/*
 * pub.h - a publisher: where messages go
 *
 * An interface, so that a batch can be tried against a publisher that fails
 * on purpose, and so that NATS is not the only one for ever.  One batch is
 * out at a time; slots number its messages.
 */
#ifndef OUTBOX_PUB_H
#define OUTBOX_PUB_H

#include <stdbool.h>
#include <stdint.h>

#include "nats/envelope.h"
#include "util/err.h"
#include "nats/place.h"
#include "nats/stream.h"
#include "nats/verdict.h"

enum pub_sent {
	PUB_SENT,	/* on its way; an answer will come, or none */
	PUB_REFUSED,	/* the message's fault; nothing was sent */
	PUB_LOST	/* the connection is gone */
};

/*
 * The answer is to one of the messages that are out, and nobody knows which:
 * with VERDICT_ABSENT only.
 */
#define PUB_SOME_SLOT	UINT32_MAX

struct pub_answer {
	uint32_t	slot;			/* or PUB_SOME_SLOT */
	enum verdict	verdict;
	uint64_t	stream_sequence;	/* stored and duplicate */
	uint64_t	stream;			/* their stream's name, hashed;
						   0: the one of nats.stream */
	char		text[256];		/* why not; "" if stored */
};

/* What a complaint is about. */
enum pub_about {
	PUB_MESSAGES,
	PUB_TOLD,	/* what was only told */
	PUB_WAKE,	/* we may not listen for rings */
	PUB_FORBIDDEN,	/* our questions about the stream */
	PUB_NOBODY,	/* the same: there is nobody to answer them */
	PUB_ABOUTS
};

struct pub_ops {
	/* Connect to the next server; blocks for 2 s at most. */
	int		(*open)(void *, struct err *);
	void		(*close)(void *);
	bool		(*is_open)(void *);

	/*
	 * Ask whether the destination is fit, with no batch out; blocks for
	 * a second at most.  false: it could not be found out, see err.
	 */
	bool		(*check)(void *, struct stream_report *, struct err *);

	/*
	 * What the stream is like; the same terms.  false: no answer, and if
	 * the connection is still there, then because we may not ask.
	 */
	bool		(*state)(void *, struct stream_state *, struct err *);

	/*
	 * Find out what stands at each place, with no batch out.  go_on is
	 * asked at least every half second and ends it with false.  -1: it
	 * was not finished, see state.
	 */
	int		(*look_up)(void *, const char *prefix,
			    struct place *, size_t n, bool (*go_on)(void *),
			    void *, struct err *);

	/* The longest payload that it takes, in bytes. */
	int64_t		(*max_payload)(void *);

	/* Bytes that were sent and that the other side did not read yet. */
	int64_t		(*unread)(void *);

	/*
	 * A new batch: answers to older ones are not reported any more.  From
	 * until (clock_ms()) on nothing of it is written: rather the connection
	 * is closed, and a complaint says so.
	 */
	void		(*begin)(void *, int64_t until);

	/* Never blocks; the envelope may be used again afterwards. */
	enum pub_sent	(*send)(void *, const struct envelope *,
			    uint32_t slot, struct err *);

	/*
	 * Write what was sent, then wait for input, a signal or the timeout
	 * (ms; 0: do not wait).  Returns at once when the connection is lost.
	 */
	void		(*wait)(void *, int64_t timeout_ms);

	/*
	 * The same between two batches, also until there is input on fd
	 * (-1: none), which is left for its owner to read.
	 */
	void		(*idle)(void *, int fd, int64_t timeout_ms);

	/*
	 * Did somebody ring through this connection since the last call? A
	 * ring is noticed by every wait.
	 */
	bool		(*woken)(void *);

	/* The next answer that has arrived; false: none. */
	bool		(*answer)(void *, struct pub_answer *);

	/*
	 * What the other side complained of since the last call, without
	 * naming a message (no permission, ...); false: nothing.
	 */
	bool		(*complaint)(void *, enum pub_about, struct err *);

	/*
	 * Tell whoever listens, at most once: never blocks, no answer comes,
	 * and it is lost when the connection is.
	 */
	void		(*tell)(void *, const char *subject, const char *text);
};

struct pub {
	const struct pub_ops	*ops;
	void			*arg;
};

#endif
