/* health_broker.c - problems of the broker and its stream */

#include "health/health_impl.h"

void
health_judge_broker(struct health *h)
{
	const json_t	*broker = json_object_get(h->state, "broker");
	const char	*error = health_text(broker, "error");
	const char	*unfit = health_text(broker, "unfit");
	json_t		*warning;
	size_t		 i;

	if (error[0] != '\0')
		health_add(h, HEALTH_BROKER, (struct health_about){ 0 },
		    "outboxctl doctor", "broker: %s", error);
	if (unfit[0] != '\0')
		health_add(h, HEALTH_STREAM_UNFIT, (struct health_about){ NULL,
		    json_pack("{s:s}", "stream", h->conf->nats.stream) }, "",
		    "stream %s %s", h->conf->nats.stream, unfit);
	json_array_foreach(json_object_get(broker, "warnings"), i, warning)
		health_add(h, HEALTH_STREAM_SETTINGS, (struct health_about){
		    NULL, json_pack("{s:s}", "stream", h->conf->nats.stream) },
		    "", "stream %s %s", h->conf->nats.stream,
		    json_string_value(warning));
}
