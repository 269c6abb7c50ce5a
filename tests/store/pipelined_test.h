/*
 * pipelined_test.h - the parts of check_pipelined
 *
 * Rows 1 to 4 wait in p00, and its lease is ours.
 */
#ifndef TESTS_PIPELINED_TEST_H
#define TESTS_PIPELINED_TEST_H

#include <string.h>

#include "lib/frame.h"
#include "util/xalloc.h"

/* Since when, up to which row, and of which owner the mark is. */
#define MARKS	"SELECT IF(in_doubt_since IS NULL AND in_doubt_upto IS NULL " \
		"AND in_doubt_epoch IS NULL, 'none', " \
		"CONCAT(IF(in_doubt_since > " \
		"NOW(6) - INTERVAL 5 SECOND, 'new', IF(in_doubt_since > " \
		"NOW(6) - INTERVAL 10 MINUTE, 'late', 'old')), ' ', "	     \
		"in_doubt_upto, IF(in_doubt_epoch = lease_epoch, ' mine', " \
		"' former'))) FROM outbox_partitions "			     \
		"WHERE partition_key = 'p00'"

void	early_begin(void);
void	early_end(void);

void	set_mark(const char *);		/* as MARKS shows it */

void	add_marks(TCase *);		/* pipelined_marks.c */
void	add_early_fleet(TCase *);	/* pipelined_fleet.c */
void	fleet_begin(void);
void	fleet_end(void);

#endif
