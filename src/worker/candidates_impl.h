/* candidates_impl.h - private to the candidates*.c files */
#ifndef OUTBOX_CANDIDATES_IMPL_H
#define OUTBOX_CANDIDATES_IMPL_H

#include "worker/candidates.h"

/*
 * Choose the ranges of a scan for about limit rows.  A partition is scanned
 * with all of its labels or not at all.
 */
void	candidates_choose_ranges(struct candidates *, size_t limit);

#endif
