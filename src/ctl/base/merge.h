/*
 * merge.h - sequences of waiting rows in order, merged from their labels
 *
 * Of walk.c.  It reads one entry of the index for each label that rows wait
 * under, however many wait, and then little more than what is taken.
 */
#ifndef OUTBOXCTL_MERGE_H
#define OUTBOXCTL_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

struct merge;

/* Those behind --after, of --partition if given.  NULL: see err. */
struct merge *merge_new(struct ctl *, struct err *);
void	merge_free(struct merge *);

/* The next ones, max of them; *n is fewer only at the end. */
int	merge_next(struct merge *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
