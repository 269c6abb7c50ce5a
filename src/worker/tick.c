/*
 * tick.c - see tick.h
 *
 * Three rules keep the order of a lane.  Candidates come in sequence order and
 * are cut only at the end.  A row whose lane is blocked (lanes.h) is given back
 * instead of published.  Within a batch the relay sends one message of a lane
 * at a time.
 */

#include "worker/tick.h"

#include <assert.h>
#include <string.h>

#include "publish/advisory.h"
#include "util/clock.h"

static_assert(CLASSES <= TOTALS_CLASSES, "each class has a counter");

/* After a stall, heads of blocked lanes wait for this many times its length. */
#define STALL_TIMES	9

void
tick_init(struct tick *t, const struct conf *conf, struct store *store,
    struct fleet *fleet, struct relay *relay)
{
	memset(t, 0, sizeof(*t));
	t->store = store;
	t->fleet = fleet;
	t->relay = relay;
	backlog_init(&t->backlog, conf, store);
	in_doubt_init(&t->in_doubt, conf, store, relay);
	claim_init(&t->claim, conf, store);
}

void
tick_free(struct tick *t)
{
	backlog_free(&t->backlog);
	in_doubt_free(&t->in_doubt);
	batch_free(&t->settle.batch);
	batch_free(&t->batch);
}

void
tick_adopt(struct tick *t)
{
	backlog_adopt(&t->backlog, &t->fleet->parts);
}

bool
tick_is_open(const struct tick *t)
{
	return t->settle.open;
}

/*
 * Counting
 */

static void
begin_count(struct tick *t)
{
	t->claimed = t->former = 0;
	memset(&t->settle.counts, 0, sizeof(t->settle.counts));
	memset(&t->relayed, 0, sizeof(t->relayed));
}

static void
count_batch(struct tick *t, struct tick_result *res)
{
	const struct batch		*b = &t->settle.batch;
	const struct settled		*s = &t->settle.counts;
	const struct relay_failures	*f = &t->relayed.failures;
	struct totals			*n = t->totals;
	uint64_t			 dead = s->dead;

	n->claimed += t->claimed;
	n->former_labels += t->former;
	n->published += s->delivered;
	n->retried += s->retried;
	n->deferred += s->deferred;
	n->returned += s->returned;
	n->fenced += s->fenced;
	n->duplicates += t->relayed.duplicates;
	n->renamed += t->relayed.renamed;
	n->unread += t->relayed.unread;
	n->skipped += t->relayed.skipped;
	n->failed_message += f->message;
	n->failed_transient += f->transient;
	for (unsigned i = 0; i < CLASSES; i++)
		n->refused[i] += f->refused[i];
	/* The reasons of as many as were written; others were fenced. */
	for (size_t i = 0; i < b->n && dead > 0; i++)
		if (b->msgs[i].outcome == OUT_DEAD) {
			n->dead[totals_reason(b->msgs[i].reason)]++;
			dead--;
		}
	if (t->claimed > 0)
		histogram_add(&n->batch, histogram_rows, (int64_t)t->claimed);
	res->claimed = t->claimed;
	res->former = t->former;
	res->settled = t->settle.counts;
	res->relay = t->relayed;
	begin_count(t);
}

/*
 * The stages
 */

/* Write the open batch back, if there is one; its rows are over then. */
static int
settle(struct tick *t, struct tick_result *res, struct err *e)
{
	struct batch	*b = &t->settle.batch;
	struct settled	*counts = &t->settle.counts;
	struct refusals	*l = store_refusals(t->store);

	if (!t->settle.open)
		return 0;
	if (store_settle(t->store, b, counts, e) < 0)
		return -1;
	advisory_tell(t->relay, b, counts->dead);
	if (counts->delivered == t->picked)
		candidates_all_done(&t->backlog.candidates);
	count_batch(t, res);
	backlog_learn(&t->backlog, b, clock_ms());
	backlog_end_batch(&t->backlog, b);
	/* Drop refusals of rows that are not in a lane, or that the database
	   took in this batch without a new refusal. */
	for (size_t i = l->n; i-- > 0;) {
		const struct refusal	*r = &l->items[i];

		if (!lanes_has_row(t->backlog.lanes, r->sequence) ||
		    (r->claim != l->claim &&
		    batch_msg(b, r->sequence) != NULL))
			store_drop_refusal(l, i);
	}
	batch_free(b);
	t->settle.open = false;
	return 0;
}

/* Pick and claim: the messages of the batch may be published. */
static int
pick_and_claim(struct tick *t, size_t limit, struct tick_result *res,
    struct err *e)
{
	struct candidates	*c = &t->backlog.candidates;
	struct picks		 k = { 0 };
	struct missed		 m = { 0 };
	int			 rc;

