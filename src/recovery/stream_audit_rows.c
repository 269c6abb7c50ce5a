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

#include "util/clock.h"
#include "util/xalloc.h"

#define SLICE		1000	/* rows at a time */
#define SPARE_S		60	/* between the clocks of broker and database */

bool
stream_audit_state(struct stream_audit *r, struct stream_state *st,
    struct err *e)
{
	struct pub	*p = &r->relay->pub;

	r->gone = false;
	if (!p->ops->state(p->arg, st, e))
		return false;
	r->gone = st->answer != STREAM_THERE;
	st->first_known = r->first_known;
	if (r->gone)
		err_set(e, "no such stream");
	return !r->gone;
}

enum fate
stream_audit_judge(const struct stream_state *st, const struct acked *row,
    const struct stored_message *p)
{
	if (st->answer != STREAM_THERE || (p->sequence != 0 &&
	    p->what == STORED_UNKNOWN))
		return FATE_UNKNOWN;
	if (p->sequence == 0 || p->sequence > st->last)
		return FATE_LOST;
	if (p->what == STORED_OURS && message_id_is(&row->id, &p->id))
		return FATE_THERE;
	if (p->what != STORED_EMPTY)	/* the sequence was used again */
		return FATE_LOST;
	if (st->forgets)
		return FATE_REMOVED;
	return p->sequence >= st->first || (st->first_known != 0 &&
	    p->sequence >= st->first_known) ? FATE_LOST : FATE_REMOVED;
}

/*
 * Calls the relay's keep, and renews the right to audit.  An error of the
 * renewal shows in the next statement.
 */
static bool
go_on(void *arg)
{
	struct stream_audit	*r = arg;
	int64_t			 now = clock_ms();
	struct err		 e;

	if (r->relay->keep(r->relay->keep_arg) != KEEP_ON)
		return false;
	if (now >= r->renew_at) {
		r->renew_at = now + r->conf->worker.lease_renew;
		store_check_renew(r->store, r->conf->nats.stream, &e);
	}
	return true;
}

int
stream_audit_get_stored(struct stream_audit *r, struct stored_message *stored,
    size_t n, struct err *e)
{
	const struct pub	*p = &r->relay->pub;
	const struct pub_go_on	 keep_on = { go_on, r };

	return p->ops->get_stored(p->arg, r->relay->form.id_prefix, stored, n,
	    &keep_on, e);
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

	for (size_t i = 0; i < l->n; i++)
		stored[i].sequence = l->rows[i].ack;
	if (stream_audit_get_stored(r, stored, l->n, e) == 0 &&
	    stream_audit_state(r, st, e))
		return stored;
	free(stored);
	return NULL;
}

static void
note_fate(struct finding *f, enum fate fate)
{
	f->there = f->there || fate == FATE_THERE;
	f->lost = f->lost || fate == FATE_LOST;
	f->back = f->back || (fate == FATE_LOST && f->there);
}

bool
stream_audit_find(struct stream_audit *r, const struct acked_list *l,
    struct stream_state *st, struct finding *f, struct err *e)
{
	struct stored_message	*stored = read_stored_messages(r, l, st, e);

	if (stored == NULL)
		return false;
	for (size_t i = 0; i < l->n; i++)
		note_fate(f, stream_audit_judge(st, &l->rows[i], &stored[i]));
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

/* Count the fates, and keep only lost rows in the list. */
static void
pick_lost(struct stream_audit_rows *w, const struct stream_state *st,
    struct acked_list *l, const struct stored_message *stored)
{
	const struct acked	*rows = l->rows;
	size_t			 nlost = 0;

	note_known_ids(w, st);
	w->empty = st->messages == 0;
	w->expires = st->expires || st->forgets;
	for (size_t i = 0; i < l->n; i++) {
		enum fate fate = stream_audit_judge(st, &rows[i], &stored[i]);

		w->there += fate == FATE_THERE;
		w->removed += fate == FATE_REMOVED;
		if (fate == FATE_UNKNOWN || fate == FATE_THERE ||
		    (fate == FATE_REMOVED && !w->absent))
			continue;
		if (w->lost++ == 0 || rows[i].ack < w->low)
			w->low = rows[i].ack;
		if (rows[i].ack > w->high)
			w->high = rows[i].ack;
		l->rows[nlost++] = rows[i];
	}
	l->n = nlost;
}

static int
reset_lost(struct stream_audit *r, struct stream_audit_rows *w,
    const struct acked_list *l, struct err *e)
{
	uint64_t	changed;

	for (size_t i = 0; i < l->n && !w->dry; i += SLICE) {
		if (store_reset(r->store, l->rows + i, l->n - i < SLICE ?
		    l->n - i : SLICE, w->absent ? w->known_ids : NULL,
		    &changed, e) < 0)
			return -1;
		w->reset += changed;
		r->recovered += changed;
	}
	return 0;
}

/* True if the stream was deleted and created again meanwhile. */
static bool
is_another(const struct stream_audit_rows *w, const struct stream_state *st,
    struct err *e)
{
	bool	another = w->created != NULL &&
		    strcmp(w->created, st->created) != 0;

	if (another)
		err_set(e, "the stream was created again meanwhile");
	return another;
}

/* Audit one slice; moves the beginning of the period on. */
static enum audited
audit_row_slice(struct stream_audit *r, struct stream_audit_rows *w,
    struct store_period *p, struct err *e)
{
	struct acked_list	 l;
	struct stream_state	 st;
	struct stored_message	*stored;
	int			 rc;

	if (store_acked(r->store, p, w->all, SLICE, &l, e) < 0)
		return AUDIT_NO_DB;
	stored = read_stored_messages(r, &l, &st, e);
	if (stored == NULL || is_another(w, &st, e)) {
		free(stored);
		free(l.rows);
		return AUDIT_BROKEN;
	}
	pick_lost(w, &st, &l, stored);
	rc = reset_lost(r, w, &l, e);
	free(stored);
	free(l.rows);
	return rc < 0 ? AUDIT_NO_DB : AUDIT_DONE;
}

enum audited
stream_audit_rows(struct stream_audit *r, struct stream_audit_rows *w,
    struct store_period *p, struct err *e)
{
	enum audited	audited = AUDIT_DONE;

	while (audited == AUDIT_DONE && strcmp(p->from, p->until) < 0)
		audited = audit_row_slice(r, w, p, e);
	return audited;
}
