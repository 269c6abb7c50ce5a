/*
 * kafka.c - the publisher: one idempotent producer, its reports in our loop
 *
 * Threads of librdkafka write and read; they reach us by its main queue only,
 * whose events wake pub_wait() by a descriptor.  A report is for the message
 * that its opaque says: the batch and the index.
 */

#include "kafka/kafka_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bsd/string.h>

#include "driver/pub_lacks.h"
#include "kafka/kafka_topic.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define OPEN_MS		1800	/* of the 2 s that open may take */

/*
 * The library gives a message up so long before the relay does, and looks once
 * a second, so that it is still there to tell whether the message was written.
 */
#define GIVE_UP_MS	1500

/*
 * A broker refuses a whole request for one bad record in it.  So once it does,
 * records go alone for so long, and only such a refusal is the message's own.
 */
#define ALONE_MS	60000

/* Bytes of a record beside its value, within message.max.bytes. */
#define RECORD_ROOM	512

struct kafka {
	const struct conf	*conf;
	const char		*name;		/* client.id */
	rd_kafka_t		*rk;		/* NULL: closed */
	rd_kafka_queue_t	*queue;		/* the main one, with all events */
	int			 fd;		/* an eventfd: the queue has some */
	bool			 ending;	/* nothing is sent any more; it is
						   closed with the last report */
	int64_t			 alone_until;	/* clock_ms(); 0: a request may
						   have many records */
	int64_t			 max_bytes;	/* of a record */
	size_t			 nout;		/* messages without a report */
	uint32_t		 batch;		/* a number, */
	int64_t			 begun_at;	/* and when it began: clock_ms() */
	struct kafka_find	 find;
	struct kafka_place	 place;
	struct kafka_watch	 watch;		/* over what was looked up */
	int64_t			 until;		/* send none after it */
	struct err		 trouble;	/* the last one of the brokers */
	struct answer_queue	 answers;
	struct log_throttle	 log;
};

static void
kafka_close(void *arg)
{
	struct kafka	*k = arg;

	kafka_place_end(&k->place);
	if (k->rk == NULL)
		return;
	rd_kafka_queue_io_event_enable(k->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(k->queue);
	kafka_client_free(k->rk);
	close(k->fd);
	answer_queue_clear(&k->answers);
	k->rk = NULL;
	k->ending = false;
	k->nout = 0;
}

/* message.timeout.ms */
static int64_t
give_up_ms(const struct conf *c)
{
	return c->publish.timeout_ms - sooner(c->publish.timeout_ms / 4,
	    GIVE_UP_MS);
}

/* What no other value may replace: see conf_form_kafka.c. */
static rd_kafka_conf_t *
producer_conf(const struct kafka *k, struct err *e)
{
	const struct conf	*c = k->conf;
	int64_t			 timeout = give_up_ms(c);
	char			 window[24], give_up[24], unknown[24];
	const char *const	 ours[][2] = {
		{ "acks", "all" },
		{ "enable.idempotence", "true" },
		{ "partitioner", "murmur2_random" },
		{ "queue.buffering.max.messages", window },
		{ "queue.buffering.max.kbytes", "2147483647" },
		{ "message.timeout.ms", give_up },
		{ "topic.metadata.propagation.max.ms", unknown },
		{ "batch.num.messages", "1" },
	};
	size_t			 n = sizeof(ours) / sizeof(ours[0]) -
				    (k->alone_until == 0);

	snprintf(window, sizeof(window), "%" PRId64, c->publish.window);
	snprintf(give_up, sizeof(give_up), "%" PRId64, timeout);
	snprintf(unknown, sizeof(unknown), "%" PRId64, timeout / 2);
	return kafka_client_conf(c, k->name, ours, n, e);
}

static int
make_producer(struct kafka *k, struct err *e)
{
	static const uint64_t	 one = 1;
	rd_kafka_conf_t		*rc;

	if (clock_ms() >= k->alone_until)
		k->alone_until = 0;
	if ((rc = producer_conf(k, e)) == NULL)
		return -1;
	if ((k->rk = kafka_client_new(RD_KAFKA_PRODUCER, rc, e)) ==
	    NULL)
		return -1;
	k->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (k->fd < 0) {
		err_set(e, "eventfd: %s", strerror(errno));
		kafka_client_free(k->rk);
		k->rk = NULL;
		return -1;
	}
	k->queue = rd_kafka_queue_get_main(k->rk);
	rd_kafka_queue_io_event_enable(k->queue, k->fd, &one, sizeof(one));
	k->trouble.text[0] = '\0';
	return 0;
}

/* It would make no client that contradicts itself. */
int
kafka_check(const struct conf *c, struct err *e)
{
	const struct conf_map	*own = &c->kafka.client;
	const struct kafka	 k = { .conf = c, .name = "check" };
	rd_kafka_conf_t		*rc = producer_conf(&k, e);

	if (rc == NULL)
		return -1;
	rd_kafka_conf_destroy(rc);
	for (size_t i = 0; i < own->n; i++)
		if (strcmp(own->items[i].name, "linger.ms") == 0 &&
		    strtod(own->items[i].value, NULL) >= (double)give_up_ms(c))
			return err_set(e, "%s: line %u: kafka.client: "
			    "linger.ms: must be less than %" PRId64 ", when a "
			    "message is given up (see publish.timeout_ms)",
			    c->path, own->items[i].line, give_up_ms(c));
	return 0;
}

static void *
opaque_of(const struct kafka *k, uint32_t index)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return (void *)(uintptr_t)((uint64_t)k->batch << 32 | index);
}

