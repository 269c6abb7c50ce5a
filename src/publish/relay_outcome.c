/*
 * relay_outcome.c - what an answer means, or that there is none
 *
 * A failure is the message's own (dead letter), nobody's (retry later) or the
 * destination's.  Which of the last two an error or a silence means shows
 * only in company: if one that was sent later was stored, the route
 * works and just this message fails or waits; if none was, the route is down
 * and no message is to blame.
 *
 * Without nats.stream there may be several streams behind one connection.  What
 * one of them acknowledges shows that the connection works (acked), and so
 * that a silent type or stream is to blame and not the route.  It never shows
 * that a message of another stream was lost (is_overtaken).
 */

#include "publish/relay_impl.h"

#include <string.h>

#include "util/backoff.h"
#include "util/clock.h"
#include "util/plain.h"

/* A message that waits for its destination is tried again after this. */
#define DEFER_MS	5000
#define DEFER_DOWN_MS	1000	/* if it took nothing at all */

/*
 * Pauses before a batch sends again what nobody was there to take; most
 * elections of a leader take less.  Once that was in vain it is not tried
 * again for a while: where no stream takes a subject it would hold up every
 * batch with such a message in it.
 */
static const int64_t	absent_pauses[RELAY_ROUNDS] = { 50, 100, 200 };
#define ABSENT_MEMORY_MS	10000

/*
 * A stream answers in the order in which it stores. A message that has no
 * answer when all that were sent later have theirs, and nothing else has come
 * for so long, and for four times as long as the slowest answer took, gets
 * none: the others need not wait for it until its time is over.  Duplicates
 * tell nothing: they are answered at once, while a cluster is still storing
 * what came before, or cannot.
 */
#define OVERTAKEN_MS	250
#define OVERTAKEN_TIMES	4

/* And so long for those of types or streams that are known to be silent. */
#define BLAMED_MS	500

/* The first one speaks for all. */
void
relay_note_failure(struct flight *f, const struct msg *m, const char *text)
{
	char	key[PLAIN_SIZE];

	f->res->failed++;
	if (f->res->why.text[0] != '\0')
		return;
	plain_text(key, m->key.data, m->key.len);
	err_set(&f->res->why, "sequence %llu, key %s: %s",
	    (unsigned long long)m->sequence, key, text);
}

bool
relay_bury(struct flight *f, struct msg *m, const char *reason, const char *text)
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

/* Returns whether the next of its lane may follow. */
bool
relay_fail(struct flight *f, struct msg *m, bool message, const char *text)
{
	const struct conf	*c = f->r->conf;

	relay_note_failure(f, m, text);
	if (message)
		return relay_bury(f, m, "message", text);
	if (m->attempts + 1 >= c->retry.max_attempts) {
		/*
		 * Perhaps it would be taken next time: until it is buried,
		 * a later one must not be ahead of it.
		 */
		relay_bury(f, m, "attempts", text);
		return false;
	}
	msg_fail(m, OUT_RETRY, text);
	m->delay_ms = backoff_retry(c->retry.backoff, c->retry.max_backoff,
	    c->retry.jitter, m->attempts + 1);
	return false;
}

/*
 * If it was the one of its type that was tried: the others need not be.  That
 * others were taken, by whatever stream, shows that the route works: it is the
 * type's subject that nobody takes, or its stream that is silent.  The type is
 * tried less often then, which uses no attempt.
 */
static void
was_tried(struct flight *f, const struct msg *m)
{
	if (f->r->kinds.n > 0 && kinds_is_out(&f->r->kinds, m->type))
		kinds_refused(&f->r->kinds, m->type, f->acked > 0,
		    clock_ms());
}

bool
relay_is_blamed(const struct flight *f, size_t i)
{
	return (f->r->kinds.n > 0 &&
	    kinds_is_blamed(&f->r->kinds, f->b->msgs[i].type)) ||
	    (f->subject != NULL &&
	    streams_is_silent(&f->r->streams, f->subject[i]));
}

/* The destination would not have it; whose fault that is shows at the end. */
void
relay_refuse(struct flight *f, size_t i, const char *text)
{
	struct msg	*m = &f->b->msgs[i];

	was_tried(f, m);
	msg_fail(m, OUT_UNSENT, text);
	f->state[i] = REFUSED;
}

