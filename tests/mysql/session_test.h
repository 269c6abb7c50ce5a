/* session_test.h - the part of check_db about the session's variables */
#ifndef TESTS_SESSION_TEST_H
#define TESTS_SESSION_TEST_H

#include "lib/frame.h"

void	add_session(Suite *, const struct kind *);

#endif
