/*
 * relay.h - publish one batch and find out what became of each message
 *
 * No database in here.  Keeps the promise of the middle: in order per lane,
 * at most one unresolved message of a lane, nothing sent after the claim's
 * deadline, nothing called delivered without its PubAck.
 */
#ifndef OUTBOX_RELAY_H
#define OUTBOX_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "nats/envelope.h"
#include "util/err.h"
#include "publish/kinds.h"
#include "publish/limit.h"
#include "common/msg.h"
#include "nats/pub.h"
#include "nats/streams.h"
#include "common/suspect.h"

/* What the owner wants of a batch that is under way. */
enum keep {
	KEEP_ON,
	KEEP_FINISH,	/* send nothing more, wait for what is out */
	KEEP_ABANDON	/* leave now; what is out stays unknown */
};

struct relay {
	const struct conf	*conf;
	struct pub		 pub;
	struct envelope_form	 form;
	struct envelope		 envelope;
	bool			 has_dead;	/* there are dead letters */
	int64_t			 absent_until;	/* clock_ms(); see relay.c */

	/* Called at least every RELAY_KEEP_MS while a batch is out. */
	enum keep		(*keep)(void *);
	void			*keep_arg;
	struct kinds		 kinds;		/* what was not taken before */
	struct streams		 streams;	/* only if form names none */
	struct limit		 limit;		/* kept by the owner */
	uint64_t		*handling;	/* told what is sent; or NULL */

	/* Tried only when the others had their turn, and then before them. */
	struct suspect		 suspect;
	bool			 suspect_met;

	/*
	 * With watch: the highest PubAck there was; the owner may clear it.  A
	 * later one that is not above it says that the stream went back in
	 * time: the batch is ended, and the owner has to look.
	 */
	bool			 watch;
	struct acked		 top;
	bool			 went_back;
};

#define RELAY_KEEP_MS	500

struct relay_result {
	unsigned	delivered;
	unsigned	duplicates;	/* of the delivered */
	unsigned	failed;		/* retry, defer, dead */
	unsigned	skipped;	/* metadata entries left out */
	int64_t		stalled_ms;	/* waited for messages without answer */
	bool		down;		/* the destination takes nothing */
	bool		silent;		/* down: without so much as an answer */
	struct err	why;		/* the first failure, or why it is down */
};

/*
 * Publish the messages that are not held.  Afterwards each has its outcome;
 * unless the owner abandoned it, nothing is in flight.  Blocks until then,
 * bounded by publish.timeout_ms after the last send.
 */
void	relay_publish(struct relay *, struct batch *, struct relay_result *);

#endif
