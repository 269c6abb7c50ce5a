/* doctor_local.c - files and processes of this host */

#include "ctl/doctor/doctor.h"

#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/state/state.h"
#include "util/display.h"
#include "util/xalloc.h"

#define GROUPS	64

static bool
ends_with(const char *text, const char *end)
{
	size_t	n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* The daemon, started as root, changes to master.user: may that user? */
static bool
may_use(const struct doctor *d, const char *path, const struct stat *st,
    int how)
{
	const char		*user = d->ctl->conf->master.user;
	struct passwd		*pw = NULL;
	mode_t			 bits = (mode_t)how;
	gid_t			 groups[GROUPS];
	int			 n = GROUPS;

	if (geteuid() == 0 && user[0] != '\0')
		pw = getpwnam(user);
	if (pw == NULL || pw->pw_uid == 0)
		return access(path, how) == 0;
	if (st->st_uid == pw->pw_uid)
		return (st->st_mode >> 6 & bits) == bits;
	if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0)
		n = GROUPS;
	for (int i = 0; i < n; i++)
		if (groups[i] == st->st_gid)
			return (st->st_mode >> 3 & bits) == bits;
	return (st->st_mode & bits) == bits;
}

static void
check_secret(struct doctor *d, const char *key, const char *path)
{
	struct buf	word = { 0 };
	struct stat	st;
	unsigned	mode;
	bool		readable;

	if (stat(path, &st) < 0) {
		doctor_say(d, DOCTOR_FAIL, key, "%s: %s", path,
		    strerror(errno));
		return;
	}
	display_put_word(&word, path);
	mode = st.st_mode & 0777;
	/* The daemon need not read the operator's password: outboxctl does. */
	readable = strncmp(key, "mysql.operator.",
	    strlen("mysql.operator.")) == 0 ? access(path, R_OK) == 0 :
	    may_use(d, path, &st, R_OK);
	if (!readable)
		doctor_say(d, DOCTOR_FAIL, key, "%s: the daemon may not read "
		    "it: chown or chgrp it to the daemon's user", path);
	else if (mode & 7)
		doctor_say(d, DOCTOR_FAIL, key, "%s: mode %03o gives all users "
		    "access: chmod o= %s", path, mode, word.data);
	else if (mode & 030)
		doctor_say(d, DOCTOR_ADVICE, key, "%s: mode %03o lets the group "
		    "change it: chmod g-wx %s", path, mode, word.data);
	else
		doctor_say(d, DOCTOR_OK, key, "%s: mode %03o", path, mode);
	buf_free(&word);
}

void
doctor_secrets(struct doctor *d)
{
	const struct conf	*c = d->ctl->conf;
	size_t			 n, found = 0;
	const struct conf_key	*keys = conf_keys(&n);
	const struct conf_signing_key *signing = c->http.signing_keys.items;
	const struct conf_header	*header = c->http.headers.items;

	for (size_t i = 0; i < n; i++) {
		const char *path;

		if (keys[i].type != CONF_STRING ||
		    (!ends_with(keys[i].name, "_file") &&
		    !ends_with(keys[i].name, "tls.key")))
			continue;
		path = *(char *const *)((const char *)c + keys[i].at);
		if (path[0] == '\0')
			continue;
		check_secret(d, keys[i].name, path);
		found++;
	}
	for (size_t i = 0; i < c->http.signing_keys.n; i++, found++)
		check_secret(d, "http.signing_keys", signing[i].file);
	for (size_t i = 0; i < c->http.headers.n; i++)
		if (header[i].file[0] != '\0') {
			check_secret(d, "http.headers", header[i].file);
			found++;
		}
	if (found == 0)
		doctor_say(d, DOCTOR_OK, "secrets", "none is read from a file");
}

void
doctor_run_directory(struct doctor *d)
{
	char		*copy = xstrdup(d->ctl->conf->master.pidfile);
	const char	*dir = dirname(copy);
	struct stat	 st;

	if (stat(dir, &st) < 0)
		doctor_say(d, errno == ENOENT ? DOCTOR_ADVICE : DOCTOR_FAIL,
		    "run directory", "%s: %s: the daemon creates it if it "
		    "may write to the parent directory", dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode) ||
	    !may_use(d, dir, &st, R_OK | W_OK | X_OK))
		doctor_say(d, DOCTOR_FAIL, "run directory", "%s: the daemon "
		    "may not write there: chown it to master.user", dir);
	else
		doctor_say(d, DOCTOR_OK, "run directory", "%s", dir);
	free(copy);
}

/* Does the kernel refuse this to the process?  One that does not run, or has
   just been started, is left out. */
static bool
is_confined(const json_t *here, const char *process, const char *what)
{
	const json_t	*o = json_object_get(here, process);
	json_t		*v;
	size_t		 i;

	json_array_foreach(json_object_get(o, "sandbox"), i, v)
		if (strcmp(json_string_value(v), what) == 0)
			return true;
	return !json_is_object(o) ||
	    strcmp(member_text(o, "state"), "starting") == 0;
}

/* An old kernel, a container or the build may be without it. */
void
doctor_sandbox(struct doctor *d)
{
	json_t	*here = state_this_host(d->ctl);

	if (!json_is_object(here))
		doctor_say(d, DOCTOR_OK, "sandbox", "no daemon runs here");
	else if (!is_confined(here, "monitor", "calls") ||
	    !is_confined(here, "listener", "calls"))
		doctor_say(d, DOCTOR_ADVICE, "sandbox", "this kernel or build "
		    "has no seccomp: whoever gets code into the monitor or the "
		    "listener may do what the daemon's user may");
	else if (!is_confined(here, "listener", "files") ||
	    !is_confined(here, "listener", "ports"))
		doctor_say(d, DOCTOR_ADVICE, "sandbox", "this kernel or build "
		    "has no Landlock, or checks no ports: the listener starts "
		    "no program, but may open and connect to what the daemon's "
		    "user may");
	else
		doctor_say(d, DOCTOR_OK, "sandbox", "monitor and listener "
		    "start no program and open no file but their own");
	json_decref(here);
}
