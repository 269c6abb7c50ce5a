/* backlog.c - see backlog.h */

#include "worker/backlog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/lane.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

/* A row that another worker has claimed is tried again after this. */
#define FOREIGN_CLAIM_MS	1000

/*
 * A row whose claim the database refuses is tried again after this: it is told
 * as a problem, which ends then.  Each of many takes two statements.
 */
#define REFUSED_MS		5000
#define REFUSED_MANY		100
#define REFUSED_MANY_MS		30000

/* So many scheduled rows that cannot be moved: no other one can. */
#define STAYING_MAX		8

void
backlog_init(struct backlog *b, const struct conf *conf, struct store *store)
{
	memset(b, 0, sizeof(*b));
	b->conf = conf;
	b->store = store;
	b->lanes = lanes_new();
	b->parked = (struct parked){ .conf = conf, .store = store,
	    .parts = &b->parts, .lanes = b->lanes };
	candidates_init(&b->candidates, conf, store, &b->parts, b->lanes);
}

void
backlog_free(struct backlog *b)
{
	candidates_free(&b->candidates);
	lanes_free(b->lanes);
	parts_free(&b->parts);
	free(b->gone);
	free(b->scheduled);
}

void
backlog_adopt(struct backlog *b, const struct partitions *ps)
{
	parts_adopt(&b->parts, b->lanes, ps);
}

int
backlog_prepare(struct backlog *b, int64_t now, struct err *e)
{
	return parked_round(&b->parked, (size_t)b->conf->worker.batch_size,
	    now, e);
}

bool
backlog_wants_leases(struct backlog *b)
{
	bool	wants = b->reread || b->parked.reread;

	b->reread = b->parked.reread = false;
	return wants;
}

/*
 * Rows that could not be claimed
 */

/*
 * The lanes are told at the end of the batch: rows that waited behind a head
 * that is gone come before the rows of this batch.
 */
static void
note_gone(struct backlog *b, uint64_t sequence)
{
	b->gone = xreallocarray(b->gone, b->ngone + 1, sizeof(*b->gone));
	b->gone[b->ngone++] = sequence;
}

static void
block_missed(struct backlog *b, const struct picks *k,
    const struct waiting *w, bool refused, int64_t wait)
{
	struct part	*part = picks_part(k, w->sequence);
	struct bytes	 name = { part_name(part), strlen(part_name(part)) };

	lanes_block(b->lanes, &(struct wait){ .part = part,
	    .lane = lane_of((enum conf_ordering)b->conf->outbox.ordering,
	    w->key, name, &w->sequence),
	    .key = w->key, .sequence = w->sequence,
	    .due_at = clock_ms() + wait, .why = refused ? BLOCK_REFUSED :
	    w->claimed ? BLOCK_CLAIMED : BLOCK_DELAYED });
}

/*
 * Does the rest of the key go on, without it?  Otherwise it waits as any
 * delayed row does, and others wait behind it.
 */
static bool
is_passed(const struct backlog *b, const struct waiting *w)
{
	bool	alone = b->conf->outbox.ordering == ORDER_NONE ||
		    (b->conf->outbox.ordering == ORDER_KEY &&
		    w->key.data == NULL);

	return w->scheduled_ms > 0 && !w->claimed && !b->stays &&
	    (alone || b->conf->outbox.scheduled == SCHEDULED_PASS) &&
	    store_may_schedule(b->store, w);
}

static const struct waiting *
find_waiting(const struct missed *m, uint64_t sequence)
{
	for (size_t i = 0; i < m->waiting.n; i++)
		if (m->waiting.items[i].sequence == sequence)
			return &m->waiting.items[i];
	return NULL;
}

void
backlog_learn_missed(struct backlog *b, const struct picks *k,
    const struct batch *batch, const struct missed *m)
{
	for (size_t i = 0; i < m->waiting.n; i++) {
		const struct waiting	*w = &m->waiting.items[i];
		bool			 refused = batch_is_refused(batch,
					     w->sequence);
		int64_t			 wait = w->due_ms;

		if (!w->pending) {
			note_gone(b, w->sequence);
			continue;
		}
		if (is_passed(b, w)) {
			b->scheduled = xreallocarray(b->scheduled,
			    b->nscheduled + 1, sizeof(*b->scheduled));
			b->scheduled[b->nscheduled++] = w->sequence;
			continue;
		}
		if (w->claimed && wait > FOREIGN_CLAIM_MS)
			wait = FOREIGN_CLAIM_MS;
		if (wait < w->scheduled_ms)
			wait = w->scheduled_ms;
		if (refused)
			wait = batch->nrefused > REFUSED_MANY ?
			    REFUSED_MANY_MS : REFUSED_MS;
		/* Due and free, but the claim left it out: the epoch of our
		   lease must have changed. */
		if (wait == 0 && !w->claimed) {
			b->reread = true;
			/* If it is empty no later row can pass this one. */
			if (batch->n == 0)
				continue;
		}
		block_missed(b, k, w, refused, wait);
	}
	for (size_t i = 0; i < m->n; i++) {
		if (find_waiting(m, m->sequences[i]) != NULL)
			continue;
		/*
		 * It was deleted.  If another process has just made it a dead
		 * letter, its key may be halted, and our batch may have later
		 * rows of that key: send nothing until the blocked keys are
		 * read.
		 */
		note_gone(b, m->sequences[i]);
		if (b->conf->retry.on_dead == DEAD_HALT)
			b->vanished = b->reread = true;
	}
}

