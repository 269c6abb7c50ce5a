/* in_doubt.c - see in_doubt.h */

#include "recovery/in_doubt.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define SLICE_MS	2000	/* of look-ups for one batch */
#define AGAIN_MS	100	/* until the next ones */
#define FAILED_MS	2000	/* the same after a failure */
#define FALLBACK_MS	(10 * 60 * 1000)
#define MARGIN_MS	1000

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

bool
in_doubt_can_search(const struct in_doubt *d)
{
	return d->relay->pub.ops->can_ask &&
	    d->conf->nats.recover != RECOVER_OFF &&
	    d->conf->nats.stream[0] != '\0' &&
	    store_can_resolve_in_doubt(d->store) &&
	    clock_ms() >= d->fallback_until;
}

static bool
go_on(void *arg)
{
	struct in_doubt	*d = arg;

	return d->relay->keep(d->relay->keep_arg) == KEEP_ON;
}

/*
 * True if the stream may have forgotten the id by the time this is sent, which
 * is before its claim expires.  A message too large to be fetched is not sent
 * and has no id.
 */
static bool
is_old(const struct in_doubt *d, const struct msg *m, int64_t dedup_window_ms)
{
	return !m->held && !m->away && m->in_doubt_ms >= 0 && m->in_doubt_ms >
	    dedup_window_ms - d->conf->worker.claim_ttl - MARGIN_MS;
}

static void
defer_in_doubt(struct msg *m, int64_t delay_ms)
{
	msg_fail(m, OUT_DEFER, "may be stored already: the stream is searched "
	    "for it");
	m->delay_ms = delay_ms;
}

static void
defer_old(struct in_doubt *d, struct batch *b, int64_t dedup_window_ms,
    int64_t delay_ms)
{
	for (size_t i = 0; i < b->n; i++)
		if (is_old(d, &b->msgs[i], dedup_window_ms))
			defer_in_doubt(&b->msgs[i], delay_ms);
}

/* The stream cannot be checked, now or at all. */
static void
search_failed(struct in_doubt *d, struct batch *b, int64_t dedup_window_ms,
    const struct err *why)
{
	const struct pub	*p = &d->relay->pub;

	if (p->ops->is_open(p->arg) && go_on(d) &&
	    audit_fallback_is_due(&d->fallback, p, clock_ms())) {
		log_warn("the stream cannot be searched: messages that may be "
		    "stored already are sent again and may be there twice: "
		    "%s", why->text);
		memset(&d->fallback, 0, sizeof(d->fallback));
		d->fallback_until = clock_ms() + FALLBACK_MS;
		return;
	}
	defer_old(d, b, dedup_window_ms, FAILED_MS);
}

/* Messages of the batch that are in doubt and not searched for yet. */
struct id_list {
	struct message_id	*ids;
	size_t			 n;
};

/* Sets *from: above messages that were delivered before these were sent. */
static int
first_to_search(struct in_doubt *d, const struct batch *b,
    const struct id_list *l, const struct stream_state *st, uint64_t *from,
    struct err *e)
{
	uint64_t	*rows = xcalloc(l->n, sizeof(*rows)), below;
	int		 rc;

	for (size_t i = 0; i < l->n; i++)
		rows[i] = l->ids[i].sequence;
	rc = store_ack_before(d->store, b, rows, l->n, &below, e);
	free(rows);
	if (rc < 0)
		return -1;
	*from = below + 1;
	if (*from < st->first || *from > st->last + 1)
		*from = st->first;
	if (*from == 0)
		*from = 1;
	return 0;
}

/* The caller frees its ids. */
static struct id_list
list_in_doubt(struct in_doubt *d, const struct batch *b,
    int64_t dedup_window_ms)
{
	struct id_list	 l = { xcalloc(b->n + 1, sizeof(*l.ids)), 0 };
	uint64_t	 ack;

	for (size_t i = 0; i < b->n; i++) {
		struct msg		*m = &b->msgs[i];
		struct message_id	 id;

		if (!is_old(d, m, dedup_window_ms))
			continue;
		id = msg_id(m);
		search_drop_older(&d->search, &id, clock_ms() - m->in_doubt_ms);
		if (search_result(&d->search, id.sequence, &ack) ==
		    FOUND_NOT_SOUGHT)
			l.ids[l.n++] = id;
	}
	return l;
}

