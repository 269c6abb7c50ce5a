/*
 * fleet.h - which partitions this worker owns, and under which epochs
 *
 * A partition is a label, or a class of labels while several partition counts are
 * declared (counts.h).  Worker i of n live workers that do not stand back
 * (away.h), sorted by slot and id, should own partitions i, i+n, i+2n of the
 * sorted list.  It takes the leases of its share
 * when they are free, renews them, and releases all others at once.  It works on
 * a class only while it has the leases of all its labels.
 */
#ifndef OUTBOX_FLEET_H
#define OUTBOX_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "util/err.h"
#include "util/log_throttle.h"
#include "conf/counts.h"
#include "store/store.h"

/* How often a worker reads workers and leases. */
#define FLEET_READ_MS	1000

/* A label of ours, and its lease as it was last read. */
struct leased_label {
	char		label[MSG_LABEL];
	uint64_t	epoch;
};

/* One label, or a class of labels; owned as a whole or not at all. */
struct partition {
	unsigned		born;		/* changes when it was lost in
						   between or has other labels */
	size_t			nlabels;	/* not 0 */
	struct leased_label	labels[];	/* sorted bytewise */
};

/* All partitions of this worker, as a value that other stages only read. */
struct partitions {
	struct partition	**items;	/* sorted by first label */
	size_t			  n;
	struct counts		  counts;	/* read with them */
	unsigned		  version;	/* changes with labels, epochs
						   or counts */
};

struct fleet {
	const struct conf	*conf;
	struct store		*store;

	struct partitions	  parts;
	unsigned		  nborn;
	char			**owned;	/* labels of our leases, sorted;
						   a class may be incomplete */
	size_t			  nowned;
	char			**desired;	/* labels; sorted */
	size_t			  ndesired;
	struct counts		  counts;	/* of which desired was made */
	size_t			  rank;	/* our rank among them, from 0 */
	size_t			  active;	/* live workers that share the
						   partitions */
	bool			  stands_back;	/* this one does not: others
						   reach more, see away.h */
	size_t			  strangers;	/* workers of other programs */

	/* Set by the owner: the partition count to declare, once no lock is in
	   the way; 0: none. */
	unsigned		  wish;
	int64_t			  wish_at;	/* next try */
	bool			  wish_told;	/* it was logged why not yet */
	bool			  large_told;	/* a class is too large: logged */
	bool			  former_sent;	/* a message had a label of a
						   former count; not written
						   to the database yet */

	/* All times are clock_ms(). */
	int64_t			  beat_at;	/* next heartbeat and renewal */
	int64_t			  read_at;	/* next reading of leases */
	size_t			  nlabels;	/* of all leases */
	int64_t			  due_at;	/* next search for scheduled
						   rows that are due */
	int64_t			  due_late_since;	/* some wait for a
							   lock; 0: none */
	int64_t			  strays_at;	/* next search for labels of
						   rows without a lease */
	int64_t			  purge_at;	/* next removal of dead workers */
	int64_t			  lease_until;	/* our leases end then */

	/* Duties of the first worker that wait. */
	struct log_throttle	  due_late, strays;

	int64_t			  none_since;	/* it wants partitions, and
						   others hold all of them; 0:
						   not so */
	struct err		  none_why;	/* for two TTLs: who does; the
						   owner clears it */
	struct log_throttle	  none;

	/* For reports, since fleet_clear_report(). */
	char			**leased, **released;
	size_t			  nleased, nreleased;
	bool			  beaten;
	uint64_t		  purged;

	/* Leases, since the owner has cleared it: taken, given back, and lost
	   without that. */
	uint64_t		  ntaken, ngiven, nlost;
};

void	fleet_init(struct fleet *, const struct conf *, struct store *);
void	fleet_free(struct fleet *);

/* Own nothing and read the leases at once: after each (re)connect. */
void	fleet_restart(struct fleet *);

/*
 * Do what is due: heartbeat, renewal, taking and releasing leases.  Only
 * between two batches.  -1: the database failed.
 */
int	fleet_round(struct fleet *, int64_t now, struct err *);

/* Only heartbeat and renewal, for the time while a batch is under way. */
int	fleet_keep_alive(struct fleet *, int64_t now, struct err *);

/* When fleet_round() has something to do, clock_ms(). */
int64_t	fleet_next(const struct fleet *);

/* Other workers have all partitions: none is ours, and none is wanted. */
bool	fleet_stands_by(const struct fleet *);

/* The list of what is away has changed: the next round tells all others. */
void	fleet_say_away(struct fleet *, const char *list);

/* The next round reads the leases: a claim found that they have changed. */
void	fleet_reread(struct fleet *);

void	fleet_clear_report(struct fleet *);

/* Write former_sent to the database, if it is not there yet. */
int	fleet_note_former(struct fleet *, struct err *);

#endif
