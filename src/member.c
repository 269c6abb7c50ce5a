/* member.c - see member.h; decides, and lets the store write */

#include "member.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "log.h"
#include "xalloc.h"

#define SWEEP_MS	5000
#define PURGE_MS	(5 * 60 * 1000)
#define PARKED_MS	(30 * 1000)	/* it looks at each parked label */

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

static void
drop_part(struct member *m, struct part *p)
{
	hold_forget_part(m->hold, p);
	free(p);
	m->moves++;
}

static void
drop_parts(struct member *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		drop_part(m, m->parts[i]);
	free(m->parts);
	m->parts = NULL;
	m->nparts = 0;
}

void
member_init(struct member *m, const struct conf *conf, struct store *store,
    struct hold *hold)
{
	memset(m, 0, sizeof(*m));
	m->conf = conf;
	m->store = store;
	m->hold = hold;
	m->change.store = store;
}

void
member_clear_report(struct member *m)
{
	free_labels(&m->leased, &m->nleased);
	free_labels(&m->released, &m->nreleased);
	m->beaten = false;
	m->purged = 0;
}

void
member_free(struct member *m)
{
	drop_parts(m);
	free_labels(&m->desired, &m->ndesired);
	member_clear_report(m);
}

void
member_restart(struct member *m)
{
	drop_parts(m);
	m->beat_at = m->look_at = m->all_at = m->lease_until = 0;
}

void
member_look_now(struct member *m)
{
	m->look_at = m->all_at = 0;
}

int64_t
member_next(const struct member *m)
{
	return m->beat_at < m->look_at ? m->beat_at : m->look_at;
}

bool
member_has_fresh(const struct member *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		if (m->parts[i]->fresh)
			return true;
	return false;
}

static int
label_cmp(const char *a, struct bytes b)
{
	size_t	len = strlen(a);
	int	c = memcmp(a, b.data, len < b.len ? len : b.len);

	return c != 0 ? c : len < b.len ? -1 : len > b.len;
}

