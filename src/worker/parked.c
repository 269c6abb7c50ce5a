/*
 * parked.c - see parked.h
 *
 * The lanes learn of a statement's effect only after it succeeded.  A lost
 * answer closes the connection, and then all records are read again.
 */

#include "worker/parked_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/printable.h"
#include "util/xalloc.h"

/* A head that is due within this time gets no record and is not parked. */
#define SOON_MS		2000

/* Lanes in one statement. */
#define LANES		256

/* A lane of which the database refuses a row or the record waits so long. */
#define ASIDE_MS	30000

/* Behind so many, lanes wait for the next round: leases must be renewed. */
#define REFUSED_MAX	50

static bool
is_aside(const struct blocked_lane *l, int64_t now)
{
	return now < l->aside_until;
}

/* What became of the statement about the lanes of this part. */
static void
judge(struct parked *p, struct isolate *i, struct blocked_lane *const *lanes,
    int rc, int64_t now, const struct err *e)
{
	struct blocked_lane	*l = lanes[i->from];
	char			 key[PRINTABLE_SIZE];

	if (!store_isolate(p->store, i, rc))
		return;
	p->moved = true;
	printable_text(key, l->key.data, l->key.len);
	if (l->aside_until == 0)
		log_event(LOG_LVL_ERROR, LOG_FIELDS(LOG_TEXT("key", key),
		    LOG_TEXT("error_class", "row")),
		    "key %s: the database refuses to park, unpark or "
		    "record it: %s; the key waits: correct the rows or the "
		    "table", key, e->text);
	lanes_put_aside(p->lanes, l, now + ASIDE_MS);
}

/* Give rows of these lanes their labels back. */
static int
unpark(struct parked *p, struct blocked_lane *const *lanes, size_t nlanes,
    const uint64_t *list, size_t n, struct err *e)
{
	struct leases	ls = { 0 };
	int		rc;

	if (n == 0)
		return 0;
	p->moved = true;
	for (size_t i = 0; i < nlanes; i++)
		parked_add_leases(&ls, lanes[i]->home);
	rc = store_unpark(p->store, &p->parts->counts, ls.items, ls.n, list, n,
	    e);
	free(ls.items);
	return rc;
}

/*
 * Unparking
 */

/* A record that cannot be deleted does no harm: its next reader tries again. */
static int
delete_lifted(struct parked *p, struct err *e)
{
	struct lanes	*h = p->lanes;
	struct leases	 ls = { 0 };
	struct isolate	 i;
	uint64_t	*list;

	if (h->nlifted == 0)
		return 0;
	list = xcalloc(h->nlifted, sizeof(*list));
	for (size_t k = 0; k < h->nlifted; k++) {
		list[k] = h->lifted[k].record;
		parked_add_leases(&ls, h->lifted[k].home);
	}
	for (i = isolate_rows(h->nlifted, 0); isolate_next(&i);)
		store_isolate(p->store, &i, store_unblock(p->store, ls.items,
		    ls.n, list + i.from, i.n, e));
	free(ls.items);
	free(list);
	if (i.rc == 0)
		h->nlifted = 0;
	return i.rc;
}

static int
unpark_heads(struct parked *p, size_t limit, int64_t now, struct err *e)
{
	struct lanes		 *h = p->lanes;
	struct blocked_lane	**lanes, *l;
	struct isolate		  i;
	uint64_t		 *list;
	size_t			  n = 0;
	int			  rc;

	if (lanes_next_due(h) > now)
		return 0;
	lanes = xcalloc(limit + 1, sizeof(*lanes));
	list = xcalloc(limit + 1, sizeof(*list));
	for (l = h->lanes; l != NULL && n < limit; l = l->hh.next)
		if (l->head_parked && l->due_at <= now &&
		    !is_aside(l, now)) {
			list[n] = l->head;
			lanes[n++] = l;
		}
	for (i = isolate_rows(n, REFUSED_MAX); isolate_next(&i);) {
		rc = unpark(p, lanes + i.from, i.n, list + i.from, i.n, e);
		for (size_t k = 0; rc == 0 && k < i.n; k++)
			lanes_head_back(h, lanes[i.from + k]);
		judge(p, &i, lanes, rc, now, e);
	}
	free(lanes);
	free(list);
	return i.rc;
}

/* Lanes whose rows are unparked, and the rows read of each. */
struct returning {
	struct blocked_lane	*lanes[STORE_RANGES];
	struct range		 ranges[STORE_RANGES];
	char			 labels[STORE_RANGES][STORE_PARKED];
	size_t			 n;
	struct candidate	*rows;
	size_t			 nrows;
};

/*
 * The rows of these lanes.  The last row of a range at its limit stays parked:
 * the rest starts there.
 */
