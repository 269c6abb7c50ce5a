/*
 * relay_outcome.c - what becomes of a message: delivered, dead, tried again, or
 * refused with its type or its destination
 */

#include "publish/relay_impl.h"

#include "util/backoff.h"
#include "util/clock.h"
#include "util/printable.h"

/* What is held waits for a person: so long that its key is recorded. */
#define HELD_MS		30000

bool
relay_bury(struct flight *f, size_t i, const char *reason, const char *text)
{
	struct msg	*m = &f->b->msgs[i];

	if (!f->r->has_dead) {
		msg_fail(m, OUT_RETRY, text);
		m->delay_ms = route_max_backoff(f->r->conf,
		    f->ways[i].route->rule);
		return false;
	}
	msg_fail(m, OUT_DEAD, text);
	m->reason = reason;
	return f->r->conf->retry.on_dead == DEAD_CONTINUE;
}

bool
relay_bury_or_hold(struct flight *f, size_t i, const char *reason,
    const char *text)
{
	const struct conf	*c = f->r->conf;
	struct msg		*m = &f->b->msgs[i];
	uint64_t		 cause = msg_group(m) ^ text_hash(reason);
	int64_t			 burst = c->retry.burst;
	struct err		 e;

	/* What others bury it does not see: each has an equal share. */
	if (burst > 0)
		burst = later(burst / later((int64_t)f->r->nworkers, 1), 1);
	if (!f->r->has_dead || trial_may_bury(&f->r->trial, cause, burst,
	    c->retry.burst_time, clock_ms()))
		return relay_bury(f, i, reason, text);
	err_set(&e, RELAY_HELD "more than %lld of its type were to be dead "
	    "letters: %s", (long long)burst, text);
	msg_fail(m, OUT_RETRY, e.text);
	m->delay_ms = later(HELD_MS, route_max_backoff(c,
	    f->ways[i].route->rule));
	return false;
}

/*
 * The next try might succeed: until it is a dead letter, no later message of
 * its lane may pass it.
 */
void
relay_fail(struct flight *f, size_t i, const char *text)
{
	const struct conf	*c = f->r->conf;
	const struct conf_route	*rule = f->ways[i].route->rule;
	struct msg		*m = &f->b->msgs[i];

	msg_fail(m, OUT_RETRY, text);
	m->delay_ms = backoff_retry(route_backoff(c, rule),
	    route_max_backoff(c, rule), c->retry.jitter, m->attempts + 1);
	f->ways[i].spent = m->attempts + 1 >= route_max_attempts(c, rule);
}

static const char *
subject_of(struct flight *f, size_t i)
{
	return envelope_subject_of(&f->r->envelope, relay_form(f, i),
	    &f->b->msgs[i]);
}

/*
 * With several destinations the others are assumed to take messages: a refusal
 * must never make them wait.  But a destination that gives no answer at all is
 * silent, and its types are not to blame.  A stream that works and does not take
 * a subject would take others.
 */
void
relay_refuse_type(struct flight *f, size_t i, bool others,
    enum error_class class, const char *why)
{
	struct relay		*r = f->r;
	const struct msg	*m = &f->b->msgs[i];
	const struct route	*route = f->ways[i].route;
	bool			 silent = class == CLASS_TIMEOUT &&
				     !relay_any_stream(f, i);
	struct type_refusal	 refusal = { .m = m, .route = route->group,
				     .class = class, .why = why,
				     .subject = subject_of(f, i) };

	refusal.taken_at = r->trial.to[route->destination].taken_at;
	refusal.others = others || relay_to(f, i)->took ||
	    class == CLASS_NO_ROUTE || (r->routes.several && !silent) ||
	    (class == CLASS_NO_STREAM && f->res->stream_fits);
	if (relay_is_accused(f, i))
		refusal.turns = trial_turns(&r->trial, m->sequence,
		    clock_ms());
	type_breaker_refused(&r->breaker, &refusal, clock_ms());
}

