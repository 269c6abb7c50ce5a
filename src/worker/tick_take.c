/*
 * tick_take.c - from the rows that were picked to a batch: claim, fetch, and
 * what became of those that could not be claimed
 */

#include "worker/tick_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "common/lane.h"
#include "util/xalloc.h"

/* Ask for a row that somebody else has claimed again after this. */
#define FOREIGN_CLAIM_MS	1000

/* And for one whose claim the database refuses after this. */
#define REFUSED_MS		30000

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
	bool	refused = batch_is_refused(&t->batch, w->sequence);
	struct part	*part = picks_part(k, w->sequence);
	struct bytes	 name = { part_name(part), strlen(part_name(part)) };

	if (!w->pending) {
		note_gone(t, w->sequence);
		return;
	}
	if (w->claimed && wait > FOREIGN_CLAIM_MS)
		wait = FOREIGN_CLAIM_MS;
	if (refused)
		wait = REFUSED_MS;
	/* Due and free and still not ours: the fence closed. */
	if (wait == 0 && !w->claimed) {
		fleet_reread(t->fleet);
		/* Nothing goes, so nothing can be passed. */
		if (t->batch.n == 0)
			return;
	}
	lanes_block(t->lanes, &(struct wait){ .part = part,
	    .lane = lane_of((enum conf_ordering)t->conf->outbox.ordering,
	    w->key, name, &w->sequence),
	    .key = w->key, .sequence = w->sequence, .due_at = now + wait,
	    .why = refused ? BLOCK_REFUSED :
	    w->claimed ? BLOCK_CLAIMED : BLOCK_DELAYED });
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
	fleet_reread(t->fleet);
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
 * Rows keep the name of the partition they came under, not their own label:
 * that may be another one of the class, and a collation may call two labels
 * the same that are not the same bytes.
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
		b->msgs[i].range = picks_part(k,
		    b->msgs[i].sequence)->labels[0].range;
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
		may = fleet_may_go_early(t->fleet, k->items[i].part,
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
		marked = marked || fleet_is_unsure(k->items[i].part,
		    k->items[i].sequence);
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
	tick_count(t, res);
	t->unsettled = false;
	t->claimed = t->batch.n;
	return 0;
}

int
tick_take(struct tick *t, const struct picks *k, struct tick_result *res,
    struct err *e)
{
	bool	turned = t->unsettled;

	if (prepare(t, k, e) < 0)
		return -1;
	if (t->unsettled && turn(t, k, res, e) < 0) {
		/* Which row is to blame shows when each half is by itself. */
		if (!store_refused_value(t->store) ||
		    tick_settle(t, res, e) < 0 || claim(t, k, e) < 0)
			return -1;
	} else if (!turned && claim(t, k, e) < 0)
		return -1;
	keep_labels(t, k);
	return learn_waiting(t, k, e);
}
