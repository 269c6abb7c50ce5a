/*
 * parts.h - our partitions as the backlog knows them: what waits in each
 *
 * The fleet says which they are and under which epochs; see fleet.h.  All else
 * is the backlog's own, and forgotten when one of the epochs is another.
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
	bool		full;		/* its last range was used up */
	size_t		nknown;		/* rows of it that the last scan met in
					   vain, as they wait */
	unsigned	range;		/* picked: the index of its range */
};

struct part {
	size_t		number;		/* of the fleet's partition */
	unsigned	born;		/* the same */
	bool		fresh;		/* its blocked keys are to be read */
	bool		merging;	/* and some of them to be made one */
	size_t		nblocked;	/* rows of blocked lanes; lanes.c */
	bool		woken;		/* for new rows that no scan has met */
	int64_t		woken_at;	/* the last time; clock_ms() */
	bool		picked;		/* has rows in the tick under way */
	size_t		nlabels;	/* not 0 */
	struct part_label labels[];	/* sorted bytewise */
};

/* Where a label is. */
struct part_place {
	const char	*label;
	struct part	*part;
	size_t		 at;		/* of the part's labels */
};

struct parts {
	struct part		**items;	/* sorted by name */
	size_t			  n;
	struct part_place	 *places;	/* sorted by label */
	size_t			  nplaces;
	struct counts		  counts;
	unsigned		  version;	/* of the fleet's */
};

struct lanes;

/*
 * From now on these are ours.  Of a partition that is not any more, or has
 * other labels or epochs, the lanes forget everything; new ones are fresh.
 */
void	parts_adopt(struct parts *, struct lanes *, const struct partitions *);
void	parts_free(struct parts *);

/* The label's partition, and the label in it; NULL if it is not ours. */
struct part		*parts_find(const struct parts *, struct bytes label);
struct part_label	*parts_label(const struct parts *, struct bytes label);

/* Is there one whose blocked keys are not all read yet? */
bool	parts_have_fresh(const struct parts *);

/* What it is called: its first label. */
static inline const char *
part_name(const struct part *p)
{
	return p->labels[0].label;
}

#endif
