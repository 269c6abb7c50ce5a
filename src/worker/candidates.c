/*
 * candidates.c - see candidates.h
 *
 * A scan shows one moment and may serve several batches.  A producer that keeps
 * the order of a key commits its rows one after the other, so a row that was
 * not yet visible has no later row of its key in the scan.  This holds as long
 * as no row of the scan comes back: see scan_goes_on().
 */

#include "worker/candidates_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

/*
 * A scan should take a small part of the time until its rows are used up.  New
 * rows of other partitions wait during that time.
 */
#define COSTLY		32	/* above 1/32 of the time: read more rows */
#define CHEAP		128	/* below 1/128: read fewer */
#define LASTS_US	500000	/* rows of a scan last no longer */
#define DEPTH_MAX	32

void
candidates_init(struct candidates *l, const struct conf *conf,
    struct store *store, struct parts *parts, struct lanes *lanes)
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

int64_t
candidates_next_due(struct candidates *l)
{
	int64_t	due = lanes_next_due(l->lanes);

	return due > l->heads_at ? due : l->heads_at;
}

/* The ranges of a partition follow each other. */
static struct part_label *
range_label(const struct scan *s, size_t i)
{
	struct part	*p = s->parts[i];

	return &p->labels[i - p->labels[0].range];
}

/*
 * Note which labels used up their limit.  Returns up to which sequence the scan
 * has seen each range; UINT64_MAX: to its end.
 */
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
	free(used);
	/*
	 * A partition is seen as far as its label that was read least far:
	 * behind that, rows of this label may be missing.
	 */
	for (size_t first = 0, n; first < s->nranges; first += n) {
		uint64_t least = UINT64_MAX;

		n = s->parts[first]->nlabels;
		for (size_t i = first; i < first + n; i++)
			if (seen[i] < least)
				least = seen[i];
		for (size_t i = first; i < first + n; i++)
			seen[i] = least;
	}
	return seen;
}

/* Before a row that was not seen, others of its partition may be missing. */
static void
drop_unseen(struct scan *s, const uint64_t *seen)
{
	size_t	kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].sequence <= seen[s->rows[i].range])
			s->rows[kept++] = s->rows[i];
	s->n = kept;
}

/* Count the rows of each label that the scan read in vain. */
static void
count_known(struct candidates *l)
{
	struct scan	*s = &l->scan;

	for (size_t i = 0; i < s->nranges; i++)
		range_label(s, i)->nknown = 0;
	for (size_t i = 0; i < s->n; i++)
		if (lanes_has_row(l->lanes, s->rows[i].sequence))
			range_label(s, s->rows[i].range)->nknown++;
}

/* Drop picks from this row on: a head behind it may have to wait for it. */
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
 * Take the scan's next rows, without known ones, up to limit picks in all.  If
 * heads fill the batch, later heads give way to the first row that is left.
 */
static void
take_rows(struct candidates *l, struct picks *k, size_t limit)
{
	struct scan	*s = &l->scan;

	for (; s->next < s->n; s->next++) {
		struct candidate c = s->rows[s->next];

		if (lanes_has_row(l->lanes, c.sequence))
			continue;
		if (k->n == limit)
			cut_at(k, c.sequence);
		if (k->n == limit)
			break;
		k->items[k->n++] = (struct pick){ c.sequence,
		    s->parts[c.range] };
	}
}

/* Take heads and rows of a new scan. */
static void
take_first(struct candidates *l, struct picks *k, size_t limit)
{
	uint64_t	*seen = note_seen(&l->scan);
	size_t		 max_heads = limit;
	size_t		 nlanes, ndue;
	struct pick	*heads;

	drop_unseen(&l->scan, seen);
	count_known(l);
	/*
	 * Heads that fail again and again get at most half of the batch; of
	 * batches of one row, every other one.
	 */
	if (l->scan.n > 0)
		max_heads = (limit + l->npicks++ % 2) / 2;
	/* Take heads that are due and that the scan has reached.  Earlier rows
	   of their lane may have appeared, by a late commit or because they
	   were given back; so a head that the scan of its partition did not
	   reach waits for a later scan. */
	nlanes = lanes_count(l->lanes);
	if (candidates_next_due(l) <= clock_ms()) {
		heads = xcalloc(nlanes + 1, sizeof(*heads));
		ndue = lanes_due(l->lanes, clock_ms(), heads, nlanes);
		for (size_t i = 0; i < ndue && k->n < max_heads; i++)
			if (heads[i].part->in_scan && heads[i].sequence <=
			    seen[heads[i].part->labels[0].range])
				k->items[k->n++] = heads[i];
		free(heads);
	}
	take_rows(l, k, limit);
	free(seen);
}

