/* monitor_test.h - the files of check_monitor, each with a test case */
#ifndef TESTS_MONITOR_TEST_H
#define TESTS_MONITOR_TEST_H

#include "lib/check.h"
#include "monitor/question.h"

void	add_requests(Suite *);	/* monitor_requests.c */

/* Free what a monitor keeps until its process ends.  None may be under way. */
void	free_questions(struct questions *);

#endif
