/*
 * relay_judge.c - at the end of a batch: whose fault were the refusals
 *
 * Down is only a destination that took nothing, if there is no other.  What was
 * refused waits, so that it is neither sent again at once nor in the way of the
 * rest of its type.
 */

#include "publish/relay_impl.h"

#include <string.h>

#include "util/backoff.h"
#include "util/clock.h"

/* A message that waits for its destination is tried again after so many ms. */
#define DEFER_MS	5000
#define DEFER_DOWN_MS	1000	/* if it took no message */

/* One without an answer waits so much longer than those that were not sent. */
#define BEHIND_MS	2000

/*
 * A message of a type that is probed often: shortest time until it is the next
 * probe, and longest time in memory.
 */
#define PROBE_MS	200
#define HOLD_MS		60000
#define ROTATE_MS	5000	/* longer than a probe is missed */

static bool
took_group(const struct batch *b, const struct msg *m)
{
	uint64_t	group = msg_group(m);

	for (size_t i = 0; i < b->n; i++)
		if (b->msgs[i].outcome == OUT_DELIVERED &&
		    msg_group(&b->msgs[i]) == group)
			return true;
	return false;
}

/* True if it was refused or not answered: not its own fault. */
static bool
speaks_for_its_type(struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];

	/* Its destination is silent, whatever the type. */
	if (f->alone[i] || (relay_to(f, i)->closed && !relay_any_stream(f, i)))
		return false;
	/* It was not sent, because it has no destination now. */
	if (f->state[i] == REFUSED && (f->class[i] == CLASS_OFFLINE ||
	    f->class[i] == CLASS_NO_ROUTE || f->class[i] == CLASS_AUDIT))
		return true;
	return f->sent_at[i] != 0 && (f->state[i] == REFUSED ||
	    (m->in_doubt && (m->outcome == OUT_RETRY ||
	    f->class[i] == CLASS_TIMEOUT)));
}

/* A type of which no message was taken is tried with one probe from now on. */
static void
judge_types(struct flight *f)
{
	for (size_t i = 0; i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (speaks_for_its_type(f, i) && !took_group(f->b, m))
			relay_refuse_type(f, i, f->state[i] == REFUSED ?
			    f->class[i] : CLASS_TIMEOUT, m->error);
	}
}

static int64_t
own_wait(const struct flight *f, const struct msg *m)
{
	return trial_wait(&f->r->trial, m->sequence,
	    f->r->conf->retry.blame_after);
}

/*
 * It may be its own fault: the others of its type go on, and its lane shows.
 */
static void
set_apart(struct flight *f, size_t i)
{
	struct msg	*m = &f->b->msgs[i];

	m->outcome = OUT_DEFER;
	m->delay_ms = m->hold_ms = own_wait(f, m);
	relay_note_failure(f, m, m->error);
}

/*
 * Its type is blamed and probed often.  One message is the next probe, due when
 * that may be sent and not sooner.  The others are held in memory until one is
 * taken, so that they cost nothing: in the database they are due with the
 * probe, for another worker.
 */
static void
hold_message(struct flight *f, size_t i)
{
	struct type_breaker	*k = &f->r->breaker;
	struct msg		*m = &f->b->msgs[i];

	m->outcome = OUT_DEFER;
	m->delay_ms = later(type_breaker_wait(k, m, clock_ms()),
	    PROBE_MS);
	/*
	 * It may be refused for its own sake: all others that are held are
	 * tried before it, one after the other, as the breaker wants them.
	 */
	if (f->sent_at[i] != 0 && type_breaker_rotates(k, m)) {
		m->delay_ms += f->accused[i] ? own_wait(f, m) : ROTATE_MS;
		m->hold_ms = HOLD_MS;
		return;
	}
	m->hold_ms = type_breaker_choose(k, m) ? m->delay_ms : HOLD_MS;
}

/*
 * Where nobody answers, a message waits until the next one may be sent: as soon
 * as that has an answer, all go.
 */
static int64_t
time_to_defer(const struct flight *f, size_t i, bool down)
{
	const struct msg	*m = &f->b->msgs[i];
	const struct silent	*s =
	    &f->r->silence.to[f->route[i]->destination];

	if (down)
		return DEFER_DOWN_MS;
	if (f->class[i] == CLASS_TIMEOUT && s->silent)
		return later(s->until - clock_ms(), PROBE_MS);
	if (f->class[i] == CLASS_TIMEOUT ||
	    type_breaker_is_blamed(&f->r->breaker, m))
		return silence_wait(&f->r->silence);
	return DEFER_MS;
}

