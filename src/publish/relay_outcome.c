/*
 * relay_outcome.c - the outcome of an answer, or of none
 *
 * A failure is the message's own fault (dead letter), temporary (retry later)
 * or the destination's fault.  Only other messages can tell the last two
 * apart: if one that was sent later was stored, the destination works, and
 * just this message failed; if none was, the destination is down, and no
 * message is at fault.
 *
 * Without nats.stream several streams may take the messages of one connection.
 * An acknowledgement by any of them shows that the connection works (acked),
 * so that a silent type is at fault, not the destination.  It never shows that
 * another stream lost a message (is_overtaken).
 */

#include "publish/relay_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "util/backoff.h"
#include "util/clock.h"
#include "util/printable.h"
#include "util/xalloc.h"

/*
 * Pauses in ms before a batch sends messages again that no stream took; most
 * elections of a leader take less.  After a failed last round there are none
 * for ABSENT_MEMORY_MS: otherwise a subject without a stream delays each batch.
 */
static const int64_t	absent_pauses[RELAY_ROUNDS] = { 50, 100, 200 };
#define ABSENT_MEMORY_MS	10000

/* What is held waits for a person: so long that its key is recorded. */
#define HELD_MS		30000

/* A destination may wish that a message is not sent for so long. */
#define RETRY_AFTER_MAX_MS	(60 * 60 * 1000)

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

