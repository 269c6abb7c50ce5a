/*
 * candidates.c - see candidates.h
 *
 * A scan may serve several batches, because it is one moment: whoever keeps
 * the order of a key commits its rows one after the other, so a row that the
 * scan could not see has no later one of its key in the scan.  That holds as
 * long as nothing that was seen comes back: see goes_on.
 */

#include "worker/candidates_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/clock.h"
#include "worker/pace.h"
#include "util/xalloc.h"

/*
 * A scan should cost little of the time that its rows last, but new rows of
 * other partitions wait so long.
 */
#define COSTLY		32	/* above this part: more at once */
#define CHEAP		128	/* below this part: less */
#define LASTS_US	500000	/* not longer */
#define DEPTH_MAX	32

/* So long after its ring a row can be read with some certainty. */
#define RING_OLD_MS	PACE_SOON_MS

void
candidates_init(struct candidates *l, const struct conf *conf, struct store *store,
    struct parts *parts, struct lanes *lanes)
{
	memset(l, 0, sizeof(*l));
	l->conf = conf;
	l->store = store;
	l->parts = parts;
	l->lanes = lanes;
	l->scan.depth = 1;
}

void
candidates_free(struct candidates *l)
{
	free(l->scan.rows);
	batch_free(&l->scan.ahead);
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
candidates_next_due(struct candidates *l)
{
	int64_t	due = lanes_next_due(l->lanes);

	return due > l->heads_at ? due : l->heads_at;
}

/*
 * Heads that are due, as far as the scan tells that nothing of their lane can
 * be in front of them: rows with lower ids are committed late or were given
 * back.  In a partition that was not scanned up to the head, it has to wait
 * its turn.
 */
static void
take_heads(struct candidates *l, struct picks *k, const uint64_t *seen, size_t max)
{
	size_t		 n = lanes_count(l->lanes), due;
	struct pick	*heads;

	if (candidates_next_due(l) > clock_ms())
		return;
	heads = xcalloc(n + 1, sizeof(*heads));
	due = lanes_due(l->lanes, clock_ms(), heads, n);
	for (size_t i = 0; i < due && k->n < max; i++)
		if (heads[i].part->picked && heads[i].sequence <=
		    seen[heads[i].part->labels[0].range])
			k->items[k->n++] = heads[i];
	free(heads);
}

/* The ranges of a partition follow each other. */
static struct part_label *
range_label(const struct scan *s, size_t i)
{
	struct part	*p = s->parts[i];

	return &p->labels[i - p->labels[0].range];
}

/* A partition is seen as far as each of its labels. */
static void
see_parts(struct scan *s, uint64_t *seen)
{
	for (size_t first = 0, n; first < s->nranges; first += n) {
		uint64_t least = UINT64_MAX;

		n = s->parts[first]->nlabels;
		for (size_t i = first; i < first + n; i++)
			if (seen[i] < least)
				least = seen[i];
		for (size_t i = first; i < first + n; i++)
			seen[i] = least;
	}
}

/*
 * A row of another label may have to go first, if that one was not seen so
 * far.
 */
static void
drop_unseen(struct scan *s, const uint64_t *seen)
{
	size_t	kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].sequence <= seen[s->rows[i].range])
			s->rows[kept++] = s->rows[i];
	s->n = kept;
}

