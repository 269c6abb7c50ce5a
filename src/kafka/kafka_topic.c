/*
 * kafka_topic.c - see kafka_topic.h
 *
 * The client is a consumer: as a producer, to ask about a topic could make it.
 */

#include "kafka/kafka_topic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kafka/kafka_impl.h"
#include "util/xalloc.h"

#define ASK_MS	2000

struct kafka_asker {
	rd_kafka_t	*rk;
	int		 brokers;
};

/* The last error that a broker caused, if there is one. */
static void
explain(rd_kafka_t *rk, rd_kafka_resp_err_t err, struct err *e)
{
	rd_kafka_queue_t	*queue = rd_kafka_queue_get_main(rk);
	rd_kafka_event_t	*event;

	err_set(e, "%s", rd_kafka_err2str(err));
	while ((event = rd_kafka_queue_poll(queue, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
		    rd_kafka_event_error(event) !=
		    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
			err_set(e, "%s", rd_kafka_event_error_string(event));
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
}

struct kafka_asker *
kafka_asker_new(const struct conf *c, struct err *e)
{
	const struct rd_kafka_metadata	*md = NULL;
	struct kafka_asker		*a;
	rd_kafka_conf_t			*rc;
	rd_kafka_resp_err_t		 err;
	rd_kafka_t			*rk;

	if ((rc = kafka_client_conf(c, "outboxctl", e)) == NULL)
		return NULL;
	rd_kafka_conf_set_events(rc, RD_KAFKA_EVENT_ERROR |
	    RD_KAFKA_EVENT_LOG);
	if ((rk = kafka_client_new(RD_KAFKA_CONSUMER, rc, e)) == NULL)
		return NULL;
	err = rd_kafka_metadata(rk, 0, NULL, &md, ASK_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		explain(rk, err, e);
		kafka_client_free(rk);
		return NULL;
	}
	a = xcalloc(1, sizeof(*a));
	a->rk = rk;
	a->brokers = md->broker_cnt;
	rd_kafka_metadata_destroy(md);
	return a;
}

void
kafka_asker_free(struct kafka_asker *a)
{
	if (a != NULL)
		kafka_client_free(a->rk);
	free(a);
}

int
kafka_asker_brokers(const struct kafka_asker *a)
{
	return a->brokers;
}

static void
read_partitions(struct kafka_topic *t, const rd_kafka_metadata_topic_t *md)
{
	t->exists = md->partition_cnt > 0;
	t->partitions = md->partition_cnt;
	for (int i = 0; i < md->partition_cnt; i++) {
		const rd_kafka_metadata_partition_t *p = &md->partitions[i];

		if (i == 0 || p->replica_cnt < t->replicas)
			t->replicas = p->replica_cnt;
		t->leaderless += p->leader < 0;
		t->behind += p->isr_cnt < p->replica_cnt;
	}
}

static int
ask_partitions(struct kafka_asker *a, const char *name, struct kafka_topic *t,
    struct err *e)
{
	const struct rd_kafka_metadata	*md = NULL;
	rd_kafka_topic_t		*topic;
	rd_kafka_resp_err_t		 err;

	topic = rd_kafka_topic_new(a->rk, name, NULL);
	err = rd_kafka_metadata(a->rk, 0, topic, &md, ASK_MS);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && md->topic_cnt == 1) {
		err = md->topics[0].err;
		read_partitions(t, &md->topics[0]);
	}
	if (md != NULL)
		rd_kafka_metadata_destroy(md);
	rd_kafka_topic_destroy(topic);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		return 0;
	explain(a->rk, err, e);
	return -1;
}

static void
read_settings(struct kafka_topic *t, const rd_kafka_ConfigEntry_t **entries,
    size_t n)
{
	const struct {
		const char	*name;
		int64_t		*to;
	} numbers[] = {
		{ "min.insync.replicas", &t->min_insync },
		{ "retention.ms", &t->retention_ms },
		{ "retention.bytes", &t->retention_bytes },
		{ "max.message.bytes", &t->max_message_bytes },
	};

	for (size_t i = 0; i < n; i++) {
		const char *name = rd_kafka_ConfigEntry_name(entries[i]);
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);

		for (size_t k = 0; value != NULL &&
		    k < sizeof(numbers) / sizeof(numbers[0]); k++)
			if (strcmp(name, numbers[k].name) == 0)
				*numbers[k].to = strtoll(value, NULL, 10);
		if (value != NULL && strcmp(name, "cleanup.policy") == 0)
			t->compacts = strstr(value, "compact") != NULL;
	}
	t->described = true;
}

static void
ask_settings(struct kafka_asker *a, const char *name, struct kafka_topic *t)
{
	rd_kafka_queue_t		*queue = rd_kafka_queue_new(a->rk);
	rd_kafka_ConfigResource_t	*r = rd_kafka_ConfigResource_new(
					    RD_KAFKA_RESOURCE_TOPIC, name);
	const rd_kafka_ConfigResource_t	**answers;
	const rd_kafka_ConfigEntry_t	**entries;
	rd_kafka_event_t		*event;
	size_t				 n;

	rd_kafka_DescribeConfigs(a->rk, &r, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, ASK_MS);
	if (event == NULL)
		err_set(&t->why, "no answer");
	else if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		err_set(&t->why, "%s", rd_kafka_event_error_string(event));
	else {
		answers = rd_kafka_DescribeConfigs_result_resources(
		    rd_kafka_event_DescribeConfigs_result(event), &n);
		if (n == 1 && rd_kafka_ConfigResource_error(answers[0]) ==
		    RD_KAFKA_RESP_ERR_NO_ERROR) {
			entries = rd_kafka_ConfigResource_configs(answers[0],
			    &n);
			read_settings(t, entries, n);
		} else if (n == 1)
			err_set(&t->why, "%s",
			    rd_kafka_ConfigResource_error_string(answers[0]));
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(r);
	rd_kafka_queue_destroy(queue);
}

int
kafka_topic_ask(struct kafka_asker *a, const char *name, struct kafka_topic *t,
    struct err *e)
{
	*t = (struct kafka_topic){ .retention_ms = -1, .retention_bytes = -1 };
	if (ask_partitions(a, name, t, e) < 0)
		return -1;
	if (t->exists)
		ask_settings(a, name, t);
	return 0;
}

int64_t
kafka_max_bytes(const struct conf *c)
{
	for (size_t i = 0; i < c->kafka.client.n; i++)
		if (strcmp(c->kafka.client.items[i].name,
		    "message.max.bytes") == 0)
			return strtoll(c->kafka.client.items[i].value, NULL,
			    10);
	return 1000000;		/* the default of librdkafka */
}

static void __attribute__((format(printf, 2, 3)))
find(struct stream_findings *f, const char *fmt, ...)
{
	struct err	*e = &f->list[f->n];
	va_list		 ap;

	if (f->n == STREAM_FINDINGS)
		return;
	f->n++;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

static void
judge_partitions(const char *name, const struct kafka_topic *t,
    struct stream_report *r)
{
	if (!t->exists) {
		r->unfit = true;
		r->class = CLASS_NO_STREAM;
		err_set(&r->why, "topic %s does not exist: create it, or let "
		    "the brokers make topics (auto.create.topics.enable)",
		    name);
	} else if (t->leaderless > 0) {
		r->unfit = true;
		r->class = CLASS_OFFLINE;
		err_set(&r->why, "%d of %d partitions of topic %s have no "
		    "leader: bring back the brokers that are away",
		    t->leaderless, t->partitions, name);
	}
	if (t->exists && t->replicas < 2)
		find(&r->advice, "topic %s has one replica, so the loss of a "
		    "broker's disk is that of its messages: give it three",
		    name);
	if (t->behind > 0)
		find(&r->warnings, "%d of %d partitions of topic %s have a "
		    "replica that is not in sync: bring back the brokers that "
		    "are away", t->behind, t->partitions, name);
}

#define DAY_MS	INT64_C(86400000)

static void
judge_settings(const struct conf *c, const char *name,
    const struct kafka_topic *t, struct stream_report *r)
{
	int64_t	kept = c->retention.days * DAY_MS;

	if (t->replicas > 1 && t->min_insync < 2)
		find(&r->warnings, "min.insync.replicas of topic %s is "
		    "%" PRId64 ", so a message counts as delivered though one "
		    "broker alone has it: set 2", name, t->min_insync);
	if (t->compacts)
		find(&r->warnings, "topic %s is compacted, so of each key only "
		    "the last message stays: set cleanup.policy to delete",
		    name);
	if (t->retention_ms >= 0 && t->retention_ms < DAY_MS)
		find(&r->warnings, "topic %s keeps a message for %" PRId64 " s "
		    "from the time of its event, so one that waits as long is "
		    "gone at once: raise retention.ms", name,
		    t->retention_ms / 1000);
	else if (t->retention_ms >= 0 && t->retention_ms < kept)
		find(&r->advice, "topic %s keeps a message for %" PRId64
		    " days, less than retention.days of %" PRId64 ": raise "
		    "retention.ms, or lower that", name,
		    t->retention_ms / DAY_MS, c->retention.days);
	if (t->max_message_bytes < kafka_max_bytes(c))
		find(&r->advice, "topic %s takes records of %" PRId64 " bytes, "
		    "and the daemon sends up to %" PRId64 " at a time: set "
		    "message.max.bytes and batch.size in kafka.client, or raise "
		    "max.message.bytes", name, t->max_message_bytes,
		    kafka_max_bytes(c));
}

void
kafka_topic_judge(const struct conf *c, const char *name,
    const struct kafka_topic *t, struct stream_report *r)
{
	*r = (struct stream_report){ .unfit = false };
	judge_partitions(name, t, r);
	if (t->described)
		judge_settings(c, name, t, r);
	else if (t->exists)
		find(&r->advice, "the settings of topic %s are not known: %s: "
		    "allow the user of kafka.sasl DescribeConfigs", name,
		    t->why.text);
}