/* It was refused: for its own sake only if it was alone in its request. */
static void
blame_record(struct kafka *k, struct pub_answer *a)
{
	if (k->alone_until == 0) {
		a->verdict = VERDICT_DESTINATION;
		a->class = CLASS_OTHER;
		strlcat(a->text, "; this or another record of the request: "
		    "they go alone now", sizeof(a->text));
		err_set(&k->trouble, "%s", a->text);
		k->ending = true;
	}
	k->alone_until = clock_ms() + ALONE_MS;
}

/* The message has got its report. */
static void
take_report(struct kafka *k, const rd_kafka_message_t *m)
{
	uint64_t		 opaque = (uintptr_t)m->_private;
	struct pub_answer	 a = { .index = (uint32_t)opaque };
	const char		*topic = rd_kafka_topic_name(m->rkt);

	k->nout--;
	if (opaque >> 32 != k->batch)
		return;
	kafka_judge(m->err, rd_kafka_message_status(m), topic, &a);
	if (a.verdict == VERDICT_STORED) {
		/* After a retry the broker may have told only that it has the
		   record, without an offset. */
		a.ack_sequence = msg_place(m->partition, m->offset);
		a.stream = kafka_place_hash(topic, m->partition);
		kafka_find_passed(&k->find, topic, m->partition, k->begun_at);
		log_throttle_over(&k->log, "kafka", clock_ms());
	} else if (a.verdict == VERDICT_MESSAGE ||
	    a.verdict == VERDICT_TOO_LARGE)
		blame_record(k, &a);
	answer_queue_put(&k->answers, &a);
}

