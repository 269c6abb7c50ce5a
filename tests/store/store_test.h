/* store_test.h - the parts of check_store and check_claim */
#ifndef TESTS_STORE_TEST_H
#define TESTS_STORE_TEST_H

#include "lib/frame.h"

/* Every lease of the table, as store_acquire and store_release want them. */
size_t	every_lease(struct lease **all, const struct lease *list[16]);

/* check_store */
void	add_schema(Suite *, const struct kind *);
void	add_leases(Suite *, const struct kind *);
void	add_candidates(Suite *, const struct kind *);

/* check_claim */
void	add_fetches(Suite *, const struct kind *);
void	add_settling(Suite *, const struct kind *);

#endif
