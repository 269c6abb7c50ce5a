/* parts.c - see parts.h */

#include "worker/parts.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "util/xalloc.h"
#include "worker/lanes.h"

static const struct label_entry *
find_label(const struct parts *ps, struct bytes label)
{
	size_t	lo = 0, hi = ps->nentries;

	if (label.data == NULL)
		label = (struct bytes){ "", 0 };
	while (lo < hi) {
		size_t	    mid = (lo + hi) / 2;
		const char *at = ps->entries[mid].label;
		size_t	    len = strlen(at);
		int	    c = memcmp(at, label.data, len < label.len ? len :
				label.len);

		if (c == 0 && len == label.len)
			return &ps->entries[mid];
		if (c < 0 || (c == 0 && len < label.len))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

struct part *
parts_find(const struct parts *ps, struct bytes label)
{
	const struct label_entry	*at = find_label(ps, label);

	return at == NULL ? NULL : at->part;
}

struct part_label *
parts_label(const struct parts *ps, struct bytes label)
{
	const struct label_entry	*at = find_label(ps, label);

	return at == NULL ? NULL : &at->part->labels[at->at];
}

bool
parts_have_fresh(const struct parts *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->items[i]->unread)
			return true;
	return false;
}

static struct part *
new_part(const struct partition *from)
{
	struct part	*p = xcalloc(1, sizeof(*p) +
			    from->nlabels * sizeof(p->labels[0]));

	p->unread = true;
	p->born = from->born;
	p->nlabels = from->nlabels;
	for (size_t i = 0; i < p->nlabels; i++)
		strlcpy(p->labels[i].label, from->labels[i].label,
		    sizeof(p->labels[i].label));
	return p;
}

/* A raised epoch: another process has changed its rows or blocked keys. */
static void
take_epochs(struct part *p, struct lanes *lanes, const struct partition *from)
{
	bool	same = true;

	for (size_t i = 0; i < p->nlabels; i++) {
		same = same && p->labels[i].epoch == from->labels[i].epoch;
		p->labels[i].epoch = from->labels[i].epoch;
	}
	if (same || p->unread)
		return;
	lanes_forget_part(lanes, p);
	p->unread = true;
}

static int
entry_cmp(const void *a, const void *b)
{
	return strcmp(((const struct label_entry *)a)->label,
	    ((const struct label_entry *)b)->label);
}

void
parts_adopt(struct parts *ps, struct lanes *lanes,
    const struct partitions *from)
{
	struct parts	now = { .n = from->n, .counts = from->counts,
			    .version = from->version };
	size_t		n = 0;

	if (ps->version == from->version)
		return;
	now.items = xcalloc(from->n + 1, sizeof(struct part *));
	for (size_t i = 0; i < from->n; i++) {
		const char	*name = from->items[i]->labels[0].label;
		struct part	*p = parts_find(ps, (struct bytes){ name,
				    strlen(name) });

		/* The one of before, if it has the same labels. */
		if (p != NULL && p->born == from->items[i]->born)
			ps->items[p->number] = NULL;
		else
			p = new_part(from->items[i]);
		now.items[i] = p;
		n += p->nlabels;
		take_epochs(p, lanes, from->items[i]);
	}
	for (size_t i = 0; i < ps->n; i++)
		if (ps->items[i] != NULL)
			lanes_forget_part(lanes, ps->items[i]);
	now.entries = xcalloc(n + 1, sizeof(*now.entries));
	for (size_t i = 0; i < now.n; i++) {
		/* Not earlier: the loop above needs the old numbers. */
		now.items[i]->number = i;
		for (size_t k = 0; k < now.items[i]->nlabels; k++)
			now.entries[now.nentries++] = (struct label_entry){
			    now.items[i]->labels[k].label, now.items[i], k };
	}
	qsort(now.entries, n, sizeof(*now.entries), entry_cmp);
	parts_free(ps);
	*ps = now;
}

void
parts_free(struct parts *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		free(ps->items[i]);
	free(ps->items);
	free(ps->entries);
	*ps = (struct parts){ 0 };
}