/* Will it be sent again before it counts?  The first of a round plans it. */
static bool
joins_a_round(struct flight *f, int64_t now)
{
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
 * Nobody was there to take it.  For the window it stays unresolved while it
 * waits for another round, so nothing of its lane passes it.
 */
static void
absent(struct flight *f, size_t i)
{
	int64_t	now = clock_ms();

	if (joins_a_round(f, now)) {
		f->state[i] = AGAIN;
		f->nagain++;
		return;
	}
	if (f->rounds == RELAY_ROUNDS)
		f->r->absent_until = now + ABSENT_MEMORY_MS;
	relay_refuse(f, i, f->absent_why.text);
	window_resolved(&f->w, i, false);
}

/*
 * Sequences only grow, unless the stream has lost some and gives them anew.
 * Watched with nats.stream only: those of several are not to be compared.
 */
static void
note_place(struct flight *f, struct msg *m)
{
	struct relay	*r = f->r;

	if (!r->watch)
		return;
	if (m->ack_sequence > r->top.ack) {
		r->top = (struct acked){ msg_id(m), m->ack_sequence };
		return;
	}
	r->went_back = f->closed = true;
}

static void
note_stream(struct flight *f, const struct pub_answer *a)
{
	struct streams	*s = &f->r->streams;

	streams_took(s, f->subject[a->slot], a->stream);
	if (a->verdict == VERDICT_STORED)
		streams_stored(s, a->stream, f->place[a->slot]);
}

/*
 * heard_at and slowest are of all streams: with several that can only make the
 * time longer after which a message counts as overtaken.
 */
static void
deliver(struct flight *f, const struct pub_answer *a)
{
	size_t		 i = a->slot;
	struct msg	*m = &f->b->msgs[i];
	int64_t		 took;

	f->heard_at = clock_ms();
	took = f->heard_at - f->sent_at[i];
	if (took > f->slowest)
		f->slowest = took;
	if (f->r->kinds.n > 0)
		kinds_took(&f->r->kinds, m->type);
	m->outcome = OUT_DELIVERED;
	m->ack_sequence = a->stream_sequence;
	if (a->verdict == VERDICT_STORED)
		note_place(f, m);
	if (f->subject != NULL)
		note_stream(f, a);
	f->state[i] = DONE;
	f->res->delivered++;
	f->res->duplicates += a->verdict == VERDICT_DUPLICATE;
	if (f->place[i] >= f->acked)
		f->acked = f->place[i] + 1;
	if (a->verdict == VERDICT_STORED && f->place[i] >= f->stored)
		f->stored = f->place[i] + 1;
}

/* An answer after its time-out still tells that the message is stored. */
static void
late_answer(struct flight *f, const struct pub_answer *a)
{
	struct msg	*m = &f->b->msgs[a->slot];
	bool		 stored = a->verdict == VERDICT_STORED ||
			     a->verdict == VERDICT_DUPLICATE;

	if (!stored || m->outcome == OUT_DELIVERED)
		return;
	if (f->state[a->slot] != REFUSED)
		f->res->failed--;
	deliver(f, a);
}

void
relay_answer(struct flight *f, const struct pub_answer *a)
{
	size_t	i = a->slot;
	bool	go_on;

	if (a->slot == PUB_SOME_SLOT) {
		f->nameless++;
		err_set(&f->absent_why, "%s", a->text);
		return;
	}
	if (i >= f->b->n || f->state[i] == READY)
		return;
	if (f->state[i] == AGAIN)	/* it was taken for another one */
		f->nagain--;
	else if (f->state[i] != OUT) {
		late_answer(f, a);
		return;
	}
	f->state[i] = DONE;
	switch (a->verdict) {
	case VERDICT_STORED:
	case VERDICT_DUPLICATE:
		deliver(f, a);
		go_on = true;
		break;
	case VERDICT_DESTINATION:
		relay_refuse(f, i, a->text);
		go_on = false;
		break;
	case VERDICT_ABSENT:
		err_set(&f->absent_why, "%s", a->text);
		absent(f, i);
		return;
	default:
		kinds_says_nothing(&f->r->kinds, f->b->msgs[i].type);
		go_on = relay_fail(f, &f->b->msgs[i],
		    a->verdict == VERDICT_MESSAGE, a->text);
	}
	window_resolved(&f->w, i, go_on);
}

static void
say_how_long(const struct flight *f, size_t i, struct err *e)
{
	int64_t	timeout = f->r->conf->publish.timeout_ms;
	int64_t	waited = clock_ms() - f->sent_at[i];

	if (waited < timeout)
		err_set(e, "no answer in %lld ms", (long long)waited);
	else
		err_set(e, "no answer within %lld ms", (long long)timeout);
}

/*
 * Was one stored that was sent later, by the stream that takes this message?
 * Others tell nothing of it: they may be faster, or this one may be away.
 */
static bool
is_overtaken(const struct flight *f, size_t i)
{
	if (f->subject == NULL)
		return f->stored > f->place[i];
	return streams_overtook(&f->r->streams, f->subject[i], f->place[i]);
}

/*
 * Is it certain, so that it counts as an attempt?  Not if the subject may
 * have moved to another stream since it was last seen.
 */
static bool
is_surely_overtaken(const struct flight *f, size_t i)
{
	return is_overtaken(f, i) && (f->subject == NULL ||
	    streams_is_sure(&f->r->streams, f->subject[i]));
}

/*
 * Silence is dear: each one more is in doubt as well.  Was anything
 * acknowledged, then by whatever stream: the route works, and the batch goes
 * on without this stream.
 */
static void
note_silence(struct flight *f, size_t i, const char *text)
{
	bool	blamed = relay_is_blamed(f, i);

	relay_refuse(f, i, text);
	if (f->subject != NULL && f->acked > 0 && !is_overtaken(f, i))
		streams_note_silent(&f->r->streams, f->subject[i]);
	f->res->silent = f->res->silent || !blamed;
	f->closed = f->closed || (f->acked == 0 && !blamed);
}

static void
time_out(struct flight *f, size_t i)
{
	struct err	e;
	bool		go_on = false;

	f->state[i] = DONE;
	f->b->msgs[i].unsure = true;
	say_how_long(f, i, &e);
	if (f->complained)
		relay_refuse(f, i, f->complaint.text);
	else if (f->nameless > 0) {
		f->nameless--;
		relay_refuse(f, i, f->absent_why.text);
	} else if (is_surely_overtaken(f, i)) {	/* a later one got through */
		f->res->stalled_ms = clock_ms() - f->heard_at;
		was_tried(f, &f->b->msgs[i]);
		go_on = relay_fail(f, &f->b->msgs[i], false, e.text);
	} else
		note_silence(f, i, e.text);
	window_resolved(&f->w, i, go_on);
}

/*
 * Is one of those out that may still have its answer?  With one stream all in
 * front of what it stored last are overtaken.  With several each has to be
 * asked for; those of a silent stream must not hold up the others.
 */
static bool
someone_is_last(const struct flight *f)
{
	size_t	k = f->subject == NULL ? f->stored : f->oldest;

	for (; k < f->nsent; k++) {
		size_t i = f->order[k];

		if (f->state[i] == OUT && f->place[i] == k &&
		    (f->subject == NULL ||
		    (!is_overtaken(f, i) && !relay_is_blamed(f, i))))
			return true;
	}
	return false;
}

/* How long those that are out still have before they count as overtaken. */
static int64_t
overtaken_in(const struct flight *f, int64_t now)
{
	int64_t	grace = f->slowest * OVERTAKEN_TIMES, blamed, left;

	blamed = f->nsent == 0 ? 0 :
	    f->sent_at[f->order[f->nsent - 1]] + BLAMED_MS - now;
	if (f->nfair == 0 && f->nsent > 0 && f->nagain == 0)
		return blamed;
	if (f->stored == 0 || f->nagain > 0 || f->nameless > 0 ||
	    someone_is_last(f) || window_can_send(&f->w))
		return INT64_MAX;
	if (grace < OVERTAKEN_MS)
		grace = OVERTAKEN_MS;
	left = f->heard_at + grace - now;
	/* With several streams some of them may be those of silent ones. */
	return f->subject != NULL && left < blamed ? blamed : left;
}

/* All wait equally long, so the oldest is always the first to run out. */
int64_t
relay_expire(struct flight *f, int64_t now)
{
	int64_t	timeout = f->r->conf->publish.timeout_ms;
	int64_t	overtaken = overtaken_in(f, now), left;

	for (; f->oldest < f->nsent; f->oldest++) {
		size_t i = f->order[f->oldest];

		/* Sent again, it stands there twice. */
		if (f->state[i] != OUT || f->place[i] != f->oldest)
			continue;
		left = f->sent_at[i] + timeout - now;
		if (overtaken < left)
			left = overtaken;
		if (left > 0)
			return left;
		time_out(f, i);
	}
	return RELAY_KEEP_MS;
}

/*
 * When all others have their answers, of whatever streams, the rest is what
 * nobody took.  Beside one that gets none it shows with the time-out; neither
 * uses an attempt.
 */
void
relay_name_absent(struct flight *f)
{
	if (f->nameless == 0 || f->w.unresolved - f->nagain > f->nameless)
		return;
	for (size_t k = f->oldest; k < f->nsent; k++) {
		size_t i = f->order[k];

		if (f->state[i] == OUT)
			absent(f, i);
	}
	f->nameless = 0;
}

static bool
took_type(const struct batch *b, struct bytes type)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->msgs[i].outcome == OUT_DELIVERED &&
		    b->msgs[i].type.len == type.len &&
		    memcmp(b->msgs[i].type.data, type.data, type.len) == 0)
			return true;
	return false;
}

