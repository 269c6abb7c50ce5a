/*
 * gcov_exit.c - _exit() of the coverage build
 *
 * _exit() runs no exit handlers, so libgcov would not write the counters of a
 * process that ends by it.  tools/coverage links each program with
 * -Wl,--wrap=_exit and this file.
 */
#include <stdnoreturn.h>

void		__gcov_dump(void);
noreturn void	__real__exit(int);
noreturn void	__wrap__exit(int);

noreturn void
__wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
