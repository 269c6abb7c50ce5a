/* claim_test.h - the parts of check_claim */
#ifndef TESTS_CLAIM_TEST_H
#define TESTS_CLAIM_TEST_H

#include "lib/frame.h"

extern struct batch	b;	/* of the test; the fixture frees it */

void	claim_begin(void);
void	claim_end(void);

void	add_fetches(Suite *, const struct kind *);	/* store_fetch.c */
void	add_settling(Suite *, const struct kind *);	/* store_settle.c */

#endif
