/* candidates_impl.h - private to the candidates*.c files */
#ifndef OUTBOX_CANDIDATES_IMPL_H
#define OUTBOX_CANDIDATES_IMPL_H

#include "worker/candidates.h"

/*
 * Choose the ranges of a scan for about limit rows.  A partition is scanned
 * with all of its labels or not at all.
 */
void	candidates_choose_ranges(struct candidates *, size_t limit);

/*
 * The same, without limits, for the partitions whose rows a glance has seen; as
 * many as one statement can name.
 */
void	candidates_choose_glanced(struct candidates *);

/*
 * Look at all waiting rows.  *done is false if that shows nothing, because they
 * are too many or their labels are not clear.
 */
int	candidates_glance(struct candidates *, bool *done, struct err *);

#endif