int
backlog_move_scheduled(struct backlog *b, const struct picks *k,
    const struct missed *m, struct err *e)
{
	struct range	ranges[STORE_RANGES];
	struct isolate	i = isolate_rows(b->nscheduled, STAYING_MAX);
	size_t		nranges;
	const struct waiting *w;

	if (b->nscheduled == 0)
		return 0;
	nranges = picks_ranges(k, ranges);
	while (isolate_next(&i)) {
		b->parked.moved = true;
		if (!store_isolate(b->store, &i, store_schedule(b->store,
		    ranges, nranges, b->scheduled + i.from, i.n, e)))
			continue;
		/* It waits with its lane, as with outbox.scheduled: hold. */
		w = find_waiting(m, b->scheduled[i.from]);
		assert(w != NULL);	/* the list was made of these */
		store_say_refused(b->store, w->sequence,
		    "moved out of the way", e);
		block_missed(b, k, w, true, w->scheduled_ms < REFUSED_MS ?
		    w->scheduled_ms : REFUSED_MS);
	}
	b->nscheduled = 0;
	if (i.nrefused < STAYING_MAX)
		return i.rc;
	b->stays = true;
	log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("error_class", "row")),
	    "messages that are scheduled cannot be moved out of the way: %s; "
	    "later ones of their keys wait behind them", e->text);
	return 0;
}

void
missed_free(struct missed *m)
{
	free(m->sequences);
	store_waiting_free(&m->waiting);
}

/*
 * The outcomes of a batch
 */

static struct bytes
lane(const struct backlog *b, const struct batch *batch, const struct msg *m)
{
	return lane_of_msg((enum conf_ordering)b->conf->outbox.ordering,
	    batch, m);
}

void
backlog_hold_back(struct backlog *b, struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct msg *m = &batch->msgs[i];

		m->held = m->outcome != OUT_UNSENT || b->vanished || m->left ||
		    lanes_blocks(b->lanes, lane(b, batch, m), m->sequence);
	}
}

/*
 * Failed rows block their lane, and unsent rows behind them wait, too.  The
 * batch is in sequence order, so one pass is enough.
 */
void
backlog_learn(struct backlog *b, const struct batch *batch, int64_t now)
{
	for (size_t i = 0; i < batch->n; i++) {
		const struct msg	*m = &batch->msgs[i];
		const char		*label = batch->labels[m->range];
		struct wait		 w = { .key = m->key,
					     .lane = lane(b, batch, m),
					     .sequence = m->sequence };

		w.part = parts_find(&b->parts, (struct bytes){ label,
		    strlen(label) });
		if (w.part == NULL)		/* not ours any more */
			continue;
		if (m->outcome == OUT_DEFER && m->hold_ms > 0) {
			w.due_at = now + m->hold_ms;
			w.why = BLOCK_TYPE;
			w.type = msg_group(m);
		} else if (m->outcome == OUT_RETRY ||
		    m->outcome == OUT_DEFER) {
			w.due_at = now + m->delay_ms;
			w.why = m->outcome == OUT_RETRY ? BLOCK_FAILED :
			    m->unsolved ? BLOCK_DOUBT : BLOCK_REFUSED;
		} else if (m->outcome == OUT_UNSENT &&
		    lanes_blocks(b->lanes, w.lane, m->sequence))
			w.due_at = INT64_MAX;
		else if (m->outcome == OUT_UNSENT && m->delay_ms > 0) {
			w.due_at = now + m->delay_ms;
			w.why = BLOCK_DELAYED;
		} else if (m->outcome == OUT_KEEP_CLAIM && m->delay_ms > 0) {
			w.due_at = now + m->delay_ms;
			w.why = BLOCK_CLAIMED;
		} else
			continue;
		lanes_block(b->lanes, &w);
	}
}

void
backlog_end_batch(struct backlog *b, const struct batch *batch)
{
	for (size_t i = 0; batch != NULL && i < batch->n; i++) {
		const struct msg	*m = &batch->msgs[i];
		bool			 dead = m->outcome == OUT_DEAD;

		/* Halting raised the epoch: blocked keys are read again. */
		if (dead && b->conf->retry.on_dead == DEAD_HALT)
			b->reread = true;
		else if (dead || m->outcome == OUT_DELIVERED)
			lanes_row_gone(b->lanes, m->sequence);
	}
	for (size_t i = 0; batch != NULL && i < b->ngone; i++)
		lanes_row_gone(b->lanes, b->gone[i]);
	free(b->gone);
	b->gone = NULL;
	b->ngone = 0;
	b->vanished = false;
}
