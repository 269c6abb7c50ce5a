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

static bool
goes_to_stream(const struct in_doubt *d, const struct msg *m)
{
	return route_of(&d->relay->routes, m)->destination ==
	    ROUTE_STREAM;
}

/*
 * True if the stream may have forgotten the id by the time this is sent, which
 * is before its claim expires; or never knew it, because an earlier version had
 * sent it under another.  A message too large to be fetched is not sent and has
 * no id.
 */
static bool
is_old(const struct in_doubt *d, const struct msg *m, int64_t dedup_window_ms)
{
	return !m->held && !m->away && m->in_doubt_ms >= 0 &&
	    (m->left_out != 0 || m->in_doubt_ms >
	    dedup_window_ms - d->conf->worker.claim_ttl - MARGIN_MS) &&
	    goes_to_stream(d, m);
}

/* Whether it is stored cannot be told now, or ever: the operator sees why. */
static void
defer_unsolved(struct msg *m, int64_t delay_ms, const char *why)
{
	struct err	text;

	err_set(&text, "may be stored already, and the stream cannot be "
	    "searched for it: %.300s", why);
	msg_fail(m, OUT_DEFER, text.text);
	m->delay_ms = delay_ms;
	m->unsolved = true;
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

/* Search for the messages in doubt that are not searched for yet. */
static enum asked
add_to_search(struct in_doubt *d, const struct batch *b,
    const struct stream_state *st, struct err *e)
{
	struct message_id	*ids = xcalloc(b->n + 1, sizeof(*ids));
	struct sought		 x = { .until = st->last };
	enum asked		 asked = ANSWERED;
	uint64_t		 ack;
	size_t			 n = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct msg		*m = &b->msgs[i];
		struct message_id	 id;

		if (!is_old(d, m, st->dedup_window_ms))
			continue;
		id = msg_id(m);
		if (m->left_out != 0)
			id.hashed = false;
		search_drop_older(&d->search, &id, clock_ms() - m->in_doubt_ms);
		if (search_result(&d->search, id.sequence, &ack) ==
		    FOUND_NOT_SOUGHT)
			ids[n++] = id;
	}
	if (n > 0)
		asked = first_to_search(d, b, ids, n, st, &x.from, e);
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
	struct isolate	 i;
	size_t		 n = 0;

	for (size_t k = 0; k < b->n; k++) {
		struct msg *m = &b->msgs[k];

		if (!is_old(d, m, dedup_window_ms))
			continue;
		switch (search_result_of(&d->search, m, &m->ack_sequence)) {
		case FOUND_THERE:
			m->outcome = OUT_DELIVERED;
			(*found)++;
			break;
		case FOUND_ABSENT:
			absent[n++] = m->sequence;
			break;
		case FOUND_UNKNOWN:
			defer_unsolved(m, UNSOLVED_MS, "messages have left the "
			    "stream before they could be read");
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
	/* A row that is refused is in doubt for longer than it was: no harm. */
	for (i = isolate_rows(n, 0); isolate_next(&i);)
		store_isolate(d->store, &i, store_not_in_doubt(d->store, b,
		    absent + i.from, i.n, e));
	free(absent);
	return i.rc;
}

/* A question that fails says nothing of what is in the stream. */
static enum asked
search_stream(struct in_doubt *d, struct batch *b, struct stream_state *st,
    struct err *e)
{
	const struct conf	*c = d->conf;
	const struct pub	*p = relay_stream(d->relay);
	const struct pub_go_on	 keep_on = { go_on, d };
	int64_t			 left = b->claimed_at + c->worker.claim_ttl -
				    c->publish.timeout_ms -
				    CONF_CLAIM_MARGIN_MS - clock_ms();
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
	return search_run(&d->search, p, d->relay->form.id_prefix, clock_ms() +
	    (left / 2 < SLICE_MS ? left / 2 : SLICE_MS), &keep_on, e) < 0 ?
	    NOT_ANSWERED : ANSWERED;
}

static int
look(struct in_doubt *d, struct batch *b, unsigned *found, struct err *e)
{
	const struct pub	*p = relay_stream(d->relay);
	struct stream_state	 st = { .answer = STREAM_UNKNOWN };
	struct err		 why, right;
	enum asked		 asked = search_stream(d, b, &st, &why);
	int64_t			 now = clock_ms(), window;

	if (asked == NO_DATABASE) {
		*e = why;
		return -1;
	}
	if (asked == ANSWERED) {
		d->failed_since = 0;
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
	/*
	 * The stream cannot be checked, now or at all.  For a while it is no
	 * more than a short trouble of the broker.  What failed long before,
	 * and was not asked since, is over.
	 */
	if (d->failed_since == 0 || now - d->failed_at > OVER_MS)
		d->failed_since = now;
	d->failed_at = now;
	window = st.answer == STREAM_THERE ? st.dedup_window_ms : 0;
	for (size_t i = 0; i < b->n; i++)
		if (is_old(d, &b->msgs[i], window))
			defer_unsolved(&b->msgs[i], now - d->failed_since <
			    UNSOLVED_MS ? FAILED_MS : UNSOLVED_MS, why.text);
	return 0;
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
			    e->text);
	free(rows);
	return i.rc;
}

int
in_doubt_resolve(struct in_doubt *d, struct batch *b, unsigned *found,
    struct err *e)
{
	bool	any = false;

	*found = 0;
	for (size_t i = 0; i < b->n; i++)
		any = any || (b->msgs[i].in_doubt_ms >= 0 &&
		    !b->msgs[i].held && goes_to_stream(d, &b->msgs[i]));
	if (!any || relay_stream(d->relay) == NULL ||
	    d->conf->nats.recover == RECOVER_OFF ||
	    d->conf->nats.stream[0] == '\0' ||
	    !store_can_resolve_in_doubt(d->store))
		return 0;
	return keep_ageless(d, b, e) < 0 ? -1 : look(d, b, found, e);
}
