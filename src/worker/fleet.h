/*
 * fleet.h - this worker as one of a fleet: alive, and owner of partitions
 *
 * Worker i of the n live ones, sorted by id, wants the entries i, i+n, i+2n
 * of the sorted partitions: labels, or classes of them while several partition
 * counts are declared. It takes what it wants and what is free, renews what it
 * has, and gives up at once what it no longer wants.  It works on a class only
 * while it has the leases of all of its labels.
 */
#ifndef OUTBOX_FLEET_H
#define OUTBOX_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "worker/lanes.h"
#include "store/store.h"

/*
 * How often a member looks at the fleet and the leases.  Where the partitions
 * are many and his share is small it looks at that share, and at all of them
 * when the fleet has changed or so much time has passed.
 */
#define FLEET_LOOK_MS	1000
#define FLEET_ALL_MS	5000

/* What a look at the leases has learnt of the rows of our partitions. */
enum fleet_rows {
	FLEET_NOT_ASKED,
	FLEET_NO_ROWS,		/* none waits */
	FLEET_ROWS		/* some do */
};

/* A lease of ours. */
struct owned {
	char			 label[MSG_LABEL];
	struct part		*part;	/* NULL: the class is not complete */
	size_t			 at;	/* of its labels */
};

struct fleet {
	const struct conf	*conf;
	struct store		*store;
	struct lanes		*lanes;

	struct part		**parts;	/* owned, sorted by name */
	size_t			  nparts;
	struct owned		 *owned;	/* leases, sorted by label */
	size_t			  nowned;
	char			**desired;	/* labels; sorted */
	size_t			  ndesired;
	struct counts		  counts;	/* desired is made by these */
	size_t			  place;	/* mine in the fleet, from 0 */
	size_t			  active;	/* live workers, me among them */
	size_t			  strangers;	/* of another program */

	/*
	 * The owner may want to know of rows when a look at the leases is due,
	 * and forgets the answer when it is old: one statement for two.
	 */
	bool			  ask;
	enum fleet_rows	  rows;

	unsigned		  moves;	/* changes of parts or epochs */
	unsigned		  wish;		/* another partition count; or 0 */
	int64_t			  wish_at;	/* try then */
	bool			  wish_told;	/* why it could not be done yet */
	bool			  large_told;	/* of a class too large */
	bool			  former_sent;	/* a message went with a label
						   of a former count, which is
						   not written down yet */

	uint64_t		  early_row;	/* the highest that was asked for
						   since the last renewal; or 0 */
	bool			  mark_now;	/* it is not covered */
	int64_t			  server_at;	/* ask again what it is like */

	int64_t			  beat_at;	/* next heartbeat and renewal */
	int64_t			  look_at;	/* next look at the leases */
	int64_t			  all_at;	/* next look at all of them */
	size_t			  nlabels;	/* partitions, at the last of those */
	size_t			  for_place;	/* desired is made for these */
	size_t			  for_active;
	int64_t			  sweep_at;	/* next look for stray labels */
	int64_t			  parked_at;	/* the same for parked ones */
	int64_t			  purge_at;
	int64_t			  lease_until;	/* by our clock; past it: not ours */

	/* What happened since the owner of these fields cleared them. */
	char			**leased, **released;
	size_t			  nleased, nreleased;
	bool			  beaten;
	uint64_t		  purged;
};

void	fleet_init(struct fleet *, const struct conf *, struct store *,
	    struct lanes *);
void	fleet_free(struct fleet *);

/* Forget what was owned and look again at once: after each (re)connect. */
void	fleet_restart(struct fleet *);

/*
 * Everything that is due: heartbeat, renewal, and, between two batches,
 * leases in and out.  -1: the database is in trouble.
 */
int	fleet_round(struct fleet *, int64_t now, struct err *);

/* Only what keeps us alive: to be called while a batch is out. */
int	fleet_keep_alive(struct fleet *, int64_t now, struct err *);

/* When fleet_round has something to do. */
int64_t	fleet_next(const struct fleet *);

/* Look again now: a claim found that the leases are not as we knew. */
void	fleet_reread(struct fleet *);

void	fleet_clear_report(struct fleet *);

/*
 * May the message of this row of the partition be sent while its claim is
 * being committed?  To ask makes it possible, from the next round on and up to
 * the next renewal: a lease is marked only where that is of use, for a mark
 * costs whoever has the lease after us if we did not release it.  Whether the
 * server is one where that may be is asked again now and then, while somebody
 * wants to know.
 */
bool	fleet_may_go_early(struct fleet *, const struct part *,
	    uint64_t sequence, int64_t now);

/* Nothing of ours is open any more, and nothing will be: no mark is needed. */
int	fleet_forget_marks(struct fleet *, struct err *);

/* Write down, if it is so, that a former partition count is still in use. */
int	fleet_note_former(struct fleet *, struct err *);

/* Are there partitions whose blocked keys are not all read yet? */
bool	fleet_has_fresh(const struct fleet *);

/* The label's owned partition, NULL if it is not ours. */
struct part *fleet_part(const struct fleet *, struct bytes label);

/* The same, and the label in it. */
struct part_label *fleet_label(const struct fleet *, struct bytes label);

/* So many leases are ours, as far as we work on them. */
size_t	fleet_nlabels(const struct fleet *);

/* May rows up to this one be in the stream without saying so? */
bool	fleet_is_unsure(const struct part *, uint64_t sequence);

#endif
