/* lanes.c - see lanes.h */

#include "worker/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define SOONEST_UNKNOWN	INT64_MIN

struct blocked_row {
	uint64_t		 sequence;
	struct blocked_lane	*lane;
	struct part		*part;
	struct blocked_row	*next;		/* of the same lane */
	UT_hash_handle		 hh;
};

struct lanes *
lanes_new(void)
{
	struct lanes	*h = xcalloc(1, sizeof(struct lanes));

	h->soonest = INT64_MAX;
	return h;
}

struct blocked_lane *
lanes_find(const struct lanes *h, struct bytes lane)
{
	struct blocked_lane	*l;

	HASH_FIND(hh, h->lanes, lane.data, lane.len, l);
	return l;
}

static struct blocked_row *
find_row(const struct lanes *h, uint64_t sequence)
{
	struct blocked_row	*r;

	HASH_FIND(hh, h->rows, &sequence, sizeof(sequence), r);
	return r;
}

static struct blocked_lane *
add_lane(struct lanes *h, const struct wait *w)
{
	struct blocked_lane	*l;

	l = xcalloc(1, sizeof(*l) + w->lane.len + w->key.len + 1);
	l->head = l->parked_from = l->halted = LANE_NONE;
	l->due_at = INT64_MAX;
	l->len = w->lane.len;
	memcpy(l->name, w->lane.data, w->lane.len);
	if (w->key.data != NULL) {
		memcpy(l->name + l->len, w->key.data, w->key.len);
		l->key = (struct bytes){ l->name + l->len, w->key.len };
	}
	HASH_ADD_KEYPTR(hh, h->lanes, l->name, l->len, l);
	return l;
}

static void
add_row(struct lanes *h, struct blocked_lane *l, struct part *part,
    uint64_t sequence)
{
	struct blocked_row	*r = xcalloc(1, sizeof(*r));

	r->sequence = sequence;
	r->lane = l;
	r->part = part;
	r->next = l->rows;
	l->rows = r;
	l->nrows++;
	part->nblocked++;
	HASH_ADD(hh, h->rows, sequence, sizeof(r->sequence), r);
}

/* Set the due time of a head, and adapt the soonest of all. */
static void
set_due(struct lanes *h, struct blocked_lane *l, int64_t due_at)
{
	if (due_at <= h->soonest)
		h->soonest = due_at;
	else if (l->due_at == h->soonest)
		h->soonest = SOONEST_UNKNOWN;
	l->due_at = due_at;
}

bool
lane_is_returning(const struct blocked_lane *l)
{
	return l->head == LANE_NONE && l->halted == LANE_NONE &&
	    l->parked_from != LANE_NONE;
}

/* The head becomes a normal row; if it is parked, the first parked one. */
static void
lose_head(struct blocked_lane *l)
{
	if (l->head_parked && l->head < l->parked_from)
		l->parked_from = l->head;
	l->head_parked = false;
}

/* Rows from here on wait for parked rows or a halt, with or without a head. */
static uint64_t
behind_from(const struct blocked_lane *l)
{
	return l->halted < l->parked_from ? l->halted + 1 : l->parked_from;
}

static bool
is_behind(const struct blocked_lane *l, uint64_t sequence)
{
	return sequence >= behind_from(l);
}

void
lanes_block(struct lanes *h, const struct wait *w)
{
	struct blocked_row	*r = find_row(h, w->sequence);
	struct blocked_lane	*l = r != NULL ? r->lane :
				     lanes_find(h, w->lane);

	if (l == NULL)
		l = add_lane(h, w);
	if (r == NULL)
		add_row(h, l, w->part, w->sequence);
	if (w->sequence > l->head || is_behind(l, w->sequence))
		return;
	/* The row is its head. */
	h->nreturning -= lane_is_returning(l);
	if (w->sequence < l->head)
		lose_head(l);
	l->head = w->sequence;
	l->part = w->part;
	l->why = w->why;
	l->type = w->type;
	l->head_parked = false;
	set_due(h, l, w->due_at);
	h->unrecorded = h->unrecorded || l->record == 0;
	/* To the end: lanes_due() starts with the head tried longest ago. */
	HASH_DEL(h->lanes, l);
	HASH_ADD_KEYPTR(hh, h->lanes, l->name, l->len, l);
}

bool
lanes_has_row(const struct lanes *h, uint64_t sequence)
{
	return find_row(h, sequence) != NULL;
}

bool
lanes_blocks(const struct lanes *h, struct bytes lane, uint64_t sequence)
{
	const struct blocked_lane	*l = lanes_find(h, lane);

	return l != NULL && (l->head < sequence || is_behind(l, sequence));
}

