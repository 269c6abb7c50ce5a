/* relay.c - see relay.h: sends a batch and waits for its answers */

#include "publish/relay_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/* If keep or sending took so many ms, read answers before any times out. */
#define BUSY_MS		50

/* 1/OUT_PART of worker.batch_bytes may be unresolved at a time. */
#define OUT_PART	8

/* A message is sent in each round, and twice besides: see relay_look.c. */
#define SENDS		(RELAY_ROUNDS + 2)

static bool	note_choked(struct flight *);
static void	begin(struct flight *);
static void	send_and_wait(struct flight *);
static bool	may_send(const struct flight *);
static void	begin_next_round(struct flight *);
static void	send_ready(struct flight *);
static bool	offer(struct flight *, size_t);
static void	wait_a_little(struct flight *, int64_t);
static int64_t	time_left(struct flight *);
static bool	note_lost_lines(struct flight *);
static void	give_up_sent(struct flight *, const struct flight_line *,
		    enum outcome);

void
relay_publish(struct relay *r, struct batch *b, struct relay_result *res)
{
	struct flight	f = { .r = r, .b = b, .res = res };

	memset(res, 0, sizeof(*res));
	if (note_choked(&f))
		return;
	begin(&f);
	send_and_wait(&f);
	relay_judge(&f);
	relay_clear_suspects(&f);
	inflight_free(&f.w);
	free(f.ways);
	free(f.order);
	for (size_t i = 0; f.places != NULL && i < b->n; i++)
		free((char *)f.places[i].where);
	free(f.places);
}

/* Bytes that may be unresolved; the last message may exceed this. */
static size_t
max_out(const struct conf *c)
{
	return (size_t)c->worker.batch_bytes / OUT_PART;
}

/*
 * Note which destinations are choked: one that does not read has earlier
 * messages in the buffer of its library still, to which nothing must be added.
 * Returns whether it is the only destination, so that nothing can be sent.
 */
static bool
note_choked(struct flight *f)
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
	res->down = true;
	res->class = CLASS_TIMEOUT;
	/* No number: the log throttle compares texts. */
	err_set(&res->why, "the broker does not read: earlier messages are "
	    "still unsent");
	return true;
}

static void
begin(struct flight *f)
{
	struct relay		*r = f->r;
	const struct conf	*c = r->conf;
	const struct pub	*p;
	int64_t			 window = c->publish.window;
	bool			 used[ROUTE_DESTINATIONS] = { false };

	f->ways = xcalloc(f->b->n + 1, sizeof(*f->ways));
	f->order = xcalloc(f->b->n * SENDS + 1, sizeof(*f->order));
	for (size_t i = 0; i < f->b->n; i++) {
		struct msg	*m = &f->b->msgs[i];
		const struct route *route = route_of(&r->routes, m);

		f->ways[i].route = route;
		m->destination = route->destination;
		/* What no route takes goes nowhere: it waits, or is dead. */
		if (route->rule == NULL && r->routes.n > 0 &&
		    c->publish.unmatched != UNMATCHED_DEFAULT)
			m->destination = ROUTE_NOWHERE;
		if (m->held || m->destination == ROUTE_NOWHERE ||
		    used[m->destination])
			continue;
		used[m->destination] = true;
		relay_line(f, i)->nused++;
		f->nused++;
	}
	f->deadline = f->b->claimed_at + c->worker.claim_ttl -
	    c->publish.timeout_ms - CONF_CLAIM_MARGIN_MS;
	for (size_t i = 0; (p = pub_next(r->pubs, &i)) != NULL; i++) {
		f->lines[i].pub = p;
		f->lines[i].reach = &r->reach[i];
		f->lines[i].capacity = (size_t)p->ops->capacity(p->arg);
		/* With several destinations each has its own capacity. */
		if (!r->routes.several)
			window = sooner(window, p->ops->capacity(p->arg));
		p->ops->begin(p->arg, f->deadline + RELAY_WRITE_MS);
	}
	p = f->lines[r->stream].pub;
	f->any_stream = p != NULL && r->form.stream[0] == '\0' &&
	    p->ops->names_streams;
	inflight_init(&f->w, f->b, (enum conf_ordering)c->outbox.ordering,
	    (size_t)window, max_out(c));
	relay_prefer_suspects(f);
	f->began_at = clock_ms();
	r->trial.blame_after = c->retry.blame_after;
	type_breaker_begin(&r->breaker, f->began_at);
}

