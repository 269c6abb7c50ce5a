/*
 * relay_outcome.c - what becomes of a message: delivered, dead, tried again, or
 * refused with its type or its destination
 */

#include "publish/relay_impl.h"

#include <bsd/string.h>

#include "util/backoff.h"
#include "util/clock.h"
#include "util/printable.h"

/* What is held waits for a person: so long that its key is recorded. */
#define HELD_MS		30000

void
relay_note_failure(struct flight *f, const struct msg *m, const char *text)
{
	struct relay_result	*r = f->res;

	r->failed++;
	if (r->why.text[0] != '\0')
		return;
	r->first.sequence = m->sequence;
	printable_text(r->first.key, m->key.data, m->key.len);
	printable_text(r->first.type, m->type.data, m->type.len);
	if (f->b->labels != NULL)
		strlcpy(r->first.partition, f->b->labels[m->range],
		    sizeof(r->first.partition));
	err_set(&r->why, "sequence %llu, key %s: %s",
	    (unsigned long long)m->sequence, r->first.key, text);
}

bool
relay_bury(struct flight *f, struct msg *m, const char *reason,
    const char *text)
{
	if (!f->r->has_dead) {
		msg_fail(m, OUT_RETRY, text);
		m->delay_ms = f->r->conf->retry.max_backoff;
		return false;
	}
	msg_fail(m, OUT_DEAD, text);
	m->reason = reason;
	return f->r->conf->retry.on_dead == DEAD_CONTINUE;
}

bool
relay_fail(struct flight *f, struct msg *m, const char *text)
{
	const struct conf	*c = f->r->conf;
	const struct conf_route	*rule = f->route[m - f->b->msgs]->rule;

	relay_note_failure(f, m, text);
	/*
	 * The next try might succeed: until it is a dead letter, no later
	 * message of its lane may pass it.
	 */
	msg_fail(m, OUT_RETRY, text);
	m->delay_ms = backoff_retry(route_backoff(c, rule),
	    route_max_backoff(c, rule), c->retry.jitter, m->attempts + 1);
	f->spent[m - f->b->msgs] = m->attempts + 1 >=
	    route_max_attempts(c, rule);
	return false;
}

/*
 * How many of one cause this worker may bury: it does not see what others do,
 * so each has an equal share, and one at least.
 */
static int64_t
share_of_burst(const struct relay *r)
{
	int64_t	burst = r->conf->retry.burst;

	return burst == 0 ? 0 : later(burst / later((int64_t)r->nworkers, 1), 1);
}

bool
relay_bury_or_hold(struct flight *f, struct msg *m, const char *reason,
    const char *text)
{
	const struct conf	*c = f->r->conf;
	uint64_t		 cause = msg_group(m) ^ text_hash(reason);
	int64_t			 burst = share_of_burst(f->r);
	struct err		 e;

	if (!f->r->has_dead || trial_may_bury(&f->r->trial, cause, burst,
	    c->retry.burst_time, clock_ms()))
		return relay_bury(f, m, reason, text);
	err_set(&e, RELAY_HELD "more than %lld of its type were to be dead "
	    "letters: %s", (long long)burst, text);
	msg_fail(m, OUT_RETRY, e.text);
	m->delay_ms = later(HELD_MS,
	    route_max_backoff(c, f->route[m - f->b->msgs]->rule));
	return false;
}

const struct envelope_form *
relay_form(const struct flight *f, size_t i)
{
	return f->route[i]->rule == NULL ? &f->r->form : &f->route[i]->form;
}

void
relay_goes_out(struct flight *f, size_t i, size_t size)
{
	struct flight_to	*to = relay_to(f, i);

	f->state[i] = OUT;
	f->sent_at[i] = to->sent_at = clock_us();
	f->ordinal[i] = f->nsent;
	f->order[f->nsent++] = i;
	to->nfair += !relay_is_blamed(f, i);
	relay_line(f, i)->nout++;
	if (++to->nout > to->most)
		to->most = to->nout;
	to->bytes += size;
	inflight_sent(&f->w, i, size);
}

void
relay_comes_in(struct flight *f, size_t i, enum state state)
{
	f->state[i] = state;
	relay_line(f, i)->nout--;
	relay_to(f, i)->nout--;
	relay_to(f, i)->bytes -= f->w.sizes[i];
}

static const char *
subject_of(struct flight *f, size_t i)
{
	return envelope_subject_of(&f->r->envelope, relay_form(f, i),
	    &f->b->msgs[i]);
}

static void
refuse_type(struct flight *f, size_t i, bool others, enum error_class class,
    const char *why)
{
	const struct msg	*m = &f->b->msgs[i];
	unsigned		 to = f->route[i]->destination;

	type_breaker_refused(&f->r->breaker, &(struct type_refusal){
	    .m = m, .route = f->route[i]->group, .class = class,
	    .why = why, .others = others, .turns = !f->accused[i] ? 0 :
	    trial_turns(&f->r->trial, m->sequence,
	    f->r->conf->retry.blame_after, clock_ms()),
	    .taken_at = f->r->trial.routes[to].taken_at,
	    .subject = subject_of(f, i) }, clock_ms());
}

/*
 * With several destinations the others are assumed to take messages: a refusal
 * must never make them wait.  But a destination that gives no answer at all is
 * silent, and its types are not to blame.
 */
void
relay_refuse_type(struct flight *f, size_t i, enum error_class class,
    const char *why)
{
	bool	silent = class == CLASS_TIMEOUT && !relay_any_stream(f, i);

	refuse_type(f, i, relay_to(f, i)->acked > 0 ||
	    class == CLASS_NO_ROUTE || (f->r->routes.several && !silent),
	    class, why);
}

void
relay_pause_type(struct flight *f, size_t i, enum error_class class,
    const char *why)
{
	f->accused[i] = true;
	refuse_type(f, i, true, class, why);
}

void
relay_was_tried(struct flight *f, size_t i, enum error_class class,
    const char *why)
{
	if (f->r->breaker.n > 0 &&
	    type_breaker_is_out(&f->r->breaker, &f->b->msgs[i]))
		relay_refuse_type(f, i, class, why);
}

bool
relay_is_blamed(const struct flight *f, size_t i)
{
	return (f->r->breaker.n > 0 &&
	    type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i])) ||
	    f->r->silence.to[f->route[i]->destination].silent;
}

void
relay_refuse(struct flight *f, size_t i, enum error_class class,
    const char *text)
{
	relay_was_tried(f, i, class, text);
	msg_fail(&f->b->msgs[i], OUT_UNSENT, text);
	f->state[i] = REFUSED;
	f->class[i] = class;
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

/*
 * Sequences grow, unless the stream has lost some and uses them again.
 * Watched with nats.stream only: those of several streams cannot be compared.
 */
static void
note_ack(struct flight *f, struct msg *m)
{
	struct relay	*r = f->r;

	if (!r->watch || m->ack_sequence == 0)	/* 0: not the stream's */
		return;
	if (m->ack_sequence > r->top.ack) {
		r->top = (struct acked){ msg_id(m), m->ack_sequence };
		return;
	}
	r->went_back = true;
	f->closed = f->closed || !r->routes.several;
}

void
relay_deliver(struct flight *f, size_t i, uint64_t ack, bool duplicate)
{
	struct msg	*m = &f->b->msgs[i];

	m->outcome = OUT_DELIVERED;
	m->ack_sequence = ack;
	silence_over(&f->r->silence, m->sequence);
	if (!duplicate)
		note_ack(f, m);
	f->state[i] = DONE;
	f->res->delivered++;
	f->res->duplicates += duplicate;
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
