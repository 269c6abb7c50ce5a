/*
 * file_stamp.h - have files been changed, replaced, made or removed?
 *
 * For a process that read or opened them once and cannot do so again.
 */
#ifndef OUTBOX_FILE_STAMP_H
#define OUTBOX_FILE_STAMP_H

#include <stddef.h>
#include <stdint.h>

#define FILE_STAMP_MAX	96	/* files of one process */

/* Another number if so, without opening them.  A path "" does not count. */
uint64_t	file_stamp(const char *const *paths, size_t n);

#endif
