/* fleet.c - see fleet.h */

#include "worker/fleet_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/away.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define WISH_MS		2000	/* between two tries of a wish */

void
fleet_init(struct fleet *f, const struct conf *conf, struct store *store)
{
	*f = (struct fleet){ .conf = conf, .store = store,
	    .strays.error_class = "label" };
}

void
fleet_clear_report(struct fleet *f)
{
	fleet_free_labels(&f->leased, &f->nleased);
	fleet_free_labels(&f->released, &f->nreleased);
	f->beaten = false;
	f->purged = 0;
}

void
fleet_free(struct fleet *f)
{
	fleet_drop(f);
	fleet_free_labels(&f->desired, &f->ndesired);
	fleet_clear_report(f);
}

void
fleet_restart(struct fleet *f)
{
	if (f->conf->worker.leasing && clock_ms() >= f->lease_until)
		f->nlost += f->nowned;
	fleet_drop(f);
	f->beat_at = f->read_at = f->lease_until = 0;
}

void
fleet_reread(struct fleet *f)
{
	f->read_at = 0;
}

void
fleet_say_away(struct fleet *f, const char *list)
{
	store_say_away(f->store, list);
	f->beat_at = f->read_at = 0;
}

int64_t
fleet_next(const struct fleet *f)
{
	return f->beat_at < f->read_at ? f->beat_at : f->read_at;
}

int
fleet_note_former(struct fleet *f, struct err *e)
{
	if (!f->former_sent)
		return 0;
	if (store_note_former(f->store, e) < 0)
		return -1;
	f->former_sent = false;
	return 0;
}

bool
fleet_stands_by(const struct fleet *f)
{
	return f->nlabels > 0 && f->nowned == 0 && f->ndesired == 0;
}

int
fleet_keep_alive(struct fleet *f, int64_t now, struct err *e)
{
	uint64_t	n;
	bool		known;

	if (now < f->beat_at)
		return 0;
	if (store_beat(f->store, &known, e) < 0)
		return -1;
	if (!known)
		log_warn("this worker's row in the workers table was gone "
		    "(missed heartbeats?); registered again");
	if (f->conf->worker.leasing && store_renew(f->store, &n, e) < 0)
		return -1;
	if (fleet_note_former(f, e) < 0)
		return -1;
	f->lease_until = now + f->conf->worker.lease_ttl;
	f->beat_at = now + f->conf->worker.lease_renew;
	f->beaten = true;
	return 0;
}

/*
 * Which live workers share the partitions: those that do not stand back; and our
 * rank among them.  Other programs, and versions before, sort ids as bytes and
 * say nothing of away: under two orders nobody would want some partitions.
 */
static void
count_fleet(struct fleet *f, const struct store_view *v)
{
	const char	 *me = store_id(f->store);
	const char	**lists = xcalloc(v->nworkers + 1, sizeof(*lists));
	bool		 *back = xcalloc(v->nworkers + 1, sizeof(*back));
	bool		  found = false, all_say = true;

	f->active = f->rank = f->strangers = 0;
	f->stands_back = false;
	for (size_t i = 0; i < v->nworkers; i++) {
		lists[i] = v->workers[i].away;
		all_say = all_say && lists[i] != NULL;
		f->strangers += !ident_is_valid(v->workers[i].id);
	}
	away_judge(lists, v->nworkers, back);
	for (size_t i = 0; i < v->nworkers; i++) {
		const char	*id = v->workers[i].id;

		if (strcmp(id, me) == 0) {
			f->stands_back = back[i];
			found = !back[i];
		}
		if (back[i])
			continue;
		f->active++;
		f->rank += strcmp(id, me) != 0 &&
		    ident_precedes(id, me, all_say && f->strangers == 0);
	}
	if (!found)
		f->rank = f->active;	/* it wants nothing */
	free(lists);
	free(back);
}

/* The partitions of worker rank of n: every n-th, from its own. */
static void
choose_desired(struct fleet *f, const struct store_view *v)
{
	size_t	n, *of = fleet_group(f, v, &n);

	fleet_free_labels(&f->desired, &f->ndesired);
	for (size_t i = 0; i < v->nleases; i++)
		if (!f->conf->worker.leasing ||
		    (f->active > 0 && of[i] % f->active == f->rank))
			fleet_add_label(&f->desired, &f->ndesired,
			    v->leases[i].label);
	free(of);
	f->nlabels = v->nleases;
	f->counts = v->counts;
}

static int
owned_cmp(const void *label, const void *owned)
{
	return strcmp(label, *(char *const *)owned);
}

static bool
owns_label(const struct fleet *f, const char *label)
{
	return f->nowned > 0 && bsearch(label, f->owned, f->nowned,
	    sizeof(*f->owned), owned_cmp) != NULL;
}

/*
 * Release the leases that are not desired, and take those that are and are free;
 * *v is read again if that changed something.
 */
