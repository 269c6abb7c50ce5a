/*
 * state.h - what there is in the tables and on this host, as JSON
 *
 * What status, workers and partitions list show.  Reads are bounded whatever
 * waits; nothing is changed.  NULL and -1: see err.
 */
#ifndef OUTBOXCTL_STATE_H
#define OUTBOXCTL_STATE_H

#include <stdint.h>

#include "ctl.h"

/*
 * So many dead letters are counted, and so many waiting rows where the server
 * does not say that they are far more.  Then it is an estimate.
 */
#define STATE_EXACT	10000

/* fleet.c: an object per row of outbox_workers, sorted bytewise by id. */
json_t	*state_workers(struct ctl *, struct err *);

/*
 * partitions.c: an object per lease, sorted bytewise by label, with the
 * oldest of its waiting rows.  Of these so many are counted, of all labels
 * together; of more "waiting" is an estimate and "exact" false.  With 0 none
 * is counted, and "waiting" is only whether there are any.
 */
json_t	*state_partitions(struct ctl *, uint64_t count, struct err *);

/*
 * under_way.c: a change of the partition count that is under way or wanted:
 * {"count", "former", "wanted", "boundary", "left", "exact"}, null: none is.
 * Afterwards the store knows the counts.
 */
json_t	*state_change(struct ctl *, struct err *);

/* The same for people, to be freed; NULL: none is. */
char	*state_change_text(const json_t *);

/* Nobody writes there any more; rows without a label always may come. */
bool	 state_is_obsolete(const char *label, unsigned count);

/* How many partitions producers write to; 0: see err. */
unsigned state_partition_count(struct ctl *, struct err *);

/*
 * backlog.c: how many rows wait, as {"waiting", "exact", "parked"}; null
 * where no index could tell it without reading all.
 */
json_t	*state_backlog(struct ctl *, struct err *);

/* here.c: what the board of this host says; null: no daemon runs here. */
json_t	*state_here(const struct ctl *);

/*
 * Put {"per_second"} into it: what it says now of what was delivered,
 * compared with what an earlier one said.
 */
void	 state_rate(json_t *now, const json_t *before);

#endif