/* Until what was sent has its answers, or the batch is given up. */
static void
send_and_wait(struct flight *f)
{
	while (f->w.unresolved > 0 || (may_send(f) &&
	    (inflight_has_work(&f->w) || f->naside > 0))) {
		int64_t		before = clock_ms();
		enum keep	keep = f->r->keep(f->r->keep_arg);

		f->closed = f->closed || keep == KEEP_FINISH;
		if (keep == KEEP_ABANDON || !relay_look(f)) {
			give_up_sent(f, NULL, OUT_KEEP_CLAIM);
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
	relay_explain_absent(f);
}

static bool
may_send(const struct flight *f)
{
	return !f->closed && clock_ms() < f->deadline;
}

/*
 * Send again messages that no stream took, and those that go under another id;
 * after the deadline refuse the former, and give the latter back.
 */
static void
begin_next_round(struct flight *f)
{
	bool	late = !may_send(f);

	if (f->nagain == 0 || (!late && clock_ms() < f->again_at))
		return;
	for (size_t i = 0; i < f->b->n; i++) {
		if (f->ways[i].state != AGAIN)
			continue;
		f->nagain--;
		inflight_resolved(&f->w, i, false);
		if (!late) {
			if (!relay_send(f, i))
				return;
		} else if (f->b->msgs[i].renamed)
			f->ways[i].state = DONE;	/* given back */
		else
			relay_refuse_absent(f, i);
	}
}

/* Messages that were set aside go first, if their turn may have come. */
static void
send_ready(struct flight *f)
{
	size_t	next;
	bool	ready;

	for (size_t i = 0; i < f->b->n && f->naside > 0 && may_send(f); i++) {
		if (f->ways[i].state != ASIDE)
			continue;
		/* offer() gives it back, or can send it. */
		ready = relay_had_its_turn(f, i) ||
		    (inflight_has_room(&f->w) && relay_has_room(f, i));
		if (!ready)
			continue;
		f->naside--;
		relay_to(f, i)->naside--;
		f->ways[i].state = READY;
		if (!offer(f, i))
			return;
	}
	while (may_send(f) && inflight_next(&f->w, &next))
		if (!offer(f, next))
			return;
}

static bool
put_aside(struct flight *f, size_t i)
{
	f->ways[i].state = ASIDE;
	f->naside++;
	relay_to(f, i)->naside++;
	return true;
}

/*
 * Send it, unless its destination takes nothing or no more, or its type is
 * refused.  A broker that was silent gets one message, an endpoint one of each
 * type; the others wait for what becomes of it.  false: the only connection is
 * lost.
 */
static bool
offer(struct flight *f, size_t i)
{
	const struct flight_line	*line = relay_line(f, i);
	bool				 silent = relay_to_silent(f, i);
	static const char		 nowhere[] = "no route of "
					     "publish.routes matches";
	enum error_class		 away;
	struct err			 e;

	if (f->b->msgs[i].destination == ROUTE_NOWHERE) {
		/* Its event would tell which route it has. */
		if (relay_waits_for_event(f, i))
			return true;
		if (f->r->conf->publish.unmatched == UNMATCHED_HOLD) {
			relay_refuse(f, i, CLASS_NO_ROUTE, nowhere);
			return true;
		}
		/* To be dead letters is their rule: no retry.burst holds. */
		f->ways[i].state = DONE;
		inflight_skipped(&f->w, i, relay_bury(f, i, "message",
		    nowhere));
		return true;
	}
	if (f->r->routes.several) {
		away = relay_away(f, i, &e);
		if (away != CLASS_NONE) {
			relay_refuse(f, i, away, e.text);
			return true;
		}
		if (silent && line->nout > 0 && line->pub->ops->in_order)
			return put_aside(f, i);
	}
	if (relay_had_its_turn(f, i)) {
		relay_send_later(f, i);
		return true;
	}
	if (!relay_has_room(f, i))
		return put_aside(f, i);
	switch (type_breaker_ask(&f->r->breaker, &f->b->msgs[i], silent,
	    clock_ms())) {
	case BREAKER_ASIDE:
		return put_aside(f, i);
	case BREAKER_WAITS:
		relay_refuse(f, i, CLASS_OTHER, "not sent: messages of this "
		    "event type are refused");
		return true;
	case BREAKER_GOES:
		break;
	}
	return relay_send(f, i);
}

static void
wait_a_little(struct flight *f, int64_t ms)
{
	const struct pub	*p;
	struct pub_answer	 a;
	enum error_class	 class;

	pub_wait(f->r->pubs, CONF_DRIVERS, -1, sooner(ms, RELAY_KEEP_MS));
	for (size_t i = 0; (p = pub_next(f->r->pubs, &i)) != NULL; i++) {
		struct flight_line *line = &f->lines[i];

		while (p->ops->answer(p->arg, &a))
			relay_answer(f, line, &a);
		relay_name_absent(f, line);
		class = p->ops->complaint(p->arg, PUB_MESSAGES,
		    &line->complaint);
		if (class != CLASS_NONE)
			line->complained = class;
	}
}

/* Time out late answers; the ms until one is late, or the next round begins. */
static int64_t
time_left(struct flight *f)
{
	int64_t	now = clock_ms(), left = relay_expire(f, now);

	if (f->nagain > 0)
		left = sooner(left, later(f->again_at - now, 0));
	/* After a time-out another message may be sent. */
	if (f->w.unresolved == 0 || (may_send(f) && inflight_can_send(&f->w)))
		left = 0;
	return left;
}

/*
 * What has no answer, or whose duplicate was not looked up, is in doubt, and is
 * sent again later.  line: only what one of several destinations has not
 * answered is refused; the others go on.
 */
static void
give_up_sent(struct flight *f, const struct flight_line *line,
    enum outcome outcome)
{
	struct err	e;

	for (size_t i = 0; i < f->b->n; i++) {
		struct way *way = &f->ways[i];

		if ((way->state != OUT && way->state != LOOK) ||
		    (line != NULL && relay_line(f, i) != line))
			continue;
		if (way->state == OUT)
			relay_comes_in(f, i);
		else {
			f->nlook--;
			way->state = DONE;
		}
		f->b->msgs[i].in_doubt = true;
		f->b->msgs[i].outcome = outcome;
		if (line == NULL)
			continue;
		err_set(&e, "%s: the connection was lost",
		    line->pub->ops->name);
		relay_refuse(f, i, CLASS_OFFLINE, e.text);
		inflight_resolved(&f->w, i, false);
	}
}

/* True if the only connection is lost. */
static bool
note_lost_lines(struct flight *f)
{
	struct pub		*pubs = f->r->pubs;
	struct relay_result	*res = f->res;

	for (size_t i = 0; pub_next(pubs, &i) != NULL; i++) {
		struct flight_line *line = &f->lines[i];

		if (!line->lost && pub_is_open(line->pub))
			continue;
		line->lost = true;
		if (f->r->routes.several) {
			if (line->nout > 0 || f->nlook > 0)
				give_up_sent(f, line, OUT_UNSENT);
			continue;
		}
		res->down = true;
		res->class = line->complained == CLASS_PERMISSION ?
		    CLASS_PERMISSION : CLASS_LOST;
		if (line->complained == CLASS_NONE)
			err_set(&res->why, "the connection was lost");
		else {
			err_set(&res->why, "%s", line->complaint.text);
			err_in(&res->why, "the connection was lost");
		}
		give_up_sent(f, NULL, OUT_UNSENT);
		return true;
	}
	return false;
}
