/*
 * relay_judge.c - at the end of a batch: whose fault were the refusals
 *
 * Down is only a destination that took nothing, if there is no other.  What was
 * refused waits, so that it is neither sent again at once nor in the way of the
 * rest of its type.  README.md has a table of all failures and their judges.
 */

#include "publish/relay_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "util/backoff.h"
#include "util/clock.h"
#include "util/printable.h"

/* A message that waits for its destination is tried again after so many ms. */
#define DEFER_MS	5000
#define DEFER_DOWN_MS	1000	/* if it took no message */

/* One without an answer waits so much longer than those that were not sent. */
#define BEHIND_MS	2000

/*
 * Messages of a type that is to blame are held in memory for so long, and those
 * that were tried twice as long: so the others are tried before them.
 */
#define HOLD_MS		60000

/* The shortest wait for a silent destination; the longest write-back. */
#define LEAST_MS	200

static void	judge_failure(struct flight *, size_t);
static bool	judge_refused(struct flight *);
static void	judge_spent(struct flight *, size_t);
static void	note_failed(struct flight *, size_t, bool, size_t [2]);
static void	tell_first(struct flight *, size_t);
static void	count_failure(struct flight *, size_t);

void
relay_judge(struct flight *f)
{
	struct relay		*r = f->r;
	const struct route	*routes = r->routes.routes;
	const struct flight_to	*stream = &f->to[ROUTE_STREAM];
	int64_t			 now = clock_ms();
	size_t			 first[] = { f->b->n, f->b->n };
	bool			 down;
	uint64_t		 taken[CONF_ROUTES_MAX + 1] = { 0 };
	struct figures		*of;

	for (size_t i = 0; i < f->b->n; i++)
		judge_failure(f, i);
	down = judge_refused(f);
	/* An election takes some seconds: all servers wait for that. */
	f->res->elsewhere = (stream->closed && !stream->took) ||
	    (f->leaderless && now - r->trial.to[ROUTE_STREAM].taken_at >=
	    RELAY_ELECTION_MS);
	for (unsigned d = 0; d < ROUTE_DESTINATIONS; d++)
		if (f->to[d].heard_at != 0 || f->to[d].missed)
			trial_route_heard(&r->trial, d, f->to[d].heard_at != 0,
			    now);
	for (size_t i = 0; i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (m->outcome != OUT_DELIVERED) {
			judge_spent(f, i);
			note_failed(f, i, down, first);
			count_failure(f, i);
			continue;
		}
		/* It tells of messages of its group that were refused. */
		taken[f->ways[i].route - routes]++;
		if (r->trial.n > 0)
			trial_took(&r->trial, msg_group(m), m->sequence,
			    msg_size(m), f->ways[i].sent_at / 1000);
	}
	/* Types that are refused while others are taken are told last. */
	if (first[0] == f->b->n)
		first[0] = first[1];
	if (first[0] < f->b->n && f->res->why.text[0] == '\0')
		tell_first(f, first[0]);
	/* After the failures: a destination that took one works. */
	for (size_t k = 0; r->figures != NULL && k <= r->routes.n; k++)
		if (taken[k] > 0 && (of = figures_of(r->figures, r->conf,
		    routes[k].rule)) != NULL)
			figures_took(of, taken[k], now);
}

static bool
took_group(const struct batch *b, uint64_t group)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->msgs[i].outcome == OUT_DELIVERED &&
		    msg_group(&b->msgs[i]) == group)
			return true;
	return false;
}

/* True if it was refused or not answered, and not for its own sake. */
static bool
speaks_for_its_type(struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];
	const struct way	*way = &f->ways[i];

	/* Perhaps it is its own fault; or no type gets an answer there. */
	if (way->alone || (f->r->routes.several && relay_to(f, i)->closed &&
	    !relay_any_stream(f, i)))
		return false;
	/* What was not sent counts only if it has no destination now. */
	if (way->sent_at == 0)
		return way->state == REFUSED && (way->class == CLASS_OFFLINE ||
		    way->class == CLASS_NO_ROUTE || way->class == CLASS_AUDIT);
	return way->state == REFUSED || (m->in_doubt &&
	    (m->outcome == OUT_RETRY || way->class == CLASS_TIMEOUT));
}

