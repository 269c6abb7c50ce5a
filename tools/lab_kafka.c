/*
 * lab_kafka.c - topics of Kafka: make, change, fill, read and recreate them
 *
 * Everything by a client without a group, one partition after the other, from
 * the first record to the last one that was there when its turn came.
 */
#include <err.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>

#include "lab.h"

#define ANSWER_MS	20000
#define GONE		"gone."	/* gone.1.TOPIC: what TOPIC had at first */

static void __attribute__((noreturn))
die(const char *what, rd_kafka_resp_err_t code)
{
	errx(1, "Kafka: %s: %s", what, rd_kafka_err2str(code));
}

/* All that is sent has to be stored. */
static void
was_sent(rd_kafka_t *rk, const rd_kafka_message_t *m, void *arg)
{
	(void)rk;
	(void)arg;
	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("publishing", m->err);
}

static rd_kafka_t *
connect_to(const struct lab_opts *o, rd_kafka_type_t type)
{
	static const char *const settings[][2] = {
		{ "enable.partition.eof", "true" },
		{ "fetch.wait.max.ms", "20" },
		{ "fetch.message.max.bytes", "4194304" },
		{ "message.max.bytes", "20000000" },
		{ "receive.message.max.bytes", "100000000" },
		{ "queued.max.messages.kbytes", "65536" },
		{ "linger.ms", "0" },
		{ "enable.idempotence", "true" },
		/* A topic that was made a moment ago. */
		{ "topic.metadata.refresh.sparse", "false" },
		{ "topic.metadata.propagation.max.ms", "10000" },
		{ "log_level", "3" },
	};
	rd_kafka_conf_t	*conf = rd_kafka_conf_new();
	rd_kafka_t	*rk;
	char		 why[512];

	rd_kafka_conf_set_dr_msg_cb(conf, was_sent);
	if (rd_kafka_conf_set(conf, "bootstrap.servers", o->kafka, why,
	    sizeof(why)) != RD_KAFKA_CONF_OK)
		errx(1, "--kafka: %s", why);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		rd_kafka_conf_set(conf, settings[i][0], settings[i][1], NULL,
		    0);
	if ((rk = rd_kafka_new(type, conf, why, sizeof(why))) == NULL)
		errx(1, "Kafka: %s", why);
	return rk;
}

static const struct rd_kafka_metadata *
metadata_of(rd_kafka_t *rk)
{
	const struct rd_kafka_metadata	*md;
	rd_kafka_resp_err_t		 code;

	code = rd_kafka_metadata(rk, 1, NULL, &md, ANSWER_MS);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("asking for topics", code);
	return md;
}

/* How many partitions with a leader the topic has; -1: one has none. */
static int
partitions_of(rd_kafka_t *rk, const char *topic, bool *exists)
{
	const struct rd_kafka_metadata	*md = metadata_of(rk);
	int				 n = 0;

	*exists = false;
	for (int i = 0; i < md->topic_cnt; i++) {
		const struct rd_kafka_metadata_topic *t = &md->topics[i];

		if (strcmp(t->topic, topic) != 0)
			continue;
		*exists = true;
		for (int p = 0; p < t->partition_cnt && n >= 0; p++)
			n = t->partitions[p].leader < 0 ? -1 : n + 1;
	}
	rd_kafka_metadata_destroy(md);
	return n;
}

/* Wait until brokers know of so many partitions; 0: until it is gone. */
static void
wait_for_topic(rd_kafka_t *rk, const char *topic, int want)
{
	int64_t	end = lab_now_ms() + ANSWER_MS;
	bool	exists;

	while (partitions_of(rk, topic, &exists) != want ||
	    exists != (want > 0)) {
		if (lab_now_ms() > end)
			errx(1, "Kafka: %s does not get %d partitions", topic,
			    want);
		lab_pause(20);
	}
}

/*
 * The answer to a request of an administrator, for one topic.  Destroys the
 * event.
 */
