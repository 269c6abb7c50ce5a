/*
 * parts.h - our partitions, with the backlog's state of each
 *
 * Labels and epochs come from the fleet, see fleet.h; the rest is the backlog's
 * own.  When an epoch has changed, the blocked keys are read again.
 */
#ifndef OUTBOX_PARTS_H
#define OUTBOX_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"
#include "conf/counts.h"
#include "worker/fleet.h"

struct part_label {
	char		label[MSG_LABEL];
	uint64_t	epoch;
	bool		full;		/* its last range reached its limit */
	size_t		nknown;		/* rows that the last scan read and
					   that wait in lanes */
	unsigned	range;		/* in_scan: the index of its range */
};

struct part {
	size_t		number;		/* index of the fleet's partition */
	unsigned	born;		/* of the fleet's partition */
	bool		unread;		/* its blocked keys are to be read */
	bool		merging;	/* two of them are to be merged */
	int64_t		merge_at;	/* that was refused: try again; 0: no */
	bool		unmerged;	/* and it was logged */
	size_t		nblocked;	/* rows of blocked lanes; lanes.c */
	bool		in_scan;	/* the present scan looks at its rows */
	bool		glanced;	/* the last glance saw rows of it, or
					   may have missed those of a head */
	size_t		nlabels;	/* not 0 */
	struct part_label labels[];	/* sorted bytewise */
};

/* The position of a label. */
struct label_entry {
	const char	*label;
	struct part	*part;
	size_t		 at;		/* of the part's labels */
};

struct parts {
	struct part		**items;	/* sorted by name */
	size_t			  n;
	struct label_entry	 *entries;	/* sorted by label */
	size_t			  nentries;
	struct counts		  counts;
	unsigned		  version;	/* of the fleet's */
};

struct lanes;

/*
 * Take over these partitions.  The lanes forget those that are not ours any
 * more or have other labels or epochs; changed and new ones are unread.
 */
void	parts_adopt(struct parts *, struct lanes *, const struct partitions *);
void	parts_free(struct parts *);

/* The label's partition, and the label in it; NULL if it is not ours. */
struct part		*parts_find(const struct parts *, struct bytes label);
struct part_label	*parts_label(const struct parts *, struct bytes label);

/* Is there one whose blocked keys are not all read yet? */
bool	parts_have_fresh(const struct parts *);

/* A partition's name is its first label. */
static inline const char *
part_name(const struct part *p)
{
	return p->labels[0].label;
}

#endif
