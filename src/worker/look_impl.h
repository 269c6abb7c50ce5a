/* look_impl.h - what the files of look share; nobody else includes it */
#ifndef OUTBOX_LOOK_IMPL_H
#define OUTBOX_LOOK_IMPL_H

#include "worker/look.h"

/*
 * Choose the ranges of a scan that is to find about limit rows: the labels of
 * partitions that come with all of theirs or not at all.
 */
void	look_choose_ranges(struct look *, size_t limit);

#endif
