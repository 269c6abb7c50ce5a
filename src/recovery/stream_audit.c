/*
 * stream_audit.c - see stream_audit.h
 *
 * A short audit is two requests: is our latest message still at its sequence?
 * If not, and after each start of the server, a full audit reads all rows
 * since the last one: a damaged store may have its end and lack the middle.
 * A server or a leader of a cluster may change at any time: if the state of the
 * stream is the same, a short audit does, and the scrub reads all rows then.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "util/log.h"

#define PERIOD_MS	10000	/* between short audits */
#define POLL_MS		200	/* while another worker audits */
#define FORBIDDEN	3	/* refusals until audits are given up */
#define NOBODY_MS	30000	/* a cluster may have no leader for long */
#define FALLBACK_MS	60000	/* until the next try without permission */
#define AGAIN_MS	500	/* after a failure */
#define SILENT_MS	5000	/* the same, at most, if others are served */
#define SOME		50	/* rows to recognise a stream by */

static const char	emptied[] = "is empty, but messages were expected: it "
			    "was probably purged";
static const char	recreated[] = "was created again and lacks the "
			    "messages delivered before";

void
stream_audit_init(struct stream_audit *r, const struct conf *conf,
    struct store *store, struct relay *relay)
{
	*r = (struct stream_audit){ .conf = conf, .store = store,
	    .relay = relay, .may_leave = conf->mysql.hosts.n > 1 };
}

static bool
is_on(const struct stream_audit *r)
{
	return relay_stream(r->relay) != NULL &&
	    r->conf->nats.recover != RECOVER_OFF &&
	    r->conf->nats.stream[0] != '\0' && store_can_audit_stream(r->store);
}

void
stream_audit_connected(struct stream_audit *r)
{
	r->ready = false;
	r->failures = 0;
	r->at = 0;
}

void
stream_audit_database_opened(struct stream_audit *r, bool first_start)
{
	r->ready = false;
	r->reconnected = true;
	r->first_start = r->first_start || first_start;
	r->at = 0;
}

bool
stream_audit_is_ready(const struct stream_audit *r)
{
	return !is_on(r) || (r->ready && !r->relay->went_back);
}

void
stream_audit_pass(struct stream_audit *r, int64_t at)
{
	r->ready = true;
	r->relay->went_back = false;
	r->at = at;
}

int64_t
stream_audit_next(const struct stream_audit *r, bool first)
{
	if (!is_on(r))
		return INT64_MAX;
	if (r->ready && r->relay->went_back)
		return 0;
	return first || !r->ready ? r->at : INT64_MAX;
}

static void
raise_alarm(struct stream_audit *r, const char *text)
{
	err_set(&r->alarm, "%s; to send them again: outboxctl stream republish",
	    text);
	err_in(&r->alarm, "stream %s", r->conf->nats.stream);
	log_error("%s", r->alarm.text);
}

/*
 * The stream cannot be audited, now or at all.  A broker may take messages and
 * yet refuse requests about the stream: a permission is missing, or nothing
 * answers JetStream requests in this account.  Then publishing matters more.  A
 * silent broker takes nothing: wait for it.  That is about new messages: one
 * that may be stored is never sent again without an answer, see in_doubt.h.
 */