void
relay_was_tried(struct flight *f, size_t i, enum error_class class,
    const char *why)
{
	const struct type_breaker_item	*item = type_breaker_find(
					    &f->r->breaker, &f->b->msgs[i]);

	if (item != NULL && item->out)
		relay_refuse_type(f, i, false, class, why);
}

void
relay_refuse(struct flight *f, size_t i, enum error_class class,
    const char *text)
{
	relay_was_tried(f, i, class, text);
	msg_fail(&f->b->msgs[i], OUT_UNSENT, text);
	f->ways[i].state = REFUSED;
	f->ways[i].class = class;
}

void
relay_refuse_absent(struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];
	char			 type[PRINTABLE_SIZE];
	struct err		 e;

	printable_text(type, m->type.data, m->type.len);
	err_set(&e, "no stream takes subject \"%.250s\" (type %s): add it to "
	    "a stream's subjects, or enable JetStream, which a full disk "
	    "turns off", subject_of(f, i), type);
	relay_refuse(f, i, CLASS_NO_STREAM, e.text);
}

void
relay_deliver(struct flight *f, size_t i, uint64_t ack, bool duplicate)
{
	struct relay	*r = f->r;
	struct msg	*m = &f->b->msgs[i];

	m->outcome = OUT_DELIVERED;
	m->ack_sequence = ack;
	f->ways[i].state = DONE;
	f->res->delivered++;
	f->res->duplicates += duplicate;
	/*
	 * Sequences grow, unless the stream has lost some and uses them again.
	 * Watched with nats.stream only: sequences of several streams cannot
	 * be compared.  0: it is not the stream's.
	 */
	if (duplicate || !r->watch || ack == 0 || ack >= MSG_PLACES)
		return;
	if (ack > r->top.ack) {
		r->top = (struct acked){ msg_id(m), ack };
		return;
	}
	r->went_back = true;
	f->closed = f->closed || !r->routes.several;
}

void
relay_deliver_unread(struct flight *f, size_t i, uint64_t ack, const char *why)
{
	struct buf	id = { 0 };

	relay_deliver(f, i, ack, true);
	if (f->res->unread++ > 0)
		return;
	msg_put_author_id(&id, &f->b->msgs[i]);
	err_set(&f->res->unread_why, "sequence %llu, id %.100s: the stream had "
	    "it before, at its sequence %llu, and whose message that is cannot "
	    "be read: counts as delivered: %s",
	    (unsigned long long)f->b->msgs[i].sequence, id.data,
	    (unsigned long long)ack, why);
	buf_free(&id);
}

void
relay_goes_out(struct flight *f, size_t i, size_t size)
{
	struct flight_to	*to = relay_to(f, i);

	f->ways[i].state = OUT;
	f->ways[i].sent_at = to->sent_at = clock_us();
	f->ways[i].ordinal = f->nsent;
	f->order[f->nsent++] = i;
	to->fair = to->fair || (!relay_to_silent(f, i) &&
	    !type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]));
	relay_line(f, i)->nout++;
	if (++to->nout > to->most)
		to->most = to->nout;
	to->bytes += size;
	inflight_sent(&f->w, i, size);
}

void
relay_comes_in(struct flight *f, size_t i)
{
	f->ways[i].state = DONE;
	relay_line(f, i)->nout--;
	relay_to(f, i)->nout--;
	relay_to(f, i)->bytes -= f->w.sizes[i];
}

const struct envelope_form *
relay_form(const struct flight *f, size_t i)
{
	const struct route	*route = f->ways[i].route;

	return route->rule == NULL ? &f->r->form : &route->form;
}

bool
relay_is_accused(const struct flight *f, size_t i)
{
	enum verdict	v = f->ways[i].verdict;

	return v == VERDICT_MESSAGE || v == VERDICT_TOO_LARGE ||
	    v == VERDICT_ADDRESS;
}

struct trial_case
relay_case(const struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];

	return (struct trial_case){ .sequence = m->sequence,
	    .group = msg_group(m), .destination = m->destination,
	    .verdict = f->ways[i].verdict, .size = msg_size(m),
	    .sent_at = f->ways[i].sent_at / 1000 };
}
