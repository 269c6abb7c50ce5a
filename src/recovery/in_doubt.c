/* in_doubt.c - see in_doubt.h */

#include "recovery/in_doubt.h"

#include <stdlib.h>
#include <time.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define SLICE_MS	2000	/* of look-ups for one batch */
#define AGAIN_MS	100	/* until the next ones */
#define FAILED_MS	2000	/* the same after a failure */
#define UNSOLVED_MS	10000	/* and after many, or if it cannot be told */
#define OVER_MS		60000	/* without a failure: the next is a new one */
#define MARGIN_MS	1000
#define SPARE_MS	60000	/* between the clocks of broker and worker */
#define NEAR		100	/* messages that are rather read than halved */
#define PROBES		16	/* messages, of which one is there as a rule */

void
in_doubt_init(struct in_doubt *d, const struct conf *conf, struct store *store,
    struct relay *relay)
{
	*d = (struct in_doubt){ .conf = conf, .store = store, .relay = relay };
}

void
in_doubt_free(struct in_doubt *d)
{
	search_clear(&d->search);
}

static bool
go_on(void *arg)
{
	struct in_doubt	*d = arg;

	return d->relay->keep(d->relay->keep_arg) == KEEP_ON;
}

/* Its route. */
static const struct route *
way_of(const struct in_doubt *d, const struct msg *m)
{
	return route_of(&d->relay->routes, m);
}

/*
 * True if this destination may have forgotten the id by the time this is sent,
 * which is before its claim expires; or never knew it, because an earlier
 * version had sent it under another.  A message too large to be fetched is not
 * sent and has no id.
 */
static bool
is_old(const struct in_doubt *d, const struct pub *p, const struct msg *m,
    int64_t dedup_window_ms)
{
	return !m->held && !m->away && m->in_doubt_ms >= 0 &&
	    (m->left_out != 0 || m->in_doubt_ms >
	    dedup_window_ms - d->conf->worker.claim_ttl - MARGIN_MS) &&
	    p == &d->relay->pubs[way_of(d, m)->driver];
}

/* Whether it is stored cannot be told now, or ever: the operator sees why. */
static void
defer_unsolved(struct msg *m, int64_t delay_ms, const char *where,
    const char *why)
{
	struct err	text;

	err_set(&text, "may be stored already, and the %s cannot be "
	    "searched for it: %.300s", where, why);
	msg_fail(m, OUT_DEFER, text.text);
	m->delay_ms = delay_ms;
	m->unsolved = true;
}

/*
 * How long to wait after a failure.  For a while it is no more than a short
 * trouble of the destination.  What failed long before, and was not asked
 * since, is over.
 */
static int64_t
note_failure(struct in_doubt *d, const struct pub *p)
{
	struct in_doubt_failure	*f = &d->failures[p - d->relay->pubs];
	int64_t			 now = clock_ms();

	if (f->since == 0 || now - f->at > OVER_MS)
		f->since = now;
	f->at = now;
	return now - f->since < UNSOLVED_MS ? FAILED_MS : UNSOLVED_MS;
}

/* A row that is refused is in doubt for longer than it was: no harm. */
static int
end_doubts(struct in_doubt *d, const struct batch *b, const uint64_t *rows,
    size_t n, struct err *e)
{
	struct isolate	i;

	for (i = isolate_rows(n, 0); isolate_next(&i);)
		store_isolate(d->store, &i, store_not_in_doubt(d->store, b,
		    rows + i.from, i.n, e));
	return i.rc;
}

/* How a question to database and broker ended; see err, but for ANSWERED. */
enum asked { ANSWERED, NOT_ANSWERED, NO_DATABASE };

static int
by_ack(const void *a, const void *b)
{
	const struct acked	*x = a, *y = b;

	return x->ack > y->ack ? -1 : x->ack < y->ack;
}

/*
 * Sets *from: above a message that is in this stream and was delivered before
 * the first of these can have been sent.  A delivered row may have its sequence
 * of a stream that was made anew or went back since.
 */
