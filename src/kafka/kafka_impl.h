/*
 * kafka_impl.h - shared by the files of the room, and private to them
 *
 * A file calls only files above it:
 *
 * kafka_verdict.c	what the report of a message, or its error, means
 * kafka_record.c	a message as a record: key, time, headers
 * kafka_client.c	a client of librdkafka: its properties, its end
 * kafka_read.c		topics are read up to their ends
 * kafka_find.c		the search for messages that may be stored
 * kafka_place.c	the look-up of messages where they were acknowledged
 * kafka_watch.c	has a topic lost records just now?
 * kafka_topic.c	what the brokers tell of a topic
 * kafka.c		the publisher
 */
#ifndef OUTBOX_KAFKA_IMPL_H
#define OUTBOX_KAFKA_IMPL_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/answer_queue.h"
#include "kafka/kafka.h"
#include "util/log_throttle.h"

/*
 * kafka_verdict.c
 */

/*
 * What the answer is: a report of librdkafka, or an error of a message that it
 * did not take (RD_KAFKA_MSG_STATUS_NOT_PERSISTED).
 */
void	kafka_judge(rd_kafka_resp_err_t, rd_kafka_msg_status_t,
	    const char *topic, struct pub_answer *);

/*
 * kafka_record.c
 */

/* Where an answer says the record is: a hash, for pub_answer.stream. */
uint64_t	kafka_place_hash(const char *topic, int32_t partition);

/*
 * Hand the message to the producer, which copies it and never blocks.  Its
 * topic is the subject of the envelope.
 */
rd_kafka_resp_err_t kafka_produce(rd_kafka_t *, const struct envelope *,
		    void *opaque);

/* The last header of this name, which 0 follows; NULL: there is none. */
const char	*kafka_record_header(const rd_kafka_message_t *, const char *,
		    size_t *n);

/* Read the id, without its prefix; false: it has none with it. */
bool		 kafka_record_id(const rd_kafka_message_t *, const char *prefix,
		    struct message_id *);

/*
 * kafka_client.c
 */

/*
 * The properties of any client as the configuration has them, secrets read
 * anew, and n of ours; NULL: see err.  Destroy it, or give it to
 * kafka_client_new().
 */
rd_kafka_conf_t	*kafka_client_conf(const struct conf *, const char *name,
		    const char *const (*ours)[2], size_t n, struct err *);

/*
 * Make a client, whose log goes to its main queue; NULL: see err.  Takes the
 * properties in any case.
 */
rd_kafka_t	*kafka_client_new(rd_kafka_type_t, rd_kafka_conf_t *,
		    struct err *);

/*
 * A consumer of no group, which makes no topic: as a producer, to ask about one
 * could make it.  NULL: see err.
 */
rd_kafka_t	*kafka_client_consumer(const struct conf *, const char *name,
		    struct err *);

/* What its queue has: log it, and keep the last error; how many there were. */
unsigned	 kafka_client_serve(rd_kafka_t *, struct log_throttle *,
		    struct err *);

/* Keep this error, unless it says less than the one that is there. */
void		 kafka_client_trouble(rd_kafka_event_t *, struct err *);

/*
 * Set a member of n partitions, the first one's here: the offset of the first
 * record of that time or later, RD_KAFKA_OFFSET_END if there is none; or, for
 * the special offsets, where the partition begins or ends.
 */
rd_kafka_resp_err_t kafka_client_offsets(rd_kafka_t *, const char *topic,
		    int64_t time, int64_t *first, size_t stride, size_t n);

#define KAFKA_ASK_MS	500	/* longest wait for one answer */

/* Log an event of the library (RD_KAFKA_EVENT_LOG), rarely. */
void		 kafka_client_log(rd_kafka_event_t *, struct log_throttle *);

/*
 * End it: nothing is written any more, no report comes.  A thread of the
 * library that asks for a name in vain may live on; this does not wait for it.
 */
void		 kafka_client_free(rd_kafka_t *);

/*
 * kafka_read.c
 */

struct read_part {
	int64_t		low;		/* the first offset of the log */
	int64_t		start, next;	/* all between them is read */
	int64_t		end;		/* of the log, as it was told */
	int64_t		upto;		/* no more of it is to be read */
	int64_t		passed_at;	/* clock_ms(): a message sent later was
					   acknowledged; 0: none was */
	bool		replicated;
	bool		reads;		/* it is being consumed */

	int64_t		first_at;	/* of the first record that was read:
					   its time; the reader's */
};

struct read_topic {
	char			*name;
	rd_kafka_topic_t	*rkt;
	struct read_part	*parts;		/* by number */
	size_t			 nparts;	/* 0: there is no such topic */
	bool			 cannot_be;	/* its name is not legal */
	bool			 begun;		/* where to read is known */
	bool			 final;		/* the ends count */
	bool			 failed;	/* it is not read any more */
	struct err		 why;		/* of a failure; or "" */
};

