/* topic_info.c - topic info: topics as the brokers and the daemon see them */

#include <stdio.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/base/screen.h"
#include "kafka/kafka_topic.h"
#include "util/display.h"

#define INDENT	8	/* of a finding, behind its level */

static json_t *
limit_json(const struct kafka_topic *t, int64_t n)
{
	return t->described && n >= 0 ? json_integer(n) : json_null();
}

static void
put_finding(json_t *list, const char *level, const struct err *e)
{
	json_array_append_new(list, json_pack("{s:s, s:s}", "level", level,
	    "text", e->text));
}

static json_t *
topic_json(const char *name, const struct kafka_topic *t,
    const struct stream_report *r)
{
	json_t	*o = json_pack("{s:s, s:b}", "topic", name, "exists",
		    t->exists);
	json_t	*list = json_array();

	if (t->exists) {
		json_object_set_new(o, "partitions",
		    json_integer(t->partitions));
		json_object_set_new(o, "replicas", json_integer(t->replicas));
		json_object_set_new(o, "without_leader",
		    json_integer(t->leaderless));
		json_object_set_new(o, "not_in_sync", json_integer(t->behind));
		json_object_set_new(o, "min_insync_replicas",
		    limit_json(t, t->min_insync));
		json_object_set_new(o, "retention_ms",
		    limit_json(t, t->retention_ms));
		json_object_set_new(o, "retention_bytes",
		    limit_json(t, t->retention_bytes));
		json_object_set_new(o, "max_message_bytes",
		    limit_json(t, t->max_message_bytes));
	}
	if (r->unfit)
		put_finding(list, "fail", &r->why);
	for (size_t i = 0; i < r->warnings.n; i++)
		put_finding(list, "warn", &r->warnings.list[i]);
	for (size_t i = 0; i < r->advice.n; i++)
		put_finding(list, "advice", &r->advice.list[i]);
	json_object_set_new(o, "findings", list);
	return o;
}

static void
say_findings(const struct ctl *c, const json_t *o)
{
	json_t	*list = json_object_get(o, "findings"), *f;
	size_t	 i;

	json_array_foreach(list, i, f) {
		const char *level = member_text(f, "level");

		screen_put(screen_colour_of(level), level);
		display_print(screen_out(), "%*s",
		    INDENT - display_width(level), "");
		screen_put_lines(c, INDENT, member_text(f, "text"));
	}
}

/* With --json one document has all topics. */
static int
show_topic(const struct ctl *c, struct kafka_asker *a, const char *name,
    json_t *all)
{
	struct kafka_topic	 t;
	struct stream_report	 r;
	struct err		 e;
	json_t			*o, *shown;

	if (kafka_topic_ask(a, name, &t, &e) < 0)
		return ctl_error("topic %s: %s", name, e.text);
	kafka_topic_judge(c->conf, name, &t, &r);
	o = topic_json(name, &t, &r);
	if (!c->args.json) {
		shown = json_copy(o);
		json_object_del(shown, "findings");
		json_object_del(shown, "exists");
		print_object(c, shown);
		say_findings(c, o);
	}
	json_array_append_new(all, o);
	return r.unfit ? CTL_FAILED : CTL_DONE;
}

int
topic_info(struct ctl *c)
{
	struct kafka_asker	*a;
	json_t			*all;
	struct err		 e;
	int			 status = CTL_DONE;

	if (!conf_uses_kafka(c->conf))
		return ctl_refuse("it is for publish.driver: kafka",
		    "topic info asks brokers of Kafka");
	if ((a = kafka_asker_new(c->conf, &e)) == NULL)
		return (ctl_refuse("start the brokers, or correct the section "
		    "kafka of the configuration", "kafka: %s", e.text),
		    CTL_UNREACHABLE);
	all = json_array();
	for (int i = 0; i < c->args.nrest; i++) {
		int rc = show_topic(c, a, c->args.rest[i], all);

		status = status == CTL_DONE ? rc : status;
	}
	kafka_asker_free(a);
	if (c->args.json)
		print_object(c, json_pack("{s:o}", "topics", all));
	else
		json_decref(all);
	return status;
}