static enum asked
first_to_search(struct in_doubt *d, const struct batch *b,
    const struct message_id *ids, size_t nids, const struct stream_state *st,
    uint64_t *from, struct err *e)
{
	const struct pub	*p = relay_stream(d->relay);
	const struct pub_go_on	 keep_on = { go_on, d };
	uint64_t		*rows = xcalloc(nids, sizeof(*rows)), ack = 0;
	struct acked_list	 before;
	struct stored_message	*stored;
	size_t			 skip = 0;
	int			 rc;

	for (size_t i = 0; i < nids; i++)
		rows[i] = ids[i].sequence;
	rc = store_acked_before(d->store, b, rows, nids, &before, e);
	free(rows);
	if (rc < 0)
		return NO_DATABASE;
	qsort(before.rows, before.n, sizeof(*before.rows), by_ack);
	while (skip < before.n && before.rows[skip].ack > st->last)
		skip++;
	/* Mostly the latest row shows it; if not, all others are looked up. */
	for (size_t n = 1; rc == 0 && ack == 0 && skip < before.n; skip += n,
	    n = before.n - skip) {
		const struct acked *at = before.rows + skip;

		stored = xcalloc(n, sizeof(*stored));
		for (size_t i = 0; i < n; i++)
			stored[i].sequence = at[i].ack;
		rc = p->ops->get_stored(p->arg, d->relay->form.id_prefix,
		    stored, n, &keep_on, e);
		for (size_t i = 0; rc == 0 && i < n && ack == 0; i++)
			if (stored[i].what == STORED_OURS &&
			    message_id_is(&at[i].id, &stored[i].id))
				ack = at[i].ack;
		free(stored);
	}
	free(before.rows);
	*from = ack + 1;
	return rc < 0 ? NOT_ANSWERED : ANSWERED;
}

/*
 * When the message was stored at the earliest, by the broker's clock; 0: not
 * known.  Its age was read after the claim began.
 */
static int64_t
not_before(const struct batch *b, const struct msg *m,
    const struct stream_state *st)
{
	int64_t	now = st->now_at != 0 ? st->now_at :
		    (int64_t)time(NULL) * 1000;

	return m->in_doubt_ms == INT64_MAX ? 0 : later(0, now - SPARE_MS -
	    m->in_doubt_ms - (clock_ms() - b->claimed_at));
}

/*
 * Raises *from to a message that was stored before this moment, ms since 1970,
 * if there is one: by halves, as the broker tells when each was stored.
 */
static int
first_since(struct in_doubt *d, const struct stream_state *st, int64_t since,
    uint64_t *from, struct err *e)
{
	const struct pub	*p = relay_stream(d->relay);
	const struct pub_go_on	 keep_on = { go_on, d };
	uint64_t		 low = st->first, high = st->last, middle;
	int64_t			 at;

	while (low + NEAR < high) {
		struct stored_message some[PROBES] = { { .sequence = 0 } };

		middle = low + (high - low) / 2;
		for (size_t i = 0; i < PROBES; i++)
			some[i].sequence = middle + i;
		if (p->ops->get_stored(p->arg, d->relay->form.id_prefix, some,
		    PROBES, &keep_on, e) < 0)
			return -1;
		at = 0;
		for (size_t i = 0; at == 0 && i < PROBES; i++)
			at = some[i].at;
		if (at == 0)		/* all of these are gone */
			break;
		if (at < since)
			*from = low = middle;
		else
			high = middle;
	}
	return 0;
}

/* Search for the messages in doubt that are not searched for yet. */
static enum asked
add_to_search(struct in_doubt *d, const struct batch *b,
    const struct stream_state *st, struct err *e)
{
	struct message_id	*ids = xcalloc(b->n + 1, sizeof(*ids));
	struct sought		 x = { .until = st->last };
	enum asked		 asked = ANSWERED;
	int64_t			 at, since = INT64_MAX;
	uint64_t		 ack;
	size_t			 n = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct msg		*m = &b->msgs[i];
		struct message_id	 id;

		if (!is_old(d, relay_stream(d->relay), m, st->dedup_window_ms))
			continue;
		id = msg_id(m);
		if (m->left_out != 0)
			id.hashed = false;
		search_drop_older(&d->search, &id, clock_ms() - m->in_doubt_ms);
		if (search_result(&d->search, id.sequence, &ack) !=
		    FOUND_NOT_SOUGHT)
			continue;
		ids[n++] = id;
		at = not_before(b, m, st);
		since = at < since ? at : since;
	}
	if (n > 0)
		asked = first_to_search(d, b, ids, n, st, &x.from, e);
	/* No row shows where to begin, as after a TRUNCATE. */
	if (n > 0 && asked == ANSWERED && x.from == 1 && since > 0 &&
	    first_since(d, st, since, &x.from, e) < 0)
		asked = NOT_ANSWERED;
	for (size_t i = 0; asked == ANSWERED && i < n; i++) {
		const struct msg *m = batch_msg(b, ids[i].sequence);

		x.id = ids[i];
		x.loose = m->left_out != 0;
		x.not_before = not_before(b, m, st);
		if (search_add(&d->search, &x))
			continue;
		/* Other workers have most of them now: start over. */
		search_clear(&d->search);
		break;
	}
	free(ids);
	return asked;
}

