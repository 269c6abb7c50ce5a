/* kafka_topic.c - see kafka_topic.h */

#include "kafka/kafka_topic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/traits/traits.h"
#include "kafka/kafka_impl.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define ASK_MS	2000
#define MAKE_MS	10000

struct kafka_asker {
	rd_kafka_t	*rk;
	int		 brokers;
	char		 broker[12];	/* the id of one */
};

/* The last error that a broker caused, if there is one. */
static void
explain(rd_kafka_t *rk, rd_kafka_resp_err_t err, struct err *e)
{
	struct log_throttle	none = { 0 };

	err_set(e, "%s", rd_kafka_err2str(err));
	kafka_client_serve(rk, &none, e);
}

struct kafka_asker *
kafka_asker_new(const struct conf *c, struct err *e)
{
	const struct rd_kafka_metadata	*md = NULL;
	struct kafka_asker		*a;
	rd_kafka_resp_err_t		 err;
	rd_kafka_t			*rk;

	if ((rk = kafka_client_consumer(c, "outboxctl", e)) == NULL)
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
	if (md->broker_cnt > 0)
		snprintf(a->broker, sizeof(a->broker), "%" PRId32,
		    md->brokers[0].id);
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

/* Partitions */

static struct kafka_topic *
find_topic(struct kafka_topic *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

static void
read_partitions(struct kafka_topic *t, const rd_kafka_metadata_topic_t *md)
{
	t->exists = md->partition_cnt > 0;
	t->partitions = md->partition_cnt;
	t->refused.text[0] = '\0';
	if (!t->exists && md->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
	    md->err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		err_set(&t->refused, "%s", rd_kafka_err2str(md->err));
	for (int i = 0; i < md->partition_cnt; i++) {
		const rd_kafka_metadata_partition_t *p = &md->partitions[i];

		if (i == 0 || p->replica_cnt < t->replicas)
			t->replicas = p->replica_cnt;
		if (i == 0 || p->isr_cnt < t->in_sync)
			t->in_sync = p->isr_cnt;
		t->leaderless += p->leader < 0;
		t->behind += p->isr_cnt < p->replica_cnt;
	}
}

/* One question for all: about the topics that the client has by now. */
static int
ask_partitions(struct kafka_asker *a, rd_kafka_topic_t **rkts,
    struct kafka_topic *list, size_t n, struct err *e)
{
	const struct rd_kafka_metadata	*md = NULL;
	struct kafka_topic		*t;
	rd_kafka_resp_err_t		 err;

	for (size_t i = 0; i < n; i++) {
		rkts[i] = rd_kafka_topic_new(a->rk, list[i].name, NULL);
		err_set(&list[i].refused, "the brokers do not tell");
	}
	err = rd_kafka_metadata(a->rk, 0, NULL, &md, ASK_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		explain(a->rk, err, e);
		return -1;
	}
	for (int i = 0; i < md->topic_cnt; i++)
		if ((t = find_topic(list, n, md->topics[i].topic)) != NULL)
			read_partitions(t, &md->topics[i]);
	rd_kafka_metadata_destroy(md);
	return 0;
}

/* Settings */

static const char *
value_of(const rd_kafka_ConfigEntry_t **entries, size_t n, const char *name)
{
	const char	*value;

	for (size_t i = 0; i < n; i++)
		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0 &&
		    (value = rd_kafka_ConfigEntry_value(entries[i])) != NULL)
			return value;
	return "";
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

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i].to = strtoll(value_of(entries, n, numbers[i].name),
		    NULL, 10);
	t->compacts = strstr(value_of(entries, n, "cleanup.policy"),
	    "compact") != NULL;
	t->described = true;
}

/* Of a topic, or of the broker: whether it makes the topics that are missing. */
static void
read_resource(const rd_kafka_ConfigResource_t *r, struct kafka_topic *list,
    size_t n)
{
	const rd_kafka_ConfigEntry_t	**entries;
	struct kafka_topic		 *t;
	size_t				  nentries;

	entries = rd_kafka_ConfigResource_configs(r, &nentries);
	if (rd_kafka_ConfigResource_type(r) == RD_KAFKA_RESOURCE_BROKER) {
		const char *makes = value_of(entries, nentries,
		    "auto.create.topics.enable");

		for (size_t i = 0; i < n; i++) {
			list[i].is_made = strcmp(makes, "true") == 0;
			list[i].waits = strcmp(makes, "false") == 0;
		}
		return;
	}
	t = find_topic(list, n, rd_kafka_ConfigResource_name(r));
	if (t == NULL)
		return;
	if (rd_kafka_ConfigResource_error(r) == RD_KAFKA_RESP_ERR_NO_ERROR)
		read_settings(t, entries, nentries);
	else
		err_set(&t->why, "%s", rd_kafka_ConfigResource_error_string(r));
}

static void
ask_settings(struct kafka_asker *a, struct kafka_topic *list, size_t n)
{
	rd_kafka_queue_t		 *queue = rd_kafka_queue_new(a->rk);
	rd_kafka_ConfigResource_t	**asked = xcalloc(n + 1,
					    sizeof(rd_kafka_ConfigResource_t *));
	const rd_kafka_ConfigResource_t	**answers;
	rd_kafka_event_t		 *event;
	size_t				  nasked = 0, nanswers;

	for (size_t i = 0; i < n; i++) {
		err_set(&list[i].why, "no answer");
		if (list[i].exists)
			asked[nasked++] = rd_kafka_ConfigResource_new(
			    RD_KAFKA_RESOURCE_TOPIC, list[i].name);
	}
	asked[nasked++] = rd_kafka_ConfigResource_new(
	    RD_KAFKA_RESOURCE_BROKER, a->broker);
	rd_kafka_DescribeConfigs(a->rk, asked, nasked, NULL, queue);
	event = rd_kafka_queue_poll(queue, ASK_MS);
	if (event != NULL &&
	    rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		answers = rd_kafka_DescribeConfigs_result_resources(
		    rd_kafka_event_DescribeConfigs_result(event), &nanswers);
		for (size_t i = 0; i < nanswers; i++)
			read_resource(answers[i], list, n);
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy_array(asked, nasked);
	free(asked);
	rd_kafka_queue_destroy(queue);
}

/* Rights */

/*
 * May the user read?  Only reading tells: at the end of a partition, where the
 * answer is that nothing is there, or that it is forbidden.
 */
static void
ask_reading(struct kafka_asker *a, rd_kafka_topic_t **rkts,
    struct kafka_topic *list, size_t n)
{
	rd_kafka_queue_t	*queue = rd_kafka_queue_new(a->rk);
	int64_t			 until = clock_ms() + ASK_MS;
	rd_kafka_message_t	*m;
	struct kafka_topic	*t;
	bool			*reads = xcalloc(n, sizeof(*reads));
	size_t			 left = 0;

	for (size_t i = 0; i < n; i++) {
		reads[i] = rkts[i] != NULL && list[i].exists &&
		    list[i].leaderless == 0 && rd_kafka_consume_start_queue(
		    rkts[i], 0, RD_KAFKA_OFFSET_END, queue) == 0;
		left += reads[i];
	}
	while (left > 0 && clock_ms() < until) {
		m = rd_kafka_consume_queue(queue, (int)(until - clock_ms()));
		if (m == NULL)
			break;
		t = find_topic(list, n, rd_kafka_topic_name(m->rkt));
		t->forbidden = m->err ==
		    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
		left -= reads[t - list];
		if (reads[t - list])
			rd_kafka_consume_stop(m->rkt, 0);
		reads[t - list] = false;
		rd_kafka_message_destroy(m);
	}
	for (size_t i = 0; i < n; i++)
		if (reads[i])
			rd_kafka_consume_stop(rkts[i], 0);
	free(reads);
	rd_kafka_queue_destroy(queue);
}

int
kafka_topics_ask(struct kafka_asker *a, struct kafka_topic *list, size_t n,
    struct err *e)
{
	rd_kafka_topic_t	**rkts = xcalloc(n + 1, sizeof(*rkts));
	int			  rc;

	for (size_t i = 0; i < n; i++)
		list[i] = (struct kafka_topic){ .name = list[i].name,
		    .retention_ms = -1, .retention_bytes = -1 };
	rc = n == 0 ? 0 : ask_partitions(a, rkts, list, n, e);
	if (rc == 0 && n > 0) {
		ask_settings(a, list, n);
		ask_reading(a, rkts, list, n);
	}
	for (size_t i = 0; i < n; i++)
		if (rkts[i] != NULL)
			rd_kafka_topic_destroy(rkts[i]);
	free(rkts);
	return rc;
}

/* The brokers learn of it a moment later than their controller. */
static bool
is_there(rd_kafka_t *rk, const char *name)
{
	struct kafka_asker	 a = { .rk = rk };
	struct kafka_topic	 t = { .name = name };
	rd_kafka_topic_t	*rkt = NULL;
	struct err		 e;
	int			 rc = ask_partitions(&a, &rkt, &t, 1, &e);

	if (rkt != NULL)
		rd_kafka_topic_destroy(rkt);
	return rc == 0 && t.exists && t.leaderless == 0;
}

static int
add(rd_kafka_t *rk, rd_kafka_NewTopic_t *topic, bool dry, struct err *e)
{
	rd_kafka_queue_t		 *queue = rd_kafka_queue_new(rk);
	rd_kafka_AdminOptions_t		 *options = rd_kafka_AdminOptions_new(rk,
					    RD_KAFKA_ADMIN_OP_CREATETOPICS);
	rd_kafka_event_t		 *event;
	const rd_kafka_topic_result_t	**made;
	size_t				  n;
	int				  rc = 0;

	rd_kafka_AdminOptions_set_request_timeout(options, MAKE_MS, NULL, 0);
	rd_kafka_AdminOptions_set_operation_timeout(options, MAKE_MS / 2, NULL,
	    0);
	rd_kafka_AdminOptions_set_validate_only(options, dry, NULL, 0);
	rd_kafka_CreateTopics(rk, &topic, 1, options, queue);
	event = rd_kafka_queue_poll(queue, MAKE_MS);
	if (event == NULL)
		rc = err_set(e, "no answer");
	else if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		rc = err_set(e, "%s", rd_kafka_event_error_string(event));
	else {
		made = rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(event), &n);
		if (n == 1 && rd_kafka_topic_result_error(made[0]) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR)
			rc = err_set(e, "%s",
			    rd_kafka_topic_result_error_string(made[0]));
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return rc;
}

int
kafka_topic_add(const struct conf *c, const char *name, int64_t partitions,
    int64_t replicas, bool dry, struct err *e)
{
	rd_kafka_NewTopic_t	*topic;
	rd_kafka_t		*rk;
	char			 why[200];
	int			 rc = -1;

	topic = rd_kafka_NewTopic_new(name, (int)partitions, (int)replicas, why,
	    sizeof(why));
	if (topic == NULL)
		return err_set(e, "%s", why);
	if ((rk = kafka_client_consumer(c, "outboxctl", e)) != NULL)
		rc = add(rk, topic, dry, e);
	for (int64_t until = clock_ms() + MAKE_MS / 2; rc == 0 && !dry &&
	    !is_there(rk, name) && clock_ms() < until; )
		usleep(50000);
	kafka_client_free(rk);
	rd_kafka_NewTopic_destroy(topic);
	return rc;
}

/* Judgement */

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
judge_refusal(const struct conf *c, const struct kafka_topic *t,
    struct stream_report *r)
{
	struct buf	remedy = { 0 };

	traits_kafka.put_remedy(c, NULL, t->refused.text, &remedy);
	r->unfit = true;
	r->class = CLASS_PERMISSION;
	err_set(&r->why, "cannot be used: %.300s: %s", t->refused.text,
	    remedy.data);
	buf_free(&remedy);
}

static void
judge_partitions(const struct kafka_topic *t, struct stream_report *r)
{
	if (!t->exists && !t->waits) {
		find(&r->advice, "does not exist, and %s: outboxctl topic add "
		    "%s", t->is_made ? "the first message makes it with the "
		    "partitions that the brokers give by default" : "its "
		    "messages wait unless the brokers make it", t->name);
		return;
	}
	r->unfit = true;
	r->class = CLASS_OFFLINE;
	if (!t->exists) {
		r->class = CLASS_NO_STREAM;
		err_set(&r->why, "does not exist, so its messages wait: "
		    "outboxctl topic add %s, or correct kafka.topic", t->name);
	} else if (t->leaderless > 0)
		err_set(&r->why, "has no leader for %d of %d partitions: bring "
		    "back the brokers that are away", t->leaderless,
		    t->partitions);
	else if (t->described && t->in_sync < t->min_insync)
		err_set(&r->why, "has a partition with %d of its replicas in "
		    "sync, and takes messages with min.insync.replicas, %"
		    PRId64 ": bring back the brokers that are away",
		    t->in_sync, t->min_insync);
	else
		r->unfit = false;
	if (t->forbidden)
		find(&r->warnings, "may not be read, so a message whose answer "
		    "is lost waits for an operator, with its key, and lost "
		    "messages are not noticed: let the user of kafka.sasl read "
		    "it, the operation Read");
	if (t->exists && t->replicas < 2)
		find(&r->advice, "has one replica, so the loss of a broker's "
		    "disk is that of its messages: give it three replicas");
	if (t->behind > 0)
		find(&r->advice, "has %d of %d partitions with a replica that "
		    "is not in sync: bring back the brokers that are away",
		    t->behind, t->partitions);
}

#define DAY_MS	INT64_C(86400000)

/* What a topic is by default is no problem. */
static void
judge_settings(const struct conf *c, const struct kafka_topic *t,
    struct stream_report *r)
{
	int64_t	kept = c->retention.days * DAY_MS;

	if (t->replicas > 1 && t->min_insync < 2)
		find(&r->advice, "has min.insync.replicas %" PRId64 ", so a "
		    "message counts as delivered though one broker alone has "
		    "it: set it to 2", t->min_insync);
	if (t->compacts)
		find(&r->warnings, "is compacted, so of each key only the last "
		    "message stays: set cleanup.policy to delete");
	if (t->retention_ms >= 0 && t->retention_ms < DAY_MS)
		find(&r->warnings, "keeps a message for %" PRId64 " s, whether "
		    "it was read or not, from the time of its event, if that "
		    "is less than 12 hours before it is sent: raise "
		    "retention.ms", t->retention_ms / 1000);
	else if (t->retention_ms >= 0 && t->retention_ms < kept)
		find(&r->advice, "keeps a message for %" PRId64 " days, less "
		    "than retention.days of %" PRId64 ": raise retention.ms, "
		    "or lower that", t->retention_ms / DAY_MS,
		    c->retention.days);
	if (t->max_message_bytes < kafka_max_bytes(c))
		find(&r->advice, "takes records of %" PRId64 " bytes, and the "
		    "daemon sends up to %" PRId64 " at a time: set "
		    "message.max.bytes and batch.size in kafka.client, or raise "
		    "max.message.bytes", t->max_message_bytes,
		    kafka_max_bytes(c));
}

void
kafka_topic_judge(const struct conf *c, const struct kafka_topic *t,
    struct stream_report *r)
{
	*r = (struct stream_report){ .unfit = false };
	if (t->refused.text[0] != '\0') {
		judge_refusal(c, t, r);
		return;
	}
	judge_partitions(t, r);
	if (t->described)
		judge_settings(c, t, r);
	else if (t->exists)
		find(&r->advice, "has settings that are not known, %s: allow "
		    "the user of kafka.sasl DescribeConfigs", t->why.text);
}
