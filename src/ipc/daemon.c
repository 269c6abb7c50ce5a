/* daemon.c - see daemon.h; done once, before the first fork of a worker */

#include "ipc/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/libutil.h>
#include <bsd/unistd.h>

#include "util/clock.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define FAMILY_WAIT_MS	5000
#define FAMILY_POLL_MS	50

/* For the files of the run directory and the log: the owner and the group. */
#define MASK		027

static struct pidfh	*pidfh;

/*
 * The memory has passwords and payloads.  A limit of zero stops core dumps to
 * files, but not those that the kernel pipes to a program.  A process that is
 * not dumpable has neither, and /proc/PID/environ and ptrace(2) are for root.
 */
static int
keep_memory_private(struct err *e)
{
	const struct rlimit	none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_set(e, "setrlimit: %s", strerror(errno));
#ifndef __SANITIZE_ADDRESS__		/* it traces itself */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, "prctl: PR_SET_DUMPABLE: %s",
		    strerror(errno));
#endif
	return 0;
}

int
daemon_isolate(struct err *e)
{
	int	fd;

	/*
	 * Or a file that is opened later gets what is meant for the log.  Not
	 * for writing: output that is closed stays an error.
	 */
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	closefrom(STDERR_FILENO + 1);
	umask(MASK);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, "prctl: PR_SET_NO_NEW_PRIVS: %s",
		    strerror(errno));
	return keep_memory_private(e);
}

/* *pw is NULL if there is no user to change to. */
static int
find_user(const char *user, struct passwd **pw, struct err *e)
{
	*pw = NULL;
	if (geteuid() != 0 || user[0] == '\0')
		return 0;
	errno = 0;
	*pw = getpwnam(user);
	if (*pw == NULL)
		return err_set(e, "master.user: %s: %s", user,
		    errno == 0 ? "no such user" : strerror(errno));
	return 0;
}

int
daemon_check_user(const char *user, struct err *e)
{
	struct passwd	*pw;

	return find_user(user, &pw, e);
}

/*
 * Whoever owns the directory above may replace the new one before we give it
 * away: it must be what we have made.
 */
static int
give_away(const char *dir, const struct passwd *pw, struct err *e)
{
	int		fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
	struct stat	st;
	int		rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_set(e, "open %s: %s", dir, strerror(errno));
	else if (st.st_uid != geteuid())
		rc = err_set(e, "%s: another process has replaced it", dir);
	else if (fchmod(fd, 0755) < 0 ||
	    (pw != NULL && fchown(fd, pw->pw_uid, pw->pw_gid) < 0))
		rc = err_set(e, "chown %s: %s", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

int
daemon_make_rundir(const char *pidfile, const char *user, struct err *e)
{
	char		*copy = xstrdup(pidfile), *dir = dirname(copy);
	struct passwd	*pw;
	int		 rc;

	/* Check the user first: a directory owned by root is of no use. */
	rc = find_user(user, &pw, e);
	if (rc == 0 && mkdir(dir, 0700) == 0)
		rc = give_away(dir, pw, e);
	else if (rc == 0 && errno != EEXIST)
		rc = err_set(e, "mkdir %s: %s", dir, strerror(errno));
	free(copy);
	return rc;
}

char *
daemon_run_prefix(const char *pidfile)
{
	size_t	len = strlen(pidfile);

	if (len > 4 && strcmp(pidfile + len - 4, ".pid") == 0)
		len -= 4;
	return xstrndup(pidfile, len);
}

char *
daemon_monitor_socket(const struct conf *conf)
{
	char	*prefix, *path;

	if (conf->monitor.socket[0] != '\0')
		return xstrdup(conf->monitor.socket);
	prefix = daemon_run_prefix(conf->master.pidfile);
	path = xasprintf("%s.monitor.sock", prefix);
	free(prefix);
	return path;
}

/* All three ids of each kind are these, and root cannot be had back. */
static bool
has_only(uid_t uid, gid_t gid)
{
	uid_t	u[3];
	gid_t	g[3];

	if (getresuid(&u[0], &u[1], &u[2]) < 0 ||
	    getresgid(&g[0], &g[1], &g[2]) < 0)
		return false;
	for (int i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid)
			return false;
	return uid == 0 || setresuid(0, 0, 0) < 0;
}

int
daemon_drop_root(const char *user, struct err *e)
{
	struct passwd	*pw;

	if (find_user(user, &pw, e) < 0)
		return -1;
	if (pw == NULL)
		return 0;
	if (initgroups(user, pw->pw_gid) < 0 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return err_set(e, "master.user: cannot change to %s: %s", user,
		    strerror(errno));
	if (!has_only(pw->pw_uid, pw->pw_gid))
		return err_set(e, "master.user: still has rights of root after "
		    "the change to %s", user);
	return keep_memory_private(e);	/* the change of ids has reset it */
}

/* 0: locked; 1: locked by another process, its pid in *holder; -1: error. */
static int
try_lock(const char *pidfile, pid_t *holder, struct err *e)
{
	struct stat	st;
	mode_t		mask;

	*holder = 0;
	/* A daemon that stays root must not write where a link leads. */
	if (lstat(pidfile, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, "%s: is not a regular file: remove it",
		    pidfile);
	mask = umask(022);		/* init scripts of users read it */
	pidfh = pidfile_open(pidfile, 0644, holder);
	umask(mask);
	/* The lock is for our family, not for programs that it runs. */
	if (pidfh != NULL)
		return fcntl(pidfile_fileno(pidfh), F_SETFD, FD_CLOEXEC) < 0 ?
		    err_set(e, "fcntl: %s", strerror(errno)) : 0;
	if (errno == EEXIST || errno == EAGAIN)
		return 1;
	return err_set(e, "open %s: %s", pidfile, strerror(errno));
}

int
daemon_lock(const char *pidfile, struct err *e)
{
	int64_t	until = clock_ms() + FAMILY_WAIT_MS;
	pid_t	holder;
	int	rc;

	while ((rc = try_lock(pidfile, &holder, e)) == 1) {
		if (holder > 0 && (kill(holder, 0) == 0 || errno == EPERM))
			return err_set(e, "%s: outbox-master is already "
			    "running with pid %d", pidfile, (int)holder);
		/* The master is dead; its workers are about to exit. */
		if (clock_ms() >= until)
			return err_set(e, "%s: still locked by workers of a "
			    "master that was killed: find and kill them "
			    "(pgrep -f 'outbox-master: worker')", pidfile);
		sig_wait(NULL, 0, FAMILY_POLL_MS);
	}
	return rc;
}

void
daemon_leave_lock(void)
{
	pidfile_close(pidfh);
}

int
daemon_write_pid(struct err *e)
{
	if (pidfile_write(pidfh) < 0)
		return err_set(e, "writing the pid file: %s", strerror(errno));
	return 0;
}

void
daemon_unlock(void)
{
	pidfile_remove(pidfh);
}

char *
daemon_find_outboxctl(void)
{
	char	 self[4096], *path, *slash;
	ssize_t	 n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		if ((slash = strrchr(self, '/')) != NULL)
			*slash = '\0';
		path = xasprintf("%s/outboxctl", self);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return xstrdup(BINDIR "/outboxctl");
}
