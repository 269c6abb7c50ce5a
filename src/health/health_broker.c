/* health_broker.c - problems of the broker and its stream */

#include "health/health_impl.h"

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
