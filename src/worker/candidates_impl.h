/* candidates_impl.h - what the files of look share; nobody else includes it */
#ifndef OUTBOX_CANDIDATES_IMPL_H
#define OUTBOX_CANDIDATES_IMPL_H

#include "worker/candidates.h"

/*
 * Choose the ranges of a scan that is to find about limit rows: the labels of
 * partitions that come with all of theirs or not at all.
 */
void	candidates_choose_ranges(struct candidates *, size_t limit);

#endif
