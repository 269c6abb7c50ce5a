/* broker.c - see broker.h */

#include "ctl/stream/broker.h"

#include <stdio.h>

#include "nats/bus.h"
#include "nats/stream.h"

/* To create a stream the servers of a cluster elect its leader first. */
#define ANSWER_MS	10000

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

static void
add_finding(json_t *list, const char *level, const char *text)
{
	json_array_append_new(list, json_pack("{s:s, s:s}", "level", level,
	    "text", text));
}

json_t *
broker_verdict(const struct ctl *c, const struct buf *answer)
{
	json_t			*list = json_array();
	struct stream_report	 r;

	stream_judge(&r, c->conf, answer->data, answer->len);
	if (r.unfit)
		add_finding(list, "fail", r.why.text);
	for (size_t i = 0; i < r.nwarnings; i++)
		add_finding(list, "warn", r.warnings[i].text);
	return list;
}

void
broker_say_verdict(const json_t *findings)
{
	json_t	*f;
	size_t	 i;

	json_array_foreach(findings, i, f)
		printf("%s  the stream %s\n", member_text(f, "level"),
		    member_text(f, "text"));
}
