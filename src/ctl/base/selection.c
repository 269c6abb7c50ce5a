/* selection.c - see selection.h */

#include "ctl/base/selection.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/base/bulk_update.h"
#include "ctl/base/filter.h"
#include "util/xalloc.h"

/* Append the rows of a page that exist and pass the filters. */
static int
choose_page(struct ctl *c, struct selection *ch, const uint64_t *page, size_t n,
    struct err *e)
{
	uint64_t	*found;
	size_t		 nfound;

	ch->select(c);
	filter_put_rows(c->store, page, n);
	ch->finish(c);
	if (bulk_update_select(c, &found, &nfound, e) < 0)
		return -1;
	if (ch->keep != NULL && ch->keep(c, found, &nfound, e) < 0) {
		free(found);
		return -1;
	}
	ch->list = xreallocarray(ch->list, ch->n + nfound + 1,
	    sizeof(*ch->list));
	memcpy(ch->list + ch->n, found, nfound * sizeof(*found));
	ch->n += nfound;
	for (size_t i = 0; c->args.nrest > 0 && i < n; i++) {
		size_t	k = 0;

		while (k < nfound && found[k] != page[i])
			k++;
		if (k < nfound)
			continue;
		ch->all_there = false;
		ctl_error("%llu: %s", (unsigned long long)page[i],
		    ch->missing);
	}
	free(found);
	return 0;
}

static int
choose_all(struct ctl *c, struct selection *ch, struct err *e)
{
	struct cursor	*w = cursor_new(c, ch->by, e);
	uint64_t	 page[CURSOR_PAGE];
	size_t		 n = 0;
	int		 rc = w == NULL ? -1 : 0;

	do {
		if (rc == 0)
			rc = cursor_next(w, page, CURSOR_PAGE, &n, e);
		if (rc == 0 && n > 0)
			rc = choose_page(c, ch, page, n, e);
	} while (rc == 0 && n == CURSOR_PAGE);
	cursor_free(w);
	return rc;
}

static int
sequence_cmp(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool
selection_is_filtered(const struct args *a)
{
	return a->key != NULL || a->type != NULL || a->partition != NULL ||
	    a->group != NULL || a->since != NULL || a->until != NULL;
}

int
selection_check(const struct ctl *c, struct selection *ch)
{
	const struct args	*a = &c->args;
	bool			 filtered = selection_is_filtered(a);

	if (a->nrest > 0 && (filtered || a->all || a->after != 0))
		return ctl_misuse_of("choice", "sequences", "give sequences "
		    "or a filter, not both", "give SEQUENCE... or a filter, "
		    "not both");
	ch->named = args_sequences(a);
	return ch->named != NULL ? CTL_DONE : CTL_USAGE;
}

int
selection_make(struct ctl *c, struct selection *ch, struct err *e)
{
	size_t	named = (size_t)c->args.nrest, n = 0;
	int	rc = 0;

	ch->all_there = true;
	for (size_t i = 0; rc == 0 && i < named; i += BULK_UPDATE_CHUNK)
		rc = choose_page(c, ch, ch->named + i, named - i <
		    BULK_UPDATE_CHUNK ? named - i : BULK_UPDATE_CHUNK, e);
	if (named == 0)
		rc = choose_all(c, ch, e);
	if (rc < 0)
		return -1;
	/* In order, each once. */
	if (ch->n > 0)
		qsort(ch->list, ch->n, sizeof(*ch->list), sequence_cmp);
	for (size_t i = 0; i < ch->n; i++)
		if (n == 0 || ch->list[i] != ch->list[n - 1])
			ch->list[n++] = ch->list[i];
	ch->n = n;
	return 0;
}

void
selection_free(struct selection *ch)
{
	free(ch->named);
	free(ch->list);
}
