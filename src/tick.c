/*
 * tick.c - see tick.h
 *
 * Order is kept in three places: candidates come in sequence order and are
 * cut only at the end; a row whose lane waits (hold.h) is given back instead
 * of published; and within the batch the relay sends one of a lane at a time.
 */

#include "tick.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "advisory.h"
#include "clock.h"
#include "lane.h"
#include "xalloc.h"

/* Ask for a row that somebody else has claimed again after this. */
#define FOREIGN_CLAIM_MS	1000

/* Batches that follow each other in one tick have no more rows. */
#define TURN_MAX	(STORE_FEW / 2)

/* Heads that make others wait are tried so much more rarely than they do. */
#define STALL_TIMES	9

void
tick_init(struct tick *t, const struct conf *conf, struct store *store,
    struct member *member, struct hold *hold, struct relay *relay)
{
	memset(t, 0, sizeof(*t));
	t->conf = conf;
	t->store = store;
	t->member = member;
	t->hold = hold;
	t->relay = relay;
	t->park = (struct park){ .conf = conf, .store = store,
	    .member = member, .hold = hold };
	look_init(&t->look, conf, store, member, hold);
	doubt_init(&t->doubt, conf, store, relay);
	room_init(&t->room, conf);
}

static void
end_batch(struct tick *t)
{
	batch_free(&t->batch);
	free(t->gone);
	t->gone = NULL;
	t->ngone = 0;
	t->vanished = false;
	t->unsettled = false;
}

void
tick_free(struct tick *t)
{
	end_batch(t);
	batch_free(&t->done);
	look_free(&t->look);
	doubt_free(&t->doubt);
}

static struct bytes
lane(const struct tick *t, struct bytes key, struct bytes partition,
    const uint64_t *sequence)
{
	return lane_of((enum conf_ordering)t->conf->outbox.ordering, key,
	    partition, sequence);
}

static struct bytes
lane_of_msg(const struct tick *t, const struct msg *m)
{
	return lane(t, m->key, m->partition, &m->sequence);
}

/*
 * To be told to the hold when the tick is over: rows of this tick must still
 * wait for those that stood behind the head that is gone.
 */
static void
note_gone(struct tick *t, uint64_t sequence)
{
	t->gone = xreallocarray(t->gone, t->ngone + 1, sizeof(*t->gone));
	t->gone[t->ngone++] = sequence;
}

static void
hold_waiting(struct tick *t, const struct picks *k, const struct waiting *w,
    int64_t now)
{
	int64_t	wait = w->due_ms;

	if (!w->pending) {
		note_gone(t, w->sequence);
		return;
	}
	if (w->claimed && wait > FOREIGN_CLAIM_MS)
		wait = FOREIGN_CLAIM_MS;
	/* Due and free and still not ours: the fence closed. */
	if (wait == 0 && !w->claimed) {
		member_look_now(t->member);
		/* Nothing goes, so nothing can be passed. */
		if (t->batch.n == 0)
			return;
	}
	hold_row(t->hold, &(struct wait){ .part = picks_part(k, w->sequence),
	    .lane = lane(t, w->key, w->partition, &w->sequence),
	    .key = w->key, .sequence = w->sequence, .due_at = now + wait,
	    .why = w->claimed ? HOLD_CLAIMED : HOLD_DELAYED });
}

static size_t
list_unclaimed(const struct picks *k, const struct batch *b, uint64_t *out)
{
	size_t	n = 0, j = 0;

	for (size_t i = 0; i < k->n; i++) {
		while (j < b->n && b->msgs[j].sequence < k->sequences[i])
			j++;
		if (j == b->n || b->msgs[j].sequence != k->sequences[i])
			out[n++] = k->sequences[i];
	}
	return n;
}

static bool
is_listed(const struct waiting_list *list, uint64_t sequence)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].sequence == sequence)
			return true;
	return false;
}

/*
 * Not there any more.  If somebody else has buried it just now, its key may
 * have been halted after our claim of what is behind it: what we hold waits
 * until the record is read.
 */
static void
note_vanished(struct tick *t, uint64_t sequence)
{
	note_gone(t, sequence);
	if (t->conf->retry.on_dead != DEAD_HALT)
		return;
	t->vanished = true;
	member_look_now(t->member);
}

