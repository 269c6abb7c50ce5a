/* setup_topic.c - the topic of Kafka that the event goes to: made, or judged */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/setup/setup.h"
#include "ctl/state/state.h"
#include "drivers/traits/traits.h"
#include "kafka/kafka_topic.h"
#include "util/display.h"

/* Print what a person with other tools, or other rights, has to run. */
static void
print_command(const struct setup *s, const char *intro)
{
	const struct args	*a = &s->ctl->args;

	if (a->json)
		return;
	display_print(stdout, "%s:\n\n    kafka-topics.sh --bootstrap-server "
	    "%s --create --topic %s", intro,
	    s->ctl->conf->kafka.brokers.items[0], s->topic);
	if (a->partitions > 0)
		display_print(stdout, " --partitions %lld",
		    (long long)a->partitions);
	if (a->replicas > 0)
		display_print(stdout, " --replication-factor %lld",
		    (long long)a->replicas);
	display_print(stdout, "\n\n");
	fflush(stdout);
}

char *
setup_topic_name(const struct ctl *c)
{
	/* Without an event its own topic is not needed. */
	if (c->args.no_event &&
	    strchr(traits_template(c->conf, NULL), '{') != NULL)
		return NULL;
	return state_topic_of(c->conf, SETUP_TYPE);
}

int
setup_print_topic(struct setup *s)
{
	if (s->topic == NULL)
		return CTL_DONE;
	print_command(s, "If the topic is missing, setup creates it as this "
	    "does");
	if (s->ctl->args.json)
		setup_step(s, "topic", "%s would be created if it is missing",
		    s->topic);
	return CTL_DONE;
}

static int
make(struct setup *s)
{
	const struct args	*a = &s->ctl->args;
	struct err		 e;

	if (kafka_topic_add(s->ctl->conf, s->topic, a->partitions, a->replicas,
	    false, &e) < 0) {
		print_command(s, "An administrator of the brokers has to run");
		return ctl_error("topic %s was not created: %s", s->topic,
		    e.text);
	}
	setup_step(s, "topic", "%s created", s->topic);
	return CTL_DONE;
}

int
setup_topic(struct setup *s)
{
	struct err	 e;
	json_t		*topics, *topic;
	int		 status;

	if (s->topic == NULL)
		return CTL_DONE;
	topics = state_topics(s->ctl->conf, &s->topic, 1, &e);
	if (topics == NULL)
		return (ctl_refuse("start the brokers, or correct the section "
		    "kafka of the configuration", "kafka: %s", e.text),
		    CTL_UNREACHABLE);
	topic = json_array_get(topics, 0);
	status = member_true(topic, "exists") ? setup_judge(s, "topic",
	    s->topic, json_object_get(topic, "findings")) : make(s);
	json_decref(topics);
	return status;
}
