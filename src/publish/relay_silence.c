/*
 * relay_silence.c - messages without an answer: until when, and whose fault
 *
 * Without nats.stream several streams may take the messages of one connection.
 * An acknowledgement by any of them shows that the connection works (took), so
 * that a silent type is at fault, not the destination.  It never shows that
 * another stream lost a message (time_out).
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
fail_in_doubt(struct flight *f, size_t i, const char *text)
{
	const struct trial	*t = &f->r->trial;
	struct msg		*m = &f->b->msgs[i];

	m->in_doubt = true;
	if (trial_goes_on(t, m->sequence, clock_ms())) {
		relay_fail(f, i, text);
		return;
	}
	msg_fail(m, OUT_DEFER, text);
	m->delay_ms = trial_silence_wait(t, m->sequence);
}

/* Has its destination taken others since the last time? */
static bool
note_unanswered(struct flight *f, size_t i)
{
	struct trial_case	c = relay_case(f, i);

	return trial_unanswered(&f->r->trial, &c, clock_ms());
}

void
relay_fail_in_doubt(struct flight *f, size_t i, const char *text)
{
	note_unanswered(f, i);
	fail_in_doubt(f, i, text);
}

/*
 * Each further message without an answer would be in doubt, too.  If none was
 * taken, the batch ends; or, with several destinations, goes on without the
 * silent one.  A type that is to blame tells nothing of its destination.  Where
 * several streams may answer, the types are to blame.
 */
static void
note_silence(struct flight *f, size_t i, const char *text)
{
	struct flight_to	*to = relay_to(f, i);

	relay_refuse(f, i, CLASS_TIMEOUT, text);
	if (to->took || to->closed ||
	    type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]))
		return;
	to->closed = true;
	if (!f->r->routes.several)
		f->closed = true;
	else if (!relay_any_stream(f, i))
		trial_route_silent(&f->r->trial,
		    f->ways[i].route->destination, text, clock_ms());
}

static void
time_out(struct flight *f, size_t i)
{
	struct flight_line	*line = relay_line(f, i);
	struct way		*way = &f->ways[i];
	int64_t			 timeout = f->r->conf->publish.timeout_ms;
	int64_t			 waited = clock_ms() - way->sent_at / 1000;
	bool			 passed;
	struct err		 e;

	relay_comes_in(f, i);
	f->b->msgs[i].in_doubt = true;
	relay_to(f, i)->missed = true;
	passed = note_unanswered(f, i);
	if (waited < timeout)
		err_set(&e, "no answer in %lld ms", (long long)waited);
	else
		err_set(&e, "no answer within %lld ms", (long long)timeout);
	/*
	 * A server says only by a complaint that it forbids a subject.  One that
	 * is searched for messages has partitions that are slow by themselves.
	 * Of several streams another one may be faster, or this one may be down.
	 */
	if (way->verdict == VERDICT_ELSEWHERE) {
		err_set(&e, "%s", f->b->msgs[i].error);
		relay_refuse(f, i, way->class, e.text);
	} else if (line->complained == CLASS_PERMISSION)
		relay_refuse(f, i, CLASS_PERMISSION, line->complaint.text);
	else if (line->complained != CLASS_NONE)
		note_silence(f, i, line->complaint.text);
	else if (line->nameless > 0) {
		line->nameless--;
		relay_refuse_absent(f, i);
	} else if (line->pub->ops->finds_in == NULL &&
	    !relay_any_stream(f, i) &&
	    (passed || relay_to(f, i)->stored > way->ordinal)) {
		/* Others were stored, and this one got no answer. */
		f->res->stalled_ms = clock_ms() -
		    later(relay_to(f, i)->heard_at, way->sent_at / 1000);
		way->class = CLASS_TIMEOUT;
		relay_was_tried(f, i, CLASS_TIMEOUT, e.text);
		if (line->pub->ops->in_order)
			fail_in_doubt(f, i, e.text);
		else
			relay_fail(f, i, e.text);
	} else
		note_silence(f, i, e.text);
	inflight_resolved(&f->w, i, false);
}

/*
 * The ms until the messages to the broker that have no answer count as
 * overtaken: it answers in the order of sending.
 */
static int64_t
overtaken_in(struct flight *f, int64_t now)
{
	const struct flight_to		*to = &f->to[ROUTE_STREAM];
	const struct flight_line	*line = &f->lines[f->r->stream];

	if (line->nout == 0 || !line->pub->ops->in_order)
		return INT64_MAX;
	if (!to->fair && f->nagain == 0)
		return to->sent_at / 1000 + BLAMED_MS - now;
	if (to->stored == 0 || f->nagain > 0 || line->nameless > 0 ||
	    f->any_stream || inflight_can_send(&f->w))
		return INT64_MAX;
	/* One that was sent after the last stored one may yet be answered. */
	for (size_t k = to->stored; k < f->nsent; k++) {
		const struct way *way = &f->ways[f->order[k]];

		if (way->state == OUT && way->ordinal == k &&
		    relay_to_stream(f, f->order[k]))
			return INT64_MAX;
	}
	return to->heard_at - now +
	    later(to->slowest * OVERTAKEN_TIMES, OVERTAKEN_MS);
}

/*
 * All have the same time-out, so the oldest is the first to expire, unless, of
 * several destinations, the broker's messages are overtaken.
 */
int64_t
relay_expire(struct flight *f, int64_t now)
{
	int64_t	overtaken = overtaken_in(f, now), next = RELAY_KEEP_MS, left;
	bool	all = overtaken != INT64_MAX && f->r->routes.several;

	for (size_t k = f->oldest; k < f->nsent; k++) {
		size_t i = f->order[k];
		const struct way *way = &f->ways[i];

		/* A message that was sent again is in order twice. */
		if (way->state == OUT && way->ordinal == k) {
			left = way->sent_at / 1000 +
			    f->r->conf->publish.timeout_ms - now;
			if (relay_to_stream(f, i))
				left = sooner(left, overtaken);
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
