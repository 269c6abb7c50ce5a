/* daemon.c - see daemon.h; done once, before the first fork of a worker */

#include "ipc/daemon.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/libutil.h>

#include "util/clock.h"
#include "util/sig.h"
#include "util/xalloc.h"

#define FAMILY_WAIT_MS	5000
#define FAMILY_POLL_MS	50

static struct pidfh	*pidfh;

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

int
daemon_make_rundir(const char *pidfile, const char *user, struct err *e)
{
	char		*copy = xstrdup(pidfile), *dir = dirname(copy);
	struct passwd	*pw;
	int		 rc;

	/* Check the user first: a directory owned by root is of no use. */
	rc = find_user(user, &pw, e);
	if (rc == 0 && mkdir(dir, 0755) < 0) {
		if (errno != EEXIST)
			rc = err_set(e, "mkdir %s: %s", dir, strerror(errno));
	} else if (rc == 0 && pw != NULL &&
	    chown(dir, pw->pw_uid, pw->pw_gid) < 0)
		rc = err_set(e, "chown %s: %s", dir, strerror(errno));
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

int
daemon_drop_root(const char *user, struct err *e)
{
	struct passwd	*pw;

	if (find_user(user, &pw, e) < 0)
		return -1;
	if (pw == NULL)
		return 0;
	if (initgroups(user, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 ||
	    setuid(pw->pw_uid) < 0)
		return err_set(e, "master.user: cannot change to %s: %s", user,
		    strerror(errno));
	return 0;
}

/* 0: locked; 1: locked by another process, its pid in *holder; -1: error. */
static int
try_lock(const char *pidfile, pid_t *holder, struct err *e)
{
	*holder = 0;
	pidfh = pidfile_open(pidfile, 0644, holder);
	if (pidfh != NULL)
		return 0;
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
