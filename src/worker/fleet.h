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
#include "conf/counts.h"
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

/* A label of ours, and its lease as it was when it was read. */
struct leased_label {
	char		label[MSG_LABEL];
	uint64_t	epoch;
	uint64_t	early_upto;	/* rows that may go early */
	uint64_t	unsure_upto;	/* that have, perhaps, and do not say so */
};

/*
 * What this worker owns as a whole or not at all: one label, or while several
 * partition counts are declared a class of them (counts.h).
 */
struct partition {
	unsigned		born;		/* another one: it was not ours
						   for a while, or has other
						   labels */
	size_t			nlabels;	/* not 0 */
	struct leased_label	labels[];	/* sorted bytewise */
};

/* All that is owned, as a value for the other stages: they only read it. */
struct partitions {
	struct partition	**items;	/* sorted by their first labels */
	size_t			  n;
	struct counts		  counts;	/* declared when they were read */
	unsigned		  version;	/* another one: labels, epochs or
						   counts have changed */
};

/* The label of a lease of ours, of a class that may be incomplete. */
struct owned {
	char			 label[MSG_LABEL];
};

struct fleet {
	const struct conf	*conf;
	struct store		*store;

	struct partitions	  parts;
	unsigned		  nborn;
	struct owned		 *owned;	/* sorted */
	size_t			  nowned;
	char			**desired;	/* labels; sorted */
	size_t			  ndesired;
	struct counts		  counts;	/* desired is made by these */
	size_t			  place;	/* mine in the fleet, from 0 */
	size_t			  active;	/* live workers, me among them */
	size_t			  strangers;	/* of another program */

	bool			  ask;		/* see fleet_ask_for_rows */
	enum fleet_rows		  rows;

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

void	fleet_init(struct fleet *, const struct conf *, struct store *);
void	fleet_free(struct fleet *);

/* Forget what was owned and look again at once: after each (re)connect. */
void	fleet_restart(struct fleet *);

/*
 * If the next round reads the leases: do rows of ours wait?  One statement for
 * two questions; the answer is in rows after that round, and is old later.
 */
void	fleet_ask_for_rows(struct fleet *, bool ask);

/* Declare this partition count the present one, as soon as that can be done. */
void	fleet_wish_count(struct fleet *, unsigned count);

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
bool	fleet_may_go_early(struct fleet *, const struct partition *,
	    uint64_t sequence, int64_t now);

/* Nothing of ours is open any more, and nothing will be: no mark is needed. */
int	fleet_forget_marks(struct fleet *, struct err *);

/*
 * A message went with a label of a former partition count; and write that down,
 * if it is so.
 */
void	fleet_former_was_used(struct fleet *);
int	fleet_note_former(struct fleet *, struct err *);

/* So many leases are ours, as far as we work on them. */
size_t	fleet_nlabels(const struct fleet *);

/* May rows up to this one be in the stream without saying so? */
bool	fleet_is_unsure(const struct partition *, uint64_t sequence);

#endif
