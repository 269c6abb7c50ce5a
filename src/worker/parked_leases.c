/* parked_leases.c - the leases that a statement about parked rows relies on */

#include "worker/parked_impl.h"

#include "util/xalloc.h"

void
parked_add_leases(struct leases *ls, const struct part *part)
{
	for (size_t i = 0; i < ls->n; i++)
		if (ls->items[i].label == part_name(part))
			return;
	ls->items = xreallocarray(ls->items, ls->n + part->nlabels,
	    sizeof(*ls->items));
	for (size_t i = 0; i < part->nlabels; i++)
		ls->items[ls->n++] = (struct range){
		    .label = part->labels[i].label,
		    .epoch = part->labels[i].epoch };
}
