/* stream_info.c - stream info: the stream as the broker and daemon see it */

#include <stdio.h>
#include <string.h>

#include "ctl/stream/broker.h"
#include "nats/bus.h"
#include "util/display.h"

#define MS_NS	INT64_C(1000000)

/* A limit; null: there is none. */
static json_t *
limit_json(const json_t *config, const char *name, json_int_t unit)
{
	json_int_t	n = json_integer_value(json_object_get(config, name));

	return n > 0 ? json_integer(n / unit) : json_null();
}

/* The broker's member of that name, under ours. */
static void
put_copy(json_t *o, const char *ours, const json_t *from, const char *name)
{
	json_t	*v = json_object_get(from, name);

	json_object_set_new(o, ours, v == NULL ? json_null() : json_incref(v));
}

static void
put_config(json_t *o, const json_t *config)
{
	put_copy(o, "subjects", config, "subjects");
	put_copy(o, "retention", config, "retention");
	put_copy(o, "storage", config, "storage");
	put_copy(o, "replicas", config, "num_replicas");
	member_set(o, "duplicate_window_ms", (json_int_t)
	    (member_number(config, "duplicate_window") / MS_NS));
	json_object_set_new(o, "max_messages",
	    limit_json(config, "max_msgs", 1));
	json_object_set_new(o, "max_bytes",
	    limit_json(config, "max_bytes", 1));
	json_object_set_new(o, "max_age_ms",
	    limit_json(config, "max_age", MS_NS));
	json_object_set_new(o, "max_message_bytes",
	    limit_json(config, "max_msg_size", 1));
	json_object_set_new(o, "max_per_subject",
	    limit_json(config, "max_msgs_per_subject", 1));
	put_copy(o, "discard", config, "discard");
	json_object_set_new(o, "sealed",
	    json_boolean(member_true(config, "sealed")));
}

static json_t *
info_json(const struct ctl *c, const struct buf *answer)
{
	json_t		*info = json_loadb(answer->data, answer->len, 0, NULL);
	json_t		*config = json_object_get(info, "config");
	json_t		*o = json_pack("{s:s, s:b}", "stream",
			    c->conf->nats.stream, "exists", config != NULL);
	const json_t	*state;

	if (config != NULL) {
		put_config(o, config);
		put_copy(o, "created", info, "created");
		put_copy(o, "domain", info, "domain");
		state = json_object_get(info, "state");
		put_copy(o, "messages", state, "messages");
		put_copy(o, "bytes", state, "bytes");
		put_copy(o, "first_sequence", state, "first_seq");
		put_copy(o, "last_sequence", state, "last_seq");
		put_copy(o, "consumers", state, "consumer_count");
	}
	json_object_set_new(o, "findings", broker_verdict(c, answer));
	json_decref(info);
	return o;
}

/* The same object for people: durations and lists in words, no findings. */
static json_t *
in_words(const json_t *o)
{
	json_t		*words = json_object(), *v, *item;
	struct buf	 list = { 0 };
	const char	*name;
	size_t		 i;

	json_object_foreach((json_t *)o, name, v) {
		size_t	n = strlen(name);
		char	without[64];

		if (strcmp(name, "findings") == 0 ||
		    strcmp(name, "exists") == 0)
			continue;
		snprintf(without, sizeof(without), "%.*s", (int)n - 3, name);
		if (json_is_array(v)) {
			buf_str(&list, "");
			json_array_foreach(v, i, item)
				buf_printf(&list, "%s%s", i == 0 ? "" : ", ",
				    json_string_value(item));
			json_object_set_new(words, name,
			    json_string(list.data));
			buf_free(&list);
		} else if (strcmp(name + n - 3, "_ms") != 0) {
			json_object_set(words, name, v);
		} else {
			json_object_set_new(words, without, json_is_null(v) ?
			    json_null() : span_json(json_integer_value(v)));
		}
	}
	return words;
}

/* A finding of the level fail stands in front of the others. */
static int
show_info(const struct ctl *c, const struct buf *answer)
{
	json_t		*o = info_json(c, answer);
	const json_t	*findings = json_object_get(o, "findings");
	bool		 none = json_array_size(findings) == 0;
	int		 status = !none && strcmp(member_text(json_array_get(
			    findings, 0), "level"), "fail") == 0 ?
			    CTL_FAILED : CTL_DONE;

	if (c->args.json) {
		print_object(c, o);
		return status;
	}
	if (member_true(o, "exists"))
		print_object(c, in_words(o));
	if (none)
		display_print(stdout, "ok      the daemon can use this "
		    "stream, and its settings are safe\n");
	print_verdict(c, "the stream", findings);
	json_decref(o);
	return status;
}

int
stream_info(struct ctl *c)
{
	struct pub	bus;
	struct buf	answer = { 0 };
	int		status = broker_needed(c);

	if (status != CTL_DONE)
		return status;
	if (c->conf->nats.stream[0] == '\0')
		return ctl_error("nats.stream is not set, so the daemon takes "
		    "any stream: set it");
	if ((status = broker_open(c, &bus)) == CTL_DONE &&
	    (status = broker_ask(&bus, "INFO", "", &answer)) == CTL_DONE)
		status = show_info(c, &answer);
	pub_free(&bus);
	buf_free(&answer);
	return status;
}