static void
answer(rd_kafka_queue_t *queue, const char *what)
{
	rd_kafka_event_t	*ev = rd_kafka_queue_poll(queue, ANSWER_MS);
	const rd_kafka_topic_result_t **topics = NULL;
	const rd_kafka_ConfigResource_t **configs;
	size_t			 n = 0;

	if (ev == NULL)
		errx(1, "Kafka: %s: no answer", what);
	if (rd_kafka_event_error(ev) != RD_KAFKA_RESP_ERR_NO_ERROR)
		errx(1, "Kafka: %s: %s", what, rd_kafka_event_error_string(ev));
	switch (rd_kafka_event_type(ev)) {
	case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
		topics = rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(ev), &n);
		break;
	case RD_KAFKA_EVENT_DELETETOPICS_RESULT:
		topics = rd_kafka_DeleteTopics_result_topics(
		    rd_kafka_event_DeleteTopics_result(ev), &n);
		break;
	case RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT:
		topics = rd_kafka_CreatePartitions_result_topics(
		    rd_kafka_event_CreatePartitions_result(ev), &n);
		break;
	case RD_KAFKA_EVENT_ALTERCONFIGS_RESULT:
		configs = rd_kafka_AlterConfigs_result_resources(
		    rd_kafka_event_AlterConfigs_result(ev), &n);
		if (n == 1 && rd_kafka_ConfigResource_error(configs[0]) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR)
			errx(1, "Kafka: %s: %s", what,
			    rd_kafka_ConfigResource_error_string(configs[0]));
		break;
	default:
		errx(1, "Kafka: %s: %s", what, rd_kafka_event_name(ev));
	}
	if (topics != NULL && n == 1 && rd_kafka_topic_result_error(topics[0])
	    != RD_KAFKA_RESP_ERR_NO_ERROR)
		errx(1, "Kafka: %s: %s", what,
		    rd_kafka_topic_result_error_string(topics[0]));
	rd_kafka_event_destroy(ev);
}

/* Split KEY=VALUE; the caller frees the key, in which the value is. */
static char *
split(const char *text, const char **value)
{
	char	*key = lab_strdup(text), *equal = strchr(key, '=');

	if (equal == NULL)
		errx(1, "%s: must be KEY=VALUE", text);
	*equal = '\0';
	*value = equal + 1;
	return key;
}

static void
create_topic(rd_kafka_t *rk, rd_kafka_queue_t *queue, const char *topic,
    int partitions, const struct lab_opts *o)
{
	char			 why[512];
	const char		*value;
	rd_kafka_NewTopic_t	*nt;

	nt = rd_kafka_NewTopic_new(topic, partitions, (int)o->replicas, why,
	    sizeof(why));
	if (nt == NULL)
		errx(1, "Kafka: %s", why);
	for (size_t i = 0; i < o->nheaders; i++) {
		char *key = split(o->headers[i], &value);

		rd_kafka_NewTopic_set_config(nt, key, value);
		free(key);
	}
	rd_kafka_CreateTopics(rk, &nt, 1, NULL, queue);
	answer(queue, topic);
	rd_kafka_NewTopic_destroy(nt);
	wait_for_topic(rk, topic, partitions);
}

static void
delete_topic(rd_kafka_t *rk, rd_kafka_queue_t *queue, const char *topic)
{
	rd_kafka_DeleteTopic_t	*dt = rd_kafka_DeleteTopic_new(topic);

	rd_kafka_DeleteTopics(rk, &dt, 1, NULL, queue);
	answer(queue, topic);
	rd_kafka_DeleteTopic_destroy(dt);
	wait_for_topic(rk, topic, 0);
}

static void
add_partitions(rd_kafka_t *rk, rd_kafka_queue_t *queue,
    const struct lab_opts *o)
{
	char			 why[512];
	rd_kafka_NewPartitions_t *np;

	np = rd_kafka_NewPartitions_new(o->topic, (size_t)o->partitions, why,
	    sizeof(why));
	if (np == NULL)
		errx(1, "Kafka: %s", why);
	rd_kafka_CreatePartitions(rk, &np, 1, NULL, queue);
	answer(queue, o->topic);
	rd_kafka_NewPartitions_destroy(np);
	wait_for_topic(rk, o->topic, (int)o->partitions);
}

/* All others get their defaults back. */
static void
alter_configs(rd_kafka_t *rk, rd_kafka_queue_t *queue,
    const struct lab_opts *o)
{
	const char		*value;
	rd_kafka_ConfigResource_t *r;

	r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, o->topic);
	for (size_t i = 0; i < o->nheaders; i++) {
		char *key = split(o->headers[i], &value);

		rd_kafka_ConfigResource_set_config(r, key, value);
		free(key);
	}
	rd_kafka_AlterConfigs(rk, &r, 1, NULL, queue);
	answer(queue, o->topic);
	rd_kafka_ConfigResource_destroy(r);
}