struct part *
member_part(const struct member *m, struct bytes label)
{
	size_t	lo = 0, hi = m->nparts;

	if (label.data == NULL)
		label = (struct bytes){ "", 0 };
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int    c = label_cmp(m->parts[mid]->label, label);

		if (c == 0)
			return m->parts[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Is it worth to name the labels?  A table of few is read at once. */
static bool
is_small_share(const struct member *m, size_t n)
{
	return n > 0 && m->nlabels > STORE_RANGES && n * 4 <= m->nlabels;
}

static const char **
owned_labels(const struct member *m, size_t more)
{
	const char	**labels = xcalloc(m->nparts + more + 1,
			    sizeof(*labels));

	for (size_t i = 0; i < m->nparts; i++)
		labels[i] = m->parts[i]->label;
	return labels;
}

/* Before the marks go nobody sends early any more. */
static int
renew(struct member *m, struct err *e)
{
	uint64_t	  upto = m->early_row == 0 ||
			    !store_can_go_early(m->store) ? 0 :
			    m->early_row + EARLY_ROWS;
	const char	**labels = NULL;
	uint64_t	  n;
	int		  rc;

	m->early_row = 0;
	for (size_t i = 0; upto == 0 && i < m->nparts; i++)
		m->parts[i]->early_upto = 0;
	if (is_small_share(m, m->nparts))
		labels = owned_labels(m, 0);
	rc = store_renew(m->store, labels, m->nparts, upto, &n, e);
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
static int
forget_marks(struct member *m, const struct lease *leases, size_t n,
    struct err *e)
{
	struct range	*old = xcalloc(m->nparts + 1, sizeof(*old));
	size_t		 nold = 0;
	int		 rc = 0;

	for (size_t i = 0; i < m->nparts; i++) {
		const struct part	*p = m->parts[i];
		const struct lease	*l = bsearch(p->label, leases, n,
					     sizeof(*leases), lease_cmp);

		if (p->early_upto != 0 &&
		    (l == NULL || !l->mine || l->epoch != p->epoch))
			old[nold++] = (struct range){ .label = p->label,
			    .epoch = p->epoch };
	}
	if (nold > 0)
		rc = store_forget_marks(m->store, old, nold, e);
	free(old);
	return rc;
}

/* Rows without a label are two ranges, and their lease is left alone. */
bool
member_may_go_early(struct member *m, const struct part *p, uint64_t sequence,
    int64_t now)
{
	if (p->label[0] == '\0' || p->unsure_upto != 0)
		return false;
	if (sequence > m->early_row)
		m->early_row = sequence;
	if (!store_can_go_early(m->store))
		return false;
	if (sequence + EARLY_LEFT > p->early_upto) {
		m->mark_now = true;
		m->look_at = now;
	}
	return sequence <= p->early_upto;
}

int
member_forget_marks(struct member *m, struct err *e)
{
	static const struct lease	nobodys[1];

	return forget_marks(m, nobodys, 0, e);
}

int
member_keep_alive(struct member *m, int64_t now, struct err *e)
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
	m->lease_until = now + m->conf->worker.lease_ttl;
	m->beat_at = now + m->conf->worker.lease_renew;
	m->beaten = true;
	return 0;
}

/* My place among the living, and how many they are. */
static void
count_fleet(struct member *m, const struct store_view *v)
{
	m->active = v->nids;
	m->place = v->nids;	/* not found: wants nothing */
	for (size_t i = 0; i < v->nids; i++)
		if (strcmp(v->ids[i], store_id(m->store)) == 0)
			m->place = i;
}

static bool
is_wanted(const struct member *m, size_t i)
{
	if (!m->conf->worker.leasing)
		return true;
	return m->place < m->active && i % m->active == m->place;
}

/* Take over what stays the same, so that holds survive. */
static struct part *
keep_part(struct member *m, const struct lease *l)
{
	struct part	*p;

	for (size_t i = 0; i < m->nparts; i++) {
		p = m->parts[i];
		if (p == NULL || strcmp(p->label, l->label) != 0)
			continue;
		m->parts[i] = NULL;
		if (p->epoch != l->epoch) {	/* somebody rang: start afresh */
			hold_forget_part(m->hold, p);
			p->fresh = true;
			m->moves++;
		}
		return p;
	}
	p = xcalloc(1, sizeof(*p));
	p->fresh = true;
	strlcpy(p->label, l->label, sizeof(p->label));
	m->moves++;
	return p;
}

static void
learn_lease(struct part *p, const struct lease *l)
{
	p->epoch = l->epoch;
	p->early_upto = l->early_upto;
	p->unsure_upto = l->unsure_upto;
}

static void
adopt_parts(struct member *m, const struct lease *leases, size_t n)
{
	struct part	**parts = xcalloc(n + 1, sizeof(*parts));
	size_t		  nparts = 0;

	for (size_t i = 0; i < n; i++)
		if (leases[i].mine || !m->conf->worker.leasing) {
			parts[nparts] = keep_part(m, &leases[i]);
			learn_lease(parts[nparts++], &leases[i]);
		}
	for (size_t i = 0; i < m->nparts; i++)
		if (m->parts[i] != NULL)
			drop_part(m, m->parts[i]);
	free(m->parts);
	m->parts = parts;
	m->nparts = nparts;
}

/* What to give up and what to take, from the table as it is. */
struct moves {
	const struct lease	**out, **in;
	size_t			  nout, nin;
};

static void
choose_desired(struct member *m, const struct lease *leases, size_t n)
{
	free_labels(&m->desired, &m->ndesired);
	for (size_t i = 0; i < n; i++)
		if (is_wanted(m, i))
			add_label(&m->desired, &m->ndesired, leases[i].label);
	m->nlabels = n;
	m->for_place = m->place;
	m->for_active = m->active;
}

/* Both are sorted: one pass. */
static void
plan_moves(struct member *m, const struct lease *leases, size_t n,
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
make_moves(struct member *m, struct moves *mv, bool *changed, struct err *e)
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
report_taken(struct member *m, const struct lease *leases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bytes label = { leases[i].label,
		    strlen(leases[i].label) };

		if (leases[i].mine && member_part(m, label) == NULL)
			add_label(&m->leased, &m->nleased, leases[i].label);
	}
}

static bool
must_see_all(const struct member *m, int64_t now)
{
	return !is_small_share(m, m->ndesired) || now >= m->all_at ||
	    m->place != m->for_place || m->active != m->for_active;
}

static int
sweep(struct member *m, int (*adopt)(struct store *, unsigned *,
    char[STORE_LABEL], struct err *), bool *created, struct err *e)
{
	char		label[STORE_LABEL];
	unsigned	n;

	if (adopt(m->store, &n, label, e) < 0)
		return -1;
	if (n > 0)
		log_warn("%u partition label(s) of waiting rows had no "
		    "lease row, \"%s\" among them: created", n, label);
	*created |= n > 0;
	return 0;
}

/* Duties of one worker of the fleet: the first.  Were leases created? */
static int
housekeep(struct member *m, int64_t now, bool *created, struct err *e)
{
	if (m->place != 0)
		return 0;
	if (now >= m->sweep_at) {
		m->sweep_at = now + SWEEP_MS;
		if (sweep(m, store_adopt_strays, created, e) < 0)
			return -1;
	}
	if (now >= m->parked_at) {
		m->parked_at = now + PARKED_MS;
		if (sweep(m, store_adopt_parked, created, e) < 0)
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
read_view(struct member *m, bool all, bool rows, struct store_view *v,
    struct err *e)
{
	struct labels	leases = { owned_labels(m, m->ndesired),
			    m->nparts + m->ndesired };
	struct labels	parts = { leases.list, m->nparts };
	int		rc;

	for (size_t i = 0; i < m->ndesired; i++)
		leases.list[m->nparts + i] = m->desired[i];
	rc = store_view(m->store, all ? NULL : &leases, rows ? &parts : NULL,
	    v, e);
	free(leases.list);
	return rc;
}

/* The same again, after a change. */
static int
read_again(struct member *m, bool all, bool rows, struct store_view *v,
    struct err *e)
{
	store_view_free(v);
	return read_view(m, all, rows, v, e);
}

/* In and out; the view is as it is after that. */
static int
move(struct member *m, bool all, struct store_view *v, struct err *e)
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

/* Another count means other partitions, some of them perhaps for us. */
static int
learn_counts(struct member *m, struct err *e)
{
	unsigned	count = m->change.counts.count;

	if (change_learn(&m->change, e) < 0)
		return -1;
	if (count != 0 && count != m->change.counts.count)
		m->all_at = 0;
	return 0;
}

/* What the view told of our partitions holds if they are still the same. */
static int
adopt(struct member *m, bool all, bool asked, struct store_view *v,
    struct err *e)
{
	unsigned	moves = m->moves;
	bool		waits = v->waits;

	if (move(m, all, v, e) < 0)
		return -1;
	report_taken(m, v->leases, v->nleases);
	if (forget_marks(m, v->leases, v->nleases, e) < 0)
		return -1;
	adopt_parts(m, v->leases, v->nleases);
	/* Read after the epochs, the boundary is as old as they are at most. */
	if ((member_has_fresh(m) || !m->conf->worker.leasing) &&
	    learn_counts(m, e) < 0)
		return -1;
	if (asked && moves == m->moves)
		m->rows = waits ? MEMBER_ROWS : MEMBER_NO_ROWS;
	return 0;
}

/* Who is alive, and all leases where that or a duty of ours changes them. */
static int
see(struct member *m, int64_t now, bool *all, bool rows,
    struct store_view *v, struct err *e)
{
	bool	created = false;

	count_fleet(m, v);
	if (change_round(&m->change, m->place == 0, now, &created, e) < 0 ||
	    housekeep(m, now, &created, e) < 0)
		return -1;
	if (created || (!*all && must_see_all(m, now))) {
		*all = true;
		return read_again(m, true, rows, v, e);
	}
	return 0;
}

/* Rows are asked about where one statement can do it. */
static int
look(struct member *m, int64_t now, struct err *e)
{
	struct store_view	v;
	bool			all = must_see_all(m, now);
	bool			ask = m->ask && m->nparts > 0 &&
				    m->nparts <= STORE_RANGES;
	int			rc;

	if (read_view(m, all, ask, &v, e) < 0)
		return -1;
	rc = see(m, now, &all, ask, &v, e);
	if (rc == 0 && all) {
		choose_desired(m, v.leases, v.nleases);
		m->all_at = now + MEMBER_ALL_MS;
	}
	if (rc == 0)
		rc = adopt(m, all, ask, &v, e);
	store_view_free(&v);
	if (rc == 0)
		m->look_at = now + (change_is_on(&m->change) ?
		    MEMBER_CHANGE_MS : MEMBER_LOOK_MS);
	return rc;
}

/* Former owners' marks, as soon as no row needs them any more. */
static int
clear_marks(struct member *m, struct err *e)
{
	bool	any = false;

	for (size_t i = 0; i < m->nparts; i++)
		any = any || m->parts[i]->unsure_upto != 0;
	return any ? store_clear_marks(m->store, e) : 0;
}

/* Somebody would go early: what is known of the server must not be old. */
static int
check_server(struct member *m, int64_t now, struct err *e)
{
	if (m->early_row == 0 || now < m->server_at)
		return 0;
	m->server_at = now + SERVER_MS;
	return store_check_server(m->store, e);
}

int
member_round(struct member *m, int64_t now, struct err *e)
{
	m->rows = MEMBER_NOT_ASKED;
	if (check_server(m, now, e) < 0)
		return -1;
	if (now >= m->lease_until && m->conf->worker.leasing) {
		drop_parts(m);
		m->look_at = now;
	}
	if (m->mark_now)
		m->beat_at = now;
	m->mark_now = false;
	if (member_keep_alive(m, now, e) < 0)
		return -1;
	if (now < m->look_at)
		return 0;
	return clear_marks(m, e) < 0 ? -1 : look(m, now, e);
}
