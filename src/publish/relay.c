/* relay.c - see relay.h; sends messages and waits for their answers */

#include "publish/relay_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* If keep or sending took so many ms, read answers before any times out. */
#define BUSY_MS		50

/* 1/OUT_PART of worker.batch_bytes may be unresolved at a time. */
#define OUT_PART	8

/* A suspect is deferred for so many ms: the others are sent first. */
#define SUSPECT_MS	1000

/*
 * With several destinations a batch sends for so many ms to those that are
 * slow, and what it has not sent then waits for so long at most: others, which
 * are behind it, wait for a turn and an answer.
 */
#define TURN_MS		500
#define LATER_MS	10000

/* Fewer deaths are chance: a worker was killed, or one of the others did it. */
#define DEATHS_MIN	2

/* Its place, or nsuspects: as a rule there is none, and none to compare. */
static size_t
find_suspect(const struct flight *f, const struct msg *m)
{
	return suspect_find(f->r->suspects, f->nsuspects, m->sequence);
}

/* Before all others, so that no other message is in flight with them. */
static void
prefer_suspects(struct flight *f)
{
	struct relay	*r = f->r;

	if (r->suspects != NULL)
		f->nsuspects = suspect_used(r->suspects, SUSPECTS);
	for (size_t i = 0; f->nsuspects > 0 && i < f->b->n; i++)
		if (find_suspect(f, &f->b->msgs[i]) < f->nsuspects)
			inflight_prefer(&f->w, i);
}

/* What was delivered does not kill; a dead one that is retried gets its tries. */
static void
clear_suspects(struct flight *f)
{
	const struct msg	*m = f->b->msgs;

	for (size_t i = 0; f->nsuspects > 0 && i < f->b->n; i++)
		if (m[i].outcome == OUT_DELIVERED || m[i].outcome == OUT_DEAD)
			suspect_clear(f->r->suspects, f->nsuspects,
			    m[i].sequence);
}

static bool
is_poison(const struct flight *f, const struct msg *m, unsigned deaths)
{
	return deaths >= DEATHS_MIN && deaths >= route_max_attempts(
	    f->r->conf, f->route[m - f->b->msgs]->rule);
}

static void
bury_poison(struct flight *f, struct msg *m, unsigned deaths)
{
	struct err	 e;

	err_set(&e, "killed its worker %u times in a row", deaths);
	relay_note_failure(f, m, e.text);
	relay_bury(f, m, "poison", e.text);
}

/*
 * A suspect was being sent when earlier workers died.  It is deferred once, so
 * that the others are sent before it, and then sent first.  True: do not send
 * it now.
 */
static bool
is_put_off(struct flight *f, struct msg *m)
{
	static const char	why[] = "its worker died while sending it: "
				    "waits once, then goes before all others";
	struct relay		*r = f->r;
	size_t			 at = find_suspect(f, m);
	unsigned		 deaths;

	if (at == f->nsuspects)
		return false;
	deaths = suspect_deaths(&r->suspects[at]);
	if (is_poison(f, m, deaths)) {
		bury_poison(f, m, deaths);
		return true;
	}
	if (r->met[at] == m->sequence)
		return false;
	r->met[at] = m->sequence;
	relay_note_failure(f, m, why);
	msg_fail(m, OUT_DEFER, why);
	m->delay_ms = SUSPECT_MS;
	return true;
}

/*
 * True if the message is too long for this server, but perhaps not for another.
 * That is the destination's fault, and not its type's.
 */
