/* kafka_topic.h - what the brokers tell of topics, for outboxctl */
#ifndef OUTBOX_KAFKA_TOPIC_H
#define OUTBOX_KAFKA_TOPIC_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "driver/stream_report.h"

struct kafka_topic {
	const char	*name;		/* borrowed */
	struct err	 refused;	/* not "": nothing else is known */
	bool		 exists;
	bool		 is_made;	/* if not: the first message makes it, */
	bool		 waits;		/* or nobody does; neither: unknown */
	bool		 forbidden;	/* the user may not read it */
	int		 partitions;
	int		 replicas;	/* the fewest that a partition has, */
	int		 in_sync;	/* and that are in sync */
	int		 leaderless;	/* partitions without a leader */
	int		 behind;	/* with a replica that is not in sync */

	bool		described;	/* the rest is known; or see why */
	int64_t		min_insync;
	int64_t		retention_ms;	/* -1: for ever */
	int64_t		retention_bytes;	/* of a partition; -1: no limit */
	int64_t		max_message_bytes;
	bool		compacts;
	struct err	why;
};

/* A client for questions; NULL: see err.  Blocks for 2 s at most. */
struct kafka_asker;
struct kafka_asker *kafka_asker_new(const struct conf *, struct err *);
void		kafka_asker_free(struct kafka_asker *);

/* How many brokers it knows. */
int		kafka_asker_brokers(const struct kafka_asker *);

/*
 * Ask about topics, of which only the names are set, and which this does not
 * make.  -1 with an error: no answer.  Blocks for 6 s at most.
 */
int		kafka_topics_ask(struct kafka_asker *, struct kafka_topic *,
		    size_t n, struct err *);

/*
 * What is wrong with it: unfit, warnings and advice.  Each goes on with the
 * sentence "topic NAME ..."; its remedy stands behind the last colon.
 */
void		kafka_topic_judge(const struct conf *,
		    const struct kafka_topic *, struct stream_report *);

/*
 * Make a topic; of partitions and replicas -1 is what the brokers do by default.
 * -1 with an error, also if it exists.  dry: only ask whether they would.  Blocks
 * for 20 s at most, also until brokers know of it.
 */
int		kafka_topic_add(const struct conf *, const char *name,
		    int64_t partitions, int64_t replicas, bool dry,
		    struct err *);

/* The longest record that kafka.client lets through, in bytes. */
int64_t		kafka_max_bytes(const struct conf *);

#endif
