/*
 * relay_answer.c - an answer to a message, or to one of those that are out
 */

#include "publish/relay_impl.h"

#include "util/clock.h"
#include "util/xalloc.h"

/*
 * Pauses in ms before a batch sends messages again that no stream took; most
 * elections of a leader take less.  After a failed last round there are none
 * for ABSENT_MEMORY_MS: otherwise a subject without a stream delays each batch.
 */
static const int64_t	absent_pauses[RELAY_ROUNDS] = { 50, 100, 200 };
#define ABSENT_MEMORY_MS	10000

/* A destination may wish that a message is not sent for so long. */
#define RETRY_AFTER_MAX_MS	(60 * 60 * 1000)

/*
 * No stream took it.  While it waits for another round it stays unresolved, so
 * that no message of its lane passes it.  No round for the probe of a type that
 * is blamed: its next probe comes soon.
 */
static void
note_absent(struct flight *f, size_t i)
{
	int64_t	now = clock_ms();
	bool	again = f->nagain > 0;

	if (type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]))
		again = false;
	else if (!again && !f->closed && f->rounds < RELAY_ROUNDS &&
	    now >= f->r->absent_until) {
		/* The first one plans the round. */
		f->again_at = now + absent_pauses[f->rounds];
		again = f->again_at < f->deadline;
		f->rounds += again;
	}
	if (again) {
		f->ways[i].state = AGAIN;
		f->nagain++;
		return;
	}
	if (f->rounds == RELAY_ROUNDS)
		f->r->absent_until = now + ABSENT_MEMORY_MS;
	relay_refuse_absent(f, i);
	inflight_resolved(&f->w, i, false);
}

/* The destination has it, or a duplicate. */
static void
note_taken(struct flight *f, const struct pub_answer *a)
{
	size_t			 i = a->index;
	struct relay		*r = f->r;
	const struct msg	*m = &f->b->msgs[i];
	const struct way	*way = &f->ways[i];
	struct flight_to	*to = relay_to(f, i);
	int64_t			 now = clock_us(), took = now - way->sent_at;

	to->took = true;
	to->slowest = later(to->slowest, took / 1000);
	if (a->verdict == VERDICT_STORED && way->ordinal >= to->stored)
		to->stored = way->ordinal + 1;
	type_breaker_took(&r->breaker, m);
	trial_route_took(&r->trial, m->destination, now / 1000);
	if (r->publish_to_ack == NULL)
		return;
	histogram_add(r->publish_to_ack, histogram_us, took);
	if (m->age_us >= 0 && f->b->read_at != 0)
		histogram_add(r->commit_to_ack, histogram_us,
		    m->age_us + now - f->b->read_at);
}

/* A sequence means something later, to audits, in the stream; a place as well. */
static void
note_delivered(struct flight *f, const struct pub_answer *a)
{
	note_taken(f, a);
	relay_deliver(f, a->index, relay_to_stream(f, a->index) ||
	    a->ack_sequence >= MSG_PLACES ? a->ack_sequence : 0, a->verdict == VERDICT_DUPLICATE);
}

/* Its author has named it: whoever uses the same name may have stored that. */
static bool
may_be_foreign(const struct flight *f, const struct pub_answer *a)
{
	const struct msg	*m = &f->b->msgs[a->index];

	return a->verdict == VERDICT_DUPLICATE && msg_has_own_id(m) &&
	    !m->renamed && relay_to_stream(f, a->index) &&
	    relay_stream(f->r) != NULL;
}

/* Until it is known, no message of its lane may pass it. */
static void
look_later(struct flight *f, const struct pub_answer *a)
{
	size_t	i = a->index;

	note_taken(f, a);
	if (clock_ms() < f->r->blind_until) {
		relay_deliver_unread(f, i, a->ack_sequence,
		    "the broker does not tell");
		inflight_resolved(&f->w, i, true);
		return;
	}
	if (f->places == NULL)
		f->places = xcalloc(f->b->n, sizeof(*f->places));
	f->places[i].sequence = a->ack_sequence;
	f->places[i].where = a->where[0] == '\0' ? NULL : xstrdup(a->where);
	f->ways[i].state = LOOK;
	f->nlook++;
}