static bool
waits_for_limit(struct flight *f, size_t i, size_t size)
{
	const struct limit	*l = &f->r->reach[f->route[i]->driver].limit;
	struct err		 e;

	if (l->max == 0 || (int64_t)size <= l->max ||
	    !limit_may_wait(l, size, f->r->conf->retry.blame_after, clock_ms()))
		return false;
	err_set(&e, "%zu bytes are more than this server's max_payload of "
	    "%lld, or this account's: raise it, or it will be a dead letter",
	    size, (long long)l->max);
	type_breaker_says_nothing(&f->r->breaker, &f->b->msgs[i],
	    clock_ms());
	relay_refuse(f, i, CLASS_TOO_LARGE, e.text);
	inflight_skipped(&f->w, i, false);
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
	const struct pub	*p = relay_line(f, i)->pub;
	int64_t			 max = p->ops->max_payload(p->arg);
	size_t			 size = m->metadata.len;

	limit_seen(&f->r->reach[f->route[i]->driver].limit, max, clock_ms());
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

static bool
refuse_unsent(struct flight *f, size_t i, enum error_class class,
    const char *why)
{
	relay_refuse(f, i, class, why);
	inflight_skipped(&f->w, i, false);
	return true;
}

static bool
has_long_headers(const struct envelope *v, const struct pub *p, struct err *e)
{
	size_t	size = v->size - v->payload.len;

	if (p->ops->max_headers == 0 || size <= p->ops->max_headers)
		return false;
	err_set(e, "header size exceeds maximum: %zu bytes are more than the "
	    "%zu that any %s takes", size, p->ops->max_headers, p->ops->peer);
	return true;
}

static enum pub_sent
hand_over(struct flight *f, size_t i, struct err *e)
{
	struct relay		*r = f->r;
	struct flight_line	*line = relay_line(f, i);
	enum pub_sent		 sent;

	if (has_long_headers(&r->envelope, line->pub, e))
		return PUB_REFUSED;
	sent = line->pub->ops->send(line->pub->arg, &r->envelope, (uint32_t)i,
	    e);
	line->lost = line->lost || sent == PUB_LOST;
	if (sent == PUB_SENT)
		relay_goes_out(f, i, r->envelope.size);
	return sent;
}

/* Send one message.  false: the only connection is lost. */
static bool
fill_and_send(struct flight *f, size_t i)
{
	struct relay	*r = f->r;
	struct msg	*m = &f->b->msgs[i];
	struct err	 e = { "" };
	enum size	 size = check_size(f, i, &e);

	if (size == WAITS)
		return true;
	if (!m->has_event)
		err_set(&e, "the row points at an event that does not exist");
	else if (size == FITS &&
	    envelope_fill(&r->envelope, relay_form(f, i), m, &e) == 0) {
		if (f->state[i] == READY)
			f->res->skipped += r->envelope.skipped;
		if (waits_for_limit(f, i, r->envelope.size))
			return true;
		switch (hand_over(f, i, &e)) {
		case PUB_SENT:
			return true;
		case PUB_LOST:
			return r->routes.several &&
			    refuse_unsent(f, i, CLASS_OFFLINE, e.text);
		case PUB_REFUSED:
			break;
		}
	}
	f->state[i] = DONE;
	type_breaker_says_nothing(&r->breaker, m, clock_ms());
	relay_note_failure(f, m, e.text);
	inflight_skipped(&f->w, i, relay_bury_or_hold(f, m, "message", e.text));
	return true;
}

/* Send it unless it is put off.  handling names it, if sending it crashes. */
static bool
send_one(struct flight *f, size_t i)
{
	struct msg	*m = &f->b->msgs[i];
	bool		 open;

	if (is_put_off(f, m)) {
		f->state[i] = DONE;
		type_breaker_says_nothing(&f->r->breaker, m, clock_ms());
		/* Its lane waits, also until it is a dead letter. */
		inflight_skipped(&f->w, i, false);
		return true;
	}
	if (f->r->handling != NULL)
		*f->r->handling = m->sequence;
	open = fill_and_send(f, i);
	if (f->r->handling != NULL)
		*f->r->handling = 0;
	return open;
}

/* No route matches, and that is to be a dead letter: as many as there are. */
static void
bury_unmatched(struct flight *f, size_t i)
{
	struct msg	*m = &f->b->msgs[i];
	static const char why[] = "no route of publish.routes matches";

	f->state[i] = DONE;
	relay_note_failure(f, m, why);
	inflight_skipped(&f->w, i, relay_bury(f, m, "message", why));
}

static bool
has_no_route(const struct flight *f, size_t i)
{
	const struct relay	*r = f->r;

	return f->route[i]->rule == NULL && r->routes.n > 0 &&
	    r->conf->publish.unmatched != UNMATCHED_DEFAULT;
}

static bool
put_aside(struct flight *f, size_t i)
{
	f->state[i] = ASIDE;
	f->naside++;
	relay_to(f, i)->naside++;
	return true;
}

/*
 * Its destination takes nothing for now, while others go on.  A broker that was
 * silent gets one message, an endpoint one of each type (offer); the others wait
 * for what becomes of it.
 */
static bool
is_out_of_reach(struct flight *f, size_t i)
{
	struct relay			*r = f->r;
	const struct flight_line	*line = relay_line(f, i);
	const struct reach		*reach = &r->reach[f->route[i]->driver];
	const struct silent		*s =
	    &r->silence.to[f->route[i]->destination];
	struct err			 e;

	if (line->lost || !pub_is_open(line->pub)) {
		err_set(&e, "%s: not connected%s%s", line->pub->ops->name,
		    reach->away.text[0] == '\0' ? "" : ": ",
		    reach->away.text);
		return refuse_unsent(f, i, CLASS_OFFLINE, e.text);
	}
	if (f->route[i]->driver == DRIVER_NATS &&
	    (r->unaudited || r->went_back))
		return refuse_unsent(f, i, CLASS_AUDIT, "not sent: the stream "
		    "is not checked for lost messages yet");
	if (line->choked || relay_to(f, i)->closed || (s->silent &&
	    clock_ms() < s->until)) {
		err_set(&e, "not sent: the %s %s", line->pub->ops->peer,
		    line->choked ? "does not read: earlier messages are still "
		    "unsent" : "gives no answer");
		return refuse_unsent(f, i, CLASS_TIMEOUT, e.text);
	}
	return s->silent && line->nout > 0 && line->pub->ops->in_order &&
	    put_aside(f, i);
}

/* True if it has no destination, or one that is out of reach. */
static bool
is_without_route(struct flight *f, size_t i)
{
	const struct relay	*r = f->r;

	if (has_no_route(f, i)) {
		if (r->conf->publish.unmatched == UNMATCHED_HOLD)
			return refuse_unsent(f, i, CLASS_NO_ROUTE,
			    "no route of publish.routes matches");
		if (r->conf->publish.unmatched == UNMATCHED_DEAD) {
			bury_unmatched(f, i);
			return true;
		}
	}
	return r->routes.several && is_out_of_reach(f, i);
}

/* Is all that may be sent, or is out, for the same destination? */
static bool
is_alone(const struct flight *f, const struct flight_to *to)
{
	return f->w.head == f->w.tail && f->naside == to->naside &&
	    f->w.unresolved == to->nout;
}

/* A destination may use as much as it leaves free. */
static bool
leaves_room(size_t used, size_t all, size_t max)
{
	return used == 0 || (all < max && used < max - all);
}

/*
 * May one more message be out to its destination?  Where it shares the
 * connection, the window or the memory with others, one whose answers take long
 * must not have all of it.
 */
static bool
has_room(struct flight *f, size_t i)
{
	const struct flight_line	*line = relay_line(f, i);
	const struct flight_to		*to = relay_to(f, i);

	if (line->nout >= line->capacity)
		return false;
	if (f->nused < 2 || is_alone(f, to))
		return true;
	return (line->nused < 2 ||
	    leaves_room(to->nout, line->nout, line->capacity)) &&
	    leaves_room(to->nout, f->w.unresolved, f->w.max) &&
	    leaves_room(to->bytes, f->w.bytes, f->w.max_bytes);
}

/* Others that are not in this batch wait for its end. */
static bool
has_had_its_turn(struct flight *f, size_t i)
{
	return f->r->routes.several && relay_to(f, i)->most > 0 &&
	    !f->r->silence.to[f->route[i]->destination].silent &&
	    clock_ms() - f->began_at >= TURN_MS;
}

/*
 * It is given back, and offered again when those in front of it should have
 * their answers; until then it is in nobody's way.
 */
static void
send_later(struct flight *f, size_t i)
{
	struct flight_to	*to = relay_to(f, i);
	int64_t			 ms = to->slowest > 0 ? to->slowest : TURN_MS;

	f->b->msgs[i].delay_ms = sooner(LATER_MS, 1 + ms *
	    (int64_t)to->nlater++ / (int64_t)to->most);
	f->state[i] = DONE;
	inflight_skipped(&f->w, i, false);
}

/*
 * Send it, unless its type is refused or its destination has as many as it
 * takes; false: the only connection is lost.
 */
static bool
offer(struct flight *f, size_t i)
{
	bool	silent;

	if (is_without_route(f, i))
		return true;
	silent = f->r->silence.to[f->route[i]->destination].silent;
	if (has_had_its_turn(f, i)) {
		send_later(f, i);
		return true;
	}
	if (!has_room(f, i))
		return put_aside(f, i);
	switch (type_breaker_ask(&f->r->breaker, &f->b->msgs[i], silent,
	    clock_ms())) {
	case BREAKER_ASIDE:
		return put_aside(f, i);
	case BREAKER_WAITS:
		return refuse_unsent(f, i, CLASS_OTHER, "not sent: messages of "
		    "this event type are refused");
	default:
		return send_one(f, i);
	}
}

/* Offer messages that were set aside, once their turn may have come. */
static bool
offer_aside(struct flight *f)
{
	for (size_t i = 0; i < f->b->n && f->naside > 0; i++) {
		if (f->state[i] != ASIDE || (!has_had_its_turn(f, i) &&
		    (!inflight_has_room(&f->w) || !has_room(f, i))))
			continue;
		f->naside--;
		relay_to(f, i)->naside--;
		f->state[i] = READY;
		if (!offer(f, i))
			return false;
	}
	return true;
}

static bool
may_send(const struct flight *f)
{
	return !f->closed && clock_ms() < f->deadline;
}

static void
send_ready(struct flight *f)
{
	size_t	i;

	if (may_send(f) && !offer_aside(f))
		return;
	while (may_send(f) && inflight_next(&f->w, &i))
		if (!offer(f, i))
			return;
}

/*
 * Send again messages that no stream took, and those that go under another id;
 * after the deadline refuse them.
 */
static void
begin_next_round(struct flight *f)
{
	bool	late = !may_send(f);

	if (f->nagain == 0 || (!late && clock_ms() < f->again_at))
		return;
	for (size_t i = 0; i < f->b->n; i++) {
		if (f->state[i] != AGAIN)
			continue;
		f->nagain--;
		inflight_resolved(&f->w, i, false);
		if (!late) {
			if (!send_one(f, i))
				return;
		} else if (f->b->msgs[i].renamed)
			f->state[i] = DONE;	/* given back */
		else
			relay_refuse_absent(f, i);
	}
}

static void
take_answers(struct flight *f, struct flight_line *line)
{
	const struct pub	*p = line->pub;
	struct pub_answer	 a;
	enum error_class	 class;

	while (p->ops->answer(p->arg, &a))
		relay_answer(f, line, &a);
	relay_name_absent(f, line);
	class = p->ops->complaint(p->arg, PUB_MESSAGES, &line->complaint);
	if (class != CLASS_NONE)
		line->complained = class;
}

static void
wait_a_little(struct flight *f, int64_t ms)
{
	struct pub	*pubs = f->r->pubs;

	pub_wait(pubs, CONF_DRIVERS, -1, sooner(ms, RELAY_KEEP_MS));
	for (size_t i = 0; pub_next(pubs, &i) != NULL; i++)
		take_answers(f, &f->lines[i]);
}

/* Messages without an answer are in doubt; they are sent again later. */
static void
give_up_sent(struct flight *f, enum outcome outcome)
{
	for (size_t k = f->oldest; k < f->nsent; k++) {
		size_t i = f->order[k];

		if (f->state[i] != OUT)
			continue;
		relay_comes_in(f, i, DONE);
		f->b->msgs[i].in_doubt = true;
		f->b->msgs[i].outcome = outcome;
	}
	/* Whose the duplicate is was not seen. */
	for (size_t i = 0; i < f->b->n && f->nlook > 0; i++) {
		if (f->state[i] != LOOK)
			continue;
		f->nlook--;
		f->state[i] = DONE;
		f->b->msgs[i].in_doubt = true;
		f->b->msgs[i].outcome = outcome;
	}
}

/* The ms until the next answer is overdue or the next round begins. */
static int64_t
time_left(struct flight *f)
{
	int64_t	now = clock_ms(), left = relay_expire(f, now);

	if (f->nagain > 0 && f->again_at - now < left)
		left = f->again_at > now ? f->again_at - now : 0;
	/* After a time-out another message may be sent. */
	if (f->w.unresolved == 0 || (may_send(f) && inflight_can_send(&f->w)))
		left = 0;
	return left;
}

static void
connection_is_lost(struct flight *f, const struct flight_line *line)
{
	struct err	*why = &f->res->why;

	f->res->down = f->res->silent = true;
	if (line->complained != CLASS_NONE) {
		err_set(why, "%s", line->complaint.text);
		err_in(why, "the connection was lost");
	} else
		err_set(why, "the connection was lost");
	f->res->class = line->complained == CLASS_PERMISSION ?
	    CLASS_PERMISSION : CLASS_LOST;
	give_up_sent(f, OUT_UNSENT);
}

/* What one of several destinations has not answered: the others go on. */
static void
line_is_lost(struct flight *f, const struct flight_line *line)
{
	struct err	e;

	err_set(&e, "%s: the connection was lost", line->pub->ops->name);
	for (size_t i = 0; i < f->b->n; i++) {
		if (relay_line(f, i) != line ||
		    (f->state[i] != OUT && f->state[i] != LOOK))
			continue;
		if (f->state[i] == OUT)
			relay_comes_in(f, i, DONE);
		else
			f->nlook--;
		f->b->msgs[i].in_doubt = true;
		relay_refuse(f, i, CLASS_OFFLINE, e.text);
		inflight_resolved(&f->w, i, false);
	}
}

/* True if the only connection is lost. */
static bool
note_lost_lines(struct flight *f)
{
	struct pub	*pubs = f->r->pubs;

	for (size_t i = 0; pub_next(pubs, &i) != NULL; i++) {
		struct flight_line *line = &f->lines[i];

		if (!line->lost && pub_is_open(line->pub))
			continue;
		line->lost = true;
		if (!f->r->routes.several) {
			connection_is_lost(f, line);
			return true;
		}
		if (line->nout > 0 || f->nlook > 0)
			line_is_lost(f, line);
	}
	return false;
}

static void
send_and_wait(struct flight *f)
{
	while (f->w.unresolved > 0 || (!f->closed &&
	    (inflight_has_work(&f->w) || f->naside > 0) &&
	    clock_ms() < f->deadline)) {
		int64_t before = clock_ms();

		switch (f->r->keep(f->r->keep_arg)) {
		case KEEP_ABANDON:
			give_up_sent(f, OUT_IN_DOUBT);
			return;
		case KEEP_FINISH:
			f->closed = true;
			break;
		case KEEP_ON:
			break;
		}
		if (!relay_look(f)) {
			give_up_sent(f, OUT_IN_DOUBT);
			return;
		}
		begin_next_round(f);
		send_ready(f);
		if (note_lost_lines(f))
			return;
		/* Answers may have come meanwhile. */
		if (clock_ms() - before >= BUSY_MS)
			wait_a_little(f, 0);
		/* wait writes the buffered messages, also without a timeout. */
		wait_a_little(f, time_left(f));
	}
}

/* Bytes that may be unresolved; the last message may exceed this. */
static size_t
max_out(const struct conf *c)
{
	return (size_t)c->worker.batch_bytes / OUT_PART;
}

/*
 * If the server does not read, earlier messages are still in the library's
 * buffer, and nothing more must be added.  True if there is no other.
 */
static bool
is_choked(struct flight *f)
{
	struct relay		*r = f->r;
	struct relay_result	*res = f->res;
	const struct pub	*p;
	bool			 any = false;

	for (size_t i = 0; (p = pub_next(r->pubs, &i)) != NULL; i++) {
		f->lines[i].choked = (size_t)p->ops->unread(p->arg) >=
		    max_out(r->conf);
		any = any || f->lines[i].choked;
	}
	if (!any || r->routes.several)
		return false;
	res->down = res->silent = true;
	res->class = CLASS_TIMEOUT;
	/* No number: the log throttle compares texts. */
	err_set(&res->why, "the broker does not read: earlier messages are "
	    "still unsent");
	return true;
}

static void
choose_routes(struct flight *f)
{
	f->route = xcalloc(f->b->n + 1, sizeof(*f->route));
	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		f->route[i] = route_of(&f->r->routes, m);
		m->destination = has_no_route(f, i) ? ROUTE_NOWHERE :
		    f->route[i]->destination;
		if (!m->held && m->destination != ROUTE_NOWHERE &&
		    !relay_to(f, i)->used) {
			relay_to(f, i)->used = true;
			relay_line(f, i)->nused++;
			f->nused++;
		}
	}
}