static void
defer_message(struct flight *f, size_t i, bool down)
{
	struct msg	*m = &f->b->msgs[i];
	int64_t		 wait = type_breaker_wait(&f->r->breaker, m,
			     clock_ms());

	if (!down && type_breaker_holds(&f->r->breaker, m)) {
		hold_message(f, i);
		return;
	}
	m->outcome = OUT_DEFER;
	m->delay_ms = later(time_to_defer(f, i, down), wait);
	/*
	 * Of an endpoint, and of several streams, a message that alone gets no
	 * answer could keep its type from being sent for ever: let another one
	 * of the type be tried before it.
	 */
	if (m->in_doubt && !down && (relay_any_stream(f, i) ||
	    (f->class[i] == CLASS_TIMEOUT &&
	    !relay_line(f, i)->pub->ops->in_order)))
		m->delay_ms += BEHIND_MS;
}

static bool
is_of_type(const struct flight *f, size_t i)
{
	return f->state[i] == REFUSED && !f->alone[i] &&
	    type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]);
}

/* Types that are refused while others are taken, after all other failures. */
static void
note_types(struct flight *f)
{
	for (size_t i = 0; i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (!is_of_type(f, i))
			continue;
		relay_note_failure(f, m, m->error);
		f->res->refused++;
	}
}

/* Nothing was taken, and not only types were sent that are to blame by now. */
static bool
is_down(struct flight *f)
{
	if (f->r->routes.several || f->b->n == 0 || relay_to(f, 0)->nfair == 0 ||
	    relay_to(f, 0)->acked > 0)
		return false;
	for (size_t i = 0; i < f->b->n; i++)
		if (f->sent_at[i] != 0 && !f->alone[i] &&
		    !relay_is_blamed(f, i))
			return true;
	return false;
}

/*
 * The destination is down if no stream acknowledged anything.  If all messages
 * were for one stream of several, all streams pause, for 3.5 s at most, until
 * another one answers and the type is blamed (type_breaker.h).  In any case
 * refused messages are deferred: if they were tried again at once, a few of
 * them at the head would keep the destination down for all others.
 */
static void
judge_refused(struct flight *f)
{
	bool	down = is_down(f);

	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		if (f->state[i] != REFUSED)
			continue;
		if (f->alone[i]) {
			set_apart(f, i);
			continue;
		}
		defer_message(f, i, down);
		if (down && !f->res->down) {
			err_set(&f->res->why, "%s", m->error);
			f->res->class = f->class[i];
		} else if (!down && !is_of_type(f, i))
			relay_note_failure(f, m, m->error);
		f->res->down = f->res->down || down;
	}
	if (!down)
		note_types(f);
}

/*
 * Messages set aside when a silence ended the batch are deferred as well.  If
 * it is down already, the connection was lost, which is no refusal.
 */
static void
judge_aside(struct flight *f)
{
	if (!f->res->silent || f->res->down)
		return;
	for (size_t i = 0; i < f->b->n; i++)
		if (f->state[i] == ASIDE)
			relay_refuse(f, i, CLASS_TIMEOUT, "not sent: other "
			    "messages got no answer");
}

/*
 * An answer that broke off, while others were taken: this message failed, or
 * the connection that it shared.  If none was taken, the destination did.
 */
static void
judge_lost(struct flight *f)
{
	struct err	e;

	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		if (f->state[i] != REFUSED || f->class[i] != CLASS_LOST ||
		    relay_to(f, i)->acked == 0)
			continue;
		f->state[i] = DONE;
		err_set(&e, "%s", m->error);
		if (f->together[i])
			relay_fail_in_doubt(f, i, e.text);
		else
			relay_fail(f, m, e.text);
	}
}

/*
 * When its first try was, at the latest: its attempts tell how long it waited.
 */
static int64_t
first_tried(const struct flight *f, size_t i)
{
	const struct conf	*c = f->r->conf;
	const struct conf_route	*rule = f->route[i]->rule;
	int64_t			 longest = route_max_backoff(c, rule);
	double			 waited = 0;

	for (unsigned k = 1; k <= f->b->msgs[i].attempts; k++)
		waited += k >= route_max_attempts(c, rule) ? (double)longest :
		    (double)backoff_retry(route_backoff(c, rule), longest, 0,
		    k) * (1 - c->retry.jitter);
	return f->sent_at[i] / 1000 - (int64_t)waited;
}

/*
 * Its last attempt has failed.  It is dead only if its destination has taken
 * another one since its first; otherwise it is tried as before, at the longest
 * delay.
 */