/* Forget the row that *p points to. */
static void
drop_row_at(struct lanes *h, struct blocked_row **p)
{
	struct blocked_row	*r = *p;

	*p = r->next;
	r->lane->nrows--;
	r->part->nblocked--;
	HASH_DEL(h->rows, r);
	free(r);
}

static void
drop_row(struct lanes *h, const struct blocked_row *r)
{
	struct blocked_row	**p = &r->lane->rows;

	while (*p != r)
		p = &(*p)->next;
	drop_row_at(h, p);
}

/* The rows of the lane before this one; of this part only, unless NULL. */
static void
drop_rows(struct lanes *h, struct blocked_lane *l, const struct part *part,
    uint64_t before)
{
	struct blocked_row	**p = &l->rows;

	while (*p != NULL)
		if ((*p)->sequence < before &&
		    (part == NULL || (*p)->part == part))
			drop_row_at(h, p);
		else
			p = &(*p)->next;
}

/* Its record in the table of blocked keys can be deleted. */
static void
note_lifted(struct lanes *h, struct blocked_lane *l)
{
	if (l->record == 0)
		return;
	h->lifted = xreallocarray(h->lifted, h->nlifted + 1,
	    sizeof(*h->lifted));
	h->lifted[h->nlifted++] = (struct lifted){ l->record, l->home };
}

static void
drop_lane(struct lanes *h, struct blocked_lane *l)
{
	h->nreturning -= lane_is_returning(l);
	drop_rows(h, l, NULL, LANE_NONE);
	set_due(h, l, INT64_MAX);
	HASH_DEL(h->lanes, l);
	free(l);
}

static void
head_gone(struct lanes *h, struct blocked_lane *l)
{
	if (l->parked_from == LANE_NONE && l->halted == LANE_NONE) {
		note_lifted(h, l);
		drop_lane(h, l);
		return;
	}
	/* The next scan finds the rows before parked and halted ones. */
	drop_rows(h, l, NULL, behind_from(l));
	l->head = LANE_NONE;
	set_due(h, l, INT64_MAX);
	h->nreturning += lane_is_returning(l);
}

void
lanes_row_gone(struct lanes *h, uint64_t sequence)
{
	struct blocked_row	*r = find_row(h, sequence);
	struct blocked_lane	*l;

	if (r == NULL)
		return;
	l = r->lane;
	if (l->head == sequence)
		head_gone(h, l);
	else
		drop_row(h, r);
}

size_t
lanes_due(struct lanes *h, int64_t now, struct pick *picks, size_t max)
{
	size_t	n = 0;

	if (lanes_next_due(h) > now)
		return 0;
	for (const struct blocked_lane *l = h->lanes; l != NULL && n < max;
	    l = l->hh.next)
		if (l->due_at <= now && !l->head_parked)
			picks[n++] = (struct pick){ l->head, l->part };
	return n;
}

void
lanes_types_taken(struct lanes *h, const uint64_t *held, size_t n, int64_t now)
{
	for (struct blocked_lane *l = h->lanes; l != NULL; l = l->hh.next) {
		int64_t	at = l->head_parked ? later(now, l->aside_until) : now;
		size_t	i = 0;

		while (i < n && held[i] != l->type)
			i++;
		if (l->why == BLOCK_TYPE && l->head != LANE_NONE &&
		    l->due_at > at && i == n)
			set_due(h, l, at);
	}
}

void
lanes_offer_one(struct lanes *h, uint64_t type, int64_t now)
{
	struct blocked_lane	*found = NULL, *l;

	for (l = h->lanes; l != NULL; l = l->hh.next)
		if (l->why == BLOCK_TYPE && l->head != LANE_NONE &&
		    l->type == type && (found == NULL ||
		    (l->head_parked == found->head_parked ?
		    l->due_at < found->due_at : found->head_parked)))
			found = l;
	if (found == NULL)
		return;
	if (found->head_parked)
		now = later(now, found->aside_until);
	if (found->due_at > now)
		set_due(h, found, now);
}

bool
lanes_wait_for_route(const struct lanes *h)
{
	for (const struct blocked_lane *l = h->lanes; l != NULL; l = l->hh.next)
		if (l->head != LANE_NONE &&
		    (l->why == BLOCK_REFUSED || l->why == BLOCK_CLAIMED ||
		    l->why == BLOCK_DOUBT))
			return true;
	return false;
}

