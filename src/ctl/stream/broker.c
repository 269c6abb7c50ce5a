/* broker.c - see broker.h */

#include "ctl/stream/broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats/bus.h"
#include "nats/stream.h"
#include "util/display.h"
#include "util/xalloc.h"

/* To create a stream the servers of a cluster elect its leader first. */
#define ANSWER_MS	10000

int
broker_needed(const struct ctl *c)
{
	if (conf_goes_to_stream(c->conf))
		return CTL_DONE;
	return ctl_refuse("it is for publish.driver: nats, without nats.core",
	    "there is no stream: messages go elsewhere");
}

int
broker_open(const struct ctl *c, struct pub *p)
{
	struct err	e;

	*p = bus_new(c->conf, "outboxctl");
	for (size_t i = 0; i < c->conf->nats.servers.n; i++)
		if (p->ops->open(p->arg, &e) == 0)
			return CTL_DONE;
	return ctl_no_broker(&e);
}

int
broker_ask(struct pub *p, const char *what, const char *body,
    struct buf *answer)
{
	struct err	e;

	if (bus_ask_stream(p, what, body, ANSWER_MS, answer, &e) == 0)
		return CTL_DONE;
	return ctl_no_broker(&e);
}

/* The streams that have subjects in common with the wanted one. */
static int
refuse_overlap(const struct ctl *c, struct pub *p, const struct new_stream *w)
{
	char		*body = xasprintf("{\"subject\":\"%s\"}", w->subject);
	struct buf	 answer = { 0 }, names = { 0 };
	struct err	 e;
	json_t		*o = NULL, *name;
	size_t		 i;

	if (bus_ask_stream(p, "NAMES", body, ANSWER_MS, &answer, &e) == 0)
		o = json_loadb(answer.data, answer.len, 0, NULL);
	json_array_foreach(json_object_get(o, "streams"), i, name)
		buf_printf(&names, "%s%s", i == 0 ? "" : ", ",
		    json_string_value(name));
	ctl_refuse("set nats.stream to that one, choose another nats.subject, "
	    "or take the subjects from that stream", "stream %s was not "
	    "created: subject %s overlaps with those of another stream%s%s "
	    "(10065)", c->conf->nats.stream, w->subject, names.len == 0 ? "" :
	    ": ", names.len == 0 ? "" : names.data);
	json_decref(o);
	buf_free(&names);
	buf_free(&answer);
	free(body);
	return CTL_FAILED;
}

int
broker_create(const struct ctl *c, struct pub *p, const struct new_stream *w,
    struct buf *answer)
{
	char		*body = new_stream_body(w, c->conf->nats.stream);
	const char	*remedy = "";
	struct err	 e;
	int		 status = broker_ask(p, "CREATE", body, answer);

	free(body);
	if (status != CTL_DONE || new_stream_compare(w, answer->data,
	    answer->len, &e) == NEW_STREAM_SAME)
		return status;
	if (strstr(e.text, "(10065)") != NULL)
		return refuse_overlap(c, p, w);
	/* The cause of these refusals is not in the server's text. */
	if (strstr(e.text, "(10074)") != NULL)
		remedy = ": the server is in no cluster: use --replicas 1";
	else if (strstr(e.text, "(10005)") != NULL)
		remedy = ": the cluster has too few servers: use fewer "
		    "--replicas";
	return ctl_error("stream %s was not created: %s%s",
	    c->conf->nats.stream, e.text, remedy);
}

static void
add_finding(json_t *list, const char *level, const char *text)
{
	json_array_append_new(list, json_pack("{s:s, s:s}", "level", level,
	    "text", text));
}

static void
add_findings(json_t *list, const char *level, const struct stream_findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		add_finding(list, level, f->list[i].text);
}

json_t *
broker_verdict(const struct ctl *c, const struct buf *answer)
{
	json_t			*list = json_array();
	struct stream_report	 r;

	stream_judge(&r, c->conf, answer->data, answer->len);
	if (r.unfit)
		add_finding(list, "fail", r.why.text);
	if (r.full)
		add_finding(list, "fail", r.how_full.text);
	if (r.unheard.text[0] != '\0')
		add_finding(list, "warn", r.unheard.text);
	add_findings(list, "warn", &r.warnings);
	add_findings(list, "advice", &r.advice);
	return list;
}
