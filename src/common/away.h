/*
 * away.h - who stands back, as others reach more destinations
 *
 * Each worker says in its row of the workers, with each heartbeat, which
 * destinations are away for it: their names, with commas between.  "": none.  A
 * name with "?" behind it is in doubt: the worker has not reached that one now,
 * or lately, but not for long enough to say more.  "!" before all: it stands
 * back.
 *
 * A worker stands back, and owns no partition, if a live one reaches all that it
 * reaches, and more: what is away there is a part of what is away here.  It
 * begins to only if nothing else is in doubt there: when a broker comes back, the
 * first worker that reaches it must not get all partitions.  All compute this
 * from the same rows, so they agree without asking one another.  Those for which
 * least is away never stand back, so somebody is left; and what is away for all
 * moves nothing.
 */
#ifndef OUTBOX_AWAY_H
#define OUTBOX_AWAY_H

#include <stdbool.h>
#include <stddef.h>

#define AWAY_SIZE	1001	/* of a list with its NUL: of the column */

/*
 * What n live workers say; NULL: one says nothing, as those of versions before
 * do, and then nobody stands back.  Sets back[i] for each.
 */
void	away_judge(const char *const *lists, size_t n, bool *back);

/* Begin a list. */
void	away_begin(char list[AWAY_SIZE], bool stands_back);

/* Append a name; one for which no room is left is left out. */
void	away_add(char list[AWAY_SIZE], const char *name, bool doubt);

/* The next name from *at on that is away, not in doubt; NULL: none. */
const char *away_next(const char **at, size_t *len);

#endif
