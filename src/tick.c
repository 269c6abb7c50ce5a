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

/* Heads that make others wait are tried so much more rarely than they do. */
#define STALL_TIMES	9

struct picks {
	struct pick	*items;
	size_t		 n;
	uint64_t	*sequences;	/* of the items, after the cut */
	struct range	*ranges;	/* of the picked partitions */
	size_t		 nranges;
};

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
	doubt_init(&t->doubt, conf, store, relay);
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

static void
add_range(struct picks *k, struct part *p, size_t limit)
{
	p->range = (unsigned)k->nranges;
	k->ranges[k->nranges++] = (struct range){ .label = p->label,
	    .epoch = p->epoch, .limit = limit };
}

/* Busy ones first, up to half of the places; then whose turn it is. */
static size_t
choose_parts(struct tick *t, struct part **chosen)
{
	struct member	*m = t->member;
	size_t		 n = 0, turn = 0;

	for (size_t i = 0; i < m->nparts; i++) {
		struct part *p = m->parts[i];

		p->picked = p->full && !p->fresh && n < STORE_RANGES / 2;
		if (p->picked)
			chosen[n++] = p;
	}
	for (; turn < m->nparts && n < STORE_RANGES; turn++) {
		struct part *p = m->parts[(t->rotate + turn) % m->nparts];

		if (p->picked || p->fresh)
			continue;
		p->picked = true;
		chosen[n++] = p;
	}
	t->rotate += turn;
	t->looked_at += turn;
	return n;
}

/*
 * Ranges of the chosen partitions, always from the first waiting row: ids
 * are not committed in order, and a scan that starts higher would let a later
 * row of a key pass one that was committed meanwhile. Each gets a fair share;
 * those that used theirs up the last time divide the whole batch among them
 * too, so that one busy partition among many idle ones is not slow.
 */
static struct part **
choose_ranges(struct tick *t, struct picks *k, size_t limit)
{
	struct part	**chosen = xcalloc(STORE_RANGES, sizeof(*chosen));
	size_t		  n = choose_parts(t, chosen), nfull = 0;

	for (size_t i = 0; i < n; i++)
		nfull += chosen[i]->full;
	for (size_t i = 0; i < n; i++) {
		struct part *p = chosen[i];
		size_t share = p->full ? limit / nfull : limit / n;

		share = (share > 0 ? share : 1) + p->nheld;
		/* In partition order one lane is the whole partition. */
		if (t->conf->outbox.ordering == ORDER_PARTITION &&
		    p->nheld > 0)
			share = 1;
		add_range(k, p, share);
	}
	return chosen;
}

static int
pick_cmp(const void *a, const void *b)
{
	const struct pick	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void
sort(struct picks *k)
{
	qsort(k->items, k->n, sizeof(*k->items), pick_cmp);
	k->sequences = xcalloc(k->n + 1, sizeof(*k->sequences));
	for (size_t i = 0; i < k->n; i++)
		k->sequences[i] = k->items[i].sequence;
}

int64_t
tick_next_due(struct tick *t)
{
	int64_t	due = hold_next_due(t->hold);

	return due > t->heads_at ? due : t->heads_at;
}

/*
 * Heads that are due, as far as the scan tells that nothing of their lane can
 * be in front of them: rows with lower ids are committed late or were given
 * back.  In a partition that was not scanned up to the head, it has to wait
 * its turn.
 */
static void
take_heads(struct tick *t, struct picks *k, const uint64_t *seen, size_t max)
{
	size_t		 n = hold_nlanes(t->hold), due;
	struct pick	*heads;

	if (tick_next_due(t) > clock_ms())
		return;
	heads = xcalloc(n + 1, sizeof(*heads));
	due = hold_due(t->hold, clock_ms(), heads, n);
	for (size_t i = 0; i < due && k->n < max; i++)
		if (heads[i].part->picked &&
		    heads[i].sequence <= seen[heads[i].part->range])
			k->items[k->n++] = heads[i];
	free(heads);
}

/* How far each range was seen without a gap: to its end, if it has one. */
static uint64_t *
note_seen(struct part **chosen, const struct picks *k,
    const struct candidate *c, size_t n)
{
	uint64_t	*seen = xcalloc(k->nranges + 1, sizeof(*seen));
	size_t		*used = xcalloc(k->nranges + 1, sizeof(*used));

	for (size_t i = 0; i < n; i++) {
		used[c[i].range]++;
		seen[c[i].range] = c[i].sequence;
	}
	for (size_t i = 0; i < k->nranges; i++) {
		chosen[i]->full = used[i] >= k->ranges[i].limit;
		if (!chosen[i]->full)
			seen[i] = UINT64_MAX;
	}
	free(used);
	return seen;
}

/* What was cut off was not seen: a head behind it may have to wait for it. */
static void
cut_at(struct picks *k, uint64_t sequence)
{
	size_t	kept = 0;

	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].sequence < sequence)
			k->items[kept++] = k->items[i];
	k->n = kept;
}

/*
 * The scan's rows less those known to wait, and heads that are due. Neither
 * may crowd out the other: with many heads that fail again and again, half
 * of the batch is still for rows that were never tried.
 */
