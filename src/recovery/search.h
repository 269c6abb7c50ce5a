/*
 * search.h - is a row's message in this part of the stream?
 *
 * Reads the ids of the stream once for all rows that are sought, in pieces:
 * what was read is remembered, so that a long part may take many turns.
 */
#ifndef OUTBOX_SEARCH_H
#define OUTBOX_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "nats/pub.h"

#define SEARCH_MAX	10000	/* rows at a time */

struct sought {
	struct message_id id;		/* this one, and no other */
	uint64_t	until;		/* the last sequence to be read */
	uint64_t	ack;		/* where it was found; 0: not yet */
	int64_t		since;		/* it is sought, clock_ms() */
};

/* A zeroed one is ready for use. */
struct search {
	struct sought	*items;		/* sorted by the row's sequence */
	size_t		 n;
	uint64_t	 next;		/* the sequence to read next */
	size_t		 slice;		/* places to ask for at a time */
};

enum found {
	FOUND_NOT_SOUGHT,
	FOUND_LATER,		/* not read to its end yet */
	FOUND_THERE,
	FOUND_ABSENT
};

void	search_clear(struct search *);

/*
 * Look for the message from one sequence of the stream to another; both are
 * read.  false: there are too many already.
 */
bool	search_add(struct search *, const struct message_id *, uint64_t from,
	    uint64_t until);

/* Read on until all is known or clock_ms() is end; -1 as look_up has it. */
int	search_run(struct search *, const struct pub *, const char *prefix,
	    int64_t end, bool (*go_on)(void *), void *, struct err *);

/* What is known of the row, and its place if it is there. */
enum found search_result(const struct search *, uint64_t row, uint64_t *ack);

/* It is not sought any more. */
void	search_drop(struct search *, uint64_t row);

/*
 * The same if it was sought before this moment, clock_ms(), or under another
 * id: it was sent since then, and what was read says nothing of that.
 */
void	search_drop_older(struct search *, const struct message_id *,
	    int64_t moment);

#endif