static int
unpark_rows(struct parked *p, const struct returning *c,
    const struct isolate *part, struct err *e)
{
	uint64_t	*list = xcalloc(c->nrows + 1, sizeof(*list));
	uint64_t	 next[STORE_RANGES];
	size_t		 used[STORE_RANGES] = { 0 }, n = 0, r;
	int		 rc;

	for (size_t i = 0; i < c->n; i++)
		next[i] = LANE_NONE;
	for (size_t i = 0; i < c->nrows; i++) {
		r = c->rows[i].range;
		if (++used[r] == c->ranges[r].limit)
			next[r] = c->rows[i].sequence;
		if (used[r] < c->ranges[r].limit && r >= part->from &&
		    r < part->from + part->n)
			list[n++] = c->rows[i].sequence;
	}
	rc = unpark(p, c->lanes + part->from, part->n, list, n, e);
	for (size_t i = part->from; rc == 0 && i < part->from + part->n; i++)
		lanes_rows_back(p->lanes, c->lanes[i], next[i]);
	free(list);
	return rc;
}

static int
unpark_returning(struct parked *p, size_t limit, int64_t now, struct err *e)
{
	struct returning	c = { .n = 0 };
	struct isolate		i;

	if (p->lanes->nreturning == 0)
		return 0;
	for (struct blocked_lane *l = p->lanes->lanes;
	    l != NULL && c.n < STORE_RANGES; l = l->hh.next)
		if (lane_is_returning(l) && !is_aside(l, now))
			c.lanes[c.n++] = l;
	if (c.n == 0)
		return 0;
	for (size_t k = 0; k < c.n; k++)
		parked_set_range(&c.ranges[k], c.labels[k],
		    c.lanes[k]->record, limit / c.n + 2);
	if (store_candidates(p->store, c.ranges, c.n, &c.rows, &c.nrows,
	    e) < 0)
		return -1;
	for (i = isolate_rows(c.n, REFUSED_MAX); isolate_next(&i);)
		judge(p, &i, c.lanes, unpark_rows(p, &c, &i, e), now, e);
	free(c.rows);
	return i.rc;
}

/*
 * Parking
 */

/* Rows to park, by lane. */
struct to_park {
	struct blocked_lane	*lanes[LANES];
	struct parking		 parking[LANES];
	size_t			 n;
	uint64_t		*sequences;
	size_t			 nsequences;
};

/*
 * The record has the label of the partition under which the key's rows come
 * back: the one that new rows of the key have.  So parked rows lose the label
 * of a former count.  Where the key does not tell that label, it is any that
 * this worker owns with it, and store_unpark() finds the right one.
 */
static struct blocked
record_of(const struct parked *p, const struct blocked_lane *l)
{
	const struct part_label	*home = &l->part->labels[0];

	for (size_t i = 0; conf_partitions_by_key(p->conf) &&
	    l->part->nlabels > 1 && i < l->part->nlabels; i++) {
		const struct part_label *x = &l->part->labels[i];

		if (counts_is_label(x->label) && !counts_is_former(
		    &p->parts->counts, l->key.data, l->key.len, x->label,
		    strlen(x->label))) {
			home = x;
			break;
		}
	}
	return (struct blocked){ .first = l->head, .head = l->head,
	    .key = l->key, .label = home->label, .epoch = home->epoch,
	    .reason = parked_reasons[l->why] };
}

/* Write records of lanes that have none; *done: all have one now. */
static int
write_records(struct parked *p, struct blocked_lane *const *lanes, size_t n,
    bool *done, struct err *e)
{
	struct blocked	b[LANES];
	size_t		nnew = 0;
	uint64_t	written = 0;

	for (size_t i = 0; i < n; i++)
		if (lanes[i]->record == 0)
			b[nnew++] = record_of(p, lanes[i]);
	if (nnew > 0 && store_block(p->store, b, nnew, &written, e) < 0)
		return -1;
	*done = written == nnew;
	for (size_t i = 0; *done && i < n; i++)
		if (lanes[i]->record == 0) {
			lanes[i]->record = lanes[i]->head;
			lanes[i]->home = lanes[i]->part;
		}
	if (*done)
		return 0;
	/* A lease differs from ours: read leases and records again. */
	for (size_t i = 0; i < n; i++)
		lanes[i]->part->unread = true;
	for (size_t i = 0; i < p->parts->n; i++)
		if (p->parts->items[i]->unread)
			lanes_forget_part(p->lanes, p->parts->items[i]);
	p->reread = true;
	return 0;
}

static bool
waits_long(const struct blocked_lane *l, int64_t now)
{
	return l->due_at - now > SOON_MS;
}

/*
 * Heads that wait because they failed or are in doubt, and those whose type is
 * refused, get a record, so that the operator sees them.
 */
