/*
 * fleet_parts.c - from leases to partitions
 *
 * A key's rows may have several labels while several partition counts are
 * declared, all of one class.  Whoever has all leases of a class sees all rows
 * of its keys, and nobody else works on any of them.
 */

#include "worker/fleet_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/log.h"
#include "util/xalloc.h"

size_t
fleet_group(const struct fleet *m, const struct counts *c,
    const struct lease *leases, size_t n, size_t *of)
{
	bool	 own = m->conf->outbox.ordering == ORDER_NONE;
	size_t	*numbers = xcalloc(counts_gcd(c), sizeof(*numbers)), next = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned class = own ? COUNTS_NONE :
		    counts_class(c, leases[i].label);

		if (class == COUNTS_NONE)
			of[i] = next++;
		else if (numbers[class] != 0)
			of[i] = numbers[class] - 1;
		else {
			of[i] = next++;
			numbers[class] = next;
		}
	}
	free(numbers);
	return next;
}

/*
 * Looking up
 */

static int
label_cmp(const char *a, struct bytes b)
{
	size_t	len = strlen(a);
	int	c = memcmp(a, b.data, len < b.len ? len : b.len);

	return c != 0 ? c : len < b.len ? -1 : len > b.len;
}

static const struct owned *
find(const struct fleet *m, struct bytes label)
{
	size_t	lo = 0, hi = m->nowned;

	if (label.data == NULL)
		label = (struct bytes){ "", 0 };
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int    c = label_cmp(m->owned[mid].label, label);

		if (c == 0)
			return &m->owned[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

struct part *
fleet_part(const struct fleet *m, struct bytes label)
{
	const struct owned	*o = find(m, label);

	return o == NULL ? NULL : o->part;
}

struct part_label *
fleet_label(const struct fleet *m, struct bytes label)
{
	const struct owned	*o = find(m, label);

	return o == NULL || o->part == NULL ? NULL : &o->part->labels[o->at];
}

bool
fleet_owns(const struct fleet *m, const char *label)
{
	return find(m, (struct bytes){ label, strlen(label) }) != NULL;
}

size_t
fleet_nlabels(const struct fleet *m)
{
	size_t	n = 0;

	for (size_t i = 0; i < m->nparts; i++)
		n += m->parts[i]->nlabels;
	return n;
}

bool
fleet_has_fresh(const struct fleet *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		if (m->parts[i]->fresh)
			return true;
	return false;
}

bool
fleet_is_unsure(const struct part *p, uint64_t sequence)
{
	for (size_t i = 0; i < p->nlabels; i++)
		if (sequence <= p->labels[i].unsure_upto)
			return true;
	return false;
}

/*
 * Owning
 */

static void
drop_part(struct fleet *m, struct part *p)
{
	lanes_forget_part(m->lanes, p);
	free(p);
	m->moves++;
}

void
fleet_drop(struct fleet *m)
{
	for (size_t i = 0; i < m->nparts; i++)
		drop_part(m, m->parts[i]);
	free(m->parts);
	free(m->owned);
	m->parts = NULL;
	m->owned = NULL;
	m->nparts = m->nowned = 0;
}

/* The leases of one partition. */
struct group {
	const struct lease	**leases;
	size_t			  n;
	size_t			  mine;
};

static bool
has_labels(const struct part *p, const struct group *g)
{
	bool	same = p->nlabels == g->n;

	for (size_t i = 0; same && i < g->n; i++)
		same = strcmp(p->labels[i].label, g->leases[i]->label) == 0;
	return same;
}

/* Was it ours, with the same labels?  Then it is not in the list any more. */
static struct part *
take_old(struct fleet *m, const struct group *g)
{
	struct part	*p = fleet_part(m, (struct bytes){
			    g->leases[0]->label,
			    strlen(g->leases[0]->label) });

	if (p == NULL || !has_labels(p, g))
		return NULL;
	for (size_t i = 0; i < m->nparts; i++)
		if (m->parts[i] == p) {
			m->parts[i] = NULL;
			break;
		}
	return p;
}

static struct part *
new_part(struct fleet *m, const struct group *g)
{
	struct part	*p = xcalloc(1, sizeof(*p) +
			    g->n * sizeof(p->labels[0]));

	p->fresh = true;
	p->nlabels = g->n;
	for (size_t i = 0; i < g->n; i++)
		strlcpy(p->labels[i].label, g->leases[i]->label,
		    sizeof(p->labels[i].label));
	m->moves++;
	return p;
}

static void
learn_leases(struct fleet *m, struct part *p, const struct group *g)
{
	bool	same = true;

	for (size_t i = 0; i < g->n; i++) {
		same = same && p->labels[i].epoch == g->leases[i]->epoch;
		p->labels[i].epoch = g->leases[i]->epoch;
		p->labels[i].early_upto = g->leases[i]->early_upto;
		p->labels[i].unsure_upto = g->leases[i]->unsure_upto;
	}
	if (same || p->fresh)
		return;
	/* Somebody raised an epoch: start afresh. */
	lanes_forget_part(m->lanes, p);
	p->fresh = true;
	m->moves++;
}

/* More labels than a statement looks at are not served in part. */
static bool
is_complete(struct fleet *m, const struct group *g)
{
	if (m->conf->worker.leasing && g->mine < g->n)
		return false;
	if (g->n <= STORE_RANGES)
		return true;
	if (!m->large_told)
		log_error("%zu labels are one partition while these partition "
		    "counts are declared, \"%s\" among them, and %d can be "
		    "served together: nothing of them is sent; remove leases "
		    "that nobody needs with outboxctl partitions sync --prune",
		    g->n, g->leases[0]->label, STORE_RANGES);
	m->large_told = true;
	return false;
}

static struct group *
group_leases(const struct fleet *m, const struct store_view *v,
    const size_t *of, size_t n)
{
	struct group	*groups = xcalloc(n + 1, sizeof(*groups));

	for (size_t i = 0; i < v->nleases; i++)
		groups[of[i]].n++;
	for (size_t i = 0; i < n; i++) {
		groups[i].leases = xcalloc(groups[i].n,
		    sizeof(*groups[i].leases));
		groups[i].n = 0;
	}
	for (size_t i = 0; i < v->nleases; i++) {
		struct group *g = &groups[of[i]];

		g->leases[g->n++] = &v->leases[i];
		g->mine += v->leases[i].mine || !m->conf->worker.leasing;
	}
	return groups;
}

static void
free_groups(struct group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(groups[i].leases);
	free(groups);
}

static bool
has_epochs(const struct part *p, const struct group *g)
{
	bool	same = true;

	for (size_t i = 0; same && i < g->n; i++)
		same = p->labels[i].epoch == g->leases[i]->epoch;
	return same;
}

static bool
is_known(struct fleet *m, const struct group *g)
{
	const char		*name = g->leases[0]->label;
	const struct part	*p = fleet_part(m, (struct bytes){ name,
				    strlen(name) });

	return !is_complete(m, g) || (p != NULL && has_labels(p, g) &&
	    has_epochs(p, g));
}

bool
fleet_knows(struct fleet *m, const struct store_view *v)
{
	size_t		*of = xcalloc(v->nleases + 1, sizeof(*of));
	size_t		 n = fleet_group(m, &v->counts, v->leases,
			    v->nleases, of);
	struct group	*groups = group_leases(m, v, of, n);
	bool		 known = true;

	for (size_t i = 0; known && i < n; i++)
		known = is_known(m, &groups[i]);
	free_groups(groups, n);
	free(of);
	return known;
}

/* By what the view tells; the parts are those of the groups, or NULL. */
static void
note_owned(struct fleet *m, const struct store_view *v, const size_t *of,
    struct part *const *parts)
{
	struct owned	*owned = xcalloc(v->nleases + 1, sizeof(*owned));
	size_t		 n = 0;

	for (size_t i = 0; i < v->nleases; i++) {
		const struct lease	*l = &v->leases[i];
		struct owned		*o = &owned[n];

		if (!l->mine && m->conf->worker.leasing)
			continue;
		strlcpy(o->label, l->label, sizeof(o->label));
		o->part = parts[of[i]];
		while (o->part != NULL &&
		    strcmp(o->part->labels[o->at].label, l->label) != 0)
			o->at++;
		n++;
	}
	free(m->owned);
	m->owned = owned;
	m->nowned = n;
}

static void
replace_parts(struct fleet *m, struct part **parts, size_t n)
{
	size_t	kept = 0;

	for (size_t i = 0; i < m->nparts; i++)
		if (m->parts[i] != NULL)
			drop_part(m, m->parts[i]);
	for (size_t i = 0; i < n; i++)
		if (parts[i] != NULL)
			parts[kept++] = parts[i];
	free(m->parts);
	m->parts = parts;
	m->nparts = kept;
}

void
fleet_adopt(struct fleet *m, const struct store_view *v)
{
	size_t		 *of = xcalloc(v->nleases + 1, sizeof(*of));
	size_t		  n = fleet_group(m, &v->counts, v->leases,
			    v->nleases, of);
	struct group	 *groups = group_leases(m, v, of, n);
	struct part	**parts = xcalloc(n + 1, sizeof(struct part *));

	for (size_t i = 0; i < n; i++) {
		if (!is_complete(m, &groups[i]))
			continue;
		if ((parts[i] = take_old(m, &groups[i])) == NULL)
			parts[i] = new_part(m, &groups[i]);
		learn_leases(m, parts[i], &groups[i]);
	}
	note_owned(m, v, of, parts);
	replace_parts(m, parts, n);
	free_groups(groups, n);
	free(of);
}
