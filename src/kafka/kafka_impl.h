/*
 * kafka_impl.h - shared by the files of the room, and private to them
 *
 * A file calls only files above it:
 *
 * kafka_verdict.c	what the report of a message, or its error, means
 * kafka_record.c	a message as a record: key, time, headers
 * kafka_client.c	a client of librdkafka: its properties, its end
 * kafka_find.c		the search for messages that may be stored
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

/*
 * kafka_client.c
 */

/*
 * The properties of any client as the configuration has them, secrets read
 * anew; NULL: see err.  Destroy it, or give it to kafka_client_new().
 */
rd_kafka_conf_t	*kafka_client_conf(const struct conf *, const char *name,
		    struct err *);

/* Set a property of ours; -1 with an error. */
int		 kafka_client_set(rd_kafka_conf_t *, const char *name,
		    const char *value, struct err *);

/*
 * Make a client, whose log goes to its main queue; NULL: see err.  Takes the
 * properties in any case.
 */
rd_kafka_t	*kafka_client_new(rd_kafka_type_t, rd_kafka_conf_t *,
		    struct err *);

/* Log an event of the library (RD_KAFKA_EVENT_LOG), rarely. */
void		 kafka_client_log(rd_kafka_event_t *, struct log_throttle *);

/*
 * End it: nothing is written any more, no report comes.  A thread of the
 * library that asks for a name in vain may live on; this does not wait for it.
 */
void		 kafka_client_free(rd_kafka_t *);

/*
 * kafka_find.c: a search, which may take many calls; between searches there is
 * no client.
 */

struct kafka_find;

/* The pointers are borrowed. */
struct kafka_find *kafka_find_new(const struct conf *, const char *name);
void		 kafka_find_free(struct kafka_find *);

/* As pub_ops.find; nothing of ours may be on its way. */
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
 * kafka_watch.c: it has a client once there is a topic.
 */

struct kafka_watch;

/* The pointers are borrowed. */
struct kafka_watch *kafka_watch_new(const struct conf *, const char *name);
void		 kafka_watch_free(struct kafka_watch *);

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