/* Refused, or nobody answered: it was not at fault by itself. */
static bool
speaks_for_its_type(const struct flight *f, size_t i)
{
	const struct msg	*m = &f->b->msgs[i];

	return f->sent_at[i] != 0 && (f->state[i] == REFUSED ||
	    (m->outcome == OUT_RETRY && m->unsure));
}

/* A type of which nothing was taken is tried with one message from now on. */
static void
judge_types(struct flight *f)
{
	for (size_t i = 0; i < f->b->n; i++) {
		const struct msg *m = &f->b->msgs[i];

		if (speaks_for_its_type(f, i) && !took_type(f->b, m->type))
			/* As in was_tried. */
			kinds_refused(&f->r->kinds, m->type, f->acked > 0,
			    clock_ms());
	}
}

static void
defer(struct flight *f, struct msg *m, bool down)
{
	int64_t	wait = kinds_wait(&f->r->kinds, m->type, clock_ms());

	m->outcome = OUT_DEFER;
	m->delay_ms = down ? DEFER_DOWN_MS : DEFER_MS;
	if (m->delay_ms < wait)
		m->delay_ms = wait;
	/*
	 * With several streams such silence uses no attempt, however often it
	 * comes.  Another one of its type is tried before it then, or it alone
	 * would keep the type from being sent for ever.
	 */
	if (f->subject != NULL && m->unsure && !down)
		m->delay_ms *= 2;
}