/* Search for the messages that are not searched for yet. */
static int
add_to_search(struct in_doubt *d, const struct batch *b,
    const struct stream_state *st, struct err *e)
{
	struct id_list	l = list_in_doubt(d, b, st->dedup_window_ms);
	uint64_t	from;
	int		rc = 0;

	if (l.n > 0)
		rc = first_to_search(d, b, &l, st, &from, e);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (!search_add(&d->search, &l.ids[i], from, st->last)) {
			/* Other workers have most of them now: start over. */
			search_clear(&d->search);
			break;
		}
	free(l.ids);
	return rc;
}

/* A message that is not in the stream is sent like a new one. */
static int
take_results(struct in_doubt *d, struct batch *b, int64_t dedup_window_ms,
    unsigned *found, struct err *e)
{
	uint64_t	*absent = xcalloc(b->n + 1, sizeof(*absent));
	size_t		 n = 0;
	int		 rc = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct msg *m = &b->msgs[i];

		if (!is_old(d, m, dedup_window_ms))
			continue;
		switch (search_result(&d->search, m->sequence,
		    &m->ack_sequence)) {
		case FOUND_THERE:
			m->outcome = OUT_DELIVERED;
			(*found)++;
			break;
		case FOUND_ABSENT:
			absent[n++] = m->sequence;
			break;
		case FOUND_LATER:
		case FOUND_NOT_SOUGHT:
			defer_in_doubt(m, AGAIN_MS);
			continue;
		}
		search_drop(&d->search, m->sequence);
	}
	if (n > 0)
		rc = store_not_in_doubt(d->store, b, absent, n, e);
	free(absent);
	return rc;
}

static int
search_stream(struct in_doubt *d, struct batch *b, unsigned *found,
    struct err *e)
{
	const struct conf	*c = d->conf;
	const struct pub	*p = &d->relay->pub;
	const struct pub_go_on	 keep_on = { go_on, d };
	int64_t			 left = b->claimed_at + c->worker.claim_ttl -
				    c->publish.timeout_ms -
				    CONF_CLAIM_MARGIN_MS - clock_ms();
	struct stream_state	 st = { .dedup_window_ms = 0 };
	struct err		 why;

	if (!p->ops->state(p->arg, &st, &why)) {
		search_failed(d, b, 0, &why);
		return 0;
	}
	/* The stream has lost its end: messages that were read may be gone. */
	if (d->search.n > 0 && st.last + 1 < d->search.next)
		search_clear(&d->search);
	if (add_to_search(d, b, &st, e) < 0)
		return -1;
	if (search_run(&d->search, p, d->relay->form.id_prefix, clock_ms() +
	    (left / 2 < SLICE_MS ? left / 2 : SLICE_MS), &keep_on, &why) < 0) {
		search_failed(d, b, st.dedup_window_ms, &why);
		return 0;
	}
	memset(&d->fallback, 0, sizeof(d->fallback));
	return take_results(d, b, st.dedup_window_ms, found, e);
}

/*
 * The database's clock was set back: the age of these marks is unknown, and
 * later they would seem new.  Mark them as old for good, and search again.
 */
static int
keep_ageless(struct in_doubt *d, const struct batch *b, struct err *e)
{
	uint64_t	*rows = xcalloc(b->n + 1, sizeof(*rows));
	size_t		 n = 0;
	int		 rc = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->msgs[i].in_doubt_ms == INT64_MAX) {
			rows[n++] = b->msgs[i].sequence;
			search_drop(&d->search, b->msgs[i].sequence);
		}
	if (n > 0)
		rc = store_in_doubt_ever(d->store, b, rows, n, e);
	free(rows);
	return rc;
}

int
in_doubt_resolve(struct in_doubt *d, struct batch *b, unsigned *found,
    struct err *e)
{
	bool	any = false;

	*found = 0;
	for (size_t i = 0; i < b->n; i++)
		any = any || (b->msgs[i].in_doubt_ms >= 0 && !b->msgs[i].held);
	if (!any || !in_doubt_can_search(d))
		return 0;
	return keep_ageless(d, b, e) < 0 ? -1 : search_stream(d, b, found, e);
}
