/*
 * kafka_read.c - topics are read from where their reader wants to their ends
 *
 * It is the end that needs care: what an earlier sender has written may still
 * be on its way into the log, or be there, but above the high watermark, where
 * no consumer sees it.  So the ends that count are asked for when the brokers
 * have answered for SETTLE_MS and, where a partition has replicas, LAG_MS after
 * it began; or once a message that was sent meanwhile is acknowledged, as all
 * before it is then below the watermark.
 */

#include "kafka/kafka_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define ROUND_MS	250	/* from one question for the ends to the next */
#define SETTLE_MS	1500	/* of what was written before */
#define LAG_MS		31000	/* replica.lag.time.max.ms is 30 s */
#define READ_MS		50	/* for at most BATCH records */
#define BATCH		1000
#define PARTS		4	/* partitions at a time */

int
kafka_read_open(struct kafka_read *r, const struct kafka_reader *by, void *arg,
    struct err *e)
{
	if ((r->rk = kafka_client_consumer(r->conf, r->name, e)) == NULL)
		return -1;
	r->queue = rd_kafka_queue_new(r->rk);
	r->by = by;
	r->arg = arg;
	r->began_at = clock_ms();
	return 0;
}

static void
close_topic(struct read_topic *t)
{
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].reads)
			rd_kafka_consume_stop(t->rkt, (int32_t)i);
	if (t->rkt != NULL)
		rd_kafka_topic_destroy(t->rkt);
	free(t->parts);
	free(t->name);
}

void
kafka_read_close(struct kafka_read *r)
{
	if (r->rk == NULL)
		return;
	for (size_t i = 0; i < r->ntopics; i++)
		close_topic(&r->topics[i]);
	free(r->topics);
	rd_kafka_queue_destroy(r->queue);
	kafka_client_free(r->rk);
	*r = (struct kafka_read){ .conf = r->conf, .name = r->name,
	    .log = r->log };
}

size_t
kafka_read_find(const struct kafka_read *r, const char *topic)
{
	size_t	i = 0;

	while (i < r->ntopics && strcmp(r->topics[i].name, topic) != 0)
		i++;
	return i;
}

size_t
kafka_read_topic(struct kafka_read *r, const char *name)
{
	size_t	i = kafka_read_find(r, name);

	if (i == r->ntopics) {
		r->topics = xreallocarray(r->topics, ++r->ntopics,
		    sizeof(*r->topics));
		r->topics[i] = (struct read_topic){ .name = xstrdup(name) };
	}
	return i;
}

/* Its partitions, and whether they have replicas. */
static rd_kafka_resp_err_t
ask_topic(struct kafka_read *r, struct read_topic *t)
{
	const struct rd_kafka_metadata	*md;
	const struct rd_kafka_metadata_topic *mt;
	rd_kafka_topic_conf_t		*conf;
	rd_kafka_resp_err_t		 err;

	if (t->rkt == NULL) {
		/* With auto.offset.reset: no jump over what was removed. */
		conf = rd_kafka_default_topic_conf_dup(r->rk);
		rd_kafka_topic_conf_set_opaque(conf, t);
		t->rkt = rd_kafka_topic_new(r->rk, t->name, conf);
		if (t->rkt == NULL) {	/* it has freed conf */
			t->cannot_be = true;
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		}
	}
	err = rd_kafka_metadata(r->rk, 0, t->rkt, &md,
	    KAFKA_ASK_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	mt = &md->topics[0];
	err = mt->err;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		t->nparts = (size_t)mt->partition_cnt;
		t->parts = xcalloc(t->nparts, sizeof(*t->parts));
	}
	for (int i = 0; i < mt->partition_cnt; i++)
		if ((size_t)mt->partitions[i].id < t->nparts)
			t->parts[mt->partitions[i].id].replicated =
			    mt->partitions[i].replica_cnt > 1;
	rd_kafka_metadata_destroy(md);
	t->cannot_be = err == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
	/* What is not there, or cannot be, has no message. */
	return err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	    err == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION ?
	    RD_KAFKA_RESP_ERR_NO_ERROR : err;
}

rd_kafka_resp_err_t
kafka_read_offsets(struct kafka_read *r, struct read_topic *t, int64_t time,
    int64_t *first)
{
	return kafka_client_offsets(r->rk, t->name, time, first,
	    sizeof(*t->parts), t->nparts);
}

/* Where do its partitions end, and, the first time, where do they begin? */
static rd_kafka_resp_err_t
ask(struct kafka_read *r, struct read_topic *t)
{
	rd_kafka_resp_err_t	err = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (t->nparts == 0)
		err = ask_topic(r, t);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && t->nparts > 0)
		err = kafka_read_offsets(r, t, RD_KAFKA_OFFSET_END,
		    &t->parts->end);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR || t->nparts == 0 || t->begun)
		return err;
	/* In this order: what is removed in between shows. */
	err = r->by->start(r->arg, t);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = kafka_read_offsets(r, t, RD_KAFKA_OFFSET_BEGINNING,
		    &t->parts->low);
	for (size_t i = 0; i < t->nparts; i++)
		t->parts[i].next = later(t->parts[i].start, t->parts[i].low);
	t->begun = err == RD_KAFKA_RESP_ERR_NO_ERROR;
	return err;
}

/*
 * Do the ends count that were asked for at this time?  A broker that has just
 * started may know less than the others, so that there is no such topic takes
 * as long.
 */