/* How far each range was seen without a gap: to its end, if it has one. */
static uint64_t *
note_seen(struct scan *s)
{
	uint64_t	*seen = xcalloc(s->nranges + 1, sizeof(*seen));
	size_t		*used = xcalloc(s->nranges + 1, sizeof(*used));

	for (size_t i = 0; i < s->n; i++) {
		used[s->rows[i].range]++;
		seen[s->rows[i].range] = s->rows[i].sequence;
	}
	s->rich = false;
	for (size_t i = 0; i < s->nranges; i++) {
		struct part_label *l = range_label(s, i);

		l->full = used[i] >= s->ranges[i].limit;
		s->rich = s->rich || l->full;
		if (!l->full)
			seen[i] = UINT64_MAX;
	}
	see_parts(s, seen);
	drop_unseen(s, seen);
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

/* It waits, or is open. */
static bool
is_known(const struct candidates *l, const struct batch *open, uint64_t sequence)
{
	return lanes_has_row(l->lanes, sequence) ||
	    (open != NULL && batch_msg(open, sequence) != NULL);
}

/*
 * Rings for these partitions have had their look, if it was not too soon; and
 * how many rows of each label were met in vain.
 */
static void
note_looks(struct candidates *l, const struct batch *open)
{
	struct scan	*s = &l->scan;

	for (size_t i = 0; i < s->nranges; i++) {
		range_label(s, i)->nknown = 0;
		if (s->began_at / 1000 >= s->parts[i]->woken_at + RING_OLD_MS)
			s->parts[i]->woken = false;
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_known(l, open, s->rows[i].sequence))
			range_label(s, s->rows[i].range)->nknown++;
		else
			s->parts[s->rows[i].range]->woken = false;
}

/* Narrow looks come back for what the batch had no room for. */
static void
note_left(struct scan *s)
{
	for (size_t i = s->next; s->narrow && i < s->n; i++)
		s->parts[s->rows[i].range]->woken = true;
}

/*
 * The scan's next rows, less those that are known, because they wait or
 * because they are open, up to limit in all.  The first row that would be cut
 * off goes in place of heads that went for it.
 */
static void
take_rows(struct candidates *l, struct picks *k, const struct batch *open,
    size_t limit)
{
	struct scan	*s = &l->scan;

	for (; s->next < s->n; s->next++) {
		struct candidate c = s->rows[s->next];

		if (is_known(l, open, c.sequence))
			continue;
		if (k->n == limit)
			cut_at(k, c.sequence);
		if (k->n == limit)
			break;
		k->items[k->n++] = (struct pick){ c.sequence,
		    s->parts[c.range] };
	}
}

/*
 * Rows of a scan just made, and heads that are due. Neither may crowd out the
 * other: with many heads that fail again and again, half of the batch is
 * still for rows that were never tried, and of a batch of one every other.
 */
static void
take_first(struct candidates *l, struct picks *k, const struct batch *open,
    size_t limit)
{
	uint64_t	*seen = note_seen(&l->scan);

	note_looks(l, open);
	take_heads(l, k, seen, l->scan.n > 0 ? (limit + l->turn++ % 2) / 2 :
	    limit);
	take_rows(l, k, open, limit);
	note_left(&l->scan);
	free(seen);
}

/* Rows that wait would be read again and again, only to be passed. */
static bool
reads_few(const struct candidates *l)
{
	return !l->scan.many && lanes_count(l->lanes) == 0;
}

bool
candidates_would_ask(const struct candidates *l)
{
	return l->idle && reads_few(l) &&
	    l->parts->nplaces <= STORE_RANGES;
}

/* Who is rung for a row will want the message: one statement less for it. */
static int
ask_few(struct candidates *l, bool *all, struct err *e)
{
	struct scan	*s = &l->scan;
	size_t		 max = (size_t)l->conf->worker.batch_bytes / STORE_FEW;

	if (l->narrow && l->conf->worker.leasing)
		return store_few_ahead(l->store, s->ranges, s->nranges, max,
		    &s->rows, &s->n, &s->ahead, all, e);
	return store_few(l->store, s->ranges, s->nranges, &s->rows, &s->n,
	    all, e);
}

/*
 * A worker with little to do asks one cheap question, which has its answer:
 * there is nothing, or so little that it is all.
 */
static int
read_few(struct candidates *l, bool *all, struct err *e)
{
	struct scan	*s = &l->scan;

	*all = false;
	/* It may have been asked just now, with the leases. */
	if (candidates_would_ask(l) && l->empty) {
		*all = true;
		return 0;
	}
	if (!reads_few(l))
		return 0;
	if (ask_few(l, all, e) < 0)
		return -1;
	for (size_t i = 0; *all && i < s->nranges; i++)
		s->ranges[i].limit = SIZE_MAX;	/* it has an end */
	return 0;
}

static int
read_rows(struct candidates *l, struct err *e)
{
	struct scan	*s = &l->scan;
	bool		 all;

	if (s->nranges == 0)
		return 0;
	if (read_few(l, &all, e) < 0)
		return -1;
	return all ? 0 : store_candidates(l->store, s->ranges, s->nranges,
	    &s->rows, &s->n, e);
}

/*
 * Ask for more at once if scans take too much of the time, dead index entries
 * in front of the first row perhaps, for less if they take next to none.
 */
static void
adapt(struct scan *s, int64_t now)
{
	int64_t	spent = now - s->began_at, lasted = spent - s->took_us;

	if (!s->rich)
		return;
	if (s->took_us * COSTLY > spent && lasted * 2 <= LASTS_US) {
		if (s->depth < DEPTH_MAX)
			s->depth *= 2;
	} else if (s->depth > 1 &&
	    (s->took_us * CHEAP < spent || lasted > LASTS_US))
		s->depth /= 2;
}

static int
scan(struct candidates *l, size_t limit, struct err *e)
{
	struct scan	*s = &l->scan;
	int64_t		 began_at = clock_us();

	adapt(s, began_at);
	free(s->rows);
	batch_free(&s->ahead);
	s->rows = NULL;
	s->n = s->next = 0;
	s->calm = lanes_count(l->lanes) == 0;
	candidates_choose_ranges(l, limit * s->depth);
	if (read_rows(l, e) < 0)
		return -1;
	s->narrow = l->narrow;
	s->many = s->n >= STORE_FEW || (s->many && s->narrow);
	s->began_at = began_at;
	s->took_us = clock_us() - began_at;
	return 0;
}

/*
 * Is what the scan left still the next to be sent?  Not if a lane waited, for
 * rows of it that were passed or parked may be free now, and not if somebody
 * has made old rows due and rung: then the epoch is another.  Until we know of
 * it the fence does, and without leases there is none.  Nor may it keep new
 * rows of other partitions waiting for long.
 */
static bool
goes_on(const struct candidates *l)
{
	const struct scan	*s = &l->scan;

	if (!s->clean || !s->calm || s->next == s->n ||
	    !l->conf->worker.leasing ||
	    clock_us() - s->began_at > s->took_us + LASTS_US)
		return false;
	for (size_t i = 0; i < s->nranges; i++) {
		struct bytes		 label = { s->labels[i],
					     strlen(s->labels[i]) };
		struct part		*p = parts_find(l->parts, label);

		if (p == NULL || p != s->parts[i] || p->fresh ||
		    parts_label(l->parts, label)->epoch !=
		    s->ranges[i].epoch)
			return false;
	}
	return true;
}

int
candidates_pick(struct candidates *l, struct picks *k, const struct batch *open,
    size_t limit, struct err *e)
{
	bool	on = goes_on(l);

	if (!on && scan(l, limit, e) < 0)
		return -1;
	l->scan.clean = false;
	l->saw_all = l->saw_all || !l->scan.narrow;
	k->items = xcalloc(limit + 1, sizeof(*k->items));
	k->ranges = l->scan.ranges;
	k->nranges = l->scan.nranges;
	k->ahead = l->scan.ahead;
	memset(&l->scan.ahead, 0, sizeof(l->scan.ahead));
	if (on)
		take_rows(l, k, open, limit);
	else
		take_first(l, k, open, limit);
	sort(k);
	return 0;
}

static bool
is_named(const struct part *p, const struct label_set *which)
{
	for (size_t i = 0; i < p->nlabels; i++)
		if (label_set_has(which, p->labels[i].label,
		    strlen(p->labels[i].label)))
			return true;
	return false;
}

bool
candidates_wake(struct candidates *l, const struct label_set *which, int64_t now)
{
	bool	ours = false;

	for (size_t i = 0; i < l->parts->n; i++) {
		struct part *p = l->parts->items[i];

		if (is_named(p, which)) {
			p->woken = ours = true;
			p->woken_at = now;
		}
	}
	return ours;
}

bool
candidates_are_woken(const struct candidates *l)
{
	for (size_t i = 0; i < l->parts->n; i++)
		if (l->parts->items[i]->woken)
			return true;
	return false;
}

bool
candidates_round_is_over(struct candidates *l, bool claimed)
{
	l->idle = !claimed;
	if (claimed || l->looked_at >= l->parts->n)
		l->looked_at = 0;
	return l->looked_at > 0;
}

bool
candidates_left_some(const struct candidates *l)
{
	return l->scan.rich || l->scan.next < l->scan.n || l->cut;
}

void
candidates_go_narrow(struct candidates *l, bool narrow)
{
	l->narrow = narrow;
}

bool
candidates_saw_all(struct candidates *l)
{
	bool	all = l->saw_all;

	l->saw_all = false;
	return all;
}

void
candidates_are_none(struct candidates *l, bool none)
{
	l->empty = none;
}

void
candidates_delay_heads(struct candidates *l, int64_t until)
{
	l->heads_at = until;
}

void
candidates_drop(struct candidates *l)
{
	l->scan.next = l->scan.n;
}

void
candidates_all_done(struct candidates *l)
{
	l->scan.clean = true;
}

void
picks_free(struct picks *k)
{
	free(k->items);
	free(k->sequences);
	batch_free(&k->ahead);
}

struct part *
picks_part(const struct picks *k, uint64_t sequence)
{
	struct pick	 key = { sequence, NULL };
	struct pick	*p = bsearch(&key, k->items, k->n, sizeof(key),
			     pick_cmp);

	return p == NULL ? NULL : p->part;
}

size_t
picks_ranges(const struct picks *k, struct range *out)
{
	bool	used[STORE_RANGES] = { false };
	size_t	n = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct part *p = k->items[i].part;

		for (size_t j = 0; j < p->nlabels &&
		    !used[p->labels[j].range]; j++)
			used[p->labels[j].range] = true;
	}
	for (size_t i = 0; i < k->nranges; i++)
		if (used[i])
			out[n++] = k->ranges[i];
	return n;
}