/* Learn why candidates could not be claimed, and let their lanes wait. */
static int
learn_waiting(struct tick *t, const struct picks *k, struct err *e)
{
	uint64_t		*missed = xcalloc(k->n + 1, sizeof(*missed));
	size_t			 n = list_unclaimed(k, &t->batch, missed);
	struct waiting_list	 list = { 0 };
	int			 rc = 0;

	if (n > 0)
		rc = store_waiting(t->store, missed, n, &list, e);
	if (rc == 0) {
		for (size_t i = 0; i < list.n; i++)
			hold_waiting(t, k, &list.items[i], clock_ms());
		for (size_t i = 0; i < n; i++)
			if (!is_listed(&list, missed[i]))
				note_vanished(t, missed[i]);
	}
	store_waiting_free(&list);
	free(missed);
	return rc;
}

/*
 * Rows keep the label of the lease they came under, not their own: a
 * collation may call two labels the same that are not the same bytes.
 */
static void
keep_labels(struct tick *t, const struct picks *k)
{
	struct batch	*b = &t->batch;

	b->labels = xcalloc(k->nranges + 1, sizeof(*b->labels));
	for (size_t i = 0; i < k->nranges; i++)
		strlcpy(b->labels[i], k->ranges[i].label,
		    sizeof(b->labels[i]));
	for (size_t i = 0; i < b->n; i++)
		b->msgs[i].range = picks_part(k, b->msgs[i].sequence)->range;
}

static struct part *
part_of_msg(const struct tick *t, const struct msg *m)
{
	const char	*label = t->batch.labels[m->range];

	return member_part(t->member, (struct bytes){ label, strlen(label) });
}

static void
remember_msg(struct tick *t, const struct msg *m, int64_t now)
{
	struct wait	w = { .part = part_of_msg(t, m), .key = m->key,
			    .lane = lane_of_msg(t, m),
			    .sequence = m->sequence };

	if (w.part == NULL)		/* not ours any more */
		return;
	if (m->outcome == OUT_RETRY || m->outcome == OUT_DEFER) {
		w.due_at = now + m->delay_ms;
		w.why = m->outcome == OUT_RETRY ? HOLD_FAILED : HOLD_REFUSED;
	} else if (m->outcome == OUT_UNSENT &&
	    hold_bars(t->hold, w.lane, m->sequence))
		w.due_at = INT64_MAX;
	else
		return;
	hold_row(t->hold, &w);
}

/*
 * What the next tick must know.  Failed rows make their lane wait, rows that
 * were not sent behind them wait with them; in sequence order one pass does.
 */
static void
remember(struct tick *t, int64_t now)
{
	for (size_t i = 0; i < t->batch.n; i++)
		remember_msg(t, &t->batch.msgs[i], now);
}

/* A death that halts its key has rung for it: it is on record, read afresh. */
static bool
is_done(const struct tick *t, const struct msg *m)
{
	if (m->outcome == OUT_DEAD && t->conf->retry.on_dead == DEAD_HALT) {
		member_look_now(t->member);
		return false;
	}
	return m->outcome == OUT_DELIVERED || m->outcome == OUT_DEAD;
}

static void
bar_lanes(struct tick *t)
{
	for (size_t i = 0; i < t->batch.n; i++) {
		struct msg *m = &t->batch.msgs[i];

		m->held = m->outcome != OUT_UNSENT || t->vanished || m->left ||
		    hold_bars(t->hold, lane_of_msg(t, m), m->sequence);
	}
}

/* What was too large to be fetched with the others, as far as there is room. */
static int
fetch_away(struct tick *t, struct err *e)
{
	const struct pub	*p = &t->relay->pub;
	uint64_t		*sequences;
	size_t			 n;
	int			 rc = 0;

	if (t->batch.naway == 0)
		return 0;
	sequences = xcalloc(t->batch.naway, sizeof(*sequences));
	bar_lanes(t);
	n = room_choose(&t->room, &t->batch, p->ops->max_payload(p->arg),
	    sequences);
	if (n > 0)
		rc = store_fetch_away(t->store, sequences, n, &t->batch, e);
	free(sequences);
	return rc;
}

/*
 * What may be stored already is looked for.  While that lasts, its lane
 * waits; what is found is not sent.
 */
static int
clear_doubts(struct tick *t, unsigned *found, struct err *e)
{
	size_t	decided = 0;

	bar_lanes(t);
	if (doubt_resolve(&t->doubt, &t->batch, found, e) < 0)
		return -1;
	for (size_t i = 0; i < t->batch.n; i++)
		decided += t->batch.msgs[i].outcome != OUT_UNSENT;
	if (decided > 0) {
		remember(t, clock_ms());
		bar_lanes(t);
	}
	return 0;
}

