/*
 * relay_silence.c - messages without an answer: until when, and whose fault
 *
 * Without nats.stream several streams may take the messages of one connection.
 * An acknowledgement by any of them shows that the connection works (acked),
 * so that a silent type is at fault, not the destination.  It never shows that
 * another stream lost a message (is_overtaken).
 */

#include "publish/relay_impl.h"

#include "util/clock.h"

/*
 * A stream answers in the order in which it stores.  A message is overtaken if
 * all that were sent later have answers, and no answer has come for this many
 * ms and for four times the slowest one: the others do not wait for its
 * time-out.  Answers to duplicates do not count: a cluster gives them at once,
 * while it is still storing earlier messages.
 */
#define OVERTAKEN_MS	250
#define OVERTAKEN_TIMES	4

/* The same for types and destinations that are known to be silent. */
#define BLAMED_MS	500

static void
meet_silence(struct flight *f)
{
	if (!f->silent)
		silence_met(&f->r->silence, clock_ms());
	f->silent = true;
}

bool
relay_fail_in_doubt(struct flight *f, size_t i, const char *text)
{
	struct relay	*r = f->r;
	struct msg	*m = &f->b->msgs[i];

	m->in_doubt = true;
	meet_silence(f);
	if (silence_is_own(&r->silence, m->sequence,
	    r->conf->retry.blame_after, clock_ms()))
		return relay_fail(f, m, text);
	relay_note_failure(f, m, text);
	msg_fail(m, OUT_DEFER, text);
	m->delay_ms = silence_wait(&r->silence);
	return false;
}

static void
say_how_long(const struct flight *f, size_t i, struct err *e)
{
	int64_t	timeout = f->r->conf->publish.timeout_ms;
	int64_t	waited = clock_ms() - f->sent_at[i] / 1000;

	if (waited < timeout)
		err_set(e, "no answer in %lld ms", (long long)waited);
	else
		err_set(e, "no answer within %lld ms", (long long)timeout);
}

/*
 * True if its destination stored one that was sent later.  Where several
 * streams may have taken them that says nothing: another one may be faster, or
 * this one may be down.
 */
static bool
is_overtaken(struct flight *f, size_t i)
{
	return relay_to(f, i)->stored > f->ordinal[i] &&
	    !relay_any_stream(f, i);
}

/* Or has it taken others since the last time that this one got no answer? */
static bool
was_passed(struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];

	return !relay_any_stream(f, i) && silence_again(&f->r->silence,
	    m->sequence, f->r->trial.routes[m->destination].taken_at,
	    clock_ms());
}

/*
 * One of several destinations gave no answer, and took nothing in this batch,
 * which goes on without it.  A type that is to blame tells nothing of it.  Of
 * several streams another may answer: the types are to blame.
 */
static void
note_silent_one(struct flight *f, size_t i, const char *text)
{
	struct flight_to	*to = relay_to(f, i);

	if (to->closed ||
	    type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]))
		return;
	to->closed = true;
	if (!relay_any_stream(f, i))
		silence_begins(&f->r->silence, f->route[i]->destination, text,
		    clock_ms());
}

/*
 * Each further message without an answer would be in doubt, too: if no message
 * was acknowledged, the batch ends, or goes on without this destination.
 */
static void
note_silence(struct flight *f, size_t i, const char *text)
{
	bool	blamed = relay_is_blamed(f, i);
	bool	several = f->r->routes.several;
	bool	nothing = relay_to(f, i)->acked == 0;

	relay_refuse(f, i, CLASS_TIMEOUT, text);
	f->res->silent = f->res->silent || (!blamed && !several);
	f->closed = f->closed || (nothing && !blamed && !several);
	if (several && nothing)
		note_silent_one(f, i, text);
}

