/* fleet.c - see fleet.h; decides, and lets the store write */

#include "worker/fleet_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/log.h"
#include "util/xalloc.h"

#define SWEEP_MS	2500	/* new labels are served within 5 s */
#define PURGE_MS	(5 * 60 * 1000)
#define PARKED_MS	(30 * 1000)	/* it looks at each parked label */
#define WISH_MS		2000	/* another count: between two tries */

/*
 * A mark speaks of so many rows that are still to come.  That is what who has
 * the lease after us has to look for at most, however late he comes; and how
 * many may be left when it is made anew.
 */
#define EARLY_ROWS	4000
#define EARLY_LEFT	1000

/* Global variables may be set at any time. */
#define SERVER_MS	30000

static void
free_labels(char ***labels, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*labels)[i]);
	free(*labels);
	*labels = NULL;
	*n = 0;
}

static void
add_label(char ***labels, size_t *n, const char *label)
{
	*labels = xreallocarray(*labels, *n + 1, sizeof(**labels));
	(*labels)[(*n)++] = xstrdup(label);
}

void
fleet_init(struct fleet *m, const struct conf *conf, struct store *store,
    struct lanes *lanes)
{
	memset(m, 0, sizeof(*m));
	m->conf = conf;
	m->store = store;
	m->lanes = lanes;
}

void
fleet_clear_report(struct fleet *m)
{
	free_labels(&m->leased, &m->nleased);
	free_labels(&m->released, &m->nreleased);
	m->beaten = false;
	m->purged = 0;
}

void
fleet_free(struct fleet *m)
{
	fleet_drop(m);
	free_labels(&m->desired, &m->ndesired);
	fleet_clear_report(m);
}

void
fleet_restart(struct fleet *m)
{
	fleet_drop(m);
	m->beat_at = m->look_at = m->all_at = m->lease_until = 0;
}

void
fleet_reread(struct fleet *m)
{
	m->look_at = m->all_at = 0;
}

int64_t
fleet_next(const struct fleet *m)
{
	return m->beat_at < m->look_at ? m->beat_at : m->look_at;
}

/* Is it worth to name the labels?  A table of few is read at once. */
static bool
is_small_share(const struct fleet *m, size_t n)
{
	return n > 0 && m->nlabels > STORE_RANGES && n * 4 <= m->nlabels;
}

static const char **
owned_labels(const struct fleet *m, size_t more)
{
	const char	**labels = xcalloc(m->nowned + more + 1,
			    sizeof(*labels));

	for (size_t i = 0; i < m->nowned; i++)
		labels[i] = m->owned[i].label;
	return labels;
}

/* Before the marks go nobody sends early any more. */
static void
stop_going_early(struct fleet *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		for (size_t k = 0; k < m->parts[i]->nlabels; k++)
			m->parts[i]->labels[k].early_upto = 0;
}

static int
renew(struct fleet *m, struct err *e)
{
	uint64_t	  upto = m->early_row == 0 ||
			    !store_can_go_early(m->store) ? 0 :
			    m->early_row + EARLY_ROWS;
	const char	**labels = NULL;
	uint64_t	  n;
	int		  rc;

	m->early_row = 0;
	if (upto == 0)
		stop_going_early(m);
	if (is_small_share(m, m->nowned))
		labels = owned_labels(m, 0);
	rc = store_renew(m->store, labels, m->nowned, upto, &n, e);
	free(labels);
	return rc;
}

static int
lease_cmp(const void *label, const void *lease)
{
	return strcmp(label, ((const struct lease *)lease)->label);
}

/*
 * What was marked under epochs that are over, by these leases, has gone well
 * if we are here to tell; without that whoever has the lease next would look
 * for rows in vain.
 */
static void
list_old_marks(const struct part *p, const struct lease *leases, size_t n,
    struct range *old, size_t *nold)
{
	for (size_t i = 0; i < p->nlabels; i++) {
		const struct part_label	*x = &p->labels[i];
		const struct lease	*l = bsearch(x->label, leases, n,
					     sizeof(*leases), lease_cmp);

		if (x->early_upto != 0 &&
		    (l == NULL || !l->mine || l->epoch != x->epoch))
			old[(*nold)++] = (struct range){ .label = x->label,
			    .epoch = x->epoch };
	}
}

static int
forget_marks(struct fleet *m, const struct lease *leases, size_t n,
    struct err *e)
{
	struct range	*old = xcalloc(fleet_nlabels(m) + 1, sizeof(*old));
	size_t		 nold = 0;
	int		 rc = 0;