/*
 * One whose answer broke off, while others were taken, has failed, or the
 * connection that it shared has; if none was taken, the destination did.  What
 * was set aside when a silence ended the batch is refused as well.  A type of
 * which no message was taken is tried with one probe from now on.
 */
static void
judge_failure(struct flight *f, size_t i)
{
	const struct flight_to	*to = relay_to(f, i);
	const struct msg	*m = &f->b->msgs[i];
	struct way		*way = &f->ways[i];
	struct err		 e;

	if (way->state == REFUSED && way->class == CLASS_LOST && to->took) {
		way->state = DONE;
		err_set(&e, "%s", m->error);
		if (way->verdict == VERDICT_LOST_TOGETHER)
			relay_fail_in_doubt(f, i, e.text);
		else
			relay_fail(f, i, e.text);
	} else if (way->state == ASIDE && to->closed && !f->res->down)
		relay_refuse(f, i, CLASS_TIMEOUT, "not sent: other messages "
		    "got no answer");
	if (speaks_for_its_type(f, i) && !took_group(f->b, msg_group(m)))
		relay_refuse_type(f, i, false, way->state == REFUSED ?
		    way->class : CLASS_TIMEOUT, m->error);
}

/*
 * If its type is to blame, it is held in memory until it is asked for as the
 * probe, or the type is released (type_breaker_wanted).  In the database it is
 * due by then, for the claim, and for another worker.  What is too long to be
 * sent is no probe: it would be asked for again and again, without a pause.
 */
static void
defer_message(struct flight *f, size_t i, bool down)
{
	struct msg			*m = &f->b->msgs[i];
	const struct way		*way = &f->ways[i];
	const struct trial_to		*to = &f->r->trial.to[
					    way->route->destination];
	const struct type_breaker_item	*item = type_breaker_find(
					    &f->r->breaker, m);
	bool				 silent = way->class == CLASS_TIMEOUT;

	m->outcome = OUT_DEFER;
	if (item != NULL && item->blamed && (way->sent_at != 0 ||
	    way->class != CLASS_TOO_LARGE)) {
		m->delay_ms = later(item->until - clock_ms() - LEAST_MS, 1);
		m->hold_ms = way->sent_at == 0 ? HOLD_MS : 2 * HOLD_MS;
		return;
	}
	m->delay_ms = DEFER_MS;
	if (down)
		m->delay_ms = DEFER_DOWN_MS;
	/* Until the next one may be sent: once that has an answer, all go. */
	else if (silent && to->silent)
		m->delay_ms = later(to->until - clock_ms(), LEAST_MS);
	else if (silent)
		m->delay_ms = trial_silence_wait(&f->r->trial, m->sequence);
	/*
	 * Of an endpoint, and of several streams, a message that alone gets no
	 * answer could keep its type from being sent for ever: let another one
	 * of the type be tried before it.
	 */
	if (m->in_doubt && !down && (relay_any_stream(f, i) ||
	    (silent && !relay_line(f, i)->pub->ops->in_order)))
		m->delay_ms += BEHIND_MS;
}

/* Nothing was taken, and not only of types that are to blame by now. */
static bool
is_down(struct flight *f)
{
	if (f->r->routes.several || f->b->n == 0 || relay_to(f, 0)->took)
		return false;
	for (size_t i = 0; i < f->b->n; i++)
		if (f->ways[i].sent_at != 0 && !f->ways[i].alone &&
		    !type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]))
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
static bool
judge_refused(struct flight *f)
{
	bool	down = is_down(f);

	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		if (f->ways[i].state != REFUSED)
			continue;
		if (f->ways[i].alone) {
			/* Others of its type go on, and its lane shows. */
			m->outcome = OUT_DEFER;
			m->delay_ms = m->hold_ms = trial_wait(&f->r->trial,
			    m->sequence);
			continue;
		}
		defer_message(f, i, down);
		if (down && !f->res->down) {
			err_set(&f->res->why, "%s", m->error);
			f->res->class = f->ways[i].class;
			f->res->down = true;
		}
	}
	return down;
}

/*
 * Has it failed, and not with the destination as a whole?  Noted are the first
 * one, and the first whose type is refused while others are taken.
 */
