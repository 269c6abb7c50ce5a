/*
 * recover_walk.c - looks up delivered rows and judges their fate
 *
 * recover.c decides when to look, and what follows.
 */

#include "recovery/recover_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define SLICE		1000	/* rows at a time */

bool
recover_state(struct recover *r, struct stream_state *st, struct err *e)
{
	struct pub	*p = &r->relay->pub;

	if (!p->ops->state(p->arg, st, e))
		return false;
	r->gone = st->created[0] == '\0';
	st->first_known = r->first_known;
	if (r->gone)
		err_set(e, "no such stream");
	return !r->gone;
}

enum fate
recover_judge(const struct stream_state *st, const struct acked *row,
    const struct place *p)
{
	if (p->sequence == 0 || p->sequence > st->last)
		return FATE_LOST;
	if (p->what == PLACE_OURS && message_id_is(&row->id, &p->id))
		return FATE_THERE;
	if (p->what != PLACE_EMPTY)	/* the sequence was used again */
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
bool
recover_go_on(void *arg)
{
	struct recover	*r = arg;
	int64_t		 now = clock_ms();
	struct err	 e;

	if (r->relay->keep(r->relay->keep_arg) != KEEP_ON)
		return false;
	if (now >= r->renew_at) {
		r->renew_at = now + r->conf->worker.lease_renew;
		store_check_renew(r->store, r->conf->nats.stream, &e);
	}
	return true;
}

/*
 * Look up the places of these rows; the caller frees the result.  The state is
 * read afterwards: a message that a limit removed meanwhile is below its
 * first.  NULL: no answer.
 */
static struct place *
look_up(struct recover *r, const struct acked *rows, size_t n,
    struct stream_state *st, struct err *e)
{
	struct pub	*p = &r->relay->pub;
	struct place	*places = xcalloc(n + 1, sizeof(*places));

	for (size_t i = 0; i < n; i++)
		places[i].sequence = rows[i].ack;
	if (p->ops->look_up(p->arg, r->relay->form.id_prefix, places, n,
	    recover_go_on, r, e) == 0 && recover_state(r, st, e))
		return places;
	free(places);
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
recover_find(struct recover *r, const struct acked *rows, size_t n,
    struct stream_state *st, struct finding *f, struct err *e)
{
	struct place	*places = look_up(r, rows, n, st, e);

	if (places == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		note_fate(f, recover_judge(st, &rows[i], &places[i]));
	free(places);
	return true;
}

static size_t
pick_lost(struct recover_walk *w, const struct stream_state *st,
    struct acked *rows, const struct place *places, size_t n)
{
	size_t	nlost = 0;

	w->empty = st->messages == 0;
	w->expires = st->expires || st->forgets;
	for (size_t i = 0; i < n; i++) {
		enum fate fate = recover_judge(st, &rows[i], &places[i]);

		w->there += fate == FATE_THERE;
		w->removed += fate == FATE_REMOVED;
		if (fate == FATE_THERE ||
		    (fate == FATE_REMOVED && !w->absent))
			continue;
		if (w->lost++ == 0 || rows[i].ack < w->low)
			w->low = rows[i].ack;
		if (rows[i].ack > w->high)
			w->high = rows[i].ack;
		rows[nlost++] = rows[i];
	}
	return nlost;
}

static int
reset(struct recover *r, struct recover_walk *w, const struct acked *rows,
    size_t n, struct err *e)
{
	uint64_t	changed;

	for (size_t i = 0; i < n && !w->dry; i += SLICE) {
		if (store_reset(r->store, rows + i, n - i < SLICE ? n - i :
		    SLICE, &changed, e) < 0)
			return -1;
		w->reset += changed;
		r->recovered += changed;
	}
	return 0;
}

/* True if the stream was deleted and created again meanwhile. */
static bool
is_another(const struct recover_walk *w, const struct stream_state *st,
    struct err *e)
{
	bool	another = w->created != NULL &&
		    strcmp(w->created, st->created) != 0;

	if (another)
		err_set(e, "it is another stream now");
	return another;
}

/* Walk one slice; moves from on. */
static enum walked
walk_slice(struct recover *r, struct recover_walk *w, char from[STORE_TIME],
    const char *until, struct err *e)
{
	struct acked		*rows;
	struct stream_state	 st;
	struct place		*places;
	size_t			 n;
	int			 rc;

	if (store_acked(r->store, from, until, w->all, SLICE, &rows, &n,
	    e) < 0)
		return WALK_NO_DB;
	places = look_up(r, rows, n, &st, e);
	if (places == NULL || is_another(w, &st, e)) {
		free(places);
		free(rows);
		return WALK_BROKEN;
	}
	rc = reset(r, w, rows, pick_lost(w, &st, rows, places, n), e);
	free(places);
	free(rows);
	return rc < 0 ? WALK_NO_DB : WALK_DONE;
}

enum walked
recover_walk(struct recover *r, struct recover_walk *w, char from[STORE_TIME],
    const char *until, struct err *e)
{
	enum walked	walked = WALK_DONE;

	while (walked == WALK_DONE && strcmp(from, until) < 0)
		walked = walk_slice(r, w, from, until, e);
	return walked;
}