static int
record_failed(struct parked *p, int64_t now, struct err *e)
{
	struct blocked_lane	*lanes[LANES], *l;
	struct isolate		 i;
	size_t			 n = 0;
	bool			 done = true, later = false;

	if (!p->lanes->unrecorded)
		return 0;
	for (l = p->lanes->lanes; l != NULL && n < LANES; l = l->hh.next) {
		if (l->record != 0 || l->head == LANE_NONE ||
		    (l->why != BLOCK_TYPE && ((l->why != BLOCK_FAILED &&
		    l->why != BLOCK_DOUBT) || !waits_long(l, now))))
			continue;
		if (is_aside(l, now))
			later = true;
		else
			lanes[n++] = l;
	}
	for (i = isolate_rows(n, REFUSED_MAX); done && isolate_next(&i);)
		judge(p, &i, lanes, write_records(p, lanes + i.from, i.n,
		    &done, e), now, e);
	p->lanes->unrecorded = later || n == LANES || i.nrefused > 0 ||
	    i.rc < 0;
	return i.rc;
}

/* The lane with the most rows first. */
static int
lane_cmp(const void *a, const void *b)
{
	const struct blocked_lane	*x = *(struct blocked_lane *const *)a;
	const struct blocked_lane	*y = *(struct blocked_lane *const *)b;

	return x->nrows > y->nrows ? -1 : x->nrows < y->nrows;
}

/* Not *done: the leases are read again, and these lanes are gone. */
static int
park_part(struct parked *p, struct to_park *g, const struct isolate *part,
    bool *done, struct err *e)
{
	struct blocked_lane	**lanes = g->lanes + part->from;
	struct parking		 *parking = g->parking + part->from;
	struct leases		  ls = { 0 };
	int			  rc;

	rc = write_records(p, lanes, part->n, done, e);
	if (rc < 0 || !*done)
		return rc;
	p->moved = true;
	for (size_t i = 0; i < part->n; i++) {
		parking[i].first = lanes[i]->record;
		parked_add_leases(&ls, lanes[i]->home);
	}
	rc = store_park(p->store, ls.items, ls.n, parking, part->n, e);
	for (size_t i = 0; rc == 0 && i < part->n; i++)
		lanes_parked(p->lanes, lanes[i], parking[i].sequences,
		    parking[i].n);
	free(ls.items);
	return rc;
}

/* Of the lanes with the most rows, as many rows as a scan should not skip. */
static int
park_rows(struct parked *p, size_t limit, int64_t now, struct err *e)
{
	struct blocked_lane	**lanes, *l;
	struct to_park		  g = { 0 };
	struct isolate		  i;
	size_t			  nrows = lanes_nrows(p->lanes), max, n = 0;
	bool			  done = true;

	/* With ordering: partition a scan reads one row of a blocked lane. */
	if (nrows <= limit || p->conf->outbox.ordering == ORDER_PARTITION)
		return 0;
	max = nrows - limit / 2;
	if (max > 2 * limit)
		max = 2 * limit;
	lanes = xcalloc(lanes_count(p->lanes) + 1,
	    sizeof(struct blocked_lane *));
	for (l = p->lanes->lanes; l != NULL; l = l->hh.next)
		lanes[n++] = l;
	qsort(lanes, n, sizeof(struct blocked_lane *), lane_cmp);
	g.sequences = xcalloc(max + 1, sizeof(*g.sequences));
	for (size_t k = 0; k < n && g.n < LANES && g.nsequences < max; k++) {
		uint64_t *list = g.sequences + g.nsequences;
		size_t	  len = 0;

		l = lanes[k];
		/* A lane without a record gets one for its head.  A lane that
		   is only halted has no head, and its rows stay. */
		if ((l->record == 0 && l->head == LANE_NONE) ||
		    is_aside(l, now))
			continue;
		if (!l->head_parked && l->head != LANE_NONE &&
		    waits_long(l, now) &&
		    (l->home == NULL || l->home == l->part))
			list[len++] = l->head;
		len += lane_list_rows(l, list + len,
		    max - g.nsequences - len);
		if (len == 0)
			continue;
		g.parking[g.n] = (struct parking){ .sequences = list,
		    .n = len };
		g.lanes[g.n++] = l;
		g.nsequences += len;
	}
	free(lanes);
	for (i = isolate_rows(g.n, REFUSED_MAX); done && isolate_next(&i);)
		judge(p, &i, g.lanes, park_part(p, &g, &i, &done, e), now, e);
	free(g.sequences);
	return i.rc;
}

int
parked_round(struct parked *p, size_t limit, int64_t now, struct err *e)
{
	p->moved = false;
	if (!store_can_block(p->store)) {
		parked_end_reading(p, p->parts->items, p->parts->n, false);
		return 0;
	}
	if (delete_lifted(p, e) < 0 || parked_read_fresh(p, now, e) < 0 ||
	    unpark_heads(p, limit / 2 + 1, now, e) < 0 ||
	    unpark_returning(p, limit, now, e) < 0 ||
	    record_failed(p, now, e) < 0)
		return -1;
	return park_rows(p, limit, now, e);
}