/* A glance, unless it shows nothing; else ranges of some partitions. */
static int
scan(struct candidates *l, size_t limit, struct err *e)
{
	struct scan	*s = &l->scan;
	int64_t		 began_at = clock_us();
	size_t		 lanes_max = GLANCE_ROWS / 2;
	bool		 done = false;
	int64_t		 spent, lasted;

	/* Read more rows in a scan if scans take much of the time, for example
	   because of dead index entries before the first row; fewer if they
	   take little. */
	spent = began_at - s->began_at;
	lasted = spent - s->took_us;
	if (s->rich) {
		if (s->took_us * COSTLY > spent && lasted * 2 <= LASTS_US) {
			if (s->depth < DEPTH_MAX)
				s->depth *= 2;
		} else if (s->depth > 1 &&
		    (s->took_us * CHEAP < spent || lasted > LASTS_US))
			s->depth /= 2;
	}
	free(s->rows);
	batch_free(&s->ahead);
	s->rows = NULL;
	s->n = s->next = 0;
	s->calm = lanes_count(l->lanes) == 0;
	/*
	 * Rows that wait in many blocked lanes would fill each glance.  In
	 * partition order a lane is a whole partition: the rows of one would.
	 */
	if (l->conf->outbox.ordering == ORDER_PARTITION)
		lanes_max = 1;
	if (l->parts->n > 0 && lanes_count(l->lanes) < lanes_max &&
	    store_may_glance(l->store) && clock_ms() >= l->crowded_until &&
	    candidates_glance(l, &done, e) < 0)
		return -1;
	if (!done) {
		candidates_choose_ranges(l, limit * s->depth);
		if (s->nranges > 0 && store_candidates(l->store, s->ranges,
		    s->nranges, &s->rows, &s->n, e) < 0)
			return -1;
	}
	s->began_at = began_at;
	s->took_us = clock_us() - began_at;
	return 0;
}

/*
 * Are the scan's remaining rows still the next ones?  Not if a lane was
 * blocked: rows of it that were skipped or parked may be free now.  Not if an
 * epoch was raised: old rows may be due again.  An epoch that this worker does
 * not know of yet closes the fence of the claim; without leases there is no
 * fence.  And new rows of other partitions must not wait for long.
 */
static bool
scan_goes_on(const struct candidates *l)
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

		if (p == NULL || p != s->parts[i] || p->unread ||
		    parts_label(l->parts, label)->epoch !=
		    s->ranges[i].epoch)
			return false;
	}
	return true;
}

int
candidates_pick(struct candidates *l, struct picks *k, size_t limit,
    struct err *e)
{
	bool	on = scan_goes_on(l);

	if (!on && scan(l, limit, e) < 0)
		return -1;
	l->scan.clean = false;
	k->items = xcalloc(limit + 1, sizeof(*k->items));
	k->ranges = l->scan.ranges;
	k->nranges = l->scan.nranges;
	k->ahead = l->scan.ahead;
	memset(&l->scan.ahead, 0, sizeof(l->scan.ahead));
	if (on)
		take_rows(l, k, limit);
	else
		take_first(l, k, limit);
	qsort(k->items, k->n, sizeof(*k->items), pick_cmp);
	k->sequences = xcalloc(k->n + 1, sizeof(*k->sequences));
	for (size_t i = 0; i < k->n; i++)
		k->sequences[i] = k->items[i].sequence;
	return 0;
}

bool
candidates_end_tick(struct candidates *l, bool claimed)
{
	if (claimed || l->nvain >= l->parts->n)
		l->nvain = 0;
	return l->nvain > 0;
}

bool
candidates_left_some(const struct candidates *l)
{
	return l->scan.rich || l->scan.next < l->scan.n || l->cut;
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