/* Until the next message to one of several destinations that was silent. */
#define SILENT_FLOOR_MS		1000
#define SILENT_CEILING_MS	30000

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
relay_fail(struct flight *f, struct msg *m, bool message, const char *text)
{
	const struct conf	*c = f->r->conf;
	const struct conf_route	*rule = f->route[m - f->b->msgs]->rule;

	relay_note_failure(f, m, text);
	if (message)
		return relay_bury(f, m, "message", text);
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

bool
relay_bury_or_hold(struct flight *f, struct msg *m, const char *reason,
    const char *text)
{
	const struct conf	*c = f->r->conf;
	uint64_t		 cause = msg_group(m) ^ text_hash(reason);
	struct err		 e;

	if (!f->r->has_dead || trial_may_bury(&f->r->trial, cause,
	    c->retry.burst, c->retry.burst_time, clock_ms()))
		return relay_bury(f, m, reason, text);
	err_set(&e, RELAY_HELD "more than %lld of its type were to be dead "
	    "letters: %s", (long long)c->retry.burst, text);
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
relay_goes_out(struct flight *f, size_t i)
{
	struct flight_to	*to = relay_to(f, i);

	f->state[i] = OUT;
	f->sent_at[i] = to->sent_at = clock_us();
	f->ordinal[i] = f->nsent;
	f->order[f->nsent++] = i;
	to->nfair += !relay_is_blamed(f, i);
	relay_line(f, i)->nout++;
}

void
relay_comes_in(struct flight *f, size_t i, enum state state)
{
	f->state[i] = state;
	relay_line(f, i)->nout--;
}

static const char *
subject_of(struct flight *f, const struct msg *m)
{
	return envelope_subject_of(&f->r->envelope,
	    relay_form(f, (size_t)(m - f->b->msgs)), m);
}

/*
 * With several destinations the others are assumed to take messages: a refusal
 * must never make them wait.
 */
static void
refuse_type(struct flight *f, const struct msg *m, bool others, bool turns,
    enum error_class class, const char *why)
{
	type_breaker_refused(&f->r->breaker, &(struct type_refusal){
	    .m = m, .route = f->route[m - f->b->msgs]->group, .class = class,
	    .why = why, .others = others, .turns = turns,
	    .subject = subject_of(f, m) },
	    clock_ms());
}

void
relay_refuse_type(struct flight *f, const struct msg *m,
    enum error_class class, bool turns, const char *why)
{
	const struct flight_to	*t = relay_to(f, (size_t)(m - f->b->msgs));

	refuse_type(f, m, t->acked > 0 || f->r->routes.several, turns, class,
	    why);
}

/*
 * If the message was the probe of its type, the type was refused.  If others
 * were taken, by any stream, the destination works: the type's subject has no
 * stream, or a silent one.  The type is tried less often then, which uses no
 * attempt.
 */
static void
was_tried(struct flight *f, const struct msg *m, enum error_class class,
    bool turns, const char *why)
{
	if (f->r->breaker.n > 0 && type_breaker_is_out(&f->r->breaker, m))
		relay_refuse_type(f, m, class, turns, why);
}

bool
relay_is_blamed(const struct flight *f, size_t i)
{
	return (f->r->breaker.n > 0 &&
	    type_breaker_is_blamed(&f->r->breaker, &f->b->msgs[i])) ||
	    f->r->reach[f->route[i]->driver].silent;
}

static void
note_refused(struct flight *f, size_t i, enum error_class class,
    const char *text)
{
	msg_fail(&f->b->msgs[i], OUT_UNSENT, text);
	f->state[i] = REFUSED;
	f->class[i] = class;
}

void
relay_refuse(struct flight *f, size_t i, enum error_class class,
    const char *text)
{
	was_tried(f, &f->b->msgs[i], class, false, text);
	note_refused(f, i, class, text);
}

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

void
relay_refuse_absent(struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];
	char			 type[PRINTABLE_SIZE];
	struct err		 e;

	printable_text(type, m->type.data, m->type.len);
	err_set(&e, "no stream takes subject \"%.250s\" (type %s): add it to "
	    "a stream's subjects, or enable JetStream, which a full disk "
	    "turns off", subject_of(f, m), type);
	relay_refuse(f, i, CLASS_NO_STREAM, e.text);
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
	r->stored_at = f->to[ROUTE_NATS].heard_at;
	if (m->ack_sequence > r->top.ack) {
		r->top = (struct acked){ msg_id(m), m->ack_sequence };
		return;
	}
	r->went_back = true;
	f->closed = f->closed || !r->routes.several;
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

/* It answers, and takes messages: it is not silent any more. */
static void
note_heard(struct flight *f, size_t i)
{
	struct reach	*reach = &f->r->reach[f->route[i]->driver];

	f->r->changes += reach->silent;
	reach->silent = false;
	backoff_reset(&reach->backoff);
}

/* The destination has it, or a duplicate. */
static void
note_taken(struct flight *f, const struct pub_answer *a)
{
	size_t		 i = a->index;
	struct msg	*m = &f->b->msgs[i];
	struct flight_to *t = relay_to(f, i);
	int64_t		 now = clock_us(), took = now - f->sent_at[i];

	note_heard(f, i);
	t->heard_at = now / 1000;
	t->slowest = later(t->slowest, took / 1000);
	measure(f, m, now, took);
	if (f->r->breaker.n > 0)
		type_breaker_took(&f->r->breaker, m, t->heard_at);
	trial_route_took(&f->r->trial, m->destination, t->heard_at);
	if (f->ordinal[i] >= t->acked)
		t->acked = f->ordinal[i] + 1;
	if (a->verdict == VERDICT_STORED && f->ordinal[i] >= t->stored)
		t->stored = f->ordinal[i] + 1;
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
fail_for_now(struct flight *f, struct msg *m, const struct pub_answer *a)
{
	relay_fail(f, m, false, a->text);
	m->delay_ms = later(m->delay_ms, sooner(a->retry_after_ms,
	    RETRY_AFTER_MAX_MS));
	if (trial_failed(&f->r->trial, m->destination, m->sequence))
		refuse_type(f, m, true, true, a->class, a->text);
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
	if (say == TRIAL_ALL) {
		was_tried(f, m, a->class, true, a->text);
		note_refused(f, i, a->class, a->text);
		return false;
	}
	type_breaker_says_nothing(&r->breaker, m, clock_ms());
	if (say == TRIAL_OWN) {
		relay_note_failure(f, m, a->text);
		return relay_bury_or_hold(f, m, "message", a->text);
	}
	note_refused(f, i, a->class, a->text);
	f->alone[i] = true;
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
		return relay_fail(f, m, false, text);
	relay_note_failure(f, m, text);
	msg_fail(m, OUT_DEFER, text);
	m->delay_ms = silence_wait(&r->silence);
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
		fail_for_now(f, m, a);
		break;
	}
	inflight_resolved(&f->w, i, go_on);
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

bool
relay_has_streams(const struct flight *f, size_t i)
{
	return f->many_streams && f->route[i]->driver == DRIVER_NATS;
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
	    !relay_has_streams(f, i);
}

/* The broker is one of several destinations, and took nothing: it waits. */
static void
note_silent_broker(struct flight *f, size_t i, const char *text)
{
	struct reach	*reach = &f->r->reach[DRIVER_NATS];
	int64_t		 now = clock_ms();

	if (relay_to(f, i)->closed)
		return;
	relay_to(f, i)->closed = true;
	f->r->changes++;
	if (!reach->silent)
		reach->since = now;
	reach->silent = true;
	reach->backoff.floor_ms = SILENT_FLOOR_MS;
	reach->backoff.ceiling_ms = SILENT_CEILING_MS;
	reach->until = now + backoff_next(&reach->backoff);
	err_set(&reach->why, "%s", text);
}

/*
 * One of several destinations gave no answer, and took nothing in this batch,
 * which goes on without it.  Of several streams another may answer: the types
 * are to blame.
 */
static void
note_silent_line(struct flight *f, size_t i, bool blamed, const char *text)
{
	if (f->route[i]->driver != DRIVER_NATS)
		return;
	if (!relay_has_streams(f, i))
		note_silent_broker(f, i, text);
	else if (!blamed)
		relay_to(f, i)->closed = true;
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
		note_silent_line(f, i, blamed, text);
}

/* Others were stored, and this one got no answer. */
static bool
note_passed(struct flight *f, size_t i, const char *text)
{
	f->class[i] = CLASS_TIMEOUT;
	was_tried(f, &f->b->msgs[i], CLASS_TIMEOUT, false, text);
	return relay_line(f, i)->pub->ops->in_order ?
	    relay_fail_in_doubt(f, i, text) :
	    relay_fail(f, &f->b->msgs[i], false, text);
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
	} else if (is_overtaken(f, i)) {	/* a later one was stored */
		f->res->stalled_ms = clock_ms() - relay_to(f, i)->heard_at;
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
	    f->many_streams || may_be_answered(f) || inflight_can_send(&f->w))
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