/* Give up what is out: each gets a report, and then it is closed. */
static void
end(struct kafka *k)
{
	k->ending = true;
	rd_kafka_purge(k->rk, RD_KAFKA_PURGE_F_QUEUE |
	    RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

static void
take_error(struct kafka *k, rd_kafka_event_t *event)
{
	bool	down = rd_kafka_event_error(event) ==
		    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;

	kafka_client_trouble(event, &k->trouble);
	if (!k->ending && (down || rd_kafka_event_error_is_fatal(event)))
		end(k);
}

static void
serve(struct kafka *k)
{
	const rd_kafka_message_t	*m;
	rd_kafka_event_t		*event;
	uint64_t			 n;

	/* First: what comes meanwhile wakes it again. */
	if (read(k->fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		panic("eventfd: %s", strerror(errno));
	while ((event = rd_kafka_queue_poll(k->queue, 0)) != NULL) {
		switch (rd_kafka_event_type(event)) {
		case RD_KAFKA_EVENT_DR:
			while ((m = rd_kafka_event_message_next(event)) != NULL)
				take_report(k, m);
			break;
		case RD_KAFKA_EVENT_ERROR:
			take_error(k, event);
			break;
		case RD_KAFKA_EVENT_LOG:
			kafka_client_log(event, &k->log);
			break;
		}
		rd_kafka_event_destroy(event);
	}
}

/* Is any broker there, and lets us in? */
static int
ask_brokers(struct kafka *k, struct err *e)
{
	const struct rd_kafka_metadata	*md = NULL;
	rd_kafka_resp_err_t		 err;

	err = rd_kafka_metadata(k->rk, 0, NULL, &md, OPEN_MS);
	rd_kafka_metadata_destroy(md);
	serve(k);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && !k->ending)
		return 0;
	return err_set(e, "%s", k->trouble.text[0] != '\0' ? k->trouble.text :
	    rd_kafka_err2str(err));
}

static int
kafka_open(void *arg, struct err *e)
{
	struct kafka	*k = arg;

	kafka_close(k);
	if (make_producer(k, e) == 0 && ask_brokers(k, e) == 0)
		return 0;
	kafka_close(k);
	return err_in(e, "kafka");
}

static bool
kafka_is_open(void *arg)
{
	const struct kafka	*k = arg;

	return k->rk != NULL && (!k->ending || k->nout > 0);
}

static int64_t
kafka_capacity(void *arg)
{
	return ((struct kafka *)arg)->conf->publish.window;
}

static int64_t
kafka_max_payload(void *arg)
{
	return later(1, ((struct kafka *)arg)->max_bytes - RECORD_ROOM);
}

/*
 * What is out of the last batch must not be written now: with its producer it
 * ends for sure.  So ends the time in which records go alone.
 */
static void
drop_out(struct kafka *k)
{
	struct err	e;

	if (k->rk == NULL || (k->nout == 0 &&
	    (k->alone_until == 0 || clock_ms() < k->alone_until)))
		return;
	kafka_close(k);
	if (make_producer(k, &e) < 0)
		log_warn("kafka: %s", e.text);
}

static void
kafka_begin(void *arg, int64_t until)
{
	struct kafka	*k = arg;

	answer_queue_clear(&k->answers);
	k->batch++;
	k->begun_at = clock_ms();
	k->until = until;
	drop_out(k);
	kafka_find_rest(&k->find);
}

/* What is looked up may be lost again. */
static int
watch_all(struct kafka *k, const struct pub_sought *x, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (kafka_watch_topic(&k->watch, x[i].where, e) < 0)
			return -1;
	return 0;
}

static void
kafka_find(void *arg, const char *prefix, struct pub_sought *x, size_t n,
    int64_t end, const struct pub_go_on *go_on)
{
	struct kafka	*k = arg;
	struct err	 e;

	drop_out(k);
	if (!kafka_is_open(k))
		err_set(&e, "kafka is not connected: %s", k->trouble.text);
	else if (n > 0 && x->place == 0) {
		kafka_find_run(&k->find, prefix, x, n, end, go_on);
		return;
	} else if (watch_all(k, x, n, &e) == 0) {
		kafka_place_run(&k->place, prefix, x, n, end, go_on);
		return;
	}
	kafka_not_found(x, n, &e);
}

static bool
kafka_state(void *arg, struct stream_state *st, struct err *e)
{
	struct kafka	*k = arg;

	*st = (struct stream_state){ .answer = STREAM_THERE };
	if (k->rk != NULL)
		serve(k);
	return kafka_is_open(k) ?
	    kafka_watch_look(&k->watch, &st->setbacks, e) :
	    err_set(e, "kafka is not connected: %s", k->trouble.text) == 0;
}

static enum pub_sent
kafka_send(void *arg, const struct envelope *v, uint32_t index, struct err *e)
{
	struct kafka		*k = arg;
	struct pub_answer	 a = { .index = index };
	rd_kafka_resp_err_t	 err;

	if (!kafka_is_open(k)) {
		err_set(e, "%s", k->trouble.text[0] == '\0' ? "not open" :
		    k->trouble.text);
		return PUB_LOST;
	}
	if ((int64_t)v->size > kafka_max_payload(k)) {
		err_set(e, "%zu bytes are more than message.max.bytes of "
		    "kafka.client, %" PRId64 ", allows", v->size, k->max_bytes);
		return PUB_REFUSED;
	}
	err = k->ending || clock_ms() >= k->until ?
	    RD_KAFKA_RESP_ERR__MSG_TIMED_OUT :
	    kafka_produce(k->rk, v, opaque_of(k, index));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		k->nout++;
		return PUB_SENT;
	}
	kafka_judge(err, RD_KAFKA_MSG_STATUS_NOT_PERSISTED,
	    envelope_subject(v), &a);
	if (k->ending)
		snprintf(a.text, sizeof(a.text), "not sent: %.200s",
		    k->trouble.text);
	answer_queue_put(&k->answers, &a);
	return PUB_SENT;
}

static void
kafka_prepare(void *arg, struct pub_polls *p)
{
	struct kafka	*k = arg;

	if (k->rk == NULL)
		return;
	if (!k->ending && k->nout > 0 && clock_ms() >= k->until)
		end(k);
	pub_watch(p, k->fd, POLLIN);
	if (answer_queue_has(&k->answers) || !kafka_is_open(k))
		p->timeout_ms = 0;
	else if (k->nout > 0 && !k->ending)
		p->timeout_ms = sooner(p->timeout_ms,
		    later(k->until - clock_ms(), 0));
}

static void
kafka_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	struct kafka	*k = arg;

	(void)fds;
	if (k->rk != NULL && n > 0)
		serve(k);
}

static bool
kafka_answer(void *arg, struct pub_answer *a)
{
	return answer_queue_take(&((struct kafka *)arg)->answers, a);
}

static void
kafka_free(void *arg)
{
	struct kafka	*k = arg;

	kafka_close(k);
	kafka_find_end(&k->find);
	kafka_watch_end(&k->watch);
	answer_queue_free(&k->answers);
	free(k);
}

static const struct pub_ops ops = {
	.name = "kafka",
	.peer = "broker",
	.names_streams = true,
	.finds_in = "topic",
	.free = kafka_free,
	.open = kafka_open,
	.close = kafka_close,
	.is_open = kafka_is_open,
	.reach = pub_reaches,
	.caution = pub_no_caution,
	.check = pub_no_check,
	.state = kafka_state,
	.get_stored = pub_no_stored,
	.find = kafka_find,
	.removed = pub_no_removed,
	.max_payload = kafka_max_payload,
	.capacity = kafka_capacity,
	.unread = pub_none_unread,
	.begin = kafka_begin,
	.send = kafka_send,
	.prepare = kafka_prepare,
	.proceed = kafka_proceed,
	.woken = pub_no_wakeup,
	.answer = kafka_answer,
	.complaint = pub_no_complaint,
	.tell = pub_no_tell,
};

struct pub
kafka_new(const struct conf *c, const char *name)
{
	struct kafka	*k = xcalloc(1, sizeof(*k));

	k->conf = c;
	k->name = name;
	k->max_bytes = kafka_max_bytes(c);
	k->find.read = k->place.read = (struct kafka_read){ .conf = c,
	    .name = name };
	k->watch = (struct kafka_watch){ .conf = c, .name = name };
	return (struct pub){ &ops, k };
}
