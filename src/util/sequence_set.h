/*
 * sequence_set.h - a set of sequences, kept as runs: 7-9,15
 *
 * Small where its members follow each other.  Adding in ascending order is
 * cheap.
 */
#ifndef OUTBOX_SEQUENCE_SET_H
#define OUTBOX_SEQUENCE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct sequence_run {
	uint64_t	first, last;
};

/* Zeroed: empty.  The runs are sorted, and not adjacent. */
struct sequence_set {
	struct sequence_run	*runs;
	size_t			 n, size;
};

void	sequence_set_free(struct sequence_set *);	/* and empties it */

/* Add all from first to last. */
void	sequence_set_add(struct sequence_set *, uint64_t first, uint64_t last);
void	sequence_set_add_all(struct sequence_set *,
	    const struct sequence_set *);

void	sequence_set_remove(struct sequence_set *, uint64_t);

/* Remove all that are smaller. */
void	sequence_set_cut(struct sequence_set *, uint64_t first);

bool	sequence_set_has(const struct sequence_set *, uint64_t);
uint64_t sequence_set_count(const struct sequence_set *);

/*
 * Make it fit into so many runs by adding what is between close ones, so it has
 * more members then.
 */
void	sequence_set_fit(struct sequence_set *, size_t max);

/*
 * Append "7-9,15".  Of more than max runs the first ones, and "...".  The text
 * can be read again if it has all.
 */
void	sequence_set_put(const struct sequence_set *, size_t max, struct buf *);

/* Add the sequences of such a text; reads up to what is none. */
void	sequence_set_read(struct sequence_set *, const char *);

#endif
