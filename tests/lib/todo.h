/*
 * todo.h - what is wanted, and is not so yet
 *
 * ck_todo() passes as long as its wish is not fulfilled, and says so.  When it
 * is, the test fails: then it becomes an assertion.
 */
#ifndef TESTS_TODO_H
#define TESTS_TODO_H

#include <check.h>
#include <stdio.h>

/* To stderr: the results of the tests go to the other. */
#define ck_todo(wish, why) do {						\
	ck_assert_msg(!(wish), "no TODO any more, assert it: %s", #wish);	\
	fprintf(stderr, "# not ok - %s # TODO %s\n", #wish, why);	\
} while (0)

#endif