/*
 * How many messages may be out.  With several destinations each has its own
 * capacity, and one that is slow leaves room for the others.
 */
static int64_t
begin_lines(struct flight *f)
{
	struct relay		*r = f->r;
	const struct pub	*p;
	int64_t			 window = r->conf->publish.window;

	for (size_t i = 0; (p = pub_next(r->pubs, &i)) != NULL; i++) {
		f->lines[i].pub = p;
		f->lines[i].capacity = (size_t)p->ops->capacity(p->arg);
		if (!r->routes.several)
			window = sooner(window, p->ops->capacity(p->arg));
		p->ops->begin(p->arg, f->deadline + RELAY_WRITE_MS);
	}
	return window;
}

void
relay_publish(struct relay *r, struct batch *b, struct relay_result *res)
{
	const struct conf	*c = r->conf;
	struct flight		 f = { .r = r, .b = b, .res = res };
	int64_t			 window;

	memset(res, 0, sizeof(*res));
	if (is_choked(&f))
		return;
	f.state = xcalloc(b->n + 1, sizeof(*f.state));
	f.class = xcalloc(b->n + 1, sizeof(*f.class));
	f.accused = xcalloc(b->n + 1, sizeof(*f.accused));
	f.alone = xcalloc(b->n + 1, sizeof(*f.alone));
	f.spent = xcalloc(b->n + 1, sizeof(*f.spent));
	f.together = xcalloc(b->n + 1, sizeof(*f.together));
	f.sent_at = xcalloc(b->n + 1, sizeof(*f.sent_at));
	f.order = xcalloc(b->n * RELAY_SENDS + 1, sizeof(*f.order));
	f.ordinal = xcalloc(b->n + 1, sizeof(*f.ordinal));
	choose_routes(&f);
	f.deadline = b->claimed_at + c->worker.claim_ttl -
	    c->publish.timeout_ms - CONF_CLAIM_MARGIN_MS;
	window = begin_lines(&f);
	f.any_stream = f.lines[DRIVER_NATS].pub != NULL && r->form.stream[0] ==
	    '\0' && f.lines[DRIVER_NATS].pub->ops->names_streams;
	inflight_init(&f.w, b, (enum conf_ordering)c->outbox.ordering,
	    (size_t)window, max_out(c));
	prefer_suspects(&f);
	f.began_at = clock_ms();
	type_breaker_begin(&r->breaker, f.began_at);
	send_and_wait(&f);
	relay_judge(&f);
	clear_suspects(&f);
	inflight_free(&f.w);
	free(f.state);
	free(f.class);
	free(f.accused);
	free(f.alone);
	free(f.spent);
	free(f.together);
	free(f.sent_at);
	free(f.order);
	free(f.ordinal);
	free(f.route);
	for (size_t i = 0; f.places != NULL && i < b->n; i++)
		free((char *)f.places[i].where);
	free(f.places);
}