/*
 * It failed for now, but maybe not before the time that the answer wishes.  If
 * its route takes nothing, others of its type need not fail as well.
 */
static void
fail_for_now(struct flight *f, size_t i, const struct pub_answer *a)
{
	struct msg	*m = &f->b->msgs[i];

	relay_fail(f, i, a->text);
	/* Too many requests: that says nothing of this one. */
	if (a->class == CLASS_OVERLOAD)
		f->ways[i].spent = false;
	m->delay_ms = later(m->delay_ms, sooner(a->retry_after_ms,
	    RETRY_AFTER_MAX_MS));
	if (trial_failed(&f->r->trial, m->destination, m->sequence))
		relay_refuse_type(f, i, true, a->class, a->text);
	else
		type_breaker_says_nothing(&f->r->breaker, m);
}

/*
 * The answer can be about this message alone.  True as in relay_bury: then it
 * was.
 */
static bool
try_message(struct flight *f, size_t i, const struct pub_answer *a)
{
	struct relay		*r = f->r;
	struct trial_case	 c = relay_case(f, i);
	enum trial_say		 say = trial_refused(&r->trial, &c, clock_ms());

	if (say != TRIAL_ALL)
		type_breaker_says_nothing(&r->breaker, &f->b->msgs[i]);
	if (say == TRIAL_OWN)
		return relay_bury_or_hold(f, i, "message", a->text);
	/* Not every answer has a class, but it is one: probes cost little. */
	relay_refuse(f, i, a->class == CLASS_NONE ? CLASS_OTHER : a->class,
	    a->text);
	f->ways[i].alone = say == TRIAL_ALONE;
	return false;
}

/* An answer after the time-out still shows that the message is stored. */
static void
late_answer(struct flight *f, const struct pub_answer *a)
{
	struct msg	*m = &f->b->msgs[a->index];
	bool		 stored = a->verdict == VERDICT_STORED ||
			     a->verdict == VERDICT_DUPLICATE;

	if (!stored || m->outcome == OUT_DELIVERED || may_be_foreign(f, a))
		return;
	note_delivered(f, a);
}

/*
 * Another stream or client takes the same messages.  Until its time-out the
 * stream's own answer is waited for; without it nobody knows whether it is
 * stored there.
 */
static void
note_elsewhere(struct flight *f, const struct pub_answer *a)
{
	struct way	*way = &f->ways[a->index];

	if (way->state != OUT)
		return;
	way->verdict = a->verdict;
	way->class = a->class;
	msg_fail(&f->b->msgs[a->index], OUT_UNSENT, a->text);
}

/* Did it come from the other end, whatever it says? */
static bool
is_heard(const struct pub_answer *a)
{
	return a->verdict != VERDICT_LOST &&
	    a->verdict != VERDICT_LOST_TOGETHER &&
	    (a->verdict != VERDICT_DESTINATION ||
	    (a->class != CLASS_OFFLINE && a->class != CLASS_TIMEOUT));
}