static bool
is_final(const struct kafka_read *r, const struct read_topic *t,
    int64_t asked_at)
{
	if (t->cannot_be)
		return true;
	if (r->steady_since == 0 || asked_at < r->steady_since + SETTLE_MS)
		return false;
	if (t->nparts == 0)
		return asked_at >= r->steady_since + LAG_MS;
	if (asked_at >= r->began_at + LAG_MS)
		return true;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].replicated &&
		    t->parts[i].passed_at < r->began_at + SETTLE_MS)
			return false;
	return true;
}

/* A connection that is being made is no failure yet; false: give it up. */
static bool
goes_on(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
	    err == RD_KAFKA_RESP_ERR__TRANSPORT;
}

static void
set_why(struct kafka_read *r, struct read_topic *t, rd_kafka_resp_err_t err)
{
	err_set(&t->why, "topic %.249s: %s%s%s", t->name, rd_kafka_err2str(err),
	    r->trouble.text[0] == '\0' ? "" : ": ", r->trouble.text);
	if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		err_set(&t->why, "topic %.249s: the user may not read it: %s",
		    t->name, rd_kafka_err2str(err));
}

static void
ask_all(struct kafka_read *r, int64_t end, const struct pub_go_on *go_on)
{
	rd_kafka_resp_err_t	err;
	int64_t			asked_at;

	for (size_t i = 0; i < r->ntopics; i++) {
		struct read_topic *t = &r->topics[i];

		if (t->failed || t->final)
			continue;
		asked_at = clock_ms();
		if (asked_at >= end || !go_on->ask(go_on->arg))
			return;
		err = ask(r, t);
		kafka_client_serve(r->rk, &r->log, &r->trouble);
		t->why.text[0] = '\0';
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
			set_why(r, t, err);
		t->failed = !goes_on(err);
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    clock_ms() - asked_at > KAFKA_ASK_MS)
			r->steady_since = 0;
		else if (r->steady_since == 0)
			r->steady_since = clock_ms();
		t->final = err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    is_final(r, t, asked_at);
	}
}

static void
take_record(struct kafka_read *r, const rd_kafka_message_t *m)
{
	struct read_topic	*t = rd_kafka_topic_opaque(m->rkt);
	struct read_part	*p = &t->parts[m->partition];

	switch (m->err) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		r->by->record(r->arg, t, m);
		p->next = m->offset + 1;
		r->nread++;
		break;
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		p->next = later(p->next, m->offset);
		break;
	default:
		set_why(r, t, m->err);
		t->failed = true;
	}
}

/* The offset that ends what is to be read. */
static int64_t
stop_of(const struct read_part *p)
{
	return sooner(p->end, p->upto);
}

bool
kafka_read_is_read(const struct read_topic *t)
{
	if (t->why.text[0] != '\0' || (t->nparts > 0 && !t->begun))
		return false;
	for (size_t i = 0; i < t->nparts; i++)
		if (t->parts[i].next < stop_of(&t->parts[i]))
			return false;
	return true;
}

bool
kafka_read_waits(const struct kafka_read *r)
{
	for (size_t i = 0; i < r->ntopics; i++)
		if (!r->topics[i].failed && !kafka_read_is_read(&r->topics[i]))
			return false;
	return true;
}

bool
kafka_read_is_over(const struct kafka_read *r)
{
	for (size_t i = 0; i < r->ntopics; i++)
		if (!r->topics[i].failed && !r->topics[i].final)
			return false;
	return kafka_read_waits(r);
}

/* Consume what is not read to its end; each partition takes memory. */
static void
start_parts(struct kafka_read *r)
{
	size_t	room = PARTS;

	for (size_t i = 0; i < r->ntopics; i++) {
		struct read_topic *t = &r->topics[i];

		for (size_t k = 0; k < t->nparts && t->begun; k++) {
			struct read_part	*p = &t->parts[k];
			bool			 wants = room > 0 &&
				    !t->failed && p->next < stop_of(p);

			room -= wants;
			if (p->reads && !wants)
				rd_kafka_consume_stop(t->rkt, (int32_t)k);
			else if (!p->reads && wants)
				wants = rd_kafka_consume_start_queue(t->rkt,
				    (int32_t)k, p->next, r->queue) == 0;
			p->reads = wants;
		}
	}
}

/* Read up to the ends. */
static void
read_records(struct kafka_read *r, int64_t until)
{
	rd_kafka_message_t	*list[BATCH];
	ssize_t			 n;

	do {
		start_parts(r);
		n = rd_kafka_consume_batch_queue(r->queue, READ_MS, list,
		    BATCH);
		for (ssize_t i = 0; i < n; i++) {
			take_record(r, list[i]);
			rd_kafka_message_destroy(list[i]);
		}
	} while (clock_ms() < until && !kafka_read_waits(r));
}

void
kafka_read_run(struct kafka_read *r, int64_t end,
    const struct pub_go_on *go_on)
{
	do {
		ask_all(r, end, go_on);
		read_records(r, sooner(end, clock_ms() + ROUND_MS));
		kafka_client_serve(r->rk, &r->log, &r->trouble);
	} while (!kafka_read_waits(r) && clock_ms() < end &&
	    go_on->ask(go_on->arg));
	/* What is not answered by now begins anew. */
	for (size_t i = 0; i < r->ntopics; i++)
		if (r->topics[i].why.text[0] != '\0')
			r->topics[i].failed = true;
}

void
kafka_not_found(struct pub_sought *x, size_t n, const struct err *why)
{
	for (size_t i = 0; i < n; i++) {
		x[i].found = FOUND_UNKNOWN;
		x[i].why = *why;
	}
}