/* A message that is not in the stream is sent like a new one. */
static int
take_results(struct in_doubt *d, struct batch *b, int64_t dedup_window_ms,
    unsigned *found, struct err *e)
{
	uint64_t	*absent = xcalloc(b->n + 1, sizeof(*absent));
	size_t		 n = 0;
	int		 rc;

	for (size_t k = 0; k < b->n; k++) {
		struct msg *m = &b->msgs[k];

		if (!is_old(d, relay_stream(d->relay), m, dedup_window_ms))
			continue;
		switch (search_result_of(&d->search, m, &m->ack_sequence)) {
		case FOUND_THERE:
			m->outcome = OUT_DELIVERED;
			(*found)++;
			break;
		case FOUND_ABSENT:
			absent[n++] = m->sequence;
			break;
		case FOUND_REMOVED:
		case FOUND_UNKNOWN:
			defer_unsolved(m, UNSOLVED_MS, "stream", "messages "
			    "have left the stream before they could be read");
			continue;
		case FOUND_LATER:
		case FOUND_NOT_SOUGHT:
			msg_fail(m, OUT_DEFER, "may be stored already: the "
			    "stream is searched for it");
			m->delay_ms = AGAIN_MS;
			continue;
		}
		search_drop(&d->search, m->sequence);
	}
	rc = end_doubts(d, b, absent, n, e);
	free(absent);
	return rc;
}

/* When look-ups for this batch end. */
static int64_t
end_of_slice(const struct in_doubt *d, const struct batch *b)
{
	const struct conf	*c = d->conf;
	int64_t			 now = clock_ms();

	return now + sooner((b->claimed_at + c->worker.claim_ttl -
	    c->publish.timeout_ms - CONF_CLAIM_MARGIN_MS - now) / 2, SLICE_MS);
}

/* A question that fails says nothing of what is in the stream. */
static enum asked
search_stream(struct in_doubt *d, struct batch *b, struct stream_state *st,
    struct err *e)
{
	const struct pub	*p = relay_stream(d->relay);
	const struct pub_go_on	 keep_on = { go_on, d };
	int64_t			 end = end_of_slice(d, b);
	enum asked		 asked;

	if (!p->ops->state(p->arg, st, e))
		return NOT_ANSWERED;
	if (st->answer != STREAM_THERE) {
		err_set(e, "no such stream");
		return NOT_ANSWERED;
	}
	if (!search_in(&d->search, st))
		return ANSWERED;
	asked = add_to_search(d, b, st, e);
	if (asked != ANSWERED)
		return asked;
	return search_run(&d->search, p, d->relay->form.id_prefix, end,
	    &keep_on, e) < 0 ? NOT_ANSWERED : ANSWERED;
}

static int
look(struct in_doubt *d, struct batch *b, unsigned *found, struct err *e)
{
	const struct pub	*p = relay_stream(d->relay);
	struct stream_state	 st = { .answer = STREAM_UNKNOWN };
	struct err		 why, right;
	enum asked		 asked = search_stream(d, b, &st, &why);
	int64_t			 window, delay;

	if (asked == NO_DATABASE) {
		*e = why;
		return -1;
	}
	if (asked == ANSWERED) {
		d->failures[p - d->relay->pubs].since = 0;
		return take_results(d, b, st.dedup_window_ms, found, e);
	}
	search_failed_in(&d->search);
	/* What a server forbids it does not answer: it complains. */
	if (pub_is_open(p)) {
		if (p->ops->complaint(p->arg, PUB_FORBIDDEN, &right) !=
		    CLASS_NONE)
			err_set(&why, "%.200s: the user in the section nats "
			    "lacks this right", right.text);
		/* It says no more. */
		p->ops->complaint(p->arg, PUB_NOBODY, &right);
	}
	/* The stream cannot be checked, now or at all. */
	delay = note_failure(d, p);
	window = st.answer == STREAM_THERE ? st.dedup_window_ms : 0;
	for (size_t i = 0; i < b->n; i++)
		if (is_old(d, p, &b->msgs[i], window))
			defer_unsolved(&b->msgs[i], delay, "stream", why.text);
	return 0;
}

/* List the messages in doubt that go to p; the texts at where are freed. */
static size_t
list_sought(struct in_doubt *d, const struct pub *p, struct batch *b,
    struct pub_sought *list)
{
	struct relay	*r = d->relay;
	size_t		 n = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct msg		*m = &b->msgs[i];
		const struct route	*way = way_of(d, m);

		if (!is_old(d, p, m, 0))
			continue;
		list[n] = (struct pub_sought){ .where = xstrdup(
		    envelope_subject_of(&r->envelope, way->rule == NULL ?
		    &r->form : &way->form, m)),
		    .id = msg_id(m), .time = m->time,
		    .since = m->in_doubt_ms == INT64_MAX ? INT64_MIN :
		    clock_ms() - m->in_doubt_ms };
		list[n++].id.hashed = m->left_out == 0;
	}
	return n;
}

