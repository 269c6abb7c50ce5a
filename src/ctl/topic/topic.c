/* topic.c - topic info, topic add: topics as the brokers and the daemon see them */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/state/state.h"
#include "kafka/kafka_topic.h"
#include "util/display.h"
#include "util/xalloc.h"

/* The named topics; NULL: *status, and the error was printed. */
static json_t *
ask(const struct ctl *c, int *status)
{
	struct err	 e;
	json_t		*topics = NULL;

	if (!conf_uses_kafka(c->conf))
		*status = ctl_refuse("it is for publish.driver: kafka", "topics "
		    "are those of Kafka");
	else if ((topics = state_topics(c->conf, c->args.rest,
	    (size_t)c->args.nrest, &e)) == NULL) {
		ctl_refuse("start the brokers, or correct the section kafka of "
		    "the configuration", "kafka: %s", e.text);
		*status = CTL_UNREACHABLE;
	}
	return topics;
}

int
topic_info(struct ctl *c)
{
	int	 status = CTL_DONE;
	json_t	*topics = ask(c, &status), *o, *f;
	size_t	 i, k;

	json_array_foreach(topics, i, o) {
		if (!c->args.json) {
			json_t	*shown = json_copy(o);
			char	*what = xasprintf("topic %s", member_text(o,
			    "topic"));

			json_object_del(shown, "findings");
			json_object_del(shown, "exists");
			print_object(c, shown);
			print_verdict(c, what, json_object_get(o, "findings"));
			free(what);
		}
		json_array_foreach(json_object_get(o, "findings"), k, f)
			if (strcmp(member_text(f, "level"), "fail") == 0)
				status = CTL_FAILED;
	}
	if (c->args.json && topics != NULL)
		print_object(c, json_pack("{s:O}", "topics", topics));
	json_decref(topics);
	return status;
}

/* It never changes a topic: other settings of an existing one may be wanted. */
static int
add(const struct ctl *c, const json_t *o, uint64_t *added)
{
	const char	*name = member_text(o, "topic");
	bool		 exists = member_true(o, "exists");
	struct err	 e;

	if (!exists && kafka_topic_add(c->conf, name, c->args.partitions,
	    c->args.replicas, c->args.dry_run, &e) < 0)
		return ctl_refuse("use -c with a configuration whose user may "
		    "create topics, or the tools of Kafka", "topic %s was not "
		    "made: %s", name, e.text);
	*added += !exists;
	if (!c->args.json)
		display_print(stdout, "topic %s %s\n", name, exists ? "exists" :
		    c->args.dry_run ? "would be made" : "made");
	return CTL_DONE;
}

int
topic_add(struct ctl *c)
{
	int		 status = CTL_DONE, rc;
	json_t		*topics = ask(c, &status), *o;
	uint64_t	 added = 0;
	size_t		 i;

	json_array_foreach(topics, i, o)
		if ((rc = add(c, o, &added)) != CTL_DONE)
			status = rc;
	if (c->args.json && topics != NULL)
		print_object(c, json_pack("{s:I, s:b}", "changed",
		    (json_int_t)added, "dry_run", c->args.dry_run));
	json_decref(topics);
	return status;
}
