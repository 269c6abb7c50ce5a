/* hold.c - see hold.h */

#include "hold.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "xalloc.h"

struct row {
	uint64_t	 sequence;
	struct lane	*lane;
	struct part	*part;
	struct row	*next;		/* of the same lane */
	UT_hash_handle	 hh;
};

struct lane {
	struct part	*part;		/* of the head */
	struct row	*rows;
	uint64_t	 head;		/* the lowest sequence of the rows */
	int64_t		 due_at;
	UT_hash_handle	 hh;
	size_t		 len;
	char		 key[];
};

struct hold {
	struct row	*rows;
	struct lane	*lanes;
};

struct hold *
hold_new(void)
{
	return xcalloc(1, sizeof(struct hold));
}

static struct lane *
find_lane(const struct hold *h, struct bytes key)
{
	struct lane	*l;

	HASH_FIND(hh, h->lanes, key.data, key.len, l);
	return l;
}

static struct row *
find_row(const struct hold *h, uint64_t sequence)
{
	struct row	*r;

	HASH_FIND(hh, h->rows, &sequence, sizeof(sequence), r);
	return r;
}

static struct lane *
add_lane(struct hold *h, struct bytes key)
{
	struct lane	*l = xcalloc(1, sizeof(*l) + key.len + 1);

	l->head = UINT64_MAX;
	l->len = key.len;
	memcpy(l->key, key.data, key.len);
	HASH_ADD_KEYPTR(hh, h->lanes, l->key, l->len, l);
	return l;
}

static void
add_row(struct hold *h, struct lane *l, struct part *part, uint64_t sequence)
{
	struct row	*r = xcalloc(1, sizeof(*r));

	r->sequence = sequence;
	r->lane = l;
	r->part = part;
	r->next = l->rows;
	l->rows = r;
	part->nheld++;
	HASH_ADD(hh, h->rows, sequence, sizeof(r->sequence), r);
}

void
hold_row(struct hold *h, struct part *part, struct bytes key,
    uint64_t sequence, int64_t due_at)
{
	struct lane	*l;

	if (find_row(h, sequence) == NULL) {
		if ((l = find_lane(h, key)) == NULL)
			l = add_lane(h, key);
		add_row(h, l, part, sequence);
	} else
		l = find_row(h, sequence)->lane;
	if (sequence > l->head)
		return;
	l->head = sequence;
	l->part = part;
	l->due_at = due_at;
	/* To the end: hold_due begins with those that were not tried longest. */
	HASH_DEL(h->lanes, l);
	HASH_ADD_KEYPTR(hh, h->lanes, l->key, l->len, l);
}

bool
hold_has_row(const struct hold *h, uint64_t sequence)
{
	return find_row(h, sequence) != NULL;
}

bool
hold_bars(const struct hold *h, struct bytes key, uint64_t sequence)
{
	const struct lane	*l = find_lane(h, key);

	return l != NULL && l->head < sequence;
}

static void
drop_lane(struct hold *h, struct lane *l)
{
	struct row	*r, *next;

	for (r = l->rows; r != NULL; r = next) {
		next = r->next;
		HASH_DEL(h->rows, r);
		r->part->nheld--;
		free(r);
	}
	HASH_DEL(h->lanes, l);
	free(l);
}

static void
drop_row(struct hold *h, struct row *r)
{
	struct row	**p = &r->lane->rows;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	r->part->nheld--;
	HASH_DEL(h->rows, r);
	free(r);
}

void
hold_row_gone(struct hold *h, uint64_t sequence)
{
	struct row	*r = find_row(h, sequence);
	struct lane	*l;

	if (r == NULL)
		return;
	l = r->lane;
	if (l->head != sequence) {
		drop_row(h, r);
		return;
	}
	drop_lane(h, l);
}

size_t
hold_due(const struct hold *h, int64_t now, struct pick *picks, size_t max)
{
	const struct lane	*l;
	size_t			 n = 0;

	for (l = h->lanes; l != NULL && n < max; l = l->hh.next)
		if (l->due_at <= now)
			picks[n++] = (struct pick){ l->head, l->part };
	return n;
}

int64_t
hold_next_due(const struct hold *h)
{
	int64_t	next = INT64_MAX;

	for (const struct lane *l = h->lanes; l != NULL; l = l->hh.next)
		if (l->due_at < next)
			next = l->due_at;
	return next;
}

/* A lane may reach into several partitions: labels are the rows' own. */
void
hold_forget_part(struct hold *h, struct part *part)
{
	struct lane	*l, *next_lane;
	struct row	*r, *next_row;

	HASH_ITER(hh, h->lanes, l, next_lane)
		if (l->part == part)
			drop_lane(h, l);
	if (part->nheld == 0)
		return;
	HASH_ITER(hh, h->rows, r, next_row)
		if (r->part == part)
			drop_row(h, r);
}

size_t
hold_nlanes(const struct hold *h)
{
	return HASH_COUNT(h->lanes);
}

void
hold_free(struct hold *h)
{
	struct lane	*l, *tmp;

	if (h == NULL)
		return;
	HASH_ITER(hh, h->lanes, l, tmp)
		drop_lane(h, l);
	free(h);
}