void
relay_answer(struct flight *f, struct flight_line *line,
    const struct pub_answer *a)
{
	size_t		 i = a->index;
	struct way	*way;
	bool		 go_on = false;

	if (a->index == PUB_SOME_INDEX) {
		line->nameless++;
		f->to[ROUTE_STREAM].heard_at = clock_ms();
		return;
	}
	if (i >= f->b->n)
		return;
	if (is_heard(a))
		relay_to(f, i)->heard_at = clock_ms();
	else
		relay_to(f, i)->missed = true;
	way = &f->ways[i];
	if (way->state == READY || way->state == LOOK)
		return;
	if (a->verdict == VERDICT_ELSEWHERE) {
		note_elsewhere(f, a);
		return;
	}
	if (way->state == AGAIN) {	/* the refusal was for another one */
		f->nagain--;
		way->state = DONE;
	} else if (way->state == OUT)
		relay_comes_in(f, i);
	else {
		late_answer(f, a);
		return;
	}
	way->verdict = a->verdict;
	f->b->msgs[i].in_doubt |= a->in_doubt;
	switch (a->verdict) {
	case VERDICT_STORED:
	case VERDICT_DUPLICATE:
		if (may_be_foreign(f, a)) {
			look_later(f, a);
			return;
		}
		note_delivered(f, a);
		go_on = true;
		break;
	case VERDICT_DESTINATION:
	case VERDICT_ELSEWHERE:
		relay_refuse(f, i, a->class, a->text);
		break;
	case VERDICT_ABSENT:
		note_absent(f, i);
		return;
	case VERDICT_LOST:
	case VERDICT_LOST_TOGETHER:
		/* Was it stored?  Whose fault it was is judged at the end. */
		f->b->msgs[i].in_doubt = true;
		relay_refuse(f, i, CLASS_LOST, a->text);
		break;
	case VERDICT_MESSAGE:
	case VERDICT_TOO_LARGE:
	case VERDICT_ADDRESS:
		go_on = try_message(f, i, a);
		break;
	case VERDICT_PENDING:
		type_breaker_says_nothing(&f->r->breaker, &f->b->msgs[i]);
		relay_fail_in_doubt(f, i, a->text);
		break;
	case VERDICT_TRANSIENT:
		fail_for_now(f, i, a);
		break;
	}
	inflight_resolved(&f->w, i, go_on);
}

/*
 * Once all other messages have answers, by any stream, the rest are those that
 * no stream took.  If one gets no answer, its time-out decides.  Neither uses
 * an attempt.
 */
void
relay_name_absent(struct flight *f, struct flight_line *line)
{
	if (line->nameless == 0 || line->nout > line->nameless)
		return;
	for (size_t k = f->oldest; k < f->nsent; k++) {
		size_t i = f->order[k];

		if (f->ways[i].state == OUT && relay_line(f, i) == line) {
			relay_comes_in(f, i);
			note_absent(f, i);
		}
	}
	line->nameless = 0;
}

/*
 * Nobody takes messages: has nats.stream no leader?  Then why says so.  If it
 * is there and fit, it lacks the subjects of these types.
 */
static void
ask_about_stream(struct flight *f, struct err *why)
{
	const struct pub	*p = relay_broker(f->r);
	const char		*stream = f->r->conf->nats.stream;
	struct stream_report	 r;
	struct err		 e;
	bool			 leaderless;

	if (p == NULL || f->any_stream || stream[0] == '\0' ||
	    !pub_is_open(p) || (f->r->routes.several && !p->ops->can_ask))
		return;
	if (p->ops->check(p->arg, &r, &e)) {
		err_set(why, "stream %s %s", stream, r.unfit ? r.why.text :
		    "has a leader only now");
		leaderless = r.unfit ? r.class == CLASS_OFFLINE : r.late;
		f->res->stream_fits = !r.unfit && !r.late;
	} else {
		/* For some seconds after it is gone no other server answers. */
		err_set(why, "stream %s has no leader: %s", stream, e.text);
		leaderless = pub_is_open(p) && p->ops->complaint(p->arg,
		    PUB_FORBIDDEN, &e) == CLASS_NONE && p->ops->complaint(
		    p->arg, PUB_NOBODY, &e) == CLASS_NONE;
	}
	f->leaderless = leaderless && p->ops->can_ask;
}

void
relay_explain_absent(struct flight *f)
{
	bool		asked = false;
	struct err	why;

	for (size_t i = 0; i < f->b->n; i++) {
		struct way *way = &f->ways[i];

		if (way->state != REFUSED || way->class != CLASS_NO_STREAM)
			continue;
		if (!asked)
			ask_about_stream(f, &why);
		asked = true;
		if (!f->leaderless)
			return;
		msg_fail(&f->b->msgs[i], OUT_UNSENT, why.text);
		way->class = CLASS_OFFLINE;
	}
}
