/* isolate.c - see isolate.h */

#include "util/isolate.h"

struct isolate
isolate_rows(size_t n, size_t max)
{
	return (struct isolate){ .max = max, .ends = { n }, .depth = 1 };
}

/* The last end is that of the rows that are written now. */
bool
isolate_next(struct isolate *i)
{
	if (i->halved)
		i->ends[i->depth++] = i->from + i->n / 2;
	else
		i->from += i->n;
	while (i->depth > 0 && i->ends[i->depth - 1] == i->from)
		i->depth--;
	i->n = i->depth > 0 ? i->ends[i->depth - 1] - i->from : 0;
	i->changed = 0;
	i->halved = false;
	return i->n > 0 && i->rc == 0 && (i->max == 0 || i->nrefused < i->max);
}

bool
isolate_judge(struct isolate *i, int rc, bool of_row)
{
	if (rc == 0)
		return false;
	i->changed = 0;
	i->rc = of_row ? 0 : -1;
	i->halved = of_row && i->n > 1;
	if (!of_row || i->n > 1)
		return false;
	i->nrefused++;
	return true;
}