struct kafka_reader {
	/* The ends are known: set start and upto of each part. */
	rd_kafka_resp_err_t	(*start)(void *arg, struct read_topic *);
	void			(*record)(void *arg, struct read_topic *,
				    const rd_kafka_message_t *);
};

struct kafka_read {
	const struct conf		*conf;	/* both are borrowed */
	const char			*name;
	const struct kafka_reader	*by;
	void				*arg;
	rd_kafka_t			*rk;	/* NULL: nothing is read */
	rd_kafka_queue_t		*queue;	/* for records */
	struct read_topic		*topics;
	size_t				 ntopics;
	int64_t				 began_at;	/* clock_ms() */
	/* The same: all was answered at once since then; 0: never. */
	int64_t				 steady_since;
	uint64_t			 nread;	/* records */
	struct err			 trouble;	/* of the brokers */
	struct log_throttle		 log;
};

/* Between these there is a client; -1 with an error. */
int		 kafka_read_open(struct kafka_read *,
		    const struct kafka_reader *, void *arg, struct err *);
void		 kafka_read_close(struct kafka_read *);

/* The place of this topic in the list, to which it is added before any run. */
size_t		 kafka_read_topic(struct kafka_read *, const char *name);

/* The same; ntopics: it is not there. */
size_t		 kafka_read_find(const struct kafka_read *, const char *name);

/* As kafka_client_offsets(). */
rd_kafka_resp_err_t kafka_read_offsets(struct kafka_read *,
		    struct read_topic *, int64_t time, int64_t *first);

/* Ask and read until nothing is left but to wait, or clock_ms() is end. */
void		 kafka_read_run(struct kafka_read *, int64_t end,
		    const struct pub_go_on *);

/* Is all read of this topic, up to the ends as they are known? */
bool		 kafka_read_is_read(const struct read_topic *);

/* Is nothing left but to wait?  Or not even that? */
bool		 kafka_read_waits(const struct kafka_read *);
bool		 kafka_read_is_over(const struct kafka_read *);

#define AGAIN_MS	1000	/* while nothing is to be done but wait */

/* Nothing can be told of these. */
void		 kafka_not_found(struct pub_sought *, size_t n,
		    const struct err *why);

/*
 * kafka_find.c: a search, which may take many calls
 */

struct kafka_find {
	struct kafka_read	 read;		/* open: there is a search */
	const char		*prefix;	/* of ids; for this call */
	struct find_item	*items;		/* by sequence */
	size_t			 nitems;
	int64_t			 asked_at;	/* clock_ms(): the last call */
	int64_t			 over_at;	/* the same: nothing is left to
						   read; 0: not yet */
};

/* As pub_ops.find, without places; nothing of ours may be on its way. */
void		 kafka_find_run(struct kafka_find *, const char *prefix,
		    struct pub_sought *, size_t n, int64_t end,
		    const struct pub_go_on *);

/* A message that was sent after that clock_ms() is acknowledged. */
void		 kafka_find_passed(struct kafka_find *, const char *topic,
		    int32_t partition, int64_t sent_after);

/* End a search that nobody asks for any more; or any. */
void		 kafka_find_rest(struct kafka_find *);
void		 kafka_find_end(struct kafka_find *);

/*
 * kafka_place.c: a look-up, which may take many calls
 */

struct kafka_place {
	struct kafka_read	 read;		/* open: there is a look-up */
	const char		*prefix;	/* of ids; for this call */
	struct place_item	*items;		/* by topic and place */
	size_t			 nitems;
};

/* As pub_ops.find, with places; stored is not told. */
void		 kafka_place_run(struct kafka_place *, const char *prefix,
		    struct pub_sought *, size_t n, int64_t end,
		    const struct pub_go_on *);

/* What is known is forgotten: the next call begins anew. */
void		 kafka_place_end(struct kafka_place *);

/*
 * kafka_watch.c: it has a client once there is a topic.
 */

struct kafka_watch {
	const struct conf	*conf;		/* both are borrowed */
	const char		*name;
	rd_kafka_t		*rk;		/* NULL: not yet */
	struct watched_topic	*topics;
	size_t			 n;
	uint64_t		 setbacks;
	struct log_throttle	 log;
};

void		 kafka_watch_end(struct kafka_watch *);

/* From now on look at this topic, too; -1 with an error. */
int		 kafka_watch_topic(struct kafka_watch *, const char *topic,
		    struct err *);

/*
 * *setbacks: moments, so far, in which a topic may have lost what it had
 * acknowledged.  false: no answer, see err.  Blocks for some seconds at most.
 */
bool		 kafka_watch_look(struct kafka_watch *, uint64_t *setbacks,
		    struct err *);

#endif
