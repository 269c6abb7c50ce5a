/*
 * cpu.c - CPU time of other processes, in microseconds
 *
 *   cpu PID...     print the sum of what they have used so far
 *
 * The kernel's clock of a process counts all its threads, those that ended as
 * well.  /proc/PID/stat has the same in steps of 10 ms: too coarse for a load
 * of a few messages a second.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long
cpu_us(const char *pid)
{
	clockid_t	clock;
	struct timespec	ts;

	if (clock_getcpuclockid((pid_t)atoi(pid), &clock) != 0 ||
	    clock_gettime(clock, &ts) != 0)
		errx(1, "no process %s", pid);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

int
main(int argc, char **argv)
{
	long long	us = 0;

	if (argc < 2)
		errx(2, "usage: cpu PID...");
	for (int i = 1; i < argc; i++)
		us += cpu_us(argv[i]);
	printf("%lld\n", us);
	return 0;
}
