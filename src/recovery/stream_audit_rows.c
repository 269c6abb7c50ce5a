/*
 * stream_audit_rows.c - looks up delivered rows and judges their fate
 *
 * stream_audit.c decides when, and what follows.
 */

#include "recovery/stream_audit_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "util/xalloc.h"

#define SLICE		1000	/* rows at a time */
#define SPARE_S		60	/* between the clocks of broker and database */
#define LIST_MAX	1000000	/* removed messages to ask for */

/* Look up the messages that are wanted, and no others. */
static int
get_some_stored(struct stream_audit *r, struct stored_message *stored,
    const bool *wanted, size_t n, struct err *e)
{
	struct stored_message	*some = xcalloc(n + 1, sizeof(*some));
	size_t			 nsome = 0;
	int			 rc = 0;

	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			some[nsome++].sequence = stored[i].sequence;
	if (nsome > 0)
		rc = stream_audit_get_stored(r, some, nsome, e);
	for (size_t i = 0, k = 0; rc == 0 && i < n; i++)
		if (wanted[i])
			stored[i] = some[k++];
	free(some);
	return rc;
}

/*
 * Look up the messages of these rows; the caller frees the result.  The state
 * is read afterwards: a message that a limit removed meanwhile is below its
 * first.  NULL: no answer.
 */
static struct stored_message *
read_stored_messages(struct stream_audit *r, const struct acked_list *l,
    struct stream_state *st, struct err *e)
{
	struct stored_message	*stored = xcalloc(l->n + 1, sizeof(*stored));
	bool			*wanted = xcalloc(l->n + 1, sizeof(*wanted));
	bool			 done;

	done = stream_audit_state(r, st, e);
	/* What is below the first is not asked for: it only rises. */
	for (size_t i = 0; done && i < l->n; i++) {
		stored[i].sequence = l->rows[i].ack;
		stored[i].what = STORED_EMPTY;
		wanted[i] = stored[i].sequence >= st->first;
	}
	done = done && get_some_stored(r, stored, wanted, l->n, e) == 0;
	/*
	 * Some servers answer for one sequence that it is empty, when they find
	 * at that moment that a block of their store is damaged, though it is
	 * elsewhere: look again.
	 */
	for (size_t i = 0; done && i < l->n; i++)
		wanted[i] = stored[i].what == STORED_EMPTY &&
		    stored[i].sequence >= st->first &&
		    stored[i].sequence <= st->last && stored[i].sequence > 0;
	done = done && get_some_stored(r, stored, wanted, l->n, e) == 0 &&
	    stream_audit_state(r, st, e);
	free(wanted);
	if (done)
		return stored;
	free(stored);
	return NULL;
}

bool
stream_audit_find(struct stream_audit *r, const struct acked_list *l,
    struct stream_state *st, struct finding *f, struct err *e)
{
	struct stored_message	*stored = read_stored_messages(r, l, st, e);

	if (stored == NULL)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		enum fate fate = stream_audit_judge(st, &l->rows[i],
		    &stored[i]);

		f->there = f->there || fate == FATE_THERE;
		f->lost = f->lost || fate == FATE_LOST;
		f->hole = f->hole || fate == FATE_HOLE;
		f->back = f->back || (f->there && (fate == FATE_LOST ||
		    fate == FATE_HOLE));
	}
	free(stored);
	return true;
}

/*
 * A purged stream still knows the ids of its duplicate window, and would take a
 * message that is sent again for a duplicate; one that was created later does
 * not.
 */
static void
note_known_ids(struct stream_audit_rows *w, const struct stream_state *st)
{
	struct timespec	now;
	struct tm	tm;
	time_t		since;
	char		created[STORE_TIME];

	clock_gettime(CLOCK_REALTIME, &now);
	since = now.tv_sec - (time_t)(st->dedup_window_ms / 1000) - SPARE_S;
	gmtime_r(&since, &tm);
	strftime(w->known_ids, sizeof(w->known_ids), "%Y-%m-%d %H:%M:%S", &tm);
	strlcpy(created, st->created, sizeof("2026-01-31T12:00:00"));
	created[strcspn(created, "T")] = ' ';
	if (strcmp(created, w->known_ids) > 0)
		strlcpy(w->known_ids, created, sizeof(w->known_ids));
}