	rc = candidates_pick(c, &k, memory_budget_rows(&t->claim.budget,
	    limit), e);
	if (rc == 0 && k.n > 0)
		rc = claim_rows(&t->claim, &k, &t->batch, &t->claimed, e);
	if (rc == 0 && k.n > 0)
		rc = claim_learn_missed(&t->claim, &k, &t->batch, &m, e);
	if (rc == 0 && k.n > 0) {
		backlog_learn_missed(&t->backlog, &k, &t->batch, &m);
		rc = backlog_move_scheduled(&t->backlog, &k, &m, e);
	}
	missed_free(&m);
	if (rc == 0) {
		t->picked = res->picked = k.n;
		res->left = candidates_left_some(c);
		/* Some partitions were not read since work was found, */
		res->more = candidates_end_tick(c, t->claimed > 0) ||
		    /* rows were parked or came back, */
		    t->backlog.parked.moved ||
		    /* the blocked keys of a partition are not all read, */
		    parts_have_fresh(&t->backlog.parts) ||
		    /* or no row was free, but there are more behind them. */
		    (t->claimed == 0 && k.n > 0 && res->left);
	}
	picks_free(&k);
	return rc;
}

/*
 * Search the stream for messages that may be stored already.  Their lanes are
 * blocked meanwhile; a message that is found is not sent.
 */
static int
clear_in_doubt(struct tick *t, unsigned *found, struct err *e)
{
	struct batch	*b = &t->batch;
	size_t		 decided = 0;

	backlog_hold_back(&t->backlog, b);
	if (in_doubt_resolve(&t->in_doubt, b, found, e) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++)
		decided += b->msgs[i].outcome != OUT_UNSENT;
	if (decided > 0) {
		backlog_learn(&t->backlog, b, clock_ms());
		backlog_hold_back(&t->backlog, b);
	}
	return 0;
}

static int
publish(struct tick *t, struct err *e)
{
	struct batch		*b = &t->batch;
	const struct counts	*c = &t->fleet->parts.counts;
	unsigned		 found = 0;

	if (b->naway > 0)
		backlog_hold_back(&t->backlog, b);
	if (claim_fetch_large(&t->claim, b, relay_max_payload(t->relay),
	    e) < 0 || clear_in_doubt(t, &found, e) < 0)
		return -1;
	t->relay->nworkers = t->fleet->active;
	if (b->n > 0)
		relay_publish(t->relay, b, &t->relayed);
	t->relayed.delivered += found;
	t->relayed.duplicates += found;
	if (t->relayed.stalled_ms > 0)
		t->backlog.candidates.heads_at = clock_ms() +
		    STALL_TIMES * t->relayed.stalled_ms;
	/* Messages of producers that use a former partition count. */
	for (size_t i = 0; i < b->n; i++) {
		const struct msg *m = &b->msgs[i];

		if (m->outcome != OUT_DELIVERED)
			continue;
		t->former += m->has_label_hash ?
		    counts_is_former_hash(c, m->label_hash, m->partition.data,
		    m->partition.len) :
		    counts_is_former(c, m->key.data, m->key.len,
		    m->partition.data, m->partition.len);
	}
	if (t->former > 0)
		t->fleet->former_sent = true;
	t->settle.batch = *b;
	memset(b, 0, sizeof(*b));
	memset(&t->settle.counts, 0, sizeof(t->settle.counts));
	t->settle.open = true;
	return 0;
}

/* A claim found a lease changed: the fleet's next round reads all of them. */
static void
ask_to_reread(struct tick *t)
{
	if (backlog_wants_leases(&t->backlog))
		fleet_reread(t->fleet);
}

/*
 * Offer messages that were held for their type: one of each type that wants a
 * probe; and all whose type is not to blame any more.
 */
static void
wake_types(struct tick *t)
{
	struct type_breaker	*k = &t->relay->breaker;
	uint64_t		 groups[TYPE_BREAKER_MAX];
	int64_t			 now = clock_ms();
	size_t			 n = type_breaker_wanted(k,
				     t->backlog.candidates.heads_at, now,
				     groups);

	for (size_t i = 0; i < n; i++)
		lanes_offer_one(t->backlog.lanes, groups[i], now);
	if (k->released)
		lanes_types_taken(t->backlog.lanes, groups,
		    type_breaker_list_held(k, groups), now);
	k->released = false;
}

int
tick_run(struct tick *t, size_t limit, struct tick_result *res, struct err *e)
{
	int	rc = 0;

	memset(res, 0, sizeof(*res));
	tick_adopt(t);
	begin_count(t);
	if (backlog_prepare(&t->backlog, clock_ms(), e) < 0 ||
	    pick_and_claim(t, limit, res, e) < 0 || publish(t, e) < 0 ||
	    settle(t, res, e) < 0)
		rc = -1;
	if (rc < 0) {
		batch_free(&t->batch);
		/* Our next claim takes these rows again. */
		if (!t->settle.open) {
			backlog_end_batch(&t->backlog, NULL);
			begin_count(t);
		}
		candidates_drop(&t->backlog.candidates);
	} else
		wake_types(t);
	ask_to_reread(t);
	return rc;
}

int
tick_settle(struct tick *t, struct tick_result *res, struct err *e)
{
	int	rc = settle(t, res, e);

	ask_to_reread(t);
	return rc;
}
