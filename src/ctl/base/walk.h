/*
 * walk.h - sequences of rows in the order of an index, a page at a time
 *
 * No walk sorts, and none reads more of a table than the pages that were asked
 * for, and an entry or a few of each partition.
 */
#ifndef OUTBOXCTL_WALK_H
#define OUTBOXCTL_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

#define WALK_PAGE	500	/* rows in one statement */
#define WALK_BUDGET	10000	/* rows that a list looks at */

/*
 * All begin behind --after.  The first two need the claim's index; without it
 * they are in the order of the primary key and meet all rows of the outbox.
 */
enum walk_by {
	WALK_WAITING,		/* by sequence, of --partition if given */
	WALK_DELIVERED,		/* the latest first */
	WALK_KEY,		/* rows of --key, the latest first */
	WALK_DEAD,		/* dead letters, by sequence */
};

struct walk;

/* NULL: see err. */
struct walk *walk_new(struct ctl *, enum walk_by, struct err *);
void	walk_free(struct walk *);

/* The order of the rows as SQL, of outbox o, events e, dead letters d. */
const char *walk_order(const struct walk *);

/* The next, at most max of them (WALK_PAGE); *n is fewer only at the end. */
int	walk_next(struct walk *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
