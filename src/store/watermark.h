/*
 * watermark.h - the reconcile watermark
 *
 * Up to this event a missing outbox row may have been pruned: reconcile makes
 * none.  Prune raises it before it deletes rows.
 */
#ifndef OUTBOX_WATERMARK_H
#define OUTBOX_WATERMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "store/store.h"

struct watermark {
	bool		known;
	uint64_t	at;
};

/* Read it.  Not known: there is no table, no column, or it is NULL. */
int	watermark_read(struct store *, struct watermark *, struct err *);

/* Raise it, if it is known and lower. */
int	watermark_raise(struct store *, uint64_t to, struct err *);

/*
 * Rows with these reasons are marks, not dead letters: their events get no
 * outbox row.  See sql/schema.sql.
 */
#define DEAD_PURGED	"purged"
#define DEAD_MARKS	"('" DEAD_PURGED "', 'replayed')"

/*
 * In a transaction, delete the n dead letters; those above the watermark become
 * DEAD_PURGED instead.  *changed is how many there were.
 */
int	watermark_purge(struct store *, const uint64_t *, size_t n,
	    uint64_t *changed, struct err *);

#endif
