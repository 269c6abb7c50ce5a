/* search.c - see search.h */

#include "recovery/search.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define SLICE_MIN	16
#define SLICE_MAX	2000
#define SLICE_MS	100	/* how long a slice should take */
#define SETTLE_MS	1500	/* of replicas: more than a heartbeat */

void
search_clear(struct search *s)
{
	free(s->items);
	memset(s, 0, sizeof(*s));
}

/* The index of the row, or where to insert it. */
static size_t
position_of(const struct search *s, uint64_t row)
{
	size_t	lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->items[mid].id.sequence < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct sought *
find_sought(const struct search *s, uint64_t row)
{
	size_t	i = position_of(s, row);

	return i < s->n && s->items[i].id.sequence == row ? &s->items[i] : NULL;
}

static bool
is_found(const struct sought *x)
{
	return x->ack != 0 && !x->loose;
}

static bool
is_same(const struct stream_state *a, const struct stream_state *b)
{
	return strcmp(a->created, b->created) == 0 &&
	    strcmp(a->leader, b->leader) == 0 &&
	    strcmp(a->server, b->server) == 0;
}

bool
search_in(struct search *s, const struct stream_state *now)
{
	if (!is_same(&s->state, now) || now->last + 1 < s->next)
		search_clear(s);
	if (s->same_since == 0)
		s->same_since = clock_ms();
	s->state = *now;
	return !now->replicated || clock_ms() - s->same_since >= SETTLE_MS;
}

void
search_failed_in(struct search *s)
{
	if (s->state.replicated)
		search_clear(s);
}

bool
search_add(struct search *s, const struct sought *x)
{
	size_t	i = position_of(s, x->id.sequence);

	if (s->n == SEARCH_MAX)
		return false;
	s->items = xreallocarray(s->items, s->n + 1, sizeof(*s->items));
	memmove(&s->items[i + 1], &s->items[i],
	    (s->n - i) * sizeof(*s->items));
	s->items[i] = *x;
	s->items[i].since = clock_ms();
	/* The part that was read was not searched for this one. */
	if (s->n++ == 0 || x->from < s->next)
		s->next = x->from;
	if (s->sure > s->next || s->n == 1)
		s->sure = s->next;
	return true;
}

void
search_drop(struct search *s, uint64_t row)
{
	size_t	i = position_of(s, row);

	if (i == s->n || s->items[i].id.sequence != row)
		return;
	s->n--;
	memmove(&s->items[i], &s->items[i + 1],
	    (s->n - i) * sizeof(*s->items));
}

void
search_drop_older(struct search *s, const struct message_id *id,
    int64_t moment)
{
	const struct sought	*x = find_sought(s, id->sequence);

	if (x != NULL && (x->since < moment || !message_id_is(id, &x->id)))
		search_drop(s, id->sequence);
}

/* It may have been among those that left the stream unread. */
static bool
may_be_removed(const struct search *s, const struct sought *x)
{
	return x->from <= s->removed && (x->not_before == 0 ||
	    s->removed_at == 0 || x->not_before <= s->removed_at);
}

enum found
search_result(const struct search *s, uint64_t row, uint64_t *ack)
{
	const struct sought	*x = find_sought(s, row);

	if (x == NULL)
		return FOUND_NOT_SOUGHT;
	*ack = x->ack;
	if (is_found(x) && x->ack < s->sure)
		return FOUND_THERE;
	if (is_found(x) || x->until >= s->sure)
		return FOUND_LATER;
	if (x->ack != 0)
		return FOUND_THERE;
	return may_be_removed(s, x) ? FOUND_UNKNOWN : FOUND_ABSENT;
}

enum found
search_result_of(const struct search *s, struct msg *m, uint64_t *ack)
{
	const struct sought	*x = find_sought(s, m->sequence);
	enum found		 found = search_result(s, m->sequence, ack);

	if (found != FOUND_THERE || !x->loose ||
	    msg_is_stored(m, &x->found.id, x->found.time))
		return found;
	*ack = 0;
	return may_be_removed(s, x) ? FOUND_UNKNOWN : FOUND_ABSENT;
}

static int
read_slice(struct search *s, const struct pub *p, const char *prefix,
    uint64_t last, const struct pub_go_on *go_on, struct err *e)
{
	size_t			 n = last - s->next < s->slice ?
				    (size_t)(last - s->next) + 1 : s->slice;
	struct stored_message	*stored = xcalloc(n, sizeof(*stored));
	struct sought		*x;
	int64_t			 start = clock_ms(), took;
	int			 rc;

	for (size_t i = 0; i < n; i++)
		stored[i].sequence = s->next + i;
	rc = p->ops->get_stored(p->arg, prefix, stored, n, go_on, e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (stored[i].what == STORED_UNKNOWN)
			rc = err_set(e, "not all messages were read");
		if (stored[i].what != STORED_OURS)
			continue;
		x = find_sought(s, stored[i].id.sequence);
		if (x == NULL || is_found(x) ||
		    !message_id_is(&x->id, &stored[i].id))
			continue;
		x->ack = stored[i].sequence;
		x->found = stored[i];
	}
	if (rc == 0)
		s->next += n;
	/* Messages may be large: a slice must not take all of the time. */
	took = clock_ms() - start;
	if (took < SLICE_MS && s->slice < SLICE_MAX)
		s->slice *= 2;
	else if (took > 2 * SLICE_MS && s->slice > SLICE_MIN)
		s->slice /= 2;
	free(stored);
	return rc;
}

/* The first that a stream has or, if it is empty, will have. */
static uint64_t
first_of(const struct stream_state *st)
{
	return st->messages == 0 ? st->last + 1 : st->first;
}

/* Is the stream still the one that was read?  Else nothing counts. */
static int
end_turn(struct search *s, const struct pub *p, struct err *e)
{
	struct stream_state	now;
	uint64_t		first;

	if (!p->ops->state(p->arg, &now, e))
		return -1;
	if (now.answer != STREAM_THERE)
		return err_set(e, "no such stream");
	if (!is_same(&s->state, &now) || now.last + 1 < s->next) {
		search_clear(s);
		return 0;
	}
	/*
	 * What is below the first message now may have been removed before it
	 * was read, but for what was read in the turns before.  A stream that
	 * removes messages as they are read would never have an answer: there
	 * that is left out.
	 */
	first = first_of(&now);
	if (first > s->sure && !now.forgets) {
		s->removed = (first < s->next ? first : s->next) - 1;
		s->removed_at = now.messages == 0 ? now.last_at : now.first_at;
	}
	s->sure = s->next;
	return 0;
}

int
search_run(struct search *s, const struct pub *p, const char *prefix,
    int64_t end, const struct pub_go_on *go_on, struct err *e)
{
	uint64_t	last, first = first_of(&s->state);

	if (s->slice == 0)
		s->slice = SLICE_MIN;
	if (s->n == 0)
		return 0;
	if (s->next < first)	/* nothing to be read below */
		s->next = first;
	for (;;) {
		/* The end of the part where one may be that is not found. */
		last = 0;
		for (size_t i = 0; i < s->n; i++)
			if (!is_found(&s->items[i]) && s->items[i].until > last)
				last = s->items[i].until;
		if (last < s->next || last == 0 || clock_ms() >= end)
			return end_turn(s, p, e);
		if (read_slice(s, p, prefix, last, go_on, e) < 0)
			return -1;
	}
}
