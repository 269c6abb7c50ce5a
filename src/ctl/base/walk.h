/*
 * walk.h - a cursor: sequences of rows in the order of an index, in pages
 *
 * A walk never sorts.  It reads only the pages asked for and at most a few
 * index entries of each partition.
 */
#ifndef OUTBOXCTL_WALK_H
#define OUTBOXCTL_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

#define WALK_PAGE	500	/* rows in one statement */
#define WALK_BUDGET	10000	/* rows that a list may read */

/*
 * All begin after --after.  The first two need the claim's index; without it
 * they return all rows of the outbox in the order of the primary key.
 */
enum walk_by {
	WALK_WAITING,		/* by sequence; of --partition if given */
	WALK_DELIVERED,		/* the latest first */
	WALK_KEY,		/* rows of --key, the latest first */
	WALK_DEAD,		/* dead letters, by sequence */
};

struct walk;

/* NULL: see err. */
struct walk *walk_new(struct ctl *, enum walk_by, struct err *);
void	walk_free(struct walk *);

/* ORDER BY's columns, for outbox o, events e, dead letters d. */
const char *walk_order(const struct walk *);

/* Read up to max (WALK_PAGE) sequences; *n is less than max only at the end. */
int	walk_next(struct walk *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
