/*
 * candidates_ranges.c - the partitions of the next scan, and its limits
 */

#include "worker/candidates_impl.h"

#include <stdint.h>

#include <bsd/string.h>

static void
add_range(struct scan *s, struct part *p, struct part_label *l, size_t limit)
{
	size_t	i = s->nranges++;

	l->range = (unsigned)i;
	s->parts[i] = p;
	strlcpy(s->labels[i], l->label, sizeof(s->labels[i]));
	s->ranges[i] = (struct range){ .label = s->labels[i],
	    .epoch = l->epoch, .limit = limit };
}

static size_t
count_full(const struct part *p)
{
	size_t	n = 0;

	for (size_t i = 0; i < p->nlabels; i++)
		n += p->labels[i].full;
	return n;
}

/* The partitions of a scan. */
struct chosen {
	struct part	*parts[STORE_RANGES];
	size_t		 n;
	size_t		 nlabels;	/* of all of them: as many ranges */
};

/* Adds all labels of the partition, or none. */
static bool
add_part(struct chosen *c, struct part *p, size_t max)
{
	if (c->nlabels + p->nlabels > max)
		return false;
	p->in_scan = true;
	c->parts[c->n++] = p;
	c->nlabels += p->nlabels;
	return true;
}

/*
 * Busy partitions come first, up to half of the ranges.  The rest is for the
 * next partitions in rotation.  If the first of these is a class, it precedes
 * the busy ones, because it may need all ranges.
 */
static void
choose_parts(struct candidates *l, struct chosen *c)
{
	struct parts	*m = l->parts;
	struct part	*p;
	size_t		 nseen;

	for (size_t i = 0; i < m->n; i++)
		m->items[i]->in_scan = false;
	for (size_t i = 0; i < m->n; i++) {
		p = m->items[(l->rotate + i) % m->n];
		if (p->unread)
			continue;
		if (p->nlabels > 1)
			add_part(c, p, STORE_RANGES);
		break;
	}
	for (size_t i = 0; i < m->n; i++) {
		p = m->items[i];
		if (!p->in_scan && !p->unread && count_full(p) > 0)
			add_part(c, p, STORE_RANGES / 2);
	}
	for (nseen = 0; nseen < m->n; nseen++) {
		p = m->items[(l->rotate + nseen) % m->n];
		if (!p->in_scan && !p->unread &&
		    !add_part(c, p, STORE_RANGES))
			break;
	}
	l->cut = c->n < m->n;
	l->rotate += nseen;
	l->nvain += nseen;
}

void
candidates_choose_glanced(struct candidates *l)
{
	struct parts	*m = l->parts;
	struct chosen	 c = { .n = 0 };
	size_t		 nseen = 0;
	bool		 passed = false;

	for (size_t i = 0; i < m->n; i++)
		m->items[i]->in_scan = false;
	for (; nseen < m->n; nseen++) {
		struct part *p = m->items[(l->rotate + nseen) % m->n];

		if (p->unread)
			passed = passed || p->glanced;
		else if (p->glanced && !add_part(&c, p, STORE_RANGES))
			break;
	}
	l->cut = passed || nseen < m->n;
	l->rotate += nseen;
	l->nvain += nseen;
	l->scan.nranges = 0;
	for (size_t i = 0; i < c.n; i++)
		for (size_t k = 0; k < c.parts[i]->nlabels; k++)
			add_range(&l->scan, c.parts[i],
			    &c.parts[i]->labels[k], SIZE_MAX);
}

/*
 * One range for each label of the chosen partitions.  A range always starts at
 * the first waiting row: ids are not committed in order, and with a higher
 * start a later row of a key would overtake one that was committed since.
 * Each range gets an equal share of the limit.  Ranges that used up their share
 * the last time divide the whole limit among them, so that one busy label among
 * many idle ones is not slow.
 */
void
candidates_choose_ranges(struct candidates *l, size_t limit)
{
	struct chosen	c = { .n = 0 };
	size_t		nfull = 0, full_share;

	choose_parts(l, &c);
	l->scan.nranges = 0;
	for (size_t i = 0; i < c.n; i++)
		nfull += count_full(c.parts[i]);
	full_share = nfull > 0 ? limit / nfull : 0;
	for (size_t i = 0; i < c.n; i++)
		for (size_t k = 0; k < c.parts[i]->nlabels; k++) {
			struct part *p = c.parts[i];
			size_t share = p->labels[k].full ? full_share :
			    limit / c.nlabels;

			share = (share > 0 ? share : 1) + (p->nlabels == 1 ?
			    p->nblocked : p->labels[k].nknown);
			/* In partition order one lane is all of it. */
			if (l->conf->outbox.ordering == ORDER_PARTITION &&
			    p->nblocked > 0)
				share = 1;
			add_range(&l->scan, p, &p->labels[k], share);
		}
}