static int
audit_failed(struct stream_audit *r, const struct err *why)
{
	const struct pub	*p = relay_stream(r->relay);
	const char		*stream = r->conf->nats.stream;
	struct err		 e;
	char			 info[CONF_API], get[CONF_API];

	r->failures++;
	/* A silent broker must not take the time of other destinations. */
	r->at = clock_ms() + (!r->relay->routes.several ? AGAIN_MS :
	    sooner(AGAIN_MS * (int64_t)r->failures, SILENT_MS));
	r->ready = r->ready && !r->gone;
	if (r->gone || !pub_is_open(p) ||
	    r->relay->keep(r->relay->keep_arg) != KEEP_ON)
		return 0;
	if (p->ops->complaint(p->arg, PUB_FORBIDDEN, &e))
		r->forbidden++;
	if (!p->ops->complaint(p->arg, PUB_NOBODY, &e))
		r->nobody_since = 0;
	else if (r->nobody_since == 0)
		r->nobody_since = clock_ms();
	if (!r->warned && r->forbidden < FORBIDDEN && (r->nobody_since == 0 ||
	    clock_ms() - r->nobody_since < NOBODY_MS)) {
		if (!r->ready)
			r->waits_for = *why;
		return 0;
	}
	r->at = clock_ms() + FALLBACK_MS;
	if (!r->warned)
		log_warn("stream %s: publishing goes on without a check for "
		    "lost messages: %s; may the user publish to %s and %s?",
		    stream, why->text,
		    conf_api(r->conf, "STREAM.INFO.", stream, info),
		    conf_api(r->conf, "STREAM.MSG.GET.", stream, get));
	r->warned = r->ready = true;
	r->relay->went_back = false;
	memset(&r->relay->top, 0, sizeof(r->relay->top));
	return 0;
}

static void
audit_works(struct stream_audit *r)
{
	r->ready = true;
	r->failures = 0;
	r->warned = r->relay->went_back = false;
	r->forbidden = 0;
	r->nobody_since = 0;
	r->at = clock_ms() + PERIOD_MS;
}

/*
 * The full audit
 */

void
stream_audit_tell(const struct stream_audit *r,
    const struct stream_audit_rows *w)
{
	const char	*stream = r->conf->nats.stream;

	if (w->told > 0)
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("stream",
		    stream), LOG_NUMBER("missing", w->told)),
		    "stream %s: lacks %llu acknowledged messages, sequences "
		    "%llu to %llu of the stream, which somebody may have "
		    "removed; to send them again: outboxctl stream republish; "
		    "to accept it: outboxctl stream forget",
		    stream, (unsigned long long)w->told,
		    (unsigned long long)w->told_low,
		    (unsigned long long)w->told_high);
	if (w->moved > 0)
		log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_TEXT("stream", stream),
		    LOG_NUMBER("moved", w->moved)), "stream %s: %llu messages "
		    "are at other sequences than its former leader said: its "
		    "replicas differ, and nothing is sent twice; "
		    "nats-server 2.9 does that after its leader stood still",
		    stream, (unsigned long long)w->moved);
	if (w->lost > 0 && !w->dry)
		log_event(LOG_LVL_WARN, LOG_FIELDS(LOG_TEXT("stream", stream),
		    LOG_NUMBER("lost", w->lost), LOG_NUMBER("sent_again",
		    w->reset)), "stream %s: lost %llu acknowledged messages, "
		    "sequences %llu to %llu of the stream: %llu are sent again",
		    stream, (unsigned long long)w->lost,
		    (unsigned long long)w->low, (unsigned long long)w->high,
		    (unsigned long long)w->reset);
}

static struct stream_identity
identity(const struct stream_audit *r, const struct stream_state *st)
{
	return (struct stream_identity){ .name = r->conf->nats.stream,
	    .server = st->server, .created = st->created,
	    .prefix = r->relay->form.id_prefix, .leader = st->leader,
	    .gaps = st->gaps, .damage = st->damage };
}

static int
end_check(struct stream_audit *r, const struct stream_row *row,
    const struct stream_state *st, bool anew, const struct store_loss *loss,
    struct err *e)
{
	struct stream_identity	id = identity(r, st);

	id.suspicion = anew ? NULL : stream_audit_suspicion(row, st);
	if (store_check_end(r->store, &id, anew, loss, e) < 0)
		return -1;
	memset(&r->relay->top, 0, sizeof(r->relay->top));
	audit_works(r);
	return 0;
}

static int
drop_check(struct stream_audit *r, const struct err *why, struct err *e)
{
	if (store_check_drop(r->store, r->conf->nats.stream, e) < 0)
		return -1;
	return audit_failed(r, why);
}

/* An audit was not finished: the database or the broker failed. */
static int
give_up(struct stream_audit *r, enum audited audited, const struct err *why,
    struct err *e)
{
	if (audited == AUDIT_BROKEN)
		return drop_check(r, why, e);
	*e = *why;
	return -1;
}

