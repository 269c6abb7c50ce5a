/*
 * stream_audit_moved.c - messages that are in the stream, elsewhere
 *
 * A replica of an old server may come back with the same messages at other
 * sequences (nats-server 2.9, after its leader stood still), and become the
 * leader.  What another message has the place of is looked for before it counts
 * as lost: sent again, it would be a second copy.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>

#include "recovery/search.h"
#include "util/clock.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define SLICE_MS	1000
#define SETTLE_MS	100

/*
 * A message may be before all places that have changed, by as many as were
 * stored from its first try, which got no answer, to the one that did.
 */
#define BEFORE		100000

static bool
is_displaced(const struct stream_state *st, const struct acked *row,
    const struct stored_message *p)
{
	return row->ack != 0 && stream_audit_judge(st, row, p) == FATE_LOST &&
	    (p->sequence > st->last || p->what != STORED_EMPTY);
}

/* Correct the row: its message is there. */
static void
note_place(struct stream_audit_rows *w, struct acked *row,
    struct stored_message *p, uint64_t ack)
{
	w->moved++;
	w->shift = (int64_t)(ack - row->ack);
	row->ack = p->sequence = ack;
	p->what = STORED_OURS;
	p->id = row->id;
}

/* Most of them have moved as far as the last one. */
static int
try_shift(struct stream_audit *r, struct stream_audit_rows *w,
    struct acked_list *l, const struct stream_state *st,
    struct stored_message *stored, struct err *e)
{
	struct stored_message	*there = xcalloc(l->n + 1, sizeof(*there));
	int			 rc;

	for (size_t i = 0; i < l->n; i++)
		if (is_displaced(st, &l->rows[i], &stored[i]))
			there[i].sequence = l->rows[i].ack + (uint64_t)w->shift;
	rc = stream_audit_get_stored(r, there, l->n, e);
	for (size_t i = 0; rc == 0 && i < l->n; i++)
		if (there[i].sequence != 0 && there[i].what == STORED_OURS &&
		    message_id_is(&l->rows[i].id, &there[i].id))
			note_place(w, &l->rows[i], &stored[i],
			    there[i].sequence);
	free(there);
	return rc;
}

/* The rest can be from the first change on, or somewhat before it. */
static void
fill_search(struct search *s, struct stream_audit_rows *w,
    const struct acked_list *l, const struct stream_state *st,
    const struct stored_message *stored)
{
	struct sought	x = { .until = st->last };

	for (size_t i = 0; i < l->n; i++)
		if (is_displaced(st, &l->rows[i], &stored[i]) &&
		    (w->first_moved == 0 || l->rows[i].ack < w->first_moved))
			w->first_moved = l->rows[i].ack;
	x.from = w->first_moved > BEFORE ? w->first_moved - BEFORE : 1;
	for (size_t i = 0; i < l->n; i++) {
		x.id = l->rows[i].id;
		if (is_displaced(st, &l->rows[i], &stored[i]))
			search_add(s, &x);
	}
}

/* Search until all are decided.  -1: the broker, or the owner, ended it. */
static int
run_search(struct stream_audit *r, struct search *s,
    const struct stream_state *st, struct err *e)
{
	const struct pub	*p = relay_stream(r->relay);
	const struct pub_go_on	 go_on = { stream_audit_go_on, r };
	uint64_t		 ack;
	bool			 later = true;

	while (!search_in(s, st)) {
		sig_wait(NULL, 0, SETTLE_MS);
		if (!stream_audit_go_on(r))
			return err_set(e, "interrupted");
	}
	while (later) {
		if (search_run(s, p, r->relay->form.id_prefix, clock_ms() +
		    SLICE_MS, &go_on, e) < 0)
			return -1;
		if (s->n == 0)
			return err_set(e, "the stream has changed meanwhile");
		later = false;
		for (size_t i = 0; i < s->n; i++)
			later = later || search_result(s,
			    s->items[i].id.sequence, &ack) == FOUND_LATER;
	}
	return 0;
}

static int
search_rest(struct stream_audit *r, struct stream_audit_rows *w,
    struct acked_list *l, const struct stream_state *st,
    struct stored_message *stored, struct err *e)
{
	struct search	s = { .n = 0 };
	uint64_t	ack;
	int		rc = 0;

	search_in(&s, st);
	fill_search(&s, w, l, st, stored);
	if (s.n > 0)
		rc = run_search(r, &s, st, e);
	for (size_t i = 0; rc == 0 && s.n > 0 && i < l->n; i++)
		if (search_result(&s, l->rows[i].id.sequence, &ack) ==
		    FOUND_THERE)
			note_place(w, &l->rows[i], &stored[i], ack);
	search_clear(&s);
	return rc;
}

/* Store the sequences that differ from those before. */
static enum audited
store_places(struct stream_audit *r, const struct acked_list *l,
    const struct acked *before, struct err *e)
{
	struct acked_list	 old = { .n = 0 };
	uint64_t		*acks = xcalloc(l->n + 1, sizeof(*acks));
	enum audited		 audited = AUDIT_DONE;

	old.rows = xcalloc(l->n + 1, sizeof(*old.rows));
	for (size_t i = 0; i < l->n; i++) {
		if (l->rows[i].ack == before[i].ack)
			continue;
		old.rows[old.n] = before[i];
		acks[old.n++] = l->rows[i].ack;
	}
	if (old.n > 0 && store_moved(r->store, &old, acks, e) < 0)
		audited = AUDIT_NO_DB;
	free(old.rows);
	free(acks);
	return audited;
}

enum audited
stream_audit_moved(struct stream_audit *r, struct stream_audit_rows *w,
    struct acked_list *l, const struct stream_state *st,
    struct stored_message *stored, struct err *e)
{
	struct acked	*before;
	enum audited	 audited = AUDIT_DONE;
	size_t		 n = 0;

	for (size_t i = 0; st->replicated && i < l->n; i++)
		n += is_displaced(st, &l->rows[i], &stored[i]);
	if (n == 0)
		return AUDIT_DONE;
	before = xcalloc(l->n, sizeof(*before));
	memcpy(before, l->rows, l->n * sizeof(*before));
	if ((w->shift != 0 && try_shift(r, w, l, st, stored, e) < 0) ||
	    search_rest(r, w, l, st, stored, e) < 0)
		audited = AUDIT_BROKEN;
	else if (!w->dry)
		audited = store_places(r, l, before, e);
	free(before);
	return audited;
}
