/*
 * dead_group.h - dead letters of the same error
 *
 * Two are of one group if they died for the same reason and their errors differ
 * in numbers, ids and quoted values only; not in the status of HTTP.
 */
#ifndef OUTBOXCTL_DEAD_GROUP_H
#define OUTBOXCTL_DEAD_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"
#include "util/buf.h"

#define DEAD_GROUP_SIZE	17	/* 16 hex digits; the same in all releases */

/*
 * Append what the errors of a group have in common: # for a number, * for an id
 * in hexadecimal digits and for what is between quotes; "..." behind the first
 * 255 bytes.
 */
void	dead_group_text(struct buf *, const char *error);

/* The group of a row with members "reason" and "error". */
void	dead_group_of(char id[DEAD_GROUP_SIZE], const json_t *row);

/* Is --group right, if it was given?  CTL_DONE or CTL_USAGE. */
int	dead_group_check(const struct ctl *);

/* Does the row pass --group? */
bool	dead_group_passes(const struct ctl *, const json_t *row);

/* Leave only dead letters that pass --group in the list.  -1: see err. */
int	dead_group_keep(struct ctl *, uint64_t *list, size_t *n, struct err *);

#endif
