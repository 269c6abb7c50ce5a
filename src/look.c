/*
 * look.c - see look.h
 */

#include "look.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "xalloc.h"

void
look_init(struct look *l, const struct conf *conf, struct store *store,
    struct member *member, struct hold *hold)
{
	memset(l, 0, sizeof(*l));
	l->conf = conf;
	l->store = store;
	l->member = member;
	l->hold = hold;
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
choose_parts(struct look *l, struct part **chosen)
{
	struct member	*m = l->member;
	size_t		 n = 0, turn = 0;

	for (size_t i = 0; i < m->nparts; i++) {
		struct part *p = m->parts[i];

		p->picked = p->full && !p->fresh && n < STORE_RANGES / 2;
		if (p->picked)
			chosen[n++] = p;
	}
	for (; turn < m->nparts && n < STORE_RANGES; turn++) {
		struct part *p = m->parts[(l->rotate + turn) % m->nparts];

		if (p->picked || p->fresh)
			continue;
		p->picked = true;
		chosen[n++] = p;
	}
	l->rotate += turn;
	l->looked_at += turn;
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
choose_ranges(struct look *l, struct picks *k, size_t limit)
{
	struct part	**chosen = xcalloc(STORE_RANGES, sizeof(*chosen));
	size_t		  n = choose_parts(l, chosen), nfull = 0;

	for (size_t i = 0; i < n; i++)
		nfull += chosen[i]->full;
	for (size_t i = 0; i < n; i++) {
		struct part *p = chosen[i];
		size_t share = p->full ? limit / nfull : limit / n;

		share = (share > 0 ? share : 1) + p->nheld;
		/* In partition order one lane is the whole partition. */
		if (l->conf->outbox.ordering == ORDER_PARTITION &&
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
look_next_due(struct look *l)
{
	int64_t	due = hold_next_due(l->hold);

	return due > l->heads_at ? due : l->heads_at;
}

/*
 * Heads that are due, as far as the scan tells that nothing of their lane can
 * be in front of them: rows with lower ids are committed late or were given
 * back.  In a partition that was not scanned up to the head, it has to wait
 * its turn.
 */
static void
take_heads(struct look *l, struct picks *k, const uint64_t *seen, size_t max)
{
	size_t		 n = hold_nlanes(l->hold), due;
	struct pick	*heads;

	if (look_next_due(l) > clock_ms())
		return;
	heads = xcalloc(n + 1, sizeof(*heads));
	due = hold_due(l->hold, clock_ms(), heads, n);
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
take_picks(struct look *l, struct picks *k, struct part **chosen,
    const struct candidate *c, size_t n, size_t limit)
{
	uint64_t	*seen = note_seen(chosen, k, c, n), cut = UINT64_MAX;

	k->items = xcalloc(limit + 1, sizeof(*k->items));
	take_heads(l, k, seen, n > 0 ? (limit + 1) / 2 : limit);
	for (size_t i = 0; i < n && cut == UINT64_MAX; i++) {
		if (hold_has_row(l->hold, c[i].sequence))
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
is_worth_it(struct look *l, const struct picks *k, bool *worth, struct err *e)
{
	*worth = true;
	if (k->nranges == 0 || !l->idle ||
	    l->member->nparts > STORE_RANGES)
		return 0;
	return store_probe(l->store, k->ranges, k->nranges, worth, e);
}

int
look_for_rows(struct look *l, struct picks *k, size_t limit, struct err *e)
{
	struct part		**chosen;
	struct candidate	 *found = NULL;
	size_t			  n = 0;
	bool			  worth;
	int			  rc;

	k->ranges = xcalloc(STORE_RANGES, sizeof(*k->ranges));
	chosen = choose_ranges(l, k, limit);
	rc = is_worth_it(l, k, &worth, e);
	if (rc == 0 && worth && k->nranges > 0)
		rc = store_candidates(l->store, k->ranges, k->nranges, &found,
		    &n, e);
	if (rc == 0)
		take_picks(l, k, chosen, found, n, limit);
	free(found);
	free(chosen);
	return rc;
}

bool
look_is_over(struct look *l, bool claimed)
{
	l->idle = !claimed;
	if (claimed || l->looked_at >= l->member->nparts)
		l->looked_at = 0;
	return l->looked_at > 0;
}

void
picks_free(struct picks *k)
{
	free(k->items);
	free(k->sequences);
	free(k->ranges);
}

struct part *
picks_part(const struct picks *k, uint64_t sequence)
{
	struct pick	 key = { sequence, NULL };
	struct pick	*p = bsearch(&key, k->items, k->n, sizeof(key),
			     pick_cmp);

	return p == NULL ? NULL : p->part;
}