/* Others were stored, and this one got no answer. */
static bool
note_passed(struct flight *f, size_t i, const char *text)
{
	f->class[i] = CLASS_TIMEOUT;
	relay_was_tried(f, i, CLASS_TIMEOUT, text);
	return relay_line(f, i)->pub->ops->in_order ?
	    relay_fail_in_doubt(f, i, text) :
	    relay_fail(f, &f->b->msgs[i], text);
}

/* A server says only by a complaint that it forbids a subject. */
static void
note_complaint(struct flight *f, size_t i)
{
	const char	*text = relay_line(f, i)->complaint.text;

	if (relay_line(f, i)->complained == CLASS_PERMISSION)
		relay_refuse(f, i, CLASS_PERMISSION, text);
	else
		note_silence(f, i, text);
}

static void
time_out(struct flight *f, size_t i)
{
	struct flight_line	*line = relay_line(f, i);
	struct err		 e;
	bool			 go_on = false;

	relay_comes_in(f, i, DONE);
	f->b->msgs[i].in_doubt = true;
	meet_silence(f);
	say_how_long(f, i, &e);
	if (line->complained != CLASS_NONE)
		note_complaint(f, i);
	else if (line->nameless > 0) {
		line->nameless--;
		relay_refuse_absent(f, i);
	} else if (was_passed(f, i) || is_overtaken(f, i)) {
		f->res->stalled_ms = clock_ms() -
		    later(relay_to(f, i)->heard_at, f->sent_at[i] / 1000);
		go_on = note_passed(f, i, e.text);
	} else
		note_silence(f, i, e.text);
	inflight_resolved(&f->w, i, go_on);
}

/* True if a message to the broker that has no answer may still get one. */
static bool
may_be_answered(struct flight *f)
{
	for (size_t k = f->to[ROUTE_NATS].stored; k < f->nsent; k++) {
		size_t i = f->order[k];

		if (f->state[i] == OUT && f->ordinal[i] == k &&
		    f->route[i]->driver == DRIVER_NATS)
			return true;
	}
	return false;
}

/*
 * The ms until the messages without an answer count as overtaken: those of the
 * broker, which answers in the order of sending.
 */
static int64_t
overtaken_in(struct flight *f, int64_t now)
{
	const struct flight_to		*to = &f->to[ROUTE_NATS];
	const struct flight_line	*line = &f->lines[DRIVER_NATS];

	if (line->nout == 0 || !line->pub->ops->in_order)
		return INT64_MAX;
	if (to->nfair == 0 && f->nagain == 0)
		return to->sent_at / 1000 + BLAMED_MS - now;
	if (to->stored == 0 || f->nagain > 0 || line->nameless > 0 ||
	    f->any_stream || may_be_answered(f) || inflight_can_send(&f->w))
		return INT64_MAX;
	return to->heard_at - now +
	    later(to->slowest * OVERTAKEN_TIMES, OVERTAKEN_MS);
}

static int64_t
time_out_in(const struct flight *f, size_t i, int64_t overtaken, int64_t now)
{
	int64_t	left = f->sent_at[i] / 1000 + f->r->conf->publish.timeout_ms -
		    now;

	return f->route[i]->driver == DRIVER_NATS ? sooner(left, overtaken) :
	    left;
}

/*
 * All have the same time-out, so the oldest is the first to expire, unless
 * those of one destination among several are overtaken.
 */
int64_t
relay_expire(struct flight *f, int64_t now)
{
	int64_t	overtaken = overtaken_in(f, now), next = RELAY_KEEP_MS, left;
	bool	all = overtaken != INT64_MAX && f->r->routes.several;

	for (size_t k = f->oldest; k < f->nsent; k++) {
		size_t i = f->order[k];

		/* A message that was sent again is in order twice. */
		if (f->state[i] == OUT && f->ordinal[i] == k) {
			left = time_out_in(f, i, overtaken, now);
			if (left > 0) {
				next = sooner(next, left);
				if (!all)
					break;
				continue;
			}
			time_out(f, i);
		}
		if (k == f->oldest)
			f->oldest++;
	}
	return next;
}