static void
forget_done(struct tick *t)
{
	for (size_t i = 0; i < t->batch.n; i++)
		if (is_done(t, &t->batch.msgs[i]))
			hold_row_gone(t->hold, t->batch.msgs[i].sequence);
	for (size_t i = 0; i < t->ngone; i++)
		hold_row_gone(t->hold, t->gone[i]);
}

static void
begin_count(struct tick *t)
{
	t->claimed = 0;
	memset(&t->settled, 0, sizeof(t->settled));
	memset(&t->relayed, 0, sizeof(t->relayed));
}

static void
count(struct tick *t, struct tick_result *res)
{
	struct settled		*sum = &res->settled;
	struct relay_result	 r = t->relayed;

	res->claimed += t->claimed;
	sum->delivered += t->settled.delivered;
	sum->retried += t->settled.retried;
	sum->deferred += t->settled.deferred;
	sum->dead += t->settled.dead;
	sum->returned += t->settled.returned;
	sum->fenced += t->settled.fenced;
	r.delivered += res->relay.delivered;
	r.duplicates += res->relay.duplicates;
	r.failed += res->relay.failed;
	r.skipped += res->relay.skipped;
	res->relay = r;
	begin_count(t);
}

int
tick_settle(struct tick *t, struct tick_result *res, struct err *e)
{
	uint64_t	delivered;

	if (!t->unsettled)
		return 0;
	/* It is counted already. */
	if (store_settle(t->store, &t->done, &t->done_as, e) < 0)
		return -1;
	batch_free(&t->done);
	if (store_settle(t->store, &t->batch, &t->settled, e) < 0)
		return -1;
	delivered = t->settled.delivered;
	advisory_tell(t->relay, &t->batch, t->settled.dead);
	count(t, res);
	remember(t, clock_ms());
	forget_done(t);
	if (delivered == t->picked)
		look_all_done(&t->look);
	end_batch(t);
	return 0;
}

static int
fetch(struct tick *t, const struct picks *k, uint64_t claimed, struct err *e)
{
	batch_free(k->ahead);
	if (store_fetch(t->store, k->sequences, k->n,
	    room_share(&t->room, (size_t)claimed), &t->batch, e) < 0) {
		room_failed(&t->room, (size_t)claimed);
		return -1;
	}
	room_learn(&t->room, &t->batch);
	return 0;
}

/* If all that was picked is claimed and here, it need not be read again. */
static bool
use_ahead(struct tick *t, const struct picks *k, bool all)
{
	if (!all || k->ahead->n == 0)
		return false;
	batch_take(&t->batch, k->ahead);
	room_learn(&t->room, &t->batch);
	return true;
}

static bool
may_go_early(struct tick *t, const struct picks *k)
{
	bool	may = k->ahead->n > 0 && doubt_can_look(&t->doubt);

	for (size_t i = 0; may && i < k->n; i++)
		may = member_may_go_early(t->member, k->items[i].part,
		    k->items[i].sequence, clock_ms());
	return may;
}

/*
 * Before a claim: what is known of its rows, and how it can be made.  If all
 * messages are here they may be sent while it is being committed.
 */
static int
prepare(struct tick *t, const struct picks *k, struct err *e)
{
	bool	marked = false;

	for (size_t i = 0; i < k->n; i++)
		marked = marked || k->items[i].sequence <=
		    k->items[i].part->unsure_upto;
	if (marked && store_mark_rows(t->store, k->sequences, k->n, e) < 0)
		return -1;
	if (marked || !batch_keep(k->ahead, k->sequences, k->n))
		batch_free(k->ahead);
	return 0;
}

static int
claim(struct tick *t, const struct picks *k, struct err *e)
{
	struct range	ranges[STORE_RANGES];
	size_t		n = picks_ranges(k, ranges);

	t->batch.early = may_go_early(t, k);
	if (store_claim(t->store, ranges, n, k->sequences, k->n, &t->batch,
	    &t->claimed, e) < 0)
		return -1;
	if (t->claimed == 0 || use_ahead(t, k, t->claimed == k->n))
		return 0;
	return fetch(t, k, t->claimed, e);
}

/* The claim writes back the batch before; if it fails, that is still open. */
static int
turn(struct tick *t, const struct picks *k, struct tick_result *res,
    struct err *e)
{
	struct range	ranges[STORE_RANGES];
	size_t		n = picks_ranges(k, ranges);
	struct batch	done = t->batch;
	uint64_t	changed;
	int		rc;

