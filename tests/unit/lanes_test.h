/*
 * lanes_test.h - the parts of check_lanes
 *
 * Rows wait in two partitions, p1 and p2.  Time is a number that the test
 * passes in.
 */
#ifndef TESTS_LANES_TEST_H
#define TESTS_LANES_TEST_H

#include "lib/check.h"

#include "worker/lanes.h"

extern struct lanes	*lanes;
extern struct lanes_parts {
	struct part		 part;
	struct part_label	 label;
} parts[2];
#define p1	parts[0].part
#define p2	parts[1].part

/* A row of a lane failed, or waits behind one; put: in p1. */
void		 put_in(struct part *, struct bytes lane, uint64_t sequence,
		    int64_t due_at);
void		 put(const char *lane, uint64_t sequence, int64_t due_at);

/* Check that a lane blocks its rows from this one on; LANE_NONE: no row. */
void		 ck_bars(const char *lane, uint64_t first);

/* The rows that wait, "10 11"; checks the counts of rows. */
const char	*held(void);

/* The heads that are due, sorted: "10 30". */
const char	*due(int64_t now, size_t max);

void		 add_rows(TCase *);	/* lanes_rows.c */
void		 add_parked(TCase *);	/* lanes_parked.c */
void		 add_models(TCase *);	/* lanes_model.c */
void		 add_slots(Suite *);	/* lanes_slot.c */

#endif
