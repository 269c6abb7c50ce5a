/*
 * relay_send.c - one message is made and sent, unless it never can be, or has
 * to wait: for its turn as a suspect, for a server with a larger limit, or for
 * its event
 */

#include "publish/relay_impl.h"

#include "util/clock.h"
#include "util/duration.h"

/* A suspect is deferred for so many ms: the others are sent first. */
#define SUSPECT_MS	1000

/* So long after a row without an event the next one begins another time. */
#define EVENTLESS_MS	60000

/* Fewer deaths are chance: a worker was killed, or one of the others did it. */
#define DEATHS_MIN	2

static bool	is_put_off(struct flight *, size_t);
static bool	fill_and_send(struct flight *, size_t);

/* It was not sent, which tells nothing of its type. */
static void
skip(struct flight *f, size_t i)
{
	f->ways[i].state = DONE;
	type_breaker_says_nothing(&f->r->breaker, &f->b->msgs[i]);
}

bool
relay_send(struct flight *f, size_t i)
{
	uint64_t	*handling = f->r->handling;
	bool		 open;

	if (is_put_off(f, i)) {
		skip(f, i);
		/* Its lane waits, also until it is a dead letter. */
		return true;
	}
	if (handling != NULL)	/* it is named if sending it crashes */
		*handling = f->b->msgs[i].sequence;
	open = fill_and_send(f, i);
	if (handling != NULL)
		*handling = 0;
	return open;
}

/*
 * A message that was being sent when earlier workers died is deferred once, so
 * that the others are sent before it, and then sent first.  If it goes on, it
 * is poison.
 */
static bool
is_put_off(struct flight *f, size_t i)
{
	static const char	why[] = "its worker died while sending it: "
				    "waits once, then goes before all others";
	struct relay		*r = f->r;
	struct msg		*m = &f->b->msgs[i];
	size_t			 at = suspect_find(r->suspects, f->nsuspects,
				     m->sequence);
	unsigned		 deaths;
	struct err		 e;

	if (at == f->nsuspects)
		return false;
	deaths = suspect_deaths(&r->suspects[at]);
	if (deaths >= DEATHS_MIN && deaths >= route_max_attempts(r->conf,
	    f->ways[i].route->rule)) {
		err_set(&e, "killed its worker %u times in a row", deaths);
		relay_bury(f, i, "poison", e.text);
		return true;
	}
	if (r->met[at] == m->sequence)
		return false;
	r->met[at] = m->sequence;
	msg_fail(m, OUT_DEFER, why);
	m->delay_ms = SUSPECT_MS;
	return true;
}

void
relay_prefer_suspects(struct flight *f)
{
	const struct relay	*r = f->r;

	if (r->suspects != NULL)
		f->nsuspects = suspect_used(r->suspects, SUSPECTS);
	for (size_t i = 0; f->nsuspects > 0 && i < f->b->n; i++)
		if (suspect_find(r->suspects, f->nsuspects,
		    f->b->msgs[i].sequence) < f->nsuspects)
			inflight_prefer(&f->w, i);
}

/* A dead one that is retried gets its tries. */
void
relay_clear_suspects(struct flight *f)
{
	const struct msg	*m = f->b->msgs;

	for (size_t i = 0; f->nsuspects > 0 && i < f->b->n; i++)
		if (m[i].outcome == OUT_DELIVERED || m[i].outcome == OUT_DEAD)
			suspect_clear(f->r->suspects, f->nsuspects,
			    m[i].sequence);
}

/*
 * True if the message is too long for this server, but perhaps not for another.
 * That is the destination's fault, and not its type's.
 */
static bool
waits_for_limit(struct flight *f, size_t i, size_t size)
{
	struct limit	*l = &relay_line(f, i)->reach->limit;
	struct err	 e;

	if (l->max == 0 || (int64_t)size <= l->max ||
	    !limit_may_wait(l, size, f->r->conf->retry.blame_after, clock_ms()))
		return false;
	err_set(&e, "%zu bytes are more than this server's max_payload of "
	    "%lld, or this account's: raise it, or it will be a dead letter",
	    size, (long long)l->max);
	skip(f, i);
	relay_refuse(f, i, CLASS_TOO_LARGE, e.text);
	return true;
}