static enum audited
find_some(struct stream_audit *r, const struct stream_row *row, bool latest,
    struct finding *f, struct err *e)
{
	struct stream_state	st;
	struct acked_list	l;
	bool			known;

	if (store_some_acked(r->store, row->known_since, latest, SOME, &l,
	    e) < 0)
		return AUDIT_NO_DB;
	known = stream_audit_find(r, &l, &st, f, e);
	free(l.rows);
	return known ? AUDIT_DONE : AUDIT_BROKEN;
}

/*
 * All rows of the audit are lost, or the missed one was not among them: the
 * stream may have lost more than a crash explains.  Lost rows are not delivered
 * any more, so the latest delivered row shows it.
 */
static enum audited
audit_farther(struct stream_audit *r, struct stream_audit_rows *w,
    const struct stream_row *row, struct err *e)
{
	/* Is the missed message not among the lost ones of this audit? */
	bool			older = r->missed != 0 && (w->lost == 0 ||
				    r->missed < w->low || r->missed > w->high);
	struct finding		f = { .lost = w->dry || older };
	struct store_period	all = { .until = row->since };
	enum audited		audited = AUDIT_DONE;

	if (!older && (w->lost == 0 || w->there > 0))
		return AUDIT_DONE;
	if (!f.lost)
		audited = find_some(r, row, true, &f, e);
	if (audited != AUDIT_DONE || (!f.lost && !f.hole))
		return audited;
	strlcpy(all.from, row->known_since, sizeof(all.from));
	return stream_audit_rows(r, w, &all, e);
}

static int
check_rows(struct stream_audit *r, struct stream_row *row, const char *until,
    const struct stream_state *st, struct err *e)
{
	struct stream_audit_rows	w = { .created = st->created };
	struct store_period		in_doubt = { .until = until };
	struct store_loss		loss = { 0 };
	const char			*stream = r->conf->nats.stream;
	char				text[256];
	struct err			why;
	enum audited			audited;

	w.dry = r->conf->nats.recover == RECOVER_REPORT;
	w.holes_lost = stream_audit_holes_are_lost(row, st);
	/*
	 * Does the server know ids of messages that it has not?  At a start it
	 * knows only what it has.  A replica may lose messages later, because a
	 * leader lacks them.
	 */
	w.new_ids = st->replicated || stream_audit_is_checked(row, st);
	w.heals = row->missing > 0;
	strlcpy(in_doubt.from, row->since, sizeof(in_doubt.from));
	audited = stream_audit_rows(r, &w, &in_doubt, &why);
	if (audited == AUDIT_DONE)
		audited = audit_farther(r, &w, row, &why);
	if (audited != AUDIT_DONE) {
		/* What is known of holes by now is not found again. */
		stream_audit_tell(r, &w);
		return give_up(r, audited, &why, e);
	}
	stream_audit_tell(r, &w);
	if (w.lost > 0 && w.dry) {
		snprintf(text, sizeof(text), "lost %llu acknowledged messages, "
		    "sequences %llu to %llu of the stream; nats.recover is "
		    "\"report\"", (unsigned long long)w.lost,
		    (unsigned long long)w.low, (unsigned long long)w.high);
		raise_alarm(r, text);
	} else if (w.lost == 0 && w.there + w.removed > 0)
		log_info("stream %s: the server was restarted: %llu "
		    "messages were checked, none is lost", stream,
		    (unsigned long long)(w.there + w.removed));
	if (w.dry)
		loss = (struct store_loss){ w.lost, w.low, w.high, NULL };
	/* Was all that was expected removed? */
	if (w.removed > 0 && w.empty && !w.expires) {
		raise_alarm(r, emptied);
		loss.alarm = emptied;
	}
	/* What is recorded as lost is not expected any more. */
	return end_check(r, row, st, loss.messages > 0, &loss, e);
}

