/*
 * merge.h - sequences of waiting rows in order, merged from their labels
 *
 * Used by walk.c.  Reads one index entry for each label of waiting rows, and
 * then few more entries than are returned.
 */
#ifndef OUTBOXCTL_MERGE_H
#define OUTBOXCTL_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

struct merge;

/* Rows after --after, of --partition if given.  NULL: see err. */
struct merge *merge_new(struct ctl *, struct err *);
void	merge_free(struct merge *);

/* Read up to max sequences; *n is less than max only at the end. */
int	merge_next(struct merge *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
