/*
 * sweep.h - events that should have an outbox row and have none
 *
 * What is missing is found by reading and made afterwards, each in small
 * pieces.  An event and its row are committed together, and one statement
 * sees both or neither; when the row is made, all is asked once more, behind
 * a lock on the lease of its partition, so that two of us make it once.
 */
#ifndef OUTBOX_SWEEP_H
#define OUTBOX_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "store/horizon.h"
#include "store/store.h"

#define SWEEP_LIMIT	1000	/* events the short way looks at */
#define SWEEP_PIECE	1000	/* events of a statement, at most */

/* Zeroed but for the first four, of which types and filters may be empty. */
struct sweep {
	struct store		*store;
	const struct conf_list	*types;		/* published; none: all */
	const char		*type;		/* a pattern, or NULL */
	const char		*since;		/* a moment as SQL, or NULL */

	struct horizon		 horizon;
	uint64_t		 newest;
	uint64_t		*list;		/* events without a row */
	size_t			 n;
};

/*
 * From where to where there may be some.  Where nobody knows from where,
 * horizon.known is false and the error says why; that is no failure.
 */
int	sweep_begin(struct sweep *, struct err *);
void	sweep_free(struct sweep *);

/*
 * Add to the list what is missing among the first max events above *low and
 * up to *high, or the last max of them.  The bound moves on; *looked is how
 * many there were.
 */
int	sweep_search(struct sweep *, uint64_t *low, uint64_t *high, bool last,
	    size_t max, size_t *looked, struct err *);

/* The short way: the newest first, and no more than the limit. */
int	sweep_search_newest(struct sweep *, size_t limit, struct err *);

/*
 * In a transaction, make the rows of these n as far as they are still
 * missing; *made is how many.  Locks the settings row, shared, and the leases
 * of their partitions until it ends.
 */
int	sweep_make(struct sweep *, const uint64_t *, size_t n, uint64_t *made,
	    struct err *);

/* What to say when so many were made, or would be. */
#define SWEEP_TEXT	80
void	sweep_tell(char text[SWEEP_TEXT], uint64_t made, bool dry_run);

#endif