int64_t
lanes_next_due(struct lanes *h)
{
	if (h->soonest != SOONEST_UNKNOWN)
		return h->soonest;
	h->soonest = INT64_MAX;
	for (const struct blocked_lane *l = h->lanes; l != NULL; l = l->hh.next)
		h->soonest = sooner(h->soonest, l->due_at);
	return h->soonest;
}

void
lanes_forget_part(struct lanes *h, struct part *part)
{
	struct blocked_lane	*l, *next;
	size_t			 kept = 0;

	/* A lane may have rows in several: each row has its own label. */
	HASH_ITER(hh, h->lanes, l, next) {
		h->nreturning -= lane_is_returning(l);
		if (l->home == part) {
			l->home = NULL;
			l->record = 0;
			l->parked_from = LANE_NONE;
		}
		if (l->halter == part) {
			l->halter = NULL;
			l->halted = LANE_NONE;
		}
		h->nreturning += lane_is_returning(l);
		if (l->home == NULL && l->halter == NULL &&
		    (l->part == part || l->head == LANE_NONE)) {
			drop_lane(h, l);
			continue;
		}
		if (part->nblocked > 0)
			drop_rows(h, l, part, LANE_NONE);
		if (l->part != part)
			continue;
		l->part = l->home != NULL ? l->home : l->halter;
		if (l->head != LANE_NONE)
			head_gone(h, l);
	}
	/* The records of this partition stay: they are read again. */
	for (size_t i = 0; i < h->nlifted; i++)
		if (h->lifted[i].home != part)
			h->lifted[kept++] = h->lifted[i];
	h->nlifted = kept;
}

size_t
lanes_count(const struct lanes *h)
{
	return HASH_COUNT(h->lanes);
}

size_t
lanes_nrows(const struct lanes *h)
{
	return HASH_COUNT(h->rows);
}

struct blocked_lane *
lanes_load(struct lanes *h, const struct wait *w, uint64_t record,
    uint64_t parked_from, bool head_parked)
{
	struct blocked_lane	*l = add_lane(h, w);

	l->part = l->home = w->part;
	l->record = record;
	l->parked_from = parked_from;
	l->head = w->sequence;
	l->why = w->why;
	set_due(h, l, w->due_at);
	l->head_parked = head_parked;
	if (l->head != LANE_NONE && !head_parked)
		add_row(h, l, w->part, w->sequence);
	h->nreturning += lane_is_returning(l);
	return l;
}

void
lanes_halt(struct lanes *h, struct blocked_lane *l, struct part *part,
    uint64_t sequence)
{
	h->nreturning -= lane_is_returning(l);
	if (sequence < l->halted) {
		l->halted = sequence;
		l->halter = part;
	}
	if (l->head == LANE_NONE || l->head <= l->halted)
		return;
	lose_head(l);
	l->head = LANE_NONE;
	set_due(h, l, INT64_MAX);
}

size_t
lane_list_rows(const struct blocked_lane *l, uint64_t *out, size_t max)
{
	const struct part	*home = l->home != NULL ? l->home : l->part;
	size_t			 n = 0;

	for (const struct blocked_row *r = l->rows; r != NULL && n < max;
	    r = r->next)
		if (r->part == home && r->sequence != l->head)
			out[n++] = r->sequence;
	return n;
}

void
lanes_parked(struct lanes *h, struct blocked_lane *l, const uint64_t *sequences,
    size_t n)
{
	const struct blocked_row	*r;

	h->nreturning -= lane_is_returning(l);
	for (size_t i = 0; i < n; i++) {
		if (sequences[i] == l->head)
			l->head_parked = true;
		else if (sequences[i] < l->parked_from)
			l->parked_from = sequences[i];
		if ((r = find_row(h, sequences[i])) != NULL)
			drop_row(h, r);
	}
	h->nreturning += lane_is_returning(l);
}

void
lanes_put_aside(struct lanes *h, struct blocked_lane *l, int64_t until)
{
	l->aside_until = until;
	if (l->head_parked)
		set_due(h, l, until);
}

void
lanes_head_back(struct lanes *h, struct blocked_lane *l)
{
	l->head_parked = false;
	add_row(h, l, l->part, l->head);
}

void
lanes_rows_back(struct lanes *h, struct blocked_lane *l, uint64_t next)
{
	if (next == LANE_NONE) {
		note_lifted(h, l);
		drop_lane(h, l);
		return;
	}
	l->parked_from = next;
	drop_rows(h, l, NULL, next);
}

void
lanes_free(struct lanes *h)
{
	struct blocked_lane	*l, *tmp;

	if (h == NULL)
		return;
	HASH_ITER(hh, h->lanes, l, tmp)
		drop_lane(h, l);
	free(h->lifted);
	free(h);
}