int
lab_topic(const struct lab_opts *o)
{
	rd_kafka_t		*rk = connect_to(o, RD_KAFKA_PRODUCER);
	rd_kafka_queue_t	*queue = rd_kafka_queue_new(rk);
	bool			 exists;
	int			 n = partitions_of(rk, o->topic, &exists);

	if (o->delete && exists)
		delete_topic(rk, queue, o->topic);
	else if (!o->delete && !exists)
		create_topic(rk, queue, o->topic, (int)o->partitions, o);
	else if (!o->delete) {
		if (n < o->partitions)
			add_partitions(rk, queue, o);
		if (o->nheaders > 0)
			alter_configs(rk, queue, o);
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
	return 0;
}

/* A topic that is read, and of which generation it is; 0: the one of now. */
struct topic {
	char		*name;
	const char	*base;		/* without gone.N. */
	unsigned	 gone;
	int		 npartitions;
};

struct topics {
	struct topic	*at;
	size_t		 n;
};

/* gone.1.T before gone.2.T before T */
static int
topic_cmp(const void *a, const void *b)
{
	const struct topic	*x = a, *y = b;
	unsigned		 g = x->gone - 1, h = y->gone - 1;

	return g != h ? (g > h) - (g < h) : strcmp(x->name, y->name);
}

static void
add_topic(struct topics *all, const char *name, int npartitions)
{
	struct topic	*t;
	char		*end;

	all->at = lab_realloc(all->at, all->n + 1, sizeof(*t));
	t = &all->at[all->n++];
	*t = (struct topic){ .name = lab_strdup(name),
	    .npartitions = npartitions };
	t->base = t->name;
	if (strncmp(name, GONE, strlen(GONE)) == 0) {
		t->gone = (unsigned)strtoul(t->name + strlen(GONE), &end, 10);
		t->base = end + 1;
	}
}

/* In the list of names and patterns, with commas between. */
static bool
is_listed(const char *list, const char *name)
{
	char	*copy = lab_strdup(list), *save = NULL, *p;
	bool	 found = false;

	for (p = strtok_r(copy, ", ", &save); p != NULL && !found;
	    p = strtok_r(NULL, ", ", &save))
		found = fnmatch(p, name, 0) == 0;
	free(copy);
	return found;
}

static void
find_topics(rd_kafka_t *rk, const struct lab_opts *o, struct topics *all)
{
	const struct rd_kafka_metadata	*md = metadata_of(rk);
	const char			*base;

	*all = (struct topics){ NULL, 0 };
	for (int i = 0; i < md->topic_cnt; i++) {
		const char *name = md->topics[i].topic;

		base = name;
		if (strncmp(name, GONE, strlen(GONE)) == 0) {
			base += strlen(GONE);
			base += strspn(base, "0123456789");
			base += *base == '.';
		}
		if (is_listed(o->topic, base))
			add_topic(all, name, md->topics[i].partition_cnt);
	}
	rd_kafka_metadata_destroy(md);
	if (all->n > 0)
		qsort(all->at, all->n, sizeof(*all->at), topic_cmp);
}

static void
free_topics(struct topics *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->at[i].name);
	free(all->at);
}

struct reading {
	rd_kafka_t	*rk;
	uint64_t	 n;		/* records so far */
	void		(*each)(void *, const struct lab_msg *);
	void		*arg;
};

static void
give(struct reading *r, const struct topic *t, const rd_kafka_message_t *m)
{
	rd_kafka_timestamp_type_t	 type;
	rd_kafka_headers_t		*headers = NULL;
	struct lab_msg			 msg;

	rd_kafka_message_headers(m, &headers);
	msg = (struct lab_msg){ .data = m->payload != NULL ? m->payload : "",
	    .len = m->len, .subject = t->base, .number = ++r->n,
	    .when = rd_kafka_message_timestamp(m, &type) * 1000000,
	    .gone = t->gone, .kafka = headers, .is_record = true,
	    .partition = m->partition, .offset = m->offset,
	    .key = m->key, .key_len = m->key_len };
	snprintf(msg.where, sizeof(msg.where), "%.250s/%d at %lld", t->name,
	    (int)m->partition, (long long)m->offset);
	r->each(r->arg, &msg);
}

