/*
 * cursor.h - a cursor: sequences of rows in the order of an index, in pages
 *
 * A cursor never sorts.  It reads only the pages asked for and at most a few
 * index entries of each partition.
 */
#ifndef OUTBOXCTL_CURSOR_H
#define OUTBOXCTL_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"

#define CURSOR_PAGE	500	/* rows in one statement */
#define CURSOR_BUDGET	10000	/* rows that a list may read */

/*
 * All begin after --after.  The first two need the claim's index; without it
 * they return all rows of the outbox in the order of the primary key.
 */
enum cursor_by {
	CURSOR_WAITING,		/* by sequence; of --partition if given */
	CURSOR_DELIVERED,	/* the latest first */
	CURSOR_KEY,		/* rows of --key, the latest first */
	CURSOR_DEAD,		/* dead letters, by sequence */
	CURSOR_NEWEST_DEAD,	/* the same, the highest first */
	CURSOR_AUDIT,		/* ids of the audit, the latest first */
};

struct cursor;

/* NULL: see err. */
struct cursor *cursor_new(struct ctl *, enum cursor_by, struct err *);
void	cursor_free(struct cursor *);

/* ORDER BY's columns, for outbox o, events e, dead letters d. */
struct sql cursor_order(const struct cursor *);

/*
 * Read up to max (CURSOR_PAGE) sequences; *n is less than max only at the end.
 */
int	cursor_next(struct cursor *, uint64_t *, size_t max, size_t *n,
	    struct err *);

#endif
