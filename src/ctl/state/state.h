/*
 * state.h - what there is in the tables and on this host, as JSON
 *
 * What status, workers and partitions list show.  Reads are bounded whatever
 * waits; nothing is changed.  NULL and -1: see err.
 */
#ifndef OUTBOXCTL_STATE_H
#define OUTBOXCTL_STATE_H

#include <stdint.h>

#include "ctl/base/ctl.h"

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
 * declared.c: the partition counts that are declared.  Where none is set yet it
 * is that of the file.
 */
int	 state_counts(struct ctl *, struct counts *, struct err *);

/* The class that the label is of with others, or COUNTS_NONE. */
unsigned state_class(const struct ctl *, const struct counts *,
	    const char *label);

/* No declared count makes it; rows without a label always may come. */
bool	 state_is_obsolete(const char *label, const struct counts *);

/* [16, 8] */
json_t	*state_former_json(const struct counts *);

/* "48, formerly 16: 16 classes of 3 labels at most, ...", to be freed. */
char	*state_counts_text(const struct counts *);

/*
 * When workers sent a message under a label that its key does not have under
 * the present count, and how long until partitions sync --finish may be said:
 * that and the last change have to be so long ago.
 */
#define STATE_QUIET_MS	(10 * 60 * 1000)
#define STATE_TIME	40
struct former_use {
	bool	 noted;			/* leases can say it */
	char	 last[STATE_TIME];	/* RFC 3339; "": never */
	char	 since[STATE_TIME];	/* the last change; "": none was made */
	bool	 is_after;		/* the last message came after it */
	int64_t	 wait_ms;
};
int	 state_former_use(struct ctl *, struct former_use *, struct err *);

/*
 * Where no former count is declared: a producer uses another one all the same.
 * To be freed; NULL: none is known.
 */
int	 state_straggler(struct ctl *, const struct counts *,
	    const struct former_use *, char **text, struct err *);

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
