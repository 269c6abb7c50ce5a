/*
 * doctor_kafka.c - brokers of Kafka, and the topics of the event types
 */

#include "ctl/doctor/doctor.h"

#include <string.h>

#include "kafka/kafka_topic.h"
#include "util/display.h"

#define TOPICS	20	/* that are asked for */

static void
check_tls(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	char			 host[CONF_HOST];

	if (conf_kafka_tls(c) != TLS_DISABLE) {
		doctor_say(d, DOCTOR_OK, "broker tls", "for all brokers");
		return;
	}
	for (size_t i = 0; i < c->kafka.brokers.n; i++) {
		conf_url_host(c->kafka.brokers.items[i], host);
		if (conf_is_loopback(host))
			continue;
		doctor_say(d, DOCTOR_ADVICE, "broker tls", "%s: messages can be "
		    "read on the network: set kafka.tls.mode: verify",
		    c->kafka.brokers.items[i]);
		return;
	}
	doctor_say(d, DOCTOR_OK, "broker tls", "not needed on this host");
}

static void
check_topic(struct doctor *d, struct kafka_asker *a, const char *name)
{
	struct kafka_topic	t;
	struct stream_report	r;
	struct err		e;

	if (kafka_topic_ask(a, name, &t, &e) < 0) {
		doctor_say(d, DOCTOR_WARN, "topic", "%s: %s", name, e.text);
		return;
	}
	kafka_topic_judge(d->ctl->conf, name, &t, &r);
	if (r.unfit)
		doctor_say(d, t.exists ? DOCTOR_FAIL : DOCTOR_WARN, "topic",
		    "%s", r.why.text);
	for (size_t i = 0; i < r.warnings.n; i++)
		doctor_say(d, DOCTOR_WARN, "topic", "%s",
		    r.warnings.list[i].text);
	for (size_t i = 0; i < r.advice.n; i++)
		doctor_say(d, DOCTOR_ADVICE, "topic", "%s",
		    r.advice.list[i].text);
	if (!r.unfit && r.warnings.n == 0 && r.advice.n == 0)
		doctor_say(d, DOCTOR_OK, "topic", "%s: partitions %d, replicas "
		    "%d, of which %lld must be in sync", name, t.partitions,
		    t.replicas, (long long)t.min_insync);
}

void
doctor_kafka(struct doctor *d)
{
	struct kafka_asker	*a;
	struct err		 e;

	check_tls(d);
	/* Brokers that are away are a problem, see doctor_problems.c. */
	if ((a = kafka_asker_new(d->ctl->conf, &e)) == NULL)
		return;
	doctor_say(d, DOCTOR_OK, "broker", "connected; the cluster has %d, and "
	    "takes messages of up to %s bytes, as far as its topics do",
	    kafka_asker_brokers(a),
	    DISPLAY_NUMBER(kafka_max_bytes(d->ctl->conf)));
	if (strchr(d->ctl->conf->kafka.topic, '{') == NULL)
		check_topic(d, a, d->ctl->conf->kafka.topic);
	kafka_asker_free(a);
}

void
doctor_topics(struct doctor *d, char *const *topics, size_t n)
{
	struct kafka_asker	*a;
	struct err		 e;

	if ((a = kafka_asker_new(d->ctl->conf, &e)) == NULL)
		return;
	for (size_t i = 0; i < n && i < TOPICS; i++)
		check_topic(d, a, topics[i]);
	if (n > TOPICS)
		doctor_say(d, DOCTOR_OK, "topic", "and %zu others: see "
		    "outboxctl topic info", n - TOPICS);
	kafka_asker_free(a);
}
