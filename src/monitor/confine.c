/*
 * confine.c - what the monitor may still do once it reads what strangers send,
 * see monitor_impl.h
 *
 * It has what it needs: sockets, the channel to the master, the log, the
 * scoreboard, the hashes of the tokens.  So it opens no file, starts no program,
 * makes no socket and signals nobody.  What fails here for want of a call is
 * refused and not killed: a library may try another way.
 */

#include "monitor/monitor_impl.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "util/environment.h"
#include "util/log.h"
#include "util/sandbox.h"
#include "util/secret.h"

static const int	calls[] = {
	/* Clients: accepted, read, answered, asked who they are, cut off. */
	SYS_accept4, SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg,
	SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_shutdown, SYS_close,
	SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_getpeername,

	/* The loop, and pipes, whose ends go to the master by sendmsg. */
	SYS_ppoll, SYS_epoll_ctl, SYS_epoll_pwait, SYS_pipe2, SYS_fcntl,
#ifdef SYS_poll
	SYS_poll, SYS_epoll_wait,
#endif

	/* The log: is it a file?  (A path can be asked about, but not opened.) */
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_fstat
	SYS_fstat,
#endif
	SYS_statx, SYS_lseek, SYS_getpid,

	/* Memory, locks of the C library, random numbers. */
#ifdef SYS_mmap		/* not on 32-bit ARM, which has no filter */
	SYS_mmap,
#endif
	SYS_brk, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
	SYS_futex, SYS_getrandom, SYS_sched_yield,

	/* Time, signals from the master, the end. */
	SYS_clock_gettime, SYS_gettimeofday, SYS_clock_nanosleep,
	SYS_nanosleep, SYS_rt_sigreturn, SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_restart_syscall, SYS_setitimer,
#ifdef SYS_alarm
	SYS_alarm,
#endif
#ifdef SYS_time
	SYS_time,
#endif
	SYS_exit, SYS_exit_group
};

size_t
monitor_files(const struct conf *c, const char *files[FILE_STAMP_MAX])
{
	const struct conf_person *p = c->monitor.tokens.items;
	size_t			  n = 0;

	files[n++] = c->monitor.token_file;
	files[n++] = c->mysql.operator.password_file;
	for (size_t i = 0; i < c->monitor.tokens.n; i++)
		files[n++] = p[i].file;
	return n;
}

void
monitor_confine(struct monitor *m)
{
	struct err	e;

	/* What reads a file at its first use, and could not then. */
	tzset();
	log_connect();
	json_object_seed(0);
	/* No token stays in memory once it was handed over. */
	json_set_alloc_funcs(malloc, secret_wipe);
	(void)people_find(&m->people, "");
	/* Passwords that are for others. */
	environment_wipe();
	if (sandbox_allow_calls(calls, sizeof(calls) / sizeof(calls[0]),
	    &e) == 0)
		m->a->line->sandbox = SANDBOX_CALLS;
	else
		log_debug("%s: the monitor is not confined", e.text);
}
