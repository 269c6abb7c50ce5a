/*
 * health_destination.c - problems of what this host sends to, by its scoreboard:
 * a destination that takes nothing, and types that one refuses
 */

#include "health/health_impl.h"

#include <stdio.h>
#include <string.h>

/* A broker that elects a leader, or an endpoint that starts again. */
#define BLIP_MS		3000

/*
 * The broker was asked itself, and types that it refuses are named with their
 * subject: those problems say more.
 */
static bool
is_explained(const struct health *h, const json_t *here)
{
	static const enum health_id	ids[] = { HEALTH_BROKER,
					    HEALTH_STREAM_UNFIT,
					    HEALTH_STREAM_FULL,
					    HEALTH_PAUSED_PUBLISHING };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (health_has(h, ids[i]))
			return true;
	return json_array_size(json_object_get(here, "refused")) > 0;
}

static void
judge_destination(struct health *h, const json_t *d, const json_t *here)
{
	const char		*name = health_text(d, "destination");
	const struct conf_route	*rule = conf_route(h->conf, name);
	const char		*why = health_text(d, "why");
	const json_t		*backlog = json_object_get(h->state, "backlog");
	const struct driver_traits *to = traits_of(h->conf, rule);
	struct buf		 remedy = { 0 };

	if (strcmp(health_text(d, "state"), "fails") != 0 ||
	    health_number(d, "for_ms") < BLIP_MS ||
	    (to->has_stream && is_explained(h, here)) ||
	    (to->has_topics && health_topic_is_told(h, why)))
		return;
	/* If nothing waits for it any more, what it did is the past. */
	if (json_is_object(backlog) &&
	    json_is_true(json_object_get(backlog, "exact")) &&
	    health_number(backlog, "waiting") == 0)
		return;
	to->put_remedy(h->conf, rule, why, &remedy);
	health_add(h, HEALTH_DESTINATION_FAILS, (struct health_about){
	    health_member(d, "since"), json_pack("{s:s}", "destination",
	    name) }, remedy.data, "%s%s (%s) takes no messages: %s",
	    rule == NULL ? "" : "route ", rule == NULL ? "the destination" :
	    name, health_text(d, "to"), why);
	buf_free(&remedy);
}

/*
 * Of a destination that takes nothing all types are refused: then it is the
 * problem.  With routes a refusal begins with the name of its own, but for
 * those to the broker.
 */
static bool
is_of_failing(const struct health *h, const json_t *type)
{
	const char	*of = health_text(type, "type");
	json_t		*p;
	size_t		 i;

	if (strncmp(of, "route ", 6) == 0)
		of += 6;
	json_array_foreach(h->problems, i, p) {
		const char *name = health_text(json_object_get(p, "touches"),
		    "destination");
		size_t	 n = strlen(name);

		if (n == 0)
			continue;
		if (h->conf->publish.routes.n == 0)
			return true;
		if (strncmp(of, name, n) == 0 && of[n] == ',')
			return true;
	}
	return false;
}

/* The rule of "route NAME, type TYPE"; NULL: of what no route takes. */
static const struct conf_route *
rule_of(const struct health *h, const char *type)
{
	char	name[64] = "";

	(void)sscanf(type, "route %63[^,]", name);
	return conf_route(h->conf, name);
}

static void
judge_type(struct health *h, const json_t *t)
{
	const char	*type = health_text(t, "type");
	const struct conf_route *rule = rule_of(h, type);
	const struct driver_traits *to = traits_of(h->conf, rule);
	const char	*class = health_text(t, "class");
	const char	*subjects = health_text(json_object_get(h->state,
			    "broker"), "subjects");
	/* JetStream answers for the stream: only its subjects can be wrong. */
	bool		 lacks = strcmp(class, "no_stream") == 0 &&
			    subjects[0] != '\0';
	struct buf	 why = { 0 }, remedy = { 0 };

	if (lacks)
		buf_printf(&why, "no stream takes subject \"%s\" (type %s)",
		    health_text(t, "subject"), type);
	/* Of a route to another destination than NATS all are refused. */
	else if (strncmp(type, "route ", 6) == 0 ||
	    strcmp(type, "publish.driver") == 0)
		buf_printf(&why, "%s takes no messages: %s", type,
		    health_text(t, "why"));
	else if (strcmp(class, "no_route") == 0)
		buf_printf(&why, "messages of type %s wait: %s", type,
		    health_text(t, "why"));
	else
		buf_str(&why, health_text(t, "why"));
	if (lacks)
		buf_printf(&remedy, "add it to the subjects of stream %s, "
		    "which are %s", h->conf->nats.stream, subjects);
	else if (to->has_topics && strcmp(class, "no_route") != 0)
		to->put_remedy(h->conf, rule, why.data, &remedy);
	else if (strcmp(class, "no_stream") == 0)
		buf_str(&remedy, "outboxctl stream info shows its subjects");
	else if (strcmp(class, "no_route") == 0)
		buf_str(&remedy, "add a route to publish.routes, or set "
		    "publish.unmatched: default; then outboxctl reload");
	else
		buf_str(&remedy, "outboxctl keys blocked shows the keys that "
		    "wait");
	health_add(h, HEALTH_REFUSED_SUBJECT, (struct health_about){
	    health_member(t, "since"), json_pack("{s:O, s:O}",
	    "subject", json_object_get(t, "subject"),
	    "type", json_object_get(t, "type")) }, remedy.data, "%s",
	    why.data);
	buf_free(&why);
	buf_free(&remedy);
}

void
health_judge_destinations(struct health *h, const json_t *here)
{
	json_t	*d, *type;
	size_t	 i;

	json_array_foreach(json_object_get(here, "destinations"), i, d)
		judge_destination(h, d, here);
	json_array_foreach(json_object_get(here, "refused"), i, type)
		if (!is_of_failing(h, type) &&
		    !health_topic_is_told(h, health_text(type, "why")))
			judge_type(h, type);
}
