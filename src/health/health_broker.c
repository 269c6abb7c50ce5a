/* health_broker.c - problems of the broker and its stream */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

static void
judge_settings(struct health *h, const json_t *texts, enum health_id id,
    const char *remedy)
{
	json_t	*text;
	size_t	 i;

	json_array_foreach(texts, i, text)
		health_add(h, id, (struct health_about){ NULL, json_pack(
		    "{s:s}", "stream", h->conf->nats.stream) }, remedy,
		    "stream %s %s", h->conf->nats.stream,
		    json_string_value(text));
}

static json_t *
find_alike(json_t *list, const char *text)
{
	json_t	*o;
	size_t	 i;

	json_array_foreach(list, i, o)
		if (strcmp(health_text(o, "text"), text) == 0)
			return o;
	return NULL;
}

/* Findings of this level; one of several topics is told once. */
static json_t *
topics_with(const json_t *topics, const char *level)
{
	json_t	*all = json_array(), *topic, *f, *o;
	size_t	 i, k;

	json_array_foreach(topics, i, topic)
		json_array_foreach(json_object_get(topic, "findings"), k, f) {
			const char *text = health_text(f, "text");

			if (strcmp(health_text(f, "level"), level) != 0)
				continue;
			if ((o = find_alike(all, text)) == NULL) {
				o = json_pack("{s:s, s:[]}", "text", text,
				    "topics");
				json_array_append_new(all, o);
			}
			json_array_append(json_object_get(o, "topics"),
			    json_object_get(topic, "topic"));
		}
	return all;
}

/* The remedy stands behind the last colon. */
static void
judge_topics(struct health *h, const char *level, enum health_id id)
{
	json_t	*all = topics_with(json_object_get(h->state, "topics"), level);
	json_t	*o;
	size_t	 i;

	json_array_foreach(all, i, o) {
		json_t *names = json_object_get(o, "topics");
		const char *text = health_text(o, "text"), *remedy = text;
		const char *first = json_string_value(json_array_get(names, 0));
		char more[40] = "";

		for (const char *s = text; (s = strstr(s, ": ")) != NULL; )
			remedy = s += 2;
		if (json_array_size(names) > 1)
			snprintf(more, sizeof(more), " (and %zu more)",
			    json_array_size(names) - 1);
		health_add(h, id, (struct health_about){ NULL,
		    json_pack("{s:O}", "topics", names) }, remedy,
		    "topic %s%s %.*s", first, more,
		    (int)(remedy - text) - (int)strlen(": "), text);
	}
	json_decref(all);
}

void
health_judge_broker(struct health *h)
{
	const json_t	*broker = json_object_get(h->state, "broker");
	const char	*error = health_text(broker, "error");
	const char	*unfit = health_text(broker, "unfit");
	const char	*full = health_text(broker, "full");
	const char	*unheard = health_text(broker, "unheard");
	struct buf	 remedy = { 0 };

	if (error[0] != '\0') {
		health_broker_remedy(h->conf, error, &remedy);
		health_add(h, HEALTH_BROKER, (struct health_about){ 0 },
		    remedy.data, "the %s cannot be used: %s",
		    traits_of(h->conf, NULL)->noun, error);
		buf_free(&remedy);
	}
	judge_topics(h, "fail", HEALTH_STREAM_UNFIT);
	judge_topics(h, "warn", HEALTH_STREAM_SETTINGS);
	judge_topics(h, "advice", HEALTH_STREAM_ADVICE);
	if (unfit[0] != '\0')
		health_add(h, HEALTH_STREAM_UNFIT, (struct health_about){ NULL,
		    json_pack("{s:s}", "stream", h->conf->nats.stream) },
		    strstr(unfit, "outboxctl stream add") != NULL ?
		    "outboxctl stream add" :
		    health_refusal_remedy(unfit) != NULL ?
		    health_refusal_remedy(unfit) : "correct the stream or "
		    "nats.stream; outboxctl stream info tests it",
		    "stream %s %s", h->conf->nats.stream, unfit);
	if (full[0] != '\0')
		health_add(h, HEALTH_STREAM_FULL, (struct health_about){ NULL,
		    json_pack("{s:s}", "stream", h->conf->nats.stream) },
		    "raise this limit of the stream, or delete messages that "
		    "its consumers have read", "stream %s %s",
		    h->conf->nats.stream, full);
	if (unheard[0] != '\0')
		health_add(h, HEALTH_NO_CONSUMER, (struct health_about){ NULL,
		    json_pack("{s:s}", "stream", h->conf->nats.stream) },
		    "make the consumers, or a stream with retention: limits; "
		    "then outboxctl messages replay sends again what was lost",
		    "stream %s %s", h->conf->nats.stream, unheard);
	judge_settings(h, json_object_get(broker, "warnings"),
	    HEALTH_STREAM_SETTINGS, "correct the stream's settings; outboxctl "
	    "stream info tests them");
	judge_settings(h, json_object_get(broker, "advice"),
	    HEALTH_STREAM_ADVICE, "outboxctl stream info shows the settings; "
	    "change them with your tools for NATS");
}

bool
health_topic_is_told(const struct health *h, const char *why)
{
	char	 text[300];
	json_t	*p, *name;
	size_t	 i, k;

	json_array_foreach(h->problems, i, p) {
		if (strcmp(health_text(p, "id"),
		    health_table[HEALTH_STREAM_UNFIT].id) != 0)
			continue;
		json_array_foreach(json_object_get(json_object_get(p,
		    "touches"), "topics"), k, name) {
			snprintf(text, sizeof(text), "topic %s: ",
			    json_string_value(name));
			if (strstr(why, text) != NULL)
				return true;
		}
	}
	return false;
}
