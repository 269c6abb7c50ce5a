/* server_test.h - the part of check_db about what a server is */
#ifndef TESTS_SERVER_TEST_H
#define TESTS_SERVER_TEST_H

#include "lib/frame.h"

void	add_server(Suite *, const struct kind *);

#endif
