/* relay_lines.c - the destinations of a relay, and the one of a message */

#include "publish/relay_impl.h"

#include "util/clock.h"

const struct pub *
relay_broker(const struct relay *r)
{
	const struct pub	*p = &r->pubs[DRIVER_NATS];

	return p->ops == NULL ? NULL : p;
}

const struct pub *
relay_stream(const struct relay *r)
{
	const struct pub	*p = relay_broker(r);

	return p == NULL || !p->ops->can_ask ? NULL : p;
}

int64_t
relay_max_payload(const struct relay *r)
{
	const struct pub	*p;
	int64_t			 max = 0;

	for (size_t i = 0; (p = pub_next(r->pubs, &i)) != NULL; i++)
		max = later(max, p->ops->max_payload(p->arg));
	return max;
}

bool
relay_any_stream(const struct flight *f, size_t i)
{
	return f->any_stream && f->route[i]->driver == DRIVER_NATS;
}

struct flight_to *
relay_to(struct flight *f, size_t i)
{
	return &f->to[f->route[i]->destination];
}

struct flight_line *
relay_line(struct flight *f, size_t i)
{
	return &f->lines[f->route[i]->driver];
}