	for (size_t i = 0; i < m->nparts; i++)
		list_old_marks(m->parts[i], leases, n, old, &nold);
	if (nold > 0)
		rc = store_forget_marks(m->store, old, nold, e);
	free(old);
	return rc;
}

/* What all of its leases say: the least. */
static uint64_t
early_upto(const struct part *p)
{
	uint64_t	least = UINT64_MAX;

	for (size_t i = 0; i < p->nlabels; i++)
		if (p->labels[i].early_upto < least)
			least = p->labels[i].early_upto;
	return least;
}

/* Rows without a label are two ranges, and their lease is left alone. */
bool
fleet_may_go_early(struct fleet *m, const struct part *p, uint64_t sequence,
    int64_t now)
{
	uint64_t	upto = early_upto(p);

	if (part_name(p)[0] == '\0' || fleet_is_unsure(p, 1))
		return false;
	if (sequence > m->early_row)
		m->early_row = sequence;
	if (!store_can_go_early(m->store))
		return false;
	if (sequence + EARLY_LEFT > upto) {
		m->mark_now = true;
		m->look_at = now;
	}
	return sequence <= upto;
}

int
fleet_forget_marks(struct fleet *m, struct err *e)
{
	static const struct lease	nobodys[1];

	return forget_marks(m, nobodys, 0, e);
}

int
fleet_note_former(struct fleet *m, struct err *e)
{
	if (!m->former_sent)
		return 0;
	if (store_note_former(m->store, e) < 0)
		return -1;
	m->former_sent = false;
	return 0;
}

int
fleet_keep_alive(struct fleet *m, int64_t now, struct err *e)
{
	bool		known;

	if (now < m->beat_at)
		return 0;
	if (store_beat(m->store, &known, e) < 0)
		return -1;
	if (!known)
		log_warn("our row in the workers table was gone; registered "
		    "again");
	if (m->conf->worker.leasing && renew(m, e) < 0)
		return -1;
	if (fleet_note_former(m, e) < 0)
		return -1;
	m->lease_until = now + m->conf->worker.lease_ttl;
	m->beat_at = now + m->conf->worker.lease_renew;
	m->beaten = true;
	return 0;
}

/* My place among the living, and how many they are. */
static void
count_fleet(struct fleet *m, const struct store_view *v)
{
	m->active = v->nids;
	m->place = v->nids;	/* not found: wants nothing */
	m->strangers = 0;
	for (size_t i = 0; i < v->nids; i++)
		if (strcmp(v->ids[i], store_id(m->store)) == 0)
			m->place = i;
		else
			m->strangers += !ident_is_valid(v->ids[i]);
}

static bool
is_wanted(const struct fleet *m, size_t i)
{
	if (!m->conf->worker.leasing)
		return true;
	return m->place < m->active && i % m->active == m->place;
}

/* What to give up and what to take, from the table as it is. */
struct moves {
	const struct lease	**out, **in;
	size_t			  nout, nin;
};

static void
choose_desired(struct fleet *m, const struct store_view *v)
{
	size_t	*of = xcalloc(v->nleases + 1, sizeof(*of));

	fleet_group(m, &v->counts, v->leases, v->nleases, of);
	free_labels(&m->desired, &m->ndesired);
	for (size_t i = 0; i < v->nleases; i++)
		if (is_wanted(m, of[i]))
			add_label(&m->desired, &m->ndesired,
			    v->leases[i].label);
	free(of);
	m->nlabels = v->nleases;
	m->counts = v->counts;
	m->for_place = m->place;
	m->for_active = m->active;
}

/* Both are sorted: one pass. */
static void
plan_moves(struct fleet *m, const struct lease *leases, size_t n,
    struct moves *mv)
{
	size_t	next = 0;

	mv->out = xcalloc(n + 1, sizeof(*mv->out));
	mv->in = xcalloc(n + 1, sizeof(*mv->in));
	for (size_t i = 0; i < n; i++) {
		bool wanted;

		while (next < m->ndesired &&
		    strcmp(m->desired[next], leases[i].label) < 0)
			next++;
		wanted = next < m->ndesired &&
		    strcmp(m->desired[next], leases[i].label) == 0;
		if (!wanted && leases[i].mine)
			mv->out[mv->nout++] = &leases[i];
		if (wanted && leases[i].free)
			mv->in[mv->nin++] = &leases[i];
	}
}

static int
make_moves(struct fleet *m, struct moves *mv, bool *changed, struct err *e)
{
	uint64_t	taken = 0;

	if (mv->nout > 0 &&
	    store_release(m->store, mv->out, mv->nout, e) < 0)
		return -1;
	for (size_t i = 0; i < mv->nout; i++)
		add_label(&m->released, &m->nreleased, mv->out[i]->label);
	if (mv->nin > 0 &&
	    store_acquire(m->store, mv->in, mv->nin, &taken, e) < 0)
		return -1;
	*changed = mv->nout > 0 || taken > 0;
	return 0;
}

