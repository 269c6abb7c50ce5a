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
#include "common/msg.h"

#define SEARCH_MAX	10000	/* rows at a time */

struct sought {
	struct message_id id;		/* the message to find */
	bool		loose;		/* by row and replay alone: the caller
					   judges what is found last */
	uint64_t	from, until;	/* the places where it can be */
	int64_t		not_before;	/* when it was stored at the earliest,
					   ms since 1970; 0: not known */
	uint64_t	ack;		/* its sequence; 0: not found yet */
	struct stored_message found;	/* loose: what is there */
	int64_t		since;		/* clock_ms() of search_add() */
};

/* A zeroed one is ready for use. */
struct search {
	struct sought	*items;		/* sorted by the row's sequence */
	size_t		 n;
	struct stream_state state;	/* of the stream that is read */
	int64_t		 same_since;	/* clock_ms(): it is the same since */
	uint64_t	 next;		/* the sequence to read next */
	uint64_t	 sure;		/* what was read below this one counts:
					   the stream was the same afterwards */
	size_t		 slice;		/* sequences to ask for at a time */

	/*
	 * Messages up to this one may have left the stream before they were
	 * read, the last of them stored at removed_at, ms since 1970.  0: none,
	 * not known.
	 */
	uint64_t	 removed;
	int64_t		 removed_at;
};

void	search_clear(struct search *);

/*
 * Search in this stream, as it is now.  If it is another one than that which
 * was read (made anew, under another leader or after a start of its server), or
 * has lost its end, all that was read is forgotten.  false: not yet, its leader
 * may still have to learn what its replicas have.
 */
bool	search_in(struct search *, const struct stream_state *now);

/* A question was not answered: replicas may go on from somewhere else. */
void	search_failed_in(struct search *);

/* Search for a message; since is set here.  false: there are SEARCH_MAX. */
bool	search_add(struct search *, const struct sought *);

/*
 * Read on until all are decided or clock_ms() is end, and ask then whether the
 * stream is still the same.  -1: the broker did not tell, as in get_stored.
 */
int	search_run(struct search *, const struct pub *, const char *prefix,
	    int64_t end, const struct pub_go_on *, struct err *);

/*
 * The result for a row; if it is there, *ack is its sequence.  FOUND_UNKNOWN:
 * its place may have been removed unread.
 */
enum found search_result(const struct search *, uint64_t row, uint64_t *ack);

/*
 * The same for a message: one that was searched for loosely is there if what
 * was found is it.
 */
enum found search_result_of(const struct search *, struct msg *, uint64_t *ack);

/* End the search for a row. */
void	search_drop(struct search *, uint64_t row);

/*
 * The same if it was added before moment, a clock_ms(), or with another id:
 * then it was sent since, and the part that was read does not show that.
 */
void	search_drop_older(struct search *, const struct message_id *,
	    int64_t moment);

#endif
