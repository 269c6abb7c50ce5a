/* descriptors.c - see descriptors.h */

#include "master/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "conf/conf.h"

/*
 * Of the master: standard input, output and error; pid file and its directory;
 * log, and the new one while it is opened again; syslog; scoreboard and list of
 * workers; standard output once more, for reports; the file that a reload reads;
 * sockets of the monitor, its channel, and what that hands over; a wake-up for
 * each slot, whether or not it has a worker.
 */
#define MASTER		(3 + 2 + 2 + 1 + 2 + 1 + 1 + 2 + 2 + 3 +	\
			    CONF_MAX_WORKERS)

/*
 * Of a worker beside these: the connections to database and broker; what their
 * libraries open for a look-up of a name, for certificates and for threads.
 */
#define WORKER		(2 + 30)

unsigned
descriptors_needed(void)
{
	return MASTER + WORKER;
}

int
descriptors_allow(struct err *e)
{
	struct rlimit	l;
	rlim_t		need = descriptors_needed();

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return err_set(e, "getrlimit: %s", strerror(errno));
	if (l.rlim_cur >= need)
		return 0;
	if (l.rlim_max < need)
		return err_set(e, "a process may open %llu files at most, and "
		    "%llu are needed: raise the limit (LimitNOFILE= of the "
		    "systemd unit, ulimit -n, or limits.conf(5))",
		    (unsigned long long)l.rlim_max, (unsigned long long)need);
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		return err_set(e, "setrlimit: %s", strerror(errno));
	return 0;
}
