/*
 * relay.h - publish one batch and find the outcome of each message
 *
 * No database in here.  relay_publish keeps the order within a lane, has at
 * most one unresolved message of a lane, sends nothing after the claim's
 * deadline, and calls no message delivered without its PubAck.
 */
#ifndef OUTBOX_RELAY_H
#define OUTBOX_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "driver/envelope.h"
#include "driver/verdict.h"
#include "driver/route.h"
#include "util/backoff.h"
#include "util/err.h"
#include "util/histogram.h"
#include "util/printable.h"
#include "publish/type_breaker.h"
#include "publish/limit.h"
#include "publish/trial.h"
#include "common/figures.h"
#include "common/msg.h"
#include "driver/pub.h"
#include "common/suspect.h"

/* What the owner wants for the batch that is being published. */
enum keep {
	KEEP_ON,
	KEEP_FINISH,	/* send no more, wait for the answers */
	KEEP_ABANDON	/* return now; the rest is in doubt */
};

/* What the owner knows of a driver's connection. */
struct reach {
	struct limit	limit;
	struct err	away;		/* why it is not connected; "": unknown */
};

struct relay {
	const struct conf	*conf;
	struct pub		 pubs[CONF_DRIVERS];	/* the destinations */
	size_t			 stream;	/* of them: ROUTE_STREAM's */
	struct reach		 reach[CONF_DRIVERS];	/* of each */
	struct envelope_form	 form;		/* where no route matches */
	struct route_set	 routes;	/* of publish.routes */
	struct envelope		 envelope;
	bool			 has_dead;	/* a dead-letter table exists */
	size_t			 nworkers;	/* that share retry.burst; 0: as 1 */
	int64_t			 absent_until;	/* clock_ms(): no stream takes
						   it, see relay_answer.c */

	/* Called at least every RELAY_KEEP_MS while a batch is published. */
	enum keep		(*keep)(void *);
	void			*keep_arg;
	struct type_breaker	 breaker;	/* types that were refused */
	struct trial		 trial;		/* messages that failed, and
						   destinations */
	uint64_t		*handling;	/* the sequence sent; or NULL */
	struct figures_set	*figures;	/* by destination; or NULL */
	struct histogram	*commit_to_ack;	/* us; both or NULL */
	struct histogram	*publish_to_ack;

	int64_t			 blind_until;	/* clock_ms(): duplicates cannot
						   be read; see relay_look.c */
	int64_t			 eventless_since, eventless_at;	/* rows without
						   an event were met; 0: never */

	/*
	 * Of all slots, SUSPECTS; NULL: none.  Each is deferred once, then
	 * sent before all others: met has, in the same places, the sequences
	 * that this worker has deferred.
	 */
	struct suspect		*suspects;
	uint64_t		 met[SUSPECTS];

	/*
	 * If watch: top is the highest PubAck so far; the owner may clear it.
	 * If a later one is not higher, the stream has lost messages: the
	 * batch ends, and the owner has to audit the stream.
	 */
	bool			 watch;
	struct acked		 top;
	bool			 went_back;

	/*
	 * Nothing is sent to the broker, while others go on: set by the owner
	 * while it has to audit the stream.  Only with several destinations,
	 * routes.several.
	 */
	bool			 unaudited;
};

#define RELAY_KEEP_MS	500

/* The longest election of a leader that is nothing unusual. */
#define RELAY_ELECTION_MS	10000

/* So begins the error of a message that is held: it is no dead letter yet. */
#define RELAY_HELD	"held: "

/* The broker, if messages go there; and if it keeps them and can be asked. */
const struct pub	*relay_broker(const struct relay *);
const struct pub	*relay_stream(const struct relay *);

/* The size of the largest payload that any destination takes. */
int64_t			 relay_max_payload(const struct relay *);

/* Sends that failed, whether or not that counts as the message's failure. */
struct relay_failures {
	unsigned	message;	/* its own fault */
	unsigned	transient;	/* tried again later */
	unsigned	refused[CLASSES];	/* the destination's fault */
};

struct relay_result {
	unsigned	delivered;
	unsigned	duplicates;	/* of the delivered */
	unsigned	renamed;	/* another message has their author's
					   id: sent under the daemon's */
	unsigned	unread;		/* duplicates of an author's id that
					   could not be read */
	struct err	renamed_why, unread_why;	/* of the first ones */
	unsigned	failed;		/* retry, defer, dead */
	unsigned	refused;	/* among the failed: their types are
					   refused while others are taken */
	unsigned	skipped;	/* metadata entries left out */
	struct relay_failures failures;
	int64_t		stalled_ms;	/* time spent on missing answers */
	bool		down;		/* the destination took no message */
	bool		stream_fits;	/* nats.stream works, and does not take
					   some types */
	bool		elsewhere;	/* another server of the broker may
					   take what this one does not */
	struct err	why;		/* the first failure that is none of
					   the refused; or why down */
	enum error_class class;		/* why down */

	/* The message of the first failure; sequence 0: none has failed. */
	struct {
		uint64_t	sequence;
		char		key[PRINTABLE_SIZE], type[PRINTABLE_SIZE];
		char		partition[MSG_LABEL];
	} first;
};

/*
 * Publish the messages that are not held, and set the outcome of each.
 * Nothing is in flight afterwards, unless keep returned KEEP_ABANDON.  Blocks,
 * but at most publish.timeout_ms after the last send.
 */
void	relay_publish(struct relay *, struct batch *, struct relay_result *);

#endif