static void
judge_spent(struct flight *f)
{
	struct err	e;

	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		if (!f->spent[i] || m->outcome != OUT_RETRY)
			continue;
		if (!trial_took_since(&f->r->trial, m->destination,
		    first_tried(f, i))) {
			m->delay_ms = route_max_backoff(f->r->conf,
			    f->route[i]->rule);
			continue;
		}
		err_set(&e, "%s", m->error);
		m->delay_ms = 0;
		relay_bury_or_hold(f, m, "attempts", e.text);
	}
}

/* What was taken tells of those of its group that were refused. */
static void
tell_accused(struct flight *f)
{
	for (size_t i = 0; f->r->trial.n > 0 && i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (m->outcome == OUT_DELIVERED)
			trial_took(&f->r->trial, msg_group(m), m->sequence,
			    msg_size(m), f->sent_at[i] / 1000, clock_ms());
	}
}

/* The loss of the connection left some without an answer. */
static bool
is_without_answer(const struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];

	return f->state[i] != REFUSED && m->outcome == OUT_UNSENT &&
	    m->in_doubt && f->sent_at[i] != 0;
}

static bool
is_own_fault(const struct msg *m)
{
	return m->outcome == OUT_DEAD && strcmp(m->reason, "attempts") != 0;
}

/* Was it tried?  Not if it waits for the probe of its type. */
static bool
was_tried_now(const struct flight *f, size_t i)
{
	return f->sent_at[i] != 0 || (f->state[i] == REFUSED &&
	    f->class[i] != CLASS_OTHER);
}

static void
count_failure(const struct flight *f, size_t i, struct relay_failures *n)
{
	const struct msg	*m = &f->b->msgs[i];

	if (f->state[i] == REFUSED && was_tried_now(f, i))
		n->refused[f->class[i]]++;
	else if (f->state[i] == REFUSED)
		return;
	else if (is_without_answer(f, i))
		n->refused[f->res->class]++;
	else if (is_own_fault(m))
		n->message++;
	else if (m->outcome == OUT_DEAD || m->outcome == OUT_RETRY ||
	    m->outcome == OUT_DEFER)
		n->transient++;
}

static void
count_failures(struct flight *f)
{
	if (f->res->delivered == f->b->n)
		return;
	for (size_t i = 0; i < f->b->n; i++)
		count_failure(f, i, &f->res->failures);
}

/* Not by an answer that can be about this message alone. */
static bool
is_its_fault(const struct flight *f, size_t i)
{
	return f->state[i] == REFUSED && !f->accused[i] &&
	    f->class[i] != CLASS_TOO_LARGE;
}

static void
note_failed(struct flight *f, size_t i, struct figures *of)
{
	const struct msg	*m = &f->b->msgs[i];
	struct figures_failure	 why = { .sequence = m->sequence,
				     .text = m->error == NULL ? "" :
				     m->error, .again_ms = later(
				     m->delay_ms, m->hold_ms),
				     .own = is_own_fault(m),
				     .sure = is_its_fault(f, i) };

	if (is_without_answer(f, i))
		why.text = f->res->why.text;
	else if (m->outcome != OUT_DEAD && m->outcome != OUT_RETRY &&
	    m->outcome != OUT_DEFER)
		return;
	if (was_tried_now(f, i) || why.own)
		figures_failed(of, &why, clock_ms());
}

/* What it took shows that a destination works: after the failures. */
static void
fill_figures(struct flight *f)
{
	struct relay		*r = f->r;
	const struct route	*routes = r->routes.routes;
	uint64_t		 taken[CONF_ROUTES_MAX + 1] = { 0 };
	struct figures		*of;

	for (size_t i = 0; r->figures != NULL && i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (m->outcome == OUT_DELIVERED)
			taken[f->route[i] - routes]++;
		else if (!m->held && m->destination != ROUTE_NOWHERE &&
		    (of = figures_of(r->figures, r->conf,
		    f->route[i]->rule)) != NULL)
			note_failed(f, i, of);
	}
	for (size_t k = 0; k <= r->routes.n; k++)
		if (taken[k] > 0 && (of = figures_of(r->figures, r->conf,
		    routes[k].rule)) != NULL)
			figures_took(of, taken[k], clock_ms());
}

void
relay_judge(struct flight *f)
{
	judge_lost(f);
	judge_types(f);
	judge_aside(f);
	judge_refused(f);
	judge_spent(f);
	tell_accused(f);
	count_failures(f);
	fill_figures(f);
}
