/*
 * health_destination.c - problems of what this host sends to, by its scoreboard:
 * a destination that takes nothing, and types that one refuses
 */

#include "health/health_impl.h"

#include <string.h>

/* A broker that elects a leader, or an endpoint that starts again. */
#define BLIP_MS		3000

static int
driver_of(const struct conf *c, const struct conf_route *rule)
{
	return rule == NULL ? c->publish.driver : rule->driver;
}

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

/* Nothing waits for it any more: what it did is the past. */
static bool
is_idle(const struct health *h)
{
	const json_t	*b = json_object_get(h->state, "backlog");

	return json_is_object(b) && json_is_true(json_object_get(b,
	    "exact")) && health_number(b, "waiting") == 0;
}

static void
judge_destination(struct health *h, const json_t *d, const json_t *here)
{
	const char		*name = health_text(d, "destination");
	const struct conf_route	*rule = conf_route(h->conf, name);
	const char		*why = health_text(d, "why");
	struct buf		 remedy = { 0 };

	if (strcmp(health_text(d, "state"), "fails") != 0 ||
	    health_number(d, "for_ms") < BLIP_MS || is_idle(h) ||
	    (driver_of(h->conf, rule) == DRIVER_NATS && is_explained(h, here)))
		return;
	health_destination_remedy(h->conf, rule, why, &remedy);
	health_add(h, HEALTH_DESTINATION_FAILS, (struct health_about){
	    health_member(d, "since"), json_pack("{s:s}", "destination",
	    name) }, remedy.data, "%s%s (%s) takes no messages: %s",
	    rule == NULL ? "" : "route ", rule == NULL ? "the destination" :
	    name, health_text(d, "to"), why);
	buf_free(&remedy);
}

/* JetStream answers for the stream, so that only its subjects can be wrong. */
static bool
lacks_subject(const struct health *h, const json_t *type)
{
	return strcmp(health_text(type, "class"), "no_stream") == 0 &&
	    health_text(json_object_get(h->state, "broker"),
	    "subjects")[0] != '\0';
}

/* Of a route to another destination than NATS all types are refused. */
static bool
is_route(const json_t *type)
{
	return strncmp(health_text(type, "type"), "route ", 6) == 0 ||
	    strcmp(health_text(type, "type"), "publish.driver") == 0;
}

static void
put_type_why(const struct health *h, const json_t *type, struct buf *b)
{
	if (lacks_subject(h, type))
		buf_printf(b, "no stream takes subject \"%s\" (type %s)",
		    health_text(type, "subject"), health_text(type, "type"));
	else if (is_route(type))
		buf_printf(b, "%s takes no messages: %s",
		    health_text(type, "type"), health_text(type, "why"));
	else if (strcmp(health_text(type, "class"), "no_route") == 0)
		buf_printf(b, "messages of type %s wait: %s",
		    health_text(type, "type"), health_text(type, "why"));
	else
		buf_str(b, health_text(type, "why"));
}

static void
put_type_remedy(const struct health *h, const json_t *type, struct buf *b)
{
	if (lacks_subject(h, type))
		buf_printf(b, "add it to the subjects of stream %s, which are "
		    "%s", h->conf->nats.stream, health_text(json_object_get(
		    h->state, "broker"), "subjects"));
	else if (strcmp(health_text(type, "class"), "no_stream") == 0)
		buf_str(b, "outboxctl stream info shows its subjects");
	else if (strcmp(health_text(type, "class"), "no_route") == 0)
		buf_str(b, "add a route to publish.routes, or set "
		    "publish.unmatched: default; then outboxctl reload");
	else
		buf_str(b, "outboxctl keys blocked shows the keys that wait");
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

static void
judge_subjects(struct health *h, const json_t *here)
{
	json_t	*t;
	size_t	 i;

	json_array_foreach(json_object_get(here, "refused"), i, t) {
		struct buf	why = { 0 }, remedy = { 0 };

		if (is_of_failing(h, t))
			continue;
		put_type_why(h, t, &why);
		put_type_remedy(h, t, &remedy);
		health_add(h, HEALTH_REFUSED_SUBJECT, (struct health_about){
		    health_member(t, "since"), json_pack("{s:O, s:O}",
		    "subject", json_object_get(t, "subject"),
		    "type", json_object_get(t, "type")) }, remedy.data, "%s",
		    why.data);
		buf_free(&why);
		buf_free(&remedy);
	}
}

void
health_judge_destinations(struct health *h, const json_t *here)
{
	json_t	*d;
	size_t	 i;

	json_array_foreach(json_object_get(here, "destinations"), i, d)
		judge_destination(h, d, here);
	judge_subjects(h, here);
}