static int
audit_stream(struct stream_audit *r, struct stream_row *row, const char *until,
    const struct stream_state *st, struct err *e)
{
	struct err		why;
	struct finding		f = { 0 };
	struct store_loss	loss = { 0 };
	enum audited		audited;

	/* Only the database was to be compared. */
	if (stream_audit_is_checked(row, st) && r->missed == 0) {
		r->at = clock_ms();
		return store_check_drop(r->store, r->conf->nats.stream, e);
	}
	/*
	 * If a restarted server has a higher first sequence, and no limit
	 * explains it, its store has lost messages, whatever their age.
	 */
	if (row->first != 0 && st->first > row->first && !st->limited &&
	    st->messages > 0) {
		r->first_known = row->first;
		strlcpy(row->since, row->known_since, sizeof(row->since));
	}
	if (row->fresh)
		return end_check(r, row, st, true, &loss, e);
	if (row->created[0] == '\0' || strcmp(row->created, st->created) == 0)
		return check_rows(r, row, until, st, e);
	/*
	 * A new creation time alone proves little: some servers give one to a
	 * restored backup, which may be older than the last audit.  But a
	 * backup has older messages and lacks newer ones; a new stream has
	 * newer messages and lacks older ones.
	 */
	strlcpy(row->since, row->known_since, sizeof(row->since));
	audited = find_some(r, row, false, &f, &why);
	if (audited == AUDIT_DONE)
		audited = find_some(r, row, true, &f, &why);
	if (audited != AUDIT_DONE)
		return give_up(r, audited, &why, e);
	if ((!f.lost && !f.hole) || f.back)
		return check_rows(r, row, until, st, e);
	raise_alarm(r, recreated);
	loss.alarm = recreated;
	return end_check(r, row, st, true, &loss, e);
}

static int
read_row(struct stream_audit *r, const struct stream_identity *id,
    struct stream_row *row, struct err *e)
{
	if (store_stream(r->store, id, row, e) < 0)
		return -1;
	stream_audit_put_origin(r, row);
	return 0;
}

static int
full_audit_or_wait(struct stream_audit *r, struct err *e)
{
	struct stream_state	 st;
	struct stream_row	 row;
	struct err		 why;
	char			 until[STORE_TIME];
	struct stream_identity	 id;
	enum audited		 audited;
	bool			 taken;

	r->ready = false;
	if (store_check_begin(r->store, r->conf->nats.stream, &taken, e) < 0)
		return -1;
	if (!taken) {
		r->at = clock_ms() + POLL_MS;
		return 0;
	}
	/* This worker has the right to audit. */
	r->renew_at = clock_ms() + r->conf->worker.lease_renew;
	r->first_known = 0;
	if (store_now(r->store, until, e) < 0)
		return -1;
	if (!stream_audit_state(r, &st, &why))
		return drop_check(r, &why, e);
	id = identity(r, &st);
	/* Another worker may have audited in the meantime. */
	if (read_row(r, &id, &row, e) < 0 ||
	    stream_audit_count_others(r, &row, e) < 0)
		return -1;
	if (r->compare) {
		audited = stream_audit_tail(r, &row, &st, &why);
		if (audited != AUDIT_DONE)
			return give_up(r, audited, &why, e);
		r->compare = false;
		/* The server may have come into use by that. */
		if (read_row(r, &id, &row, e) < 0)
			return -1;
	}
	return audit_stream(r, &row, until, &st, e);
}

/*
 * The short audit
 */

/* The highest known sequence: this worker's and, if first, all's. */
static int
find_top(struct stream_audit *r, const struct stream_row *row, bool first,
    struct acked *top, struct err *e)
{
	struct acked_list	l;

