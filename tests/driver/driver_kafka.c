/*
 * driver_kafka.c - a broker as a destination, see driver_test.h
 *
 * Each case has a topic of its own, and reads it to its end with a consumer.
 */

#include "driver/driver_test.h"

#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <unistd.h>

#include "util/clock.h"

static char	topic[64];
static bool	away;

void
start_kafka(void)
{
	servers_start("kafka", "kafka", NULL);
}

static rd_kafka_t *
new_client(rd_kafka_type_t type)
{
	rd_kafka_conf_t	*rc = rd_kafka_conf_new();
	char		 address[40], why[200];
	rd_kafka_t	*rk;

	snprintf(address, sizeof(address), "127.0.0.1:%s",
	    servers_get("kafka", "PORT"));
	rd_kafka_conf_set(rc, "bootstrap.servers", address, NULL, 0);
	if (type == RD_KAFKA_CONSUMER) {
		rd_kafka_conf_set(rc, "group.id", "test", NULL, 0);
		rd_kafka_conf_set(rc, "enable.partition.eof", "true", NULL, 0);
	}
	rk = rd_kafka_new(type, rc, why, sizeof(why));
	ck_assert_msg(rk != NULL, "%s", why);
	return rk;
}

static void
make_topic(void)
{
	rd_kafka_t		*rk = new_client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t	*queue = rd_kafka_queue_new(rk);
	rd_kafka_NewTopic_t	*new;
	rd_kafka_event_t	*event;

	new = rd_kafka_NewTopic_new(topic, 3, 1, NULL, 0);
	rd_kafka_CreateTopics(rk, &new, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, 10000);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_NewTopic_destroy(new);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static void
feel(enum mood mood)
{
	if (mood == AWAY) {
		servers_kill("kafka");
		away = true;
	} else if (away) {
		servers_restart("kafka");
		away = false;
	} else if (mood == SILENT || mood == FINE)
		servers_signal("kafka", mood == SILENT ? SIGSTOP : SIGCONT);
}

static struct conf *
begin(void)
{
	/* A case that failed may have left it like this. */
	away = !servers_runs("kafka");
	feel(FINE);
	snprintf(topic, sizeof(topic), "t%d", (int)getpid());
	make_topic();
	return servers_conf("mysql: {database: app}\n"
	    "publish: {driver: kafka, timeout_ms: 2000}\n"
	    "kafka: {brokers: ['127.0.0.1:%s'], topic: %s,\n"
	    "  client: {message.max.bytes: 4608}}\n",
	    servers_get("kafka", "PORT"), topic);
}

static void
end(void)
{
	feel(FINE);
}

static uint64_t
sequence_of(const rd_kafka_message_t *m)
{
	rd_kafka_headers_t	*headers;
	const void		*value;
	size_t			 n;

	ck_assert_int_eq(rd_kafka_message_headers(m, &headers), 0);
	ck_assert_int_eq(rd_kafka_header_get_last(headers, "Outbox-Sequence",
	    &value, &n), 0);
	return strtoull(value, NULL, 10);
}

/* In the order of each partition; a key is in one. */
static size_t
list(uint64_t *sequences, size_t max)
{
	rd_kafka_t			*rk = new_client(RD_KAFKA_CONSUMER);
	rd_kafka_topic_partition_list_t	*parts;
	rd_kafka_message_t		*m;
	size_t				 n = 0;
	int				 ends = 0;

	rd_kafka_poll_set_consumer(rk);
	parts = rd_kafka_topic_partition_list_new(3);
	for (int i = 0; i < 3; i++)
		rd_kafka_topic_partition_list_add(parts, topic, i)->offset =
		    RD_KAFKA_OFFSET_BEGINNING;
	ck_assert_int_eq(rd_kafka_assign(rk, parts), 0);
	for (int64_t until = patience(); ends < 3; ) {
		wait_more(&until, "the ends of the partitions");
		if ((m = rd_kafka_consumer_poll(rk, 100)) == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			ends++;
		else if (m->err == 0 && n < max)
			sequences[n++] = sequence_of(m);
		rd_kafka_message_destroy(m);
	}
	rd_kafka_topic_partition_list_destroy(parts);
	rd_kafka_destroy(rk);
	return n;
}

const struct destination	to_kafka = {
	.name = "kafka", .driver = "kafka", .begin = begin, .end = end,
	.feel = feel, .list = list,
	.cannot = {
		[REFUSES_ALL] = "tests/kafka/check_kafka.c has each refusal",
		[CUTS] = "the producer sends again what broke off",
	},
};
