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
 * True if it is sent again in this batch; the first one plans the round.  No
 * round for the probe of a type that is blamed: its next probe comes soon.
 */
static bool
joins_a_round(struct flight *f, size_t i, int64_t now)
{
	if (type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i]))
		return false;
	if (f->nagain > 0)
		return true;
	if (f->closed || f->rounds == RELAY_ROUNDS ||
	    now < f->r->absent_until)
		return false;
	f->again_at = now + absent_pauses[f->rounds];
	if (f->again_at >= f->deadline)
		return false;
	f->rounds++;
	return true;
}

/*
 * No stream took it.  While it waits for another round it stays unresolved, so
 * that no message of its lane passes it.
 */
static void
note_absent(struct flight *f, size_t i)
{
	int64_t	now = clock_ms();

	if (joins_a_round(f, i, now)) {
		f->state[i] = AGAIN;
		f->nagain++;
		return;
	}
	if (f->rounds == RELAY_ROUNDS)
		f->r->absent_until = now + ABSENT_MEMORY_MS;
	relay_refuse_absent(f, i);
	inflight_resolved(&f->w, i, false);
}

static void
measure(struct flight *f, const struct msg *m, int64_t now, int64_t took)
{
	struct relay	*r = f->r;

	if (r->publish_to_ack == NULL)
		return;
	histogram_add(r->publish_to_ack, histogram_us, took);
	if (m->age_us >= 0 && f->b->read_at != 0)
		histogram_add(r->commit_to_ack, histogram_us,
		    m->age_us + now - f->b->read_at);
}

/* The destination has it, or a duplicate. */
static void
note_taken(struct flight *f, const struct pub_answer *a)
{
	size_t		 i = a->index;
	struct msg	*m = &f->b->msgs[i];
	struct flight_to *t = relay_to(f, i);
	int64_t		 now = clock_us(), took = now - f->sent_at[i];

	silence_heard(&f->r->silence, f->route[i]->destination);
	t->heard_at = now / 1000;
	t->slowest = later(t->slowest, took / 1000);
	measure(f, m, now, took);
	if (f->r->breaker.n > 0)
		type_breaker_took(&f->r->breaker, m);
	trial_route_took(&f->r->trial, m->destination, t->heard_at);
	if (f->ordinal[i] >= t->acked)
		t->acked = f->ordinal[i] + 1;
	if (a->verdict == VERDICT_STORED && f->ordinal[i] >= t->stored)
		t->stored = f->ordinal[i] + 1;
}

static void
note_delivered(struct flight *f, const struct pub_answer *a)
{
	note_taken(f, a);
	relay_deliver(f, a->index, a->ack_sequence,
	    a->verdict == VERDICT_DUPLICATE);
}

/* Its author has named it: whoever uses the same name may have stored that. */
static bool
may_be_foreign(const struct flight *f, const struct pub_answer *a)
{
	const struct msg	*m = &f->b->msgs[a->index];

	return a->verdict == VERDICT_DUPLICATE && msg_has_own_id(m) &&
	    !m->renamed && f->route[a->index]->driver == DRIVER_NATS &&
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
	f->state[i] = LOOK;
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

	relay_fail(f, m, a->text);
	m->delay_ms = later(m->delay_ms, sooner(a->retry_after_ms,
	    RETRY_AFTER_MAX_MS));
	if (trial_failed(&f->r->trial, m->destination, m->sequence))
		relay_pause_type(f, i, a->class, a->text);
	else
		type_breaker_says_nothing(&f->r->breaker, m, clock_ms());
}

static enum trial_kind
kind_of(enum verdict verdict)
{
	return verdict == VERDICT_TOO_LARGE ? TRIAL_SIZE :
	    verdict == VERDICT_ADDRESS ? TRIAL_ADDRESS : TRIAL_CONTENT;
}

/*
 * The answer can be about this message alone.  True as in relay_bury: then it
 * was.
 */
static bool
try_message(struct flight *f, size_t i, const struct pub_answer *a)
{
	struct relay	*r = f->r;
	struct msg	*m = &f->b->msgs[i];
	enum trial_say	 say = trial_refused(&r->trial, &(struct trial_case){
			     .sequence = m->sequence, .group = msg_group(m),
			     .destination = m->destination,
			     .kind = kind_of(a->verdict), .size = msg_size(m),
			     .sent_at = f->sent_at[i] / 1000,
			     .blame_after = r->conf->retry.blame_after },
			     clock_ms());

	f->accused[i] = say != TRIAL_OWN;
	if (say != TRIAL_ALL)
		type_breaker_says_nothing(&r->breaker, m, clock_ms());
	if (say == TRIAL_OWN) {
		relay_note_failure(f, m, a->text);
		return relay_bury_or_hold(f, m, "message", a->text);
	}
	/* Not every answer has a class, but it is one: probes cost little. */
	relay_refuse(f, i, a->class == CLASS_NONE ? CLASS_OTHER : a->class,
	    a->text);
	f->alone[i] = say == TRIAL_ALONE;
	return false;
}

/*
 * The answer broke off: nobody knows whether it was stored.  Whose fault that
 * was is decided at the end, see judge_lost().
 */
static void
note_lost(struct flight *f, size_t i, const struct pub_answer *a)
{
	f->b->msgs[i].in_doubt = true;
	f->together[i] = a->verdict == VERDICT_LOST_TOGETHER;
	relay_refuse(f, i, CLASS_LOST, a->text);
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
	if (f->state[a->index] != REFUSED)
		f->res->failed--;
	note_delivered(f, a);
}

void
relay_answer(struct flight *f, struct flight_line *line,
    const struct pub_answer *a)
{
	size_t		 i = a->index;
	struct msg	*m;
	bool		 go_on = false;

	if (a->index == PUB_SOME_INDEX) {
		line->nameless++;
		return;
	}
	if (i >= f->b->n || f->state[i] == READY || f->state[i] == LOOK)
		return;
	m = &f->b->msgs[i];
	if (f->state[i] == AGAIN) {	/* the refusal was for another one */
		f->nagain--;
		f->state[i] = DONE;
	} else if (f->state[i] == OUT)
		relay_comes_in(f, i, DONE);
	else {
		late_answer(f, a);
		return;
	}
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
		relay_refuse(f, i, a->class, a->text);
		break;
	case VERDICT_ABSENT:
		note_absent(f, i);
		return;
	case VERDICT_LOST:
	case VERDICT_LOST_TOGETHER:
		note_lost(f, i, a);
		break;
	case VERDICT_MESSAGE:
	case VERDICT_TOO_LARGE:
	case VERDICT_ADDRESS:
		go_on = try_message(f, i, a);
		break;
	case VERDICT_PENDING:
		type_breaker_says_nothing(&f->r->breaker, m, clock_ms());
		go_on = relay_fail_in_doubt(f, i, a->text);
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

		if (f->state[i] == OUT && relay_line(f, i) == line) {
			relay_comes_in(f, i, DONE);
			note_absent(f, i);
		}
	}
	line->nameless = 0;
}