/* A message in doubt is searched for whatever its age: no id is remembered. */
static int
find(struct in_doubt *d, const struct pub *p, struct batch *b, unsigned *found,
    struct err *e)
{
	const struct pub_go_on	 keep_on = { go_on, d };
	struct pub_sought	*list = xcalloc(b->n + 1, sizeof(*list)), *x;
	uint64_t		*absent = xcalloc(b->n + 1, sizeof(*absent));
	size_t			 n = list_sought(d, p, b, list), nabsent = 0;
	struct err		 text;
	int64_t			 delay = 0;
	int			 rc;

	if (n > 0)
		p->ops->find(p->arg, d->relay->form.id_prefix, list, n,
		    end_of_slice(d, b), &keep_on);
	for (x = list; x < list + n; x++) {
		struct msg *m = batch_msg(b, x->id.sequence);

		if (x->found == FOUND_THERE && !x->id.hashed &&
		    !msg_is_stored(m, &x->stored.id, x->stored.time))
			x->found = FOUND_ABSENT;
		switch (x->found) {
		case FOUND_THERE:
			m->outcome = OUT_DELIVERED;
			if (x->stored.sequence >= MSG_PLACES)
				m->ack_sequence = x->stored.sequence;
			(*found)++;
			break;
		case FOUND_ABSENT:
			absent[nabsent++] = m->sequence;
			break;
		case FOUND_REMOVED:
		case FOUND_UNKNOWN:
			if (delay == 0)
				delay = note_failure(d, p);
			defer_unsolved(m, delay, p->ops->finds_in,
			    x->why.text);
			break;
		case FOUND_LATER:
		case FOUND_NOT_SOUGHT:
			err_set(&text, "may be stored already: the %s is "
			    "searched for it", p->ops->finds_in);
			msg_fail(m, OUT_DEFER, text.text);
			m->delay_ms = later(x->again_ms, AGAIN_MS);
			break;
		}
		free((char *)x->where);
	}
	if (delay == 0)
		d->failures[p - d->relay->pubs].since = 0;
	rc = end_doubts(d, b, absent, nabsent, e);
	free(list);
	free(absent);
	return rc;
}

/*
 * The database's clock was set back: the age of these marks is unknown, and
 * later they would seem new.  Mark them as old for good, and search again.
 */
static int
keep_ageless(struct in_doubt *d, struct batch *b, struct err *e)
{
	uint64_t	*rows = xcalloc(b->n + 1, sizeof(*rows));
	struct isolate	 i;
	size_t		 n = 0;

	for (size_t k = 0; k < b->n; k++)
		if (b->msgs[k].in_doubt_ms == INT64_MAX) {
			rows[n++] = b->msgs[k].sequence;
			search_drop(&d->search, b->msgs[k].sequence);
		}
	for (i = isolate_rows(n, 0); isolate_next(&i);)
		if (store_isolate(d->store, &i, store_in_doubt_ever(d->store,
		    b, rows + i.from, i.n, e)))
			defer_unsolved(batch_msg(b, rows[i.from]), UNSOLVED_MS,
			    "destination", e->text);
	free(rows);
	return i.rc;
}

/* Can it be searched at all?  Else what is in doubt is just sent. */
static bool
is_searched(const struct in_doubt *d, const struct pub *p)
{
	if (p != relay_stream(d->relay))
		return p->ops->finds_in != NULL;
	return d->conf->nats.recover != RECOVER_OFF &&
	    d->conf->nats.stream[0] != '\0';
}

int
in_doubt_resolve(struct in_doubt *d, struct batch *b, unsigned *found,
    struct err *e)
{
	bool			 doubts[CONF_DRIVERS] = { false }, any = false;
	const struct pub	*p;
	int			 rc;

	*found = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (b->msgs[i].in_doubt_ms < 0 || b->msgs[i].held)
			continue;
		p = &d->relay->pubs[way_of(d, &b->msgs[i])->driver];
		if (p->ops != NULL && is_searched(d, p))
			any = doubts[p - d->relay->pubs] = true;
	}
	if (!any || !store_can_resolve_in_doubt(d->store))
		return 0;
	rc = keep_ageless(d, b, e);
	for (size_t i = 0; rc == 0 && i < CONF_DRIVERS; i++) {
		p = &d->relay->pubs[i];
		if (doubts[i])
			rc = p == relay_stream(d->relay) ?
			    look(d, b, found, e) : find(d, p, b, found, e);
	}
	return rc;
}
