/*
 * reconcile.h - reconcile: make the outbox rows that events lack
 *
 * Rows are searched first and made afterwards, both in small pieces.  An event
 * and its row are committed together, so one statement sees both or neither.
 * Making a row checks again under a lock on its partition's lease: two
 * processes do not make it twice.
 */
#ifndef OUTBOX_RECONCILE_H
#define OUTBOX_RECONCILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "store/watermark.h"
#include "store/store.h"

#define RECONCILE_LIMIT	1000	/* events of the short search */
#define RECONCILE_PIECE	1000	/* events per statement, at most */

/* The caller sets the first four (types may be empty) and zeroes the rest. */
struct reconcile {
	struct store		*store;
	const struct conf_list	*types;		/* published; none: all */
	const char		*type;		/* a pattern, or NULL */
	const char		*since;		/* a moment as SQL, or NULL */

	struct watermark	 watermark;
	uint64_t		 newest;
	uint64_t		*list;		/* events without a row */
	size_t			 n;
};

/*
 * Read the bounds of the search.  If the watermark is not known, this returns 0
 * with watermark.known false, and the error says why.
 */
int	reconcile_begin(struct reconcile *, struct err *);
void	reconcile_free(struct reconcile *);

/* Events that are not searched yet: above low and up to high. */
struct sweep_range {
	uint64_t	low, high;
};

/*
 * List the events without a row among the first max of the range, or among the
 * last max.  That bound advances; *nread is how many events there were.
 */
int	reconcile_search(struct reconcile *, struct sweep_range *, bool last,
	    size_t max, size_t *nread, struct err *);

/* The short search: the newest events first, limit of them at most. */
int	reconcile_search_newest(struct reconcile *, size_t limit, struct err *);

/*
 * In a transaction, make the rows of these n events that still have none; *made
 * is how many.  Until its end it locks the settings row, shared, and the leases
 * of the partitions.
 */
int	reconcile_make(struct reconcile *, const uint64_t *, size_t n,
	    uint64_t *made, struct err *);

/*
 * For statements of others: the outbox and the dead letters joined to events e;
 * the condition that neither has e; and " AND (...)", that e is of a type that is
 * published, "" for all.
 */
void	reconcile_put_joins(struct store *);
void	reconcile_put_missing(struct store *);
void	reconcile_put_types(struct store *, const struct conf_list *types);

/* The message for so many rows, made or to be made. */
#define RECONCILE_TEXT	80
void	reconcile_tell(char text[RECONCILE_TEXT], uint64_t made, bool dry_run);

#endif
