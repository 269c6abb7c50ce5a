/* traits_kafka.c - topics of Apache Kafka */

#include "drivers/traits/traits.h"

#include <string.h>

#include "common/advice.h"

#define TOPIC_MAX	249	/* bytes, of Kafka */

/* The first match counts; the errors are those of librdkafka. */
static const struct advice advice[] = {
	{ ": kafka.client", "correct it in the file; outbox-master -t checks "
	  "it" },
	{ "may not read", "let the user of kafka.sasl read the topic: the "
	  "operations Read and Describe" },
	{ "Topic authorization failed", "let the user of kafka.sasl write to "
	  "the topic: the operations Write and Describe, and Create if it is "
	  "to be made" },
	{ "Cluster authorization failed", "let the user of kafka.sasl write: "
	  "the operation Write of the topics, or IdempotentWrite of the "
	  "cluster" },
	{ "uthentication", "correct kafka.sasl, or the user on the brokers" },
	{ "Unknown topic", "create the topic, or correct kafka.topic" },
	{ "in-sync replicas", "bring back the brokers that are away, or lower "
	  "min.insync.replicas of the topic" },
	{ "too large", "raise max.message.bytes of the topic, and "
	  "message.max.bytes in kafka.client" },
	{ "SSL", "correct kafka.tls, or the brokers' certificates" },
	{ "certificate", "correct kafka.tls, or the brokers' certificates" },
	{ "Failed to resolve", "correct kafka.brokers, or advertised.listeners "
	  "of the brokers: their names must be known here" },
	{ "imed out", "if the brokers run, see their logs: a partition may "
	  "have no leader" },
	{ NULL, NULL }
};

static bool
is_legal(const char *text, size_t len)
{
	static const char	legal[] = "0123456789._-"
				    "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (size_t i = 0; i < len; i++)
		if (memchr(legal, text[i], sizeof(legal) - 1) == NULL)
			return false;
	return len > 0;
}

static bool
takes_key(struct bytes key)
{
	return is_legal(key.data, key.len);
}

static int
check_topic(const char *topic, size_t len, struct err *e)
{
	if (len == 0 || len > TOPIC_MAX)
		return err_set(e, "topic of %zu bytes is not legal: it must "
		    "have 1 to %d", len, TOPIC_MAX);
	if (!is_legal(topic, len))
		return err_set(e, "topic \"%s\" is not legal: it may only have "
		    "letters, digits, ., _ and -; see publish.type_case and "
		    "publish.type_aliases", topic);
	if (strcmp(topic, ".") == 0 || strcmp(topic, "..") == 0)
		return err_set(e, "topic \"%s\" is not legal", topic);
	return 0;
}

/* A topic that is missing is named: "topic NAME: ...". */
static void
put_remedy(const struct conf *conf, const struct conf_route *rule,
    const char *error, struct buf *b)
{
	const char	*topic = strstr(error, "topic ");

	(void)rule;
	if (topic != NULL && strstr(topic, ": Unknown topic") != NULL) {
		topic += strlen("topic ");
		buf_str(b, "outboxctl topic add ");
		buf_add(b, topic, strcspn(topic, ":"));
		buf_str(b, ", or correct kafka.topic");
		return;
	}
	advice_put(advice, error, "brokers", &conf->kafka.brokers,
	    "kafka.brokers", b);
}

const struct driver_traits traits_kafka = {
	.noun = "broker",
	.has_topics = true,
	.template_key = "kafka.topic",
	.template = offsetof(struct conf, kafka.topic),
	.own_template = offsetof(struct conf_route, subject),
	.takes_key = takes_key,
	.check = check_topic,
	.audit = { CONF_TOPICS, "", ":", "rows", "kafka.recover" },
	.head = {
		{ "kafka", offsetof(struct conf, kafka.brokers), true },
		{ "topic", offsetof(struct conf, kafka.topic), false },
	},
	.put_remedy = put_remedy,
};
