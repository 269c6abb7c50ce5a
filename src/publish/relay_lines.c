/*
 * relay_lines.c - destinations: which of them takes one more message now
 *
 * A destination that is away, silent or slow must not be in the way of others,
 * neither in this batch nor behind it.
 */

#include "publish/relay_impl.h"

#include "util/clock.h"

/*
 * A batch sends for so many ms to a destination that is slow, and what it has
 * not sent then waits for so long at most: others, which are behind it, wait
 * for a turn and an answer.
 */
#define TURN_MS		500
#define LATER_MS	10000

const struct pub *
relay_broker(const struct relay *r)
{
	const struct pub	*p = &r->pubs[r->stream];

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

struct flight_to *
relay_to(struct flight *f, size_t i)
{
	return &f->to[f->ways[i].route->destination];
}

struct flight_line *
relay_line(struct flight *f, size_t i)
{
	return &f->lines[f->ways[i].route->driver];
}

bool
relay_to_stream(const struct flight *f, size_t i)
{
	return f->ways[i].route->destination == ROUTE_STREAM;
}

bool
relay_any_stream(const struct flight *f, size_t i)
{
	return f->any_stream && relay_to_stream(f, i);
}

bool
relay_to_silent(const struct flight *f, size_t i)
{
	return f->r->trial.to[f->ways[i].route->destination].silent;
}

enum error_class
relay_away(struct flight *f, size_t i, struct err *e)
{
	const struct relay		*r = f->r;
	const struct route		*route = f->ways[i].route;
	const struct flight_line	*line = relay_line(f, i);
	const struct err		*away = &line->reach->away;

	if (line->lost || !pub_is_open(line->pub)) {
		err_set(e, "%s: not connected%s%s", line->pub->ops->name,
		    away->text[0] == '\0' ? "" : ": ", away->text);
		return CLASS_OFFLINE;
	}
	if (relay_to_stream(f, i) && (r->unaudited || r->went_back)) {
		err_set(e, "not sent: the stream is not checked for lost "
		    "messages yet");
		return CLASS_AUDIT;
	}
	if (line->choked || relay_to(f, i)->closed || (relay_to_silent(f, i) &&
	    clock_ms() < r->trial.to[route->destination].until)) {
		err_set(e, "not sent: the %s %s", line->pub->ops->peer,
		    line->choked ? "does not read: earlier messages are still "
		    "unsent" : "gives no answer");
		return CLASS_TIMEOUT;
	}
	return CLASS_NONE;
}

/* A destination may use as much as it leaves free. */
static bool
leaves_room(size_t used, size_t all, size_t max)
{
	return used == 0 || (all < max && used < max - all);
}

/*
 * Where it shares the connection, the window or the memory with others, one
 * whose answers take long must not have all of it.
 */
bool
relay_has_room(struct flight *f, size_t i)
{
	const struct flight_line	*line = relay_line(f, i);
	const struct flight_to		*to = relay_to(f, i);
	const struct inflight		*w = &f->w;

	if (line->nout >= line->capacity)
		return false;
	if (f->nused < 2)
		return true;
	/* All that may be sent, or is out, is for it. */
	if (w->head == w->tail && f->naside == to->naside &&
	    w->unresolved == to->nout)
		return true;
	return (line->nused < 2 ||
	    leaves_room(to->nout, line->nout, line->capacity)) &&
	    leaves_room(to->nout, w->unresolved, w->max) &&
	    leaves_room(to->bytes, w->bytes, w->max_bytes);
}

bool
relay_had_its_turn(struct flight *f, size_t i)
{
	return f->r->routes.several && relay_to(f, i)->most > 0 &&
	    !relay_to_silent(f, i) && clock_ms() - f->began_at >= TURN_MS;
}

/* It waits until the messages before it should have their answers. */
void
relay_send_later(struct flight *f, size_t i)
{
	struct flight_to	*to = relay_to(f, i);
	int64_t			 ms = to->slowest > 0 ? to->slowest : TURN_MS;

	f->b->msgs[i].delay_ms = sooner(LATER_MS, 1 + ms *
	    (int64_t)to->nlater++ / (int64_t)to->most);
	f->ways[i].state = DONE;
}