static void
report_taken(struct fleet *m, const struct lease *leases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (leases[i].mine && !fleet_owns(m, leases[i].label))
			add_label(&m->leased, &m->nleased, leases[i].label);
}

static bool
must_see_all(const struct fleet *m, int64_t now)
{
	return !is_small_share(m, m->ndesired) || now >= m->all_at ||
	    m->place != m->for_place || m->active != m->for_active;
}

/* What was made says who is to do something about it. */
static void
tell_strays(const struct counts *c, unsigned n, const char *label)
{
	if (counts_is_label(label) && counts_class(c, label) == COUNTS_NONE)
		log_warn("%u partition label(s) of waiting rows had no lease "
		    "row, \"%s\" among them: created; a producer uses a "
		    "partition count that is not declared, so that keys may "
		    "lose their order: let it use %u, or make its count the "
		    "present one with outbox.partition_count", n, label,
		    c->count);
	else
		log_warn("%u partition label(s) of waiting rows had no "
		    "lease row, \"%s\" among them: created", n, label);
}

static int
sweep(struct fleet *m, int (*adopt)(struct store *, unsigned *,
    char[STORE_LABEL], struct err *), const struct counts *c, bool *created,
    struct err *e)
{
	char		label[STORE_LABEL];
	unsigned	n;

	if (adopt(m->store, &n, label, e) < 0)
		return -1;
	if (n > 0)
		tell_strays(c, n, label);
	*created |= n > 0;
	return 0;
}

/* Duties of one worker of the fleet: the first.  Were leases created? */
static int
housekeep(struct fleet *m, int64_t now, const struct counts *c,
    bool *created, struct err *e)
{
	if (m->place != 0)
		return 0;
	if (now >= m->sweep_at) {
		m->sweep_at = now + SWEEP_MS;
		if (sweep(m, store_adopt_strays, c, created, e) < 0)
			return -1;
	}
	if (now >= m->parked_at) {
		m->parked_at = now + PARKED_MS;
		if (sweep(m, store_adopt_parked, c, created, e) < 0)
			return -1;
	}
	if (now >= m->purge_at) {
		m->purge_at = now + PURGE_MS;
		if (store_purge(m->store, &m->purged, e) < 0)
			return -1;
	}
	return 0;
}

/* All leases, or those that are ours or should be, and rows, if wanted. */
static int
read_view(struct fleet *m, bool all, bool rows, struct store_view *v,
    struct err *e)
{
	struct labels	leases = { owned_labels(m, m->ndesired),
			    m->nowned + m->ndesired };
	struct labels	parts = { leases.list, m->nowned };
	int		rc;

	for (size_t i = 0; i < m->ndesired; i++)
		leases.list[m->nowned + i] = m->desired[i];
	rc = store_view(m->store, all ? NULL : &leases, rows ? &parts : NULL,
	    v, e);
	free(leases.list);
	return rc;
}

/* The same again, after a change. */
static int
read_again(struct fleet *m, bool all, bool rows, struct store_view *v,
    struct err *e)
{
	store_view_free(v);
	return read_view(m, all, rows, v, e);
}

/* In and out; the view is as it is after that. */
static int
move(struct fleet *m, bool all, struct store_view *v, struct err *e)
{
	struct moves	mv = { 0 };
	bool		changed = false;
	int		rc = 0;

	plan_moves(m, v->leases, v->nleases, &mv);
	if (m->conf->worker.leasing)
		rc = make_moves(m, &mv, &changed, e);
	free(mv.out);
	free(mv.in);
	if (rc < 0 || !changed)
		return rc;
	return read_again(m, all, false, v, e);	/* learn the new epochs */
}

/*
 * A raised epoch may tell of another label of a class, or of other counts: in
 * a share that cannot be seen.
 */
static int
see_all(struct fleet *m, int64_t now, struct store_view *v, struct err *e)
{
	if (read_again(m, true, false, v, e) < 0)
		return -1;
	count_fleet(m, v);
	choose_desired(m, v);
	m->all_at = now + FLEET_ALL_MS;
	return 0;
}

/*
 * What the view told of our rows holds if the partitions are still the same.
 * If other counts were declared since the desired ones were chosen, we own what
 * we owned, under epochs that are over, and look again.
 */
static int
adopt(struct fleet *m, int64_t now, bool all, bool asked,
    struct store_view *v, struct err *e)
{
	unsigned	moves = m->moves;
	bool		waits = v->waits;

