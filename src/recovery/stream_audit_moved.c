/*
 * stream_audit_moved.c - messages that are in the stream, elsewhere
 *
 * A replica of an old server may come back with the same messages at other
 * sequences (nats-server 2.9, after its leader stood still), and become the
 * leader.  What another message has the place of is searched for by its id
 * before it counts as lost: sent again, it would be a second copy.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>

#include "recovery/search.h"
#include "util/clock.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define SLICE_MS	1000
#define SETTLE_MS	100

/*
 * The rows of one slice are searched for from the first of the slice before on.
 * Workers settle in other orders than they publish: start so much before it.
 */
#define OVERLAP		10000

static bool
is_displaced(const struct stream_state *st, const struct acked *row,
    const struct stored_message *p)
{
	return row->ack != 0 && stream_audit_judge(st, row, p) == FATE_LOST &&
	    (p->sequence > st->last || p->what != STORED_EMPTY);
}

/* The rows that are displaced; where they can be is behind the others. */
static void
fill_search(struct search *s, struct stream_audit_rows *w,
    const struct acked_list *l, const struct stream_state *st,
    const struct stored_message *stored)
{
	struct sought	x = { .until = st->last };
	uint64_t	first = UINT64_MAX;

	for (size_t i = 0; i < l->n; i++)
		if (is_displaced(st, &l->rows[i], &stored[i]) &&
		    l->rows[i].ack < first)
			first = l->rows[i].ack;
	for (size_t i = 0; w->moved_from == 0 && i < l->n; i++)
		if (l->rows[i].ack < first && l->rows[i].ack > x.from &&
		    stream_audit_judge(st, &l->rows[i], &stored[i]) ==
		    FATE_THERE)
			x.from = l->rows[i].ack;
	x.from = w->moved_from != 0 ? w->moved_from : x.from + 1;
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

enum audited
stream_audit_moved(struct stream_audit *r, struct stream_audit_rows *w,
    struct acked_list *l, const struct stream_state *st,
    struct stored_message *stored, struct err *e)
{
	struct search		 s = { .n = 0 };
	struct acked_list	 old = { .n = 0 };
	uint64_t		*acks, lowest = UINT64_MAX, ack;
	enum audited		 audited = AUDIT_DONE;

	if (!st->replicated)
		return AUDIT_DONE;
	search_in(&s, st);
	fill_search(&s, w, l, st, stored);
	if (s.n > 0 && run_search(r, &s, st, e) < 0)
		audited = AUDIT_BROKEN;
	old.rows = xcalloc(s.n + 1, sizeof(*old.rows));
	acks = xcalloc(s.n + 1, sizeof(*acks));
	for (size_t i = 0; audited == AUDIT_DONE && s.n > 0 && i < l->n; i++) {
		if (search_result(&s, l->rows[i].id.sequence, &ack) !=
		    FOUND_THERE)
			continue;
		old.rows[old.n] = l->rows[i];
		acks[old.n++] = ack;
		if (ack < lowest)
			lowest = ack;
		l->rows[i].ack = stored[i].sequence = ack;
		stored[i].what = STORED_OURS;
		stored[i].id = l->rows[i].id;
	}
	if (old.n > 0) {
		w->moved += old.n;
		w->moved_from = lowest > OVERLAP ? lowest - OVERLAP : 1;
		if (!w->dry && store_moved(r->store, &old, acks, e) < 0)
			audited = AUDIT_NO_DB;
	}
	free(old.rows);
	free(acks);
	search_clear(&s);
	return audited;
}