static int
move_leases(struct fleet *f, struct store_view *v, struct err *e)
{
	const struct lease	**out, **in;
	size_t			  nout = 0, nin = 0, next = 0;
	uint64_t		  taken = 0;
	int			  rc = 0;

	if (!f->conf->worker.leasing)
		return 0;
	out = xcalloc(v->nleases + 1, sizeof(*out));
	in = xcalloc(v->nleases + 1, sizeof(*in));
	/* Both lists are sorted: one pass. */
	for (size_t i = 0; i < v->nleases; i++) {
		const struct lease	*l = &v->leases[i];
		bool			 wanted;

		while (next < f->ndesired &&
		    strcmp(f->desired[next], l->label) < 0)
			next++;
		wanted = next < f->ndesired &&
		    strcmp(f->desired[next], l->label) == 0;
		if (!wanted && l->mine)
			out[nout++] = l;
		if (wanted && l->free)
			in[nin++] = l;
	}
	if (nout > 0)
		rc = store_release(f->store, out, nout, e);
	if (rc == 0) {
		f->ngiven += nout;
		for (size_t i = 0; i < nout; i++)
			fleet_add_label(&f->released, &f->nreleased,
			    out[i]->label);
	}
	if (rc == 0 && nin > 0)
		rc = store_acquire(f->store, in, nin, &taken, e);
	if (rc == 0)
		f->ntaken += taken;
	free(out);
	free(in);
	if (rc < 0 || (nout == 0 && taken == 0))
		return rc;
	store_view_free(v);
	return store_view(f->store, v, e);	/* learn the new epochs */
}

/* Make the view's leases our partitions. */
static int
adopt_view(struct fleet *f, struct store_view *v, struct err *e)
{
	unsigned	version = f->parts.version;
	uint64_t	given = f->ngiven, kept = 0;

	if (move_leases(f, v, e) < 0)
		return -1;
	/*
	 * If other counts were declared after the desired labels were chosen,
	 * some of our leases are parts of classes only, which are not served:
	 * choose again at once.
	 */
	if (!counts_are_same(&v->counts, &f->counts))
		fleet_reread(f);
	for (size_t i = 0; i < v->nleases; i++) {
		const struct lease *l = &v->leases[i];

		if (l->mine && owns_label(f, l->label))
			kept++;
		else if (l->mine)
			fleet_add_label(&f->leased, &f->nleased, l->label);
	}
	/* Ours until now, neither in this view nor given back by us. */
	given = f->ngiven - given;
	if (f->conf->worker.leasing && f->nowned > kept + given)
		f->nlost += f->nowned - kept - given;
	fleet_adopt(f, v);
	return version != f->parts.version ? store_check_counts(f->store, e) :
	    0;
}

/* Declare the partition count that the master wishes. */
static int
repartition(struct fleet *f, int64_t now, bool *changed, struct err *e)
{
	struct repartition	r;

	if (f->wish == 0 || now < f->wish_at)
		return 0;
	if (store_repartition(f->store, f->wish, &r, e) < 0)
		return -1;
	if (r.refused)
		log_error("the partition count stays %u, %u is refused: %s",
		    r.counts.count, f->wish, r.why.text);
	else if (r.busy && !f->wish_told)
		log_warn("the partition count cannot be changed yet: an open "
		    "transaction locks the row of settings or a lease: %s; it "
		    "is tried again every %d s", r.why.text, WISH_MS / 1000);
	else if (r.changed)
		log_info("partition count changed from %u to %u; producers may "
		    "use both: outboxctl partitions sync --finish when none "
		    "uses %u any more", r.before.count, r.counts.count,
		    r.before.count);
	f->wish_told = r.busy;
	f->wish_at = now + WISH_MS;
	f->wish = r.busy ? f->wish : 0;
	*changed = *changed || r.changed;
	return 0;
}

/*
 * Others hold all that should be ours, for longer than a lease lasts: say who.
 * Their clock may be ahead, or ours behind.
 */
static int
tell_of_holder(struct fleet *f, int64_t now, struct err *e)
{
	struct labels	mine = { (const char **)f->desired, f->ndesired };

	if (!f->conf->worker.leasing || f->nowned > 0 || f->ndesired == 0) {
		f->none_since = 0;
		log_throttle_over(&f->none, "partitions", now);
		return 0;
	}
	if (f->none_since == 0)
		f->none_since = now;
	if (now - f->none_since < 2 * f->conf->worker.lease_ttl)
		return 0;
	if (store_holder(f->store, &mine, &f->none_why, e) < 0)
		return -1;
	if (f->none_why.text[0] == '\0')
		return 0;
	err_in(&f->none_why, "this worker owns none of the %zu partitions of "
	    "its share", f->ndesired);
	log_throttle_keyed(&f->none, "none", f->none_why.text, now);
	return 0;
}

/* Read workers and leases, and take over what is ours by them. */
static int
check_leases(struct fleet *f, int64_t now, struct err *e)
{
	struct store_view	v;
	bool			changed = false;
	int			rc;

	if (store_view(f->store, &v, e) < 0)
		return -1;
	count_fleet(f, &v);
	rc = repartition(f, now, &changed, e);
	if (rc == 0)
		rc = fleet_housekeep(f, now, &v.counts, &changed, e);
	if (rc == 0 && changed) {
		store_view_free(&v);
		rc = store_view(f->store, &v, e);
	}
	if (rc == 0) {
		choose_desired(f, &v);
		f->read_at = now + FLEET_READ_MS;
		rc = adopt_view(f, &v, e);
	}
	if (rc == 0)
		rc = tell_of_holder(f, now, e);
	if (rc < 0)
		f->read_at = now;
	store_view_free(&v);
	return rc;
}

int
fleet_round(struct fleet *f, int64_t now, struct err *e)
{
	if (now >= f->lease_until && f->conf->worker.leasing) {
		f->nlost += f->nowned;
		fleet_drop(f);
		f->read_at = now;
	}
	if (fleet_keep_alive(f, now, e) < 0)
		return -1;
	return now < f->read_at ? 0 : check_leases(f, now, e);
}