static void
take_picks(struct tick *t, struct picks *k, struct part **chosen,
    const struct candidate *c, size_t n, size_t limit)
{
	uint64_t	*seen = note_seen(chosen, k, c, n), cut = UINT64_MAX;

	k->items = xcalloc(limit + 1, sizeof(*k->items));
	take_heads(t, k, seen, n > 0 ? (limit + 1) / 2 : limit);
	for (size_t i = 0; i < n && cut == UINT64_MAX; i++) {
		if (hold_has_row(t->hold, c[i].sequence))
			continue;
		if (k->n == limit)
			cut = c[i].sequence;
		else
			k->items[k->n++] = (struct pick){ c[i].sequence,
			    chosen[c[i].range] };
	}
	cut_at(k, cut);
	free(seen);
	sort(k);
}

/* A worker with nothing to do asks one cheap question instead. */
static int
is_worth_it(struct tick *t, const struct picks *k, bool *worth, struct err *e)
{
	*worth = true;
	if (k->nranges == 0 || !t->idle ||
	    t->member->nparts > STORE_RANGES)
		return 0;
	return store_probe(t->store, k->ranges, k->nranges, worth, e);
}

static int
look(struct tick *t, struct picks *k, size_t limit, struct err *e)
{
	struct part		**chosen;
	struct candidate	 *found = NULL;
	size_t			  n = 0;
	bool			  worth;
	int			  rc;

	k->ranges = xcalloc(STORE_RANGES, sizeof(*k->ranges));
	chosen = choose_ranges(t, k, limit);
	rc = is_worth_it(t, k, &worth, e);
	if (rc == 0 && worth && k->nranges > 0)
		rc = store_candidates(t->store, k->ranges, k->nranges, &found,
		    &n, e);
	if (rc == 0)
		take_picks(t, k, chosen, found, n, limit);
	free(found);
	free(chosen);
	return rc;
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

/* Partitions whose blocked keys are not all read yet. */
static bool
has_fresh(const struct tick *t)
{
	for (size_t i = 0; i < t->member->nparts; i++)
		if (t->member->parts[i]->fresh)
			return true;
	return false;
}

static struct part *
part_of(const struct picks *k, uint64_t sequence)
{
	struct pick	 key = { sequence, NULL };
	struct pick	*p = bsearch(&key, k->items, k->n, sizeof(key),
			     pick_cmp);

	return p == NULL ? NULL : p->part;
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
	if (wait == 0 && !w->claimed)
		member_look_now(t->member);
	hold_row(t->hold, &(struct wait){ .part = part_of(k, w->sequence),
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
		b->msgs[i].range = part_of(k, b->msgs[i].sequence)->range;
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

		m->held = m->outcome != OUT_UNSENT || t->vanished ||
		    hold_bars(t->hold, lane_of_msg(t, m), m->sequence);
	}
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
publish(struct tick *t, unsigned found)
{
	relay_publish(t->relay, &t->batch, &t->relayed);
	t->relayed.delivered += found;
	t->relayed.duplicates += found;
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

int
tick_settle(struct tick *t, struct tick_result *res, struct err *e)
{
	if (!t->unsettled)
		return 0;
	if (store_settle(t->store, &t->batch, &t->settled, e) < 0)
		return -1;
	res->claimed = t->claimed;
	res->settled = t->settled;
	res->relay = t->relayed;
	advisory_tell(t->relay, &t->batch, t->settled.dead);
	remember(t, clock_ms());
	forget_done(t);
	end_batch(t);
	return 0;
}

static int
claim(struct tick *t, const struct picks *k, uint64_t *claimed, struct err *e)
{
	struct batch	*b = &t->batch;

	if (store_claim(t->store, k->ranges, k->nranges, k->sequences, k->n,
	    b, claimed, e) < 0)
		return -1;
	if (*claimed > 0 &&
	    store_fetch(t->store, k->sequences, k->n, b, e) < 0)
		return -1;
	return learn_waiting(t, k, e);
}

static void
free_picks(struct picks *k)
{
	free(k->items);
	free(k->sequences);
	free(k->ranges);
}

int
tick_run(struct tick *t, size_t limit, struct tick_result *res, struct err *e)
{
	struct picks	k = { 0 };
	unsigned	found = 0;
	int		rc;

	memset(res, 0, sizeof(*res));
	memset(&t->settled, 0, sizeof(t->settled));
	memset(&t->relayed, 0, sizeof(t->relayed));
	rc = park_round(&t->park, (size_t)t->conf->worker.batch_size,
	    clock_ms(), e);
	if (rc == 0)
		rc = look(t, &k, limit, e);
	if (rc == 0 && k.n > 0)
		rc = claim(t, &k, &res->claimed, e);
	if (rc == 0) {
		keep_labels(t, &k);
		t->idle = res->claimed == 0;
		if (!t->idle || t->looked_at >= t->member->nparts)
			t->looked_at = 0;
		res->more = t->looked_at > 0 || has_fresh(t) || t->park.moved;
		rc = clear_doubts(t, &found, e);
	}
	free_picks(&k);
	if (rc < 0) {
		/* What was claimed is void by the next claim of ours. */
		end_batch(t);
		return -1;
	}
	if (t->batch.n > 0)
		publish(t, found);
	if (t->relayed.stalled_ms > 0)
		t->heads_at = clock_ms() + STALL_TIMES * t->relayed.stalled_ms;
	t->claimed = res->claimed;
	t->unsettled = true;
	return tick_settle(t, res, e);
}