static void
note_failed(struct flight *f, size_t i, bool down, size_t first[2])
{
	const struct msg	*m = &f->b->msgs[i];
	const struct way	*way = &f->ways[i];
	bool			 refused = way->state == REFUSED && !way->alone;
	bool			 blamed = refused && type_breaker_is_blamed(
				     &f->r->breaker, m);

	if (m->held || (refused && down) || (m->outcome != OUT_RETRY &&
	    m->outcome != OUT_DEFER && m->outcome != OUT_DEAD))
		return;
	f->res->failed++;
	f->res->refused += blamed;
	if (first[blamed] == f->b->n)
		first[blamed] = i;
}

/* The text of the first one stands for all. */
static void
tell_first(struct flight *f, size_t i)
{
	struct relay_result	*r = f->res;
	const struct msg	*m = &f->b->msgs[i];

	r->first.sequence = m->sequence;
	printable_text(r->first.key, m->key.data, m->key.len);
	printable_text(r->first.type, m->type.data, m->type.len);
	if (f->b->labels != NULL)
		strlcpy(r->first.partition, f->b->labels[m->range],
		    sizeof(r->first.partition));
	err_set(&r->why, "sequence %llu, key %s: %s",
	    (unsigned long long)m->sequence, r->first.key, m->error);
}

/* When it was tried first, at the latest, as its attempts tell: clock_ms(). */
static int64_t
first_try_at(const struct flight *f, size_t i)
{
	const struct conf	*c = f->r->conf;
	const struct conf_route	*rule = f->ways[i].route->rule;
	int64_t			 longest = route_max_backoff(c, rule);
	double			 waited = 0;

	for (unsigned k = 1; k <= f->b->msgs[i].attempts; k++)
		waited += k >= route_max_attempts(c, rule) ? (double)longest :
		    (double)backoff_retry(route_backoff(c, rule), longest, 0,
		    k) * (1 - c->retry.jitter);
	return f->ways[i].sent_at / 1000 - (int64_t)waited;
}

/*
 * If its last attempt has failed, it is dead only if its destination has taken
 * another one since its first; otherwise it is tried as before, at the longest
 * delay.
 */
static void
judge_spent(struct flight *f, size_t i)
{
	struct msg	*m = &f->b->msgs[i];
	int64_t		 taken_at = f->r->trial.to[m->destination].taken_at;
	struct err	 e;

	if (!f->ways[i].spent || m->outcome != OUT_RETRY)
		return;
	if (taken_at == 0 || taken_at < first_try_at(f, i)) {
		m->delay_ms = route_max_backoff(f->r->conf,
		    f->ways[i].route->rule);
		return;
	}
	err_set(&e, "%s", m->error);
	m->delay_ms = 0;
	relay_bury_or_hold(f, i, "attempts", e.text);
}

/*
 * Count its failure, if it was one: of the batch, and of its destination, but
 * for what was not to be sent, as its lane is blocked.
 */
static void
count_failure(struct flight *f, size_t i)
{
	const struct relay	*r = f->r;
	const struct msg	*m = &f->b->msgs[i];
	const struct way	*way = &f->ways[i];
	struct relay_failures	*n = &f->res->failures;
	struct figures		*of = NULL;
	bool			 refused = way->state == REFUSED;
	bool			 own = m->outcome == OUT_DEAD &&
				     strcmp(m->reason, "attempts") != 0;
	bool			 tried = way->sent_at != 0 || (refused &&
				     way->class != CLASS_OTHER);
	struct figures_failure	 why = { .sequence = m->sequence,
				     .text = m->error == NULL ? "" : m->error,
				     .again_ms = m->delay_ms, .own = own };

	if (refused && !tried)		/* it waits for the probe of its type */
		return;
	if (refused) {
		n->refused[way->class]++;
		/* Not by an answer that can be about this message alone. */
		why.sure = !relay_is_accused(f, i) &&
		    way->class != CLASS_TOO_LARGE;
	} else if (m->outcome == OUT_UNSENT && m->in_doubt && tried) {
		/* The loss of the connection left it without an answer. */
		n->refused[f->res->class]++;
		why.text = f->res->why.text;
	} else if (own)
		n->message++;
	else if (m->outcome == OUT_DEAD || m->outcome == OUT_RETRY ||
	    m->outcome == OUT_DEFER)
		n->transient++;
	else
		return;
	if ((tried || own) && r->figures != NULL && !m->held &&
	    m->destination != ROUTE_NOWHERE)
		of = figures_of(r->figures, r->conf, way->route->rule);
	if (of != NULL)
		figures_failed(of, &why, clock_ms());
}
