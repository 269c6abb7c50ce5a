/* stages.c - see stages.h */

#include "lib/stages.h"

#include <string.h>

struct leased_label *
lease_of(const struct fleet *f, const char *label)
{
	for (size_t i = 0; i < f->parts.n; i++)
		for (size_t k = 0; k < f->parts.items[i]->nlabels; k++)
			if (strcmp(f->parts.items[i]->labels[k].label,
			    label) == 0)
				return &f->parts.items[i]->labels[k];
	return NULL;
}

struct partition *
partition_of(const struct fleet *f, const char *label)
{
	const struct leased_label	*l = lease_of(f, label);

	for (size_t i = 0; l != NULL && i < f->parts.n; i++) {
		struct partition *p = f->parts.items[i];

		if (l >= p->labels && l < p->labels + p->nlabels)
			return p;
	}
	return NULL;
}

int
adopt_round(struct fleet *f, struct backlog *b, int64_t now, struct err *e)
{
	int	rc = fleet_round(f, now, e);

	backlog_adopt(b, &f->parts);
	return rc;
}