	if (move(m, all, v, e) < 0)
		return -1;
	if (!all && !fleet_knows(m, v) && see_all(m, now, v, e) < 0)
		return -1;
	if (!counts_are_same(&v->counts, &m->counts)) {
		fleet_reread(m);
		return 0;
	}
	report_taken(m, v->leases, v->nleases);
	if (forget_marks(m, v->leases, v->nleases, e) < 0)
		return -1;
	fleet_adopt(m, v);
	if (fleet_has_fresh(m) && store_check_counts(m->store, e) < 0)
		return -1;
	if (asked && moves == m->moves)
		m->rows = waits ? FLEET_ROWS : FLEET_NO_ROWS;
	return 0;
}

static void
tell_repartition(struct fleet *m, const struct repartition *r)
{
	if (r->refused)
		log_error("the partition count stays %u, %u is refused: %s",
		    r->counts.count, m->wish, r->why.text);
	else if (r->busy && !m->wish_told)
		log_warn("the partition count cannot be changed yet: an open "
		    "transaction locks the row of settings or a lease: %s; it "
		    "is tried again every %d s", r->why.text, WISH_MS / 1000);
	else if (r->changed)
		log_info("partition count changed from %u to %u; producers may "
		    "use both: outboxctl partitions sync --finish when none "
		    "uses %u any more", r->before.count, r->counts.count,
		    r->before.count);
	m->wish_told = r->busy;
}

/* Another partition count, if the master asks for it. */
static int
repartition(struct fleet *m, int64_t now, bool *changed, struct err *e)
{
	struct repartition	r;

	if (m->wish == 0 || now < m->wish_at)
		return 0;
	if (store_repartition(m->store, m->wish, &r, e) < 0)
		return -1;
	tell_repartition(m, &r);
	m->wish_at = now + WISH_MS;
	m->wish = r.busy ? m->wish : 0;
	*changed = *changed || r.changed;
	return 0;
}

/* Who is alive, and all leases where that or a duty of ours changes them. */
static int
see(struct fleet *m, int64_t now, bool *all, bool rows,
    struct store_view *v, struct err *e)
{
	bool	created = false;

	count_fleet(m, v);
	if (repartition(m, now, &created, e) < 0 ||
	    housekeep(m, now, &v->counts, &created, e) < 0)
		return -1;
	if (created || (!*all && (must_see_all(m, now) ||
	    !counts_are_same(&v->counts, &m->counts)))) {
		*all = true;
		return read_again(m, true, rows, v, e);
	}
	return 0;
}

/* Rows are asked about where one statement can do it. */
static int
look(struct fleet *m, int64_t now, struct err *e)
{
	struct store_view	v;
	bool			all = must_see_all(m, now);
	bool			ask = m->ask && m->nowned > 0 &&
				    m->nowned <= STORE_RANGES;
	int			rc;

	if (read_view(m, all, ask, &v, e) < 0)
		return -1;
	rc = see(m, now, &all, ask, &v, e);
	if (rc == 0 && all) {
		m->all_at = now + FLEET_ALL_MS;
		choose_desired(m, &v);
	}
	if (rc == 0) {
		m->look_at = now + FLEET_LOOK_MS;
		rc = adopt(m, now, all, ask, &v, e);
	}
	if (rc < 0)
		m->look_at = now;
	store_view_free(&v);
	return rc;
}

/* Former owners' marks, as soon as no row needs them any more. */
static int
clear_marks(struct fleet *m, struct err *e)
{
	bool	any = false;

	for (size_t i = 0; i < m->nparts; i++)
		any = any || fleet_is_unsure(m->parts[i], 1);
	return any ? store_clear_marks(m->store, e) : 0;
}

/* Somebody would go early: what is known of the server must not be old. */
static int
check_server(struct fleet *m, int64_t now, struct err *e)
{
	if (m->early_row == 0 || now < m->server_at)
		return 0;
	m->server_at = now + SERVER_MS;
	return store_check_server(m->store, e);
}

int
fleet_round(struct fleet *m, int64_t now, struct err *e)
{
	m->rows = FLEET_NOT_ASKED;
	if (check_server(m, now, e) < 0)
		return -1;
	if (now >= m->lease_until && m->conf->worker.leasing) {
		fleet_drop(m);
		m->look_at = now;
	}
	if (m->mark_now)
		m->beat_at = now;
	m->mark_now = false;
	if (fleet_keep_alive(m, now, e) < 0)
		return -1;
	if (now < m->look_at)
		return 0;
	return clear_marks(m, e) < 0 ? -1 : look(m, now, e);
}