enum size { FITS, TOO_LONG, WAITS };

/*
 * Is the payload or the metadata too long?  e tells by how much.  Such a
 * message was not fetched, or its metadata must not be parsed.
 */
static enum size
check_size(struct flight *f, size_t i, struct err *e)
{
	const struct msg	*m = &f->b->msgs[i];
	struct flight_line	*line = relay_line(f, i);
	int64_t			 max = line->pub->ops->max_payload(
				     line->pub->arg);
	size_t			 size = m->metadata.len;

	limit_seen(&line->reach->limit, max, clock_ms());
	if (size > MSG_METADATA_MAX) {
		err_set(e, "metadata of %zu bytes is longer than %d", size,
		    MSG_METADATA_MAX);
		return TOO_LONG;
	}
	if (m->away && (int64_t)m->payload.len > max)
		size = m->payload.len;
	if (!m->away && (int64_t)size <= max)
		return FITS;
	if (waits_for_limit(f, i, size))
		return WAITS;
	err_set(e, "%zu bytes are more than the server's max_payload of %lld",
	    size, (long long)max);
	return TOO_LONG;
}

/*
 * Its event may still come, as when a backup is loaded table by table: what the
 * database does not have now tells nothing of one row.  Its key is not known, so
 * no lane waits but its own, or with ordering: partition all of its partition.
 */
bool
relay_waits_for_event(struct flight *f, size_t i)
{
	struct relay	*r = f->r;
	struct msg	*m = &f->b->msgs[i];
	int64_t		 now = clock_ms(), lasts = r->conf->retry.blame_after;
	struct err	 e;

	if (m->has_event)
		return false;
	if (r->eventless_since == 0 || now - r->eventless_at > EVENTLESS_MS)
		r->eventless_since = now;
	r->eventless_at = now;
	now -= r->eventless_since;
	if (now >= lasts)
		return false;
	err_set(&e, "the row points at an event that does not exist: insert it "
	    "within %s, or the row will be a dead letter",
	    duration_words(lasts).text);
	msg_fail(m, OUT_DEFER, e.text);
	m->delay_ms = later(SUSPECT_MS, sooner(now / 4, EVENTLESS_MS / 2));
	skip(f, i);
	return true;
}

static bool
fill_and_send(struct flight *f, size_t i)
{
	struct relay		*r = f->r;
	struct envelope		*v = &r->envelope;
	struct msg		*m = &f->b->msgs[i];
	struct flight_line	*line = relay_line(f, i);
	const struct pub_ops	*ops = line->pub->ops;
	struct err		 e = { "" };
	enum size		 size = check_size(f, i, &e);
	size_t			 headers;

	if (size == WAITS || relay_waits_for_event(f, i))
		return true;
	if (!m->has_event)
		err_set(&e, "the row points at an event that does not exist");
	else if (size == FITS && envelope_fill(v, relay_form(f, i), m,
	    &e) == 0) {
		if (f->ways[i].state == READY)
			f->res->skipped += v->skipped;
		if (waits_for_limit(f, i, v->size))
			return true;
		headers = v->size - v->payload.len;
		if (ops->max_headers != 0 && headers > ops->max_headers)
			err_set(&e, "header size exceeds maximum: %zu bytes "
			    "are more than the %zu that any %s takes", headers,
			    ops->max_headers, ops->peer);
		else
			switch (ops->send(line->pub->arg, v, (uint32_t)i,
			    &e)) {
			case PUB_SENT:
				relay_goes_out(f, i, v->size);
				return true;
			case PUB_LOST:
				line->lost = true;
				if (r->routes.several)
					relay_refuse(f, i, CLASS_OFFLINE,
					    e.text);
				return r->routes.several;
			case PUB_REFUSED:
				break;
			}
	}
	skip(f, i);
	inflight_skipped(&f->w, i, relay_bury_or_hold(f, i, "message", e.text));
	return true;
}
