/*
 * doctor_kafka.c - brokers of Kafka; what is wrong with topics is a problem or
 * advice, see doctor_problems.c
 */

#include "ctl/doctor/doctor.h"

#include "kafka/kafka_topic.h"
#include "util/display.h"

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
	kafka_asker_free(a);
}
