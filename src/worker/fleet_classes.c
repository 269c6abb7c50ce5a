/*
 * fleet_classes.c - from leases to partitions
 *
 * While several partition counts are declared, a key's rows may have several
 * labels, all of one class.  A class is one partition: only the worker that has
 * all of its leases works on it, and sees all rows of its keys.
 */

#include "worker/fleet_impl.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/log.h"
#include "util/xalloc.h"

void
fleet_free_labels(char ***labels, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*labels)[i]);
	free(*labels);
	*labels = NULL;
	*n = 0;
}

void
fleet_add_label(char ***labels, size_t *n, const char *label)
{
	*labels = xreallocarray(*labels, *n + 1, sizeof(**labels));
	(*labels)[(*n)++] = xstrdup(label);
}

size_t *
fleet_group(const struct fleet *f, const struct store_view *v, size_t *n)
{
	const struct counts	*c = &v->counts;
	bool			 own = f->conf->outbox.ordering == ORDER_NONE;
	size_t			*of = xcalloc(v->nleases + 1, sizeof(*of));
	size_t			*numbers = xcalloc(counts_gcd(c),
				    sizeof(*numbers)), next = 0;

	for (size_t i = 0; i < v->nleases; i++) {
		unsigned class = own ? COUNTS_NONE :
		    counts_class(c, v->leases[i].label);

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
	*n = next;
	return of;
}

/*
 * Owning
 */

static void
free_partitions(struct partitions *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		free(ps->items[i]);
	free(ps->items);
	ps->items = NULL;
	ps->n = 0;
}

void
fleet_drop(struct fleet *f)
{
	f->parts.version += f->parts.n > 0;
	free_partitions(&f->parts);
	fleet_free_labels(&f->owned, &f->nowned);
}

/* The leases of one partition. */
struct group {
	const struct lease	**leases;
	size_t			  n;
	size_t			  mine;
};

/* A partition with more labels than a statement can name is not served. */
static bool
is_complete(struct fleet *f, const struct group *g)
{
	if (f->conf->worker.leasing && g->mine < g->n)
		return false;
	if (g->n <= STORE_RANGES)
		return true;
	if (!f->large_told)
		log_error("the partition of label \"%s\" has %zu labels under "
		    "the declared counts, and at most %d can be served: its "
		    "rows wait; remove unused leases: outboxctl partitions "
		    "sync --prune", g->leases[0]->label, g->n, STORE_RANGES);
	f->large_told = true;
	return false;
}

static struct group *
group_leases(const struct fleet *f, const struct store_view *v, size_t *n)
{
	size_t		*of = fleet_group(f, v, n);
	struct group	*groups = xcalloc(*n + 1, sizeof(*groups));

	for (size_t i = 0; i < v->nleases; i++)
		groups[of[i]].n++;
	for (size_t i = 0; i < *n; i++) {
		groups[i].leases = xcalloc(groups[i].n,
		    sizeof(*groups[i].leases));
		groups[i].n = 0;
	}
	for (size_t i = 0; i < v->nleases; i++) {
		struct group *g = &groups[of[i]];

		g->leases[g->n++] = &v->leases[i];
		g->mine += v->leases[i].mine || !f->conf->worker.leasing;
	}
	free(of);
	return groups;
}

static void
free_groups(struct group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(groups[i].leases);
	free(groups);
}

static int
name_cmp(const void *name, const void *item)
{
	const struct partition	*p = *(struct partition *const *)item;

	return strcmp(name, p->labels[0].label);
}

/* Our partition with the same labels; NULL: none. */
static const struct partition *
find_same(const struct fleet *f, const struct group *g)
{
	struct partition	**p;
	bool			  same;

	if (f->parts.n == 0)
		return NULL;
	p = bsearch(g->leases[0]->label, f->parts.items, f->parts.n,
	    sizeof(struct partition *), name_cmp);
	same = p != NULL && (*p)->nlabels == g->n;
	for (size_t i = 0; same && i < g->n; i++)
		same = strcmp((*p)->labels[i].label,
		    g->leases[i]->label) == 0;
	return same ? *p : NULL;
}

/* Is it ours with the same labels and epochs? */
static bool
is_owned_already(const struct fleet *f, const struct group *g)
{
	const struct partition	*p = find_same(f, g);
	bool			 same = p != NULL;

	for (size_t i = 0; same && i < g->n; i++)
		same = p->labels[i].epoch == g->leases[i]->epoch;
	return same;
}

void
fleet_adopt(struct fleet *f, const struct store_view *v)
{
	size_t			 n;
	struct group		*groups = group_leases(f, v, &n);
	struct partitions	 now = { .counts = v->counts,
				    .version = f->parts.version };
	size_t			 known = 0;

	now.items = xcalloc(n + 1, sizeof(struct partition *));
	for (size_t i = 0; i < n; i++) {
		const struct group	*g = &groups[i];
		const struct partition	*was;
		struct partition	*p;

		if (!is_complete(f, g))
			continue;
		known += is_owned_already(f, g);
		was = find_same(f, g);
		p = xcalloc(1, sizeof(*p) + g->n * sizeof(p->labels[0]));
		p->born = was != NULL ? was->born : ++f->nborn;
		for (; p->nlabels < g->n; p->nlabels++) {
			const struct lease	*from = g->leases[p->nlabels];
			struct leased_label	*l = &p->labels[p->nlabels];

			strlcpy(l->label, from->label, sizeof(l->label));
			l->epoch = from->epoch;
		}
		now.items[now.n++] = p;
	}
	now.version += known != now.n || now.n != f->parts.n ||
	    !counts_are_same(&now.counts, &f->parts.counts);
	fleet_free_labels(&f->owned, &f->nowned);
	for (size_t i = 0; i < v->nleases; i++)
		if (v->leases[i].mine || !f->conf->worker.leasing)
			fleet_add_label(&f->owned, &f->nowned,
			    v->leases[i].label);
	free_partitions(&f->parts);
	f->parts = now;
	free_groups(groups, n);
}