/*
 * Now it shows: did the destination take anything at all?  An acknowledgement
 * of any stream says so; if all that was sent was for one stream of several,
 * the route pauses for them all, for 3.5 s at most, until another one of them
 * is heard of and the type is to blame (kinds.h).  Either way those
 * it would not have step aside for a moment: were they tried again at once,
 * a few of them at the head would keep the route down for all others.
 */
static void
judge_refused(struct flight *f)
{
	bool	down = f->acked == 0 && f->nfair > 0;

	for (size_t i = 0; i < f->b->n; i++) {
		struct msg *m = &f->b->msgs[i];

		if (f->state[i] != REFUSED)
			continue;
		defer(f, m, down);
		if (!down)
			relay_note_failure(f, m, m->error);
		else if (!f->res->down)
			err_set(&f->res->why, "%s", m->error);
		f->res->down = f->res->down || down;
	}
}

/*
 * Those that stood aside when a silence ended the batch wait as well.  If it
 * is down by now the connection was lost, which says nothing of them.
 */
static void
judge_aside(struct flight *f)
{
	if (!f->res->silent || f->res->down)
		return;
	for (size_t i = 0; i < f->b->n; i++)
		if (f->state[i] == ASIDE)
			relay_refuse(f, i, "not sent: others got no answer");
}

void
relay_judge(struct flight *f)
{
	judge_types(f);
	judge_aside(f);
	judge_refused(f);
}