/*
 * What is known of holes: told and accepted ones are of this database, the
 * removed ones of the broker.  Read when the first hole is met.
 */
struct holes {
	bool			 known, asked;
	struct sequence_set	 told, accepted;
	struct stream_removed	 removed;
	struct sequence_set	 found, healed;	/* of this slice */
};

static enum audited
know_holes(struct stream_audit *r, struct holes *h, struct err *e)
{
	if (!h->known && store_holes(r->store, r->conf->nats.stream, &h->told,
	    &h->accepted, e) < 0)
		return AUDIT_NO_DB;
	h->known = true;
	return AUDIT_DONE;
}

/*
 * Turn FATE_HOLE into what it is, unless an operator has to decide.  Nobody has
 * removed what the broker cannot read and counts as present, or what it lists
 * as lost; some brokers leave out the first.  Where it does not list all gaps
 * that it counts, or would have too many to tell, its list proves nothing.
 */
static enum audited
judge_hole(struct stream_audit *r, const struct stream_audit_rows *w,
    struct holes *h, const struct stream_state *st, uint64_t sequence,
    enum fate *fate, struct err *e)
{
	const struct pub		*p = relay_stream(r->relay);
	struct stream_removed		*list = &h->removed;
	const struct stream_state	*then = &list->state;
	bool				 damaged = w->holes_lost || st->keeps ||
					     (w->steady && st->gaps == w->gaps);

	if (st->forgets)
		damaged = false;
	*fate = st->forgets ? FATE_REMOVED : FATE_HOLE;
	if (!damaged && st->deleted <= LIST_MAX) {
		if (!h->asked && !p->ops->removed(p->arg, list, e))
			return AUDIT_BROKEN;
		h->asked = true;
		damaged = sequence_set_has(&list->damaged, sequence) ||
		    sequence_set_has(&list->damaged, sequence + 1) ||
		    (then->gaps == then->deleted && sequence >= then->first &&
		    sequence <= then->last &&
		    sequence_set_count(&list->deleted) == then->deleted &&
		    !sequence_set_has(&list->deleted, sequence));
	}
	if (damaged)
		*fate = FATE_LOST;
	return AUDIT_DONE;
}

static enum audited
judge_absent(struct stream_audit *r, const struct stream_audit_rows *w,
    struct holes *h, const struct stream_state *st, uint64_t sequence,
    enum fate *fate, struct err *e)
{
	if (*fate == FATE_REMOVED && !w->absent)
		return AUDIT_DONE;
	if (know_holes(r, h, e) != AUDIT_DONE)
		return AUDIT_NO_DB;
	if (sequence_set_has(&h->accepted, sequence))
		*fate = FATE_REMOVED;
	else if (w->absent)
		*fate = FATE_LOST;
	else if (sequence_set_has(&h->told, sequence))
		*fate = FATE_REMOVED;
	else if (*fate == FATE_HOLE)
		return judge_hole(r, w, h, st, sequence, fate, e);
	return AUDIT_DONE;
}

static void
note_hole(struct stream_audit_rows *w, struct holes *h, uint64_t sequence)
{
	sequence_set_add(&h->found, sequence, sequence);
	if (w->told++ == 0 || sequence < w->told_low)
		w->told_low = sequence;
	if (sequence > w->told_high)
		w->told_high = sequence;
}

