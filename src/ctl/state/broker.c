/* broker.c - the destination, as the daemon sees it: a broker and its stream */

#include "ctl/state/state_impl.h"

#define READS	16	/* of what was sent before the end, then the end */

static json_t *
texts(const struct stream_findings *f)
{
	json_t	*list = json_array();

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(list, json_string(f->list[i].text));
	return list;
}

/*
 * Try the servers of the list until one answers, as the daemon does.  A
 * connection that is silent is closed: the next round has a new one.
 */
static bool
is_heard(const struct ctl *c, struct pub *bus, struct stream_report *r,
    struct err *e)
{
	size_t	tries = c->conf->nats.servers.n;

	while (tries > 0 && !pub_is_open(bus) &&
	    bus->ops->open(bus->arg, e) != 0)
		tries--;
	if (tries == 0)
		return false;
	if (conf_stream(c->conf)[0] == '\0' ||
	    bus->ops->check(bus->arg, r, e))
		return true;
	bus->ops->close(bus->arg);
	return false;
}

/*
 * A connection that was kept may be lost, which only reading shows, or silent
 * while a new one is heard: then a new one counts, as in a process of its own.
 */
json_t *
state_broker(const struct ctl *c, struct pub *bus)
{
	struct stream_report	r = { 0 };
	struct err		e;
	bool			kept = pub_is_open(bus);

	for (int i = 0; i < READS && pub_is_open(bus); i++)
		pub_wait(bus, 1, -1, 0);
	/* Without a stream nothing is asked: only a connect is answered. */
	if (conf_stream(c->conf)[0] == '\0')
		bus->ops->close(bus->arg);
	if (!is_heard(c, bus, &r, &e) && !(kept && is_heard(c, bus, &r, &e)))
		return json_pack("{s:s, s:s, s:n, s:n, s:n, s:[], s:[]}",
		    "driver", bus->ops->name, "error", e.text, "unfit", "full",
		    "unheard", "warnings", "advice");
	return json_pack("{s:s, s:n, s:o, s:o, s:o, s:o, s:o, s:s}",
	    "driver", bus->ops->name, "error",
	    "unfit", r.unfit ? json_string(r.why.text) : json_null(),
	    "full", r.full ? json_string(r.how_full.text) : json_null(),
	    "unheard", r.unheard.text[0] == '\0' ? json_null() :
	    json_string(r.unheard.text),
	    "warnings", texts(&r.warnings), "advice", texts(&r.advice),
	    "subjects", r.subjects.text);
}
