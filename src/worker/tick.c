/*
 * tick.c - see tick.h
 *
 * Order is kept in three places: candidates come in sequence order and are
 * cut only at the end; a row whose lane waits (lanes.h) is given back instead
 * of published; and within the batch the relay sends one of a lane at a time.
 */

#include "worker/tick_impl.h"

#include <stdlib.h>
#include <string.h>

#include "publish/advisory.h"
#include "util/clock.h"
#include "common/lane.h"
#include "util/xalloc.h"

/* Batches that follow each other in one tick have no more rows. */
#define TURN_MAX	(STORE_FEW / 2)

/* Heads that make others wait are tried so much more rarely than they do. */
#define STALL_TIMES	9

void
tick_init(struct tick *t, const struct conf *conf, struct store *store,
    struct fleet *fleet, struct lanes *lanes, struct relay *relay)
{
	memset(t, 0, sizeof(*t));
	t->conf = conf;
	t->store = store;
	t->fleet = fleet;
	t->lanes = lanes;
	t->relay = relay;
	t->parked = (struct parked){ .conf = conf, .store = store,
	    .fleet = fleet, .lanes = lanes };
	candidates_init(&t->candidates, conf, store, fleet, lanes);
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
	candidates_free(&t->candidates);
	doubt_free(&t->doubt);
}

static struct bytes
lane(const struct tick *t, const struct msg *m)
{
	return lane_of_msg((enum conf_ordering)t->conf->outbox.ordering,
	    &t->batch, m);
}

static struct part *
part_of_msg(const struct tick *t, const struct msg *m)
{
	const char	*label = t->batch.labels[m->range];

	return fleet_part(t->fleet, (struct bytes){ label, strlen(label) });
}

static void
remember_msg(struct tick *t, const struct msg *m, int64_t now)
{
	struct wait	w = { .part = part_of_msg(t, m), .key = m->key,
			    .lane = lane(t, m),
			    .sequence = m->sequence };

	if (w.part == NULL)		/* not ours any more */
		return;
	if (m->outcome == OUT_RETRY || m->outcome == OUT_DEFER) {
		w.due_at = now + m->delay_ms;
		w.why = m->outcome == OUT_RETRY ? BLOCK_FAILED : BLOCK_REFUSED;
	} else if (m->outcome == OUT_UNSENT &&
	    lanes_blocks(t->lanes, w.lane, m->sequence))
		w.due_at = INT64_MAX;
	else if (m->outcome == OUT_UNKNOWN && m->delay_ms > 0) {
		w.due_at = now + m->delay_ms;
		w.why = BLOCK_CLAIMED;
	} else
		return;
	lanes_block(t->lanes, &w);
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
		fleet_reread(t->fleet);
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
		    lanes_blocks(t->lanes, lane(t, m), m->sequence);
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
			lanes_row_gone(t->lanes, t->batch.msgs[i].sequence);
	for (size_t i = 0; i < t->ngone; i++)
		lanes_row_gone(t->lanes, t->gone[i]);
}

static void
begin_count(struct tick *t)
{
	t->claimed = t->former = 0;
	memset(&t->settled, 0, sizeof(t->settled));
	memset(&t->relayed, 0, sizeof(t->relayed));
}

void
tick_count(struct tick *t, struct tick_result *res)
{
	struct settled		*sum = &res->settled;
	struct relay_result	 r = t->relayed;

	res->claimed += t->claimed;
	res->former += t->former;
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
	tick_count(t, res);
	remember(t, clock_ms());
	forget_done(t);
	if (delivered == t->picked)
		candidates_all_done(&t->candidates);
	end_batch(t);
	return 0;
}

static int
look(struct tick *t, struct picks *k, size_t limit, struct err *e)
{
	const struct batch	*open = t->unsettled ? &t->batch : NULL;

	/* In the middle of turns nothing is held. */
	if (open == NULL && parked_round(&t->parked,
	    (size_t)t->conf->worker.batch_size, clock_ms(), e) < 0)
		return -1;
	/* What was asked with the leases is old if rows have come back. */
	if (t->parked.moved)
		t->fleet->rows = FLEET_NOT_ASKED;
	return candidates_pick(&t->candidates, k, open, room_rows(&t->room, limit), e);
}

/* Look, claim and fetch: what is in the batch may be published. */
static int
gather(struct tick *t, size_t limit, struct tick_result *res, struct err *e)
{
	struct picks	k = { 0 };
	int		rc = look(t, &k, limit, e);

	if (rc == 0)
		rc = k.n == 0 ? tick_settle(t, res, e) :
		    tick_take(t, &k, res, e);
	if (rc == 0) {
		t->picked = k.n;
		res->left = candidates_left_some(&t->candidates);
		res->more = candidates_round_is_over(&t->candidates, t->claimed > 0) ||
		    fleet_has_fresh(t->fleet) || t->parked.moved ||
		    (t->claimed == 0 && k.n > 0 && res->left);
	}
	/* It is in the batch, or has become of no use. */
	batch_free(&t->candidates.scan.ahead);
	picks_free(&k);
	return rc;
}

/* Does a producer still use a former partition count? */
static void
count_former(struct tick *t)
{
	for (size_t i = 0; i < t->batch.n; i++) {
		const struct msg *m = &t->batch.msgs[i];

		if (m->outcome == OUT_DELIVERED && counts_is_former(
		    &t->fleet->counts, m->key.data, m->key.len,
		    m->partition.data, m->partition.len))
			t->former++;
	}
	t->fleet->former_sent = t->fleet->former_sent || t->former > 0;
}

static int
publish(struct tick *t, struct err *e)
{
	unsigned	found = 0;

	if (fetch_away(t, e) < 0 || clear_doubts(t, &found, e) < 0)
		return -1;
	if (t->batch.n > 0)
		relay_publish(t->relay, &t->batch, &t->relayed);
	count_former(t);
	t->relayed.delivered += found;
	t->relayed.duplicates += found;
	if (t->relayed.stalled_ms > 0)
		t->candidates.heads_at = clock_ms() +
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
	    t->relayed.delivered == t->picked && lanes_count(t->lanes) == 0 &&
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
			candidates_drop(&t->candidates);
			return -1;
		}
	} while (may_turn(t, res->left, until));
	return tick_settle(t, res, e);
}