/* An error of a broker that is away is one of its own: it goes on. */
static void
read_partition(struct reading *r, const struct topic *t, int32_t partition)
{
	rd_kafka_topic_t	*rkt = rd_kafka_topic_new(r->rk, t->name, NULL);
	rd_kafka_message_t	*m;
	bool			 end = false;
	int64_t			 deadline = lab_now_ms() + ANSWER_MS;

	if (rkt == NULL || rd_kafka_consume_start(rkt, partition,
	    RD_KAFKA_OFFSET_BEGINNING) < 0)
		die(t->name, rd_kafka_last_error());
	while (!end) {
		if (lab_now_ms() > deadline)
			errx(1, "Kafka: %s/%d: no more records, and no end",
			    t->name, (int)partition);
		if ((m = rd_kafka_consume(rkt, partition, 100)) == NULL)
			continue;
		end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			give(r, t, m);
			deadline = lab_now_ms() + ANSWER_MS;
		} else if (!end && m->err != RD_KAFKA_RESP_ERR__TRANSPORT &&
		    m->err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
			die(t->name, m->err);
		rd_kafka_message_destroy(m);
	}
	rd_kafka_consume_stop(rkt, partition);
	rd_kafka_topic_destroy(rkt);
}

void
lab_read_topics(const struct lab_opts *o,
    void (*each)(void *, const struct lab_msg *), void *arg)
{
	struct reading	r = { .each = each, .arg = arg };
	struct topics	all;

	r.rk = connect_to(o, RD_KAFKA_CONSUMER);
	find_topics(r.rk, o, &all);
	for (size_t i = 0; i < all.n; i++)
		for (int p = 0; p < all.at[i].npartitions; p++)
			read_partition(&r, &all.at[i], p);
	free_topics(&all);
	rd_kafka_destroy(r.rk);
}

uint64_t
lab_topic_count(const struct lab_opts *o)
{
	rd_kafka_t		*rk = connect_to(o, RD_KAFKA_CONSUMER);
	struct topics		 all;
	rd_kafka_resp_err_t	 code;
	int64_t			 low, high;
	uint64_t		 n = 0;

	find_topics(rk, o, &all);
	for (size_t i = 0; i < all.n; i++)
		for (int p = 0; p < all.at[i].npartitions; p++) {
			code = rd_kafka_query_watermark_offsets(rk,
			    all.at[i].name, p, &low, &high, ANSWER_MS);
			if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
				die(all.at[i].name, code);
			n += (uint64_t)(high - low);
		}
	free_topics(&all);
	rd_kafka_destroy(rk);
	return n;
}

struct copying {
	rd_kafka_t	*rk;
	const char	*into;
};

static void
copy_record(void *arg, const struct lab_msg *m)
{
	struct copying		*c = arg;
	char			 topic[300];
	rd_kafka_headers_t	*headers;
	rd_kafka_resp_err_t	 code;

	snprintf(topic, sizeof(topic), "%s.%s", c->into, m->subject);
	do {
		headers = m->kafka != NULL ? rd_kafka_headers_copy(m->kafka) :
		    rd_kafka_headers_new(0);
		code = rd_kafka_producev(c->rk, RD_KAFKA_V_TOPIC(topic),
		    RD_KAFKA_V_PARTITION(m->partition),
		    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		    RD_KAFKA_V_KEY(m->key, m->key_len),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)m->data, m->len),
		    RD_KAFKA_V_TIMESTAMP(m->when / 1000000),
		    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
			rd_kafka_headers_destroy(headers);
		rd_kafka_poll(c->rk,
		    code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
	} while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("copying", code);
}

static void
flush(rd_kafka_t *rk)
{
	rd_kafka_resp_err_t	code = rd_kafka_flush(rk, ANSWER_MS);

	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("publishing", code);
}

static int64_t
end_of(rd_kafka_t *rk, const char *topic, int32_t partition)
{
	int64_t			low, high;
	rd_kafka_resp_err_t	code;

	code = rd_kafka_query_watermark_offsets(rk, topic, partition, &low,
	    &high, ANSWER_MS);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die(topic, code);
	return high;
}