	*top = r->relay->top;
	if (!first)
		return 0;
	if (store_some_acked(r->store, row->known_since, true, SOME, &l, e) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		if (l.rows[i].ack > top->ack)
			*top = l.rows[i];
	free(l.rows);
	return 0;
}

/* Is it empty, and no limit has emptied it?  Told once. */
static int
check_emptiness(struct stream_audit *r, const struct stream_state *st,
    bool there, struct err *e)
{
	bool	empty = !there && st->messages == 0 && !st->forgets &&
		    !st->expires;

	if (empty && r->emptied_at != st->first) {
		if (store_stream_alarm(r->store, r->conf->nats.stream, emptied,
		    e) < 0)
			return -1;
		raise_alarm(r, emptied);
	}
	r->emptied_at = empty ? st->first : 0;
	return 0;
}

/* If no limit has cut the beginning, somebody has removed messages. */
static int
check_beginning(struct stream_audit *r, const struct stream_row *row,
    const struct stream_state *now, struct err *e)
{
	char	text[160];

	if (row->first == 0 || now->first <= row->first || now->messages == 0 ||
	    now->limited || now->forgets || now->expires)
		return 0;
	snprintf(text, sizeof(text), "lacks its messages %llu to %llu, which "
	    "no limit has removed: they were purged or deleted",
	    (unsigned long long)row->first,
	    (unsigned long long)now->first - 1);
	if (store_stream_alarm(r->store, r->conf->nats.stream, text, e) < 0)
		return -1;
	raise_alarm(r, text);
	return 0;
}

/* What the next audits compare with, and what the scrub has to do. */
static int
record_state(struct stream_audit *r, const struct stream_row *row,
    const struct stream_state *now, struct err *e)
{
	struct stream_identity	id = identity(r, now);

	id.suspicion = stream_audit_suspicion(row, now);
	stream_audit_tell_suspicion(r, row, now);
	/* The first message of an empty stream is the next one. */
	return store_check_short(r->store, &id, now->first == 0 ?
	    now->last + 1 : now->first, r->again_at != 0 ? 0 : now->last, e);
}

/*
 * now: the stream's state before any other request; first: this is the fleet's
 * first worker.
 */
static int
short_audit(struct stream_audit *r, const struct stream_row *row,
    const struct stream_state *now, bool first, struct err *e)
{
	struct stream_state	st;
	struct acked		top;
	struct acked_list	only = { &top, 1 };
	struct err		why;
	struct finding		f = { 0 };
	bool			known = stream_audit_is_checked(row, now);
	bool			lost;

	if (find_top(r, row, first || !known, &top, e) < 0)
		return -1;
	if (top.ack != 0) {
		if (!stream_audit_find(r, &only, &st, &f, &why))
			return audit_failed(r, &why);
		lost = f.lost || (f.hole && !known);
		/*
		 * Another worker's audit may have dealt with it.  A hole is
		 * for the scrub: it may be on purpose.
		 */
		if (lost && store_is_acked(r->store, &top, &lost, e) < 0)
			return -1;
		if (lost) {
			r->missed = top.ack;
			return full_audit_or_wait(r, e);
		}
		if (check_emptiness(r, &st, f.there, e) < 0)
			return -1;
	}
	if (first && (check_beginning(r, row, now, e) < 0 ||
	    record_state(r, row, now, e) < 0 ||
	    stream_audit_watch_rivals(r, now->last, e) < 0))
		return -1;
	if (r->relay->went_back || !r->ready)
		memset(&r->relay->top, 0, sizeof(r->relay->top));
	audit_works(r);
	return 0;
}

int
stream_audit_round(struct stream_audit *r, bool first, struct err *e)
{
	struct stream_state	st;
	struct stream_row	row;
	struct stream_identity	id;
	struct err		why;

	r->relay->watch = is_on(r);
	if (clock_ms() < stream_audit_next(r, first))
		return 0;
	r->ready = r->ready && !r->relay->went_back;
	r->missed = r->first_known = 0;
	if (!stream_audit_state(r, &st, &why))
		return audit_failed(r, &why);
	id = identity(r, &st);
	if (store_stream(r->store, &id, &row, e) < 0)
		return -1;
	if (stream_audit_watch_database(r, &row, e) < 0)
		return -1;
	/* It knows the server by now. */
	stream_audit_put_origin(r, &row);
	/* If we waited for another worker's audit, its result is here now. */
	if (r->compare || (!stream_audit_is_checked(&row, &st) &&
	    !stream_audit_looks_the_same(&row, &st)))
		return full_audit_or_wait(r, e);
	return short_audit(r, &row, &st, first, e);
}