	memset(&t->batch, 0, sizeof(t->batch));
	t->batch.early = may_go_early(t, k);
	rc = store_turn(t->store, &done, &t->settled, ranges, n, k->sequences,
	    k->n, &t->batch, &changed, e);
	if (rc == 0 && !use_ahead(t, k, changed == done.n + k->n)) {
		t->batch.early = false;		/* the fetch waits for it */
		rc = fetch(t, k, k->n, e);
	}
	if (rc < 0) {
		batch_free(&t->batch);
		t->batch = done;
		return -1;
	}
	t->done_as = t->settled;
	store_turned(&done, &t->settled, changed - t->batch.n);
	if (t->batch.early)
		t->done = done;
	else
		batch_free(&done);
	count(t, res);
	t->unsettled = false;
	t->claimed = t->batch.n;
	return 0;
}

/* Claimed or not: everything that was picked is accounted for. */
static int
take(struct tick *t, const struct picks *k, struct tick_result *res,
    struct err *e)
{
	if (k->n == 0)
		return tick_settle(t, res, e);
	if (prepare(t, k, e) < 0)
		return -1;
	if ((t->unsettled ? turn(t, k, res, e) : claim(t, k, e)) < 0)
		return -1;
	keep_labels(t, k);
	return learn_waiting(t, k, e);
}

static int
look(struct tick *t, struct picks *k, size_t limit, struct err *e)
{
	const struct batch	*open = t->unsettled ? &t->batch : NULL;

	/* In the middle of turns nothing is held. */
	if (open == NULL && park_round(&t->park,
	    (size_t)t->conf->worker.batch_size, clock_ms(), e) < 0)
		return -1;
	/* What was asked with the leases is old if rows have come back. */
	if (t->park.moved)
		t->member->rows = MEMBER_NOT_ASKED;
	return look_for_rows(&t->look, k, open, room_rows(&t->room, limit), e);
}

/* Look, claim and fetch: what is in the batch may be published. */
static int
gather(struct tick *t, size_t limit, struct tick_result *res, struct err *e)
{
	struct picks	k = { 0 };
	int		rc = look(t, &k, limit, e);

	if (rc == 0)
		rc = take(t, &k, res, e);
	if (rc == 0) {
		t->picked = k.n;
		res->left = look_left_some(&t->look);
		res->more = look_is_over(&t->look, t->claimed > 0) ||
		    member_has_fresh(t->member) || t->park.moved ||
		    (t->claimed == 0 && k.n > 0 && res->left);
	}
	/* It is in the batch, or has become of no use. */
	batch_free(&t->look.scan.ahead);
	picks_free(&k);
	return rc;
}

static int
publish(struct tick *t, struct err *e)
{
	unsigned	found = 0;

	if (fetch_away(t, e) < 0 || clear_doubts(t, &found, e) < 0)
		return -1;
	if (t->batch.n > 0)
		relay_publish(t->relay, &t->batch, &t->relayed);
	t->relayed.delivered += found;
	t->relayed.duplicates += found;
	if (t->relayed.stalled_ms > 0)
		t->look.heads_at = clock_ms() +
		    STALL_TIMES * t->relayed.stalled_ms;
	t->unsettled = true;
	/* Whoever meets these rows next has to find them claimed. */
	if (store_finish(t->store, e) < 0)
		return -1;
	batch_free(&t->done);
	return 0;
}

/*
 * May the next batch be claimed in the statement that writes this one back?
 * If it went as it should, is small, so that the look that meets its rows
 * again is cheap, and if nothing else waits for the end of the tick.
 */
static bool
may_turn(const struct tick *t, bool left, int64_t until)
{
	return t->claimed > 0 && t->claimed <= TURN_MAX &&
	    t->relayed.delivered == t->picked && hold_nlanes(t->hold) == 0 &&
	    clock_ms() < until && store_is_open(t->store) &&
	    (left || t->wait_ring == NULL || t->wait_ring(t->wait_ring_arg));
}

int
tick_run(struct tick *t, size_t limit, int64_t until, struct tick_result *res,
    struct err *e)
{
	memset(res, 0, sizeof(*res));
	begin_count(t);
	do {
		if (gather(t, limit, res, e) < 0 || publish(t, e) < 0) {
			/* What was claimed is void by our next claim. */
			if (!t->unsettled) {
				end_batch(t);
				begin_count(t);
			}
			t->unsettled = t->unsettled || t->done.n > 0;
			look_drop(&t->look);
			return -1;
		}
	} while (may_turn(t, res->left, until));
	return tick_settle(t, res, e);
}
