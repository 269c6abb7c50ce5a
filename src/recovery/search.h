/*
 * search.h - searches a part of the stream for the messages of rows
 *
 * Reads the ids of the stream once for all rows, in pieces.  It remembers how
 * far it has read, so that a long part may take many calls.
 */
#ifndef OUTBOX_SEARCH_H
#define OUTBOX_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "driver/pub.h"

#define SEARCH_MAX	10000	/* rows at a time */

struct sought {
	struct message_id id;		/* the message to find */
	uint64_t	until;		/* the last sequence to be read */
	uint64_t	ack;		/* its sequence; 0: not found yet */
	int64_t		since;		/* clock_ms() of search_add() */
};

/* A zeroed one is ready for use. */
struct search {
	struct sought	*items;		/* sorted by the row's sequence */
	size_t		 n;
	uint64_t	 next;		/* the sequence to read next */
	size_t		 slice;		/* sequences to ask for at a time */
};

enum found {
	FOUND_NOT_SOUGHT,
	FOUND_LATER,		/* not read to its end yet */
	FOUND_THERE,
	FOUND_ABSENT
};

void	search_clear(struct search *);

/*
 * Search for a message from one sequence of the stream to another, both
 * included.  false: SEARCH_MAX messages are searched for already.
 */
bool	search_add(struct search *, const struct message_id *, uint64_t from,
	    uint64_t until);

/* Read on until all are decided or clock_ms() is end; -1 as in get_stored. */
int	search_run(struct search *, const struct pub *, const char *prefix,
	    int64_t end, const struct pub_go_on *, struct err *);

/* The result for a row; if it is there, *ack is its sequence. */
enum found search_result(const struct search *, uint64_t row, uint64_t *ack);

/* End the search for a row. */
void	search_drop(struct search *, uint64_t row);

/*
 * The same if it was added before moment, a clock_ms(), or with another id:
 * then it was sent since, and the part that was read does not show that.
 */
void	search_drop_older(struct search *, const struct message_id *,
	    int64_t moment);

#endif
