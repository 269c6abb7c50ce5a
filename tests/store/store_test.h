/* store_test.h - the parts of check_store */
#ifndef TESTS_STORE_TEST_H
#define TESTS_STORE_TEST_H

#include "lib/frame.h"

/* Every lease of the table, as store_acquire and store_release want them. */
size_t	every_lease(struct lease **all, const struct lease *list[16]);

void	add_statements(Suite *, const struct kind *);
void	add_schema(Suite *, const struct kind *);
void	add_leases(Suite *, const struct kind *);
void	add_candidates(Suite *, const struct kind *);
void	add_back(Suite *, const struct kind *);

#endif
