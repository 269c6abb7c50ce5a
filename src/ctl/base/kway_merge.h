/*
 * kway_merge.h - sequences of waiting rows in order, merged from their labels
 *
 * Used by cursor.c.  Reads one index entry for each label of waiting rows, and
 * then few more entries than are returned.
 */
#ifndef OUTBOXCTL_KWAY_MERGE_H
#define OUTBOXCTL_KWAY_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

struct kway_merge;

/* Rows after --after, of --partition if given.  NULL: see err. */
struct kway_merge *kway_merge_new(struct ctl *, struct err *);
void	kway_merge_free(struct kway_merge *);

/* Read up to max sequences; *n is less than max only at the end. */
int	kway_merge_next(struct kway_merge *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