/* Count the fates, and keep only lost rows in the list. */
static enum audited
pick_lost(struct stream_audit *r, struct stream_audit_rows *w, struct holes *h,
    const struct stream_state *st, struct acked_list *l,
    const struct stored_message *stored, struct err *e)
{
	const struct acked	*rows = l->rows;
	size_t			 nlost = 0;
	enum audited		 audited = AUDIT_DONE;

	note_known_ids(w, st);
	w->empty = st->messages == 0;
	w->expires = st->expires || st->forgets;
	for (size_t i = 0; i < l->n && audited == AUDIT_DONE; i++) {
		enum fate fate = stream_audit_judge(st, &rows[i], &stored[i]);

		if (fate != FATE_THERE && fate != FATE_UNKNOWN)
			audited = judge_absent(r, w, h, st, rows[i].ack, &fate,
			    e);
		w->there += fate == FATE_THERE;
		w->removed += fate == FATE_REMOVED;
		if (fate == FATE_THERE && sequence_set_has(&h->told,
		    rows[i].ack))
			sequence_set_add(&h->healed, rows[i].ack, rows[i].ack);
		if (fate == FATE_HOLE)
			note_hole(w, h, rows[i].ack);
		if (fate != FATE_LOST)
			continue;
		if (w->lost++ == 0 || rows[i].ack < w->low)
			w->low = rows[i].ack;
		if (rows[i].ack > w->high)
			w->high = rows[i].ack;
		l->rows[nlost++] = rows[i];
	}
	l->n = nlost;
	return audited;
}

/* What became of the rows of a slice, and what follows from it. */
static enum audited
judge_slice(struct stream_audit *r, struct stream_audit_rows *w,
    struct acked_list *l, const struct stream_state *st,
    const struct stored_message *stored, struct err *e)
{
	struct holes	h = { .known = false };
	const char	*known_ids;
	uint64_t	changed;
	enum audited	audited = AUDIT_DONE;

	if (w->heals)
		audited = know_holes(r, &h, e);
	if (audited == AUDIT_DONE)
		audited = pick_lost(r, w, &h, st, l, stored, e);
	if (audited == AUDIT_DONE) {
		/* What is only reported is told like a hole, if by nobody. */
		for (size_t i = 0; w->tell && i < l->n; i++)
			note_hole(w, &h, l->rows[i].ack);
		if (w->tell)
			w->lost -= l->n;
		if ((h.found.n > 0 || h.healed.n > 0) &&
		    store_holes_change(r->store, r->conf->nats.stream,
		    &h.found, &h.healed, st->first, e) < 0)
			audited = AUDIT_NO_DB;
	}
	known_ids = w->absent || w->new_ids ? w->known_ids : NULL;
	for (size_t i = 0; audited == AUDIT_DONE && i < l->n && !w->dry;
	    i += SLICE) {
		if (store_reset(r->store, l->rows + i, l->n - i < SLICE ?
		    l->n - i : SLICE, NULL, known_ids, &changed, e) < 0) {
			audited = AUDIT_NO_DB;
			break;
		}
		w->reset += changed;
		r->recovered += changed;
	}
	sequence_set_free(&h.told);
	sequence_set_free(&h.accepted);
	sequence_set_free(&h.found);
	sequence_set_free(&h.healed);
	stream_removed_free(&h.removed);
	return audited;
}

enum audited
stream_audit_slice(struct stream_audit *r, struct stream_audit_rows *w,
    struct store_period *p, size_t max, size_t *n, struct err *e)
{
	struct acked_list	 l;
	struct stream_state	 st;
	struct stored_message	*stored;
	enum audited		 audited = AUDIT_BROKEN;

	if (store_acked(r->store, p, w->unknown_below, max, &l, e) < 0)
		return AUDIT_NO_DB;
	*n = l.n;
	stored = read_stored_messages(r, &l, &st, e);
	if (stored != NULL && w->created != NULL &&
	    strcmp(w->created, st.created) != 0)
		err_set(e, "the stream was created again meanwhile");
	else if (stored != NULL) {
		audited = stream_audit_moved(r, w, &l, &st, stored, e);
		if (audited == AUDIT_DONE)
			audited = judge_slice(r, w, &l, &st, stored, e);
	}
	free(stored);
	free(l.rows);
	return audited;
}

enum audited
stream_audit_rows(struct stream_audit *r, struct stream_audit_rows *w,
    struct store_period *p, struct err *e)
{
	enum audited	audited = AUDIT_DONE;
	size_t		n;

	while (audited == AUDIT_DONE && strcmp(p->from, p->until) < 0)
		audited = stream_audit_slice(r, w, p, SLICE, &n, e);
	return audited;
}