static void
recreate(rd_kafka_t *rk, const struct topic *t, const struct lab_opts *o)
{
	rd_kafka_queue_t	*queue = rd_kafka_queue_new(rk);
	struct copying		 c = { .rk = rk, .into = o->into };
	struct reading		 r = { .each = copy_record, .arg = &c };
	struct lab_opts		 plain = { .replicas = o->replicas };
	char			 name[300];

	snprintf(name, sizeof(name), "%s.%s", o->into, t->name);
	create_topic(rk, queue, name, t->npartitions, &plain);
	r.rk = connect_to(o, RD_KAFKA_CONSUMER);
	for (int p = 0; p < t->npartitions; p++)
		read_partition(&r, t, p);
	flush(rk);
	rd_kafka_destroy(r.rk);
	for (int p = 0; p < t->npartitions; p++)
		if (end_of(rk, t->name, p) != end_of(rk, name, p))
			errx(1, "Kafka: %s/%d got records while it was copied",
			    t->name, p);
	delete_topic(rk, queue, t->name);
	create_topic(rk, queue, t->name, t->npartitions, o);
	rd_kafka_queue_destroy(queue);
}

/* Nobody may send to it meanwhile; what was sent before has a second. */
int
lab_recreate(const struct lab_opts *o)
{
	rd_kafka_t	*rk = connect_to(o, RD_KAFKA_PRODUCER);
	struct topics	 all;

	lab_pause(1000);
	find_topics(rk, o, &all);
	for (size_t i = 0; i < all.n; i++)
		if (all.at[i].gone == 0)
			recreate(rk, &all.at[i], o);
	free_topics(&all);
	rd_kafka_destroy(rk);
	return 0;
}

int
lab_publish_record(const struct lab_opts *o)
{
	rd_kafka_t		*rk = connect_to(o, RD_KAFKA_PRODUCER);
	rd_kafka_headers_t	*headers = rd_kafka_headers_new(o->nheaders);
	rd_kafka_resp_err_t	 code;
	const char		*value;

	if (o->id != NULL)
		rd_kafka_header_add(headers, "Outbox-Id", -1, o->id, -1);
	for (size_t i = 0; i < o->nheaders; i++) {
		char *key = split(o->headers[i], &value);

		rd_kafka_header_add(headers, key, -1, value, -1);
		free(key);
	}
	code = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(o->topic),
	    RD_KAFKA_V_PARTITION((int32_t)o->partition),
	    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
	    RD_KAFKA_V_KEY(o->key, (o->key != NULL ? strlen(o->key) : 0)),
	    RD_KAFKA_V_VALUE((void *)(uintptr_t)o->data, strlen(o->data)),
	    RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("publishing", code);
	flush(rk);
	rd_kafka_destroy(rk);
	return 0;
}

static void
list_record(void *arg, const struct lab_msg *m)
{
	const char	*event = lab_header(m, "Outbox-Sequence");

	(void)arg;
	if (m->gone > 0)
		printf(GONE "%u.", m->gone);
	printf("%s/%d %lld %s %lld\n", m->subject, (int)m->partition,
	    (long long)m->offset, event != NULL ? event : "-",
	    (long long)m->when);
}

int
lab_list_records(const struct lab_opts *o)
{
	lab_read_topics(o, list_record, NULL);
	if (fflush(stdout) != 0)
		err(1, "writing the list");
	return 0;
}

static void
show_record(void *arg, const struct lab_msg *m)
{
	const struct lab_opts	*o = arg;
	const char		*name;
	const void		*value;
	size_t			 size;

	if (m->partition != o->partition || m->offset != o->seq)
		return;
	printf("Topic: %s\nPartition: %d\nOffset: %lld\nTime: %lld\nKey: %.*s\n",
	    m->subject, (int)m->partition, (long long)m->offset,
	    (long long)(m->when / 1000000), (int)m->key_len,
	    m->key != NULL ? (const char *)m->key : "");
	for (size_t i = 0; m->kafka != NULL && rd_kafka_header_get_all(m->kafka,
	    i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
		printf("%s: %.*s\n", name, (int)size, (const char *)value);
	putchar('\n');
	fwrite(m->data, 1, m->len, stdout);
	putchar('\n');
}

int
lab_show_record(const struct lab_opts *o)
{
	struct lab_opts	copy = *o;

	lab_read_topics(o, show_record, &copy);
	return 0;
}
