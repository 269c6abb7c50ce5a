/*
 * horizon.h - up to which event nobody can tell a row that went from one that
 * was never made
 *
 * Reconcile makes no rows up to it; prune raises it before rows go.
 */
#ifndef OUTBOX_HORIZON_H
#define OUTBOX_HORIZON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "store/store.h"

struct horizon {
	bool		known;
	uint64_t	at;
};

/* -1: the database is in trouble.  Not known: no table, no column, NULL. */
int	horizon_read(struct store *, struct horizon *, struct err *);

/* Raise it, if it is known and lower. */
int	horizon_raise(struct store *, uint64_t to, struct err *);

/*
 * A dead letter with one of these reasons is none, but a mark: its event gets
 * no row.  See sql/schema.sql.
 */
#define DEAD_PURGED	"purged"
#define DEAD_MARKS	"('" DEAD_PURGED "', 'replayed')"

/*
 * Take away the n dead letters, in a transaction: those above the horizon
 * become DEAD_PURGED.  *changed is how many there were.
 */
int	horizon_purge(struct store *, const uint64_t *, size_t n,
	    uint64_t *changed, struct err *);

#endif
